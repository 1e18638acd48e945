"""Second sources: which reads a call rests on, who can confirm them, and whether they do.

A plausible wrong answer looks like a success; only another tool can tell. Asking costs a call, so it is asked only when
a policy requires it. The shipped ones do before a write that cannot be undone, when a call failed because of its
arguments, which may have come from a wrong answer, and for every later answer of a tool that was found wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from btm.fallback import FallbackMap, Step
from btm.model import SUCCESS, Action, Effect, ErrorKind, Incident, Outcome, ToolCall
from btm.planning.policy import Policies, Situation
from btm.runtime.state import Ledger
from btm.runtime.unconfirmed_reads import SeenRead

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
    """Finds checks and judges what they gave. ``available`` names the tools that there are (None: all)."""

    ledger: Ledger
    fallback_map: FallbackMap
    policies: Policies
    available: Collection[str] | None = None

    def before(self, call: ToolCall) -> list[Check]:
        """Return what the policies want confirmed before ``call`` is made."""
        return self._required(call, SUCCESS, pending=True) if call.effect is Effect.WRITE else []

    def of(self, call: ToolCall) -> list[Check]:
        """Return what the policies want confirmed of the answer that ``call`` just gave: its tool was wrong before."""
        read = self.ledger.doubtful_read(call)
        return self._wanted(call, SUCCESS, self._usable([read]), pending=False) if read is not None else []

    def behind(self, call: ToolCall, outcome: Outcome) -> list[Check]:
        """Return what the policies want confirmed now that ``call`` failed."""
        return self._required(call, outcome, pending=False)

    def _required(self, call: ToolCall, outcome: Outcome, *, pending: bool) -> list[Check]:
        offers = self._usable(self.ledger.unconfirmed_reads(call))
        return self._wanted(call, outcome, offers, pending=pending)

    def _wanted(
        self, call: ToolCall, outcome: Outcome, offers: list[_Offer], *, pending: bool
    ) -> list[Check]:
        """Return the checks, if there are any to be made and a policy requires them."""
        if not offers:
            return []
        situation = Situation(
            call,
            outcome,
            irreversible=self.fallback_map.irreversible(call.tool),
            idempotent=self.fallback_map.idempotent(call.tool),
            unchecked=tuple(dict.fromkeys(read.call.tool for read, _ in offers)),
            pending=pending,
        )
        if not any(verdict.require is Action.VERIFY for verdict in self.policies.judge(situation)):
            return []
        return [
            Check(read, self._call(call, offer, number))
            for number, (read, offer) in enumerate(offers[:MAX_CHECKS], start=1)
        ]

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

    def contradiction(self, check: Check, result: Any) -> Incident | None:
        """Compare a read with what the second source gave; open an incident on the read if they disagree.

        Either way both answers need no further confirmation: the question was asked.
        """
        read, other = check.read, check.other
        self.ledger.confirm(read.call.conversation, read.digest, self.ledger.digest(other, result))
        fields = self.fallback_map.compare(read.call, read.result, result)
        if not fields:
            return None
        named = ", ".join(fields)
        return self.ledger.suspect(
            read,
            Outcome(
                kind=ErrorKind.FACTUAL_ERROR,
                silent=True,
                confidence=0.5,  # one of the two is wrong
                detail=f"{read.call.tool} and {other.tool} disagree about {named}",
                reason=f"{other.tool} says otherwise about {named}",
                rule="cross_check",
            ),
        )
