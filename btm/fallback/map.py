"""FallbackMap: which tool can stand in for which, asked about one failed call at a time."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

from btm.authored.expressions import compile_expression
from btm.classify.expectations import ErrorRule, Expectations
from btm.errors import TemplateError, UndefinedResultError
from btm.fallback.answers import Answer, problem_of
from btm.fallback.loading import load_valid, read_map
from btm.fallback.offers import PREVIOUS, Compiled, Edge, Step, compile_tool, names_of, offers
from btm.fallback.schema import MapFile, ToolEntry, ToolKind, ToolRole
from btm.fallback.values import agree, fields_at, plain
from btm.fallback.wishes import same_wish
from btm.model import Effect, ErrorKind, ToolCall
from btm.support.effects import is_general
from btm.support.process_state import kept

if TYPE_CHECKING:
    import networkx as nx

_log = logging.getLogger("btm")

_UNKNOWN = ToolEntry()
_NO_OFFERS = Compiled((), (), None, None, None, ())
_MOST_SAID = 1_000
_said: set[tuple[str, ...]] = kept(__name__, set(), most=_MOST_SAID)


class FallbackMap:
    """An authored map in memory. Safe to share between threads: nothing about the map changes.

    Queries never raise for what a tool returned or a template did: what cannot be told is None or left missing, and
    a warning on the logger ``btm`` says why, once a process.
    """

    def __init__(self, model: MapFile, file: str = "<text>") -> None:
        self._model = model
        self.file = file
        self.tools: Mapping[str, ToolEntry] = MappingProxyType(model.tools)
        self._effects = {name: entry.effective for name, entry in model.tools.items()}  # asked at every call
        self._compiled: dict[str, Compiled] = {name: compile_tool(name, model) for name in model.tools}
        self._escalations = tuple(n for n, entry in model.tools.items() if entry.role is ToolRole.ESCALATION)

    @classmethod
    def load(cls, name: str | Path) -> Self:
        """Read a map by path, or by the name of a shipped one (``"retail"``).

        Raises FallbackMapError with file:line:column for the first problem; the others are in its notes.
        """
        text, path = read_map(name)
        return cls.from_text(text, str(path))

    @classmethod
    def from_text(cls, text: str, file: str = "<text>") -> Self:
        """Read a map from its YAML text. ``file`` names it in errors, and is where ``extends`` starts from."""
        model, _ = load_valid(text, file)
        return cls(model, file)

    @classmethod
    def empty(cls) -> Self:
        """A map without tools."""
        return cls(MapFile(version=1, domain="none", tools={}))

    @property
    def domain(self) -> str:
        """The domain that the map says it is for."""
        return self._model.domain

    @property
    def model(self) -> MapFile:
        """The map as its file format's model, with what it extends laid under it."""
        return self._model

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The map as a networkx graph: an edge from a tool to each single tool that can stand in for it."""
        from btm.fallback.graph import build_graph  # noqa: PLC0415 - networkx is slow to import, few need it

        return build_graph(self)

    def entry(self, tool: str) -> ToolEntry:
        """Return what the map says of a tool; of one that it does not know, nothing."""
        return self.tools.get(tool, _UNKNOWN)

    def effect(self, tool: str) -> Effect | None:
        """What a call of this tool does, or None for a tool that the map does not know."""
        return self._effects.get(tool)

    def idempotent(self, tool: str) -> bool:
        """Whether a repeated call of this tool does no more than one: a read, or a write with an idempotency key."""
        entry = self.entry(tool)
        return bool(entry.idempotent or entry.idempotency_key) or self.effect(tool) is Effect.READ

    @cached_property
    def idempotency_keys(self) -> Mapping[str, str]:
        """Of each tool that takes an idempotency key, the argument that it takes it in."""
        entries = self.tools.items()
        return MappingProxyType({n: entry.idempotency_key for n, entry in entries if entry.idempotency_key})

    def general(self, call: ToolCall) -> bool:
        """Whether every call of this tool is another command, so that one failure says nothing against the next."""
        entry = self.entry(call.tool)
        if entry.kind is not None or entry.takes is not None:
            return entry.kind is ToolKind.GENERAL
        return is_general(call.tool, call.arguments)

    def same_wish(self, call: ToolCall, other: ToolCall) -> bool:
        """Whether two calls of one write ask for the same thing, however they are spelled."""
        if call.tool != other.tool:
            return False
        entry = self.entry(call.tool)
        one, another = (
            {name: value for name, value in c.arguments.items() if name != entry.idempotency_key}
            for c in (call, other)
        )
        return same_wish(one, another, entry.identity)

    @cached_property
    def groups(self) -> Mapping[str, str]:
        """The service behind each tool for which the map names one."""
        return MappingProxyType(
            {name: entry.breaker.group for name, entry in self.tools.items() if entry.breaker is not None}
        )

    @cached_property
    def looked_after(self) -> frozenset[str]:
        """The tools after whose every success the map wants a look."""
        return frozenset(name for name, entry in self.tools.items() if entry.verify and entry.verify.always)

    @cached_property
    def has_cross_checks(self) -> bool:
        """Whether the map names a second source for any tool."""
        return any(entry.cross_check is not None for entry in self.tools.values())

    @cached_property
    def has_timeouts(self) -> bool:
        """Whether the map limits the time of any tool."""
        return any(entry.timeout is not None for entry in self.tools.values())

    def cost(self, tool: str) -> float:
        """What a call of this tool costs; 1 for an ordinary call."""
        return self.entry(tool).cost

    def escalations(self) -> tuple[str, ...]:
        """The tools that hand the conversation to a human, in the order of the file."""
        return self._escalations

    def expectations(self, tool: str) -> Expectations | None:
        """What a good result of this tool looks like."""
        return self._compiled.get(tool, _NO_OFFERS).expectations

    def error_rules(self, tool: str) -> tuple[ErrorRule, ...]:
        """The error texts that this tool is known to give."""
        return self._compiled.get(tool, _NO_OFFERS).errors

    def substitutes(self, tool: str) -> frozenset[str]:
        """The tools that directly stand in for this one, under any condition; of a composition, its first tool."""
        return frozenset(edge.template.tool for edge in self._compiled.get(tool, _NO_OFFERS).fallbacks)

    def stands_in(self, tool: str) -> bool:
        """Whether this tool directly stands in for another one."""
        return tool in self._stand_ins

    @cached_property
    def _stand_ins(self) -> frozenset[str]:
        return frozenset[str]().union(*map(self.substitutes, self.tools))

    def repair_tools(self, tool: str) -> frozenset[str]:
        """The tools that repair this one, after any error."""
        return frozenset(edge.template.tool for edge in self._compiled.get(tool, _NO_OFFERS).repairs)

    def candidates(
        self, call: ToolCall, kind: ErrorKind | None, known: Mapping[str, Any]
    ) -> tuple[Step, ...]:
        """Return what can stand in for a failed call, best coverage first (then cheapest, then the file's order).

        ``known`` maps field names to values seen in the conversation. Never holds the failed tool, a tool that the
        map does not know, or a write for a read.
        """
        return offers(self._compiled.get(call.tool, _NO_OFFERS).fallbacks, call, kind, known)

    def repairs(self, call: ToolCall, kind: ErrorKind | None, known: Mapping[str, Any]) -> tuple[Step, ...]:
        """Return the tools to run before this call is made again, in the order of the file."""
        return offers(self._compiled.get(call.tool, _NO_OFFERS).repairs, call, kind, known)

    def next_step(
        self, call: ToolCall, candidate: Step, results: Sequence[Any], known: Mapping[str, Any]
    ) -> Step | None:
        """Return the next call of a composition, given the results of its calls so far; None after the last."""
        edge = self._edge(call, candidate)
        if edge is None or not results or len(results) >= len(edge.steps):
            return None
        return edge.fill({**names_of(call, known), **_step_results(edge, results)}, len(results))

    def verifier(self, call: ToolCall, known: Mapping[str, Any]) -> Step | None:
        """Return the read that tells whether this call happened, if the map names one."""
        verify = self._compiled.get(call.tool, _NO_OFFERS).verify
        return verify.fill(names_of(call, known)) if verify is not None else None

    def look_after(self, call: ToolCall, known: Mapping[str, Any]) -> Step | None:
        """Return the read that is made after every success of this call's tool, where the map asks for that."""
        return self.verifier(call, known) if call.tool in self.looked_after else None

    def can_tell(self, tool: str) -> bool:
        """Whether the map says how to see from the verifier's result that a call of this tool happened."""
        verify = self.entry(tool).verify
        return verify is not None and verify.done_when is not None

    def done(self, call: ToolCall, result: Any) -> bool | None:
        """Say from the verifier's result whether the call happened; None when it cannot be told."""
        verify = self.entry(call.tool).verify
        if verify is None or verify.done_when is None:
            return None
        try:
            names = {"call": names_of(call, {})["call"], "result": plain(result)}
            return bool(_read(verify.done_when, names))
        except Exception as problem:  # noqa: BLE001 - a tool's own object may raise anything when it is read
            self._cannot(call.tool, "verify.done_when", problem)
            return None

    def confirmation(self, call: ToolCall, result: Any) -> Any:
        """Return what a write that the verifier found done answers, in the write's form; else the verifier's result."""
        verify = self.entry(call.tool).verify
        if verify is None or verify.pick is None:
            return result
        try:
            return _read(verify.pick, {"call": names_of(call, {})["call"], "result": plain(result)})
        except Exception as problem:  # noqa: BLE001 - a tool's own object may raise anything when it is read
            self._cannot(call.tool, "verify.pick", problem)
            return result

    def cross_check(self, call: ToolCall, known: Mapping[str, Any]) -> Step | None:
        """Return the other tool whose result must agree with this one's, if the map names one."""
        check = self._compiled.get(call.tool, _NO_OFFERS).cross_check
        return check.fill(names_of(call, known)) if check is not None else None

    def compare(self, call: ToolCall, result: Any, other_result: Any) -> tuple[str, ...] | None:
        """Return the declared fields in which a result and its cross-check disagree.

        A field that one side does not have is not comparable, and does not disagree. None where the other side shows
        nothing that could be compared: it neither confirms nor contradicts.
        """
        check = self.entry(call.tool).cross_check
        if check is None:
            return None
        try:
            mine, other = plain(result), plain(other_result)
            if check.pick is not None:
                names = {"call": names_of(call, {})["call"], "result": other}
                other = _read(check.pick, names)
            return tuple(
                field
                for field in check.compare
                if (a := fields_at(mine, field)) is not None
                and (b := fields_at(other, field)) is not None
                and not agree(a, b)
            )
        except Exception as problem:  # noqa: BLE001 - a tool's own object may raise anything when it is read
            self._cannot(call.tool, "cross_check", problem)
            return None

    def pick_all(self, call: ToolCall, candidate: Step, results: Sequence[Any]) -> Any:
        """Return a substitute's results in the form of the failed tool's; the last as it is when the map says nothing.

        ``results`` are those of all calls of a composition in order. None, with a warning, when the ``pick`` fails on them.
        """
        if candidate.pick is None:
            return results[-1]
        return self._picked(call, candidate, results).value

    def answer(self, call: ToolCall, candidate: Step, results: Sequence[Any]) -> Answer:
        """Return what a substitute's results say in the form of the failed tool's, or why they do not answer ``call``.

        ``results`` are those of all its calls in order. A ``pick`` that finds nothing or fails, and a form that is not
        the one the map declares for the failed tool, are no answer. Without a ``pick`` the value is the last result
        itself.
        """
        picked = self._picked(call, candidate, results)
        entry, compiled = self.tools.get(call.tool), self._compiled.get(call.tool)
        if picked.problem or entry is None or compiled is None:
            return picked
        problem = problem_of(call, candidate, picked.value, entry.returns, compiled.expectations)
        return Answer(picked.value if candidate.pick is not None else results[-1], problem)

    def picks_from_several(self, call: ToolCall, candidate: Step) -> bool:
        """Whether an offer's ``pick`` reads results of earlier calls of its row, not of the last one alone."""
        edge = self._edge(call, candidate)
        names = {name for name in edge.results if name} if edge is not None else set()
        paths = compile_expression(candidate.pick).paths if candidate.pick is not None else ()
        return any(path.partition(".")[0] in names for path in paths)

    def _picked(self, call: ToolCall, candidate: Step, results: Sequence[Any]) -> Answer:
        try:
            last = plain(results[-1])
            if candidate.pick is None:
                return Answer(last)
            edge = self._edge(call, candidate)
            whole = edge is not None and len(results) == len(edge.steps)
            earlier = _step_results(edge, results) if edge is not None and whole else {}
            names = {**earlier, "call": names_of(call, {})["call"], "result": last}
            return Answer(_read(candidate.pick, names))
        except UndefinedResultError:
            return Answer(problem="it holds nothing about what was asked for")
        except Exception as problem:  # noqa: BLE001 - a tool's own object may raise anything when it is read
            self._cannot(call.tool, "pick", problem)
            return Answer(problem="the map's pick cannot read it")

    def _cannot(self, tool: str, what: str, problem: Exception) -> None:
        """Say that a part of the map cannot be evaluated: once a process, whatever memories have the map open."""
        said = (self.file, self.domain, tool, what)
        if said in _said or len(_said) >= _MOST_SAID:
            return
        _said.add(said)
        try:
            reason = str(problem)[:300]
        except Exception:  # noqa: BLE001 - the exception came from a tool's own object
            reason = type(problem).__name__
        _log.warning("the map's %s of %s could not be evaluated: %s", what, tool, reason)

    def _edge(self, call: ToolCall, candidate: Step) -> Edge | None:
        for edge in self._compiled.get(call.tool, _NO_OFFERS).fallbacks:
            same = edge.template.via == candidate.via and edge.template.pick == candidate.pick
            if same and (candidate.via or edge.template.tool == candidate.tool):
                return edge
        return None


def _read(expression: str, names: Mapping[str, Any]) -> Any:
    """Evaluate an expression over a ``result``.

    Servers of MCP wrap what is no object as ``{"result": ...}``; :func:`plain` takes that off, and a map that was
    written with it on is read with it on.
    """
    compiled = compile_expression(expression)
    try:
        return compiled.evaluate(names)
    except TemplateError:
        if not any(path == "result.result" or path.startswith("result.result.") for path in compiled.paths):
            raise
        return compiled.evaluate({**names, "result": {"result": names["result"]}})


def _step_results(edge: Edge, results: Sequence[Any]) -> dict[str, Any]:
    values = [plain(result) for result in results]
    named = {name: value for name, value in zip(edge.results, values, strict=False) if name}
    return {**named, PREVIOUS: values[-1]}
