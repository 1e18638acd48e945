"""What the scripted agent knows at a point of an episode, and the arguments it can make of it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from btm.lab.environment import Given, ScriptStep, ShownValue, Task, ToolSpec
from btm.lab.jsonvalue import ABSENT, Path, equal, field_name, leaves, parsed
from btm.lab.looking import Shown, anywhere, look


class Knowledge:
    """What the user said and the results have shown so far. Nothing else gets into an argument."""

    def __init__(self, task: Task, tools: Mapping[str, ToolSpec]) -> None:
        self._task, self._tools = task, tools
        self._shown: dict[int, Shown] = {}
        self._seen: list[Any] = []
        self._named: dict[str, Any] = {}

    @property
    def steps(self) -> tuple[int, ...]:
        """The numbers of the steps that gave a result."""
        return tuple(sorted(self._shown))

    def saw(self, result: object) -> None:
        """Take in the result of any call that succeeded."""
        value = parsed(result)
        self._seen.append(value)
        self._named.update((field_name(path), leaf) for path, leaf in leaves(value))

    def take(self, number: int, result: object, asked: Mapping[str, Any], *, own: bool) -> None:
        """Take a result for that of a step; ``own`` says whether the step's own tool gave it."""
        self._shown[number] = Shown(parsed(result), own, asked)

    def confirms(self, place: ShownValue) -> bool:
        """Whether the very step showed the value that is required of it."""
        shown = self._shown.get(place.step)
        return shown is not None and equal(look(shown, place, ""), place.value)

    def arguments(self, step: ScriptStep) -> dict[str, Any] | None:
        """Return a step's arguments from what was given and seen, or None when something is not known."""
        if not all(self.confirms(place) for place in step.requires):
            return None
        arguments = copy.deepcopy(dict(step.arguments))
        for path, source in step.sources:
            if isinstance(source, Given):
                continue
            value = self._value(source, path)
            if value is ABSENT:
                return None
            _put(arguments, path, value)
        return arguments

    def fill(
        self, tool: str, given: Mapping[str, Any] | None, mine: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        """Complete an instruction's arguments by the tool's schema, or None when one of them is not known.

        ``mine`` are the arguments that the agent already has for this very tool.
        """
        arguments = dict(given or {})
        spec = self._tools.get(tool)
        for name in spec.parameters.get("required", ()) if spec else ():
            if name not in arguments:
                value = mine[name] if name in mine else self._met(name)
                if value is ABSENT:
                    return None
                arguments[name] = value
        return arguments

    def _met(self, name: str) -> Any:
        """Return what goes by that name: the user's word for it, what was seen last, or what the script will need."""
        if name == "summary":
            return self._task.request
        for source in (self._task.facts, self._named):
            if name in source:
                return source[name]
        needed = ((s, path) for step in self._task.steps for path, s in step.sources if path[-1] == name)
        values = (self._value(s, path) for s, path in needed if isinstance(s, ShownValue))
        return next((value for value in values if value is not ABSENT), ABSENT)

    def _value(self, place: ShownValue, path: Path) -> Any:
        """Return what the agent takes for the value at a place, to be used as the argument at ``path``."""
        shown = self._shown.get(place.step)
        if shown is not None:
            found = look(shown, place, field_name(path))
            if found is not ABSENT:
                return found
        # A reader remembers what it needs from wherever it stood.
        return place.value if anywhere(self._seen, place.value) else ABSENT


def _put(target: Any, path: Path, value: Any) -> None:
    """Set the leaf of a nested value."""
    for key in path[:-1]:
        target = target[key]
    target[path[-1]] = value
