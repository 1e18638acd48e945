"""Second sources: which reads a call rests on, who can confirm them, and whether they do.

A plausible wrong answer looks like a success; only another tool can tell. Asking costs a call, so it is asked only when
a policy requires it. The shipped ones do before a write that cannot be undone, when a call failed because of its
arguments, which may have come from a wrong answer, and for every later answer of a tool that was found wrong. And it is
asked only while that is worth it: where second sources keep agreeing (see :mod:`btm.runtime.confirmable_reads`), the
chance that an answer is wrong times what a success is worth comes to less than a call. An enforced policy is always kept.

Act mode asks by itself. In every other mode that advises it is the agent who asks: a call of its own that is the
check of an earlier answer is held against it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.fallback.values import fields_at
from btm.learning.judging import CONTRADICTED
from btm.model import SUCCESS, Action, Effect, ErrorKind, Incident, Outcome, ToolCall
from btm.planning.plan import Level
from btm.planning.policy import Policies, situation_of
from btm.runtime.known_values import SeenRead, scalars_of
from btm.runtime.ledger import Ledger

MAX_CHECKS = 3
"""Reads that are cross-checked for one call, at most."""


@dataclass(frozen=True, slots=True)
class Check:
    """A read that a call rests on, and the call to another tool that can confirm it."""

    read: SeenRead
    other: ToolCall


_Offer = tuple[SeenRead, Step]


@dataclass(frozen=True)
class SecondSources:
    """Finds checks and judges what they gave. ``available`` names the tools that there are (None: all).

    ``worth`` is what a success is worth, in calls.
    """

    ledger: Ledger
    fallback_map: FallbackMap
    policies: Policies
    worth: float
    available: Collection[str] | None = None

    def before(self, call: ToolCall) -> list[Check]:
        """Return what the policies want confirmed before ``call`` is made."""
        return self._required(call, SUCCESS, pending=True) if call.effect is Effect.WRITE else []

    def of(self, call: ToolCall) -> list[Check]:
        """Return what the policies want confirmed of the answer that ``call`` just gave: its tool was wrong before."""
        read = self.ledger.reads.doubtful(call)
        return self._wanted(call, SUCCESS, self._usable([read]), pending=False) if read is not None else []

    def behind(self, call: ToolCall, outcome: Outcome) -> list[Check]:
        """Return what the policies want confirmed now that ``call`` failed."""
        return self._required(call, outcome, pending=False)

    def made_by(self, call: ToolCall) -> list[Check]:
        """Return the checks that a call of the agent's own is, whether or not it was meant so."""
        reads = [
            read for read in self.ledger.reads.unconfirmed(call.conversation) if read.call.tool != call.tool
        ]
        return [
            Check(read, call)
            for read, offer in (self._usable(reads) if reads else ())
            if offer.tool == call.tool
            and all(call.arguments.get(name) == value for name, value in (offer.arguments or {}).items())
        ]

    def standing(self, conversation: str, tool: str) -> list[Check]:
        """Return what the policies would want confirmed if a call of ``tool`` were made now, on whatever it rests."""
        offers = self._usable(self.ledger.reads.unconfirmed(conversation))
        call = ToolCall(tool, {}, Effect.WRITE, conversation)
        return self._wanted(call, SUCCESS, offers, pending=True)

    def _required(self, call: ToolCall, outcome: Outcome, *, pending: bool) -> list[Check]:
        offers = self._usable(self.ledger.reads.unconfirmed_behind(call))
        return self._wanted(call, outcome, offers, pending=pending)

    def _wanted(
        self, call: ToolCall, outcome: Outcome, offers: list[_Offer], *, pending: bool
    ) -> list[Check]:
        """Return the checks, if there are any to be made and a policy requires them."""
        if not offers:
            return []
        unchecked = tuple(dict.fromkeys(read.call.tool for read, _ in offers))
        situation = situation_of(
            call,
            outcome,
            irreversible=self.fallback_map.entry(call.tool).irreversible,
            idempotent=self.fallback_map.idempotent(call.tool),
            unchecked=unchecked,
            doubted=tuple(filter(self.ledger.reads.suspected, unchecked)),
            pending=pending,
        )
        required = [v for v in self.policies.judge(situation) if v.require is Action.VERIFY]
        if not required:
            return []
        if pending and not any(verdict.level is Level.ENFORCE for verdict in required):
            offers = [offer for offer in offers if self._worth_asking(*offer)]
        offers = _one_a_call(offers)
        return [
            Check(read, self._call(call, offer, number))
            for number, (read, offer) in enumerate(offers[:MAX_CHECKS], start=1)
        ]

    def _worth_asking(self, read: SeenRead, offer: Step) -> bool:
        return self.ledger.reads.chance_wrong(read.call.tool) * self.worth > offer.cost

    def _usable(self, reads: Sequence[SeenRead]) -> list[_Offer]:
        """Return each read that another tool can confirm, with the call that does."""
        known = self.ledger.known(reads[0].call.conversation) if reads else {}
        offers = [(read, self.fallback_map.cross_check(read.call, known)) for read in reads]
        return [
            (read, offer)
            for read, offer in offers
            if offer is not None
            and offer.complete
            and (self.available is None or offer.tool in self.available)
        ]

    def _call(self, call: ToolCall, offer: Step, number: int) -> ToolCall:
        effect = self.fallback_map.effect(offer.tool) or Effect.READ
        return ToolCall(
            offer.tool, offer.arguments or {}, effect, call.conversation, f"{call.call_id}~check{number}"
        )

    def contradiction(self, check: Check, result: Any, pending: ToolCall | None = None) -> Incident | None:
        """Compare a read with what the second source gave; open an incident on the read if they disagree.

        Either way both answers need no further confirmation: the question was asked. Where a write is ``pending`` that
        uses no value of the fields in question, nothing comes of it: it would do the same.
        """
        read, other = check.read, check.other
        self.ledger.reads.confirm(
            read.call.conversation, read.digest, self.ledger.reads.digest(other, result)
        )
        fields = self.fallback_map.compare(read.call, read.result, result)
        if fields is None:
            return None
        self.ledger.reads.compared(read.call.tool, agreed=not fields)
        if not fields:
            return None
        if pending is not None and not _rests_on(pending, read, fields):
            return None
        named = ", ".join(fields)
        return self.ledger.reads.suspect(
            read,
            Outcome(
                kind=ErrorKind.FACTUAL_ERROR,
                silent=True,
                confidence=0.5,  # one of the two is wrong
                detail=f"{read.call.tool} and {other.tool} disagree about {named}",
                reason=f"{other.tool} says otherwise about {named}",
                rule=CONTRADICTED,
            ),
        )


def _one_a_call(offers: Sequence[_Offer]) -> list[_Offer]:
    """Return the newest answer of each call: what was read again is confirmed once."""
    kept: list[_Offer] = []
    for read, offer in offers:
        if not any(
            k.call.tool == read.call.tool and k.call.arguments == read.call.arguments for k, _ in kept
        ):
            kept.append((read, offer))
    return kept


def _rests_on(call: ToolCall, read: SeenRead, fields: Sequence[str]) -> bool:
    """Whether a call's arguments hold a value that stands in one of the fields."""
    used = {str(value) for value in scalars_of(call.arguments)}
    return any(str(v) in used for f in fields for v in _flat(fields_at(read.result, f) or []))


def _flat(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [inner for item in value for inner in _flat(item)]
    return [inner for item in value.values() for inner in _flat(item)] if isinstance(value, dict) else [value]
