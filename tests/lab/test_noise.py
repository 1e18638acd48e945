"""Noise of users and tools: what it changes, what it never touches, and what stays solvable."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.errors import EvaluationError
from btm.lab.arms import plain_arm
from btm.lab.environment import load_environment
from btm.lab.faults import FaultSettings
from btm.lab.faults.draw import Draw
from btm.lab.faults.injector import Injector
from btm.lab.faults.noise import CHANGES, NoisyTools
from btm.lab.faults.plan import NoFaults
from btm.lab.faults.shape import Shapes, ToolShape
from btm.lab.noise import NOISE, PRESETS, NoiseSettings, preset, read_noise
from btm.lab.noisy import noise_rows
from btm.lab.request import Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario
from btm.lab.user_noise import OPERATORS, ScriptedUser, protected, typos
from btm.model import Effect, ErrorKind

SHOP = load_environment("shop")


def run(*words: str) -> Any:
    made = CliRunner().invoke(cli, ["eval", *words, "--json"])
    assert made.exit_code == 0, made.stderr
    return json.loads(made.stdout)


@pytest.mark.parametrize("sort", OPERATORS)
def test_whatever_a_user_does_a_helped_agent_still_solves_every_task(sort: str) -> None:
    settings = NoiseSettings((f"user:{sort}",))
    faults = FaultSettings(rate=1.0)
    made = evaluate(Request(arms=("oracle",), scenarios=(Scenario.CLEAN,), faults=faults, noise=settings))
    assert all(e.solved for e in made.episodes)
    noisy = sum(e.noise == f"user:{sort}" for e in made.episodes)
    assert noisy + sum(made.unmade.values()) == len(SHOP.tasks), "what has no place is counted"
    assert noisy > len(SHOP.tasks) // 3


def test_typos_never_touch_an_id_an_amount_a_date_or_a_name() -> None:
    changed = 0
    for number in range(10_000):
        task = SHOP.tasks[number % len(SHOP.tasks)]
        made = typos(task, Draw((number, "typos")), ())
        if made is None:
            continue
        before, after = task.request.split(), made.request.split()
        assert len(before) == len(after)
        for one, other in zip(before, after, strict=True):
            if one != other:
                changed += 1
                assert sorted(one) == sorted(other)
                assert not re.search(r"[\dA-Z@]", one)
        assert all(value in made.request for value in protected(task) if value in task.request)
    assert changed > 10_000


def test_a_shift_of_topic_makes_another_tasks_reads_and_none_of_its_changes() -> None:
    made = [OPERATORS["topic_shift"](t, Draw((1, t.task_id)), SHOP.tasks) for t in SHOP.tasks]
    shifted = [(t, m) for t, m in zip(SHOP.tasks, made, strict=True) if m is not None]
    for task, after in shifted:
        more = after.steps[: len(after.steps) - len(task.steps)]
        assert more
        assert all(step.effect is Effect.READ for step in more)
        assert (after.goal, after.changes) == (task.goal, task.changes)
        assert task.request in after.request


def test_what_is_held_back_is_said_when_asked() -> None:
    task = SHOP.tasks[0]
    made = OPERATORS["ambiguity"](task, Draw((3,)), ())
    assert made is not None
    (said,) = made.held_back
    value = said.removeprefix("It is ").removesuffix(".")
    assert value in task.request
    assert value not in made.request
    assert said in ScriptedUser(made).reply("Which one?")
    assert "ava.stone@mailbox.example" in ScriptedUser(task).reply("What is your email?")
    assert ScriptedUser(task).reply("What is your favourite colour?") == "I have said all I know."


def test_a_conflict_names_the_right_value_last() -> None:
    task = SHOP.tasks[0]
    made = OPERATORS["conflict"](task, Draw((5,)), ())
    assert made is not None
    wrong, right = re.findall(r"(\S+), no, sorry, I mean (\S+)", made.request)[0]
    assert wrong != right
    assert right.rstrip(".,") in task.request


@pytest.mark.parametrize("sort", [*CHANGES, "latency"])
def test_noise_of_a_tool_is_no_failure(sort: str) -> None:
    plan = NoisyTools(NoFaults(), (sort,), 1.0, Draw((1,)), Shapes(), ("cancel",))
    clean = {"order_id": "S1", "status": "pending"}
    injector = Injector(lambda *_: dict(clean), plan)
    result = injector("get_order", {"order_id": "S1"})
    assert clean.items() <= result.items()
    assert (result != clean) == (sort != "latency")
    (made,) = injector.calls
    assert (made.fault, made.failed, made.happened) == (None, False, True)
    assert injector.foresee("get_order", {"order_id": "S1"}, 2) == (None, None)
    assert (made.took_s > 5) == (sort == "latency")


def test_a_write_that_says_ok_and_does_nothing_works_the_second_time() -> None:
    shapes = Shapes({"cancel": ToolShape(effect=Effect.WRITE)})
    plan = NoisyTools(NoFaults(), ("no_op",), 1.0, Draw((1,)), shapes, ("cancel",))
    done: list[str] = []
    injector = Injector(lambda tool, _: done.append(tool) or "cancelled", plan, shapes=shapes)
    assert injector("cancel", {"id": 1}) == {"status": "ok"}
    assert done == []
    assert injector("cancel", {"id": 1}) == "cancelled"
    assert [made.fault for made in injector.calls] == [ErrorKind.FACTUAL_ERROR, None]


def test_a_no_op_is_told_from_success_by_nobody_who_does_not_look() -> None:
    settings = NoiseSettings(("tool:no_op",))
    arms = ("bare", "oracle", "btm")
    made = evaluate(Request(arms=arms, scenarios=(Scenario.CLEAN,), noise=settings, tasks=20))
    by_arm = {arm: [e for e in made.episodes if e.arm == arm] for arm in arms}
    assert any(e.claimed and not e.solved for e in by_arm["bare"])
    assert all(e.solved for e in by_arm["oracle"])
    # It looked, found that nothing had happened, and made the write: once, and no human was asked.
    assert all(e.solved and not e.double_writes for e in by_arm["btm"])


def test_growing_noise_has_the_rate_of_the_printed_line() -> None:
    settings = read_noise("tool:induce", "0:0.4")
    assert settings is not None
    assert [round(settings.rate(n, 5, 0.9), 3) for n in range(5)] == [0.0, 0.1, 0.2, 0.3, 0.4]
    found = run("--tasks", "6", "--arms", "bare", "--noise", "user:typos", "--noise-growth", "0:1")
    assert found["settings"]["growth"] == [0.0, 1.0]
    assert "--noise user:typos --noise-growth 0:1" in found["command"]
    text = CliRunner().invoke(
        cli, ["eval", "--tasks", "5", "--noise", "user:typos", "--noise-growth", "0:0.4"]
    )
    assert "rises from 0 by 0.1 a task to 0.4" in text.stdout


def test_presets_name_their_source_and_differ() -> None:
    found = {name: run("--preset", name, "--tasks", "3", "--arms", "bare")["settings"] for name in PRESETS}
    assert {name: made["source"] for name, made in found.items()} == {n: p.source for n, p in PRESETS.items()}
    assert found["bench2robust"]["rate"] == 0.4
    assert found["agent-reflex"]["rate"] == 0.2
    assert len(found["agent-reflex"]["fault_kinds"]) == 8
    assert len(found["agentnoise"]["noise"]) == 10


def test_what_is_given_besides_a_preset_stays() -> None:
    found = run("--preset", "agent-reflex", "--rate", "0.3", "--tasks", "3", "--arms", "bare")
    assert found["settings"]["rate"] == 0.3


def test_the_same_noise_at_one_worker_and_two_and_after_a_kill(tmp_path: Any) -> None:
    words = ["--tasks", "8", "--arms", "bare,btm", "--noise", "user:topic_shift,tool:induce,tool:no_op"]
    one = run(*words)
    assert run(*words, "--workers", "2") == one
    kept = tmp_path / "run.jsonl"
    run(*words, "--resume", str(kept))
    lines = kept.read_bytes().splitlines(keepends=True)
    kept.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    assert run(*words, "--resume", str(kept)) == one


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--noise", "user:typo"), "did you mean 'user:typos'"),
        (("--noise-growth", "0:0.4"), "goes with --noise"),
        (("--noise", "user:typos", "--noise-growth", "4"), "such as 0:0.4"),
        (("--preset", "agentnoize"), "did you mean 'agentnoise'"),
        (("--noise", "user:typos", "--profile", "outage"), "uniform profile"),
    ],
)
def test_what_is_wrong_with_noise_is_said(words: tuple[str, ...], said: str) -> None:
    made = CliRunner().invoke(cli, ["eval", *words])
    assert made.exit_code == 2
    assert said in " ".join(made.stderr.split())


def test_the_page_shows_noise_what_had_no_place_and_a_presets_source(tmp_path: Any) -> None:
    page = tmp_path / "page.html"
    run("--preset", "agentnoise", "--tasks", "12", "--rate", "0.9", "--arms", "bare,btm", "--html", str(page))
    text = page.read_text()
    assert "By noise of the user" in text
    assert "user:topic_shift" in text
    assert "AgentNoiseBench: five sorts" in text


def test_rows_hold_noisy_tasks_against_the_others() -> None:
    request = Request(
        arms=("bare",), noise=NoiseSettings(("user:topic_shift",)), faults=FaultSettings(rate=0.5)
    )
    rows = noise_rows(evaluate(request).episodes)
    assert [row.noise for row in rows] == ["none", "user:topic_shift"]
    none, shifted = rows
    assert none.drop is None
    assert shifted.drop == pytest.approx(none.solved - shifted.solved)


def test_every_sort_of_noise_is_made_or_is_a_kind_of_fault() -> None:
    settings = NoiseSettings(tuple(NOISE))
    assert set(settings.of_users) == set(OPERATORS)
    assert set(settings.of_tools) == {*CHANGES, "latency", "no_op"}
    assert settings.kinds
    with pytest.raises(EvaluationError):
        preset("none")
    assert plain_arm("bare")
