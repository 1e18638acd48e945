"""``btm map``: write, check and look at fallback maps."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from btm.cli.output import FOUND, USAGE, console, emit_json, fail, progress_console, table
from btm.errors import BTMError, nearest
from btm.model import ErrorKind

if TYPE_CHECKING:
    from btm.fallback import FallbackMap
    from btm.mapping.evidence import Row
    from btm.mapping.picture import Picture
    from btm.mapping.tools import ToolInfo

_TOOLS = click.option(
    "--tools",
    metavar="SOURCE",
    help="The real tools: module:attribute (a list of LangChain tools or functions, or a function that returns one; "
    "the module is imported), or a JSON file (OpenAI tools, MCP tools/list, OpenAPI).",
)
_DATABASE = click.option("--db", "database", metavar="FILE", help="A database that btm learned into.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
_FORMATS = {
    ".svg": "svg",
    ".png": "png",
    ".mmd": "mermaid",
    ".mermaid": "mermaid",
    ".dot": "dot",
    ".gv": "dot",
}


@click.group("map")
def map_group() -> None:
    """Write, check and look at fallback maps. FILE is a path, or the name of a shipped map such as shop."""


@map_group.command("check")
@click.argument("file")
@_TOOLS
@click.option("--strict", is_flag=True, help="Let warnings fail the check too.")
@_JSON
def check_command(file: str, tools: str | None, strict: bool, as_json: bool) -> None:
    """Say what is wrong with a map: exit 0 when nothing is, 1 when something is."""
    from btm.cli.map_report import show_findings, summary  # noqa: PLC0415 - commands load what they need
    from btm.mapping.check import check_map  # noqa: PLC0415
    from btm.mapping.finding import Severity  # noqa: PLC0415

    try:
        findings, model = check_map(file, _read_tools(tools))
    except BTMError as problem:
        fail(str(problem))
    errors = sum(1 for f in findings if f.severity is Severity.ERROR)
    warnings = sum(1 for f in findings if f.severity is Severity.WARNING)
    failed = bool(errors or (strict and warnings))
    if as_json:
        document = {
            "file": file,
            "ok": not failed,
            "errors": errors,
            "warnings": warnings,
            "tools": len(model.tools) if model else None,
            "findings": [finding.document() for finding in findings],
        }
        emit_json(document)
    else:
        out = console()
        show_findings(findings, out)
        size = f", {len(model.tools)} tools" if model else ""
        out.print(f"{file}{size}: {summary(findings)}")
    raise SystemExit(FOUND if failed else 0)


@map_group.command("init")
@click.option("--tools", required=True, metavar="SOURCE", help="The real tools; see `btm map check --help`.")
@click.option(
    "-o", "--output", metavar="OUT.yaml", help="Where to write; an existing map gets the tools it lacks."
)
@click.option("--domain", help="The map's domain.  [default: the output file's name]")
@_JSON
def init_command(tools: str, output: str | None, domain: str | None, as_json: bool) -> None:
    """Write a first map from a list of tools, with every guess marked.

    An existing map keeps all that it says, comments too: only the tools that it does not have yet are added.
    """
    from btm.authored import read_text  # noqa: PLC0415
    from btm.fallback import FallbackMap  # noqa: PLC0415
    from btm.mapping.init import extend_map, new_map  # noqa: PLC0415

    try:
        found = _read_tools(tools) or ()
        path = Path(output) if output else None
        if path is not None and path.exists():
            present = FallbackMap.load(path).tools
            text, added = extend_map(read_text(path), str(path), found, present)
        else:
            name = domain or (path.stem if path else "my-domain")
            text, added = (
                new_map(found, name, path.name if path else "map.yaml"),
                tuple(t.name for t in found),
            )
        if path is not None:
            _write(path, text)
    except BTMError as problem:
        fail(str(problem))
    if as_json:
        emit_json({"file": output, "added": list(added), "text": text if path is None else None})
    elif path is None:
        sys.stdout.write(text)
    else:
        console().print(
            f"{path}: {len(added)} tools added. Next: go through the guesses, then btm map suggest {path}"
        )


@map_group.command("suggest")
@click.argument("file")
@_TOOLS
@_DATABASE
@click.option(
    "--limit", type=click.IntRange(1, 20), default=3, show_default=True, help="The most for one tool."
)
@click.option("--accept", "accepted", metavar="N,M,...", help="Write these numbers of the list into the map.")
@_JSON
def suggest_command(
    file: str, tools: str | None, database: str | None, limit: int, accepted: str | None, as_json: bool
) -> None:
    """Propose fallbacks with reasons; nothing is written unless you accept it by number."""
    from btm.authored import read_text  # noqa: PLC0415
    from btm.fallback.loading import load_valid, read_map  # noqa: PLC0415
    from btm.mapping.editing import add_fallback  # noqa: PLC0415
    from btm.mapping.suggest import suggest  # noqa: PLC0415

    try:
        text, path = read_map(file)
        model, _ = load_valid(text, str(path))
        found = suggest(model, _read_tools(tools) or (), _read_rows(database), limit=limit)
        chosen = _numbers(accepted, len(found))
        for number in chosen:
            one = found[number - 1]
            reason = one.reasons[0] if one.reasons else "looks alike"
            note = f"accepted suggestion: {reason}; is the coverage right?"
            text = add_fallback(text, str(path), one.tool, one.fallback, note)
        if chosen:
            load_valid(text, str(path))
            _write(path, text)
            read_text(path)
    except BTMError as problem:
        fail(str(problem))
    if as_json:
        numbered = [{"number": n, "accepted": n in chosen, **s.document()} for n, s in enumerate(found, 1)]
        emit_json(numbered)
        return
    _show_suggestions(found, chosen, file)


@map_group.command("draw")
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
@_DATABASE
def draw_command(file: str, output: str | None, form: str | None, database: str | None) -> None:
    """Draw a map: a picture, Mermaid or DOT text, or a tree on the terminal."""
    from btm.fallback import FallbackMap  # noqa: PLC0415
    from btm.mapping.picture import picture_of  # noqa: PLC0415

    chosen = form or (_FORMATS.get(Path(output).suffix.lower(), "") if output else "tree")
    if not chosen:
        fail(f"what is {output!r} to be? Name a .svg, .png, .mmd or .dot file, or give --format")
    try:
        picture = picture_of(FallbackMap.load(file), _read_rows(database))
        if chosen == "tree" and output is None:
            from btm.mapping.text_pictures import draw_tree  # noqa: PLC0415

            console().print(draw_tree(picture))
            return
        drawn = _drawn(picture, chosen)
    except BTMError as problem:
        fail(str(problem))
    if output is None:
        sys.stdout.buffer.write(drawn)
        sys.stdout.flush()
    else:
        _write(Path(output), drawn)
        progress_console().print(f"wrote {output}")


@map_group.command("schema")
def schema_command() -> None:
    """Print the JSON Schema of the format, for editors.

    With it in fallback-map.schema.json, this first line gives a map completion in editors with a YAML language
    server:

    \b
    # yaml-language-server: $schema=./fallback-map.schema.json
    """
    from btm.fallback.schema import json_schema  # noqa: PLC0415

    emit_json(json_schema())


@map_group.command("why")
@click.argument("tool")
@click.option(
    "--map", "file", required=True, metavar="FILE", envvar="BTM_MAP", help="The map.  [env: BTM_MAP]"
)
@click.option(
    "--error", "kind", type=click.Choice([k.value for k in ErrorKind]), help="Only ways offered for it."
)
@_JSON
def why_command(tool: str, file: str, kind: str | None, as_json: bool) -> None:
    """List the ways round a tool: stand-ins, chains of them and compositions, and what each lacks."""
    from btm.fallback import FallbackMap  # noqa: PLC0415
    from btm.mapping.why import ways_round  # noqa: PLC0415

    try:
        fallback_map = FallbackMap.load(file)
    except BTMError as problem:
        fail(str(problem))
    if tool not in fallback_map.tools:
        close = nearest(tool, fallback_map.tools)
        fail(f"the map has no tool {tool!r}" + (f"; did you mean {close!r}?" if close else ""))
    ways = ways_round(fallback_map, tool, ErrorKind(kind) if kind else None)
    if as_json:
        emit_json([way.document() for way in ways])
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


def _otherwise(fallback_map: FallbackMap, tool: str) -> str:
    entry = fallback_map.tools[tool]
    parts = [f"{repair.tool} repairs it" for repair in entry.repairs]
    parts += [f"{entry.verify.tool} shows whether it happened"] if entry.verify else []
    parts += [f"{fallback_map.escalations()[0]} hands over to a human"] if fallback_map.escalations() else []
    return " Besides: " + "; ".join(parts) + "." if parts else ""


def _show_suggestions(found: list[Any], chosen: list[int], file: str) -> None:
    from btm.mapping.editing import flow  # noqa: PLC0415

    out = console()
    for number, one in enumerate(found, 1):
        mark = "  [written]" if number in chosen else ""
        out.print(f"{number}. {one.tool} → {one.target}   {one.score:.0%}{mark}", style="bold", markup=False)
        for reason in one.reasons:
            out.print(f"     {reason}", markup=False)
        out.print(f"     - {flow(one.fallback)}", style="dim", markup=False)
    if not found:
        out.print(
            "no suggestions: nothing in the names, descriptions, schemas or evidence points to a stand-in"
        )
    elif not chosen:
        out.print(f"\nTo write some of them into the map: btm map suggest {file} --accept 1,3", markup=False)


def _numbers(accepted: str | None, count: int) -> list[int]:
    if not accepted:
        return []
    parts = [part.strip() for part in accepted.split(",") if part.strip()]
    if not all(part.isdecimal() and 1 <= int(part) <= count for part in parts):
        fail(f"--accept takes numbers from 1 to {count}, such as 1,3")
    return sorted({int(part) for part in parts})


def _drawn(picture: Picture, form: str) -> bytes:
    from btm.mapping.svg import draw_svg, to_png  # noqa: PLC0415
    from btm.mapping.text_pictures import draw_dot, draw_mermaid, draw_tree  # noqa: PLC0415

    if form == "png":
        return to_png(draw_svg(picture))
    if form == "tree":
        from rich.console import Console  # noqa: PLC0415

        plain = Console(width=120, color_system=None)
        with plain.capture() as captured:
            plain.print(draw_tree(picture))
        return captured.get().encode()
    return {"svg": draw_svg, "mermaid": draw_mermaid, "dot": draw_dot}[form](picture).encode()


def _read_tools(source: str | None) -> tuple[ToolInfo, ...] | None:
    if source is None:
        return None
    from btm.mapping.tools import read_tools  # noqa: PLC0415

    if "" not in sys.path:
        sys.path.insert(0, "")  # module:attribute is looked up from where the command runs
    return read_tools(source)


def _read_rows(database: str | None) -> list[Row]:
    if database is None:
        return []
    from btm.mapping.evidence import rows_of  # noqa: PLC0415

    return rows_of(database)


def _write(path: Path, content: str | bytes) -> None:
    try:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    except OSError as problem:
        sys.stderr.write(f"btm: {path} cannot be written: {problem.strerror or problem}\n")
        raise SystemExit(USAGE) from problem
