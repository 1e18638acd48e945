"""A chat model as the agent of `btm eval`, on an environment of one's own; the server is a fake on this machine."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from click.testing import CliRunner
from fake_openai import FakeServer

from btm.cli.main import cli
from btm.lab.own_agent import agent_name, agent_title, agent_words

pytest.importorskip("langchain_openai", reason="langchain-openai is not installed")


def brain(body: Mapping[str, Any]) -> Any:
    """Look the patient up, then the visit, then cancel it where that is asked."""
    messages = body["messages"]
    asked = str(messages[1]["content"])
    results = sum(m["role"] == "tool" for m in messages)
    visit = {"visit_id": "V1" if "Cancel" in asked else "V2"}
    plan: list[Any] = [("find_patient", {"name": "Ida Berg"}), ("get_visit", visit)]
    plan += [("cancel_visit", visit), "Done."] if "Cancel" in asked else ["It is with Dr. Lang."]
    return plan[min(results, len(plan) - 1)]


def test_a_model_is_measured_on_an_environment_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(__file__.rpartition("/chat/")[0])
    with FakeServer(brain).running() as server:
        words = [
            "--base-url",
            server.url,
            "--model",
            "m",
            "--scenario",
            "clean",
            "--arms",
            "bare,btm",
            "--json",
        ]
        run = CliRunner().invoke(cli, ["eval", "--domain", "clinic:Clinic", *words])
    assert run.exit_code == 0, run.stderr
    found = json.loads(run.stdout)
    assert {row["arm"]: row["success"] for row in found["results"]} == {"bare": 1.0, "btm": 1.0}
    assert f"--base-url {server.url} --model m" in found["command"]


def test_where_the_model_cannot_be_asked_the_run_ends_and_says_so() -> None:
    with FakeServer(lambda _: 401).running() as server:
        words = [
            "--base-url",
            server.url,
            "--model",
            "m",
            "--scenario",
            "clean",
            "--arms",
            "bare",
            "--tasks",
            "1",
        ]
        run = CliRunner().invoke(cli, ["eval", *words])
    assert run.exit_code == 2
    assert "the model cannot be asked" in run.stderr


def test_a_model_sees_tasks_done_first_and_its_tokens_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(__file__.rpartition("/chat/")[0])
    asked: list[Any] = []

    def keep(body: Mapping[str, Any]) -> Any:
        asked.append(body)
        shown = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user")
        return brain({"messages": [body["messages"][0], *body["messages"][shown:]]})

    with FakeServer(keep).running() as server:
        words = ["--base-url", server.url, "--model", "m", "--scenario", "clean", "--arms", "bare"]
        run = CliRunner().invoke(
            cli, ["eval", "--domain", "clinic:Clinic", *words, "--show", "clinic-01", "--json"]
        )
    assert run.exit_code == 0, run.stderr
    found = json.loads(run.stdout)
    assert "--show clinic-01" in found["command"]
    before = asked[0]["messages"][1:]
    assert [m["role"] for m in before[:2]] == ["user", "assistant"]
    assert before[-1]["role"] == "user"
    assert before[-1]["content"] != before[0]["content"], "what is shown is not measured"
    assert asked[0]["tool_choice"] == "required", "the first answer has to be a call"
    assert found["behaviour"][0]["model_tokens"] > 0


def test_tasks_are_only_shown_to_a_chat_model() -> None:
    run = CliRunner().invoke(cli, ["eval", "--show", "cancel-01"])
    assert run.exit_code == 2
    assert "--base-url" in run.stderr


def test_a_server_gets_its_key_and_neither_command_nor_file_holds_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.syspath_prepend(__file__.rpartition("/chat/")[0])
    monkeypatch.setenv("THE_KEY", "sk-secret-1234")
    kept, page = tmp_path / "run.jsonl", tmp_path / "page.html"
    with FakeServer(brain).running() as server:
        words = ["--base-url", server.url, "--model", "m", "--api-key-env", "THE_KEY", "--timeout", "30"]
        more = ["--scenario", "clean", "--arms", "bare", "--resume", str(kept), "--html", str(page)]
        run = CliRunner().invoke(cli, ["eval", "--domain", "clinic:Clinic", *words, *more, "--json"])
    assert run.exit_code == 0, run.stderr
    assert server.keys == {"Bearer sk-secret-1234"}
    assert "--api-key-env THE_KEY --timeout 30" in json.loads(run.stdout)["command"]
    assert "sk-secret" not in run.stdout + kept.read_text() + page.read_text()
    assert f"m at {server.url}" in page.read_text()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--base-url", "http://127.0.0.1:1/v1", "--model", "m", "--api-key-env", "NO_SUCH"],
            "NO_SUCH is not set",
        ),
        (["--base-url", "localhost", "--model", "m"], "is no URL"),
        (["--api-key-env", "HOME"], "go with --base-url"),
    ],
)
@pytest.mark.parametrize("command", ["eval", "failbench"])
def test_what_is_wrong_with_a_server_is_said(command: str, words: list[str], said: str) -> None:
    run = CliRunner().invoke(cli, [command, *words])
    assert run.exit_code == 2
    assert said in " ".join(run.stderr.split())


def test_what_is_printed_and_kept_of_a_server_holds_no_secret() -> None:
    asked = agent_name(None, "https://me:hunter2@models.example/v1?token=s3cret", "m")
    for text in (agent_title(asked), " ".join(agent_words(asked))):
        assert "https://models.example/v1" in text
        assert "hunter2" not in text
        assert "s3cret" not in text
