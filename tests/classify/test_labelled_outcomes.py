"""Recorded outcomes with labels: the shared set with its bars, and our own, row by row."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from shared_data import shared

sys.path.insert(0, str(Path(__file__).parent))
from accuracy import measure, rows_of

from btm.classify.rows import classify_row

OWN = rows_of(Path(__file__).with_name("outcomes.jsonl"))


def test_the_shared_outcomes_are_named_as_labelled() -> None:
    accuracy = measure(rows_of(shared("data/errors/visible.jsonl")))
    print(f"\n{accuracy}")
    assert accuracy.exact_share >= 0.95, accuracy
    assert accuracy.family_share >= 0.97, accuracy


def test_no_shared_success_is_called_an_error() -> None:
    assert measure(rows_of(shared("data/errors/visible.jsonl"))).false_errors == []


def test_waits_are_read_from_headers_bodies_and_texts_and_only_where_they_are() -> None:
    for row in rows_of(shared("data/errors/visible.jsonl")):
        wait = classify_row(row).retry_after_s
        assert (
            wait == pytest.approx(row["retry_after_s"]) if row["retry_after_s"] is not None else wait is None
        ), row["id"]


def test_our_own_outcomes_are_many_and_of_every_kind() -> None:
    accuracy = measure(OWN)
    print(f"\n{accuracy}")
    assert len(OWN) >= 150
    assert len(accuracy.rows) == 18


@pytest.mark.parametrize("row", OWN, ids=lambda row: f"{row['id']}-{row['label']}")
def test_an_outcome_is_named_as_labelled(row: dict[str, object]) -> None:
    outcome = classify_row(row)
    assert (outcome.kind or "ok") == row["label"], f"{outcome.rule}: {row['source']}"
    if row["retry_after_s"] is not None:
        assert outcome.retry_after_s == pytest.approx(row["retry_after_s"])
