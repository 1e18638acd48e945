"""Map, context and agent together: a blocked tool with a substitute is got round in every task of every domain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from btm.errors import MissingExtraError
from btm.fallback import FallbackMap, Step
from btm.lab.agent import ToolResponse, run_agent
from btm.lab.decisive import decisive_tools, done
from btm.lab.environment import Environment, Task, load_environment
from btm.model import Action, ErrorKind, Outcome, ToolCall
from btm.planning.instructions import instruction
from btm.planning.plan import RecoveryPlan
from btm.runtime.known_values import Facts


def _said(step: Step, call: ToolCall) -> str:
    return instruction(step, RecoveryPlan("i", call, Outcome(ErrorKind.UNAVAILABLE), (step,)))


class Guide:
    """Runs tools while one is blocked, and advises the map's best switch, as text and nothing else."""

    def __init__(self, environment: Environment, fallbacks: FallbackMap, task: Task, blocked: str) -> None:
        self.session = environment.open(task)
        self._map, self._blocked, self._facts = fallbacks, blocked, Facts()

    def __call__(self, tool: str, arguments: Mapping[str, Any]) -> ToolResponse:
        if tool == self._blocked:
            call = ToolCall(tool, arguments)
            best = self._map.candidates(call, None, self._facts.known)[0]
            step = Step(Action.SWITCH, best.tool, best.arguments, missing=best.missing)
            return ToolResponse("503", is_error=True, advice="next: " + _said(step, call))
        try:
            result = self.session.call(tool, arguments)
        except Exception as error:  # noqa: BLE001 - whatever the domain's tools raise
            return ToolResponse(str(error), is_error=True)
        self._facts.note(tool, arguments, result)
        return ToolResponse(result)


@pytest.fixture(params=["shop", "tau2:retail"])
def environment(request: pytest.FixtureRequest) -> Environment:
    try:
        return load_environment(request.param)
    except MissingExtraError as missing:
        pytest.skip(str(missing))


def test_a_blocked_tool_with_a_substitute_is_got_round_in_every_task(environment: Environment) -> None:
    fallbacks = FallbackMap.load(environment.fallback_map)
    tried = 0
    for task in environment.tasks:
        for tool in decisive_tools(environment, task):
            if not fallbacks.substitutes(tool):
                continue
            guide = Guide(environment, fallbacks, task, tool)
            run = run_agent(task, guide, tools=environment.tools)
            assert done(task, guide.session.writes, run), (task.task_id, tool, run)
            tried += 1
    assert tried > 2 * len(environment.tasks)


def test_every_task_has_a_decisive_tool_with_a_substitute(environment: Environment) -> None:
    fallbacks = FallbackMap.load(environment.fallback_map)
    for task in environment.tasks:
        assert any(fallbacks.substitutes(tool) for tool in decisive_tools(environment, task)), task.task_id
