from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from fake_openai import FakeServer, working

from btm.errors import EvaluationError
from btm.lab.chat.agents import connect
from btm.lab.chat.arms import ARMS
from btm.lab.chat.episode import ChatEpisode
from btm.lab.chat.episode_log import EpisodeLog
from btm.lab.chat.probe import probe
from btm.lab.chat.report import Measured, command_line, comparisons, document, problems, summary
from btm.lab.chat.request import PlacementRequest, Server, read_families, read_task_counts
from btm.lab.chat.run import measure, plan
from btm.lab.chat.trouble import SCENARIOS
from btm.lab.scenarios import Scenario

SMALL = PlacementRequest(
    ("none", "neutral", "user_reminder"), read_task_counts("2,switch_needed=3,clean=0"), seed=2, shown=False
)


def measured(
    server: FakeServer, request: PlacementRequest = SMALL, journal: EpisodeLog | None = None
) -> Measured:
    model = connect(Server(server.url, "fake"))
    return Measured(request, Server(server.url, "fake"), tuple(measure(request, model, journal)))


def episode(
    arm: str, task: str, *, good: bool, scenario: str = "switch_needed", problem: str = ""
) -> ChatEpisode:
    return ChatEpisode(
        arm=arm,
        scenario=scenario,
        task_id=task,
        fault="timeout",
        good=good,
        handed_over=False,
        claimed=False,
        met=True,
        calls=2,
        identical_repeats=1,
        double_writes=0,
        turns=3,
        message="",
        problem=problem,
    )


# -- what is asked for ------------------------------------------------------------------------------------------------


def test_task_counts_are_one_for_all_or_told_for_single_scenarios() -> None:
    assert read_task_counts("5") == dict.fromkeys(SCENARIOS, 5)
    counts = read_task_counts("8, switch_needed=16, clean=0")
    assert counts == {
        Scenario.CLEAN: 0,
        Scenario.RETRY_WORKS: 8,
        Scenario.SWITCH_NEEDED: 16,
        Scenario.IMPOSSIBLE: 8,
    }
    assert PlacementRequest(tasks=counts).scenarios == SCENARIOS[1:]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("many", "expected N or SCENARIO=N"),
        ("switch=4", "did you mean 'switch_needed'"),
        ("-3", "expected N"),
        ("0", "no scenario has a task"),
        ("mixed=3", "there is no scenario 'mixed'"),
    ],
)
def test_wrong_task_counts_say_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(EvaluationError, match=said):
        read_task_counts(text)


def test_only_the_families_that_are_asked_for_are_drawn() -> None:
    assert read_families("cancel, where") == ("where", "cancel")
    request = PlacementRequest(("none",), read_task_counts("6"), families=("where", "cancel"))
    assert {planned.task.family for planned in plan(request)} == {"where", "cancel"}
    with pytest.raises(EvaluationError, match="there is no family 'refund'"):
        read_families("refund")
    with pytest.raises(EvaluationError, match="no family is named"):
        read_families(",")


def test_every_arm_meets_every_task_and_the_arms_of_a_task_stand_together() -> None:
    planned = list(plan(SMALL))
    assert len(planned) == SMALL.episodes == 21
    for i in range(0, len(planned), 3):
        here = planned[i : i + 3]
        assert tuple(p.arm for p in here) == SMALL.arms
        assert len({(p.scenario, p.task.task_id) for p in here}) == 1


# -- runs -------------------------------------------------------------------------------------------------------------


def test_an_obedient_model_is_right_with_btm_and_the_difference_to_the_control_says_so() -> None:
    with FakeServer(working).running() as server:
        found = measured(server)
    rows = {(row.scenario, row.arm): row for row in summary(found)}
    assert rows["switch_needed", "user_reminder"].success == 1
    assert rows["switch_needed", "neutral"].success == 0
    assert rows["retry_works", "neutral"].success == 1
    assert rows["impossible", "user_reminder"].escalated == 2
    switch = next(p for p in comparisons(found) if p.scenario == "switch_needed" and p.a == "user_reminder")
    assert (switch.b, switch.difference) == ("neutral", 1.0)


def test_equal_requests_are_asked_once() -> None:
    with FakeServer(partial(working, follows=None)).running() as server:
        model = connect(Server(server.url, "fake"))
        list(measure(PlacementRequest(("none",), read_task_counts("1"), shown=False), model))
        before = len(server.requests)
        list(measure(PlacementRequest(("none",), read_task_counts("1"), shown=False), model))
        assert len(server.requests) == before


def test_a_run_that_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with FakeServer(working).running() as server:
        whole = measured(server).episodes
        journal, model = EpisodeLog(path, SMALL.settings()), connect(Server(server.url, "fake"))
        for number, _ in enumerate(measure(SMALL, model, journal), start=1):
            if number == 7:
                break
        text = path.read_text()
        path.write_text(text + text.splitlines()[-1][:40])  # cut off in the middle of a line
        resumed = EpisodeLog(path, SMALL.settings())
        assert len(resumed) == 7
        assert measured(server, journal=resumed).episodes == whole
        asked = len(server.requests)
        assert measured(server, journal=EpisodeLog(path, SMALL.settings())).episodes == whole
        assert len(server.requests) == asked


def test_a_journal_of_other_settings_or_another_file_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    EpisodeLog(path, {"seed": 1})
    with pytest.raises(EvaluationError, match="another run \\(seed 1, now 2\\)"):
        EpisodeLog(path, {"seed": 2})
    other = tmp_path / "notes.txt"
    other.write_text("my notes\n")
    with pytest.raises(EvaluationError, match="no line of a journal"):
        EpisodeLog(other, {"seed": 1})
    other.write_text('{"mine": 1}\n')
    with pytest.raises(EvaluationError, match="no journal"):
        EpisodeLog(other, {"seed": 1})
    assert other.read_text() == '{"mine": 1}\n'
    with pytest.raises(EvaluationError, match="cannot be used"):
        EpisodeLog(tmp_path, {"seed": 1})


# -- the report -------------------------------------------------------------------------------------------------------


def test_every_arm_is_compared_with_the_control_and_placements_with_the_stronger_and_the_default_one() -> (
    None
):
    episodes = tuple(episode(arm, str(n), good=arm == "system") for arm in ARMS for n in range(8))
    found = Measured(
        PlacementRequest(tasks=read_task_counts("0,switch_needed=8")), Server("http://x/v1", "m"), episodes
    )
    pairs = {(p.a, p.b): p for p in comparisons(found)}
    assert {a for a, b in pairs if b == "neutral"} == set(ARMS) - {"neutral"}
    assert {a for a, b in pairs if b == "neutral_call"} == {
        "user_reminder",
        "user_reminder_full",
        "tool_result",
        "system",
    }
    assert {a for a, b in pairs if b == "user_reminder"} == {"tool_result", "user_reminder_full", "system"}
    assert pairs["system", "neutral"].difference == 1
    assert pairs["system", "neutral"].p < 0.01
    assert pairs["tool_result", "neutral"].difference == 0


def test_the_document_has_the_rows_of_btm_eval_and_no_secret() -> None:
    episodes = (episode("none", "1", good=True), episode("neutral", "1", good=False))
    request = PlacementRequest(("none", "neutral"), read_task_counts("0,switch_needed=1"), seed=9)
    server = Server("https://me:secret@host/v1?key=secret", "m")
    made = document(Measured(request, server, episodes, ("mind this",)))
    assert "secret" not in json.dumps(made)
    assert made["base_url"] == "https://host/v1"
    assert made["warnings"] == ["mind this"]
    row = made["results"][0]
    assert {"arm", "scenario", "episodes", "success", "low", "high", "calls", "escalated", "turns"} <= set(
        row
    )
    assert (row["arm"], row["success"], row["turns"]) == ("none", 1.0, 3)
    assert made["paired"][0]["b"] == "neutral"
    assert [ChatEpisode(**e) for e in made["episodes"]] == list(episodes)


def test_the_command_measures_the_same_again() -> None:
    found = Measured(SMALL, Server("http://127.0.0.1:1/v1", "my model", max_tokens=96, timeout_s=600.0), ())
    assert command_line(found) == (
        "btm placement --base-url http://127.0.0.1:1/v1 --model 'my model' "
        "--tasks 2,clean=0,switch_needed=3 --seed 2 --arms none,neutral,user_reminder --no-demonstrations "
        "--max-tokens 96 --timeout 600"
    )


def test_what_ended_conversations_early_is_counted() -> None:
    episodes = [episode("none", str(n), good=False, problem="late" if n else "no") for n in range(3)]
    assert problems(episodes) == {"late": 2, "no": 1}


# -- the probe --------------------------------------------------------------------------------------------------------


def test_a_server_that_shows_the_model_everything_gives_no_warning() -> None:
    with FakeServer(working).running() as server:
        assert probe(connect(Server(server.url, "fake"))) == ()


def test_a_chat_template_that_drops_what_tools_answer_is_found_out() -> None:
    with FakeServer(working, blind=True).running() as server:
        (warning,) = probe(connect(Server(server.url, "fake")))
    assert "drops what tools answer" in warning


def test_a_server_that_does_not_answer_is_an_error() -> None:
    with (
        FakeServer(lambda _: 500).running() as server,
        pytest.raises(EvaluationError, match="does not answer"),
    ):
        probe(connect(Server(server.url, "fake")))
