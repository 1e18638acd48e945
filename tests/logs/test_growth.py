"""Each attempt counts once, however often a log tells it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from log_samples import jsonl, openai_call, read_one, write

from btm.cli.main import cli
from btm.logs import learned

TIMEOUT = "Error: request timed out"


def talk(calls: int, ids: str = "call_{}") -> list[dict[str, Any]]:
    """A conversation in which every second call fails and is made again."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Read all orders."}]
    for number in range(calls):
        call = {**openai_call(0, "get_order", order_id=f"O-{number // 2}"), "id": ids.format(number)}
        answer = '{"status": "new"}' if number % 2 else TIMEOUT
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": call["id"], "content": answer},
        ]
    return messages


def proxied(calls: int) -> bytes:
    """The same as a proxy logs it: every request with all that went before it."""
    whole = [*talk(calls), {"role": "assistant", "content": "done"}]
    places = [at for at, message in enumerate(whole) if message["role"] == "assistant"]
    return jsonl(
        {
            "id": f"r{at}",
            "request": {"messages": whole[:at]},
            "response": {"choices": [{"message": whole[at]}]},
        }
        for at in places
    )


def fitted(*paths: Path, database: Path | None = None, more: tuple[str, ...] = ()) -> dict[str, Any]:
    where = ["--dry-run"] if database is None else ["--db", str(database)]
    done = CliRunner().invoke(cli, ["fit", *map(str, paths), *where, *more, "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_a_proxys_log_of_twenty_calls_holds_twenty_calls(tmp_path: Path) -> None:
    document = fitted(write(tmp_path / "log", proxied(20)))
    assert (document["conversations"], document["calls"], document["attempts"]) == (1, 20, 10)


def test_conversations_of_a_proxy_are_told_apart_and_may_come_in_any_order(tmp_path: Path) -> None:
    one, two = proxied(6).splitlines(), proxied(9).replace(b"all orders", b"the orders").splitlines()
    mixed = [line for pair in zip(one, two, strict=False) for line in pair] + two[len(one) :]
    for lines in (mixed, mixed[::-1]):
        document = fitted(write(tmp_path / "log", b"\n".join(lines)))
        assert (document["conversations"], document["calls"]) == (2, 15)


def test_two_runs_of_one_task_are_two_conversations(tmp_path: Path) -> None:
    other = proxied(4).replace(b"O-1", b"O-7")
    document = fitted(write(tmp_path / "log", proxied(4) + other))
    assert (document["conversations"], document["calls"]) == (2, 8)


@pytest.mark.parametrize("ids", ["call_{}", "call_0aB4xYz912345{}"])
@pytest.mark.parametrize("own", [{}, {"id": "conv-1"}, {"conversation_id": "7f0c"}])
def test_a_conversation_that_went_on_teaches_what_is_new(
    ids: str, own: dict[str, str], tmp_path: Path
) -> None:
    database = tmp_path / "btm.db"
    first = write(tmp_path / "first.json", {**own, "messages": talk(10, ids)})
    grown = write(tmp_path / "grown.json", {**own, "messages": talk(16, ids)})
    assert fitted(first, database=database)["attempts"] == 5
    document = fitted(grown, database=database)
    assert (document["conversations"], document["grown"], document["calls"], document["attempts"]) == (
        0,
        1,
        6,
        3,
    )
    again = fitted(first, grown, database=database)
    assert (again["already_fitted"], again["calls"], again["attempts"]) == (2, 0, 0)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_conversation_that_grows_within_a_folder_counts_once(workers: str, tmp_path: Path) -> None:
    for size in (4, 6, 8):
        write(tmp_path / f"{size}.jsonl", jsonl([{"id": "a", "messages": talk(size)}] * 2))
    document = fitted(tmp_path, more=("--workers", workers))
    assert (document["conversations"], document["calls"], document["attempts"]) == (1, 8, 4)


def test_what_is_learned_in_two_goes_is_what_is_learned_in_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    first, grown = (write(tmp_path / f"{n}.json", {"id": "a", "messages": talk(n)}) for n in (7, 16))
    fitted(grown, database=one)
    fitted(first, database=two)
    fitted(grown, database=two)
    shown = [CliRunner().invoke(cli, ["show", "--db", str(db), "--json"]).stdout for db in (one, two)]
    rows = [
        [(r["tool"], r["kind"], r["action"], r["ordinal"], r["n"]) for r in json.loads(said)]
        for said in shown
    ]
    assert rows[0] == rows[1]


def test_a_chain_of_responses_is_one_conversation(tmp_path: Path) -> None:
    def response(own: str, before: str | None, given: list[Any], output: list[Any]) -> dict[str, Any]:
        made = {"id": own, "object": "response", "previous_response_id": before, "output": output}
        return {"request": {"previous_response_id": before, "input": given}, "response": made}

    def call(number: int) -> dict[str, Any]:
        return {"type": "function_call", "name": "f", "arguments": "{}", "call_id": f"c{number}"}

    lines = [response("r0", None, [{"role": "user", "content": "go"}], [call(0)])]
    for number in range(1, 5):
        given = {"type": "function_call_output", "call_id": f"c{number - 1}", "output": "ok"}
        lines.append(response(f"r{number}", f"r{number - 1}", [given], [call(number)]))
    conversation = read_one(write(tmp_path / "log", jsonl(lines)))
    assert [c.call.call_id for c in conversation.calls] == ["c0", "c1", "c2", "c3", "c4"]
    assert [c.answered for c in conversation.calls] == [True] * 4 + [False]


def test_no_conversation_floods_what_all_others_teach(tmp_path: Path) -> None:
    call = {**openai_call(0, "get_order", order_id="O-1")}
    messages: list[dict[str, Any]] = []
    for number in range(300):
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [{**call, "id": f"c{number}"}]},
            {"role": "tool", "tool_call_id": f"c{number}", "content": TIMEOUT},
        ]
    assert fitted(write(tmp_path / "log", {"messages": messages}))["attempts"] < 100


def test_thousands_of_parallel_failures_are_bounded(tmp_path: Path) -> None:
    calls = [{**openai_call(0, f"get_{n % 40}", order_id=f"O-{n}"), "id": f"c{n}"} for n in range(3_000)]
    answers = [{"role": "tool", "tool_call_id": call["id"], "content": TIMEOUT} for call in calls]
    log = write(tmp_path / "log", {"messages": [{"role": "assistant", "tool_calls": calls}, *answers]})
    document = fitted(log)
    assert (document["calls"], document["incidents"], document["attempts"]) == (3_000, 3_000, 0)


UNIQUE = "call_0aB4xYz912345{}"


def told_by_tracers(calls: int) -> tuple[dict[str, Any], bytes]:
    """The same conversation as OpenTelemetry's spans, and as LangSmith's runs."""
    messages = talk(calls, UNIQUE)
    answers = {m["tool_call_id"]: m["content"] for m in messages if m["role"] == "tool"}
    asked = [call for message in messages for call in message.get("tool_calls") or ()]
    spans, runs = [], []
    for number, call in enumerate(asked):
        given = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": "get_order",
            "gen_ai.tool.call.id": call["id"],
            "gen_ai.tool.call.arguments": call["function"]["arguments"],
            "gen_ai.tool.call.result": answers[call["id"]],
        }
        start = 1_736_935_200 + number
        attributes = [{"key": key, "value": {"stringValue": value}} for key, value in given.items()]
        spans.append(
            {"traceId": "a" * 32, "spanId": f"{number:016x}", "name": "execute_tool get_order", "attributes": attributes,
             "startTimeUnixNano": f"{start}000000000", "endTimeUnixNano": f"{start}500000000"}
        )  # fmt: skip
        said = {
            "type": "tool",
            "tool_call_id": call["id"],
            "name": "get_order",
            "content": answers[call["id"]],
        }
        runs.append(
            {"id": f"run-{number}", "trace_id": "7f0c7f0c-aaaa-bbbb", "run_type": "tool", "name": "get_order",
             "start_time": start, "end_time": start + 0.5, "inputs": {"input": call["function"]["arguments"]},
             "outputs": {"output": said}}
        )  # fmt: skip
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}, jsonl(runs)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_conversation_that_a_proxy_a_tracer_and_its_framework_log_counts_once(
    workers: str, tmp_path: Path
) -> None:
    spans, runs = told_by_tracers(6)
    whole = {"conversation_id": "9f0c9f0c-aaaa-bbbb", "messages": talk(6, UNIQUE)}
    write(tmp_path / "a.json", whole)
    write(tmp_path / "b.json", spans)
    write(tmp_path / "c.jsonl", runs)
    document = fitted(tmp_path, more=("--workers", workers))
    assert (document["conversations"], document["already_fitted"]) == (1, 2)
    assert (document["calls"], document["attempts"]) == (6, 3)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_older_copy_that_is_read_after_the_newer_one_teaches_nothing(workers: str, tmp_path: Path) -> None:
    for name, size in (("a", 8), ("b", 4)):
        write(tmp_path / f"{name}.json", {"id": "conv-1", "messages": talk(size, UNIQUE)})
    document = fitted(tmp_path, more=("--workers", workers))
    assert (document["conversations"], document["calls"], document["attempts"]) == (1, 8, 4)


def test_ids_that_are_counted_up_make_no_two_conversations_one(tmp_path: Path) -> None:
    for name in ("one", "two"):
        messages = talk(4, "functions.get_order:{}")
        messages[2]["content"] = f"Error: request timed out in {name}"
        write(tmp_path / f"{name}.json", {"messages": messages})
    assert fitted(tmp_path)["calls"] == 8


@pytest.mark.parametrize("most", [learned.MOST, 4])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_is_known_does_not_hang_on_what_is_held_in_memory(
    most: int, workers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learned, "MOST", most)
    sizes = (4, 10, 6, 8)
    for place, size in enumerate(sizes):
        some = [{"id": f"conv-{n}", "messages": talk(size, f"call_0aB4xYz9123{n}{{:02}}")} for n in range(6)]
        write(tmp_path / f"{place}.jsonl", jsonl(some))
    document = fitted(tmp_path, more=("--workers", workers))
    counted = [document[name] for name in ("conversations", "grown", "already_fitted", "calls", "attempts")]
    assert counted == [6, 6, 12, 60, 30]


def analysed(command: str, *paths: Path) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [command, *map(str, paths), "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def test_an_audit_counts_each_call_once_whichever_logs_tell_of_it(tmp_path: Path) -> None:
    looped = talk(10, UNIQUE)
    for message in looped:
        for call in message.get("tool_calls") or ():
            call["function"]["arguments"] = '{"order_id": "O-1"}'
    older = write(tmp_path / "a.json", {"id": "conv-1", "messages": looped[:11]})
    newer = write(tmp_path / "b.json", {"id": "conv-1", "messages": looped})
    alone = analysed("audit", newer)
    assert (alone["conversations"], alone["calls"], alone["labels"]["loop"]["count"]) == (1, 10, 1)
    for several in ((newer, newer), (older, newer), (newer, older)):
        both = analysed("audit", *several)
        assert (both["conversations"], both["calls"], both["labels"]) == (1, 10, alone["labels"])
    spans, runs = told_by_tracers(6)
    paths = [
        write(tmp_path / "c", spans),
        write(tmp_path / "d", runs),
        write(tmp_path / "e", {"id": "conv-2", "messages": talk(6, UNIQUE)}),
    ]
    assert (analysed("audit", *paths)["conversations"], analysed("audit", *paths)["calls"]) == (1, 6)


def test_a_backtest_foretells_each_attempt_once_whichever_logs_tell_of_it(tmp_path: Path) -> None:
    def some(size: int) -> bytes:
        ids = (f"call_0aB4xYz912{n:02}{{:02}}" for n in range(12))
        return jsonl({"id": f"conv-{n:03}-abcdef", "messages": talk(size, own)} for n, own in enumerate(ids))

    older, newer = write(tmp_path / "a.jsonl", some(4)), write(tmp_path / "b.jsonl", some(8))
    alone, twice, grown = (
        analysed("backtest", *paths) for paths in ((newer,), (newer, newer), (older, newer))
    )
    assert twice == alone
    tried = [
        document["advice"]["followed"]["times"] + document["advice"]["otherwise"]["times"]
        for document in (alone, grown)
    ]
    assert tried == [24, 24]


def test_what_is_written_mined_and_judged_counts_each_call_once_whichever_logs_tell_of_it(
    tmp_path: Path,
) -> None:
    logs, out = tmp_path / "logs", tmp_path / "out.jsonl"
    logs.mkdir()
    for name, content in zip("cd", told_by_tracers(6), strict=True):
        write(logs / name, content)
    for name, own in (("e", "conv-2"), ("f", "kept-under-another-name")):
        told = {"id": own, "messages": talk(6, UNIQUE), "task_id": "t1", "reward": 1.0}
        write(logs / name, told)
    assert written("export", "trajectories", logs, "-o", out)["written"] == 1
    assert fitted(out)["attempts"] == fitted(logs)["attempts"] == 3
    told_whole = [logs / "e", logs / "f"]
    assert written("export", "sft", *told_whole, "-o", out)["written"] == 1
    assert written("skills", "mine", *told_whole)["runs"] == 1
    judged = written("judge", *told_whole, "--model", "fake:agree", "-o", tmp_path / "verdicts.jsonl")
    assert (judged["calls"], judged["asked"]) == (3, 3)


def written(*argv: object) -> dict[str, Any]:
    done = CliRunner().invoke(cli, [*map(str, argv), "--json"], catch_exceptions=False)
    document: dict[str, Any] = json.loads(done.stdout)
    return document
