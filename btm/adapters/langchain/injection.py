"""Which of a LangChain tool's arguments the framework hands in and the model never sees."""

from __future__ import annotations

from typing import Any, get_args

from langchain_core.tools import BaseTool, InjectedToolCallId
from langchain_core.tools.base import FILTERED_ARGS


def injected_names(tool: BaseTool) -> frozenset[str]:
    """Return the names of injected arguments: state, store, runtime, the call's id, callbacks."""
    fields = dict.fromkeys((*_annotations(tool), *tool._injected_args_keys, *FILTERED_ARGS))
    kept = tool._filter_injected_args(fields)
    return frozenset(fields.keys() - kept.keys())


def needed_names(tool: BaseTool) -> frozenset[str]:
    """Return the injected arguments that a caller must hand in; LangChain fills the call's id by itself."""
    annotations = _annotations(tool)
    names = injected_names(tool).difference(FILTERED_ARGS)
    return frozenset(n for n in names if not _is_call_id(n, annotations.get(n)))


def _annotations(tool: BaseTool) -> dict[str, Any]:
    schema = tool.args_schema
    if isinstance(schema, dict) or schema is None:
        return {}
    return {
        name: annotation
        for cls in reversed(schema.__mro__)
        for name, annotation in getattr(cls, "__annotations__", {}).items()
    }


def _is_call_id(name: str, annotation: Any) -> bool:
    marks = get_args(annotation)
    return name == "tool_call_id" or any(
        mark is InjectedToolCallId or isinstance(mark, InjectedToolCallId) for mark in marks
    )


def require_sync(tool: BaseTool) -> None:
    """Raise NotImplementedError, saying what to do, for a tool that can only be awaited: no failure of the tool's."""
    if getattr(tool, "func", tool) is None and getattr(tool, "coroutine", None) is not None:
        raise NotImplementedError(f"tool {tool.name!r} is async only: use ainvoke, arun or astream")
