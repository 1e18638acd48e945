"""What secrets look like in a text, and the text without them.

Most texts hold none, and redaction is a good part of what naming an error costs. So every rule has a cheap test of
whether its pattern can match at all, made of what is quick to look for: single characters, long words, the few places
where a name can end before its value. A test may say yes in vain, never no.

Rules err on the side of the secret; still, an error's ordinary words stay readable: ``--token is required`` holds none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import NamedTuple

from btm.support.secret_forms import NOTHING, VENDOR_TOKEN, compiled, may_hold_token, without_personal_secrets

# -- pieces of patterns --------------------------------------------------------------------------------------------

_KEY_OF = (
    "api", "access", "account", "private", "secret", "signing", "encryption", "master", "storage", "subscription",
    "functions", "shared", "auth",
)  # fmt: skip
_WORDS = (
    "secret", "passwd", "password", "passphrase", "pwd", "authorization", "credential", "cookie", "bearer", "token",
)  # fmt: skip

# A number of tokens is no token.
_NUMBER = r"(?!(?:s(?:_\w{1,20})?|_(?:count|limit|usage|budget))[\"'\\]{0,4}\s{0,4}[:=]{1,2}\s{0,4}[\"']?\d{1,9}(?![\w-]))"
_TOKEN = rf"(?<!\d )(?<!nexpected )token(?!iz){_NUMBER}"
_NAME = (
    rf"(?:(?:{'|'.join(_KEY_OF)})[ _-]?key(?: provided)?|secret(?!ar)|{'|'.join(_WORDS[1:-1])}|{_TOKEN}"
    r"|session[_-]?id|(?<=[a-z]_)pass(?==))[\w-]{0,40}"
)
_QUOTE = r"(?:\\{0,7}[\"'`\u201c\u201d\u2018\u2019]|\\{1,4}|%2[27]|&quot;|&\#3[49];)"
_BETWEEN = rf"\*{{0,2}}{_QUOTE}?\s{{0,4}}(?:=>|[:=]{{1,2}}|%3[ad])\*{{0,2}}\s{{0,4}}"

# A value in quotes ends where they do: after as many backslashes as it began with, which are those of JSON in JSON.
_QUOTED = (
    r"(?P<open>(?:[\w.]{1,40}\()?[bru]{0,2}(?P<quote>\\{0,7}[\"'`]))(?:(?!(?<!\\)(?P=quote)).){1,400}"
    r"|&quot;[^&]{1,400}|&\#3[49];[^&]{1,400}|[\u201c\u201e\u2018\u00ab\u300c][^\u201d\u201c\u2019\u00bb\u300d]{1,400}"
)
# The first word of a sentence stands where a value could, too.
_PROSE = (
    r"(?!(?:an?|are|at|can|cannot|could|do|does|did|expected|failed|field|ha[ds]|have|incorrect|input|invalid|is|it"
    r"|length|may|missing|must|no|not|please|required|should|string|that|the|this|too|unable|value|was|we|were|wrong"
    r"|you|your)\s{1,4}[a-z])"
)
# Secrets are hardly ever written in other scripts, and sentences are.
_BARE = rf"{NOTHING}{_PROSE}(?=[^\s\"',;&}}\])\\`]{{0,30}}[A-Za-z0-9])[^\s\"',;&}}\])\\`]{{4,}}"
_VALUE = rf"(?:{_QUOTED}|{_BARE})"

_ARGUMENT = (
    rf"(?:{_QUOTED}|(?![-\[<{{|.(,:]|\$[A-Z_{{(])(?!(?:an?|and|are|argument|arguments|as|at|be|but|by|can|cannot|did"
    r"|does|expects?|expected|flags?|for|from|given|has|have|if|in|instead|invalid|is|it|may|missing|must|needs?|no"
    r"|not|of|on|options?|or|parameters?|provided|requires?|required|set|should|specified|that|the|this|to|value|via"
    r"|was|were|when|will|with|without|would|you)(?![\w-]))"
    r"(?-i:(?![A-Z_]*(?:PASS|PASSWD|PASSWORD|TOKEN|SECRET|KEY|VALUE|STRING|STR|TEXT)(?![\w-])))[^\s\"'`,;|)\]}]+)"
)
_TO = r"[\s\"',]{1,4}"  # between the words of a command, which may be shown as a list
_COMMAND = r"[^\n|;&]{0,200}?"

# -- tests ---------------------------------------------------------------------------------------------------------


def _backwards(word: str) -> str:
    return word[::-1]


_NAME_WORDS = (
    "token",
    "key",
    "pass",
    "pwd",
    "secret",
    "cookie",
    "bearer",
    "session",
    "credential",
    "authorization",
)
_SHORT = 300

# A separator is rarer than the beginning of a name, so it is found first and the name is read from its end.
_PAIR_BACKWARDS = re.compile(
    r"[:=>]\*{0,2}[:=]?\s{0,4}(?:[\"'`\u201c\u201d\u2018\u2019]|[27]2%|;touq&|;[49]3\#&)?\\{0,7}\*{0,2}[\w-]{0,40}"
    rf"(?:(?:dedivorp )?yek[ _-]?(?:{'|'.join(map(_backwards, _KEY_OF))})|{'|'.join(map(_backwards, _WORDS))}"
    r"|di[_-]?noisses|ssap_)"
)
_FLAG = re.compile(r"-(?<!\w-)[\w-]{0,40}?(?i:pass|pwd|token|secret|cred|key)")
_SHORT_FLAG = re.compile(r"-(?<=[\s\"',]-)(?:[pPawuU]|-user|-proxy-user)")
_HEADER_PAIR = re.compile(r"\(b?[\"']")
_TOKEN_AND = re.compile(r"token\s")
# Digits and what may stand between them.
_CARD_MARKS = bytes(97 if chr(c) in "0123456789 -" else 32 for c in range(256))


def _pair(text: str, lower: str) -> bool:
    # In a short text it takes less to look for the words one by one than to go from separator to separator.
    if len(lower) < _SHORT and not any(word in lower for word in _NAME_WORDS):
        return False
    return "%3" in text or _PAIR_BACKWARDS.search(lower[::-1]) is not None


def _credentials(_: str, lower: str) -> bool:
    return "bearer" in lower or "basic" in lower or _TOKEN_AND.search(lower) is not None


def _word_and_value(_: str, lower: str) -> bool:
    return "value" in lower and any(word in lower for word in _NAME_WORDS)


def _many_digits(text: str, _: str) -> bool:
    return not text.isascii() or b"aaaaaaaaaaaaa" in text.encode().translate(_CARD_MARKS)


# -- rules ---------------------------------------------------------------------------------------------------------


class SecretPattern(NamedTuple):
    """One look of a secret. ``possible`` is asked about a text as it stands and in lower case."""

    possible: Callable[[str, str], bool]
    pattern: str
    replacement: str


_KEY_NAME = r"[A-Z0-9 ]{0,40}PRIVATE KEY[A-Z ]{0,8}"
_KEY_LINE = r"[A-Za-z0-9+/=]{16,80}(?:\\[rn]|\s){1,8}"

# Order matters: the special before the general. A secret may stand right after a letter of a script that is written
# without spaces, so edges are ASCII ones, not \b.
RULES: tuple[SecretPattern, ...] = (
    SecretPattern(
        lambda text, _: "PRIVATE KEY" in text,
        (
            rf"(?s)-{{4,5}} ?BEGIN {_KEY_NAME} ?-{{4,5}}.*?(?:-{{4,5}} ?END {_KEY_NAME} ?-{{4,5}}|\Z)"
            # or the end of one whose beginning was cut off
            rf"|(?<![A-Za-z0-9+/=])(?:{_KEY_LINE}){{1,60}}[A-Za-z0-9+/=]{{0,80}}(?:\\[rn]|\s){{0,8}}"
            rf"-{{4,5}} ?END {_KEY_NAME}"
        ),
        "[key]",
    ),
    SecretPattern(
        lambda _, lower: "authorization" in lower,
        (
            rf"(?i)(authorization{_BETWEEN}(?:[bru]{{0,2}}{_QUOTE})?)"
            r"(?:(?:digest|aws4[\w-]*|hmac[\w-]*|oauth|signature|hawk|sharedkey\w*)\s[^\n]{1,400}"
            rf"|{NOTHING}{_PROSE}(?:[a-z][\w-]{{1,30}}\s{{1,4}}(?=[^\s\"']{{16}}|[^\s\"']{{0,40}}\d))?"
            r"[^\s\"',;&}\])\\`]{4,})"
        ),
        r"\1[secret]",
    ),
    # a header as a pair: ('authorization', '...')
    SecretPattern(
        lambda text, _: _HEADER_PAIR.search(text) is not None,
        (
            r"(?i)(\(b?[\"'](?:(?:proxy-)?authorization|(?:set-)?cookie|(?:x-)?api-?key"
            r"|x-[\w-]{0,30}(?:key|token|secret|auth)[\w-]{0,20}|[\w-]{0,30}(?<=-)sign(?:ature)?(?:-\d{1,3})?)[\"'],\s{0,4}b?(?P<quote>[\"']))(?:(?!(?P=quote)).){4,400}"
        ),
        r"\1[secret]",
    ),
    SecretPattern(
        lambda text, _: "eyJ" in text,
        (r"eyJ(?<![A-Za-z0-9]eyJ)[\w-]{8,1000}\.[\w-]{4,}(?:\.[\w-]*)?"),
        "[token]",
    ),
    # "basic authentication" holds no secret
    SecretPattern(
        _credentials,
        (
            r"([BbTt](?<![A-Za-z0-9].)(?i:(?<=b)earer|(?<=b)asic|(?<=t)oken))\s{1,8}"
            r"(?![A-Z]?[a-z]{1,30}[.:]?(?![\w.~+/=-]))[\w.~+/=-]{8,}"
        ),
        r"\1 [token]",
    ),
    # A password in a URL may hold an unescaped @ (the last one before the path ends it) or / (a port may not).
    SecretPattern(
        lambda text, _: "@" in text and "://" in text,
        (
            r"://(?!\[)(?:[^\s/@:]{0,100}:(?:[^\s/]{1,200}|(?!\d{1,5}[/?\#])[^\s@\"'<>]{1,200})"
            r"|[^\s/@:?\#\"'<>]{16,100})@"
        ),
        "://[secret]@",
    ),
    # URLs that are secrets themselves
    SecretPattern(
        lambda _, lower: "hook" in lower,
        (
            r"(?i)(hooks\.slack\.com/(?:services|workflows|triggers)/|/api/webhooks/\d{1,25}/|office\.com/webhookb2/)"
            r"[\w/@.-]{8,}"
        ),
        r"\1[secret]",
    ),
    SecretPattern(
        lambda text, _: ("&" in text or "?" in text or "%" in text) and ("=" in text or "%3" in text),
        (
            r"(?i)((?:[?&]|%(?:26|3f))(?:amp;)?(?:sig(?:nature)?(?:=|%3d)(?=[\w%+/=.~-]{6})"
            r"|(?:x-(?:amz|goog)-(?:signature|credential|security-token)|code|key|auth|hmac|ticket|assertion|samlresponse)"
            r"(?:=|%3d)(?=[\w%+/=.~-]{16})))[\w%+/=.~-]+"
        ),
        r"\1[secret]",
    ),
    # what proves who sent a request, in a header, a field or alone; a word after "signature:" is none
    SecretPattern(
        lambda _, lower: "sig=" in lower or "sign" in lower,
        (
            rf"(?i)((?<![\w-])(?:[\w-]{{0,40}}[-_])?(?:(?<=[-_])sign|signature|sig(?==))(?:[-_](?:sha)?\d{{1,3}})?"
            rf"{_BETWEEN}{_QUOTE}?(?:sha\d{{1,3}}=|t=\d{{1,12}},v\d=|v\d=)?)(?=[\w%+/=.~-]{{20}})(?=[a-z%+/=.~_-]{{0,40}}\d)"
            r"[\w%+/=.~-]+"
        ),
        r"\1[secret]",
    ),
    SecretPattern(
        lambda _, lower: "cookie" in lower,
        (r"(?i)(cookie2?[\"']?\s{0,4}:\s{0,4}[\"']?)[^\s=;\"']{1,100}=[^\n\"'\\]{1,400}"),
        r"\1[secret]",
    ),
    SecretPattern(_pair, (rf"(?is)({_NAME}{_BETWEEN}){_VALUE}"), r"\1\g<open>[secret]"),
    SecretPattern(
        lambda text, _: "</" in text,
        (
            rf"(?i)(<(?:[\w.-]{{0,40}}:)?(?:[\w.-]{{0,40}}[_.-])?{_NAME}(?:\s[^<>]{{0,100}})?>\s{{0,4}})[^<\s][^<]{{0,400}}(?=</)"
        ),
        r"\1[secret]",
    ),
    # {"name": "DB_PASSWORD", "value": "..."}, and the same as attributes
    SecretPattern(
        _word_and_value,
        (rf"(?is)({_NAME}{_QUOTE}\s{{0,4}},?\s{{0,4}}{_QUOTE}?value{_BETWEEN}){_VALUE}"),
        r"\1\g<open>[secret]",
    ),
    # CREATE USER ... IDENTIFIED BY 'hunter2', and the line of a .netrc
    SecretPattern(
        lambda _, lower: "password" in lower or "identified" in lower,
        (
            r"(?is)((?:identified\s{1,8}by(?:\s{1,8}password)?|password)\s{1,8}(?:\\{0,4}[\"'](?=[^\s,\"']{1,200}[\"']))"
            r"|machine\s{1,8}\S{1,100}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}password\s{1,8})[^\s\"',]{1,400}"
        ),
        r"\1[secret]",
    ),
    # --password hunter2
    SecretPattern(
        lambda text, _: _FLAG.search(text) is not None,
        (
            r"(?is)(-(?<!\w-)-?(?:[a-z0-9]{1,12}[-_]){0,3}(?:pass(?:word|wd|phrase)?|pwd|token|secret|credentials?"
            rf"|(?:{'|'.join(_KEY_OF)})[-_]?key)(?:=|[\"'],\s{{0,4}}(?=[\"'])|\s{{1,4}})){_ARGUMENT}"
        ),
        r"\1\g<open>[secret]",
    ),
    # -p hunter2, of the commands that take a password so
    SecretPattern(
        lambda text, _: _SHORT_FLAG.search(text) is not None,
        (
            rf"(?s)((?<![\w-])(?:(?:mysql\w*|mariadb[\w-]*|sshpass|mongo\w*|(?:docker|podman){_TO}login)(?![\w-]){_COMMAND}{_TO}-p"
            rf"|redis-cli{_COMMAND}{_TO}-a|(?:sqlcmd|bcp){_COMMAND}{_TO}-P|ldap\w{{1,12}}{_COMMAND}{_TO}-w"
            rf"|curl{_COMMAND}{_TO}(?:-[uU]|--user|--proxy-user){_TO}[^\s:\"']{{0,64}}:)(?:(?<=:)|[\s\"',]{{0,4}})){_ARGUMENT}"
        ),
        r"\1\g<open>[secret]",
    ),
    SecretPattern(lambda text, _: may_hold_token(text), VENDOR_TOKEN, "[key]"),
    SecretPattern(
        lambda text, _: "@" in text,
        (r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}"),
        "[email]",
    ),
    SecretPattern(
        _many_digits,
        (r"\d(?<!\d\d)(?:[ \u00a0\u2009\u202f\u2010-\u2015-]?\d){12,18}(?!\d)"),
        "[number]",
    ),
)


def without_secrets(text: str) -> str:
    """Return ``text`` with keys, tokens, passwords, addresses and card numbers replaced; otherwise as it is.

    Letters and marks that only look different (full-width ones, say) do not hide a secret. Where they would have, the
    whole text comes back in its plain (NFKC) form.
    """
    once = _replaced(text)
    if once.isascii():
        return once
    folded = unicodedata.normalize("NFKC", once)
    if folded == once:
        return once
    again = _replaced(folded)
    return once if again == folded else again


def _replaced(text: str) -> str:
    lower = text.lower()
    for possible, pattern, replacement in RULES:
        if possible(text, lower):
            text = compiled(pattern).sub(replacement, text)
    return without_personal_secrets(text, lower)
