"""Small databases for tests of commands that read one."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from btm import ToolMemory
from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.model import ToolCall

MAP = """
version: 1
domain: orders
tools:
  get_order:
    effect: read
    fallbacks:
      - {tool: list_orders, coverage: partial, arguments: {user_id: "{{ known.user_id }}"}}
      - {tool: search_orders, coverage: full, arguments: {order_id: "{{ call.order_id }}"}}
  list_orders: {effect: read}
  search_orders: {effect: read}
  human: {role: escalation}
"""


def run(*arguments: str | Path) -> Result:
    """Run ``btm`` with these arguments."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def run_json(*arguments: str | Path) -> Any:
    """Run ``btm ... --json`` and return the one document on stdout."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def write_map(folder: Path) -> Path:
    """Write the map to a file."""
    path = folder / "orders.yaml"
    path.write_text(MAP, encoding="utf-8")
    return path


def live(path: Path, retries: list[bool], *, tool: str = "get_order", conversations: str = "c") -> Path:
    """Let a memory live through timeouts of ``tool``, each retried once, a second apart up to now, with these results."""
    clock = [time.time() - len(retries) - 1.0]
    fallback_map = FallbackMap.from_text(MAP)
    with ToolMemory.open(path, fallback_map=fallback_map, mode="observe", clock=lambda: clock[0]) as memory:
        for number, works in enumerate(retries):
            clock[0] += 1.0
            with memory.conversation(f"{conversations}{number}"):
                for fails in (True, not works):
                    call = ToolCall(tool, {"order_id": f"O{number}"}, memory.effect_of(tool))
                    memory.call(call, _timeout if fails else _answer)
    return path


def _timeout(tool: str, arguments: Any) -> Any:
    raise TimeoutError(f"{tool} timed out")


def _answer(tool: str, arguments: Any) -> Any:
    return {"tool": tool, **arguments}
