"""What secrets look like that no name gives away: vendors' tokens, and numbers, codes and passwords of people.

Vendors give their tokens a prefix of their own, so that leaks can be found; these are the ones that they document. Every
such token is one long unbroken run, and ordinary texts hold few of those: only runs are looked at.
"""

# ruff: noqa: E501 - a pattern is read best in one piece
from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

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
_WORDLIKE = ("[spr]k_", "r8_", "fw_", "rpa_", "re_", "rnd_", "nfp_", "ico-", "tk-us-", "e2b_", "sgp_", "phx_", "rubygems_")  # fmt: skip

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

VENDOR_TOKEN = (
    r"(?<![A-Za-z0-9])(?:"
    rf"(?:{'|'.join(_PREFIXES)})[A-Za-z0-9_.-]{{13,}}"
    rf"|(?:{'|'.join(_WORDLIKE)})(?=[A-Za-z_-]*\d)[A-Za-z0-9_-]{{13,}}"
    rf"|{'|'.join(_SHAPES)})"
)
"""The pattern of a vendor's token: of the whole of it."""


def may_hold_token(text: str) -> bool:
    """Whether :data:`VENDOR_TOKEN` matches anywhere."""
    # One byte a character, so that places are the same.
    marks = text.encode("latin-1", "replace").translate(_MARKS)
    start = marks.find(_RUN)
    while start >= 0:
        end = marks.find(b" ", start)
        end = end if end >= 0 else len(marks)
        if compiled(VENDOR_TOKEN).search(text, start, end):
            return True
        start = marks.find(_RUN, end)
    return False


# -- of people ------------------------------------------------------------------------------------------------------


class _PersonalSecret(NamedTuple):
    """``needs``: lower-case words or marks of which one must be in the text, or none is looked for."""

    needs: tuple[str, ...]
    pattern: str
    replacement: str


_VALUE = r"[^\s\"',;&<>\u00bb\u201d)\]}]"
NOTHING = r"(?!\[)(?!(?:none|null|true|false|undefined|nil|nan)(?![\w-]))"
"""No value follows: what says that there is none is no secret. A piece of a case-insensitive pattern."""
_NO_WORD = (  # what a form says about a password
    r"(?!(?:required|requis\w?|requerid[ao]|erforderlich|obbligatori[ao]|obligatori[ao]|obligatoire|incorrect\w?|incorrecta?o?"
    r"|inv[a\u00e1]lid[ao]?|invalide?|non valida|ung(?:\u00fc|ue)ltig|falsch|fehlt|missing|wrong|expired|abgelaufen|errata|sbagliata"
    r"|vac[i\u00ed][ao]|leer|empty|vide|onjuist|verplicht)(?!\w))"
)
_AFTER_COLON = "(?:" + "|".join(f"(?<=[:=\uff1a]{more})" for more in ("", " ", "[\"']", " [\"']")) + ")"
_IS = r"[\"'\u201d]?\s{0,3}(?:[:=\uff1a]|\b(?:is|was|ist|lautet|est|es|era|\u00e8|\u00e9)\b)\s{0,3}[\"'\u00ab\u201c]?"
_COUNTRIES = (
    "AD|AE|AL|AT|AZ|BA|BE|BG|BH|BR|BY|CH|CR|CY|CZ|DE|DK|DO|EE|EG|ES|FI|FO|FR|GB|GE|GI|GL|GR|GT|HR|HU|IE|IL|IQ|IS|IT|JO|KW|"
    "KZ|LB|LC|LI|LT|LU|LV|LY|MC|MD|ME|MK|MR|MT|MU|NL|NO|PK|PL|PS|PT|QA|RO|RS|SA|SC|SE|SI|SK|SM|ST|SV|TL|TN|TR|UA|VA|VG|XK"
)
_BASE58 = "[1-9A-HJ-NP-Za-km-z]"

_PERSONAL = (
    _PersonalSecret(("%40",), r"[\w.+%-]{1,64}%40[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}", "[email]"),
    _PersonalSecret(
        ("sess", "sid"),
        (
            rf"(?i)((?<![a-z])(?:j?session[_-]?id|phpsessid|sessid|asp\.net_sessionid|connect\.sid|sess(?:ion)?[_-]?(?:key|token)"
            rf"|session|sid)[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?)(?=[^\s\"']{{0,80}}\d){_VALUE}{{8,}}"
        ),
        r"\1[secret]",
    ),
    # bots of Telegram and of Discord
    _PersonalSecret((":",), r"(?<!\d)\d{8,10}:[A-Za-z0-9_-]{34,36}(?![\w-])", "[key]"),
    _PersonalSecret((".",), r"(?<![\w-])[MNO][\w-]{22,28}\.[\w-]{5,7}\.[\w-]{27,40}(?![\w-])", "[key]"),
    # wallets: addresses and private keys
    _PersonalSecret(("0x",), r"0x(?:[0-9a-fA-F]{64}|[0-9a-fA-F]{40})(?![0-9a-fA-F])", "[wallet]"),
    _PersonalSecret(("bc1", "ltc1", "tb1"), r"(?<!\w)(?:bc1|tb1|ltc1)[a-z0-9]{25,87}(?!\w)", "[wallet]"),
    _PersonalSecret(("xprv", "zprv", "yprv"), rf"(?<!\w)[xyz]prv{_BASE58}{{90,120}}(?!\w)", "[wallet]"),
    _PersonalSecret(("wif", "wallet", "btc", "bitcoin", "address", "private", "key"), (
        rf"(?<!\w)(?:[5KL]{_BASE58}{{50,51}}|(?=[13]{_BASE58}{{0,33}}[A-Z])(?=[13]{_BASE58}{{0,33}}[a-z])[13]{_BASE58}{{25,33}})(?!\w)"
    ), "[wallet]"),
    _PersonalSecret(
        ("mnemonic", "phrase", "seed"),
        (
            r"(?i)((?:mnemonic|(?:seed|recovery|secret|backup)[ _-]?(?:phrase|words?)|seed)\w{0,8}[\"']?\s{0,3}(?:[:=]|is|was)?\s{0,3}"
            r"[\"'\[]{0,2})[a-z]{3,8}(?:[\"']?[ ,]{1,2}[\"']?[a-z]{3,8}){11,23}"
        ),
        r"\1[secret]",
    ),
    _PersonalSecret(
        ("client", "consumer", "license"),
        (
            rf"(?i)((?:client|consumer|license)[ _-]?(?:key|secret)(?:[_-]data)?[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?)(?!\[){_VALUE}{{6,}}"
        ),
        r"\1[secret]",
    ),
    _PersonalSecret(
        ("",),
        (rf"(?<![A-Za-z0-9])(?:{_COUNTRIES})\d{{2}} ?(?:[A-Z0-9]{{4}} ?){{2,7}}[A-Z0-9]{{1,4}}(?![A-Za-z0-9])"),
        "[iban]",
    ),
    _PersonalSecret(("-",), r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}", "[number]"),
    _PersonalSecret(
        ("ssn", "social security"),
        (r"(?i)((?<![a-z])(?:ssn|social security(?: number| no\.?)?)\W{0,3}(?:is|was)?\W{0,3})\d{3}[ .-]?\d{2}[ .-]?\d{4}(?!\d)"),
        r"\1[number]",
    ),
    _PersonalSecret(
        ("pin", "otp", "code", "cvv", "cvc", "tan"),
        (
            r"(?i)((?<![a-z])(?:pin|otp|cvv2?|cvc2?|tan|passcode|(?:one[- ]?time|verification|security|confirmation|2fa|mfa|sms|auth"
            r"|login)[ _-](?:pass)?(?:code|pin|word)|one[- ]?time[ _-]password)(?:[ _-](?:code|number))?[\"']?\s{0,3}"
            r"(?:[:=]|is|was)?\s{0,3}[\"']?)\d{3,8}(?!\d)"
        ),
        r"\1[code]",
    ),
    _PersonalSecret(
        ("pass", "contra", "senha", "kennwort", "wachtwoord", "parola", "clave", "has\u0142o", "\u043f\u0430\u0440\u043e\u043b\u044c",
         "\u5bc6\u7801", "\u5bc6\u78bc", "\u30d1\u30b9\u30ef\u30fc\u30c9"),
        (
            r"(?i)((?:pass(?:wort|code|word|phrase)|kennwort|mot de passe|contrase(?:\u00f1|n)a|clave|palavra-passe|senha|wachtwoord"
            r"|parola(?: d'ordine)?|has\u0142o|\u043f\u0430\u0440\u043e\u043b\u044c|\u5bc6\u7801|\u5bc6\u78bc|\u30d1\u30b9\u30ef\u30fc\u30c9)"
            # what no word is; and after a colon, as in English, a word and nothing more
            rf"{_IS}){NOTHING}(?=[^\s]{{0,60}}[\d!@#$%^*_-]|{_AFTER_COLON}{_NO_WORD}{_VALUE}{{4,60}}[\"']?\s{{0,3}}(?:[,;.)\]}}\n]|$)){_VALUE}{{4,}}"
        ),
        r"\1[secret]",
    ),
)  # fmt: skip


@lru_cache(maxsize=128)
def compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern of this module or of the one that uses it: most processes never need most of them."""
    return re.compile(pattern)


def without_personal_secrets(text: str, lower: str) -> str:
    """Return ``text`` without them; ``lower`` is the same in lower case."""
    for rule in _PERSONAL:
        for need in rule.needs:  # no generator: this runs for every failure
            if need in lower:
                text = compiled(rule.pattern).sub(rule.replacement, text)
                break
    return text
