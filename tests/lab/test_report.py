import shlex

import pytest

from btm.lab.faults import FaultSettings
from btm.lab.report import command_line, document
from btm.lab.runner import Evaluation, Request, evaluate
from btm.lab.scenarios import Scenario
from btm.model import ErrorKind

RESULT = {
    "arm",
    "scenario",
    "fault_kind",
    "episodes",
    "success",
    "low",
    "high",
    "calls",
    "identical_repeats",
    "double_writes",
    "escalated",
    "dropped",
}

pytestmark = pytest.mark.xdist_group("report")  # one process makes what these tests share


@pytest.fixture(scope="module")
def evaluation() -> Evaluation:
    return evaluate(Request(arms=("bare", "retry3"), tasks=8))


def test_the_document_has_exactly_the_published_fields(evaluation: Evaluation) -> None:
    found = document(evaluation)
    assert list(found) == [
        "domain",
        "seed",
        "command",
        "results",
        "behaviour",
        "paired",
        "left_out",
        "unusable",
    ]
    assert all(set(row) == RESULT for row in found["results"])
    assert all(
        set(row) == {"a", "b", "scenario", "difference", "low", "high", "p"} for row in found["paired"]
    )


def test_rates_are_rates_and_counts_add_up(evaluation: Evaluation) -> None:
    found = document(evaluation)["results"]
    for row in found:
        assert 0 <= row["low"] <= row["success"] <= row["high"] <= 1
        assert row["escalated"] + row["dropped"] <= row["episodes"]
    whole = {(r["scenario"], r["arm"]): r for r in found if r["fault_kind"] is None}
    scenarios = ("retry_works", "switch_needed", "impossible")
    for arm in ("bare", "retry3"):
        for name in ("episodes", "calls", "identical_repeats", "double_writes", "escalated", "dropped"):
            assert whole["all", arm][name] == sum(whole[s, arm][name] for s in scenarios)


def test_scenarios_stand_in_the_order_in_which_they_were_asked_for() -> None:
    scenarios = (Scenario.IMPOSSIBLE, Scenario.CLEAN)
    found = document(evaluate(Request(arms=("bare",), tasks=2, scenarios=scenarios)))["results"]
    assert [r["scenario"] for r in found if r["fault_kind"] is None] == ["impossible", "clean", "all"]


def test_a_kind_of_fault_has_its_own_rows(evaluation: Evaluation) -> None:
    kinds = {r["fault_kind"] for r in document(evaluation)["results"]}
    assert None in kinds
    assert kinds - {None} <= {kind.value for kind in ErrorKind}
    assert len(kinds) > 3


def test_the_command_says_what_differs_from_the_defaults() -> None:
    assert command_line(Request()) == "btm eval --domain shop --arms bare,retry3,btm --seed 0"
    request = Request(
        scenarios=(Scenario.CLEAN,),
        arms=("btm",),
        faults=FaultSettings(seed=3, rate=0.2, weights={ErrorKind.TIMEOUT: 1.0}, max_consecutive=1, budget=4),
        profile="heterogeneous",
        tasks=("shop-01",),
        worlds=2,
        passes=3,
        database="my notes.db",
    )
    words = shlex.split(command_line(request))
    assert words[2:] == [
        *("--domain", "shop", "--scenario", "clean", "--arms", "btm", "--seed", "3", "--rate", "0.2"),
        *("--fault-kinds", "timeout", "--max-consecutive", "1", "--budget", "4"),
        *(
            "--profile",
            "heterogeneous",
            "--worlds",
            "2",
            "--passes",
            "3",
            "--tasks",
            "shop-01,",
            "--db",
            "my notes.db",
        ),
    ]
