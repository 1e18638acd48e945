from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from btm.cli.main import cli
from btm.fallback.loading import load_valid
from btm.maps.observed import Observations
from btm.maps.suggest import suggest

MAP = """
version: 1
domain: shop
tools:
  cancel_order: {effect: write, takes: [order, reason?]}
  get_order: {effect: read, takes: [order_id]}
  find_order: {effect: read, takes: [number]}
"""


def seen(times: int = 4) -> list[list[tuple[str, dict[str, Any]]]]:
    return [
        [
            ("get_order", {"order_id": f"O{n}17"}),
            ("find_order", {"number": f"O{n}17"}),
            ("cancel_order", {"order": f"O{n}17", "reason": "late"}),
            ("get_order", {"order_id": f"O{n}17"}),
        ]
        for n in range(times)
    ]


def observed(times: int = 4) -> Observations:
    made = Observations()
    for calls in seen(times):
        made.add(calls)
    return made


def test_the_read_that_agents_looked_with_after_a_write_is_proposed_as_its_check() -> None:
    model, _ = load_valid(MAP, "m.yaml")
    (check,) = observed().checks(model)
    assert (check.tool, check.target, dict(check.arguments)) == (
        "cancel_order",
        "get_order",
        {"order_id": "{{ call.order }}"},
    )
    assert (check.times, check.of) == (4, 4)


def test_what_was_seen_twice_is_no_habit() -> None:
    model, _ = load_valid(MAP, "m.yaml")
    assert observed(2).checks(model) == []


def test_small_numbers_and_truths_are_equal_by_chance() -> None:
    made = Observations()
    for _ in range(9):
        made.add([("cancel_order", {"order": 1, "reason": True}), ("get_order", {"order_id": 1})])
    model, _ = load_valid(MAP, "m.yaml")
    assert made.checks(model) == []


def test_a_fallbacks_arguments_are_those_that_were_equal_in_the_logs() -> None:
    model, _ = load_valid(MAP, "m.yaml")
    found = {(s.tool, s.target): s.fallback for s in suggest(model, observed=observed())}
    assert found["get_order", "find_order"]["arguments"] == {"number": "{{ call.order_id }}"}


def test_the_command_reads_logs_and_shows_the_check(tmp_path: Path) -> None:
    (tmp_path / "m.yaml").write_text(MAP)
    rows = []
    for calls in seen():
        messages: list[dict[str, Any]] = [{"role": "user", "content": "cancel it"}]
        for place, (tool, arguments) in enumerate(calls):
            function = {"name": tool, "arguments": json.dumps(arguments)}
            asked = [{"id": f"c{place}", "type": "function", "function": function}]
            messages += [
                {"role": "assistant", "content": None, "tool_calls": asked},
                {"role": "tool", "tool_call_id": f"c{place}", "content": '{"status": "fine"}'},
            ]
        rows.append(json.dumps({"messages": messages}))
    (tmp_path / "log.jsonl").write_text("\n".join(rows))
    command = ["map", "suggest", str(tmp_path / "m.yaml"), "--logs", str(tmp_path / "log.jsonl")]
    result = CliRunner().invoke(cli, command)
    assert result.exit_code == 0, result.output
    assert 'verify: {tool: get_order, arguments: {order_id: "{{ call.order }}"}}' in result.output.replace(
        "\n", ""
    )
    for name in ("few", "again"):  # what two conversations did is no habit, however often it is told
        (tmp_path / f"{name}.jsonl").write_text("\n".join(rows[:2]))
    told = [f"--logs={tmp_path}/{name}.jsonl" for name in ("few", "again")]
    assert "verify" not in CliRunner().invoke(cli, [*command[:3], *told, "--json"]).output
    document = json.loads(CliRunner().invoke(cli, [*command, "--json"]).output)
    assert document[-1]["verify"] == {"tool": "get_order", "arguments": {"order_id": "{{ call.order }}"}}
    accepted = CliRunner().invoke(cli, [*command, "--accept", "cancel_order", "get_order"])
    assert "[written]" in accepted.output
    made = load_valid((tmp_path / "m.yaml").read_text(), "m.yaml")[0].tools["cancel_order"].verify
    assert made is not None
    assert (made.tool, made.arguments) == ("get_order", {"order_id": "{{ call.order }}"})
    assert CliRunner().invoke(cli, [*command, "--accept", "cancel_order", "get_order"]).exit_code == 2
