"""What cards are worth where they were not mined, in simulation."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from btm.cli.main import cli
from btm.lab.environment import load_environment
from btm.lab.faults.settings import FaultSettings
from btm.lab.request import HETEROGENEOUS, Request
from btm.lab.scenarios import Scenario
from btm.lab.skill_runs import SkillWorld, compared, dealt_out, replayed

REQUEST = Request(
    profile=HETEROGENEOUS, scenarios=(Scenario.MIXED,), faults=FaultSettings(seed=11), worlds=2, passes=2
)
pytestmark = pytest.mark.xdist_group("skill worlds")


@pytest.fixture(scope="module")
def outcome() -> tuple[dict[tuple[bool, bool], object], list[SkillWorld]]:
    settings, worlds = compared(REQUEST)
    return {(one.mapped, one.learned): one for one in settings}, worlds


def test_an_agent_without_a_map_gets_further_with_cards_than_without_or_with_others(outcome) -> None:
    settings, _ = outcome
    # Two worlds are too few for an interval; docs/skills.md has one over twelve, with its command.
    assert settings[False, False].gain.value > 0.0
    assert settings[False, False].over_dealt_out.value > 0.0
    assert settings[False, True].gain.value >= 0.0


def test_where_map_and_evidence_are_there_cards_add_nothing_and_cost_nothing(outcome) -> None:
    settings, _ = outcome
    assert settings[True, True].gain.value == pytest.approx(0.0, abs=0.03)
    assert settings[True, False].gain.value >= -0.03


def test_cards_are_about_the_half_that_they_were_mined_on_and_no_other(outcome) -> None:
    _, worlds = outcome
    for world in worlds:
        tested = {setup.task.task_id for _, setup in world.tests}
        for pair in world.mined.used:
            assert pair.task.removeprefix("episodes:") not in tested


def test_dealt_out_cards_hold_the_same_steps_under_other_failures(outcome) -> None:
    _, (world, *_) = outcome
    cards = world.mined.cards
    mixed = dealt_out(cards, 0)
    assert sorted(c.trigger.tool for c in mixed) == sorted(c.trigger.tool for c in cards)
    assert sorted(c.text for c in mixed) == sorted(c.text for c in cards)
    assert all(a.text != b.text for a, b in zip(cards, mixed, strict=True))


def test_a_card_is_verified_by_replaying_it_on_tasks_of_the_environment(outcome) -> None:
    _, (world, *_) = outcome
    shop = load_environment("shop")
    good = next(c for c in world.mined.cards if c.id.startswith("get-order-") and c.target)
    bad = good.model_copy(update={"steps": (good.first.model_copy(update={"tool": "list_products"}),)})
    trial, wrong = replayed(good, shop), replayed(bad, shop)
    assert trial.tried >= 3
    assert trial.worked * 2 > trial.tried
    assert wrong.worked < trial.worked


def test_the_command_prints_what_was_measured_and_that_it_is_simulated() -> None:
    done = CliRunner().invoke(cli, ["skills", "eval", "--domain", "shop", "--worlds", "1", "--json"])
    document = json.loads(done.stdout)
    assert len(document["settings"]) == 4
    assert all(len(row["gain"]) == 3 for row in document["settings"])
