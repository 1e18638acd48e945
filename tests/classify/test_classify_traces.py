"""Real conversations: what the flag of the environment says, and how often the learned shape is wrong."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from shared_data import shared

from btm.classify import ShapeProfile, ShapeRow, classify
from btm.model import Effect, ErrorKind, ToolCall

MAX_FALSE_ALARMS = 0.005


class Result(NamedTuple):
    tool: str
    arguments: dict[str, Any]
    text: str
    is_error: bool


def tau2() -> Iterator[list[Result]]:
    for path in sorted(shared("data/traces/tau2").glob("*.json")):
        for simulation in json.loads(path.read_bytes())["simulations"]:
            calls = {c["id"]: c for m in simulation["messages"] for c in m.get("tool_calls") or []}
            tools = [
                t
                for m in simulation["messages"]
                for t in ([m] if m["role"] == "tool" else m.get("tool_messages") or [])
            ]
            yield [
                Result(calls[t["id"]]["name"], calls[t["id"]]["arguments"], t["content"], bool(t["error"]))
                for t in tools
                if t["id"] in calls
            ]


def tau1() -> Iterator[list[Result]]:
    for run in json.loads(shared("data/traces/tau1/airline-gpt-4o.json").read_bytes()):
        calls = {c["id"]: c["function"] for m in run["traj"] for c in m.get("tool_calls") or []}
        yield [
            Result(
                calls[m["tool_call_id"]]["name"],
                {},
                m["content"] or "",
                (m["content"] or "").startswith("Error"),
            )
            for m in run["traj"]
            if m["role"] == "tool" and m.get("tool_call_id") in calls
        ]


def effect(tool: str) -> Effect:
    return (
        Effect.READ
        if tool.startswith(("get", "list", "find", "search", "calculate", "think"))
        else Effect.WRITE
    )


def test_the_open_errors_are_those_that_the_environment_flags() -> None:
    disagreements = []
    for result in (r for conversation in (*tau2(), *tau1()) for r in conversation):
        outcome = classify(ToolCall(result.tool, result.arguments, effect(result.tool)), result.text)
        nothing_found = outcome.kind is ErrorKind.EMPTY_RESULT and result.text == "[]"
        if result.is_error != (outcome.kind is not None) and not nothing_found:
            disagreements.append((result.tool, result.text[:80], outcome.kind))
    assert disagreements == []


def test_the_learned_shape_seldom_raises_a_false_alarm() -> None:
    conversations = [*tau2(), *tau1()]
    totals: dict[str, dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
    own = []
    for conversation in conversations:
        sums: dict[str, dict[tuple[str, str], float]] = defaultdict(lambda: defaultdict(float))
        for result in conversation:
            if not result.is_error:
                for path, kind, answers in ShapeProfile().evidence(result.text):
                    sums[result.tool][path, kind] += answers
                    totals[result.tool][path, kind] += answers
        own.append(sums)
    checked, alarms = 0, []
    for conversation, sums in zip(conversations, own, strict=True):
        for result in conversation:
            if result.is_error:
                continue
            rest = ((key, n - sums[result.tool][key]) for key, n in totals[result.tool].items())
            profile = ShapeProfile.from_rows(ShapeRow(*key, n) for key, n in rest if n > 1e-9)
            verdict = profile.verdict(result.text)
            checked += 1
            if verdict is not None:
                alarms.append((result.tool, verdict))
    print(f"\n{checked} successful results, {len(alarms)} false alarms")
    assert checked > 2_500
    assert len(alarms) <= MAX_FALSE_ALARMS * checked, alarms
