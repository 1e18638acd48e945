"""Environments and agents of one's own, by name, and what `btm env check` finds in them."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.errors import EvaluationError
from btm.lab.changes import changes
from btm.lab.environment import double_writes, load_environment
from btm.lab.environment_check import EnvironmentReport, check_environment
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario
from btm.training.rollout import Stages

HERE = __file__.rpartition("/")[0]


@pytest.fixture(autouse=True)
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(HERE)
    monkeypatch.syspath_prepend(HERE)


def checked(name: str) -> EnvironmentReport:
    return check_environment(load_environment(f"planted:{name}"))


def solved(arm: str, **request: object) -> dict[str, int]:
    run = evaluate(Request(domain="clinic:Clinic", **request))  # type: ignore[arg-type]
    found: dict[str, int] = {}
    for episode in run.episodes:
        if episode.arm == arm:
            found[episode.scenario] = found.get(episode.scenario, 0) + episode.solved
    return found


def test_a_small_environment_runs_by_name() -> None:
    scenarios = (Scenario.CLEAN, Scenario.RETRY_WORKS, Scenario.SWITCH_NEEDED)
    arms = ("bare", "btm", "oracle")
    assert solved("bare", arms=arms, scenarios=scenarios) == {
        "clean": 2,
        "retry_works": 0,
        "switch_needed": 0,
    }
    assert solved("btm", arms=arms, scenarios=scenarios) == dict.fromkeys(scenarios, 2)
    assert solved("oracle", arms=arms, scenarios=scenarios) == dict.fromkeys(scenarios, 2)


def test_the_command_takes_it_and_says_how_to_run_it_again() -> None:
    run = CliRunner().invoke(
        cli, ["eval", "--domain", "clinic:Clinic", "--map", "clinic.yaml", "--arms", "bare,btm", "--json"]
    )
    assert run.exit_code == 0, run.stderr
    assert json.loads(run.stdout)["command"].startswith("btm eval --domain clinic:Clinic --map clinic.yaml ")


def test_a_function_may_make_the_environment() -> None:
    assert len(load_environment("planted:factory").tasks) == 2


def test_the_shop_and_the_clinic_are_sound() -> None:
    for name in ("shop", "clinic:Clinic", "planted:Sound", "planted:Rich"):
        report = check_environment(load_environment(name))
        assert report.sound, report.flaws
        assert report.gold == report.tasks
        assert report.cut_short == 0


@pytest.mark.parametrize(
    ("name", "check", "says"),
    [
        ("Random", "deterministic", "get: step 1 of task random-01 answers otherwise"),
        ("AlwaysTrue", "cut short", "reached without its last change, put"),
        (
            "Unreachable",
            "scripted",
            "put needs value = 'new', which the user does not give and no call shows",
        ),
        ("Shared", "scripted", "a new instance is not as the first was"),
        ("WritingRead", "read only", "get: it is said to read, and changes the state"),
        ("Refused", "scripted", "a gold call failed: KeyError: 'b'"),
        ("Raising", "scripted", "its check does not hold after its gold calls: it raises AttributeError"),
        ("NeverTrue", "scripted", "its check does not hold after its gold calls"),
        ("Empty", "tasks", "it has no task"),
        ("DoneAlready", "scripted", "its check holds before anything is done"),
        ("Silent", "scripted", "the user wants to hear 'Ida', which no gold call shows"),
    ],
)
def test_a_planted_flaw_is_found(name: str, check: str, says: str) -> None:
    found = [f"{flaw.place}: {flaw.what}" for flaw in checked(name).flaws if flaw.check == check]
    assert any(says in text for text in found), checked(name).flaws


def test_the_command_ends_with_one_where_a_flaw_is_found() -> None:
    run = CliRunner().invoke(cli, ["env", "check", "planted:AlwaysTrue", "--json"])
    assert run.exit_code == 1
    assert json.loads(run.stdout)["sound"] is False
    assert CliRunner().invoke(cli, ["env", "check", "clinic:Clinic"]).exit_code == 0


def test_a_map_that_names_a_tool_which_is_not_there_is_a_flaw(tmp_path: object) -> None:
    with open(f"{tmp_path}/m.yaml", "w") as file:
        file.write("version: 1\ndomain: d\ntools: {get: {effect: read}, putt: {effect: write}}\n")
    report = check_environment(load_environment("planted:Sound", f"{tmp_path}/m.yaml"))
    assert [flaw.what for flaw in report.flaws] == [
        "the map names it, and the environment has no such tool; did you mean 'put'?"
    ]


@pytest.mark.parametrize(
    ("domain", "says"),
    [
        ("planted:Clinc", "planted.py has no 'Clinc'; did you mean 'Clinic'?"),
        ("plantd.x:Y", "there is no module 'plantd'"),
        ("planted:", "is no module:attribute"),
        ("planted:Untyped", "the parameter 'key' of get has no type"),
        ("planted:NoTasks", "NoTasks has no tasks"),
        ("planted:Slot", "Slot has no tasks"),
        ("planted:nothing", "it is no Environment"),
    ],
)
def test_a_wrong_one_is_told_with_its_place(domain: str, says: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        load_environment(domain)
    assert says in str(raised.value)
    if "type" in says or "tasks" in says:
        assert "planted.py:" in str(raised.value)


def test_a_module_that_fails_is_told_with_its_line(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    for name, text, says in [
        ("env_broken", "x = 1\ny = x.z\n", "env_broken.py:2: AttributeError"),
        ("env_syntax", "def f(:\n", "env_syntax.py:1: SyntaxError"),
        ("env_needs", "import no_such_thing\n", "env_needs needs 'no_such_thing', which is absent"),
    ]:
        with open(f"{tmp_path}/{name}.py", "w") as file:
            file.write(text)
        with pytest.raises(EvaluationError) as raised:
            load_environment(f"{name}:X")
        assert says in str(raised.value)


def test_tools_take_lists_optionals_enums_and_models() -> None:
    rich = load_environment("planted:Rich")
    schema = rich.tools["book"].parameters
    assert schema["properties"]["names"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["how"]["enum"] == ["mail", "phone"]
    assert schema["properties"]["tip"]["anyOf"] == [{"type": "number"}, {"type": "null"}]
    assert schema["properties"]["slot"]["properties"]["shift"] == {"$ref": "#/$defs/Wanted"}
    assert schema["$defs"]["Wanted"]["enum"] == ["day", "night"]
    assert schema["required"] == ["slot", "names"]
    session = rich.open(rich.tasks[0])
    booked = session.call("book", {"slot": {"shift": "night", "hours": [1]}, "names": []})
    assert booked["booked"] == {"shift": "night", "hours": [1]}
    for wrong in ({"slot": {"shift": "noon", "hours": []}, "names": []}, {"names": []}, {"slots": 1}):
        with pytest.raises(ValueError, match="validation error"):
            session.call("book", wrong)


def test_a_change_made_twice_is_a_double_write() -> None:
    rich = load_environment("planted:Rich")
    session = rich.open(rich.tasks[0])
    for _ in range(2):
        session.call("pay", {"amount": 5})
        session.call("book", rich.tasks[0].steps[0].arguments)
    assert double_writes(rich.tasks[0], session.writes) == 2


def test_equal_changes_read_the_same() -> None:
    record = {"id": "o1", "sum": 3}
    assert changes({"orders": {}}, {"orders": {"o1": record}}) == 'orders + {"id":"*","sum":3}'
    assert changes({"n": 3, "x": True}, {"n": 1, "x": 1}) == "n -2; x = 1"
    assert changes({"a": [1, 2]}, {"a": [1, 2, 2]}) == "a + 2"
    assert changes({"a": {"as_of": 1}}, {"a": {"as_of": 2}}) == ""
    assert changes({"a": {"b": 1}}, {"a": {}}) == "a.b removed"


@pytest.mark.parametrize("agent", ["planted:make_agent", "planted:make_async_agent"])
def test_an_agent_of_ones_own_is_measured(agent: str) -> None:
    scenarios = (Scenario.CLEAN, Scenario.SWITCH_NEEDED)
    asked = {"arms": ("bare", "btm"), "scenarios": scenarios, "agent": agent}
    assert solved("bare", **asked) == {"clean": 2, "switch_needed": 1}  # cancels without a look
    assert solved("btm", **asked) == {"clean": 2, "switch_needed": 2}


def test_an_agent_that_breaks_is_told_once_and_counts_as_unsolved(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="btm"):
        assert solved(
            "bare", arms=("bare",), scenarios=(Scenario.CLEAN,), agent="planted:make_broken_agent"
        ) == {"clean": 0}
    assert [r.getMessage() for r in caplog.records if "no model today" in r.getMessage()].__len__() == 1


def test_what_makes_no_agent_is_told() -> None:
    with pytest.raises(EvaluationError, match="expected a callable"):
        evaluate(Request(domain="clinic:Clinic", agent="builtins:len", arms=("bare",)))


def test_an_agents_tools_are_functions_that_frameworks_can_read() -> None:
    from langchain_core.tools import StructuredTool

    from btm.lab.agent import ToolResponse
    from btm.lab.own_agent import _function

    spec = load_environment("planted:Rich").tools["book"]
    asked: list[object] = []
    function = _function(
        spec, lambda name, arguments: asked.append(dict(arguments)) or ToolResponse("ok").value
    )
    assert list(inspect.signature(function).parameters) == ["slot", "names", "how", "tip"]
    made = StructuredTool.from_function(function)
    assert made.description == "Book a slot."
    assert made.invoke({"slot": {"shift": "day", "hours": [1]}, "names": ["Ida"]}) == "ok"
    assert asked == [{"slot": {"shift": "day", "hours": [1]}, "names": ["Ida"]}]


def test_tools_may_be_async_and_agents_that_run_a_loop_call_them() -> None:
    assert checked("Later").sound
    made = evaluate(Request(domain="planted:Later", scenarios=(Scenario.CLEAN,), arms=("bare", "btm")))
    assert all(e.solved for e in made.episodes)

    async def inside() -> bool:
        return checked("Later").sound

    assert asyncio.run(inside())


def test_a_check_that_fails_on_a_half_done_state_does_not_hold() -> None:
    assert checked("FussyCheck").sound
    request = Request(domain="planted:FussyCheck", scenarios=(Scenario.IMPOSSIBLE,), arms=("bare", "btm"))
    assert not any(e.solved for e in evaluate(request).episodes)


def test_an_environment_without_a_usable_task_says_why() -> None:
    with pytest.raises(
        EvaluationError, match="no task that can be used: nevertrue-01: its check does not hold"
    ):
        evaluate(Request(domain="planted:NeverTrue"))


def test_a_factory_that_fails_is_told_with_its_line() -> None:
    request = Request(domain="clinic:Clinic", agent="planted:no_agent", arms=("bare",))
    with pytest.raises(
        EvaluationError, match=r"planted.py:\d+: planted:no_agent made no agent: RuntimeError: no agent"
    ):
        evaluate(request)


def test_an_agent_that_says_nothing_claims_nothing() -> None:
    request = Request(domain="clinic:Clinic", agent="planted:speechless", arms=("bare",))
    assert not any(e.claimed for e in evaluate(request).episodes)


def test_one_agent_plays() -> None:
    words = ["eval", "--agent", "planted:speechless", "--base-url", "http://127.0.0.1:1/v1", "--model", "m"]
    run = CliRunner().invoke(cli, words)
    assert run.exit_code == 2
    assert "one agent plays" in run.stderr


def test_an_environment_without_a_map_can_be_trained_on() -> None:
    stages = Stages("planted:Sound")
    assert stages.set_up("sound-01", "retry_works", 0) is not None


def test_where_arms_are_alike_too_few_tasks_are_told_once() -> None:
    words = ["eval", "--domain", "clinic:Clinic", "--scenario", "clean", "--arms", "bare,retry3,chain,btm"]
    said = " ".join(CliRunner().invoke(cli, words).stdout.split())
    assert said.count("Too few tasks") == 1
    assert "to tell retry3, chain, btm from bare" in said


def test_a_task_with_a_check_alone_is_for_agents_and_promises_nothing() -> None:
    report = checked("Checked")
    assert (report.sound, report.tasks, report.unscripted) == (True, 1, 1)
    noisy = (Scenario.CLEAN, Scenario.NOISY, Scenario.RETRY_WORKS)
    request = Request(domain="planted:Checked", tasks=("checked-02",), scenarios=noisy, arms=("bare",))
    with pytest.raises(EvaluationError, match="no gold calls"):
        evaluate(request)
    made = evaluate(replace(request, agent="planted:newer"))
    assert [(e.scenario, e.solved) for e in made.episodes if e.scenario == "clean"] == [("clean", True)]
    assert {e.scenario for e in made.episodes} == {"clean", "noisy"}
    assert made.left_out[Scenario.RETRY_WORKS] == 1
    assert not evaluate(replace(request, agent="planted:speechless")).episodes[0].solved


def test_the_marina_of_the_examples_is_sound_and_every_scenario_can_be_made_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(Path(HERE).parents[1] / "examples" / "marina"))
    report = check_environment(load_environment("marina:Marina"))
    assert report.sound, report.flaws
    assert set(report.makeable.values()) == {report.tasks} == {20}
