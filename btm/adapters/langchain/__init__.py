"""LangChain: three ways to give an agent btm.

* :func:`wrap_tools`: tools with btm around them, for any executor that takes LangChain tools.
* :class:`BTMCallbackHandler`: observes only, through LangChain's callbacks.
* :class:`BTMMiddleware`: for ``langchain.agents.create_agent``; the one that can also tell the model what to do
  next where a model follows it best. Needs the extra: ``pip install 'bayesian-tool-memory[langchain]'``.

The first two need ``langchain-core`` alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from langchain_core.tools import BaseTool
from langchain_core.tools import tool as as_tool

from btm.adapters.budget import Budget
from btm.adapters.langchain.callbacks import BTMCallbackHandler
from btm.adapters.langchain.tool_proxy import Binding, original_of
from btm.adapters.wording import Placement
from btm.errors import MissingExtraError
from btm.memory import ToolMemory
from btm.runtime.timeouts import Timeouts

if TYPE_CHECKING:
    from btm.adapters.langchain.middleware import BTMMiddleware

__all__ = ["BTMCallbackHandler", "BTMMiddleware", "Budget", "Placement", "unwrap_tools", "wrap_tools"]

Node = TypeVar("Node")


@overload
def wrap_tools(
    tools: BaseTool | FunctionType,
    memory: ToolMemory,
    *,
    raises: bool = ...,
    timeouts: Mapping[str, float] | None = ...,
) -> BaseTool: ...
@overload
def wrap_tools(
    tools: Iterable[BaseTool | Callable[..., Any]],
    memory: ToolMemory,
    *,
    raises: bool = ...,
    timeouts: Mapping[str, float] | None = ...,
) -> list[BaseTool]: ...
@overload
def wrap_tools(
    tools: Node, memory: ToolMemory, *, raises: bool = ..., timeouts: Mapping[str, float] | None = ...
) -> Node: ...
def wrap_tools(
    tools: Any, memory: ToolMemory, *, raises: bool = False, timeouts: Mapping[str, float] | None = None
) -> Any:
    """Return tools with btm around every call: a list for several, one for one.

    A plain function becomes a LangChain tool first; a LangGraph ``ToolNode`` comes back as one with wrapped tools. Each
    tool keeps its class, name, schema, callbacks and whatever else it has. Wrapping twice changes nothing.

    A call that fails and has an id (a model made it) comes back as a ``ToolMessage`` with ``status="error"``, so
    that it does not take the run and its parallel siblings with it; ``raises`` leaves exceptions alone, as do calls
    without an id, and observe mode. In advise mode the recovery context is appended to the failing result, the only
    place that a tool can reach. It costs something: models follow it there less than at the end of the conversation
    (:class:`BTMMiddleware` puts it there), and it stays in the stored history.

    ``timeouts`` are seconds by tool name, before the fallback map's. In act mode the tools stand in for each other;
    one that wants injected arguments does where the failed call was given them too.
    """
    binding = Binding(memory, Timeouts(memory.fallback_map, dict(timeouts or {})), raises)
    if _is_tool_node(tools):
        return _rebuilt(tools, [binding.wrap(tool) for tool in tools.tools_by_name.values()])
    if _is_one(tools):
        return binding.wrap(_as_tool(tools))
    return [binding.wrap(_as_tool(tool)) for tool in tools]


@overload
def unwrap_tools(tools: BaseTool) -> BaseTool: ...
@overload
def unwrap_tools(tools: Iterable[BaseTool]) -> list[BaseTool]: ...
@overload
def unwrap_tools(tools: Node) -> Node: ...
def unwrap_tools(tools: Any) -> Any:
    """Return the tools inside wrapped ones, the very objects that were wrapped; others as they are."""
    if _is_tool_node(tools):
        return _rebuilt(tools, [original_of(tool) for tool in tools.tools_by_name.values()])
    return original_of(tools) if isinstance(tools, BaseTool) else [original_of(tool) for tool in tools]


def _is_one(value: Any) -> bool:
    return isinstance(value, BaseTool) or (callable(value) and not isinstance(value, Iterable))


def _as_tool(value: Any) -> BaseTool:
    if isinstance(value, BaseTool):
        return value
    if not callable(value):
        raise TypeError(f"a tool is a LangChain tool or a function, not {type(value).__name__}")
    made: BaseTool = as_tool(value)
    return made


def _is_tool_node(value: Any) -> bool:
    module = sys.modules.get("langgraph.prebuilt.tool_node")  # not loaded: then this is none of its objects
    return module is not None and isinstance(value, module.ToolNode)


def _rebuilt(node: Any, tools: list[BaseTool]) -> Any:
    return type(node)(
        tools,
        name=node.name,
        tags=node.tags,
        handle_tool_errors=node._handle_tool_errors,
        messages_key=node._messages_key,
        wrap_tool_call=node._wrap_tool_call,
        awrap_tool_call=node._awrap_tool_call,
    )


def __getattr__(name: str) -> Any:
    if name == "BTMMiddleware":
        try:
            from btm.adapters.langchain.middleware import BTMMiddleware  # noqa: PLC0415 - loads langchain's agents
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("langchain", "langgraph"):
                raise
            raise MissingExtraError("langchain", "langchain", "BTMMiddleware") from error
        return BTMMiddleware
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
