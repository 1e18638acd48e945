"""``btm map``: what scripts and people get from it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from btm.cli.map import map_group
from btm.fallback import FallbackMap
from btm.model import Action, ErrorKind, EvidenceKey
from btm.store.sql import SqlStore


def _schema(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {}}, "required": [name]}


TOOLS = [
    {"name": "get_order", "description": "Get an order.", "parameters": _schema("order_id")},
    {"name": "find_order", "description": "Find an order.", "parameters": _schema("text")},
    {"name": "cancel_order", "parameters": _schema("order_id")},
]
GOOD = """\
version: 1
domain: d
tools:
  get_order: {effect: read, takes: [order_id], fallbacks: [{tool: find_order, coverage: partial, arguments: {text: "{{ call.order_id }}"}}]}
  find_order: {effect: read, takes: [text]}
  cancel_order: {effect: write, takes: [order_id], verify: {tool: get_order}}
  human: {role: escalation}
"""  # noqa: E501 - a line as long as people write them


def run(*arguments: str | Path, code: int = 0) -> Result:
    result = CliRunner().invoke(map_group, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


@pytest.fixture
def good(tmp_path: Path) -> Path:
    (tmp_path / "tools.json").write_text(json.dumps(TOOLS))
    path = tmp_path / "map.yaml"
    path.write_text(GOOD)
    return path


def test_check_ends_with_0_when_there_is_no_error(good: Path) -> None:
    assert "1 warning" in run("check", good).stdout


@pytest.mark.parametrize("width", [160, 80, 40])
def test_check_ends_with_1_and_shows_the_line_and_the_cure(
    width: int, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("btm.cli.output._PIPE_WIDTH", width)
    broken = GOOD.replace("tool: find_order", "tool: find_ordr")
    good.write_text(broken)
    column = broken.splitlines()[3].index("find_ordr") + 1
    shown = run("check", good, code=1).stdout
    assert "error[format]: the tool 'find_ordr' is not declared" in " ".join(shown.split())
    assert f"--> {good}:4:{column}" in shown.replace("\n", "")
    line, mark = next(
        (a, b) for a, b in zip(shown.splitlines(), shown.splitlines()[1:], strict=False) if "^" in b
    )
    assert line[mark.index("^") :][: mark.count("^")] == "find_ordr"
    assert "did you mean 'find_order'?" in " ".join(shown.split())
    assert all(len(text) <= width for text in shown.splitlines() if "-->" not in text)


def test_check_with_strict_fails_for_warnings_too(good: Path) -> None:
    run("check", good, "--strict", code=1)


def test_check_against_real_tools_finds_what_is_missing(good: Path) -> None:
    tools = good.with_name("tools.json")
    document = json.loads(run("check", good, "--tools", tools, "--json", code=1).stdout)
    assert document["ok"] is False
    assert [(f["code"], f["line"]) for f in document["findings"] if f["severity"] == "error"] == [
        ("missing-tool", 7)
    ]


def test_what_cannot_be_read_ends_with_2(tmp_path: Path, good: Path) -> None:
    assert "cannot be read" in run("check", tmp_path / "none.yaml", code=2).stderr
    assert "no shipped one" in run("check", "no-such-map", code=2).stderr
    assert "cannot be imported" in run("check", good, "--tools", "no_such_module_at_all:x", code=2).stderr
    python = run("check", good, "--tools", "./support/agent.py", code=2).stderr
    assert "name its module and the list in it, such as support.agent:tools" in python


def test_init_writes_a_map_that_check_takes(tmp_path: Path, good: Path) -> None:
    out = tmp_path / "new.yaml"
    run("init", "--tools", good.with_name("tools.json"), "-o", out)
    assert FallbackMap.load(out).domain == "new"
    run("check", out, "--tools", good.with_name("tools.json"))
    before = out.read_text()
    again = run("init", "--tools", good.with_name("tools.json"), "-o", out).stdout
    assert "has all of these tools already" in " ".join(again.split())
    assert out.read_text() == before


def test_init_without_an_output_prints_the_map(good: Path) -> None:
    printed = run("init", "--tools", good.with_name("tools.json"), "--domain", "shop").stdout
    assert FallbackMap.from_text(printed).domain == "shop"
    as_json = json.loads(run("init", "--tools", good.with_name("tools.json"), "--json").stdout)
    assert as_json["added"] == ["get_order", "find_order", "cancel_order"]


def test_suggest_writes_only_what_is_accepted_by_name(good: Path) -> None:
    tools = good.with_name("tools.json")
    listed = json.loads(run("suggest", good, "--tools", tools, "--json").stdout)
    assert ("find_order", "get_order") in [(s["tool"], s["target"]) for s in listed]
    assert good.read_text() == GOOD
    assert (
        "no suggestion" in run("suggest", good, "--tools", tools, "--accept", "get_order", "x", code=2).stderr
    )
    shown = run("suggest", good, "--tools", tools, "--accept", "find_order", "get_order").stdout
    assert "[written]" in shown
    assert FallbackMap.load(good).substitutes("find_order") == {"get_order"}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "btm.db"
    store = SqlStore(path, half_life_s=float("inf"))
    key = EvidenceKey("get_order", ErrorKind.NOT_FOUND, Action.SWITCH, "find_order", 1)
    other = EvidenceKey("find_order", ErrorKind.TIMEOUT, Action.SWITCH, "get_order", 1)
    store.add_learned([(key, 29.0, 2.0), (other, 3.0, 0.0)])
    store.close()
    return path


def test_suggest_tells_what_agents_really_did(good: Path, database: Path) -> None:
    listed: list[dict[str, Any]] = json.loads(run("suggest", good, "--db", database, "--json").stdout)
    assert listed[0]["reasons"][0] == (
        "after find_order failed with timeout, agents went to get_order 3 times; it worked 3 times"
    )


def test_draw_puts_what_was_learned_on_the_lines(good: Path, database: Path, tmp_path: Path) -> None:
    run("draw", good, "-o", tmp_path / "map.svg", "--db", database)
    assert "60% · worked 29 of 31" in (tmp_path / "map.svg").read_text()


def test_draw_prints_a_tree_and_other_forms(good: Path, tmp_path: Path) -> None:
    assert "find_order  60%" in run("draw", good).stdout
    assert run("draw", good, "--format", "mermaid").stdout.startswith("flowchart LR")
    assert run("draw", good, "--format", "dot").stdout.startswith("digraph")
    run("draw", good, "-o", tmp_path / "map.mmd")
    assert (tmp_path / "map.mmd").read_text().startswith("flowchart")
    assert "what is" in run("draw", good, "-o", tmp_path / "map.gif", code=2).stderr
    assert "no database" in run("draw", good, "--db", tmp_path / "none.db", code=2).stderr


def test_draw_gives_boxes_and_lines_as_one_document(good: Path, tmp_path: Path) -> None:
    made = json.loads(run("draw", good, "--json").stdout)
    assert (made["domain"], made["output"]) == ("d", None)
    assert [box["key"] for box in made["boxes"]] == ["get_order", "find_order", "cancel_order", "human"]
    assert made["boxes"][2]["dead_end"] is True
    (line,) = made["lines"]
    assert (line["source"], line["target"], line["coverage"]) == ("get_order", "find_order", 0.6)
    written = tmp_path / "map.svg"
    assert json.loads(run("draw", good, "--json", "-o", written).stdout)["output"] == str(written)
    assert written.read_text().startswith("<svg")
    assert "both want stdout" in run("draw", good, "--json", "--format", "dot", code=2).stderr


def test_draw_says_where_it_cannot_write_or_print(
    good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no folder" in run("draw", good, "-o", tmp_path / "no" / "map.svg", code=2).stderr
    monkeypatch.setattr("btm.cli.map_views.on_a_terminal", lambda: True)
    assert "name a file with -o" in run("draw", good, "--format", "png", code=2).stderr


def test_the_schema_is_the_same_with_json() -> None:
    assert run("schema", "--json").stdout == run("schema").stdout


def test_schema_is_a_json_schema_with_every_key(good: Path) -> None:
    schema = json.loads(run("schema").stdout)
    entry = schema["$defs"]["ToolEntry"]
    assert {"effect", "fallbacks", "verify", "cross_check", "expect", "errors", "takes"} <= set(
        entry["properties"]
    )
    assert entry["additionalProperties"] is False
    assert "as" in schema["$defs"]["ViaStep"]["properties"]


def test_a_way_round_is_a_document_of_its_own(good: Path) -> None:
    (way,) = json.loads(run("why", "get_order", "--map", good, "--json").stdout)
    assert way == {
        "hops": [["find_order"]], "coverage": 0.6, "gives": [], "lacks": [], "only_for": [], "cost": 1.0,
    }  # fmt: skip


def test_why_lists_the_ways_round_a_tool(good: Path) -> None:
    shown = run("why", "get_order", "--map", good).stdout
    assert "60%" in shown
    assert "human hands over to a human" in shown
    ways = json.loads(run("why", "get_order", "--map", good, "--error", "timeout", "--json").stdout)
    assert ways[0]["hops"] == [["find_order"]]
    assert (
        "no way round cancel_order. Besides: get_order shows"
        in run("why", "cancel_order", "--map", good).stdout
    )
    assert "did you mean 'get_order'?" in run("why", "get_ordr", "--map", good, code=2).stderr
