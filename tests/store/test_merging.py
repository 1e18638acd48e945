from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from core_kit import NO_MAP, Clock, Tools
from hypothesis import given, settings
from hypothesis import strategies as st

from btm import ToolMemory
from btm.errors import StoreError
from btm.learning.posterior import Decay, Evidence, Priors, pooled
from btm.model import Action, ErrorKind, EvidenceKey, Mode, ToolCall
from btm.planning.policy import Policies
from btm.runtime.options import MemoryOptions
from btm.store import FittedConversation
from btm.store.merging import Merged, merged
from btm.store.sql import SqlStore

HALF_LIFE = 100.0
NOW = 1_000.0

KEYS = st.builds(
    EvidenceKey,
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from([ErrorKind.TIMEOUT, ErrorKind.RATE_LIMIT, ErrorKind.NOT_FOUND]),
    st.sampled_from([Action.RETRY, Action.SWITCH]),
    st.sampled_from(["", "d"]),
    st.integers(1, 3),
)
EVENTS = st.lists(st.tuples(KEYS, st.booleans(), st.floats(0.0, NOW)), max_size=12)
Events = Sequence[tuple[EvidenceKey, bool, float]]


def learned(
    events: Events, landmark: float, half_life: float = HALF_LIFE, priors: Priors | None = None
) -> SqlStore:
    """A database that lived through these attempts, its weights under a landmark of its own."""
    store = SqlStore(None, half_life_s=half_life, now=landmark)
    decay = Decay(half_life, landmark)
    rows = [(key, decay.weight(at) * worked, decay.weight(at) * (not worked)) for key, worked, at in events]
    store.add_learned(rows, priors=priors)
    return store


def means(found: Merged) -> dict[EvidenceKey, float]:
    evidence, scale = Evidence(found.evidence), found.decay.scale(NOW)
    return {key: pooled(evidence, key, Priors(), scale).mean for key, _, _ in found.evidence}


@given(EVENTS, EVENTS, EVENTS, st.permutations([0.0, 250.0, 800.0]), st.sampled_from((HALF_LIFE, math.inf)))
@settings(max_examples=40)
def test_merging_in_any_order_equals_having_learned_in_one_place(
    one: Events, two: Events, three: Events, landmarks: list[float], half_life: float
) -> None:
    dated = zip((one, two, three), landmarks, strict=True)
    parts = [learned(events, landmark, half_life) for events, landmark in dated]
    together = means(merged([learned([*one, *two, *three], 500.0, half_life)]))
    for order in itertools.permutations(parts):
        assert means(merged(order)) == pytest.approx(together)


@given(EVENTS, EVENTS, EVENTS)
@settings(max_examples=25)
def test_merging_is_associative(one: Events, two: Events, three: Events) -> None:
    def store_of(found: Merged) -> SqlStore:
        made = SqlStore(None, half_life_s=found.decay.half_life_s, now=found.decay.landmark)
        made.add_learned(found.evidence)
        return made

    a, b, c = learned(one, 0.0), learned(two, 300.0), learned(three, 600.0)
    left = merged([store_of(merged([a, b])), c])
    right = merged([a, store_of(merged([b, c]))])
    assert means(left) == pytest.approx(means(right))


def test_priors_are_fitted_anew_to_what_was_merged_if_any_database_had_fitted_ones() -> None:
    key = EvidenceKey("a", ErrorKind.TIMEOUT, Action.RETRY, "", 1)
    never = [(key._replace(tool=f"t{n}"), False, NOW) for n in range(30)]
    plain, fitted = learned(never[:15], 0.0), learned(never[15:], 0.0, priors=Priors((2.0, 2.0, 2.0)))
    assert merged([plain]).priors is None
    priors = merged([plain, fitted], NOW).priors
    assert priors is not None
    assert priors.strengths != (2.0, 2.0, 2.0)
    other = key._replace(kind=ErrorKind.UNKNOWN)
    assert priors.top_mean(other) < Priors().top_mean(other)


def test_a_conversation_learned_twice_is_named() -> None:
    key = EvidenceKey("a", ErrorKind.TIMEOUT, Action.RETRY, "", 1)
    a, b = learned([(key, True, 0.0)], 0.0), learned([(key, True, 0.0)], 0.0)
    for store in (a, b):
        store.add_learned((), fitted=[FittedConversation("d" * 32, "monday.jsonl:7", 3)])
    with pytest.raises(StoreError, match=r"monday\.jsonl:7"):
        merged([a, b])


def test_halves_of_a_keys_attempts_are_by_time() -> None:
    clock = Clock()
    store = SqlStore(None, half_life_s=HALF_LIFE, now=clock())
    with ToolMemory(
        store,
        fallback_map=NO_MAP,
        policies=Policies(),
        options=MemoryOptions(mode=Mode.OBSERVE, clock=clock),
    ) as living:
        for number, works in enumerate([True, True, True, False, False]):
            clock.now += 60.0
            with living.conversation(f"c{number}"):
                for answer in (TimeoutError("slow"), "fine" if works else TimeoutError("slow")):
                    living.call(ToolCall("get", {"n": number}), Tools(get=[answer]))
        living.flush()
        ((key, earlier, later),) = store.halves()
        assert list(store.halves([key])) == [(key, earlier, later)]
        assert list(store.halves(fewest=6)) == []
        with store.database.transaction() as connection:  # a database of an earlier btm, opened to read
            connection.exec_driver_sql("DROP INDEX attempts_by_key")
        assert list(store.halves()) == [(key, earlier, later)]
    assert (key.tool, key.action, key.ordinal) == ("get", Action.RETRY, 1)
    assert (earlier, later) == ((3.0, 0.0), (0.0, 2.0))
