"""Numbered errors: SQLSTATE, MySQL and MongoDB codes, errno, exit codes, SMTP replies."""

from __future__ import annotations

import errno
import re

from btm.classify import languages
from btm.classify.finding import CODE, EXACT, STATUS, WEAK, Finding, names
from btm.classify.status import of_status
from btm.model import ErrorKind as K

# SQLSTATE: five characters, the first two name the class. https://www.postgresql.org/docs/current/errcodes-appendix.html
_SQLSTATE: dict[str, tuple[K, bool]] = {  # (kind, whether the statement may have been carried out)
    "08": (K.UNAVAILABLE, True), "0A": (K.INVALID_ARGUMENTS, False), "0L": (K.AUTH_ERROR, False),
    "02": (K.EMPTY_RESULT, True), "20": (K.INVALID_ARGUMENTS, False), "21": (K.INVALID_ARGUMENTS, False),
    "22": (K.INVALID_ARGUMENTS, False), "23": (K.PRECONDITION_FAILED, False), "24": (K.PRECONDITION_FAILED, False),
    "25": (K.PRECONDITION_FAILED, False), "26": (K.NOT_FOUND, False), "28": (K.AUTH_ERROR, False),
    "2B": (K.PRECONDITION_FAILED, False), "34": (K.NOT_FOUND, False), "3B": (K.NOT_FOUND, False),
    "3D": (K.NOT_FOUND, False), "3F": (K.NOT_FOUND, False), "40": (K.UNAVAILABLE, False),
    "42": (K.INVALID_ARGUMENTS, False), "44": (K.PRECONDITION_FAILED, False), "53": (K.UNAVAILABLE, False),
    "54": (K.INVALID_ARGUMENTS, False), "55": (K.PRECONDITION_FAILED, False), "57": (K.UNAVAILABLE, True),
    "58": (K.SERVER_ERROR, True), "72": (K.PRECONDITION_FAILED, False), "F0": (K.SERVER_ERROR, True),
    "HV": (K.SERVER_ERROR, True), "P0": (K.PRECONDITION_FAILED, False), "XX": (K.SERVER_ERROR, True),
    "22004": (K.INVALID_ARGUMENTS, False), "23502": (K.INVALID_ARGUMENTS, False),
    "40003": (K.UNAVAILABLE, True), "42501": (K.AUTH_ERROR, False), "42P01": (K.NOT_FOUND, False),
    "42703": (K.NOT_FOUND, False), "42704": (K.NOT_FOUND, False), "42883": (K.INVALID_ARGUMENTS, False),
    "42P02": (K.INVALID_ARGUMENTS, False), "42S02": (K.NOT_FOUND, False), "42S22": (K.NOT_FOUND, False),
    "42S01": (K.PRECONDITION_FAILED, False), "42P04": (K.PRECONDITION_FAILED, False),
    "42P06": (K.PRECONDITION_FAILED, False), "42P07": (K.PRECONDITION_FAILED, False),
    "42701": (K.PRECONDITION_FAILED, False), "42710": (K.PRECONDITION_FAILED, False),
    "42723": (K.PRECONDITION_FAILED, False), "53100": (K.QUOTA_EXHAUSTED, False),
    "53200": (K.SERVER_ERROR, False), "53400": (K.QUOTA_EXHAUSTED, False), "55P03": (K.UNAVAILABLE, False),
    "57014": (K.TIMEOUT, False), "57P03": (K.UNAVAILABLE, False), "P0002": (K.NOT_FOUND, False),
    "P0003": (K.INVALID_ARGUMENTS, False), "P0004": (K.PRECONDITION_FAILED, False),
    "HYT00": (K.TIMEOUT, True), "HYT01": (K.TIMEOUT, False),
}  # fmt: skip

# https://dev.mysql.com/doc/mysql-errors/8.4/en/ ; the codes agents meet.
_MYSQL: dict[K, str] = {
    K.AUTH_ERROR: "1044 1045 1130 1142 1143 1227 1370 1396 1410 1698 1820 1862 3118",
    K.NOT_FOUND: "1008 1049 1051 1054 1072 1091 1109 1146 1305 1360 1449",
    K.PRECONDITION_FAILED: """1007 1022 1050 1060 1061 1062 1068 1169 1217 1290 1304 1451 1452 1557 1586
        1644 3819 4025""",
    K.INVALID_ARGUMENTS: """1048 1052 1055 1056 1063 1064 1066 1093 1103 1110 1111 1136 1140 1149 1222
        1235 1241 1242 1247 1248 1264 1265 1292 1318 1364 1366 1406 1411 1525 1582 1690 3140 3141""",
    K.UNAVAILABLE: "1040 1053 1079 1158 1159 1160 1161 1184 1189 1203 1213 2001 2002 2003 2005 2006 2012 2013 "
    "2055",
    K.TIMEOUT: "1205 1317 1907 1969 3024 4031",
    K.QUOTA_EXHAUSTED: "1021 1114 1226",
    K.SERVER_ERROR: "1030 1034 1037 1041 1105 1194 1195 2008",
}
_MYSQL_KIND = {int(code): kind for kind, codes in _MYSQL.items() for code in codes.split()}
_MYSQL_MAYBE_DONE = frozenset({2006, 2013, 2055, 1053, 1158, 1159, 1160, 1161, 1184})

_MONGO: dict[int, K] = {
    13: K.AUTH_ERROR, 18: K.AUTH_ERROR, 11: K.NOT_FOUND, 26: K.NOT_FOUND, 43: K.NOT_FOUND,
    50: K.TIMEOUT, 64: K.TIMEOUT, 262: K.TIMEOUT, 89: K.TIMEOUT, 48: K.PRECONDITION_FAILED, 112: K.UNAVAILABLE,
    121: K.INVALID_ARGUMENTS, 2: K.INVALID_ARGUMENTS, 9: K.INVALID_ARGUMENTS, 14: K.INVALID_ARGUMENTS,
    40: K.INVALID_ARGUMENTS, 6: K.UNAVAILABLE, 7: K.UNAVAILABLE, 91: K.UNAVAILABLE, 189: K.UNAVAILABLE,
    10107: K.UNAVAILABLE, 11600: K.UNAVAILABLE, 11602: K.UNAVAILABLE, 13435: K.UNAVAILABLE, 13436: K.UNAVAILABLE,
    11000: K.PRECONDITION_FAILED, 11001: K.PRECONDITION_FAILED, 16500: K.RATE_LIMIT, 59: K.INVALID_ARGUMENTS,
}  # fmt: skip

_ERRNO: dict[K, str] = {
    K.NOT_FOUND: "ENOENT ENXIO ENODEV ESRCH",
    K.AUTH_ERROR: "EACCES EPERM EROFS",
    K.PRECONDITION_FAILED: "EEXIST ENOTEMPTY EISCONN ENOTCONN EDEADLK ECHILD",
    K.INVALID_ARGUMENTS: """EINVAL EISDIR ENOTDIR ENAMETOOLONG ELOOP EXDEV EFBIG EBADF ENOEXEC E2BIG EDOM
        ERANGE EMSGSIZE EAFNOSUPPORT EPROTONOSUPPORT EOPNOTSUPP ENOTSOCK EMLINK ESPIPE ENOTTY EILSEQ
        EDESTADDRREQ""",
    K.TIMEOUT: "ETIMEDOUT ETIME",
    K.UNAVAILABLE: """ECONNREFUSED ECONNRESET ECONNABORTED EPIPE EHOSTUNREACH ENETUNREACH ENETDOWN
        EHOSTDOWN ENETRESET ESHUTDOWN EAGAIN EBUSY ETXTBSY EMFILE ENFILE EADDRINUSE EADDRNOTAVAIL EINTR
        EALREADY EINPROGRESS ENOLCK ESTALE ENOBUFS""",
    K.QUOTA_EXHAUSTED: "ENOSPC EDQUOT",
    K.SERVER_ERROR: "EIO ENOMEM ENOSYS EREMOTEIO EBADMSG EPROTO EFAULT",
}
_ERRNO_KIND = {
    getattr(errno, name): kind
    for kind, known in _ERRNO.items()
    for name in known.split()
    if hasattr(errno, name)
}
_ERRNO_MAYBE_DONE = frozenset(
    getattr(errno, name, -1)
    for name in names("ECONNRESET ECONNABORTED EPIPE ETIMEDOUT ENETRESET ESHUTDOWN EIO EINTR")
)

_TIMEOUT_WORDS = re.compile(
    r"time-?out|timed out|タイムアウト|超时|zeitüberschreitung|tiempo de espera|délai", re.IGNORECASE
)
_REFUSED = frozenset({K.PRECONDITION_FAILED, K.INVALID_ARGUMENTS, K.AUTH_ERROR, K.NOT_FOUND})


def of_sqlstate(state: str, text: str) -> Finding | None:
    """Return what a SQLSTATE means; ``text`` tells a statement timeout from a cancelled query."""
    found = _SQLSTATE.get(state) or _SQLSTATE.get(state[:2])
    if found is None:
        return None
    kind, reached = found
    if state == "55P03" and _is_timeout(text):
        kind = K.TIMEOUT
    if state == "57014" and not _is_timeout(text):
        kind = K.UNKNOWN if text else K.TIMEOUT
    sure = 0.7 if state in ("P0001", "42000", "HY000") else EXACT
    return Finding(kind, f"sqlstate:{state}", f"SQLSTATE {state}", sure, reached=reached)


def _is_timeout(text: str) -> bool:
    if _TIMEOUT_WORDS.search(text):
        return True
    said = languages.find(text.lower())
    return said is not None and said.kind is K.TIMEOUT


# RFC 6455 section 7.4.1 and the registry of close codes; 4xxx are an application's own, mostly after HTTP.
_WEBSOCKET: dict[int, K] = {
    1000: K.UNAVAILABLE, 1001: K.UNAVAILABLE, 1002: K.MALFORMED, 1003: K.INVALID_ARGUMENTS, 1006: K.UNAVAILABLE,
    1007: K.MALFORMED, 1008: K.AUTH_ERROR, 1009: K.INVALID_ARGUMENTS, 1011: K.SERVER_ERROR, 1012: K.UNAVAILABLE,
    1013: K.UNAVAILABLE, 1014: K.SERVER_ERROR, 1015: K.UNAVAILABLE, 3000: K.AUTH_ERROR, 3003: K.AUTH_ERROR,
    3008: K.TIMEOUT, 4000: K.INVALID_ARGUMENTS, 4001: K.AUTH_ERROR, 4003: K.AUTH_ERROR, 4004: K.AUTH_ERROR,
    4008: K.RATE_LIMIT, 4029: K.RATE_LIMIT, 4400: K.INVALID_ARGUMENTS, 4401: K.AUTH_ERROR, 4403: K.AUTH_ERROR,
    4404: K.NOT_FOUND, 4408: K.TIMEOUT, 4409: K.PRECONDITION_FAILED, 4429: K.RATE_LIMIT, 4500: K.SERVER_ERROR,
    4503: K.UNAVAILABLE,
}  # fmt: skip
_CLOSED = re.compile(r"(?:received|sent|code[ =:]{1,3}|closed? with(?: code)?:?) ?\(?([134]\d{3})\b")

# curl's exit codes, https://curl.se/libcurl/c/libcurl-errors.html
_CURL: dict[K, str] = {
    K.INVALID_ARGUMENTS: "1 2 3 4 5 43 48 63 66",
    K.UNAVAILABLE: "6 7 8 12 16 27 35 45 52 55 56 81 92 95 96",
    K.TIMEOUT: "28",
    K.MALFORMED: "18 23 26 33 36 61 62 85",
    K.AUTH_ERROR: "9 51 53 54 58 59 60 67 77 80 82 83 90 91 94",
    K.NOT_FOUND: "19 37 78",
    K.SERVER_ERROR: "22 47 57",
    K.QUOTA_EXHAUSTED: "70",
}
_CURL_KIND = {int(code): kind for kind, codes in _CURL.items() for code in codes.split()}


def of_websocket(code: int) -> Finding | None:
    """Return what a WebSocket's close code means."""
    kind = _WEBSOCKET.get(code)
    return None if kind is None else Finding(kind, f"websocket:{code}", f"close code {code}", 0.98)


def websocket_in(text: str) -> Finding | None:
    """Return what the close code in a text ("received 1011 (internal error)") means."""
    found = _CLOSED.search(text[:300])
    return of_websocket(int(found.group(1))) if found else None


def of_curl(code: int) -> Finding | None:
    """Return what an error number of libcurl means."""
    kind = _CURL_KIND.get(code)
    return (
        None
        if kind is None
        else Finding(kind, f"curl:{code}", f"curl error {code}", CODE, reached=code not in (6, 7))
    )


def of_mysql(code: int) -> Finding | None:
    """Return what a MySQL or MariaDB error number means."""
    kind = _MYSQL_KIND.get(code)
    if kind is None:
        return None
    return Finding(kind, f"mysql:{code}", f"MySQL error {code}", EXACT, reached=code in _MYSQL_MAYBE_DONE)


def of_mongo(code: int) -> Finding | None:
    """Return what a MongoDB server error number means."""
    kind = _MONGO.get(code)
    if kind is None:
        return None
    return Finding(kind, f"mongodb:{code}", f"MongoDB error {code}", CODE, reached=kind not in _REFUSED)


def of_errno(number: int) -> Finding | None:
    """Return what an ``errno`` means; the negative ones are those of ``getaddrinfo``."""
    if -20 < number < 0:
        # EAI_NONAME, EAI_AGAIN and their like: the name did not resolve, nothing was sent.
        return Finding(
            K.UNAVAILABLE, f"errno:{number}", "the host's name could not be resolved", EXACT, reached=False
        )
    kind = _ERRNO_KIND.get(number)
    if kind is None:
        return None
    name = errno.errorcode.get(number, str(number))
    return Finding(kind, f"errno:{name}", f"errno {name}", EXACT, reached=number in _ERRNO_MAYBE_DONE)


def of_exit_code(code: int) -> Finding | None:
    """Return what an exit code of a command means by itself: 124, 126, 127 and signals; None for the others.

    Exit codes above 128 (or negative, as Python's subprocess reports them) are signals.
    """
    signal = -code if code < 0 else code - 128 if 128 < code < 160 else 0
    if code == 124:
        return Finding(K.TIMEOUT, "exit:124", "exit code 124 of timeout(1)", CODE)
    if code == 126:
        return Finding(
            K.AUTH_ERROR, "exit:126", "exit code 126: found, but may not be executed", 0.8, reached=False
        )
    if code == 127:
        return Finding(K.NOT_FOUND, "exit:127", "exit code 127: command not found", CODE, reached=False)
    if signal == 14:
        return Finding(K.TIMEOUT, f"exit:{code}", "ended by SIGALRM", 0.8)
    if signal in (4, 6, 7, 8, 9, 11):
        return Finding(K.SERVER_ERROR, f"exit:{code}", f"ended by signal {signal}", CODE)
    return None


_MAIL = frozenset({421, 450, 451, 452, 454, 455, 530, 534, 535, 538, 550, 551, 552, 553, 554, 555, 556})


def of_reply(code: int, text: str) -> Finding | None:
    """Return what a three-digit reply of an unnamed protocol means: SMTP's where only it has the number, else as HTTP's."""
    return of_smtp(code, text) if code in _MAIL else of_status(code, None)


def of_smtp(code: int, text: str) -> Finding | None:
    """Return what an SMTP (or FTP) reply means, with the enhanced status code in ``text`` where there is one."""
    if not 400 <= code <= 599:
        return None
    enhanced = re.search(r"\b[45]\.(\d)\.(\d{1,3})\b", text[:300])
    rule, reason = f"smtp:{code}", f"SMTP reply {code}"
    if enhanced and enhanced.group(1) == "7" and code >= 500:
        return Finding(K.AUTH_ERROR, rule, reason, CODE, reached=False)
    if code in (530, 534, 535, 538):
        return Finding(K.AUTH_ERROR, rule, reason, EXACT, reached=False)
    if code in (550, 551) and not (enhanced and enhanced.group(1) in "23"):
        return Finding(K.NOT_FOUND, rule, reason, STATUS, reached=False)
    if code in (552, 452) and (code == 552 or (enhanced and enhanced.group(2) in ("2", "3"))):
        too_big = "size" in text.lower() or "5.3.4" in text
        return Finding(
            K.INVALID_ARGUMENTS if too_big else K.QUOTA_EXHAUSTED, rule, reason, WEAK, reached=False
        )
    if code < 500:
        # 421 closes the connection, and may come after the message was taken.
        return Finding(K.UNAVAILABLE, rule, reason, STATUS, reached=code == 421)
    if code in (500, 501, 502, 503, 504, 553, 555):
        return Finding(K.INVALID_ARGUMENTS, rule, reason, STATUS, reached=False)
    return Finding(K.PRECONDITION_FAILED, rule, reason, WEAK, reached=False)
