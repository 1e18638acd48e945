"""Episodes over OpenEnv: with its own client, through its own server on this machine."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("openenv", reason="needs the extra 'openenv'")

import uvicorn
from openenv import GenericEnvClient
from openenv.core.env_server import CallToolAction, ListToolsAction

from btm.errors import EvaluationError
from btm.training.curriculum import Curriculum
from btm.training.openenv_server import RecoveryEnvironment, openenv_app

CURRICULUM = Curriculum.five_phases("shop", seed=0)
ROWS = {"train": CURRICULUM.rows(1), "eval": CURRICULUM.rows(1, "eval")}

pytestmark = pytest.mark.filterwarnings("ignore")  # the server's own


@contextmanager
def served() -> Iterator[str]:
    server = uvicorn.Server(uvicorn.Config(openenv_app("shop", phase=1), port=0, log_level="error"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.05)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(30)


def played(
    row: dict[str, Any], call: Callable[[str, dict[str, Any]], tuple[str, float, bool]]
) -> tuple[float, bool]:
    """Make the gold calls, each again until it works; return the sum of the rewards, and whether the episode ended."""
    total, done = 0.0, False
    for step in CURRICULUM.stages.tasks[row["task_id"]].steps:
        for _ in range(3):
            said, reward, done = call(step.tool, dict(step.arguments))
            total += reward
            if not said.startswith("Error: "):
                break
    return total, done


def test_the_rewards_of_an_episode_add_up_to_what_it_is_worth() -> None:
    worth = []
    for index, row in enumerate(ROWS["train"][:8]):
        environment = RecoveryEnvironment(CURRICULUM.stages, ROWS)
        begun = environment.reset(split="train", index=index)
        assert begun.request == row["prompt"][-1]["content"]

        def call(tool: str, arguments: dict[str, Any], made: Any = environment) -> tuple[str, float, bool]:
            seen = made.step(CallToolAction(tool_name=tool, arguments=arguments))
            return seen.result, seen.reward, seen.done

        total, done = played(row, call)
        assert done is environment._rollout.completed
        assert total == pytest.approx(environment._rollout.reward())
        worth.append(total)
    assert max(worth) > 0.9


def test_a_real_client_plays_an_episode_over_the_network() -> None:
    with served() as url, GenericEnvClient(base_url=url).sync() as client:
        begun = client.reset(split="train", index=0)
        assert begun.observation["request"] == ROWS["train"][0]["prompt"][-1]["content"]
        listed = client.step({"type": "list_tools"})
        assert {tool["name"] for tool in listed.observation["tools"]} == set(
            CURRICULUM.stages.environment.tools
        )

        def call(tool: str, arguments: dict[str, Any]) -> tuple[str, float, bool]:
            seen = client.step({"type": "call_tool", "tool_name": tool, "arguments": arguments})
            return seen.observation["result"], seen.reward, seen.done

        total, _ = played(ROWS["train"][0], call)
        assert total > 0.1


def test_tasks_can_be_listed_and_what_is_not_there_is_said() -> None:
    environment = RecoveryEnvironment(CURRICULUM.stages, ROWS)
    assert environment.list_splits() == ["train", "eval"]
    assert environment.num_tasks("eval") == len(environment.list_tasks("eval")) == len(ROWS["eval"])
    assert environment.get_task("train", 3) == ROWS["train"][3]
    assert environment.step(ListToolsAction()).tools
    with pytest.raises(EvaluationError, match="reset begins an episode"):
        environment.step(CallToolAction(tool_name="get_order"))
    with pytest.raises(EvaluationError, match="no split 'test'"):
        environment.reset(split="test")
    with pytest.raises(IndexError):
        environment.get_task("train", 10_000)


def test_an_episode_that_goes_on_and_on_is_ended() -> None:
    environment = RecoveryEnvironment(CURRICULUM.stages, ROWS, longest=5)
    environment.reset(seed=7)
    seen = [environment.step(CallToolAction(tool_name="nothing")) for _ in range(5)]
    assert [one.done for one in seen] == [False] * 4 + [True]
    assert environment.state.step_count == 5
