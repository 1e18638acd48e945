"""What calls are named that come without names."""

from __future__ import annotations

import asyncio
import random

from btm.model import ToolCall
from btm.support.call_ids import Names, conversation, current_conversation


def test_a_call_keeps_the_names_it_has() -> None:
    named = ToolCall("t", conversation="talk", call_id="c1")
    assert Names(random.Random(1)).complete(named) is named
    half = Names(random.Random(1)).complete(ToolCall("t", call_id="c1"))
    assert half.call_id == "c1"
    assert half.conversation.startswith("run-")


def test_two_runs_name_differently_and_one_seed_names_alike() -> None:
    def names(seed: int) -> list[tuple[str, str]]:
        given = Names(random.Random(seed))
        calls = [given.complete(ToolCall("t")) for _ in range(3)]
        return [(call.conversation, call.call_id) for call in calls]

    assert names(1) == names(1)
    assert len(set(names(1))) == 3
    assert not set(names(1)) & set(names(2))


def test_a_block_of_code_names_its_conversation_in_its_own_task() -> None:
    given = Names(random.Random(1))

    async def talk(name: str) -> str:
        with conversation(name):
            await asyncio.sleep(0)
            return given.complete(ToolCall("t")).conversation

    async def talks() -> list[str]:
        return list(await asyncio.gather(talk("a"), talk("b")))

    assert asyncio.run(talks()) == ["a", "b"]
    assert current_conversation() == ""
    with conversation("outer"):
        assert given.conversation() == "outer"
        assert given.conversation("stated") == "stated"


def test_a_forked_child_gives_other_names() -> None:
    given = Names(random.Random(1))
    before = given.complete(ToolCall("t"))
    given.after_fork()
    after = given.complete(ToolCall("t"))
    assert before.conversation != after.conversation
    assert before.call_id.partition("-")[0] != after.call_id.partition("-")[0]
