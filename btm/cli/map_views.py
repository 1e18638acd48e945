"""``btm map suggest``, ``draw`` and ``why``: what could be in a map, and what is."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from btm.cli.map_options import DATABASE, TOOLS, read_rows_option, read_tools_option, write_file
from btm.cli.options import JSON, kind_option
from btm.cli.output import (
    check_writable,
    console,
    emit_json,
    fail,
    on_a_terminal,
    paragraph,
    progress_console,
    table,
)
from btm.errors import BTMError, nearest
from btm.model import ErrorKind

if TYPE_CHECKING:
    from btm.fallback import FallbackMap
    from btm.fallback.graph import Way
    from btm.maps.observed import Observations, ObservedCheck
    from btm.maps.picture import Picture
    from btm.maps.suggest import Suggestion

_FORMATS = {
    ".svg": "svg",
    ".png": "png",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
}


@click.command("suggest", short_help="Propose fallbacks, with reasons.")
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
@click.option(
    "--limit", type=click.IntRange(1, 20), default=3, show_default=True, help="The most for one tool."
)
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
    after a write: that one is proposed as 'verify'.
    """
    from btm.fallback.loading import load_valid, read_map  # noqa: PLC0415
    from btm.maps.editing import add_fallback  # noqa: PLC0415
    from btm.maps.suggest import suggest  # noqa: PLC0415

    try:
        text, path = read_map(file)
        model, _ = load_valid(text, str(path))
        observed = _observed(logs, quiet=as_json) if logs else None
        known, rows = read_tools_option(tools) or (), read_rows_option(database)
        found = suggest(model, known, rows, observed=observed, limit=limit)
        checks = observed.checks(model) if observed is not None else []
        chosen = _chosen(found, accepted)
        for one in chosen:
            note = f"accepted suggestion: {one.reasons[0] if one.reasons else 'looks alike'}. Is the coverage right?"
            text = add_fallback(text, str(path), one.tool, one.fallback, note)
        if chosen:
            load_valid(text, str(path))
            write_file(path, text)
    except BTMError as problem:
        fail(str(problem))
    if as_json:
        listed = [{"accepted": one in chosen, **one.document()} for one in found]
        emit_json(listed + [check_document(check) for check in checks])
        return
    _show_suggestions(found, chosen)
    for check in checks:
        console().print(check_text(check), markup=False, highlight=False)


def _observed(logs: tuple[Path, ...], *, quiet: bool) -> Observations:
    from btm.cli.logs import read_logs  # noqa: PLC0415
    from btm.logs.conversation import Skipped  # noqa: PLC0415
    from btm.maps.observed import Observations  # noqa: PLC0415

    made, skipped = Observations(), list[Skipped]()
    with read_logs(tuple(map(str, logs)), skipped, form=None, strict=False, quiet=quiet) as conversations:
        for conversation in conversations:
            made.add([(recorded.call.tool, recorded.call.arguments) for recorded in conversation.calls])
    return made


def check_document(check: ObservedCheck) -> dict[str, Any]:
    """Return a proposed check as JSON values."""
    verify = {"tool": check.target, "arguments": dict(check.arguments)}
    return {
        "tool": check.tool,
        "target": check.target,
        "reasons": [check.reason],
        "verify": verify,
        "accepted": False,
    }


def check_text(check: ObservedCheck) -> str:
    """Return a proposed check for people: the key to write, and why."""
    arguments = ", ".join(f'{name}: "{template}"' for name, template in check.arguments.items())
    return (
        f"\n{check.tool} could be checked:\n  verify: {{tool: {check.target}, arguments: {{{arguments}}}}}\n"
        f"  {check.reason}; add 'done_when'"
    )


@click.command("draw", short_help="Draw a map.")
@click.argument("file")
@click.option(
    "-o",
    "--output",
    metavar="OUT",
    help="A .svg, .png, .mmd or .dot file.  [default: a tree on the terminal]",
)
@click.option(
    "--format", "form", type=click.Choice(["tree", "svg", "png", "mermaid", "dot"]), help="The form to print."
)
@DATABASE
@JSON
def draw_command(
    file: str, output: str | None, form: str | None, database: str | None, as_json: bool
) -> None:
    """Draw a map: a picture, Mermaid or DOT text, or a tree on the terminal.

    --json prints what would be drawn, boxes and lines; with -o the picture is written too.
    """
    from btm.fallback import FallbackMap  # noqa: PLC0415
    from btm.maps.picture import picture_of  # noqa: PLC0415

    chosen = _form(output, form, as_json)
    try:
        picture = picture_of(FallbackMap.load(file), read_rows_option(database))
        if output is not None:
            write_file(Path(output), _drawn(picture, chosen))
        if as_json:
            emit_json({**picture.document(), "output": output})
        elif output is not None:
            progress_console().print(f"wrote {output}", markup=False)
        elif chosen == "tree":
            from btm.maps.text_pictures import draw_tree  # noqa: PLC0415

            console().print(draw_tree(picture))
        else:
            sys.stdout.buffer.write(_drawn(picture, chosen))
            sys.stdout.flush()
    except BTMError as problem:
        fail(str(problem))


def _form(output: str | None, form: str | None, as_json: bool) -> str:
    """Return what to draw; ends the command where the options do not say, or say two things."""
    if output is not None:
        chosen = form or _FORMATS.get(Path(output).suffix.lower(), "")
        if not chosen:
            fail(f"what is {output!r} to be? Name a .svg, .png, .mmd or .dot file, or give --format")
        check_writable(output)
        return chosen
    if form is not None and as_json:
        fail("--format and --json both want stdout; name a file with -o for the picture")
    if form == "png" and on_a_terminal():
        fail("a PNG is nothing for a terminal; name a file with -o")
    return form or "tree"


@click.command("why", short_help="List the ways round a tool.")
@click.argument("tool")
@click.option(
    "--map", "file", required=True, metavar="FILE", envvar="BTM_MAP", help="The map.  [env: BTM_MAP]"
)
@kind_option("--error", help="Only ways that are offered for this error.")
@JSON
def why_command(tool: str, file: str, error: str | None, as_json: bool) -> None:
    """List the ways round a tool: stand-ins, chains of them and compositions, and what each lacks."""
    from btm.fallback import FallbackMap  # noqa: PLC0415
    from btm.fallback.graph import ways_round  # noqa: PLC0415

    try:
        fallback_map = FallbackMap.load(file)
    except BTMError as problem:
        fail(str(problem))
    if tool not in fallback_map.tools:
        close = nearest(tool, fallback_map.tools)
        fail(f"the map has no tool {tool!r}" + (f"; did you mean {close!r}?" if close else ""))
    ways = ways_round(fallback_map, tool, ErrorKind(error) if error else None)
    if as_json:
        emit_json([_way_document(way) for way in ways])
        return
    out = console()
    if not ways:
        out.print(f"There is no way round {tool}." + _otherwise(fallback_map, tool))
        return
    rows = table("coverage", "way", "lacks", "only for", "cost", numeric=("coverage", "cost"))
    for way in ways:
        hops = " ⇢ ".join(" then ".join(hop) for hop in way.hops)
        rows.add_row(
            f"{way.coverage:.0%}", hops, ", ".join(way.lacks), ", ".join(way.only_for), f"{way.cost:g}"
        )
    out.print(rows)
    out.print(_otherwise(fallback_map, tool).strip())


def _way_document(way: Way) -> dict[str, Any]:
    return {
        "hops": [list(hop) for hop in way.hops],
        "coverage": round(way.coverage, 4),
        "gives": list(way.gives),
        "lacks": list(way.lacks),
        "only_for": list(way.only_for),
        "cost": way.cost,
    }


def _otherwise(fallback_map: FallbackMap, tool: str) -> str:
    entry = fallback_map.tools[tool]
    parts = [f"{repair.tool} repairs it" for repair in entry.repairs]
    parts += [f"{entry.verify.tool} shows whether it happened"] if entry.verify else []
    parts += [f"{fallback_map.escalations()[0]} hands over to a human"] if fallback_map.escalations() else []
    return " Besides: " + "; ".join(parts) + "." if parts else ""


def _show_suggestions(found: list[Suggestion], chosen: list[Suggestion]) -> None:
    from btm.maps.editing import flow  # noqa: PLC0415

    out = console()
    for one in found:
        mark = "  [written]" if one in chosen else ""
        out.print(f"{one.tool} → {one.target}   {one.score:.0%}{mark}", style="bold", markup=False)
        for reason in one.reasons:
            paragraph(out, reason, first="     ", rest="     ")
        # In one line as it stands in a map, to be copied.
        out.print(f"     - {flow(one.fallback)}", style="dim", markup=False, soft_wrap=True)
    if not found:
        out.print(
            "no suggestions: nothing in the names, descriptions, schemas or evidence points to a stand-in"
        )
    elif not chosen:
        first = found[0]
        out.print("\nTo write one into the map, add:", markup=False)
        out.print(f"  --accept {first.tool} {first.target}", markup=False)


def _chosen(found: list[Suggestion], accepted: tuple[tuple[str, str], ...]) -> list[Suggestion]:
    """Suggestions by name: a number could mean another one when the list changes."""
    by_name = {(one.tool, one.target): one for one in found}
    for pair in accepted:
        if pair not in by_name:
            fail(
                f"there is no suggestion {pair[0]} → {pair[1]}; run the command without --accept to see the list"
            )
    return [by_name[pair] for pair in dict.fromkeys(accepted)]


def _drawn(picture: Picture, form: str) -> bytes:
    from btm.maps.svg import draw_svg, to_png  # noqa: PLC0415
    from btm.maps.text_pictures import draw_dot, draw_mermaid, draw_tree  # noqa: PLC0415

    if form == "png":
        return to_png(draw_svg(picture))
    if form == "tree":
        from rich.console import Console  # noqa: PLC0415

        plain = Console(width=120, color_system=None)
        with plain.capture() as captured:
            plain.print(draw_tree(picture))
        return captured.get().encode()
    return {"svg": draw_svg, "mermaid": draw_mermaid, "dot": draw_dot}[form](picture).encode()
