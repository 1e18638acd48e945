"""Which conversation a LangChain run belongs to, and which calls btm is already handling."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from threading import Lock
from typing import Any
from uuid import uuid4

from langchain_core.runnables.config import var_child_runnable_config

from btm.memory import ToolMemory
from btm.support.bounded import BoundedDict
from btm.support.process_state import kept

# Calls that are being handled here and now, as (memory, call id, task): what runs inside must not count them again.
_Marks = tuple[tuple[int, str, str], ...]
_handling: ContextVar[_Marks] = ContextVar("btm_handling", default=())
Handling = Token[_Marks]


def enter(memory: ToolMemory, call_id: str | None, task: str = "") -> Handling:
    """Mark a call as being handled while its tools run; :func:`leave` takes the mark back."""
    return _handling.set((*_handling.get(), (id(memory), call_id or "", task)))


def leave(mark: Handling) -> None:
    """Take back the mark that :func:`enter` made."""
    _handling.reset(mark)


def handled_already(memory: ToolMemory, call_id: str | None, task: str = "") -> bool:
    """Whether the middleware or an outer wrapped tool is handling this call.

    A call with the same id in another task is none of it: an agent inside a tool numbers its calls as the outer one does.
    """
    marks = _handling.get()
    if not marks:
        return False
    asked = (id(memory), call_id or "")
    return any(mark[:2] == asked and (mark[2] == task or not (mark[2] and task)) for mark in marks)


def task_of(config: Mapping[str, Any] | None) -> str:
    """Return LangGraph's name for the task that a call is made in; ``""`` outside of a graph.

    Every step of a graph has tasks of its own; one that is resumed, or run again from its checkpoint, keeps its name.
    """
    if config is None:
        config = var_child_runnable_config.get() or {}
    return task_in((config.get("configurable") or {}).get("checkpoint_ns"))


def task_in(namespace: object) -> str:
    """Return the name of the task that a namespace of LangGraph's ends with: ``agent:<id>|tools:<id>``."""
    return namespace.rpartition("|")[2].rpartition(":")[2] if isinstance(namespace, str) else ""


def conversation_of(memory: ToolMemory, config: Mapping[str, Any] | None, state: Any = None) -> str:
    """Return the conversation's name: LangGraph's ``thread_id``, the one named by ``memory.conversation``, or this run's.

    A run without a thread is told by LangGraph's control object, which lives as long as the run, else by its first
    message, whose id stays the same from step to step. An agent inside another has a conversation of its own.
    ``""`` when nothing tells.
    """
    if config is None:
        config = var_child_runnable_config.get() or {}
    configurable = config.get("configurable") or {}
    thread = configurable.get("thread_id")
    if thread:
        return nested(str(thread), configurable.get("checkpoint_ns"))
    if memory.current_conversation:
        return memory.current_conversation
    run = _run_id(configurable.get("__pregel_runtime"))
    if run:
        return nested(f"run-{run}", configurable.get("checkpoint_ns"))
    first = _first_message_id(state)
    return f"messages-{first}" if first else ""


def nested(conversation: str, namespace: object) -> str:
    """Return the conversation's name inside a subgraph: ``namespace`` is LangGraph's, one segment a level."""
    if not isinstance(namespace, str) or "|" not in namespace:
        return conversation
    return f"{conversation}/{namespace.split('|')[-2]}"


# LangGraph's control objects with the names given to their runs. They are held, so that no id is used twice.
_MAX_RUNS = 2_000
_runs: BoundedDict[int, tuple[Any, str]] = kept(__name__, BoundedDict(_MAX_RUNS), most=_MAX_RUNS)
_runs_lock = Lock()


def _run_id(runtime: Any) -> str:
    """A name for the graph's run; ``""`` outside of one, and where LangGraph has no control object (before 1.2)."""
    control = getattr(runtime, "control", None)
    if control is None:
        return ""
    with _runs_lock:
        known = _runs.get(id(control))
        if known is None:
            known = _runs[id(control)] = (control, uuid4().hex[:12])
    return known[1]


def _first_message_id(state: Any) -> str:
    messages = state.get("messages") if isinstance(state, Mapping) else getattr(state, "messages", state)
    first = messages[0] if isinstance(messages, list) and messages else None
    found = first.get("id") if isinstance(first, Mapping) else getattr(first, "id", None)
    return found if isinstance(found, str) else ""
