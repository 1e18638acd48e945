"""The folder of a data set: ``train.jsonl`` (and ``.parquet``), the cards that were stripped, and ``card.md`` about it all.

The lines have the columns that TRL's SFTTrainer and others read; :func:`check` reads them back, runs every sample's calls
again, and looks for what is left of the cards.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import orjson

from btm.errors import BTMError, MissingExtraError
from btm.skills.card import SkillCard, load_cards, write_cards
from btm.training.rollout import Stages
from btm.training.samples import SampleKind, leaks
from btm.training.sft_build import SftData

TRAIN, PAIRS, CARDS, ABOUT = "train.jsonl", "pairs.jsonl", "cards", "card.md"


class SftFileError(BTMError):
    """A data set cannot be read: the text names the file and the line."""


def write_data(
    data: SftData, folder: str | Path, *, about: Mapping[str, Any], parquet: bool, pairs: bool
) -> list[Path]:
    """Write a data set; the same data gives the same bytes. Raises MissingExtraError for ``parquet`` without pyarrow."""
    into = Path(folder)
    into.mkdir(parents=True, exist_ok=True)
    rows = [sample.to_json() for sample in data.samples]
    made = [_lines(into / TRAIN, rows)]
    if parquet:
        made.append(_parquet(into / "train.parquet", rows))
    if pairs:
        made.append(_lines(into / PAIRS, data.pairs))
    used = {sample.skill_id for sample in data.samples}
    write_cards((card for card in data.cards if card.id in used), into / CARDS)
    (into / ABOUT).write_text(_about(data, about), encoding="utf-8")
    return [*made, into / ABOUT]


def _lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


def _parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError as missing:
        raise MissingExtraError("pyarrow", "parquet", "writing Parquet") from missing
    # Schemas of tools differ from tool to tool: as JSON text they are one column.
    flat = [{**row, "tools": json.dumps(row["tools"])} for row in rows]
    parquet.write_table(pyarrow.Table.from_pylist(flat), path)
    return path


def _about(data: SftData, about: Mapping[str, Any]) -> str:
    kinds = Counter(str(sample.kind) for sample in data.samples)
    how = ", ".join(f"{name} {value}" for name, value in about.items())
    lines = [
        "# Fine-tuning data from recoveries",
        "",
        f"Made by `btm sft build` ({how}). The agent is simulated: a script that is walked honestly.",
        "",
        "| kind | samples |",
        "|---|---|",
        *(f"| {kind} | {kinds[str(kind)]} |" for kind in SampleKind),
        "",
        "Kept is what the environment found done. Loss is for the messages named in `train_on`. Cards helped while sampling "
        "and are stripped; `btm sft check` looks for what is left of them, and runs every sample again.",
        "",
        "Left out:",
        "",
        *(f"- {reason}: {count}" for reason, count in sorted(data.dropped.items())),
        *([] if data.dropped else ["- nothing"]),
    ]
    return "\n".join(lines) + "\n"


@dataclass
class SftCheck:
    """What a check found, by line of ``train.jsonl`` (from 1 on)."""

    samples: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    leaks: list[tuple[int, int]] = field(default_factory=list)
    malformed: list[tuple[int, str]] = field(default_factory=list)
    not_done: list[int] = field(default_factory=list)

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.leaks or self.malformed or self.not_done)


def check(folder: str | Path, *, replay: bool = True) -> SftCheck:
    """Check a data set. Raises SftFileError where there is none, SkillError for a wrong card."""
    root = Path(folder)
    file = root / TRAIN
    if not file.is_file():
        raise SftFileError(f"there is no {TRAIN} in {root}; make one with btm sft build")
    cards = load_cards(root / CARDS) if (root / CARDS).is_dir() else ()
    found, stages = SftCheck(), dict[str, Stages]()
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            row = orjson.loads(line)
            problem = _problem(row)
        except (orjson.JSONDecodeError, KeyError, TypeError, IndexError, AttributeError) as error:
            problem, row = f"not a sample: {type(error).__name__}: {error}", {}
        if problem:
            found.malformed.append((number, problem))
            continue
        found.samples += 1
        found.kinds[row["kind"]] += 1
        found.leaks += ((number, message) for message in sorted(_leaks(row, cards)))
        if replay and row["domain"] and not _done(row, stages):
            found.not_done.append(number)
    return found


def _leaks(row: Mapping[str, Any], cards: Iterable[SkillCard]) -> set[int]:
    return {message for card in cards for message in leaks(row["messages"], card.text)}


def _problem(row: Mapping[str, Any]) -> str:
    """Return what is wrong with a sample's form, "" for nothing."""
    messages = row["messages"]
    roles = [message["role"] for message in messages]
    SampleKind(row["kind"])
    if not row["train_on"]:
        return "no message is trained on"
    if any(roles[n] != "assistant" for n in row["train_on"]):
        return "train_on names a message that is not the assistant's"
    asked = [call["id"] for message in messages for call in message.get("tool_calls") or ()]
    answered = [message["tool_call_id"] for message in messages if message["role"] == "tool"]
    if asked != answered:
        return "calls and answers do not match"
    return "" if row["verified"] else "it was not verified"


def _done(row: Mapping[str, Any], known: dict[str, Stages]) -> bool:
    """Run a sample's calls again in a fresh session under the same faults; return whether the task is done by them."""
    stages = known.setdefault(row["domain"], Stages(row["domain"]))
    rollout = stages.begin(row["task_id"], row["scenario"], row["seed"])
    for message in row["messages"]:
        for call in message.get("tool_calls") or ():
            rollout.said(call["function"]["name"], json.loads(call["function"]["arguments"]))
    return rollout.completed
