from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from database_kit import live, run, run_json, write_map


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = live(tmp_path / "btm.db", [True] * 9 + [False])
    return live(path, [False] * 20, tool="list_orders", conversations="d")


def explained(database: Path, *options: str | Path) -> Any:
    return run_json("explain", "--tool", "get_order", "--error", "timeout", "--db", database, *options)


def step(document: Any, action: str, tool: str) -> Any:
    everything = [*document["steps"], *document["rejected"]]
    return next(s for s in everything if (s["action"], s["tool"]) == (action, tool))


def test_every_step_is_taken_apart_level_by_level(database: Path) -> None:
    retry = step(explained(database), "retry", "get_order")
    assert [level["level"][0] for level in retry["levels"]] == ["family", "kind", "tool", "key"]
    _, kind, _, own = retry["levels"]
    # Without its own; and many tries of few tools tell less about a pool than as many of many tools.
    assert kind["successes"] == 0.0
    assert 0.0 < kind["failures"] < 20.0
    assert (own["successes"], own["failures"]) == (pytest.approx(9.0, rel=1e-3), pytest.approx(1.0, rel=1e-3))
    assert own["mean"] == pytest.approx(retry["chance"])


def test_the_shares_say_how_much_of_the_belief_is_whose_and_add_to_one(database: Path) -> None:
    retry = step(explained(database), "retry", "get_order")
    shares = [retry["start"]["share"], *(level["share"] for level in retry["levels"])]
    assert sum(shares) == pytest.approx(1.0)
    # The belief is the mix, by these shares, of what the levels saw and of the start.
    rates = [
        level["successes"] / (level["successes"] + level["failures"]) if level["share"] else 0.0
        for level in retry["levels"]
    ]
    mixed = retry["start"]["mean"] * shares[0] + sum(s * r for s, r in zip(shares[1:], rates, strict=True))
    assert mixed == pytest.approx(retry["chance"])


def test_what_other_tools_did_pulls_a_tool_without_evidence(database: Path) -> None:
    document = run_json("explain", "--tool", "new_tool", "--error", "timeout", "--db", database)
    retry = step(document, "retry", "new_tool")
    assert retry["n"] == 0.0
    assert retry["chance"] < 0.5
    assert retry["levels"][-1]["share"] == 0.0


def test_a_substitute_is_judged_by_its_record_elsewhere(database: Path, tmp_path: Path) -> None:
    document = explained(database, "--map", write_map(tmp_path))
    switch = step(document, "switch", "search_orders")
    assert [level["level"][0] for level in switch["levels"]] == ["action", "target", "tool", "key"]
    assert document["steps"][0]["score"] >= document["steps"][-1]["score"]


def test_people_read_the_same_line_by_line(database: Path, tmp_path: Path) -> None:
    result = run(
        "explain", "--tool", "get_order", "--error", "timeout", "--db", database, "--map", write_map(tmp_path)
    )
    assert result.exit_code == 0
    for words in (
        "get_order failed as timeout",
        "to start with",
        "timeout of other tools",
        "search_orders in other places",
        "share",
        "(95 % 0.",
    ):
        assert words in result.stdout
    assert " retry\n   chance 0." in result.stdout


def test_what_a_policy_forbids_is_shown_with_its_reason(database: Path) -> None:
    result = run("explain", "--tool", "get_order", "--error", "quota_exhausted", "--db", database)
    assert "forbidden by no-blind-repeats" in result.stdout
    document = run_json("explain", "--tool", "get_order", "--error", "quota_exhausted", "--db", database)
    assert any(policy["policy"] == "no-blind-repeats" for policy in document["policies"])
    assert json.dumps(document)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--tool", "get_order", "--error", "time_out"), "did you mean 'timeout'?"),
        (("--tool", "get_order"), "--error"),
        (("--error", "timeout"), "--tool"),
    ],
)
def test_wrong_usage_exits_2(database: Path, options: tuple[str, ...], message: str) -> None:
    result = run("explain", "--db", database, *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_what_is_taken_apart_is_what_the_plan_goes_by_once_there_is_much_to_fit_to(tmp_path: Path) -> None:
    path = live(tmp_path / "btm.db", [True, False, True, True] * 20)
    retry = step(explained(path), "retry", "get_order")
    assert retry["levels"][-1]["mean"] == pytest.approx(retry["chance"], abs=1e-9)
    (shown,) = (r for r in run_json("show", "--db", path) if r["action"] == "retry" and r["ordinal"] == 1)
    assert shown["mean"] == pytest.approx(retry["chance"], abs=1e-4)  # it faded a moment longer
