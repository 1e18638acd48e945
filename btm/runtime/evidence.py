"""What attempts add up to in this process, as of now: the evidence with the clock it is read by."""

from __future__ import annotations

import logging
import math
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence

from btm.learning.changepoint import WeighedAttempt, may_show_change, since_change
from btm.learning.posterior import BetaPosterior, Counts, Decay, Evidence, Priors, Share, pooled, shares
from btm.model import Attempt, ErrorKind, EvidenceKey
from btm.store import RECENT_ATTEMPTS, SKEW_S, Snapshot
from btm.support.forks import no_fork

_log = logging.getLogger("btm")

BeliefFunction = Callable[[Evidence, EvidenceKey, Priors, float], BetaPosterior]
"""How evidence becomes belief; see :class:`btm.model.BeliefModel`."""

PROVEN = 3.0
"""Times that a tool must have stood in before it is proposed without a map: once may be an accident."""

MOST_HINTS = 2

Recent = tuple[EvidenceKey, bool, float]
"""An attempt: its key, whether it worked, and when it was made."""

FIRST_FIT = 60
"""Attempts after which strengths of pools are fitted to what was learned; then again each time that they double."""

_FEWEST_HELD_OUT = 6


class Credit:
    """Evidence that grows with every attempt. Not thread-safe: its owner holds the lock.

    Weights are forward-decayed (see :mod:`btm.learning.posterior`): they are added under a landmark, which moves on
    before they could overflow, and read at a time. An attempt of the future weighs what one of now does: when the clock
    is set back, attempts that lie ahead of it are counted again as of the new time, so that the hour in which it was
    wrong outweighs nothing. The latest 1,000 are kept for that; where older ones lie ahead, evidence is read as of theirs.

    Where a key's latest attempts show that its chance has changed (:mod:`btm.learning.changepoint`), those before that are
    let go. The sums in the database are not touched: who opens it finds the change in the attempts, as this did.
    """

    def __init__(self, snapshot: Snapshot, believe: BeliefFunction) -> None:
        self._decay: Decay = snapshot.decay
        self._priors: Priors = snapshot.priors
        self._evidence = Evidence(snapshot.evidence)
        self._latest_at = snapshot.latest_at
        self._settled_at = snapshot.latest_at  # no earlier than any attempt that is not among the recent ones
        self._recent: deque[Recent] = deque()
        self._changed: dict[
            EvidenceKey, float
        ] = {}  # since when keys count of which older attempts were let go
        self._read = self._decay, self._latest_at, self._decay.scale(self._latest_at)
        self._believe = believe
        self._said = False
        self._attempts = 0  # that were learned here
        self._refit_at = self._first_refit() if believe is pooled else math.inf
        self._look_back(snapshot.recent_attempts)

    def _first_refit(self) -> float:
        """Return after how many attempts priors are fitted first: at once, if there is evidence that none were fitted to."""
        known = sum(worked + failed for _, worked, failed in self._evidence.rows())
        # What was fitted or merged has sums alone, and no latest attempt.
        known *= self._decay.scale(max(self._latest_at, self._decay.landmark))
        if self._priors == Priors():
            return 0.0 if known >= FIRST_FIT else FIRST_FIT - known
        return max(known, float(FIRST_FIT))

    def give(self, attempts: Iterable[Attempt], now: float) -> None:
        """Learn from attempts."""
        self._set_back(now)
        if self._decay.overdue(now):
            self._evidence.rescale(self._decay.scale(now))
            self._decay = Decay(self._decay.half_life_s, now)
        for attempt in attempts:
            self._attempts += 1
            self._add(attempt.key, attempt.success, attempt.at, 1.0)
            self._latest_at = max(self._latest_at, attempt.at)
            self._recent.append((attempt.key, attempt.success, attempt.at))
            if len(self._recent) > RECENT_ATTEMPTS:
                self._settled_at = max(self._settled_at, self._recent.popleft()[2])
            if self._may_have_changed(attempt.key, attempt.at):
                latest = [one for one in self._recent if one[0] == attempt.key]
                self._let_go(attempt.key, attempt.at, latest)

    def take_back(self, attempts: Iterable[Attempt]) -> None:
        """Unlearn attempts."""
        for attempt in filter(self._counts, attempts):
            at = min(attempt.at, self._latest_at)
            self._add(attempt.key, attempt.success, at, -1.0)
            if (same := (attempt.key, attempt.success, at)) in self._recent:
                self._recent.remove(same)

    def turn(self, attempts: Iterable[Attempt]) -> None:
        """Turn attempts that had counted as successes into failures."""
        for attempt in filter(self._counts, attempts):
            at = min(attempt.at, self._latest_at)
            weight = self._decay.weight(at)
            self._evidence.add(attempt.key, -weight, weight)
            if (same := (attempt.key, True, at)) in self._recent:
                self._recent[self._recent.index(same)] = (attempt.key, False, at)

    def _add(self, key: EvidenceKey, success: bool, at: float, sign: float) -> None:
        weight = sign * self._decay.weight(at)
        self._evidence.add(key, weight * success, weight * (not success))

    def _counts(self, attempt: Attempt) -> bool:
        """Whether an attempt that was given is still part of the evidence."""
        return attempt.at >= self._changed.get(attempt.key, -math.inf)

    # -- changes ------------------------------------------------------------------------------------------------

    def _look_back(self, recent: Sequence[Recent]) -> None:
        """Go through what earlier processes lived through, the oldest first, and let go what it shows to be past."""
        recent = [(key, success, min(at, self._latest_at)) for key, success, at in recent]
        doubtful = any(may_show_change(self._own(key)) for key in {key for key, _, _ in recent})
        if doubtful and self._believe is pooled:
            was = {key: self._evidence.counts(key) for key, _, _ in recent}
            for key, success, at in recent:
                self._add(key, success, at, -1.0)
            latest: defaultdict[EvidenceKey, list[Recent]] = defaultdict(list)
            for one in recent:
                key, success, at = one
                self._add(key, success, at, 1.0)
                self._recent.append(one)
                latest[key].append(one)
                if self._may_have_changed(key, at):
                    latest[key] = self._let_go(key, at, latest[key])
            # What has not changed stays as it was read, to the last bit.
            self._evidence.put({key: counts for key, counts in was.items() if key not in self._changed})
        else:
            self._recent.extend(recent)

    def _own(self, key: EvidenceKey, at: float | None = None) -> Counts:
        scale = self._decay.scale(self._latest_at if at is None else at)
        return self._evidence.counts(key).times(scale)

    def _may_have_changed(self, key: EvidenceKey, at: float) -> bool:
        return self._believe is pooled and may_show_change(self._own(key, at))

    def _let_go(self, key: EvidenceKey, at: float, latest: list[Recent]) -> list[Recent]:
        """Let go what was seen of a key before its chance changed, if its latest attempts show that it did.

        ``latest`` are those of the recent attempts that are this key's; return which of them stay.
        """
        total, scale = self._own(key, at), self._decay.scale(at)

        def known() -> Counts:
            belief = self._believe(self._evidence, key, self._priors, scale)
            return Counts(belief.alpha - belief.worked, belief.beta - (belief.n - belief.worked))

        weighed = [WeighedAttempt(ok, self._decay.weight(min(t, at)) * scale) for _, ok, t in latest]
        first = since_change(weighed, total, known)
        if first is None:
            return latest
        kept = latest[first:]
        worked = sum(self._decay.weight(t) for _, ok, t in kept if ok)
        failed = sum(self._decay.weight(t) for _, ok, t in kept if not ok)
        sums = self._evidence.counts(key)
        self._evidence.add(key, worked - sums.successes, failed - sums.failures)
        self._changed[key] = kept[0][2]
        gone = {id(one) for one in latest[:first]}
        self._recent = deque(one for one in self._recent if id(one) not in gone)
        return kept

    # -- beliefs ------------------------------------------------------------------------------------------------

    def belief(self, key: EvidenceKey, now: float) -> BetaPosterior:
        """Return the belief about one key."""
        return self.about([key], now)[key]

    def about(self, keys: Iterable[EvidenceKey], now: float) -> dict[EvidenceKey, BetaPosterior]:
        """Return the beliefs about keys."""
        evidence, priors, scale = self.standing(now)
        return {key: self._believe(evidence, key, priors, scale) for key in keys}

    def standing(self, now: float) -> tuple[Evidence, Priors, float]:
        """Return what beliefs are made of: the evidence, the priors fitted to it, and the decay factor as of now."""
        if self._attempts >= self._refit_at:
            self._refit(now)
        return self._evidence, self._priors, self._scale(now)

    def beliefs(self, now: float) -> list[tuple[EvidenceKey, BetaPosterior]]:
        """Return every key that has evidence, with its belief."""
        return list(self.about([key for key, _, _ in self._evidence.rows()], now).items())

    def shares(self, key: EvidenceKey, now: float) -> tuple[Share, ...]:
        """Return level by level how the belief about a key comes about, as :func:`btm.learning.posterior.shares` does."""
        evidence, priors, scale = self.standing(now)
        return shares(evidence, key, priors, scale)

    def counted(self, now: float) -> list[tuple[EvidenceKey, float]]:
        """Return every key that has evidence, and how much as of now."""
        scale = self._scale(now)
        return [(key, scale * (worked + failed)) for key, worked, failed in self._evidence.rows()]

    def stood_in(self, tool: str, kind: ErrorKind, now: float) -> tuple[str, ...]:
        """Return the tools that answered after this failure before, more often than not, the most proven first."""
        scale = self._scale(now)
        found = [
            (counts.successes * scale, key.target)
            for key, counts in self._evidence.switches(tool, kind)
            if key.ordinal == 1 and " > " not in key.target
            if counts.successes * scale >= PROVEN and counts.successes > counts.failures
        ]
        return tuple(target for _, target in sorted(found, reverse=True)[:MOST_HINTS])

    def _refit(self, now: float) -> None:
        """Fit how strongly pools are believed to the evidence as of now, unless that foretells the last tenth worse."""
        with no_fork():  # a child would wait for ever for a module that another thread was loading
            from btm.learning.priors import refit_priors  # noqa: PLC0415 - SciPy's optimizers load slowly

        self._refit_at = max(2 * self._attempts, FIRST_FIT)
        held_out = None  # just opened: which attempts were the last is not known
        if len(self._recent) >= FIRST_FIT:
            latest = list(self._recent)[-max(len(self._recent) // 10, _FEWEST_HELD_OUT) :]
            weights = [(key, self._decay.weight(min(at, self._latest_at)), ok) for key, ok, at in latest]
            held_out = [(key, weight * ok, weight * (not ok)) for key, weight, ok in weights]
        self._priors = refit_priors(self._evidence, self._priors, held_out, self._scale(now))

    def _scale(self, now: float) -> float:
        """Return what evidence is read with: nothing may count more than once."""
        self._set_back(now)
        at = max(now, self._latest_at)
        if self._read[:2] != (self._decay, at):  # a plan reads all its keys as of one time
            self._read = self._decay, at, self._decay.scale(at)
        return self._read[2]

    def _set_back(self, now: float) -> None:
        """Count attempts that lie ahead of the clock as made now, where it was set back."""
        now = max(now, self._settled_at)
        back = self._latest_at - now
        if back <= 0.0:
            return
        self._latest_at = now
        weight, ahead = self._decay.weight(now), 0
        while ahead < len(self._recent) and self._recent[-1 - ahead][2] > now:  # the latest stand last
            ahead += 1
            key, success, at = self._recent[-ahead]
            less = weight - self._decay.weight(at)
            self._evidence.add(key, less * success, less * (not success))
            self._recent[-ahead] = (key, success, now)
        if back > SKEW_S:
            self._mend(ahead)
            if not self._said:
                self._said = True
                _log.warning(
                    "the clock was set back by %.0f s; what was learned after that time counts as learned now",
                    back,
                )

    def _mend(self, ahead: int) -> None:
        """Make good what large weights, taken out of sums, have left of them: no key is less than its attempts."""
        least: dict[EvidenceKey, list[float]] = {self._recent[-n][0]: [0.0, 0.0] for n in range(1, ahead + 1)}
        for key, success, at in self._recent:
            if key in least:
                least[key][0 if success else 1] += self._decay.weight(at)
        for key, (worked, failed) in least.items():
            has = self._evidence.counts(key)
            self._evidence.add(key, max(worked - has.successes, 0.0), max(failed - has.failures, 0.0))
        self._evidence = Evidence(self._evidence.rows())  # levels too
