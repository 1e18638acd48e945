"""``btm audit``: what agents did wrong in logs of past conversations, by rule."""

from __future__ import annotations

from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from btm.cli.logs import heard_logs, print_skipped, skipped_rows
from btm.cli.options import FORMAT, JSON, LOGS, STRICT, map_option
from btm.cli.output import FOUND, console, counted, emit_json, listed, table, write_file
from btm.lab.html_page import Section, table_page
from btm.logs.audit import Audit, Audited, Label, annotate
from btm.logs.conversation import Skipped

_WORST = 10
_SHOWN = 3
_BESIDE_TOOLS = 44  # columns for a label and the numbers


@click.command()
@LOGS
@map_option("what writes, what escalates and what was untried")
@FORMAT
@STRICT
@click.option("--worst", type=click.IntRange(0), default=_WORST, help="Conversations to show.")
@click.option("--html", "page", metavar="FILE", help="Write a page of it: one file that needs no other.")
@click.option("--check", is_flag=True, help="Exit with 1 when something was found.")
@JSON
def audit(
    logs: tuple[str, ...],
    map_name: str | None,
    form: str | None,
    strict: bool,
    worst: int,
    check: bool,
    page: str | None,
    as_json: bool,
) -> None:
    """Find loops, risky repetitions of writes, failures built upon, and premature escalations in LOGS.

    loop: the same call more than 3 times. idempotency_risk: a write that adds up (create, send, pay, book, ..., or by
    the map) made again with the same arguments. cascade: another tool's write while a failed step stood open.
    premature_escalation: handed to a human while something was untried.
    """
    done = Audit()
    skipped: list[Skipped] = []
    reading = heard_logs(logs, map_name, skipped, form=form, strict=strict, quiet=as_json)
    with reading as (fallback_map, heard):
        for conversation, told in heard:
            done.add(conversation, told, annotate(told, fallback_map))
    if page is not None:
        _write(page, logs, done, worst)
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


def _write(page: str, logs: tuple[str, ...], done: Audit, worst: int) -> None:
    """Write what was found as a page."""
    totals = [
        (str(label), f"{done.counts[label]:,}", f"{done.conversations_with(label):,}") for label in Label
    ]
    sections = [Section("In all", ("label", "times", "conversations"), totals)]
    for label in Label:
        rows = [
            (audited.source, str(found.step), found.tool, found.detail)
            for audited in done.worst_of(label, worst)
            for found in audited.annotations
            if found.label is label
        ]
        if rows:
            sections.append(Section(str(label), ("conversation", "step", "tool", "what"), rows))
    read = f"{counted(done.conversations, 'conversation')}, {counted(done.calls, 'answered call')}"
    about = f"{read}; something was found in {len(done.found):,}."
    write_file(page, table_page("What was found in the logs", about, sections, {"logs": ", ".join(logs)}))


def _print(done: Audit, skipped: list[Skipped], worst: int) -> None:
    out = console()
    read = f"{counted(done.conversations, 'conversation')}, {counted(done.calls, 'answered call')}"
    out.print(f"{read}; something was found in {len(done.found):,}\n")
    shown = table("label", ">times", ">conversations", "most at")
    for label in Label:
        tools = [(n, tool) for (given, tool), n in done.tools.items() if given is label]
        top = (f"{escape(tool)} {n:,}" for n, tool in sorted(tools, reverse=True)[:3])
        most = listed(top, out.width - _BESIDE_TOOLS)
        shown.add_row(label, f"{done.counts[label]:,}", f"{done.conversations_with(label):,}", most)
    out.print(shown)
    for label in Label:
        if done.counts[label] and worst:
            out.print()
            _print_finding(label, done, worst, out)
    if skipped:
        out.print()
        print_skipped(skipped, len(skipped), out)


def _print_finding(label: Label, done: Audit, worst: int, out: Console) -> None:
    """Print one table: where a label was given, the conversations with most of it first."""
    shown = table("conversation", ">step", "tool", "what", title=str(label))
    for audited in done.worst_of(label, worst):
        given = [annotation for annotation in audited.annotations if annotation.label is label]
        for place, annotation in enumerate(given[:_SHOWN]):
            where = _where(audited) if not place else ""
            shown.add_row(where, str(annotation.step), escape(annotation.tool), escape(annotation.detail))
        if len(given) > _SHOWN:
            shown.add_row("", "", "", f"and {len(given) - _SHOWN:,} more")
    out.print(shown)


def _where(audited: Audited) -> str:
    reward = "" if audited.reward is None else f", reward {audited.reward:g}"
    return escape(f"{audited.source}{reward}")
