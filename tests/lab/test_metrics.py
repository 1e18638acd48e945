from btm.lab.metrics import Episode, paired, results
from btm.model import ErrorKind


def episode(
    arm: str, task: str, solved: bool, *, scenario: str = "retry_works", escalated: bool = False
) -> Episode:
    kinds = frozenset({ErrorKind.TIMEOUT} if task == "t1" else set[ErrorKind]())
    return Episode(arm, scenario, task, kinds, solved, escalated, 3, 1, 0, 1.5)


RUN = [
    episode("bare", "t1", False),
    episode("bare", "t2", True),
    episode("btm", "t1", True),
    episode("btm", "t2", True),
    episode("bare", "t1", False, scenario="impossible"),
    episode("btm", "t1", False, scenario="impossible", escalated=True),
]


def test_results_are_summed_up_by_scenario_arm_and_kind() -> None:
    found = {(r.scenario, r.arm, r.fault_kind): r for r in results(RUN)}
    bare = found["retry_works", "bare", None]
    assert (bare.episodes, bare.success, bare.calls, bare.identical_repeats, bare.dropped) == (
        2,
        0.5,
        6,
        2,
        1,
    )
    assert found["retry_works", "bare", ErrorKind.TIMEOUT].success == 0.0
    assert found["all", "btm", None].episodes == 3
    assert ("retry_works", "bare", ErrorKind.MALFORMED) not in found


def test_a_task_handed_over_is_not_dropped() -> None:
    found = {(r.scenario, r.arm, r.fault_kind): r for r in results(RUN)}
    assert (found["impossible", "btm", None].escalated, found["impossible", "btm", None].dropped) == (1, 0)
    assert (found["impossible", "bare", None].escalated, found["impossible", "bare", None].dropped) == (0, 1)


def test_one_scenario_needs_no_sum() -> None:
    assert {r.scenario for r in results(RUN[:4])} == {"retry_works"}


def test_arms_are_compared_on_the_episodes_that_both_tried() -> None:
    found = {p.scenario: p for p in paired([*RUN, episode("btm", "t3", True)])}
    assert (found["retry_works"].a, found["retry_works"].b) == ("btm", "bare")
    assert found["retry_works"].difference == 0.5
    assert found["impossible"].difference == 0.0
    assert found["impossible"].p == 1.0
    assert found["all"].difference == 1 / 3
