"""Write docs/what-the-model-sees.md: ten notes as a model gets them, made here and now.

``python docs/notes_page.py`` prints the page; ``--write`` puts it where it belongs. A test holds that they are equal.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from btm import FallbackMap, ToolMemory
from btm.adapters.chat_completions import ChatLoop

PAGE = Path(__file__).with_name("what-the-model-sees.md")

HEAD = """\
# What the model sees

Ten notes, each as it stands at the end of a model's request, in the role of the user, after the failing tool's own
result. `id` is the conversation's own, which the standing rules in the system prompt name: a note without it is forged.
They are short, which is the default; `ToolMemory.open(detail="full")` adds why, what comes then, what to avoid and the
error's text. That did not earn its tokens: Qwen2.5-Coder-1.5B-Instruct (q4_k_m) ended the same 21 of 22 tasks right with
either (exact 95 % 77 to 100), and a request with the whole note was 98 tokens longer (1,678 against 1,580, 28 notes each):

```bash
btm placement --base-url http://127.0.0.1:8080/v1 --model my-model --seed 11 --families where,cancel,credit \\
    --tasks 0,retry_works=8,switch_needed=14 --arms user_reminder,user_reminder_full --max-tokens 96
```

Small models need the two finished requests that they are shown first; `--no-demonstrations` leaves them out. Some
reasoning models take only `--temperature 1`.

Nothing here is written by hand but the titles: `python docs/notes_page.py --write` makes the page.
"""

MAP = """
version: 1
domain: clinic
tools:
  get_patient:
    effect: read
    fallbacks:
      - {tool: search_patients, coverage: partial, lacks: [allergies], arguments: {query: "{{ call.patient_id }}"}}
  search_patients: {effect: read}
  get_rates: {effect: read}
  list_slots: {effect: read}
  book_slot:
    effect: write
    irreversible: true
    verify: {tool: list_bookings, arguments: {patient_id: "{{ call.patient_id }}"}, done_when: "result | length > 0"}
  list_bookings: {effect: read}
  send_letter: {effect: write}
  ask_receptionist: {role: escalation}
"""

Calls = Sequence[tuple[str, Mapping[str, Any]]]


class Situation(NamedTuple):
    """What happens before a note: the turns of calls, and what each tool does."""

    title: str
    request: str
    turns: Sequence[Calls]
    answers: Mapping[str, Any]
    mode: str = "advise"
    with_map: bool = True


def timed_out() -> Exception:
    """A time limit that was reached."""
    return TimeoutError("timed out after 30 s")


SITUATIONS = (
    Situation(
        "A read timed out: the same call again",
        "What does the lab charge?",
        [[("get_rates", {"lab": "north"})]],
        {"get_rates": timed_out()},
    ),
    Situation(
        "A tool is shut off, and the map knows a substitute that gives a part",
        "Which allergies does p7 have?",
        [[("get_patient", {"patient_id": "p7"})]],
        {"get_patient": PermissionError("403 Forbidden")},
    ),
    Situation(
        "A write timed out: look before it is made again",
        "Book me in for Tuesday at nine.",
        [[("book_slot", {"patient_id": "p7", "slot": "tue-09"})]],
        {"book_slot": timed_out()},
    ),
    Situation(
        "A write timed out and nothing can check it",
        "Send the letter to p7.",
        [[("send_letter", {"patient_id": "p7"})]],
        {"send_letter": ConnectionResetError("connection reset by peer")},
    ),
    Situation(
        "The arguments were refused",
        "Which slots are free on the 31st of June?",
        [[("list_slots", {"day": "2026-06-31"})]],
        {"list_slots": ValueError("day is out of range for month")},
    ),
    Situation(
        "The service asks to be left alone for an hour",
        "What does the lab charge?",
        [[("get_rates", {"lab": "north"})]],
        {"get_rates": RuntimeError("429 Too Many Requests: retry after 3600 seconds")},
    ),
    Situation(
        "An error page instead of an answer",
        "What does the lab charge?",
        [[("get_rates", {"lab": "north"})]],
        {
            "get_rates": RuntimeError(
                "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1>"
                '<form><input type="hidden" name="csrf" value="9f8a7d6c"></form>'
                "<p>upstream /srv/rates/app.sock failed</p></body></html>"
            )
        },
    ),
    Situation(
        "Three calls of one turn failed: one note",
        "Book p7 for Tuesday, with the rate and the letter.",
        [
            [
                ("get_rates", {"lab": "north"}),
                ("send_letter", {"patient_id": "p7"}),
                ("book_slot", {"patient_id": "p7", "slot": "tue-09"}),
            ]
        ],
        {
            "get_rates": timed_out(),
            "send_letter": PermissionError("403 Forbidden"),
            "book_slot": timed_out(),
        },
    ),
    Situation(
        "The same call was repeated once too often, and guard mode did not make it",
        "Which slots are free on Tuesday?",
        [[("list_slots", {"day": "tue"})]] * 2,
        {"list_slots": PermissionError("401 Unauthorized: the key has expired")},
        mode="guard",
    ),
    Situation(
        "Without a map: nothing is known but the error",
        "Which allergies does p7 have?",
        [[("get_patient", {"patient_id": "p7"})]],
        {"get_patient": PermissionError("403 Forbidden")},
        with_map=False,
    ),
)


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for number, situation in enumerate(SITUATIONS, 1):
        parts.append(f"## {number}. {situation.title}\n\n```text\n{_note(situation)}\n```\n")
    return "\n".join(parts)


def _note(situation: Situation) -> str:
    fallback_map = FallbackMap.from_text(MAP) if situation.with_map else None
    memory = ToolMemory.open(
        fallback_map=fallback_map,
        mode=situation.mode,
        clock=lambda: 1_790_000_000.0,
        sleep=lambda _: None,
        rng=random.Random(7),
        hash_key=b"the page",
        hooks=(),
    )
    names = FallbackMap.from_text(MAP).tools
    loop = ChatLoop(memory, {name: _tool(situation.answers.get(name)) for name in names})
    messages: list[Any] = [{"role": "user", "content": situation.request}]
    for turn, calls in enumerate(situation.turns):
        loop.prepare(messages)
        asked = [_asked(f"call_{turn}_{n}", name, given) for n, (name, given) in enumerate(calls)]
        messages.append({"role": "assistant", "content": None, "tool_calls": asked})
        messages += loop.run(asked)
    said: str = loop.prepare(messages)[-1]["content"]
    memory.close()
    return said


def _tool(answer: Any) -> Callable[..., Any]:
    def call(**_: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    return call


def _asked(call_id: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    text = ", ".join(f'"{name}": "{value}"' for name, value in arguments.items())
    return {
        "id": call_id,
        "type": "function",
        "function": {"name": tool, "arguments": f"{{{text}}}"},
    }


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        sys.stdout.write(page())
