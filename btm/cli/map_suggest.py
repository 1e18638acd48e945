"""``btm map suggest``: fallbacks and checks that could be in a map, with reasons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from btm.cli.map_options import DATABASE, TOOLS, read_rows_option, read_tools_option
from btm.cli.options import JSON
from btm.cli.output import console, emit_json, fail, paragraph, write_file
from btm.errors import BTMError

if TYPE_CHECKING:
    from btm.maps.observed import Observations, ObservedCheck
    from btm.maps.suggest import Suggestion


@click.command("suggest", short_help="Propose fallbacks and checks, with reasons.")
@click.argument("file")
@TOOLS
@DATABASE
@click.option(
    "--logs",
    "logs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Logs of conversations, as btm fit reads them: what agents gave to what; may be given several times.",
)
@click.option("--limit", type=click.IntRange(1, 20), default=3, help="The most for one tool.")
@click.option(
    "--accept",
    "accepted",
    nargs=2,
    multiple=True,
    metavar="TOOL TARGET",
    help="Write this suggestion into the map; may be given several times.",
)
@JSON
def suggest_command(
    file: str,
    tools: str | None,
    database: str | None,
    logs: tuple[Path, ...],
    limit: int,
    accepted: tuple[tuple[str, str], ...],
    as_json: bool,
) -> None:
    """Propose fallbacks with reasons; nothing is written but what --accept names.

    With --logs it also finds, by equal values, what a fallback's arguments were, and which read agents looked with
    after a write: that one is proposed as 'verify', and accepted the same way.
    """
    from btm.fallback.loading import load_valid, read_map  # noqa: PLC0415
    from btm.maps.suggest import suggest  # noqa: PLC0415

    try:
        text, path = read_map(file)
        model, _ = load_valid(text, str(path))
        observed = _observed(logs, quiet=as_json) if logs else None
        known, rows = read_tools_option(tools) or (), read_rows_option(database)
        # A fallback has its tool's effect and a check never has: a pair of names means one of them.
        found: list[Suggestion | ObservedCheck] = [
            *suggest(model, known, rows, observed=observed, limit=limit),
            *(observed.checks(model) if observed is not None else ()),
        ]
        chosen = _chosen(found, accepted)
        for one in chosen:
            text = _written(text, str(path), one)
        if chosen:
            load_valid(text, str(path))
            write_file(path, text)
    except BTMError as problem:
        fail(str(problem))
    if as_json:
        emit_json([{"accepted": one in chosen, **one.document()} for one in found])
        return
    _show(found, chosen)


def _observed(logs: tuple[Path, ...], *, quiet: bool) -> Observations:
    from btm.cli.logs import heard_logs  # noqa: PLC0415
    from btm.maps.observed import Observations  # noqa: PLC0415

    made = Observations()
    with heard_logs([*map(str, logs)], None, [], quiet=quiet) as (_, heard):
        for _, told in heard:
            made.add([(call.tool, call.arguments) for call, _, _ in told.heard], known=told.known)
    return made


def _chosen(
    found: list[Suggestion | ObservedCheck], accepted: tuple[tuple[str, str], ...]
) -> list[Suggestion | ObservedCheck]:
    """Suggestions by name: a number could mean another one when the list changes."""
    by_name = {(one.tool, one.target): one for one in found}
    for pair in accepted:
        if pair not in by_name:
            fail(
                f"there is no suggestion {pair[0]} → {pair[1]}; run the command without --accept to see the list"
            )
    return [by_name[pair] for pair in dict.fromkeys(accepted)]


def _written(text: str, file: str, one: Suggestion | ObservedCheck) -> str:
    from btm.maps.editing import add_fallback, add_verify  # noqa: PLC0415
    from btm.maps.suggest import Suggestion  # noqa: PLC0415

    if isinstance(one, Suggestion):
        reason = one.reasons[0] if one.reasons else "looks alike"
        note = f"accepted suggestion: {reason}. Is the coverage right?"
        return add_fallback(text, file, one.tool, one.fallback, note)
    note = (
        f"accepted suggestion: {one.reason}. Add done_when: what in its result shows that the write happened?"
    )
    return add_verify(text, file, one.tool, one.verify, note)


def _show(found: list[Suggestion | ObservedCheck], chosen: list[Suggestion | ObservedCheck]) -> None:
    from btm.maps.editing import flow  # noqa: PLC0415
    from btm.maps.suggest import Suggestion  # noqa: PLC0415

    out = console()
    for one in found:
        written = "  [written]" if one in chosen else ""
        if isinstance(one, Suggestion):
            head, reasons, line = f"{one.score:.0%}", one.reasons, f"- {flow(one.fallback)}"
        else:
            head, reasons, line = "as its check", (one.reason,), f"verify: {flow(one.verify)}"
        out.print(f"{one.tool} → {one.target}   {head}{written}", style="bold", markup=False)
        for reason in reasons:
            paragraph(out, reason, first="     ", rest="     ")
        # In one line as it stands in a map, to be copied.
        out.print(f"     {line}", style="dim", markup=False, soft_wrap=True)
    if not found:
        out.print(
            "no suggestions: nothing in the names, descriptions, schemas, logs or evidence points to a stand-in"
        )
    elif not chosen:
        first = found[0]
        out.print("\nTo write one into the map, add:", markup=False)
        out.print(f"  --accept {first.tool} {first.target}", markup=False)
