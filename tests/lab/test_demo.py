import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from btm.errors import EvaluationError
from btm.lab.demo import Demo, run_demo
from btm.lab.report import document

pytestmark = pytest.mark.xdist_group("demo")  # one process makes what these tests share


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    return run_demo(0, tmp_path_factory.mktemp("demo") / "demo.db")


def test_the_demo_compares_three_arms_over_three_scenarios(demo: Demo) -> None:
    rows = document(demo.evaluation)["results"]
    assert {(r["arm"], r["scenario"]) for r in rows if r["scenario"] != "all"} == {
        (arm, scenario)
        for arm in ("bare", "retry3", "btm")
        for scenario in ("retry_works", "switch_needed", "impossible")
    }


def test_a_story_ends_well_and_took_more_than_one_kind_of_move(demo: Demo) -> None:
    assert demo.story is not None
    assert demo.story.handled.outcome.ok
    assert len({move.action for move in demo.story.handled.trail}) >= 3


def test_the_context_is_about_the_story(demo: Demo) -> None:
    assert demo.story is not None
    assert demo.context is not None
    assert demo.context.plan.call.tool == demo.story.handled.call.tool
    assert "next: " in demo.context.text


def test_the_strongest_posteriors_come_from_the_database(demo: Demo) -> None:
    assert len(demo.strongest) == 5
    with closing(sqlite3.connect(demo.database)) as connection:
        for key, belief in demo.strongest:
            counted = connection.execute(
                "SELECT COALESCE(SUM(success), 0), COUNT(*) FROM attempts"
                " WHERE tool = ? AND kind = ? AND action = ? AND target = ? AND ordinal = ?",
                key,
            ).fetchone()
            assert (belief.worked, belief.n) == counted


def test_evidence_equals_a_recount_of_the_runs_own_log(demo: Demo) -> None:
    key = "tool, kind, action, target, ordinal"
    with closing(sqlite3.connect(demo.database)) as connection:
        kept = connection.execute(
            f"SELECT {key}, successes, failures FROM evidence ORDER BY {key}"
        ).fetchall()
        recount = connection.execute(
            f"SELECT {key}, SUM(success), SUM(NOT success) FROM attempts GROUP BY {key} ORDER BY {key}"
        ).fetchall()
    assert kept
    assert kept == recount


def test_the_log_holds_every_call_of_the_run(demo: Demo) -> None:
    made = sum(e.calls for e in demo.evaluation.episodes if e.arm == "btm")
    with closing(sqlite3.connect(demo.database)) as connection:
        assert connection.execute("SELECT COUNT(*) FROM calls").fetchone() == (made,)


def test_a_file_that_is_no_demo_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    path.write_text("mine")
    with pytest.raises(EvaluationError, match="name another file"):
        run_demo(0, path)
    assert path.read_text() == "mine"
