"""What an answer is known by: what varies is left open, what tells how a call went never is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import ToolMessage

from btm.classify import ToolResult
from btm.classify.likeness import likeness_of

FIELDS = {"code": 12, "error": "Bad ticket 7", "ok": False}


def content(answer: object) -> list[dict[str, Any]]:
    return [{"type": "text", "text": json.dumps(answer)}]


@pytest.mark.parametrize(
    ("answer", "like"),
    [
        ("Widget 4711 is on the list since 2026-11-02", "Widget 12 is on the list since 2025-01-30"),
        ("copied 1 of 3 files", "copied 2 of 7 files"),
        ("see https://a.example/x?y=1 for it", "see http://b.example for it"),
        (
            "order 550e8400-e29b-41d4-a716-446655440000 is gone",
            "order 67f9e840-e29b-41d4-a716-44665544abcd is gone",
        ),
        ("\x1b[31mred\x1b[0m gate", "red  gate"),
        (FIELDS, json.dumps(FIELDS, indent=2)),
        (FIELDS, str(FIELDS)),
        (FIELDS, dict(reversed(FIELDS.items()))),
        (FIELDS, content(FIELDS)),
        (FIELDS, ToolMessage(json.dumps(FIELDS), tool_call_id="1")),
        ({"note": "門が開かない 12"}, json.dumps({"note": "門が開かない 13"})),
        ({"message": "down", "at": 1_700_000_001.5}, {"message": "down", "at": 1_700_000_099.5}),
    ],
)
def test_answers_that_differ_in_what_varies_are_alike(answer: object, like: object) -> None:
    assert likeness_of(answer) == likeness_of(like)


@pytest.mark.parametrize(
    ("answer", "other"),
    [
        ("exit status: 1", "exit status: 0"),
        ("exit status: 1", "exit status: 2"),
        ("código 6: no se pudo", "código 66: no se pudo"),
        ("code: -1", "code: 5"),
        ("balance is -5", "balance is 5"),
        ("copied 1 of 3 files", "copied 3 of 3 files"),
        ("copied 0/3 files", "copied 2/3 files"),
        ('Transfer status "REJECTED"', 'Transfer status "COMPLETED"'),
        ("Tests: 3 failed, 0 passed", "Tests: 0 failed, 3 passed"),
        ("<result><code>6</code></result>", "<result><code>0</code></result>"),
        ("resultcode=6&id=4", "resultcode=0&id=4"),
        ("The gate answered 503 to the visit", "The gate answered 200 to the visit"),
        ("ORA-00942: it is not there", "ORA-01017: it is not there"),
        ("Order 12 not found", "Order 12 found"),
        ("The gate is open: no", "The gate is open: nobody waits"),
        (FIELDS, {**FIELDS, "code": 13}),
        (FIELDS, {**FIELDS, "ok": True}),
        (
            {"status": "error", "message": "Request was processed"},
            {"status": "ok", "message": "Request was processed"},
        ),
        ({"decision": "rejected", "comment": "Seen"}, {"decision": "approved", "comment": "Seen"}),
        ({"failed": 3, "note": "done"}, {"failed": 0, "note": "done"}),
        ("x is down", ValueError("x is down")),
        ("x is down", ToolResult("x is down", is_error=True)),
        (ToolMessage("thumbs down", tool_call_id="1"), ToolMessage("thumbs up", tool_call_id="1")),
        ("parts resolved " * 30 + "no such part", "parts resolved " * 30 + "all was built"),
        ("Service is down", "Service is down\nError: HTTP 500"),
        ("flagged\x1fx is down", ToolResult("x is down", is_error=True)),
        ({"code": 12, "note": "x"}, "\x1f'code' = 12\x1f'note' = x"),
        ({"a": "x\x1f'b' = y"}, {"a": "x", "b": "y"}),
    ],
)
def test_what_tells_how_a_call_went_keeps_answers_apart(answer: object, other: object) -> None:
    assert likeness_of(answer) != likeness_of(other)


def test_it_holds_no_secret() -> None:
    for answer in (
        "login failed with password=hunter2-secret",
        {"note": "used sk-proj-abcdefghijklmnop1234567890"},
    ):
        assert not {"hunter2-secret", "sk-proj-abcdefghijklmnop1234567890"} & set(likeness_of(answer).split())


class Hostile:
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


@pytest.mark.parametrize("answer", [{Hostile(): 1}, {"a": {Hostile(): "b"}}, [{"x": Hostile()}] * 300])
def test_what_cannot_be_read_is_not_known(answer: object) -> None:
    with pytest.raises(ValueError, match="it "):
        likeness_of(answer)


def test_a_value_that_holds_itself_is_not_known() -> None:
    loop: dict[str, Any] = {"note": "round"}
    loop["loop"] = loop
    with pytest.raises(ValueError, match="too"):
        likeness_of(loop)
