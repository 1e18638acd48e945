from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from log_samples import read, write
from product_samples import CALLS, PRODUCTS
from shared_data import shared

from btm.fallback import FallbackMap
from btm.logs.listening import Listener
from btm.model import ErrorKind

LISTENER = Listener(FallbackMap.empty(), now=1_800_000_000.0)

# What each file is told to hold: conversations, calls, errors by kind.
TOLD: dict[str, tuple[int, int, dict[str, int]]] = {
    "codex_rollout_shell.jsonl": (1, 1, {"not_found": 1}),
    "real_openai_agents_traces.jsonl": (1, 3, {"unknown": 2}),
    "real_pydantic_ai_messages.json": (1, 3, {"auth_error": 1, "unavailable": 1}),
    "swe_agent.traj": (1, 2, {"not_found": 1}),
}
STORY = (1, 3, {"auth_error": 2})
FORMATS = (
    shared("data/formats") if Path(__file__).parents[2].joinpath("../shared/data/formats").exists() else None
)


def told(path: Path) -> tuple[int, int, dict[str, int]]:
    conversations, skipped = read(path)
    assert skipped == []
    errors: dict[str, int] = {}
    calls = 0
    for conversation in conversations:
        heard = LISTENER.listen(conversation)
        calls += len(heard.outcomes) + heard.unanswered
        for _, outcome in heard.outcomes:
            if outcome.kind is not None:
                errors[str(outcome.kind)] = errors.get(str(outcome.kind), 0) + 1
    return len(conversations), calls, errors


@pytest.mark.parametrize(("content", "name"), PRODUCTS.values(), ids=PRODUCTS)
def test_every_products_log_tells_the_same_story(content: Any, name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log", content)
    assert told(path) == STORY
    (conversation,) = read(path)[0]
    assert conversation.format == name
    assert [(c.call.tool, dict(c.call.arguments)) for c in conversation.calls] == story(conversation)


def story(conversation: Any) -> list[tuple[str, dict[str, Any]]]:
    if conversation.format == "swe_agent":
        return [("bash", {"command": tool}) for _, tool, *_ in CALLS]
    if conversation.format == "openhands" and "name" in next(conversation.calls).call.arguments:
        return [(tool, {"name": tool, **given}) for _, tool, given, *_ in CALLS]
    return [(tool, given) for _, tool, given, *_ in CALLS]


@pytest.mark.skipif(FORMATS is None, reason="the samples of other products' logs are not here")
@pytest.mark.parametrize("name", sorted(p.name for p in FORMATS.iterdir()) if FORMATS else [])
def test_a_sample_of_another_product_tells_what_it_is_told_to(name: str) -> None:
    assert FORMATS is not None
    assert told(FORMATS / name) == TOLD.get(name, STORY)


def test_kinds_are_those_that_btm_knows() -> None:
    assert {kind for _, _, errors in TOLD.values() for kind in errors} <= set(map(str, ErrorKind))
