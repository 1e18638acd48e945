"""Who judges: a chat model, the rules, or a fake for trying things out. The only module that asks models."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from btm.errors import BTMError, MissingExtraError, did_you_mean
from btm.judge.question import Question
from btm.judge.rules import rule_reply
from btm.judge.verdict import ErrorCategory, JudgeReply, parsed_reply
from btm.support.untrusted import text_of

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_ONCE_MORE = "That was not the JSON object that was asked for. Answer with it and nothing else."
_FAKES: Mapping[str, JudgeReply] = {
    "agree": JudgeReply(satisfied=True, confidence=0.9, reasoning="a fake"),
    "flip": JudgeReply(
        satisfied=False, error_category="semantic_result_mismatch", confidence=0.9, reasoning="a fake"
    ),
    **{
        str(category): JudgeReply(
            satisfied=False, error_category=category, confidence=0.9, reasoning="a fake"
        )
        for category in ErrorCategory
    },
}


class JudgeError(BTMError):
    """A judge that does not exist was asked for, or one cannot be reached."""


@dataclass(frozen=True)
class Judge:
    """One judge. ``ask`` returns its verdict, None where it gave none in two tries; ``asks``: each costs a request."""

    name: str
    ask: Callable[[Question], JudgeReply | None]
    asks: bool = False


def judge_of(name: str, base_url: str | None = None) -> Judge:
    """Return a judge: ``rules``, ``fake:agree``, ``fake:flip``, or a model such as ``openai:gpt-4o``.

    ``base_url`` is that of an OpenAI-compatible server. Raises JudgeError for an unknown name, MissingExtraError where
    the model's package is absent.
    """
    if name == "rules":
        return Judge(name, rule_reply)
    provider, _, model = name.partition(":")
    if provider == "fake":
        if model not in _FAKES:
            hint = did_you_mean(model, _FAKES)
            raise JudgeError(f"there is no fake {model!r}: use one of {', '.join(_FAKES)}{hint}")
        return Judge(name, lambda _: _FAKES[model])
    if not model:
        raise JudgeError(
            f"{name!r} is no judge: use rules, or a model as provider:name, such as openai:gpt-4o"
        )
    return chat_judge(name, connected(name, base_url))


def chat_judge(name: str, model: BaseChatModel) -> Judge:
    """Return a judge that asks a LangChain chat model; its prompt is the authored template, its answer strict JSON."""

    def ask(question: Question) -> JudgeReply | None:
        said: list[tuple[str, str]] = [("user", question.text)]
        for _ in range(2):
            text = _content(model.invoke(said).content)
            reply = parsed_reply(text)
            if reply is not None:
                return reply
            said += [("assistant", text[:2_000]), ("user", _ONCE_MORE)]
        return None

    return Judge(name, ask, asks=True)


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(
            text_of(part.get("text", "") if isinstance(part, dict) else part, 20_000) for part in content
        )
    return text_of(content, 20_000)


def connected(name: str, base_url: str | None = None) -> BaseChatModel:
    """Return a chat model, given as ``provider:name``. Raises JudgeError, and MissingExtraError without its package."""
    try:
        from langchain.chat_models import init_chat_model  # noqa: PLC0415 - loads LangChain, and only models need it
    except ModuleNotFoundError as missing:
        raise MissingExtraError("langchain", "model", "asking a model to judge") from missing
    options: dict[str, Any] = {"base_url": base_url} if base_url else {}
    try:
        model: BaseChatModel = init_chat_model(name, temperature=0, **options)
    except ImportError as missing:
        raise MissingExtraError(missing.name or name, "model", f"asking {name}") from missing
    except Exception as problem:
        raise JudgeError(f"{name} cannot be asked: {text_of(problem)}") from problem
    return model
