"""Logs of further products and in further shapes; ``told.json`` says what each is told to hold.

They were written from the products' public documentation before they were read for the first time. Most tell the story of
``product_samples``: ``get_order`` fails twice, then ``list_orders`` answers.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from log_samples import jsonl, read, write
from product_samples import CALLS, TASK

from btm.fallback import FallbackMap
from btm.logs.formats import READERS
from btm.logs.listening import Listener

FURTHER = Path(__file__).with_name("further")
TOLD: dict[str, list[int]] = json.loads((FURTHER / "told.json").read_text("utf-8"))
LISTENER = Listener(FallbackMap.empty(), now=1_800_000_000.0)
STORY = (1, 3, 2)
COMMANDS = ("gptme", "open_interpreter")  # agents whose only tool is a shell


def told_in(path: Path) -> tuple[int, int, int]:
    """Conversations with calls, calls, errors."""
    found = [conversation for conversation in read(path)[0] if conversation.batches]
    heard = [LISTENER.listen(conversation) for conversation in found]
    calls = sum(len(one.outcomes) + one.unanswered for one in heard)
    return len(found), calls, sum(not outcome.ok for one in heard for _, outcome in one.outcomes)


@pytest.mark.parametrize("name", TOLD)
def test_a_further_log_tells_what_it_is_told_to(name: str) -> None:
    assert told_in(FURTHER / name) == tuple(TOLD[name])


@pytest.mark.parametrize(
    "name", [name for name, told in TOLD.items() if tuple(told) == STORY and not name.startswith(COMMANDS)]
)
def test_its_calls_have_their_arguments(name: str) -> None:
    found = [(c.call.tool, dict(c.call.arguments)) for one in read(FURTHER / name)[0] for c in one.calls]
    assert [(tool.removeprefix("shop-"), given) for tool, given in found] == [
        (tool, given) for _, tool, given, *_ in CALLS
    ]


def test_the_guide_says_of_every_format_how_to_get_it() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "fit-from-logs.md").read_text("utf-8")
    assert [name for name in READERS if f"`{name}`" not in guide] == []


def messages() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"role": "user", "content": TASK}]
    for own, tool, given, said, _ in CALLS:
        call = {"id": own, "type": "function", "function": {"name": tool, "arguments": json.dumps(given)}}
        made += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": own, "content": said},
        ]
    return made


def session() -> bytes:
    """A session of Claude Code, as Windows writes lines, with words in other alphabets."""
    lines: list[Any] = [{"type": "summary", "summary": "x", "leafUuid": "z"}]
    for own, tool, given, said, failed in CALLS:
        use = {"type": "tool_use", "id": f"toolu_{own}", "name": tool, "input": given}
        answer = {
            "type": "tool_result",
            "tool_use_id": f"toolu_{own}",
            "content": said,
            "is_error": failed,
        }
        for uuid, who, content in (
            ("a", "assistant", [{"type": "text", "text": "Prüfe ☃"}, use]),
            ("u", "user", [answer]),
        ):
            lines.append(
                {"type": who, "uuid": uuid + own, "sessionId": "s1", "isSidechain": False,
                 "message": {"role": who, "content": content}}
            )  # fmt: skip
    return b"\xef\xbb\xbf" + jsonl(lines).replace(b"\n", b"\r\n")


def test_line_ends_of_windows_and_a_mark_of_the_byte_order(tmp_path: Path) -> None:
    assert told_in(write(tmp_path / "log", session())) == STORY


def test_a_session_that_was_cut_in_the_middle_of_a_line(tmp_path: Path) -> None:
    cut = (
        session()
        + b'{"type":"assistant","uuid":"zz","sessionId":"s1","message":{"content":[{"type":"tool_use","na'
    )
    path = write(tmp_path / "log", cut)
    assert told_in(path) == STORY
    assert [skipped.line for skipped in read(path)[1]] == [8]


def test_a_packed_log_that_was_cut(tmp_path: Path) -> None:
    talk = [{"messages": [{"role": "user", "content": f"{n}" + "x" * 5_000}]} for n in range(300)]
    packed = gzip.compress(jsonl([{"messages": messages()}, *talk]))
    path = write(tmp_path / "log", packed[: len(packed) * 2 // 3])
    assert told_in(path) == STORY
    assert "the gzip data ends in the middle" in read(path)[1][-1].reason


def test_a_line_of_megabytes(tmp_path: Path) -> None:
    whole = messages()
    whole.insert(1, {"role": "user", "content": "Ω" * 3_000_000})
    assert told_in(write(tmp_path / "log", jsonl([{"messages": whole}]))) == STORY


def test_a_zip_of_sessions(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "log.zip", "w") as archive:
        archive.writestr("projects/x/s1.jsonl", session())
        archive.writestr("readme.txt", "x")
    assert told_in(tmp_path / "log.zip") == STORY


def test_an_export_in_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(json.dumps({"messages": messages()}, indent=1).encode("utf-16"))
    assert told_in(path) == STORY


def test_a_models_calls_count_only_where_no_tool_call_of_their_trace_is_told(tmp_path: Path) -> None:
    spans = [
        json.loads(line) for line in (FURTHER / "langfuse_generations_only.json").read_text().splitlines()
    ]
    tool = {"id": "t", "traceId": "t1", "type": "TOOL", "name": "other", "input": {}, "output": "fine"}
    for order in ([tool, *spans[0]["data"]], [*spans[0]["data"], tool]):
        assert told_in(write(tmp_path / "log", jsonl(order))) == (1, 1, 0)


def test_calls_in_the_text_of_a_message_with_an_id_count_once(tmp_path: Path) -> None:
    said = '<tool_call>{"name": "get_order", "arguments": {"order_id": "o1"}}</tool_call>'
    talk = [{"id": "1", "role": "user", "content": TASK}, {"id": "2", "role": "assistant", "content": said}]
    assert told_in(write(tmp_path / "log", {"messages": talk})) == (1, 1, 0)


def test_a_table_in_parquet(tmp_path: Path) -> None:
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rows = [
        {"task_id": str(n), "messages": [{**m, "content": m["content"] or ""} for m in messages()]}
        for n in (1, 2)
    ]
    rows[1]["messages"][0]["content"] = "and o2?"
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "log.parquet")
    assert told_in(tmp_path / "log.parquet") == (2, 6, 4)
    (tmp_path / "log.parquet").write_bytes(b"PAR1 and nothing of the kind")
    assert "the Parquet file cannot be read" in read(tmp_path / "log.parquet")[1][0].reason
