"""LangSmith run exports: runs of ``run_type`` "tool", of one conversation when they share a ``trace_id``.

https://docs.langchain.com/langsmith/run-data-format. A run's ``error`` is null when the error was handled on the
way; then ``outputs.output`` is a tool message whose ``status`` is "error", or a text that says so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs import joining, loose
from btm.logs.conversation import NO_RESULT, Entry, Passed, Skipped
from btm.logs.loose import LooseCall
from btm.logs.records import Log
from btm.logs.sample import Sample
from btm.logs.toolmessage import answer_in
from btm.logs.values import arguments_of, error_name, is_control_flow, printed_arguments, time_of

NAME = "langsmith"
LOOKS_FOR = "runs with a `run_type` and a `trace_id`"

_TOOL_RUN = re.compile(rb'"run_type"\s*:\s*"tool"')
_KEYS = frozenset({"trace_id", "dotted_order", "parent_run_id", "child_runs", "session_id", "inputs"})


def matches(sample: Sample) -> bool:
    """Whether the log's first records are runs."""
    if any("run_type" in record and not _KEYS.isdisjoint(record) for record in sample.objects):
        return True
    return b'"run_type"' in sample.head and ("runs" in sample.keys or not sample.records)


def apart(sample: Sample) -> None:
    """Conversations are mixed in these logs."""


def read(log: Log) -> Iterator[Entry | Skipped | Passed]:
    """Read the traces as conversations."""
    path = ("runs",) if "runs" in log.sample.keys else ()
    if log.sample.records and not _TOOL_RUN.search(log.sample.head) and joining.are_snapshots(log.sample):
        return joining.snapshots(log, NAME, path)
    return loose.entries(log, NAME, parse, path)


def parse(record: Any) -> Iterator[LooseCall]:
    """Give the tool calls of a run and of the runs within it."""
    open_runs = [(record, _trace_of(record))]
    while open_runs:
        run, trace = open_runs.pop()
        if run["run_type"] == "tool":
            yield _call(run, trace)
        children = run.get("child_runs") or ()
        open_runs.extend((child, trace) for child in reversed(children))


def _trace_of(run: Mapping[str, Any]) -> str:
    first = str(run.get("dotted_order") or "").partition(".")[0]  # 20250801T162044824977Z<run id>
    return str(run.get("trace_id") or first.partition("Z")[2] or run.get("id") or "")


def _call(run: Mapping[str, Any], trace: str) -> LooseCall:
    result, is_error, call_id = _answer(run)
    error, error_type = run.get("error"), None
    if error:
        error_type = error_name(error)
        result, is_error = (NO_RESULT, None) if is_control_flow(error_type) else (error, True)
    end = time_of(run.get("end_time"))
    if result is NO_RESULT and not error and end is not None:
        is_error = False  # it ended well, and its outputs were not recorded
    return LooseCall(
        conversation=trace,
        own_id=str(run.get("id") or ""),
        tool=run.get("name") or "",
        arguments=_arguments(run.get("inputs")),
        call_id=call_id or str(run.get("id") or ""),
        start=time_of(run.get("start_time")),
        end=end,
        has_result=result is not NO_RESULT,
        result=None if result is NO_RESULT else result,
        is_error=is_error,
        error_type=error_type if is_error else None,
        parent=str(run.get("parent_run_id") or ""),
        turn=_step(run),
    )


def _arguments(inputs: Any) -> dict[str, Any]:
    """Return a run's arguments: LangChain's tracer records what Python prints for them, as ``input``."""
    if isinstance(inputs, dict) and inputs.keys() == {"input"}:
        inner = inputs["input"]
        if isinstance(inner, dict):
            return inner
        if isinstance(inner, str) and inner.lstrip().startswith("{"):
            return printed_arguments(inner)
    return arguments_of(inputs)


def _answer(run: Mapping[str, Any]) -> tuple[Any, bool | None, str]:
    outputs = run.get("outputs")
    if not outputs:
        return NO_RESULT, None, ""
    if isinstance(outputs, dict) and "output" in outputs:
        return answer_in(outputs["output"])
    return answer_in(outputs)


def _step(run: Mapping[str, Any]) -> str | None:
    """Return the step of a LangGraph run: the calls of one step were made together."""
    extra = run.get("extra")
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    step = metadata.get("langgraph_step") if isinstance(metadata, dict) else None
    if step is None:
        return None
    return f"{step}/{str(run.get('dotted_order') or '').count('.')}"
