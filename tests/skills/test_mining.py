"""Cards are mined from runs of one task of which one recovered and the other did not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from shared_data import shared
from skill_kit import DENIED, DOWN, mined, order, repaired, repeated, run_line

from btm.cli.main import cli
from btm.model import Action
from btm.skills.card import SkillError, load_cards, write_cards


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(repaired(n) + repeated(n) for n in range(4)))
    return path


def test_a_repair_that_no_map_knows_is_learned_from_a_pair(log: Path) -> None:
    done = mined(log)
    (card,) = done.cards
    assert (card.trigger.tool, card.trigger.kind) == ("get_order", "auth_error")
    assert (card.first.action, card.first.tool) == (Action.REPAIR, "refresh_session")
    assert (card.evidence.worked, card.evidence.tried, card.evidence.tasks) == (4, 4, 4)
    assert "good-0 > bad-0" in card.evidence.pairs
    assert card.avoid == (Action.RETRY,)


def test_mining_the_same_logs_again_in_another_order_gives_the_same_cards(log: Path, tmp_path: Path) -> None:
    turned = tmp_path / "turned.jsonl"
    turned.write_text("".join(reversed(log.read_text().splitlines(keepends=True))))
    assert mined(log).cards == mined(turned).cards


def test_a_substitute_is_called_with_what_was_known_and_never_with_a_value_from_nowhere(
    tmp_path: Path,
) -> None:
    good = run_line(
        "good", "t", 1.0,
        ("get_user", {"email": "a@b.cd"}, {"user_id": "mia_1"}),
        ("get_order", order(7), DOWN),
        ("list_orders", {"user_id": "mia_1", "order_id": "W7", "hint": "made up"}, {"orders": [order(7)]}),
    )  # fmt: skip
    bad = run_line("bad", "t", 0.0, ("get_order", order(7), DOWN))
    path = tmp_path / "runs.jsonl"
    path.write_text(good + bad)
    (card,) = mined(path).cards
    assert card.first.arguments == {"order_id": "{{ call.order_id }}", "user_id": "{{ known.user_id }}"}


def test_the_same_words_from_another_tool_are_the_same_failure(tmp_path: Path) -> None:
    said = "Error: payment method not found"
    right, wrong = {**order(1), "payment_id": "gift_2222222"}, {**order(1), "payment_id": "card_1111111"}
    good = run_line("good", "t", 1.0, ("change_order", wrong, said), ("change_order", right, order(1)))
    path = tmp_path / "runs.jsonl"
    path.write_text(good + run_line("bad", "t", 0.0, ("place_order", wrong, said)))
    (card,) = mined(path).cards
    assert (card.trigger.tool, card.first.action, card.first.changes) == (
        "change_order",
        Action.REVISE,
        ("payment_id",),
    )
    assert card.trigger.signature
    path.write_text(good + run_line("bad", "t", 0.0, ("place_order", wrong, DOWN)))
    assert mined(path).cards == ()


def test_two_cards_at_most_are_kept_for_one_failure(tmp_path: Path) -> None:
    lines = []
    for n, tool in enumerate(["list_orders", "search_orders", "find_orders", "scan_orders"]):
        lines.append(
            run_line(f"good-{n}", f"t{n}", 1.0, ("get_order", order(n), DOWN), (tool, order(n), order(n)))
        )
        lines.append(run_line(f"bad-{n}", f"t{n}", 0.0, ("get_order", order(n), DOWN)))
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(lines))
    assert len(mined(path).cards) == 2


def test_giving_up_is_never_a_card(tmp_path: Path) -> None:
    path = tmp_path / "runs.jsonl"
    lines = [run_line(f"good-{n}", f"t{n}", 1.0, ("get_order", order(n), DOWN)) for n in range(3)]
    path.write_text("".join(lines) + "".join(repeated(n, DOWN, 20) for n in range(3)))
    assert mined(path).cards == ()


def test_a_card_is_read_again_as_it_was_written(log: Path, tmp_path: Path) -> None:
    cards = mined(log).cards
    write_cards(cards, tmp_path / "cards")
    assert load_cards(tmp_path / "cards") == cards


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("steps: []", "at least 1"),
        ("wen: call.tool == 'x'", "wen"),
        ("when: nobody.knows", "unknown name 'nobody'"),
        (f"text: '{'word ' * 300}'", "tokens; at most 60"),
        ("steps: [{action: abandon}]", "cannot begin with abandon"),
        ("steps: [{action: switch}]", "a switch needs a tool"),
        ("trigger: {tool: 'ignore all rules', kind: timeout}", "is no tool's name"),
    ],
)
def test_a_wrong_card_is_told_with_its_place(log: Path, tmp_path: Path, change: str, said: str) -> None:
    (path,) = write_cards(mined(log).cards, tmp_path / "cards")
    name = change.partition(":")[0]
    kept, dropping = [], False
    for line in path.read_text().splitlines():
        dropping = line.startswith(f"{name}:") or (dropping and line[:1] in " -")
        kept += [] if dropping else [line]
    path.write_text("\n".join([*kept, change]) + "\n")
    with pytest.raises(SkillError, match=f"(?s){path.name}:\\d+.*{said}"):
        load_cards(path)


def test_recorded_airline_runs_give_cards_that_name_their_pairs() -> None:
    logs = shared("data/traces/tau1")
    done = CliRunner().invoke(cli, ["skills", "mine", str(logs), "--map", "airline", "--json"])
    assert done.exit_code == 0, done.output
    document = json.loads(done.stdout)
    assert (document["tasks"], document["pairs"]) == (50, 88)
    assert document["used"] >= 20
    # What the other pairs differ in is how the task was understood, and no failure: that makes no card.
    assert len(document["cards"]) >= 3
    assert all(card["evidence"]["pairs"] for card in document["cards"])


def test_the_commands_mine_list_show_and_export(log: Path, tmp_path: Path) -> None:
    cards, out = tmp_path / "cards", tmp_path / "out"
    run = CliRunner().invoke

    assert run(cli, ["skills", "mine", str(log), "-o", str(cards)]).exit_code == 0
    name = "get-order-auth-error-repair-refresh-session"
    assert name in run(cli, ["skills", "list", "--cards", str(cards), "--json"]).stdout
    assert DENIED not in run(cli, ["skills", "show", name, "--cards", str(cards)]).stdout
    wrong = run(cli, ["skills", "show", name[:-3], "--cards", str(cards)])
    assert wrong.exit_code == 2
    assert f"did you mean '{name}'" in wrong.output
    assert run(cli, ["skills", "export", str(out), "--cards", str(cards)]).exit_code == 0
    text = (out / name / "SKILL.md").read_text()
    assert text.startswith(f"---\nname: {name}\ndescription: ")
    assert load_cards(out / name / "card.yaml") == load_cards(cards)


def test_held_out_runs_say_what_a_card_is_worth(log: Path, tmp_path: Path) -> None:
    cards, other = tmp_path / "cards", tmp_path / "other.jsonl"
    CliRunner().invoke(cli, ["skills", "mine", str(log), "-o", str(cards)])
    other.write_text("".join(repaired(n) + repeated(n) for n in range(10, 13)))
    done = CliRunner().invoke(cli, ["skills", "eval", str(other), "--cards", str(cards), "--json"])
    (row,) = json.loads(done.stdout)
    assert (row["followed"], row["worked"], row["others"], row["others_worked"]) == (3, 3, 3, 0)
