"""What a placement measurement is asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from btm.errors import EvaluationError
from btm.lab.chat.arms import ARMS
from btm.lab.chat.tasks import FAMILIES
from btm.lab.chat.trouble import SCENARIOS
from btm.lab.names import comma_separated, known_names
from btm.lab.scenarios import Scenario

DEFAULT_TASKS = 12


@dataclass(frozen=True, slots=True)
class Server:
    """Where a chat model is: an endpoint of the OpenAI protocol, the model's name there, and how it is asked.

    ``timeout_s`` bounds one answer (seconds), ``max_tokens`` its length; ``temperature`` None leaves it to the server.
    """

    base_url: str
    model: str
    api_key: str = "none"
    timeout_s: float = 120.0
    max_tokens: int = 512
    temperature: float | None = 0.0


def server_of(
    base_url: str, model: str, api_key_env: str | None = None, timeout_s: float = 120.0, **more: Any
) -> Server:
    """Return a server; ``api_key_env`` is the variable that holds its key.

    Raises EvaluationError for what is no URL, and where the variable is not set.
    """
    if not base_url.startswith(("http://", "https://")):
        raise EvaluationError(f"{base_url!r} is no URL: expected http://... or https://..., up to /v1")
    key = os.environ.get(api_key_env, "") if api_key_env is not None else "none"
    if not key:
        raise EvaluationError(f"the environment variable {api_key_env} is not set")
    return Server(base_url, model, key, timeout_s, **more)


def shown_address(base_url: str) -> str:
    """Return a server's address without user name, password and query: what may be printed and kept."""
    parts = urlsplit(base_url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


@dataclass(frozen=True)
class PlacementRequest:
    """``tasks`` is how many tasks each scenario gets, ``shown`` whether demonstrations stand before each request.

    ``families`` are the sorts of request: what a model cannot do when nothing fails says nothing about recovery.
    """

    arms: tuple[str, ...] = tuple(ARMS)
    tasks: Mapping[Scenario, int] = field(default_factory=lambda: dict.fromkeys(SCENARIOS, DEFAULT_TASKS))
    seed: int = 0
    shown: bool = True
    families: tuple[str, ...] = FAMILIES

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios that have tasks, in their order."""
        return tuple(scenario for scenario in SCENARIOS if self.tasks.get(scenario, 0) > 0)

    @property
    def episodes(self) -> int:
        """How many episodes there will be."""
        return sum(self.tasks[scenario] for scenario in self.scenarios) * len(self.arms)

    def settings(self) -> dict[str, Any]:
        """Return what decides how an episode goes, but for its own scenario, task and arm: as JSON."""
        return {"seed": self.seed, "demonstrations": self.shown}


def read_families(text: str) -> tuple[str, ...]:
    """Read names of families, separated by commas; raises EvaluationError for an unknown one, and when there is none."""
    names = known_names("family", comma_separated(text), FAMILIES)
    return tuple(name for name in FAMILIES if name in names)


def read_task_counts(text: str) -> dict[Scenario, int]:
    """Read ``"12"``, or ``"8,switch_needed=16,clean=0"``: a count for all scenarios, and others for single ones.

    Raises EvaluationError that says what was expected, and when no scenario gets a task.
    """
    counts = dict.fromkeys(SCENARIOS, DEFAULT_TASKS)
    for part in comma_separated(text):
        name, equals, number = part.rpartition("=")
        if not number.strip().isdecimal():
            raise EvaluationError(f"{part!r} is no number of tasks: expected N or SCENARIO=N")
        if not equals:
            counts = dict.fromkeys(SCENARIOS, int(number))
            continue
        (named,) = known_names("scenario", (name.strip(),), SCENARIOS)
        counts[Scenario(named)] = int(number)
    if not any(counts.values()):
        raise EvaluationError("no scenario has a task")
    return counts
