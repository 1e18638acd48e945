"""Watching through LangChain's callbacks: btm learns, and changes nothing."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler

from btm.adapters.langchain.results import view
from btm.adapters.langchain.run_context import handled_already, nested, task_in
from btm.learning.tracker import Ticket
from btm.memory import ToolMemory
from btm.model import ToolCall
from btm.runtime.drivers import is_control_flow
from btm.support.bounded import BoundedDict
from btm.support.call_ids import Turn

_MAX_RUNS = 10_000


class BTMCallbackHandler(BaseCallbackHandler):
    """Learns from every tool call of a run: ``agent.invoke(..., config={"callbacks": [BTMCallbackHandler(memory)]})``.

    A conversation is LangGraph's ``thread_id``, the one that ``memory.conversation`` names, or the root run, which
    ends it. Calls that the same memory handles already (wrapped tools, the middleware) are not counted again.
    """

    run_inline = True  # nothing here waits, and order matters

    def __init__(self, memory: ToolMemory) -> None:
        self.memory = memory
        self._begun: BoundedDict[UUID, Ticket] = BoundedDict(_MAX_RUNS)
        self._roots: BoundedDict[UUID, UUID] = BoundedDict(_MAX_RUNS)
        self._lock = threading.Lock()

    # -- runs: which root does a tool's run belong to? ----------------------------------------------------------------

    def on_chain_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002
        inputs: dict[str, Any],  # noqa: ARG002
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Note a run's root."""
        with self._lock:
            self._roots[run_id] = self._root(parent_run_id, run_id)

    def _root(self, parent_run_id: UUID | None, own: UUID) -> UUID:
        return own if parent_run_id is None else self._roots.get(parent_run_id, parent_run_id)

    def on_chain_end(self, outputs: dict[str, Any], *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Forget a run; a root run that ends ends its conversation."""
        with self._lock:
            root = self._roots.pop(run_id, None)
        if root == run_id:
            self.memory.end(_run_name(run_id))

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Forget a run that failed or was interrupted."""
        self.on_chain_end({}, run_id=run_id)

    # -- tools ---------------------------------------------------------------------------------------------------------

    def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note that a tool's run begins."""
        call_id = kwargs.get("tool_call_id")
        task = task_in((metadata or {}).get("langgraph_checkpoint_ns"))
        if handled_already(self.memory, call_id, task):
            return
        tool = (serialized or {}).get("name") or kwargs.get("name") or "unknown"
        arguments: Mapping[str, Any] = inputs if isinstance(inputs, Mapping) else {"input": input_str}
        self.memory.describe(tool, (serialized or {}).get("description"))
        call = ToolCall(
            tool,
            arguments,
            self.memory.effect_of(tool),
            self._conversation(metadata, parent_run_id, run_id),
            call_id or str(run_id),
        )
        ticket = self.memory.begin(call, turn=Turn(task))
        if ticket is None:
            return
        with self._lock:
            self._begun[run_id] = ticket

    def _conversation(self, metadata: Mapping[str, Any] | None, parent: UUID | None, own: UUID) -> str:
        thread = (metadata or {}).get("thread_id")
        if thread:
            return nested(str(thread), (metadata or {}).get("langgraph_checkpoint_ns"))
        if self.memory.current_conversation:
            return self.memory.current_conversation
        with self._lock:
            return _run_name(self._root(parent, own))

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Learn from what a tool gave."""
        with self._lock:
            ticket = self._begun.pop(run_id, None)
        if ticket is not None:
            self.memory.finish(ticket, result=view(output))

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:  # noqa: ARG002
        """Learn from what a tool raised; interrupts, cancellations and the like teach nothing."""
        with self._lock:
            ticket = self._begun.pop(run_id, None)
        if ticket is not None and isinstance(error, Exception) and not is_control_flow(error):
            self.memory.finish(ticket, error=error)


def _run_name(root: UUID) -> str:
    return f"run-{root}"
