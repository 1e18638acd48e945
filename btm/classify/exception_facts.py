"""The machine-readable facts that an exception carries: status, codes, wait, the answer's body as far as it is there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from btm.classify import numbers, retry_after, texts
from btm.classify.bodies import of_failed_value
from btm.classify.codes import grpc_kind, of_code, of_json_rpc
from btm.classify.finding import CODE, Finding
from btm.classify.reading import attribute, field, qualified
from btm.classify.status import is_failure
from btm.model import ToolCall

Facts = Mapping[str, Any]
"""The attributes that libraries share (`btm.classify.reading.FACTS`), as far as an exception has them."""

_STATUS_NAMES = ("status_code", "http_status", "status", "http_code", "code")
_MYSQL = frozenset({"pymysql", "MySQLdb", "mysql", "aiomysql", "mariadb"})

_TOO_MANY_REQUESTS = 429


def status_of(known: Facts, root: str) -> int | None:
    """Return the failing HTTP status that an exception carries, or None."""
    if not known:
        return None
    for name in _STATUS_NAMES:
        value = known.get(name)
        if type(value) is int and is_failure(value) and not (name == "code" and root in ("pymongo", "xml")):
            return value
    response = known.get("response", known.get("resp"))
    if response is None:
        return None
    value = field(response, "status_code", "status", "HTTPStatusCode")
    if value is None and isinstance(response, Mapping):
        value = field(field(response, "ResponseMetadata"), "HTTPStatusCode")
    if isinstance(value, str) and value.isdigit():
        value = int(value[:3])
    return value if type(value) is int and is_failure(value) else None


def wait_of(known: Facts, now: float | None, status: int | None = None) -> float | None:
    """Return how long the service asks to be left alone, in seconds, or None. ``status`` is the answer's."""
    if not known:
        return None
    direct = retry_after.seconds_of(known.get("retry_after"), now)
    if direct is not None:
        return direct
    response = known.get("response")
    headers = (
        known.get("headers")
        or field(response, "headers")
        or field(field(response, "ResponseMetadata"), "HTTPHeaders")
    )
    if headers is not None and attribute(headers, "get") is not None:
        try:
            found = retry_after.in_headers(headers, now, limited=status == _TOO_MANY_REQUESTS)
        except Exception:  # noqa: BLE001 - a foreign mapping may raise from anything
            found = None
        if found is not None:
            return found
    body = known.get("body")
    return retry_after.in_body(body, now) if isinstance(body, dict) else None


def codes_of(error: BaseException, known: Facts, root: str, text: str) -> list[Finding | None]:
    """Everything machine-readable that the exception carries, the surest sort first."""
    found: list[Finding | None] = []
    state = known.get("sqlstate", known.get("pgcode"))
    if isinstance(state, str) and len(state) == 5:
        found.append(numbers.of_sqlstate(state, text))
    number = known.get("errno")
    if type(number) is int and _is_os_error(error):
        found.append(numbers.of_mysql(number) if root in _MYSQL else numbers.of_errno(number))
    arguments = attribute(error, "args")
    if root in _MYSQL and type(arguments) is tuple and arguments and type(arguments[0]) is int:
        found.append(numbers.of_mysql(arguments[0]))
    if type(arguments) is tuple and arguments and type(arguments[0]) is int and root == "pycurl":
        found.append(numbers.of_curl(arguments[0]))
    elif root == "pycurl" and (number_said := re.match(r"\((\d{1,3}),", text)):
        found.append(numbers.of_curl(int(number_said.group(1))))
    if "losed" in type(error).__qualname__:
        found.append(numbers.websocket_in(text) or numbers.of_websocket(known.get("code", 0)))
    sqlite = known.get("sqlite_errorname")
    if isinstance(sqlite, str):
        found.append(numbers.of_sqlite(sqlite.removeprefix("SQLITE_").split("_")[0]))
    exit_code = known.get("returncode")
    if type(exit_code) is int:
        found.append(numbers.of_exit_code(exit_code))
    found.extend(_smtp(error, known, text))
    found.extend(_bodies(known, root))
    return found


def _is_os_error(error: BaseException) -> bool:
    # OpenSSL's errors are OSErrors by class, and their errno is a number of OpenSSL's own.
    names = {qualified(kind)[1] for kind in type(error).__mro__}
    return "SSLError" not in names and not names.isdisjoint(
        {"OSError", "Error", "MySQLError", "OperationalError"}
    )


def _smtp(error: BaseException, known: Facts, text: str) -> list[Finding | None]:
    code = known.get("smtp_code")
    if type(code) is int:
        return [numbers.of_smtp(code, text)]
    if qualified(type(error))[1] in (
        "SMTPRecipientsRefused",
        "error_perm",
        "error_temp",
        "SMTPDataError",
        "SMTPSenderRefused",
    ):
        reply = re.search(r"\(([45]\d\d),|^([45]\d\d)\b", text)
        if reply:
            return [numbers.of_smtp(int(reply.group(1) or reply.group(2)), text)]
    return []


def _bodies(known: Facts, root: str) -> list[Finding | None]:
    found: list[Finding | None] = []
    response, body = known.get("response"), known.get("body")
    code: Any = known.get("code")
    if callable(code):
        code = _called(code)
    code = field(code, "name") if not isinstance(code, str | int | None) else code
    if type(code) is int and root == "pymongo":
        found.append(numbers.of_mongo(code))
    if type(code) is int and root == "grpc":
        kind = grpc_kind(code)
        found.append(Finding(kind, f"grpc:{code}", f"gRPC status {code}", CODE) if kind is not None else None)
    inner = field(known["error"], "code") if "error" in known else None
    answered = field(field(response, "Error"), "Code") or _slack(response) if response is not None else None
    said = body.get("code") if isinstance(body, Mapping) else None
    for value in (
        code,
        inner,
        answered,
        said,
        known.get("error_code"),
        known.get("reason"),
        known.get("type"),
    ):
        if isinstance(value, str) and value and " " not in value.strip():
            found.append(of_code(value.removeprefix("StatusCode.")))
        elif type(value) is int and -33_000 < value < -31_000:
            found.append(of_json_rpc(value))
    content = attribute(response, "_content") if response is not None else body
    if isinstance(content, bytes | str) and content:
        found.append(_of_content(content))
    return found


def _slack(response: Any) -> Any:
    data = response if isinstance(response, Mapping) else attribute(response, "data")
    return data.get("error") if isinstance(data, Mapping) else None


def _called(code: Any) -> Any:
    try:
        return code()
    except Exception:  # noqa: BLE001 - grpc's code() belongs to the library; without it the text remains
        return None


def _of_content(content: bytes | str) -> Finding | None:
    """The body of an answer, as far as the library has read it already: nothing is fetched here."""
    text = (
        content[:TEXT_BYTES].decode("utf-8", "replace")
        if isinstance(content, bytes)
        else content[:TEXT_BYTES]
    )
    try:
        value = orjson.loads(text)
    except ValueError:
        return texts.of_error_text(text) if not text.lstrip().startswith("<") else None
    return of_failed_value(value, ToolCall("")) if isinstance(value, dict) else None


TEXT_BYTES = 4_000
