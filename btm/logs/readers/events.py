"""btm's own event log (see ``btm.logs.eventlog``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from btm.logs import eventlog, loose
from btm.logs.conversation import HASHED, Entry, Skipped
from btm.logs.eventlog import CALL, END, REPORT, TYPES, outcome_from
from btm.logs.loose import LooseCall, Report, Reward
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.values import arguments_of, number_of, time_of
from btm.model import Effect

NAME = eventlog.NAME
LOOKS_FOR = "lines with `type` call, report or end and a `conversation`"


def matches(sample: Sample) -> bool:
    """Whether the log's first records are events."""
    return any(
        str(record.get("type")) in TYPES and isinstance(record.get("conversation"), str)
        for record in sample.objects
    )


def apart(sample: Sample) -> None:
    """Conversations are mixed in these logs."""


def read(log: Log) -> Iterator[Entry | Skipped]:
    """Read the conversations whose events the log holds."""
    return loose.entries(log, NAME, parse)


def parse(event: Any) -> Iterator[loose.Loose]:
    """Read one event; events of a type that came later than this btm are passed over."""
    conversation, kind = str(event["conversation"]), event.get("type")
    if kind == CALL:
        yield _call(conversation, event)
    elif kind == REPORT:
        outcome_from(event)  # raises for a kind that btm does not know
        yield Report(conversation, str(event["call_id"]), event["kind"])
    elif kind == END and (reward := number_of(event.get("reward"))) is not None:
        yield Reward(conversation, reward)


def _call(conversation: str, event: dict[str, Any]) -> LooseCall:
    outcome_from(event)
    hashed = event.get("arguments_hash")
    start, latency_s = time_of(event.get("at")), number_of(event.get("latency_s"))
    return LooseCall(
        conversation=conversation,
        own_id=str(event.get("call_id") or ""),
        tool=event["tool"],
        arguments=arguments_of(event.get("arguments")) if hashed is None else {HASHED: hashed},
        call_id=str(event.get("call_id") or ""),
        start=start,
        end=None if start is None or latency_s is None else start + latency_s,
        turn=None if event.get("turn") is None else str(event["turn"]),
        intent=event.get("intent"),
        effect=Effect(event.get("effect", Effect.READ)),
        verdict=event,
    )
