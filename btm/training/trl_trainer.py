"""TRL's GRPO with distillation from a card, and a guard against collapse; ``trl`` and ``torch`` are imported here alone.

The skill branch scores the tokens that the policy sampled, with the card before the prompt; it samples nothing and gets no
gradient (:mod:`btm.training.reflect`). The nearest trainer of TRL's own is ``trl.experimental.sdpo``.
"""

from __future__ import annotations

from typing import Any

from btm.errors import MissingExtraError
from btm.training.reflect import opd_loss
from btm.training.rewards import repeated_share

try:
    import torch
    from transformers import TrainerCallback
    from trl import GRPOTrainer
except ModuleNotFoundError as missing:
    raise MissingExtraError((missing.name or "trl").partition(".")[0], "train", "training") from missing

COLLAPSED = 0.5
"""Share of identical repeats among calls from which on a policy counts as collapsed."""

_FEWEST_CALLS = 20


class CollapseGuard(TrainerCallback):
    """Ends a run in which more than half of the calls repeat the one before. ``environment`` is the factory in use.

    Without a KL term that happens within 25 to 30 iterations (BENCH2ROBUST).
    """

    def __init__(self, environment: Any, most: float = COLLAPSED) -> None:
        self._recent, self._most = environment.recent, most
        self.share = 0.0

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> Any:  # noqa: ARG002 - the callback's form
        rollouts = list(self._recent)
        self.share = repeated_share(rollouts)
        if sum(map(len, rollouts)) >= _FEWEST_CALLS and self.share > self._most:
            control.should_training_stop = True
        return control


class ReflectTrainer(GRPOTrainer):
    """GRPO with ``lambda_opd`` times the distillation loss added; ``card`` is the text that the skill branch reads."""

    def __init__(
        self, *args: Any, card: str = "", beta_opd: float = 1.0, lambda_opd: float = 0.1, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self._card, self._beta_opd, self._lambda_opd = card, beta_opd, lambda_opd

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> Any:
        loss = super()._compute_loss(model, inputs)
        if not self._card or not self._lambda_opd:
            return loss
        prompt, mask = inputs["prompt_ids"], inputs["prompt_mask"]
        policy = self._scores(model, prompt, mask, inputs)
        with torch.no_grad():
            skill = self._scores(model, *self._with_card(prompt, mask), inputs)
        counted = inputs["completion_mask"]
        if "tool_mask" in inputs:
            counted = counted * inputs["tool_mask"]
        distilled = opd_loss(skill, policy, counted.to(policy.dtype), self._beta_opd)
        mode = "train" if self.model.training else "eval"
        self._metrics[mode]["opd_loss"].append(float(distilled.detach()))
        return loss + self._lambda_opd * distilled

    def _scores(self, model: Any, prompt: Any, mask: Any, inputs: dict[str, Any]) -> Any:
        """Return the log-probabilities of the sampled tokens after a prompt."""
        completion = inputs["completion_ids"]
        tokens = torch.cat([prompt, completion], dim=1)
        attended = torch.cat([mask, inputs["completion_mask"]], dim=1)
        scores, *_ = self._get_per_token_logps_and_entropies(model, tokens, attended, completion.size(1))
        return scores

    def _with_card(self, prompt: Any, mask: Any) -> tuple[Any, Any]:
        """Return left-padded prompts with the card's tokens between padding and prompt."""
        processor = self.processing_class
        tokenizer: Any = getattr(processor, "tokenizer", processor)
        card = torch.tensor(
            tokenizer(self._card, add_special_tokens=False)["input_ids"], device=prompt.device
        )
        return between_padding_and_prompt(prompt, mask, card)


def between_padding_and_prompt(prompt: Any, mask: Any, card: Any) -> tuple[Any, Any]:
    """Return (batch, card + length) tokens and mask: each row's padding, the card, the row's prompt."""
    rows, marks = [], []
    for tokens, counted in zip(prompt, mask, strict=True):
        padding = int((counted == 0).sum())
        rows.append(torch.cat([tokens[:padding], card.to(tokens.dtype), tokens[padding:]]))
        marks.append(
            torch.cat([counted[:padding], torch.ones_like(card).to(counted.dtype), counted[padding:]])
        )
    return torch.stack(rows), torch.stack(marks)
