"""The user's own agent in an evaluation, by name: ``btm eval --agent my_pkg:make_agent``.

``make_agent(tools)`` is called for each episode. It gets plain functions with names, docstrings and typed signatures (what
``langchain.agents.create_agent`` and others take as tools), and returns a callable: request in, answer out, sync or async.
A tool's failure comes back as a text, with the recovery context of arms that give one, and never as an exception.
"""

from __future__ import annotations

import inspect
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from btm.errors import EvaluationError
from btm.lab.agent import AgentCall, AgentRun, Call
from btm.lab.awaiting import awaited
from btm.lab.environment import Environment, Task, ToolSpec
from btm.lab.loading import load_named
from btm.lab.toolspec import PYTHON_TYPES, where
from btm.lab.user_noise import ScriptedUser

if TYPE_CHECKING:
    from btm.lab.request import Request

_log = logging.getLogger("btm")

_MODEL = "model:"


class OwnAgent:
    """A factory of the user's, run on tasks. An exception of the agent's own ends its episode, undone.

    ``shown`` are demonstrations that a chat model gets first. What the agent keeps as its ``tokens`` is counted.
    Raises EvaluationError when there is no such factory, or what it makes cannot be called.
    """

    def __init__(self, name: str, shown: Sequence[Any] = ()) -> None:
        self.name = name
        self._make = _model_agent(name, shown) if name.startswith(_MODEL) else load_named(name, "the agent")
        if not callable(self._make):
            raise EvaluationError(
                f"the agent {name} is a {type(self._make).__name__}; expected a function of its tools"
            )
        self._told = False

    def run(
        self,
        task: Task,
        call: Call,
        *,
        tools: Mapping[str, ToolSpec],
        humans: Sequence[str] = (),
        notices: Callable[[], str] = str,
    ) -> AgentRun:
        """Give the agent a task's request.

        An answer counts as told when its text stands in what the agent answers; one that only had to be looked up, when a
        tool has shown it.

        Where the user holds something back, the agent has one function more, ``ask_user``, which is no tool of the domain.

        ``humans`` are the tools that hand a task over: calling one that the script does not is giving up.
        """
        made: list[AgentCall] = []
        seen: list[str] = []
        lock = threading.Lock()  # agents may call tools side by side; an episode has one order

        def ask(tool: str, arguments: Mapping[str, Any]) -> Any:
            with lock:
                answer = call(tool, arguments)
                made.append(AgentCall(-1, tool, arguments, answer.is_error, "agent"))
                if not answer.is_error:
                    seen.append(str(answer.value))
            return _shown(answer.value, answer.is_error, answer.advice)

        functions = [_function(spec, ask) for spec in tools.values()]
        if task.held_back:
            functions.append(_asking(ScriptedUser(task)))
        try:
            agent = self._make(functions)
        except Exception as error:
            problem = f"{where(self._make)}: {self.name} made no agent: {type(error).__name__}: {error}"
            raise EvaluationError(problem) from error
        if not callable(agent):
            made_instead = f"{where(self._make)}: {self.name} made a {type(agent).__name__}"
            raise EvaluationError(f"{made_instead}; expected a callable: request in, answer out")
        said = notices()
        request = f"{task.request}\n\n{said}" if said else task.request
        try:
            answer = awaited(agent(request))
            text = "" if answer is None else str(answer)
        except EvaluationError:
            raise
        except Exception as error:  # noqa: BLE001 - it is what is measured, and may raise anything
            self._tell(task, error)
            text = ""
        scripted = {step.tool for step in task.steps}
        given_up = any(c.tool in humans and c.tool not in scripted and not c.is_error for c in made)
        showed = "\n".join(seen)
        told = tuple(
            a.text
            for a in task.answers
            if (str(a.sources[0].value) in showed if a.looked else a.text.casefold() in text.casefold())
        )
        tokens = getattr(agent, "tokens", 0)
        return AgentRun(
            (), given_up, tuple(made), None, told, said=text, tokens=tokens if isinstance(tokens, int) else 0
        )

    def _tell(self, task: Task, error: Exception) -> None:
        if not self._told:
            _log.warning(
                "the agent failed on %s: %s: %s (told once; such episodes count as not solved)",
                task.task_id,
                type(error).__name__,
                str(error)[:300],
            )
        self._told = True


def agent_name(
    agent: str | None,
    base_url: str | None,
    model: str | None,
    api_key_env: str | None = None,
    timeout_s: float | None = None,
) -> str | None:
    """Return the name of the agent that options ask for: one's own, a chat model, or None for the scripted one.

    It names the variable of a key, never the key. Raises EvaluationError where only one of ``base_url`` and ``model`` is
    given, an agent of one's own besides, or what only a server needs without one.
    """
    if not base_url and not model:
        if api_key_env or timeout_s:
            raise EvaluationError(
                "--api-key-env and --timeout are a server's: they go with --base-url and --model"
            )
        return agent
    if agent:
        raise EvaluationError("--agent and --base-url exclude each other: one agent plays")
    if not base_url or not model:
        raise EvaluationError("--base-url and --model go together: a server, and the model to ask there")
    asked = {"--base-url": base_url, "--model": model}
    asked |= {"--api-key-env": api_key_env} if api_key_env else {}
    asked |= {"--timeout": f"{timeout_s:g}"} if timeout_s else {}
    return _MODEL + orjson.dumps(asked).decode()


def is_model(agent: str | None) -> bool:
    """Whether an agent's name stands for a chat model."""
    return agent is not None and agent.startswith(_MODEL)


def _asked(name: str) -> dict[str, str]:
    found: dict[str, str] = orjson.loads(name.removeprefix(_MODEL))
    return found


def _as_told(name: str) -> dict[str, str]:
    from btm.lab.chat.request import shown_address  # noqa: PLC0415 - a model that nobody asked for needs no chat

    asked = _asked(name)
    return {**asked, "--base-url": shown_address(asked["--base-url"])}


def agent_words(name: str | None) -> list[str]:
    """Return the options that name an agent."""
    if name is None:
        return []
    return [word for pair in _as_told(name).items() for word in pair] if is_model(name) else ["--agent", name]


def agent_title(name: str | None) -> str:
    """Return what people read of an agent: a model's name and its server, one's own name, or that it is scripted."""
    if name is None:
        return "a scripted agent (simulated: no model)"
    if not is_model(name):
        return name
    shown = _as_told(name)
    return f"{shown['--model']} at {shown['--base-url']}"


def _model_agent(name: str, shown: Sequence[Any]) -> Any:
    from btm.lab.chat.model_agent import agent_factory  # noqa: PLC0415 - only a run with a model needs it
    from btm.lab.chat.request import server_of  # noqa: PLC0415

    asked = _asked(name)
    timeout = float(asked.get("--timeout", 120.0))
    server = server_of(asked["--base-url"], asked["--model"], asked.get("--api-key-env"), timeout)
    return agent_factory(server, shown)


def agent_of(request: Request, environment: Environment) -> OwnAgent | None:
    """Return the agent that a request names, None where it is the scripted one."""
    if request.agent is None:
        return None
    if not request.shown:
        return OwnAgent(request.agent)
    from btm.lab.chat.model_agent import demonstration  # noqa: PLC0415 - as above

    shown = [task for task in environment.tasks if task.task_id in request.shown]
    return OwnAgent(request.agent, [demonstration(environment, task) for task in shown])


def _shown(value: Any, is_error: bool, advice: str | None) -> Any:
    """Return what the agent's function gives: the value itself, a text where there is more to say."""
    if not is_error and not advice:
        return value
    text = value if isinstance(value, str) else orjson.dumps(value, default=str).decode()
    return "\n\n".join(filter(None, (f"Error: {text}" if is_error else text, advice)))


def _asking(user: ScriptedUser) -> Callable[..., Any]:
    def ask_user(question: str) -> str:
        """Ask the user something that is not clear."""
        return user.reply(str(question))

    return ask_user


def _function(spec: ToolSpec, ask: Callable[[str, Mapping[str, Any]], Any]) -> Callable[..., Any]:
    """Return a tool as a function whose signature says what its schema says."""
    properties = spec.parameters.get("properties", {})
    required = set(spec.parameters.get("required", ()))
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=PYTHON_TYPES.get(str(schema.get("type")), Any),
            default=inspect.Parameter.empty if name in required else schema.get("default"),
        )
        for name, schema in properties.items()
    ]
    signature = inspect.Signature(sorted(parameters, key=lambda p: p.default is not p.empty))

    def function(*given: Any, **named: Any) -> Any:
        in_order = dict(zip(properties, given, strict=False))
        arguments = {**in_order, **named}
        # What was left out, or filled in by a framework with the default, is the tool's own business.
        kept = {
            k: v for k, v in arguments.items() if k in required or k not in properties or not _left_out(k, v)
        }
        return ask(spec.name, kept)

    def _left_out(name: str, value: Any) -> bool:
        return bool(value == properties[name].get("default"))

    function.__name__ = function.__qualname__ = spec.name
    function.__doc__ = spec.description or spec.name
    function.__annotations__ = {p.name: p.annotation for p in parameters}
    function.__signature__ = signature  # type: ignore[attr-defined]
    return function
