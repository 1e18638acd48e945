"""``btm map draw`` and ``why``: what is in a map."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from btm.cli.map_options import DATABASE, read_rows_option
from btm.cli.options import JSON, kind_option
from btm.cli.output import (
    check_writable,
    console,
    emit_json,
    fail,
    on_a_terminal,
    progress_console,
    table,
    write_file,
)
from btm.errors import BTMError, did_you_mean
from btm.model import ErrorKind

if TYPE_CHECKING:
    from btm.fallback import FallbackMap
    from btm.fallback.graph import Way
    from btm.maps.picture import Picture

_FORMATS = {
    ".svg": "svg",
    ".png": "png",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
}


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
        fail(f"the map has no tool {tool!r}{did_you_mean(tool, fallback_map.tools)}")
    ways = ways_round(fallback_map, tool, ErrorKind(error) if error else None)
    if as_json:
        emit_json([_way_document(way) for way in ways])
        return
    out = console()
    if not ways:
        out.print(f"There is no way round {tool}." + _otherwise(fallback_map, tool))
        return
    rows = [
        (
            f"{way.coverage:.0%}",
            " ⇢ ".join(" then ".join(hop) for hop in way.hops),
            ", ".join(way.lacks),
            ", ".join(way.only_for),
            f"{way.cost:g}",
        )
        for way in ways
    ]
    out.print(table(">coverage", "way", "lacks", "only for", ">cost", rows=rows))
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
