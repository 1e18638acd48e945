"""Without a map: what a tool says of itself decides whether a failed call of it may be made again."""

from __future__ import annotations

from langchain_core.tools import StructuredTool

from btm import ToolMemory
from btm.adapters.chat_completions import ChatLoop
from btm.adapters.langchain import BTMMiddleware, wrap_tools
from btm.model import Effect


def get_refund(order_id: str) -> str:
    """Issue a refund for an order."""
    return order_id


def opening_hours(shop: str) -> str:
    """Returns the opening hours of a shop."""
    return shop


def plain_tools(*, read_only: bool | None = None) -> list[StructuredTool]:
    metadata = None if read_only is None else {"readOnlyHint": read_only, "destructiveHint": False}
    return [StructuredTool.from_function(f, metadata=metadata) for f in (get_refund, opening_hours)]


def effects(memory: ToolMemory) -> tuple[Effect, Effect]:
    return memory.effect_of("get_refund"), memory.effect_of("opening_hours")


def test_a_docstring_is_heard_by_the_loop_and_by_wrapped_functions() -> None:
    with ToolMemory.open() as memory:
        ChatLoop(memory, [get_refund, opening_hours])
        assert effects(memory) == (Effect.WRITE, Effect.READ)
    with ToolMemory.open() as memory:
        memory.wrap(get_refund), memory.wrap(opening_hours)
        assert effects(memory) == (Effect.WRITE, Effect.READ)


def test_a_description_is_heard_by_langchains_adapters() -> None:
    with ToolMemory.open() as memory:
        wrap_tools(plain_tools(), memory)
        assert effects(memory) == (Effect.WRITE, Effect.READ)
    with ToolMemory.open() as memory:
        BTMMiddleware(memory).toolbox(plain_tools())
        assert effects(memory) == (Effect.WRITE, Effect.READ)


def test_a_servers_hint_that_was_passed_on_decides() -> None:
    with ToolMemory.open() as memory:
        wrap_tools(plain_tools(read_only=True), memory)
        assert effects(memory) == (Effect.READ, Effect.READ)
    with ToolMemory.open() as memory:
        wrap_tools(plain_tools(read_only=False), memory)
        assert effects(memory) == (Effect.WRITE, Effect.WRITE)
