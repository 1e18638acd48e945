"""Fine-tuning data: three continuations, each checked by the environment, and nothing of the card left in them."""

from __future__ import annotations

import copy
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from shared_data import shared

from btm.cli.main import cli
from btm.errors import EvaluationError
from btm.skills.card import load_cards
from btm.training.continuations import MadeCall, Policy
from btm.training.curriculum import held_out
from btm.training.rollout import Stages
from btm.training.samples import NOTE, leaks, shingles, stripped
from btm.training.sft_files import SftFileError, check

pytestmark = pytest.mark.xdist_group("sft")


def run(*arguments: object, code: int = 0) -> Any:
    result = CliRunner().invoke(cli, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("sft") / "data"
    done = run("sft", "build", "--seed", 1, "--per-task", 2, "--pairs", "-o", out)
    assert set(done["kinds"]) == {"own", "self_reflection", "skill_recovery", "user_centric"}
    return out


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "train.jsonl").read_text().splitlines()]


def test_a_build_is_clean_and_every_sample_reaches_its_tasks_end_again(folder: Path, rows: list[Any]) -> None:
    found = run("sft", "check", folder)
    assert found["samples"] == len(rows) > 50
    assert (found["leaks"], found["malformed"], found["not_done"]) == ([], [], [])


def test_the_same_seed_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    run("sft", "build", "--seed", 1, "--per-task", 2, "--pairs", "-o", tmp_path / "again")
    for name in ("train.jsonl", "pairs.jsonl", "card.md"):
        assert (tmp_path / "again" / name).read_bytes() == (folder / name).read_bytes()


def test_no_task_that_is_held_out_is_in_the_data(rows: list[Any]) -> None:
    assert not any(held_out(row["task_id"]) for row in rows)


def test_loss_is_on_the_assistants_turns_of_the_continuation(rows: list[Any]) -> None:
    for row in rows:
        roles = [message["role"] for message in row["messages"]]
        assert {roles[n] for n in row["train_on"]} == {"assistant"}
        first = row["train_on"][0]
        later = [n for n, role in enumerate(roles) if role == "assistant" and n >= first]
        assert row["train_on"] == later
        if row["kind"] == "self_reflection":
            # It goes on right after the failed call's answer.
            assert roles[first - 1] == "tool"
            assert "Error: " in row["messages"][first - 1]["content"]
        if row["kind"] in ("skill_recovery", "own"):
            assert first == 2


def test_a_corrected_conversation_has_exactly_one_more_message_of_the_user(rows: list[Any]) -> None:
    for row in rows:
        asked = [message for message in row["messages"] if message["role"] == "user"]
        assert len(asked) == (2 if row["kind"] == "user_centric" else 1)


def test_a_recovery_from_the_beginning_differs_from_one_on_the_way(rows: list[Any]) -> None:
    by_parent: dict[str, dict[str, Any]] = {}
    for row in rows:
        by_parent.setdefault(row["parent"], {})[row["kind"]] = row["messages"]
    both = [kinds for kinds in by_parent.values() if {"self_reflection", "skill_recovery"} <= kinds.keys()]
    assert any(kinds["self_reflection"] != kinds["skill_recovery"] for kinds in both)


PLANTS = ("content", "arguments", "name", "middle", "case", "lines", "note")


def planted(rows: list[Any], text: str, number: int) -> list[Any]:
    """The data with words of a card in one message."""
    made = copy.deepcopy(rows)
    row = made[number * 3 % len(made)]
    how, messages = PLANTS[number % len(PLANTS)], row["messages"]
    message = messages[1 + number % (len(messages) - 1)]
    called = next(m for m in messages if m.get("tool_calls"))
    function = called["tool_calls"][0]["function"]
    match how:
        case "content":
            message["content"] += " " + text
        case "arguments":
            function["arguments"] = json.dumps({**json.loads(function["arguments"]), "note": text})
        case "name":
            message["name"] = text
        case "middle":
            message["content"] = f"well, {text}! and so on"
        case "case":
            message["content"] += "\n" + text.upper()
        case "lines":
            message["content"] += "\n".join(text.replace(":", " --").split(" "))
        case "note":
            message[NOTE] = True
    return made


@pytest.mark.parametrize("number", range(20))
def test_a_planted_leak_is_found(number: int, folder: Path, rows: list[Any], tmp_path: Path) -> None:
    texts = [card.text for card in load_cards(folder / "cards")]
    made = planted(rows, texts[number % len(texts)], number)
    (tmp_path / "train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in made))
    (tmp_path / "cards").symlink_to(folder / "cards")
    found = check(tmp_path, replay=False)
    assert {line for line, _ in found.leaks} == {number * 3 % len(made) + 1}
    assert not found.clean


def test_eight_words_in_a_row_are_a_leak_and_seven_are_none() -> None:
    text = "one two three four five six seven eight nine ten"
    assert len(shingles(text)) == 3
    assert list(leaks([{"content": "two three four five six seven eight nine"}], text)) == [0]
    assert list(leaks([{"content": "two three four five six seven eight"}], text)) == []
    assert list(leaks([{"content": "say one two"}], "one two")) == [0]
    assert list(leaks([{"content": "anything"}], "")) == []


def test_notes_are_stripped() -> None:
    kept, note = {"role": "user", "content": "a"}, {"role": "system", "content": "b", NOTE: True}
    assert stripped([kept, note]) == (kept,)


def test_no_sample_repeats_a_write_blindly_that_may_have_happened(rows: list[Any]) -> None:
    """It ends well here, for the shop's writes are harmless twice; nothing should learn it."""
    writes = {name for name, spec in Stages("shop").environment.tools.items() if spec.effect == "write"}
    for row in rows:
        calls = [
            (call["function"]["name"], call["function"]["arguments"], number)
            for number, message in enumerate(row["messages"])
            for call in message.get("tool_calls") or ()
        ]
        for first, again in itertools.pairwise(calls):
            trained = again[2] in row["train_on"]
            answer = row["messages"][first[2] + 1]["content"]
            unsure = "Error: " in answer and any(
                w in answer.lower() for w in ("timed out", "timeout", "500", "502", "503")
            )
            assert not (trained and unsure and first[0] in writes and first[:2] == again[:2]), row["parent"]


def test_preference_pairs_differ_after_the_same_beginning(folder: Path) -> None:
    pairs = [json.loads(line) for line in (folder / "pairs.jsonl").read_text().splitlines()]
    assert pairs
    for pair in pairs:
        assert pair["prompt"][-1]["role"] == "tool"
        assert pair["chosen"] != pair["rejected"]
        assert pair["chosen"][0]["role"] == pair["rejected"][0]["role"] == "assistant"


def test_a_fork_is_exact_or_refused() -> None:
    policy = Policy(Stages("shop"))
    parent = policy.run("shop-01", "retry_works", 5)
    forked = policy.fork(parent, len(parent.calls))
    assert forked.rollout.session.digest() == parent.rollout.session.digest()
    assert [one.text for one in forked.calls] == [one.text for one in parent.calls]
    first = parent.calls[0]
    parent.calls[0] = MadeCall(first.tool, first.arguments, "something else", first.response)
    with pytest.raises(EvaluationError, match="does not answer as it did"):
        policy.fork(parent, 1)


@pytest.mark.parametrize(
    "line",
    ["{", "[]", '{"messages": []}', '{"messages": [{"role": "user"}], "kind": "own", "train_on": [0]}'],
)
def test_a_line_that_is_no_sample_is_told_with_its_number(tmp_path: Path, line: str) -> None:
    (tmp_path / "train.jsonl").write_text(line + "\n")
    found = run("sft", "check", tmp_path, code=1)
    assert [one["line"] for one in found["malformed"]] == [1]


def test_a_folder_without_data_is_wrong_usage(tmp_path: Path) -> None:
    with pytest.raises(SftFileError, match="btm sft build"):
        check(tmp_path)


def test_parquet_holds_the_same_samples(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs the extra 'parquet'")
    run("sft", "build", "--seed", 2, "--per-task", 1, "--parquet", "-o", tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "train.jsonl").read_text().splitlines()]
    table = parquet.read_table(tmp_path / "train.parquet").to_pylist()
    assert [row["parent"] for row in table] == [row["parent"] for row in lines]
    assert [json.loads(row["tools"]) for row in table] == [row["tools"] for row in lines]


def test_datasets_reads_the_lines(folder: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="it is in the extra 'train'")
    found = datasets.load_dataset(
        "json", data_files=str(folder / "train.jsonl"), split="train", cache_dir=str(tmp_path)
    )
    assert {"messages", "tools", "train_on"} <= set(found.column_names)


def test_a_secret_of_a_recorded_conversation_is_in_no_sample(tmp_path: Path) -> None:
    key = "sk-" + "Zq9" * 12
    call = {
        "id": "c0",
        "function": {"name": "get_order", "arguments": json.dumps({"auth": {"api_key": key}, "order": "W1"})},
    }
    messages = [
        {"role": "user", "content": f"my key is {key}"},
        {"role": "assistant", "content": f"using {key}", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c0", "content": json.dumps({"echo": key})},
    ]
    log, out = tmp_path / "log.jsonl", tmp_path / "sft.jsonl"
    log.write_text(json.dumps({"conversation_id": "c", "reward": 1.0, "messages": messages}) + "\n")
    assert run("export", "sft", log, "-o", out)["written"] == 1
    assert "Zq9Zq9" not in out.read_text()
    assert "W1" in out.read_text()


def test_recorded_conversations_that_succeeded_are_samples_as_they_are(tmp_path: Path) -> None:
    logs, out = shared("data/traces/tau1/airline-gpt-4o.json"), tmp_path / "sft.jsonl"
    done = run("export", "sft", logs, "-o", out)
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert (done["conversations"], done["written"]) == (199, len(lines))  # of 200 one stands there twice
    assert 20 < len(lines) < 200
    for line in lines:
        assert line["messages"][0]["role"] == "user"
        assert line["train_on"]
