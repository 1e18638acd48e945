"""Exceptions and texts of failing services, in the wording that real clients and servers use.

A fault has to be recognised from what an agent would see, so these look like what several libraries raise:
an HTTP client with a status in its message, an API client with a ``status_code`` and headers, a cloud SDK with a
nested ``response``, a socket that gives up. None of the classes is a library's own. The wordings follow what
``requests``, ``httpx``, ``openai``, ``botocore``, ``grpc`` and ``aiohttp`` print.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from btm.lab.faults.draw import Draw
from btm.lab.faults.kinds import RAISED
from btm.model import ErrorKind

HOST = "api.example.com"


class HTTPError(Exception):
    """The look of an HTTP client: the status stands in the message and on ``response``."""

    def __init__(self, message: str, response: Response) -> None:
        super().__init__(message)
        self.response = response


class Response:
    """What an HTTP client keeps of an answer: status, headers, body."""

    def __init__(self, status_code: int, headers: Mapping[str, str], text: str) -> None:
        self.status_code = status_code
        self.headers = dict(headers)
        self.text = text


class APIStatusError(Exception):
    """The look of an API client: status and Retry-After as attributes, the body in the message."""

    def __init__(self, message: str, status_code: int, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status_code = status_code
        self.retry_after = retry_after


class RateLimitError(APIStatusError):
    """An API client's 429."""


class AuthenticationError(APIStatusError):
    """An API client's 401 or 403."""


class InternalServerError(APIStatusError):
    """An API client's 5xx."""


class ClientError(Exception):
    """The look of a cloud SDK: the code lies in ``response["Error"]["Code"]``."""

    def __init__(self, code: str, text: str, operation: str, status: int) -> None:
        super().__init__(f"An error occurred ({code}) when calling the {operation} operation: {text}")
        self.response: dict[str, Any] = {
            "Error": {"Code": code, "Message": text},
            "ResponseMetadata": {"HTTPStatusCode": status},
        }
        self.operation_name = operation


class ReadTimeoutError(TimeoutError):
    """A client gave up waiting for the answer."""


class ToolError(Exception):
    """A tool's own error, with a client's message inside."""


Look = Callable[[Mapping[str, str]], Exception]
"""Makes an exception from the words of one call: ``tool``, ``operation``, ``url``, ``seconds``."""


def _plain(kind: type[Exception], text: str) -> Look:
    return lambda words: kind(text.format_map(words))


def _api(kind: type[APIStatusError], status: int, text: str, *, waits: bool = False) -> Look:
    return lambda words: kind(text.format_map(words), status, float(words["seconds"]) if waits else None)


def _cloud(code: str, status: int, text: str) -> Look:
    return lambda words: ClientError(code, text, words["operation"], status)


def _http(
    status: int, reason: str, headers: Mapping[str, str] = MappingProxyType({}), body: str = ""
) -> Look:
    side = "Client" if status < 500 else "Server"

    def make(words: Mapping[str, str]) -> Exception:
        filled = {name: value.format_map(words) for name, value in headers.items()}
        return HTTPError(
            f"{status} {side} Error: {reason} for url: {words['url']}", Response(status, filled, body)
        )

    return make


_LOOKS: Mapping[ErrorKind, tuple[Look, ...]] = MappingProxyType(
    {
        ErrorKind.TIMEOUT: (
            _plain(TimeoutError, "The read operation timed out"),
            _plain(
                ReadTimeoutError,
                f"HTTPSConnectionPool(host='{HOST}', port=443): Read timed out. (read timeout=10)",
            ),
            _plain(TimeoutError, "Timeout on reading data from socket while waiting for {tool}"),
            _plain(ReadTimeoutError, "Request timed out."),
            _plain(ToolError, "{tool}: rpc error: code = DeadlineExceeded desc = context deadline exceeded"),
        ),
        ErrorKind.RATE_LIMIT: (
            _api(
                RateLimitError,
                429,
                "Error code: 429 - {{'error': {{'type': 'rate_limit_error', "
                "'message': 'Rate limit reached. Please try again in {seconds}s.'}}}}",
                waits=True,
            ),
            _http(429, "Too Many Requests", {"Retry-After": "{seconds}"}, '{"message": "Too Many Requests"}'),
            _api(RateLimitError, 429, "Rate limit exceeded: 60 requests per 1 minute", waits=True),
            _cloud("ThrottlingException", 400, "Rate exceeded"),
        ),
        ErrorKind.SERVER_ERROR: (
            _http(500, "Internal Server Error"),
            _http(502, "Bad Gateway", body="<html><head><title>502 Bad Gateway</title></head></html>"),
            _api(
                InternalServerError,
                500,
                "Error code: 500 - The server had an error while processing your request. Sorry about that!",
            ),
            _cloud("InternalServerError", 500, "We encountered an internal error. Please try again."),
        ),
        ErrorKind.AUTH_ERROR: (
            _http(401, "Unauthorized", {"WWW-Authenticate": 'Bearer error="invalid_token"'}),
            _http(403, "Forbidden"),
            _api(
                AuthenticationError,
                401,
                "Error code: 401 - {{'error': {{'message': 'The access token expired', 'code': 'token_expired'}}}}",
            ),
            _cloud("ExpiredTokenException", 403, "The security token included in the request is expired"),
        ),
    }
)


def make_error(kind: ErrorKind, tool: str, draw: Draw) -> Exception:
    """Return an exception of ``kind`` as ``tool`` might raise it; ``draw`` chooses among several looks.

    Raises ValueError for a kind that is not raised (see ``kinds.RAISED``).
    """
    if kind not in RAISED:
        raise ValueError(f"{kind} is not an exception; expected one of {', '.join(RAISED)}")
    words = {
        "tool": tool,
        "operation": "".join(word.capitalize() for word in tool.split("_")),
        "url": f"https://{HOST}/v1/{tool.replace('_', '-')}",
        "seconds": str(draw.integer(1, 20, "retry_after")),
    }
    return draw.pick(_LOOKS[kind], "look")(words)


_PAGES = (
    "<!DOCTYPE html>\n<html><head><title>Index of /</title></head>\n<body><h1>Index of /</h1><hr></body></html>",
    "<html>\r\n<head><title>200 OK</title></head>\r\n"
    "<body>\r\n<center><h1>Welcome to nginx!</h1></center>\r\n</body>\r\n</html>",
    '<!DOCTYPE html><html lang="en"><head><title>App</title></head>'
    "<body><noscript>You need to enable JavaScript to run this app.</noscript></body></html>",
)
_NOISE = "\ufffd\x00\x1f\x8b\x08\ufffd\x02\ufffd"


def garble(result: object, draw: Draw) -> str:
    """Return text in the place of ``result``: cut off in the middle, an HTML page, or undecodable bytes."""
    form = draw.pick(("cut", "page", "noise"), "form")
    text = result if isinstance(result, str) else json.dumps(result, default=str)
    if form == "cut" and len(text) > 12 and text.lstrip()[:1] in ("{", "["):
        return text[: int(len(text) * draw.between(0.3, 0.8, "cut"))]
    if form == "noise":
        return _NOISE * draw.integer(3, 8, "length")
    return draw.pick(_PAGES, "page")
