"""A first map from a list of tools: every guess is marked, so that it can be confirmed or put right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from btm.maps.editing import add_tools, flow
from btm.maps.toolinfo import ToolInfo
from btm.model import Effect
from btm.support.untrusted import cut

_HEAD = """\
# yaml-language-server: $schema=./fallback-map.schema.json
# A fallback map for btm: what each tool does, and what can stand in for it when it fails.
# 1. Go through the lines marked "guessed" and confirm or correct them; then delete the mark.
# 2. Add fallbacks. `btm map suggest {file} --tools ...` proposes some, with reasons.
# 3. `btm map check {file} --tools ...` tells what is wrong or missing.
# `btm map schema > fallback-map.schema.json` gives editors completion through the first line.
version: 1
domain: {domain}
tools:
"""
_EXAMPLE = """\
  # A fallback looks like this:
  #   get_order_details:
  #     effect: read
  #     fallbacks:
  #       - tool: list_user_orders
  #         coverage: partial                  # full | partial | a number up to 1
  #         lacks: [payment_history]
  #         arguments: {user_id: "{{ known.user_id }}"}
  #         pick: "result | selectattr('order_id', 'eq', call.order_id) | first"
"""
_ESCALATIONS = re.compile(
    r"(transfer|escalate|hand_?(off|over)|handoff|contact|talk|connect|ask).*(human|agent|support|operator|person)|^escalate",
    re.IGNORECASE,
)
_REPAIRS = re.compile(
    r"^(refresh|renew|reauth\w*|re_?login|log_?in|authenticate|reconnect)(_|$|[A-Z])|"
    r"^(get|new|create)_?(access_?)?(token|session)$",
    re.IGNORECASE,
)
_IRREVERSIBLE = re.compile(
    r"^(delete|cancel|refund|send|pay|transfer|purchase|book|drop|terminate|wipe|purge)(_|$|[A-Z])"
)


def new_map(tools: Iterable[ToolInfo], domain: str, file: str = "map.yaml") -> str:
    """Return the text of a first map, commented, with every guess marked."""
    found = list(tools)
    head = _HEAD.format(file=file, domain=flow(domain))
    common = _common_sentences(found)
    blocks = [
        "".join(f"  {line}\n" for line in block_of(tool, common).rstrip("\n").split("\n")) for tool in found
    ]
    return head + _EXAMPLE + "".join(blocks)


def extend_map(
    text: str, file: str, tools: Iterable[ToolInfo], present: Iterable[str]
) -> tuple[str, tuple[str, ...]]:
    """Return an existing map with the tools that it does not have yet, and their names; the rest stays as it is.

    ``present`` names the tools that the map has, inherited ones included. Raises FallbackMapError when the text
    cannot be added to.
    """
    known = set(present)
    found = list(tools)
    common = _common_sentences(found)
    blocks = {tool.name: block_of(tool, common) for tool in found if tool.name not in known}
    return add_tools(text, file, blocks), tuple(blocks)


def block_of(tool: ToolInfo, common: frozenset[str] = frozenset()) -> str:
    """Return one tool's entry as YAML, without indentation; sentences in ``common`` are no use as its comment."""
    comment = _first_sentence(tool.description, common)
    lines = [f"{flow(tool.name)}:" + (f"  # {comment}" if comment else "")]
    lines += [f"  {key}: {value}" for key, value in _facts(tool).items()]
    return "\n".join(lines) + "\n"


def _facts(tool: ToolInfo) -> Mapping[str, str]:
    effect, why = tool.effect()
    facts: dict[str, str] = {}
    if _ESCALATIONS.search(tool.name):
        facts["role"] = "escalation  # guessed from its name"
    elif _REPAIRS.search(tool.name):
        facts["role"] = "repair  # guessed from its name"
    if not facts or effect is Effect.READ:
        facts["effect"] = (
            f"{effect.value}  # guessed from {why}" if why == "its name" else f"{effect.value}  # {why}"
        )
    if tool.idempotent and effect is Effect.WRITE:
        facts["idempotent"] = "true  # its idempotentHint is true"
    if tool.destructive and effect is Effect.WRITE:
        facts["irreversible"] = "true  # its destructiveHint is true"
    elif effect is Effect.WRITE and "role" not in facts and _IRREVERSIBLE.match(tool.name):
        facts["irreversible"] = "true  # guessed from its name"
    if tool.properties:
        facts["takes"] = flow(list(tool.takes))
    if tool.returns:
        facts["returns"] = flow(list(tool.returns))
    return facts


def _sentences(description: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s", " ".join(description[:5_000].split()))


def _common_sentences(tools: Iterable[ToolInfo]) -> frozenset[str]:
    """Sentences that three tools or more share: they speak of the whole list, not of one tool."""
    counts = Counter(sentence for tool in tools for sentence in set(_sentences(tool.description)))
    return frozenset(sentence for sentence, count in counts.items() if count >= 3)


def _first_sentence(description: str, common: frozenset[str]) -> str:
    own = [sentence for sentence in _sentences(description) if sentence not in common]
    sentence = own[0].rstrip(".") if own else ""
    shown = "".join(c if c.isprintable() else " " for c in sentence.removeprefix("Tool description: "))
    return cut(shown, 80)
