from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from log_samples import read, write
from product_samples import CALLS, PRODUCTS, mcp_proxy
from shared_data import shared

from btm.cli.main import cli
from btm.fallback import FallbackMap
from btm.logs.listening import Listener
from btm.model import ErrorKind

LISTENER = Listener(FallbackMap.empty(), now=1_800_000_000.0)

# What each file is told to hold: conversations, calls, errors by kind.
TOLD: dict[str, tuple[int, int, dict[str, int]]] = {
    "codex_rollout_shell.jsonl": (1, 1, {"not_found": 1}),
    "real_openai_agents_traces.jsonl": (1, 3, {"unknown": 2}),
    "real_pydantic_ai_messages.json": (1, 3, {"auth_error": 1, "unavailable": 1}),
    "swe_agent.traj": (1, 2, {"not_found": 1}),
}
STORY = (1, 3, {"auth_error": 2})
FORMATS = (
    shared("data/formats") if Path(__file__).parents[2].joinpath("../shared/data/formats").exists() else None
)


def told_in(path: Path) -> tuple[int, int, dict[str, int]]:
    conversations, skipped = read(path)
    assert skipped == []
    errors: dict[str, int] = {}
    calls = 0
    for conversation in conversations:
        heard = LISTENER.listen(conversation)
        calls += len(heard.outcomes) + heard.unanswered
        for _, outcome in heard.outcomes:
            if outcome.kind is not None:
                # What is guessed was not told.
                kind = "unknown" if outcome.rule.startswith("guess:") else str(outcome.kind)
                errors[kind] = errors.get(kind, 0) + 1
    return len(conversations), calls, errors


@pytest.mark.parametrize(("content", "name"), PRODUCTS.values(), ids=PRODUCTS)
def test_every_products_log_tells_the_same_story(content: Any, name: str, tmp_path: Path) -> None:
    path = write(tmp_path / "log", content)
    assert told_in(path) == STORY
    (conversation,) = read(path)[0]
    assert conversation.format == name
    assert [(c.call.tool, dict(c.call.arguments)) for c in conversation.calls] == story(conversation)


def story(conversation: Any) -> list[tuple[str, dict[str, Any]]]:
    if conversation.format == "swe_agent":
        return [("bash", {"command": tool}) for _, tool, *_ in CALLS]
    if conversation.format == "openhands" and "name" in next(conversation.calls).call.arguments:
        return [(tool, {"name": tool, **given}) for _, tool, given, *_ in CALLS]
    return [(tool, given) for _, tool, given, *_ in CALLS]


@pytest.mark.skipif(FORMATS is None, reason="the samples of other products' logs are not here")
@pytest.mark.parametrize("name", sorted(p.name for p in FORMATS.iterdir()) if FORMATS else [])
def test_a_sample_of_another_product_tells_what_it_is_told_to(name: str) -> None:
    assert FORMATS is not None
    assert told_in(FORMATS / name) == TOLD.get(name, STORY)


def test_kinds_are_those_that_btm_knows() -> None:
    assert {kind for _, _, errors in TOLD.values() for kind in errors} <= set(map(str, ErrorKind))


def test_forty_formats_mixed_and_packed_are_fitted_in_one_command(tmp_path: Path) -> None:
    for number, (content, _) in enumerate(PRODUCTS.values()):
        write(tmp_path / f"log{number}.gz", content if isinstance(content, str) else json.dumps(content))
    done = CliRunner().invoke(cli, ["fit", str(tmp_path), "--dry-run"], catch_exceptions=False)
    assert done.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines() if len(line.split()) == 4}
    told = Counter(name for _, name in PRODUCTS.values())
    # Traces of one id are one conversation, in whichever file they lie; what is equal to the byte counts once.
    assert {name for name in told if name in rows} == set(told)
    assert rows["gemini_cli"] == ["1", "3", "2"]
    assert rows["vercel_ai"] == ["3", "9", "6"]


def test_a_folder_of_messages_is_a_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "session"
    folder.mkdir()
    messages: list[Any] = [{"role": "user", "content": [{"text": "where is o1?"}]}]
    for own, tool, given, said, failed in CALLS:
        use = {"toolUseId": own, "name": tool, "input": given}
        result = {"toolUseId": own, "content": [{"text": said}], "status": "error" if failed else "success"}
        messages += [
            {"role": "assistant", "content": [{"toolUse": use}]},
            {"role": "user", "content": [{"toolResult": result}]},
        ]
    for number, message in enumerate([*messages, *[{"role": "user", "content": [{"text": "thanks"}]}] * 5]):
        write(
            folder / f"message_{number}.json",
            json.dumps({"message": message, "message_id": number}, indent=1),
        )
    assert told_in(folder) == STORY
    assert read(folder)[0][0].format == "bedrock"


def test_a_logger_may_put_its_own_words_before_each_line(tmp_path: Path) -> None:
    log = "".join(
        f"2026-11-20T10:00:00Z [shop] [info] Message: {line}\n" for line in mcp_proxy().splitlines()
    )
    assert told_in(write(tmp_path / "mcp.log", log)) == STORY


@pytest.mark.parametrize(
    "flag",
    [
        {"is_error": True},
        {"isError": True},
        {"status": "error"},
        {"error": {"message": "no"}},
        {"error": "no"},
        {"success": False},
        {"tool_call_error": True},
        {"additional_kwargs": {"is_error": True}},
    ],
    ids=str,
)
def test_a_flag_on_a_message_of_role_tool_is_believed(flag: dict[str, Any], tmp_path: Path) -> None:
    call = {"id": "c", "function": {"name": "f", "arguments": "{}"}}
    answer = {"role": "tool", "tool_call_id": "c", "content": "that did not go", **flag}
    log = write(tmp_path / "log", [{"role": "assistant", "tool_calls": [call]}, answer])
    assert [c.is_error for c in read(log)[0][0].calls] == [True]
    plain = {"role": "tool", "tool_call_id": "c", "content": "that went", "status": "success", "error": None}
    log = write(tmp_path / "log", [{"role": "assistant", "tool_calls": [call]}, plain])
    assert [c.is_error for c in read(log)[0][0].calls] == [None]


@pytest.mark.parametrize("kind", ["llm", "chain"])
def test_runs_that_hold_the_whole_conversation_are_laid_into_each_other(kind: str, tmp_path: Path) -> None:
    messages: list[Any] = [{"type": "human", "content": "where is o1?"}]
    runs = []
    for own, tool, given, said, failed in [*CALLS, ("", "", {}, "", False)]:
        call = {
            "type": "ai",
            "content": "",
            "tool_calls": [{"name": tool, "args": given, "id": own}] if own else [],
        }
        before = list(messages)
        messages.append(call)
        made = {"generations": [[{"message": call}]]} if kind == "llm" else {"messages": list(messages)}
        asked = [before] if kind == "llm" else messages[:1]
        runs.append({"id": f"r{len(runs)}", "trace_id": f"t{len(runs)}", "run_type": kind, "name": "x",
                     "inputs": {"messages": asked}, "outputs": made})  # fmt: skip
        status = "error" if failed else "success"
        messages.append({"type": "tool", "content": said, "tool_call_id": own, "status": status})
    assert told_in(write(tmp_path / "log", runs[::-1])) == STORY
