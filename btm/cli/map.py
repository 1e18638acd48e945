"""``btm map``: write, check and look at fallback maps."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from btm.cli.map_options import TOOLS, read_tools_option
from btm.cli.map_suggest import suggest_command
from btm.cli.map_views import draw_command, why_command
from btm.cli.options import JSON
from btm.cli.output import FOUND, console, counted, emit_json, fail, paragraph, write_file
from btm.errors import BTMError

_SCHEMA_HELP = """Print the JSON Schema of the format, for editors.

With it in fallback-map.schema.json, this first line gives a map completion in editors with a YAML language server:

\b
# yaml-language-server: $schema=./fallback-map.schema.json
"""


@click.group("map")
def map_group() -> None:
    """Write, check and look at fallback maps. FILE is a path, or the name of a shipped map such as shop."""


@map_group.command("check", short_help="Say what is wrong with a map.")
@click.argument("file")
@TOOLS
@click.option("--strict", is_flag=True, help="Let warnings fail the check too.")
@JSON
def check_command(file: str, tools: str | None, strict: bool, as_json: bool) -> None:
    """Say what is wrong with a map, and with --tools what does not agree with the real tools.

    Exit code 1 says that there is an error, or with --strict a warning; notes never fail the check.
    """
    from btm.cli.map_report import show_findings, summary  # noqa: PLC0415 - commands load what they need
    from btm.maps.check import check_map  # noqa: PLC0415
    from btm.maps.finding import Severity  # noqa: PLC0415

    try:
        findings, model = check_map(file, read_tools_option(tools))
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
        size = f", {counted(len(model.tools), 'tool')}" if model else ""
        out.print(f"{file}{size}: {summary(findings)}", markup=False)
    raise SystemExit(FOUND if failed else 0)


@map_group.command("init", short_help="Write a first map from a list of tools.")
@click.option("--tools", required=True, metavar="SOURCE", help="The real tools; see btm map check --help.")
@click.option(
    "-o", "--output", metavar="OUT.yaml", help="Where to write; an existing map gets the tools it lacks."
)
@click.option("--domain", help="The map's domain.  [default: the output file's name]")
@JSON
def init_command(tools: str, output: str | None, domain: str | None, as_json: bool) -> None:
    """Write a first map from a list of tools, with every guess marked.

    An existing map keeps all that it says, comments too: only the tools that it does not have yet are added.
    """
    from btm.authored.loading import read_text  # noqa: PLC0415
    from btm.fallback import FallbackMap  # noqa: PLC0415
    from btm.fallback.schema import json_schema  # noqa: PLC0415
    from btm.maps.init import SCHEMA_FILE, extend_map, new_map  # noqa: PLC0415

    try:
        found = read_tools_option(tools) or ()
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
            write_file(path, text)
            schema = path.with_name(SCHEMA_FILE)
            if not schema.exists():  # the draft's first line points to it: editors complete at once
                write_file(schema, json.dumps(json_schema(), indent=1) + "\n")
    except BTMError as problem:
        fail(str(problem))
    if as_json:
        emit_json({"file": output, "added": list(added), "text": text if path is None else None})
    elif path is None:
        sys.stdout.write(text)
    else:
        new = (
            f"{counted(len(added), 'tool')} added. Next: go through the guesses, then btm map suggest {path}"
        )
        paragraph(console(), f"{path}: {new}" if added else f"{path} has all of these tools already")


@map_group.command("schema", help=_SCHEMA_HELP, short_help="Print the JSON Schema of the format.")
@click.option("--json", is_flag=True, expose_value=False, help="The schema is JSON with and without it.")
def schema_command() -> None:
    """Print the JSON Schema of the format."""
    from btm.fallback.schema import json_schema  # noqa: PLC0415

    emit_json(json_schema())


for _command in (suggest_command, draw_command, why_command):
    map_group.add_command(_command)
