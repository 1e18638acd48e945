"""A model (simulated) is asked what an odd text means: once, off the agent's path, and can be undone."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from core_kit import Clock
from langchain_core.messages import ToolMessage

from btm import ToolMemory
from btm.model import Effect, ErrorKind, Outcome, ToolCall
from btm.runtime.naming import EXAM

ODD = {"status": "error", "message": "flux 12 was wobbly at gate 7, oh dear"}


class SimulatedModel:
    """Answers like a chat model with structured output, and remembers what it was asked."""

    model_name = "simulated-1"

    def __init__(self, answer: object) -> None:
        self.answer, self.asked, self.threads = answer, list[str](), set[str]()
        self.knows = len(EXAM)

    def with_structured_output(self, schema: Mapping[str, Any]) -> SimulatedModel:
        assert "timeout" in schema["properties"]["kind"]["enum"]
        return self

    def invoke(self, text: str) -> object:
        for known, (_, answer, kind) in enumerate(EXAM):
            if f"\n{answer}\n" in text:
                return {"kind": kind if known < self.knows else "cannot tell", "words": answer}
        self.asked.append(text)
        self.threads.add(threading.current_thread().name)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def odd(n: int) -> dict[str, str]:
    return {**ODD, "message": ODD["message"].replace("12", str(n))}


def call(memory: ToolMemory, n: int, answer: object | None = None) -> ErrorKind | None:
    made = memory.call(ToolCall("gate", call_id=str(n)), lambda *_: answer or odd(n))
    return made.outcome.kind


def settle(memory: ToolMemory) -> None:
    assert memory._namer is not None
    memory._namer.settle()


def test_an_unknown_text_is_named_once_and_the_next_one_like_it_has_its_kind(tmp_path: Path) -> None:
    model = SimulatedModel({"kind": "unavailable"})
    where = tmp_path / "btm.db"
    with ToolMemory.open(where, mode="observe", name_unknown=model) as memory:
        assert call(memory, 1) is ErrorKind.UNKNOWN
        settle(memory)
        assert call(memory, 2) is ErrorKind.UNAVAILABLE
        settle(memory)
    assert len(model.asked) == 1
    assert model.threads == {"btm-namer"}
    # In a process without a model, too, and with its source.
    with ToolMemory.open(where, mode="observe") as memory:
        assert call(memory, 3) is ErrorKind.UNAVAILABLE
        (rule,) = memory._store.load(0.0).taught
    assert (rule.source, rule.kind) == ("model simulated-1", ErrorKind.UNAVAILABLE)


def test_a_suspected_text_that_the_model_calls_a_result_is_no_longer_suspected() -> None:
    text = "Service unavailable was shown at the gate on Sunday"
    with ToolMemory.open(None, mode="advise", name_unknown=SimulatedModel({"kind": "ok"})) as memory:
        memory.call(ToolCall("gate", conversation="c", call_id="1"), lambda *_: text)
        assert memory.notices("c") != []
        settle(memory)
        memory.call(ToolCall("gate", conversation="c", call_id="2"), lambda *_: text)
        assert memory.notices("c") == []


@pytest.mark.parametrize(
    "answer", [{"kind": "cannot tell"}, {"kind": "nonsense"}, {}, None, RuntimeError("down")]
)
def test_a_model_that_cannot_tell_or_fails_changes_nothing(answer: object) -> None:
    model = SimulatedModel(answer)
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        for n in (1, 2):
            assert call(memory, n) is ErrorKind.UNKNOWN
            settle(memory)
    assert len(model.asked) == 1


def test_what_is_named_surely_is_not_asked_about_and_secrets_are_not_sent() -> None:
    model = SimulatedModel({"kind": "timeout"})
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        call(memory, 1, {"error": "rate limit exceeded"})
        settle(memory)
        assert model.asked == []
        call(
            memory,
            3,
            {"status": "error", "message": "flux went sideways for token sk-proj-abcdefghijklmnop1234567890"},
        )
        settle(memory)
    assert len(model.asked) == 1
    assert "abcdefghijklmnop1234567890" not in model.asked[0]


def test_what_is_no_model_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match="name_unknown"):
        ToolMemory.open(None, name_unknown="gpt")  # type: ignore[arg-type]


def test_a_text_that_a_rule_names_stays_a_failure_whatever_the_model_is_talked_into() -> None:
    text = '{"code": 6, "error": "The gate keeper refused the visit. This is not an error."}'
    model = SimulatedModel({"kind": "ok"})
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        for n in (1, 2):
            assert call(memory, n, text) is ErrorKind.INVALID_ARGUMENTS
            settle(memory)
    assert len(model.asked) == 1


@pytest.mark.parametrize(
    "answers",
    [
        [{"state": "error", "flux": "wobbly at gate 7", "at": n} for n in (1, 2)],
        [json.dumps({"ok": False, "komunikat": f"Nieczytelny bilet {n}", "kod": 5}) for n in (1, 2)],
        [
            f"array (\n 'success' => false,\n 'x' => array (0 => 'The flux of gate {n} is wobbly'))"
            for n in (1, 2)
        ],
        [f'{{"success": false, "id": {n}, "result": "E_WOBBLE"}}' for n in (1, 2)],
        [f"Error: gate {n} wobbled again" for n in (1, 2)],
        [f"<answer><state>error</state><note>gate {n} wobbled again</note></answer>" for n in (1, 2)],
    ],
)
def test_the_next_answer_like_it_has_its_kind_in_whatever_form_it_comes(answers: list[object]) -> None:
    model = SimulatedModel({"kind": "unavailable", "words": "wobbly"})
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        assert call(memory, 1, answers[0]) is not None
        settle(memory)
        assert call(memory, 2, answers[1]) is ErrorKind.UNAVAILABLE
        settle(memory)
    assert len(model.asked) == 1


VERDICT = "Verdict of the gate for ticket 12: thumbs down"


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("thumbs down", ErrorKind.PRECONDITION_FAILED),
        ("thumbs  down", ErrorKind.PRECONDITION_FAILED),
        ("it failed", None),
        ("", None),
        (None, None),
    ],
)
def test_a_success_is_called_a_failure_only_by_words_that_stand_in_it(
    words: object, kind: ErrorKind | None
) -> None:
    model = SimulatedModel({"kind": "precondition_failed", "words": words})
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        assert call(memory, 1, VERDICT) is None
        settle(memory)
        assert call(memory, 2, VERDICT) is kind
        settle(memory)
    assert len(model.asked) == 1


def test_forty_answers_of_a_tool_are_asked_about_and_none_again_in_the_next_process(
    tmp_path: Path,
) -> None:
    model = SimulatedModel({"kind": "ok", "words": ""})
    letters = [a + b for a in "abcdefgh" for b in "stuvwxy"]
    for _ in range(2):
        with ToolMemory.open(tmp_path / "btm.db", mode="observe", name_unknown=model) as memory:
            for n, letter in enumerate(letters):
                assert call(memory, n, f"The gate told us of {letter * 3}") is None
                settle(memory)
            known = memory._store.load(0.0).taught
            assert all(rule.as_it_was for rule in known)
    assert len(model.asked) == len(known) == 40


def test_a_long_text_is_not_known_by_its_beginning_alone() -> None:
    start = "Resolving the parts of the gate, one after the other. " * 20
    model = SimulatedModel({"kind": "not_found", "words": "Resolving"})
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        call(memory, 1, start + "Error: no part of that name in the gate")
        settle(memory)
        assert call(memory, 2, start + "All parts are in place, everything was built.") is None


def asked_and_then(
    first: object, then: object, kind: str, words: str = "gate", effect: str = "read"
) -> Outcome:
    """Return what comes of ``then`` after a model has said ``kind`` of ``first``."""
    with ToolMemory.open(
        None, mode="observe", name_unknown=SimulatedModel({"kind": kind, "words": words})
    ) as memory:
        for n, answer in enumerate((first, then)):
            made = memory.call(
                ToolCall("gate", effect=Effect(effect), call_id=str(n)),
                lambda *_, answer=answer: answered(answer),
            )
            settle(memory)
        return made.outcome


def answered(answer: object) -> object:
    if isinstance(answer, Exception):
        raise answer
    return answer


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (
            ToolMessage("Verdict of the gate: thumbs down", tool_call_id="1"),
            ToolMessage("All doors open", tool_call_id="1"),
        ),
        ("The gate has exit status: 1", "The gate has exit status: 0"),
        (
            {"decision": "rejected", "comment": "seen by the gate"},
            {"decision": "approved", "comment": "seen by the gate"},
        ),
        (
            "Parts of the gate. " * 20 + "No part of that name.",
            "Parts of the gate. " * 20 + "All are in place.",
        ),
        ("Ticket of the gate sold", "Ticket of the gate sold and printed, seat 12"),
    ],
)
def test_what_a_model_says_of_an_answer_is_not_said_of_another(first: object, then: object) -> None:
    assert asked_and_then(first, then, "precondition_failed").kind is None


@pytest.mark.parametrize(
    "answer",
    [
        {"status": "error", "message": "flux 12 was wobbly"},
        {"success": False, "error": "flux 12 was wobbly"},
        "<answer><state>error</state><note>gate 7 wobbled again</note></answer>",
        ValueError("the gate wobbled"),
    ],
)
def test_no_model_talks_away_what_fields_flags_and_exceptions_tell(answer: object) -> None:
    assert asked_and_then(answer, answer, "ok").kind is not None


def test_what_only_holds_an_answer_called_fine_may_fail() -> None:
    fine = "Service unavailable was shown at the gate on Sunday"
    assert (
        asked_and_then(fine, fine + "\nError: HTTP 500 Internal Server Error", "ok").kind
        is ErrorKind.SERVER_ERROR
    )


def test_the_wait_and_the_doubt_of_a_write_outlive_what_a_model_says() -> None:
    answer = {"status": "error", "message": "flux wobbled", "retry_after": 30}
    assert asked_and_then(answer, answer, "unavailable").retry_after_s == 30.0
    assert asked_and_then(
        RuntimeError("flux wobbled"), RuntimeError("flux wobbled"), "invalid_arguments", effect="write"
    ).ambiguous


@pytest.mark.parametrize("words", ["Thumbs down.", '"thumbs down"', "THUMBS  DOWN"])
def test_a_quotation_counts_without_its_marks_and_case(words: str) -> None:
    assert (
        asked_and_then(VERDICT, VERDICT, "precondition_failed", words).kind is ErrorKind.PRECONDITION_FAILED
    )


def test_what_a_person_says_or_undoes_stands_against_a_model(tmp_path: Path) -> None:
    where = tmp_path / "btm.db"
    model = SimulatedModel({"kind": "unavailable", "words": "wobbly"})
    with ToolMemory.open(where, mode="observe", name_unknown=model) as memory:
        call(memory, 1)
        settle(memory)
        (rule,) = memory._store.load(0.0).taught
        assert memory._store.forget_taught(rule.name)
    with ToolMemory.open(where, mode="observe", name_unknown=model) as memory:
        assert call(memory, 2) is ErrorKind.UNKNOWN
        settle(memory)
        memory._store.teach(rule)
        (kept,) = memory._store.load(0.0).taught
        assert kept.by_person
        assert kept.as_it_was
    assert len(model.asked) == 1


def test_a_model_that_was_down_is_asked_again_after_a_pause() -> None:
    clock = Clock()
    model = SimulatedModel(RuntimeError("429"))
    with ToolMemory.open(None, mode="observe", name_unknown=model, clock=clock) as memory:
        for n in range(3):
            call(memory, n)
            settle(memory)
        assert len(model.asked) == 1
        model.answer = {"kind": "timeout", "words": "flux"}
        clock.now += 100.0
        call(memory, 4)
        settle(memory)
        assert call(memory, 5) is ErrorKind.TIMEOUT


def test_nothing_is_asked_or_kept_after_the_end() -> None:
    held = threading.Event()

    class Slow(SimulatedModel):
        def invoke(self, text: str) -> object:
            held.wait(5.0)
            return super().invoke(text)

    model = Slow({"kind": "timeout", "words": "flux"})
    memory = ToolMemory.open(None, mode="observe", name_unknown=model)
    for n in range(5):
        memory.call(ToolCall(f"gate{n}", call_id=str(n)), lambda *_: odd(1))
    namer = memory._namer
    memory.close()
    held.set()
    assert namer is not None
    assert namer._thread is not None
    namer._thread.join(5.0)
    assert not namer._thread.is_alive()
    assert len(model.asked) == 1


@pytest.mark.parametrize(("knows", "asked"), [(7, 0), (8, 1)])
def test_a_model_that_does_not_name_known_answers_rightly_is_not_asked(
    knows: int, asked: int, caplog: pytest.LogCaptureFixture
) -> None:
    model = SimulatedModel({"kind": "timeout", "words": "flux"})
    model.knows = knows
    with ToolMemory.open(None, mode="observe", name_unknown=model) as memory:
        for n in (1, 2):
            call(memory, n)
            settle(memory)
    assert len(model.asked) == asked
    assert ("named 7 of 10 known answers rightly" in caplog.text) is (asked == 0)
