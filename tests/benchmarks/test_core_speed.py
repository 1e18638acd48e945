"""What btm costs on the caller's thread. Run with ``pytest -o addopts= tests/benchmarks``.

Targets: recording a call 5 µs beyond naming its outcome, a plan with ten candidates 150 µs. The classifier is left out of
the first (its own benchmark stands beside it), as is the writer's thread, which works when the caller's waits.
"""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest

from btm.fallback import FallbackMap
from btm.fallback.relations import MapRelations
from btm.learning.posterior import Decay, Evidence, Priors, pooled
from btm.learning.tracker import ConversationTracker
from btm.model import SUCCESS, Action, Effect, ErrorKind, EvidenceKey, Incident, Outcome, ToolCall
from btm.planning.context import render
from btm.planning.plan import options_for
from btm.planning.planner import Planner, each
from btm.planning.policy import Policies
from btm.runtime.ledger import Ledger
from btm.store import Snapshot

TEN = FallbackMap.from_text(
    "version: 1\ndomain: d\ntools:\n  get_order:\n    effect: read\n    fallbacks:\n"
    + "".join(
        f'      - {{tool: other{n}, coverage: 0.{n + 1}, arguments: {{user_id: "{{{{ known.user_id }}}}"}}}}\n'
        for n in range(9)
    )
    + '      - {tool: other9, coverage: full, arguments: {text: "order {{ call.order_id }}"}}\n'
    + "".join(f"  other{n}: {{effect: read}}\n" for n in range(10))
)
SLOW: tuple[None, Exception] = (None, TimeoutError("timed out"))
OK: tuple[str, None] = ("ok", None)


@pytest.fixture
def ledger(monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """A ledger that is told the outcome and hands events to nobody."""

    def named(call: ToolCall, result: Any, error: Exception | None, fallback_map: Any, **_: Any) -> Outcome:
        return SUCCESS if error is None else Outcome(ErrorKind.TIMEOUT)

    monkeypatch.setattr("btm.runtime.ledger.outcome_of", named)
    snapshot = Snapshot(Decay(86_400.0, 0.0), Priors(), b"key")
    return Ledger(snapshot, TEN, clock=lambda: 1.0, emit=lambda event: None, believe=pooled)


_ids = itertools.count()


def made(conversation: str = "talk") -> ToolCall:
    return ToolCall("get_order", {"order_id": "o1"}, Effect.READ, conversation, str(next(_ids)))


def test_noting_that_a_call_begins(benchmark: Any, ledger: Ledger) -> None:
    benchmark.pedantic(ledger.begin, setup=lambda: ((made(),), {}), rounds=5_000)


def test_recording_a_call_that_worked(benchmark: Any, ledger: Ledger) -> None:
    benchmark.pedantic(ledger.finish, setup=lambda: ((ledger.begin(made()), *OK), {}), rounds=5_000)


def test_recording_a_failure_that_opens_an_incident(benchmark: Any, ledger: Ledger) -> None:
    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (ledger.begin(made(f"talk{next(_ids)}")), *SLOW), {}

    benchmark.pedantic(ledger.finish, setup=fresh, rounds=5_000)


def test_recording_an_attempt_that_resolves_an_incident(benchmark: Any, ledger: Ledger) -> None:
    def fresh() -> tuple[tuple[Any, ...], dict[str, Any]]:
        conversation = f"talk{next(_ids)}"
        ledger.finish(ledger.begin(made(conversation)), *SLOW)
        return (ledger.begin(made(conversation)), *OK), {}

    benchmark.pedantic(ledger.finish, setup=fresh, rounds=5_000)


def test_attributing_a_switch(benchmark: Any) -> None:
    def fresh() -> tuple[tuple[Any, Outcome], dict[str, Any]]:
        tracker = ConversationTracker("talk", MapRelations(TEN))
        tracker.finish(tracker.begin(made(), "print"), Outcome(ErrorKind.TIMEOUT), at=0.0)
        call = ToolCall("other9", {"text": "order o1"}, Effect.READ, "talk", "next")
        return (tracker, tracker.begin(call, "other")), {}

    def finish(tracker: ConversationTracker, ticket: Any) -> None:
        assert tracker.finish(ticket, SUCCESS, at=1.0).attempts

    benchmark.pedantic(finish, setup=fresh, rounds=2_000)


def _planning() -> tuple[Incident, Evidence]:
    failed = made()
    rng = random.Random(1)
    evidence = Evidence(
        (EvidenceKey("get_order", ErrorKind.TIMEOUT, Action.SWITCH, f"other{n}", 1), rng.random() * 9, 2.0)
        for n in range(10)
    )
    return Incident("i", "talk", failed, ErrorKind.TIMEOUT, Outcome(ErrorKind.TIMEOUT), 0.0), evidence


def test_a_plan_with_ten_candidates(benchmark: Any) -> None:
    incident, evidence = _planning()
    options = options_for(incident, TEN, {"user_id": "u1"})
    planner = Planner(Policies.load())
    plan = benchmark(planner.plan, incident, options, each(lambda key: pooled(evidence, key, Priors(), 0.5)))
    assert len(plan.steps) + len(plan.rejected) == 11


def test_the_options_of_an_incident(benchmark: Any) -> None:
    incident, _ = _planning()
    assert len(benchmark(options_for, incident, TEN, {"user_id": "u1"}).switches) == 10


def test_writing_a_context(benchmark: Any) -> None:
    incident, evidence = _planning()
    options = options_for(incident, TEN, {"user_id": "u1"})
    plan = Planner(Policies.load()).plan(incident, options, each(lambda key: pooled(evidence, key, Priors())))
    assert benchmark(render, plan).tokens <= 300
