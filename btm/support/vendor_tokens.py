"""Tokens that can be told by their looks: vendors give them a prefix of their own, so that leaks can be found.

The prefixes are those that the vendors document. Every such token is one long unbroken run, and ordinary texts hold
few of those: only runs are looked at.
"""

from __future__ import annotations

import re

_RUN = b"a" * 16
"""The shortest token that is looked for."""

_MARKS = bytes(97 if (c < 128 and chr(c).isalnum()) or chr(c) in "_-.~" else 32 for c in range(256))

# What follows is at least thirteen letters, digits, dots, dashes or underscores.
_PREFIXES = (
    # models and what agents are built with
    "sk-", "pk-", "rk-", "gsk_", "xai-", "pplx-", "nvapi-", "tvly-", "lsv2_", "pcsk_", "hf_", "api_org_", "jina_",
    r"AQ\.", "ABSK", "bedrock-api-key-",
    # clouds
    "AIza", "GOCSPX-", r"ya29\.", "LTAI", "AKID", "do[opr]_v1_", "tskey-", r"fm2_|fo1_",
    r"dp\.[a-z]{2,8}\.", r"hv[bsr]\.", "pscale_(?:tkn|pw|oauth)_", "sbp_", "sb_secret_", "vercel_blob_rw_",
    # code, packages and builds
    "gh[opsur]_", "github_pat_", "gl(?:pat|ptt|dt|rt|cbt|ft|soat|agent|imt|ffct|oas)-", "pypi-AgE", "dckr_[op]at_",
    "npm_(?!config_|package_|lifecycle_)", "CCIP(?:AT|RJ)_", "bkua_", "AT[AC]TT3", "ATBB", "ntn_", "lin_(?:api|oauth)_",
    "fig[dou]_", "CFPAT-", "HRKU-", "ops_eyJ", "dnkey-", "rdme_", "pnu_", "tfp_", "aio_", "fio-u-",
    # messages, payments, shops and watching
    "shippo_(?:live|test)_", "duffel_(?:live|test)_", "FLW(?:SEC|PUB)K(?:_TEST)?-", "EZ[AT]K",
    "xox[a-z]-", "xapp-", r"SG\.", "xkeysib-", "whsec_", "[spr]k_(?:live|test|prod)_", "sq0[a-z]{3}-", "shp(?:at|ss|ca|pa)_",
    "PMAK-", "NR(?:AK|JS|AL|RA|II)-", "sntry[su]_", "gl(?:c|sa)_", r"dt0[a-z]\d\d\.", "AGE-SECRET-KEY-1",
)  # fmt: skip

# These are words as well: a digit has to be among what follows.
_WORDLIKE = (
    "[spr]k_",
    "r8_",
    "fw_",
    "rpa_",
    "re_",
    "rnd_",
    "nfp_",
    "ico-",
    "tk-us-",
    "e2b_",
    "sgp_",
    "phx_",
    "rubygems_",
)

_SHAPES = (
    "A(?:KIA|SIA|BIA|CCA)[A-Z0-9]{12,}",  # AWS
    "dapi[0-9a-f]{30,}[0-9-]*",  # Databricks
    "(?:SK|AC)[0-9a-f]{32}",  # Twilio
    "(?:key|pul)-[0-9a-f]{32}",  # Mailgun, Pulumi
    "EAA[A-Za-z0-9_-]{40,}",  # Meta, Square
    r"pat[A-Za-z0-9]{14}\.[0-9a-f]{20,}",  # Airtable
    r"[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{30,}",  # Entra ID
    r"(?<=\d:)AA[A-Za-z0-9_-]{30,}",  # Telegram, after the bot's number
    "(?<=1//)0[A-Za-z0-9_-]{30,}",  # Google, to refresh
    r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_=-]{60,}",  # Terraform
    r"sl\.[A-Za-z0-9_.-]{100,}",  # Dropbox
    "secret_[A-Za-z0-9]{43}",  # Notion
    "pa-[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",  # Voyage
    "fc-[0-9a-f]{32}",  # Firecrawl
    "oy2[a-z0-9]{43}",  # NuGet
    "cio[A-Za-z0-9]{32}",  # crates.io
    "A{20,}[A-Za-z0-9]{30,}",  # X
    "[0-9a-f]{32}-us[0-9]{1,2}",  # Mailchimp
    r"(?<=\$)[0-9a-f]{32}",  # PayPal, behind the merchant's
    # HubSpot, Plaid
    "(?:pat-[a-z]{2}[0-9]|access-(?:sandbox|development|production))-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    r"v1\.0-[0-9a-f]{24}-[0-9a-f]{40,}",  # Cloudflare
)

VENDOR_TOKEN = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    rf"(?:{'|'.join(_PREFIXES)})[A-Za-z0-9_.-]{{13,}}"
    rf"|(?:{'|'.join(_WORDLIKE)})(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{{13,}}"
    rf"|{'|'.join(_SHAPES)})"
)
"""A vendor's token: the whole of it."""


def may_hold_token(text: str) -> bool:
    """Whether :data:`VENDOR_TOKEN` matches anywhere."""
    # One byte a character, so that places are the same.
    marks = text.encode("latin-1", "replace").translate(_MARKS)
    start = marks.find(_RUN)
    while start >= 0:
        end = marks.find(b" ", start)
        end = end if end >= 0 else len(marks)
        if VENDOR_TOKEN.search(text, start, end):
            return True
        start = marks.find(_RUN, end)
    return False
