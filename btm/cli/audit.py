"""``btm audit``: what agents did wrong in logs of past conversations, by rule."""

from __future__ import annotations

import time
from typing import Any

import click

from btm.cli.output import FOUND, console, emit_json, table
from btm.cli.skipped import print_skipped, skipped_rows
from btm.fallback import FallbackMap
from btm.traces.audit import Audit, Audited, Label, annotate
from btm.traces.conversation import Skipped
from btm.traces.listening import Listener
from btm.traces.reading import read_conversations

_WORST = 10
_SHOWN = 4


@click.command()
@click.argument("logs", nargs=-1, required=True, metavar="LOGS...")
@click.option(
    "--map",
    "map_name",
    help="A fallback map (path or shipped name): says what writes, what escalates and what was untried.",
)
@click.option("--format", "form", help="The logs' format, instead of telling it from their content.")
@click.option("--strict", is_flag=True, help="Stop at the first piece of a log that cannot be read.")
@click.option(
    "--worst", type=click.IntRange(0), default=_WORST, show_default=True, help="Conversations to show."
)
@click.option("--check", is_flag=True, help="Exit with 1 when something was found.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def audit(
    logs: tuple[str, ...],
    map_name: str | None,
    form: str | None,
    strict: bool,
    worst: int,
    check: bool,
    as_json: bool,
) -> None:
    """Find loops, risky repetitions of writes, failures built upon, and premature escalations in LOGS.

    loop: the same call more than 3 times. idempotency_risk: a write that adds up (create, send, pay, book, ..., or by
    the map) made again with the same arguments. cascade: another tool's write while a failed step stood open.
    premature_escalation: handed to a human while something was untried.
    """
    fallback_map = FallbackMap.load(map_name) if map_name else FallbackMap.empty()
    listener = Listener(fallback_map, now=time.time())
    done, skipped = Audit(), []
    for item in read_conversations(logs, format=form, strict=strict):
        if isinstance(item, Skipped):
            skipped.append(item)
        else:
            told = listener.listen(item)
            done.add(item, told, annotate(told, fallback_map))
    if as_json:
        emit_json(_document(done, skipped, worst))
    else:
        _print(done, skipped, worst)
    if check and done.found:
        raise SystemExit(FOUND)


def _document(done: Audit, skipped: list[Skipped], worst: int) -> dict[str, Any]:
    return {
        "conversations": done.conversations,
        "calls": done.calls,
        "labels": {
            label: {"count": done.counts[label], "conversations": done.conversations_with(label)}
            for label in Label
        },
        "annotations": [
            {
                "conversation": a.conversation_id,
                "source": a.source,
                "reward": a.reward,
                **annotation._asdict(),
            }
            for a in done.found
            for annotation in a.annotations
        ],
        "worst": [
            {
                "conversation": a.conversation_id,
                "source": a.source,
                "reward": a.reward,
                "labels": dict(a.labels.most_common()),
            }
            for a in done.worst(worst)
        ],
        "skipped": skipped_rows(skipped),
    }


def _print(done: Audit, skipped: list[Skipped], worst: int) -> None:
    out = console()
    out.print(
        f"{done.conversations:,} conversations, {done.calls:,} answered calls; something was found in {len(done.found):,}"
    )
    shown = table("label", "times", "conversations", "most at", numeric=("times", "conversations"))
    for label in Label:
        tools = [(n, tool) for (given, tool), n in done.tools.items() if given is label]
        most = ", ".join(f"{tool} {n:,}" for n, tool in sorted(tools, reverse=True)[:3])
        shown.add_row(label, f"{done.counts[label]:,}", f"{done.conversations_with(label):,}", most)
    out.print(shown)
    for audited in done.worst(worst):
        _print_one(audited)
    print_skipped(skipped, len(skipped), out)


def _print_one(audited: Audited) -> None:
    out = console()
    reward = "" if audited.reward is None else f", reward {audited.reward:g}"
    out.print(f"\n{audited.source} ({audited.conversation_id}{reward})", style="bold", markup=False)
    for annotation in audited.annotations[:_SHOWN]:
        where = f"step {annotation.step}, {annotation.tool}"
        out.print(f"  {annotation.label} at {where}: {annotation.detail}", markup=False)
    if len(audited.annotations) > _SHOWN:
        out.print(f"  and {len(audited.annotations) - _SHOWN:,} more")
