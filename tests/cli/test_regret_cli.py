from __future__ import annotations

from database_kit import run, run_json

SHORT = ("--games", "2", "--incidents", "100")


def test_the_document_has_every_player_in_every_stretch() -> None:
    found = run_json("regret", *SHORT)
    assert (found["games"], found["incidents"], found["seed"]) == (2, 100, 0)
    names = [stretch["stretch"] for stretch in found["stretches"]]
    assert names[:2] == ["before", "last before"]
    assert "after 200 to 300" in names
    for stretch in found["stretches"]:
        assert {"btm", "flat", "shuffled", "rules", "thompson"} <= {p["player"] for p in stretch["players"]}
        assert all(p["regret"] >= 0 for p in stretch["players"])
    assert found["recovery"] > 0


def test_people_get_the_same_as_a_table() -> None:
    shown = run("regret", *SHORT).stdout
    assert "the mean of 2 simulated worlds (seeds 0 to 1)" in " ".join(shown.split())
    assert "patient rules" in shown
    assert "times what they cost" in " ".join(shown.split())


def test_wrong_usage_exits_2() -> None:
    assert run("regret", "--games", "0").exit_code == 2
    assert run("regret", "--half-life", "0").exit_code == 2
    assert run("regret", "--half-life", "nan").exit_code == 2


def test_the_planner_is_held_against_dynamic_programming() -> None:
    found = run_json("regret", "--optimal")
    assert len(found) == 6
    assert all(one["share"] <= 0.005 for one in found)
    assert "dynamic programming" in " ".join(run("regret", "--optimal").stdout.split())
