"""A server of the OpenAI protocol on this machine that answers from a function, and keeps what it was asked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Brain = Callable[[Mapping[str, Any]], Any]
"""Gets a request's body; answers with a text, a (tool, arguments) pair, a whole document, or an int: an HTTP status."""


class FakeServer:
    """``requests`` are the bodies that came, in order, ``keys`` the keys that came with them."""

    def __init__(self, brain: Brain, *, blind: bool = False) -> None:
        self.requests: list[dict[str, Any]] = []
        self.keys: set[str] = set()
        self._brain, self._blind = brain, blind
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.requests.append(body)
                server.keys.add(self.headers["Authorization"])
                status, document = server.answer(body)
                data = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked waits no longer
                    self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Say nothing."""

        return Handler

    def answer(self, body: Mapping[str, Any]) -> tuple[int, Any]:
        said = self._brain(body)
        if isinstance(said, int):
            return said, {"error": {"message": "the fake says no", "type": "fake"}}
        if isinstance(said, dict):
            return 200, said
        message: dict[str, Any] = {"role": "assistant", "content": said}
        if isinstance(said, tuple):
            tool, arguments = said
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            call = {
                "id": f"call-{len(self.requests)}",
                "type": "function",
                "function": {"name": tool, "arguments": text},
            }
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        tokens = len(self._seen(body)) // 4
        return 200, {
            "id": "fake",
            "object": "chat.completion",
            "created": 0,
            "model": "fake",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1},
        }

    def _seen(self, body: Mapping[str, Any]) -> str:
        """What a chat template makes of the messages: a blind one leaves out what tools answer."""
        return "".join(
            str(m.get("content")) for m in body["messages"] if not (self._blind and m["role"] == "tool")
        )

    @contextmanager
    def running(self) -> Iterator[FakeServer]:
        thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._http.shutdown()
            self._http.server_close()
            thread.join()


def working(body: Mapping[str, Any], *, follows: str | None = "user", tries: int = 1) -> Any:
    """A brain that knows how to do the tasks, and after an error what a context tells it in a message of a role.

    ``follows`` is that role, None for nobody's advice. Unadvised it repeats a failed call up to ``tries`` - 1 times, if
    the last message is a user's at least once, then gives up with a text.
    """
    messages = body["messages"]
    start = max(i for i, m in enumerate(messages) if m["role"] == "user" and not _is_note(m))
    asked, since = messages[start]["content"], messages[start + 1 :]
    results = [m["content"] for m in since if m["role"] == "tool"]
    calls = [c["function"] for m in since for c in m.get("tool_calls") or ()]
    made = [(c["name"], json.loads(c["arguments"])) for c in calls]
    if results and _failed(results[-1]):
        advice = _advice(messages, since, follows)
        if advice is not None:
            return advice
        told = messages[-1]["role"] == "user"
        repeats = sum(call == made[-1] for call in made)
        return made[-1] if told and repeats <= tries else "I could not do it, sorry."
    return _next_step(asked, [(call, r) for call, r in zip(made, results, strict=False) if not _failed(r)])


def _is_note(message: Mapping[str, Any]) -> bool:
    said = message["content"]
    return said.startswith(("<recovery", "The call failed.")) or "\n\nContinue with: " in said


def _failed(result: str) -> bool:
    return not result.startswith("{")


def _advice(messages: Any, since: Any, follows: str | None) -> Any:
    places = {
        "user": [m for m in messages[-1:] if m["role"] == "user"],
        "tool": [m for m in since[-1:] if m["role"] == "tool"],
        "system": [m for m in messages[:1] if m["role"] == "system"],
    }
    for message in places.get(follows or "", []):
        found = re.search(r"^next: (?:switch to|retry) (\w+) (\{.*?\})", message["content"], re.MULTILINE)
        if found:
            return found.group(1), json.loads(found.group(2))
        found = re.search(r"^next: escalate with (\w+)", message["content"], re.MULTILINE)
        if found:
            return found.group(1), {"summary": "nothing works"}
    return None


def _next_step(asked: str, done: list[tuple[tuple[str, Any], str]]) -> Any:
    shown = " ".join(result for _, result in done)
    if "transfer_to_human" in {tool for (tool, _), _ in done}:
        return "A colleague will take care of it."
    if "@" in asked or "credit" in asked:
        return _account_step(asked, shown)
    orders = re.findall(r"S\d{4}", asked)
    if "tracking" in asked:
        order = (re.findall(r"number of order (S\d{4})", asked) or orders)[0]
        if f"TRK-{order[1:]}" not in shown:
            return "track_shipment", {"order_id": order}
    if "ancel" in asked and '"cancelled"' not in shown:
        reason = "no longer needed" if "no longer" in asked else "ordered by mistake"
        return "cancel_order", {"order_id": orders[-1], "reason": reason}
    return f"Done. {' '.join(re.findall(r'TRK-[0-9-]+', shown))}"


def _account_step(asked: str, shown: str) -> Any:
    emails = re.findall(r"[\w.]+@[\w.]+\.example", asked)
    if not emails:
        credit = re.search(r'"store_credit": ([\d.]+)', shown)
        user = re.findall(r"[a-z]+_[a-z]+_\d+", asked)
        return f"It has {credit.group(1)}." if credit else ("get_user", {"user_id": user[0]})
    new = next(e for e in emails if e.endswith("@newmail.example"))
    found = re.search(r'"user_id": "(\w+)"', shown)
    if found is None:
        return "find_user_by_email", {"email": next(e for e in emails if e != new)}
    if f'"{new}"' in shown:
        return "Your address was changed."
    return "update_email", {"user_id": found.group(1), "new_email": new}
