"""Options are read when a memory opens: texts for enums, types, and every problem in one error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from btm import Action, BeliefModel, Effect, ErrorKind, Format, Mode, ToolMemory


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"mode": "advice"},
            r"mode: 'advice' is not a valid mode; use one of observe, advise, guard, act; did you mean 'advise'",
        ),
        ({"form": "xml"}, r"form: 'xml' is not a valid format; use one of tagged, markdown, json"),
        ({"beliefs": "pool"}, r"beliefs: 'pool' is not a valid belief model.*did you mean 'pooled'"),
        ({"beliefs": 3}, r"3 is not a valid belief model"),
        ({"mode": None}, r"None is not a valid mode"),
    ],
)
def test_a_wrong_text_says_which_there_are_and_the_nearest(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        ToolMemory.open(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"budget_tokens": "300"},
        {"budget_tokens": True},
        {"settings": {"value_of_success": 3}},
        {"explore": 7},
        {"clock": 1_700_000_000.0},
        {"sleep": None},
        {"asleep": 3},
        {"rng": 7},
        {"store_arguments": "yes"},
        {"learn_shapes": 1},
        {"fallback_map": {"tools": {}}},
        {"policies": ["no-blind-repeat"]},
        {"hash_key": "secret"},
        {"path": 3},
        {"half_life_s": "3"},
    ],
    ids=lambda options: next(iter(options)),
)
def test_a_wrong_type_fails_when_the_memory_opens(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(options))):
        ToolMemory.open(**options)


def test_one_error_names_every_wrong_option_and_no_database_is_made(tmp_path: Path) -> None:
    path = tmp_path / "btm.db"
    with pytest.raises(ValueError, match=r"mode: .*form: .*budget_tokens is at least 1"):
        ToolMemory.open(path, mode="advize", form="yml", budget_tokens=0)
    assert not path.exists()


def test_an_option_that_does_not_exist_is_refused_by_python_itself() -> None:
    with pytest.raises(TypeError, match="fallback_maps"):
        ToolMemory.open(fallback_maps="retail")  # type: ignore[call-arg]


@pytest.mark.parametrize("kind", [Action, BeliefModel, Effect, ErrorKind, Format, Mode])
def test_every_text_of_a_closed_set_is_read_and_a_wrong_one_lists_them(kind: Any) -> None:
    for member in kind:
        assert kind(member.value) is member
    with pytest.raises(ValueError, match=f"use one of .*{next(iter(kind)).value}"):
        kind("nonsense")


def test_texts_work_as_members_do() -> None:
    with ToolMemory.open(mode="guard", form="json", beliefs="flat") as memory:
        assert memory.mode is Mode.GUARD
        assert memory.context("search", "timeout").text.startswith("{")


def test_an_effect_given_as_a_wrong_text_says_which_there_are() -> None:
    with ToolMemory.open() as memory, pytest.raises(ValueError, match="did you mean 'read'"):
        memory.wrap(len, effect="reed")
