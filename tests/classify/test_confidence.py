"""How sure a named answer is told to be: apart from what decides, by which rule named it and how well it is agreed on."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from btm.classify import classify, confidence, guessing, rules
from btm.classify.expectations import ErrorRule
from btm.classify.finding import DEFAULT, EXACT, STATUS, WORDS, Finding
from btm.model import ErrorKind, ToolCall

READ = ToolCall("get_order")


def found(rule: str, sure: float = WORDS) -> Finding:
    return Finding(ErrorKind.NOT_FOUND, rule, "", sure)


@pytest.mark.parametrize(
    "rule", ["text:not_found:does", "body:error", "guess:not_found", "opinion:body:error"]
)
def test_the_better_the_second_opinion_agrees_the_surer_an_answer_is(rule: str) -> None:
    told = [confidence.of_failure(found(rule), likely) for likely in (0.0, 0.1, 0.5, 0.9, 1.0)]
    assert told == sorted(set(told))
    assert told[0] > 0.0
    assert told[-1] < 1.0


def test_what_reads_words_is_less_sure_than_a_code_of_one_meaning() -> None:
    exact = confidence.of_failure(found("code:ResourceNotFound", EXACT), None)
    assert confidence.of_failure(found("text:not_found:does"), 0.9) < exact
    assert confidence.of_failure(found("guess:not_found", DEFAULT), 0.9) < exact


def test_the_status_of_a_raised_exception_is_as_sure_as_its_rule() -> None:
    status = found("status:404", STATUS)
    assert confidence.of_failure(status, 0.9, raised=True) == guessing.calibrated(STATUS)
    assert confidence.of_failure(status, 0.9) < guessing.calibrated(STATUS)


@pytest.mark.parametrize("rule", ["shape:status", "history:json", "a rule of tomorrow"])
def test_what_was_not_measured_is_as_sure_as_its_rule(rule: str) -> None:
    assert confidence.of_failure(found(rule, 0.7), None) == guessing.calibrated(0.7)


def test_the_likelier_a_success_is_a_failure_the_less_sure_it_is() -> None:
    told = [confidence.success(chance).confidence for chance in (0.0, 0.05, 0.2, 0.34)]
    assert told == sorted(set(told), reverse=True)
    doubted = [confidence.of_doubt(chance) for chance in (0.3, 0.5, 0.9)]
    assert doubted == sorted(set(doubted), reverse=True)
    assert doubted[0] < told[-1]


def test_nothing_that_is_read_is_told_to_be_wholly_sure() -> None:
    for answer in (
        "Order W1 was shipped on Monday.",
        "Error: order W1 not found",
        {"error": "no such order"},
        {"id": 1},
    ):
        assert 0.5 < classify(READ, answer).confidence < 1.0, answer


def test_what_the_user_says_is_sure() -> None:
    said = classify(READ, "the goose is out", rules=[ErrorRule("goose", ErrorKind.UNAVAILABLE)])
    assert said.confidence > 0.95


def test_every_weight_is_a_number_and_named_once() -> None:
    text = (Path(rules.__file__).with_name("data") / "decision.toml").read_text(encoding="utf-8")
    weights = tomllib.loads(text)["confidence"]
    assert {
        "bias",
        "agreed",
        "success",
        "looked at",
        "chance",
        "suspected",
        "doubt",
        "exact",
        "text",
    } <= weights.keys()
    assert all(isinstance(weight, float) for weight in weights.values())
