"""What never went wrong before is told once, and an outage does not call a thousand times."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from core_kit import NO_MAP, Clock, Tools, call, memory_of
from shared_data import shared

from btm.classify.recorded import classify_row
from btm.runtime import alarm
from btm.runtime.alarm import NoveltyAlarm
from btm.support.signatures import signature, template


def live(
    path: Path | None, hook: NoveltyAlarm, *errors: str, tool: str = "get_order", start: int = 0
) -> None:
    with memory_of(Clock(), path=path, fallback_map=NO_MAP, hooks=[hook]) as memory:
        for number, error in enumerate(errors, start):
            memory.call(
                call(tool, f"talk{number}", order_id=f"o{number}"), Tools(**{tool: [RuntimeError(error)]})
            )


def test_one_warning_for_what_was_never_seen_and_none_for_more_of_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "btm.db"
    live(path, NoveltyAlarm(path, tell=lambda *_: None), *[f"timed out after {n} s" for n in range(50)])
    with caplog.at_level(logging.WARNING, "btm"):
        new = [f"E7741: ledger epoch mismatch (shard {n})" for n in range(40)]
        live(path, NoveltyAlarm(path), "timed out after 99 s", *new, start=100)
        live(path, NoveltyAlarm(path), "E7741: ledger epoch mismatch (shard 977)", start=200)
    (message,) = caplog.messages
    assert message.startswith("get_order failed as ")
    assert "in a way never seen" in message
    assert "ledger epoch mismatch (shard <N>)" in message


def test_an_outage_tells_twenty_an_hour_and_how_many_more(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[Any, int]] = []
    now = [0.0]
    hook = NoveltyAlarm(tell=lambda found, left_out: told.append((found, left_out)), clock=lambda: now[0])
    words = [f"{a}{b} broke" for a in "abcdefgh" for b in "ijklmnop"]
    live(None, hook, *words[:63])
    assert len(told) == alarm.AN_HOUR
    now[0] += 3_600.0
    live(None, hook, words[63])
    assert told[-1][1] == 63 - alarm.AN_HOUR


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("order O-1 not found at 10:22:31", "order O-23 not found at 09:01:07"),
        ("shard 17: epoch 0x1f2e", "shard 4: epoch 0xdeadbeef"),
        ('no "ann" (4f3c2a1b-0000-4000-8000-123456789abc)', 'no "bob" (00000000-1111-4000-8000-cba987654321)'),
        ("cannot open /var/data/a.txt: errno 2", "cannot open /home/x/b.csv: errno 13"),
        ("GET https://api.example.com/v1/o/1 503", "GET https://api.example.com/v1/o/2 503"),
        ("flight HAT088 is full", "flight HAT139 is full"),
        ("no order #W6893533", "no order #W7002"),
        ("due 2024-01-02T03:04:05Z", "due 2025-11-12 13:14:15"),
    ],
)  # fmt: skip
def test_what_differs_from_case_to_case_is_replaced(one: str, other: str) -> None:
    assert template(one) == template(other)
    assert template(one) != template(f"{one} again")


@pytest.mark.parametrize(
    "text", ["E7741: broke", "failed with code E7741", "SQLSTATE 42P01", "rule E501", "(ORA00942)"]
)
def test_an_errors_own_code_is_no_value(text: str) -> None:
    assert template(text) == text


def test_a_template_is_short_and_tells_no_secret() -> None:
    assert "hunter2" not in template("login failed: password=hunter2 for ann@example.com")
    assert len(template("é" * 5_000 + "x y " * 5_000)) <= 160


def test_failures_of_different_kinds_never_share_a_signature() -> None:
    import json

    rows = [json.loads(line) for line in shared("data/errors/visible.jsonl").read_text("utf-8").splitlines()]
    kinds: dict[str, set[str]] = {}
    for row in rows:
        outcome = classify_row(row)
        if outcome.kind is not None:
            found = signature(str(row.get("tool", "t")), outcome.kind, outcome.rule, outcome.detail)
            kinds.setdefault(found.digest, set()).add(str(outcome.kind))
    assert len(kinds) > 100
    assert all(len(names) == 1 for names in kinds.values())


def test_without_hooks_a_failure_unlike_those_before_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    class OddError(Exception):
        pass

    with caplog.at_level(logging.WARNING, "btm"), memory_of(Clock(), fallback_map=NO_MAP) as memory:
        for number in range(20):
            slow = Tools(get_order=[TimeoutError("t")])
            memory.call(call("get_order", f"slow{number}", order_id=f"o{number}"), slow)
        for number in range(5):
            odd = Tools(get_order=[OddError(f"E7741: ledger epoch mismatch (shard {number})")])
            memory.call(call("get_order", f"odd{number}", order_id=f"o{number}"), odd)
    (message,) = caplog.messages
    assert "E7741: ledger epoch mismatch (shard <N>)" in message
