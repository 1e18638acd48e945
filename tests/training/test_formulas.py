"""Rewards, advantages and weights against tables reckoned by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from btm.training.reflect import EPSILON, gamma, group_advantages, opd_loss, zero_variance
from btm.training.rewards import efficiency, longest_run, repeated_share, repetition, reward


@pytest.mark.parametrize(("calls", "eff"), [(0, 1), (1, 1), (12, 1), (13, 12 / 13), (24, 0.5), (120, 0.1)])
def test_more_than_twelve_calls_are_punished(calls: int, eff: float) -> None:
    assert efficiency(calls) == pytest.approx(eff)


@pytest.mark.parametrize(
    ("calls", "run"), [("", 0), ("a", 1), ("abab", 1), ("aab", 2), ("abbbb", 4), ("aabaaa", 3)]
)
def test_the_longest_run_of_equal_calls(calls: str, run: int) -> None:
    assert longest_run(calls) == run


@pytest.mark.parametrize(("run", "rep"), [(0, 1), (3, 1), (4, 0.75), (6, 0.5), (8, 0.375)])
def test_four_identical_calls_in_a_row_are_punished(run: int, rep: float) -> None:
    assert repetition(run) == pytest.approx(rep)


@pytest.mark.parametrize(
    ("calls", "completed", "matched", "required", "worth"),
    [
        ("abc", True, 3, 3, 1.0),
        ("abcdefghijklmnopqrstuvwx", True, 3, 3, 0.5),
        ("abbbbc", True, 3, 3, 0.75),
        ("a", False, 1, 3, 0.1),
        ("aaaaaaaa", False, 1, 3, 0.1 * 3 / 8),
        ("abc", False, 3, 3, 0.3),
        ("", False, 0, 3, 0.0),
        ("a", False, 0, 0, 0.0),
    ],
)
def test_the_reward_of_a_rollout(
    calls: str, completed: bool, matched: int, required: int, worth: float
) -> None:
    assert reward(calls, completed=completed, matched=matched, required=required) == pytest.approx(worth)


def test_without_partial_credit_only_the_goal_counts() -> None:
    assert reward("ab", completed=False, matched=2, required=3, partial=False) == 0.0
    assert reward("ab", completed=True, matched=3, required=3, partial=False) == 1.0


def test_the_share_of_repeats_tells_a_policy_that_has_collapsed() -> None:
    assert repeated_share(["aaaa", "ab"]) == pytest.approx(3 / 6)
    assert repeated_share([]) == 0.0


def test_a_groups_advantages() -> None:
    # mean 0.5, population std 0.5
    assert group_advantages([1.0, 0.0]) == pytest.approx([0.5 / (0.5 + EPSILON), -0.5 / (0.5 + EPSILON)])
    # mean 0.25, std sqrt(3)/4
    std = math.sqrt(3) / 4
    assert group_advantages([1, 0, 0, 0]) == pytest.approx(
        [0.75 / (std + EPSILON)] + [-0.25 / (std + EPSILON)] * 3
    )
    assert group_advantages([0.3, 0.3]) == [0.0, 0.0]
    assert group_advantages([]) == []


def test_disturbed_rollouts_that_all_failed_are_taught_something_in_a_mixed_group_only() -> None:
    rewards, disturbed = [1.0, 1.0, 0.0, 1.0, 0.0, 0.0], [False, False, False, False, True, True]
    mixed = group_advantages(rewards, disturbed)
    separate = group_advantages(rewards, disturbed, groups="separate")
    assert all(a < 0 for a in mixed[4:])
    assert separate[4:] == [0.0, 0.0]
    assert sum(mixed) == pytest.approx(0.0)


def test_wrong_groups_are_told() -> None:
    with pytest.raises(ValueError, match="mixed or separate"):
        group_advantages([1.0], [True], groups="both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="2 rewards and 1 marks"):
        group_advantages([1.0, 0.0], [True], groups="separate")


def test_a_group_without_a_difference_has_no_gradient() -> None:
    assert zero_variance([0.1, 0.1])
    assert zero_variance([])
    assert not zero_variance([0.1, 0.2])


def test_gamma_is_a_half_where_the_card_says_nothing_and_grows_with_what_it_says() -> None:
    policy = np.array([-1.0, -1.0, -1.0, -1.0, -1.0])
    skill = policy + np.array([-1e9, -1.0, 0.0, math.log(3), 1e9])
    found = gamma(skill, policy)
    assert found[2] == 0.5
    assert found[3] == pytest.approx(0.75)
    assert (np.diff(found) > 0).all()
    assert (found > 0).all()
    assert (found <= 1).all()
    assert gamma(skill, policy, beta=2.0)[3] == pytest.approx(0.9)


def test_the_distillation_loss_is_the_mean_over_counted_tokens() -> None:
    policy, skill = np.array([-1.0, -2.0, -4.0]), np.array([-1.0, -2.0, -9.0])
    # gamma 0.5 on both counted tokens: (0.5 * 1 + 0.5 * 2) / 2
    assert opd_loss(skill, policy, np.array([1.0, 1.0, 0.0])) == pytest.approx(0.75)
    assert opd_loss(skill, policy, np.zeros(3)) == 0.0


def test_the_gradient_flows_through_the_student_alone() -> None:
    torch = pytest.importorskip("torch", reason="the gradient is torch's; it is in the extra 'train'")
    policy = torch.tensor([-1.0, -2.0], requires_grad=True)
    skill = torch.tensor([-0.5, -3.0], requires_grad=True)
    opd_loss(skill, policy, torch.ones(2)).backward()
    assert skill.grad is None
    weights = gamma(skill.detach().numpy(), policy.detach().numpy())
    assert policy.grad.numpy() == pytest.approx(-weights / 2)
