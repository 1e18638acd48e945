"""n8n's executions: the runs of each node; those with an output ``ai_tool`` are a tool's.

https://docs.n8n.io/api/api-reference/#tag/execution (``includeData=true``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from btm.logs.foreign import unfolded
from btm.logs.loose import LooseCall
from btm.logs.platforms import tool_call
from btm.logs.values import time_of

_DEPTH = 6


def parse(record: Any) -> Iterator[LooseCall]:
    """Give the tool calls of an execution, or of a page of them."""
    for execution in _executions(record, 0):
        data = execution.get("data")
        inside = data if isinstance(data, dict) else execution
        runs = (inside.get("resultData") or {}).get("runData") or {}
        own = str(execution.get("id") or execution.get("executionId") or "")
        for node, times in runs.items():
            for index, run in enumerate(times):
                if _is_tool(run):
                    yield _call(run, node, own or "execution", f"{own}/{node}/{index}")


def _executions(record: Any, depth: int) -> Iterator[Mapping[str, Any]]:
    if isinstance(record, list):
        for item in record:
            yield from _executions(item, depth + 1)
    elif isinstance(record, dict) and depth < _DEPTH:
        data = record.get("data")
        if isinstance(data, str):
            record = {**record, "data": (data := unfolded(data))}
        if "resultData" in record or (isinstance(data, dict) and "resultData" in data):
            yield record
        else:
            for inner in record.values():
                if isinstance(inner, list | dict):
                    yield from _executions(inner, depth + 1)


def _is_tool(run: Mapping[str, Any]) -> bool:
    return any("ai_tool" in (run.get(key) or ()) for key in ("data", "inputOverride"))


def _call(run: Mapping[str, Any], node: str, conversation: str, own: str) -> LooseCall:
    start, took, given = (
        time_of(run.get("startTime")),
        run.get("executionTime"),
        _items(run.get("inputOverride")),
    )
    if isinstance(given, dict) and given.keys() <= {"query", "input"}:
        given = given.get("query", given)
    flat = {
        "name": node, "spanid": own, "input": given, "output": _items(run.get("data")), "error": run.get("error"),
        "status": run.get("executionStatus"), "starttime": start,
        "endtime": None if start is None or took is None else start + took / 1e3,
    }  # fmt: skip
    return tool_call(flat, conversation)


def _items(data: Any) -> Any:
    """Return what the items of a run hold: one of them as it is, several as a list, and the answer without its wrapping."""
    branches = data.get("ai_tool") if isinstance(data, dict) else None
    items = [item.get("json") for branch in branches or () for item in branch or () if isinstance(item, dict)]
    value = items[0] if len(items) == 1 else items or None
    return value["response"] if isinstance(value, dict) and value.keys() == {"response"} else value
