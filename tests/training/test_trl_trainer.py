"""What stands on TRL: the guard, and where the card goes. Skipped without the extra 'train'."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")
pytest.importorskip("trl", reason="needs the extra 'train'")

from btm.training import environment  # noqa: E402
from btm.training.trl_trainer import CollapseGuard, between_padding_and_prompt  # noqa: E402


def stopped(guard: CollapseGuard) -> bool:
    control: Any = SimpleNamespace(should_training_stop=False)
    guard.on_step_end(None, None, control)
    return bool(control.should_training_stop)


def test_a_policy_that_repeats_itself_is_stopped_and_one_that_does_not_is_not() -> None:
    shop = environment("shop")
    guard = CollapseGuard(shop)
    made = shop()
    made.reset(task_id="shop-01")
    for n in range(30):
        made.get_order(order_id=f"S{n}")
    assert not stopped(guard)
    for _ in range(40):
        made.get_order(order_id="S1001")
    assert stopped(guard)
    assert guard.share > 0.5


def test_two_steps_of_grpo_in_the_shop_log_rewards_kl_and_tool_calls() -> None:
    """A random model of one layer: the parts fit, from the environment to the distillation loss; nothing is learned."""
    script = Path(__file__).resolve().parents[2] / "examples" / "train" / "grpo_smollm2.py"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(script), "--tiny", "--tokens", "8"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(script.parents[2])},
    )
    assert done.returncode == 0, done.stderr
    logged = [ast.literal_eval(line) for line in done.stdout.splitlines() if line.startswith("{'reward'")]
    assert len(logged) == 2
    for entry in logged:
        assert set(entry) == {"reward", "kl", "opd_loss", "tools/call_frequency", "frac_reward_zero_std"}
        assert entry["opd_loss"] > 0


def test_the_card_stands_between_the_padding_and_the_prompt() -> None:
    prompt, mask = torch.tensor([[0, 0, 5, 6], [7, 8, 9, 4]]), torch.tensor([[0, 0, 1, 1], [1, 1, 1, 1]])
    tokens, counted = between_padding_and_prompt(prompt, mask, torch.tensor([1, 2]))
    assert tokens.tolist() == [[0, 0, 1, 2, 5, 6], [1, 2, 7, 8, 9, 4]]
    assert counted.tolist() == [[0, 0, 1, 1, 1, 1], [1] * 6]
