"""A first map from a list of tools: every guess is marked, so that it can be confirmed or put right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping

from btm.maps.editing import add_tools, flow
from btm.maps.toolinfo import ToolInfo
from btm.model import Effect
from btm.support.effects import cannot_be_undone, name_words
from btm.support.untrusted import cut

SCHEMA_FILE = "fallback-map.schema.json"
"""The name of the schema beside a map: with it editors complete keys and show what they mean."""

_HEAD = f"""\
# yaml-language-server: $schema=./{SCHEMA_FILE}
# A fallback map for btm: what each tool does, and what can stand in for it when it fails.
# 1. Go through the lines marked "guessed" and confirm or correct them; then delete the mark.
# 2. Add fallbacks. `btm map suggest {{file}} --tools ...` proposes some, with reasons.
# 3. `btm map check {{file}} --tools ...` tells what is wrong or missing.
version: 1
domain: {{domain}}
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
_PEOPLE = frozenset(
    ("human", "humans", "person", "people", "operator", "support", "representative", "rep", "staff", "manager",
     "supervisor", "specialist", "expert", "team", "helpdesk", "reception", "receptionist", "advisor", "clerk", "oncall")
)  # fmt: skip
_HANDS_OVER = frozenset(
    ("transfer", "escalate", "handoff", "handover", "hand", "contact", "connect", "ask", "talk", "forward",
     "route", "page", "involve", "speak", "consult", "summon")
)  # fmt: skip
_REPAIRS = re.compile(
    r"^(refresh|renew|reauth\w*|re_?login|log_?in|authenticate|reconnect)(_|$|[A-Z])|"
    r"^(get|new|create)_?(access_?)?(token|session)$",
    re.IGNORECASE,
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


def hands_over(name: str) -> bool:
    """Guess from its name whether a tool hands the conversation to a person."""
    words = name_words(name)
    verbs = [place for place, word in enumerate(words) if word in _HANDS_OVER]
    if words[:1] == ("escalate",):
        return True
    if not verbs:
        return False
    after = words[verbs[0] + 1 :]
    # Agents of software are called and asked as well: only who is talked to is a person.
    talks = words[verbs[0]] in ("talk", "speak", "contact", "connect", "escalate")
    return any(word in _PEOPLE or (talks and word in ("agent", "agents")) for word in after)


def _facts(tool: ToolInfo) -> Mapping[str, str]:
    effect, why = tool.effect()
    facts: dict[str, str] = {}
    if hands_over(tool.name):
        facts["role"] = "escalation  # guessed from its name"
    elif _REPAIRS.search(tool.name):
        facts["role"] = "repair  # guessed from its name"
    if not facts or effect is Effect.READ:
        facts["effect"] = f"{effect.value}  # {why}"
    if tool.idempotent and effect is Effect.WRITE:
        facts["idempotent"] = "true  # its idempotentHint is true"
    if tool.destructive and effect is Effect.WRITE:
        facts["irreversible"] = "true  # its destructiveHint is true"
    elif effect is Effect.WRITE and "role" not in facts and cannot_be_undone(tool.name):
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
