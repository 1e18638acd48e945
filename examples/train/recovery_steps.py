"""From samples to single decisions: after a failed call, what is the next one? No model is needed here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from btm.training.sft_build import build

SHOWN = 80  # characters of a result
MEMORY = 2  # calls before the next one that are shown
OPENING = '{"name": "'


@dataclass(frozen=True)
class Decision:
    """A prompt, the call that was right, and whether a failed call stands right before it."""

    prompt: str
    tool: str
    answer: str
    recovery: bool


def decisions(seed: int, per_task: int) -> tuple[list[Decision], list[Decision]]:
    """Return decisions from training tasks, and recovery decisions from tasks that are held out (other entities)."""
    trained = build("shop", seed=seed, per_task=per_task)
    tested = build("shop", seed=seed + 1, per_task=per_task, cards=trained.cards, split="eval")
    train = [one for sample in trained.samples for one in _of(sample.messages, sample.train_on, sample.tools)]
    test = [one for sample in tested.samples for one in _of(sample.messages, sample.train_on, sample.tools)]
    return train, list({one.prompt: one for one in test if one.recovery}.values())


def _of(
    messages: Sequence[dict[str, Any]], train_on: Iterable[int], tools: Sequence[Mapping[str, Any]]
) -> Iterator[Decision]:
    names = ", ".join(tool["function"]["name"] for tool in tools)
    request = next(m["content"] for m in messages if m["role"] == "user")
    for number in train_on:
        calls = messages[number].get("tool_calls")
        if not calls:
            continue
        lines = []
        for message in messages[max(0, number - 2 * MEMORY) : number]:
            if message.get("tool_calls"):
                function = message["tool_calls"][0]["function"]
                lines.append(f"call: {function['name']} {function['arguments']}")
            elif message["role"] == "tool":
                lines.append(f"result: {message['content'][:SHOWN]}")
            elif message["role"] == "user" and message["content"] != request:
                lines.append(f"user: {message['content']}")
        prompt = f"Tools: {names}\nRequest: {request}\n" + "\n".join(lines) + "\nThe next call, as JSON:"
        function = calls[0]["function"]
        answer = json.dumps({"name": function["name"], "arguments": json.loads(function["arguments"])})
        failed = bool(lines) and lines[-1].startswith("result: Error: ")
        yield Decision(prompt, function["name"], answer, failed)


@dataclass(frozen=True)
class Score:
    """How many decisions were right: the tool, and the whole call."""

    n: int
    tool: int
    whole: int


def score(choose: Callable[[str], str], tested: Iterable[Decision]) -> Score:
    """Ask for each decision's call. ``choose`` goes on after the prompt and ``OPENING``, which it is given for free."""
    n = tool = whole = 0
    for one in tested:
        said = OPENING + choose(one.prompt)
        n += 1
        tool += said[len(OPENING) :].partition('"')[0] == one.tool
        try:
            whole += json.JSONDecoder().raw_decode(said)[0] == json.loads(one.answer)
        except ValueError:
            continue
    return Score(n, tool, whole)
