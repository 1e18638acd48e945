"""``btm env``: environments of one's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from btm.cli.options import JSON
from btm.cli.output import FOUND, console, counted, emit_json, paragraph, table

if TYPE_CHECKING:
    from btm.lab.environment_check import EnvironmentReport


@click.group("env")
def env_group() -> None:
    """Look into the environments that agents are evaluated on."""


@env_group.command("check", short_help="Prove an environment before it is used.")
@click.argument("domain")
@click.option(
    "--map", "fallback_map", metavar="MAP", help="A fallback map: a path, or the name of a shipped one."
)
@JSON
def check_command(domain: str, fallback_map: str | None, as_json: bool) -> None:
    """Replay every task of DOMAIN: shop, tau2:retail (airline, telecom), bfcl, or your own as my_pkg.envs:ClinicEnv.

    \b
    The gold calls have to reach the goal, and must not without the last change.
    Two replays have to give the same answers and states; reads may change nothing.
    Every value that a gold call uses has to be said by the user or shown before.
    Then: which tools tasks hang on, what stands in for them, and of how many
    tasks each scenario can be made.

    Exits with 1 where a flaw is found.
    """  # noqa: D301 - click reads the backslashes
    from btm.lab.environment import load_environment  # noqa: PLC0415 - the lab loads slowly
    from btm.lab.environment_check import check_environment  # noqa: PLC0415

    report = check_environment(load_environment(domain, fallback_map))
    if as_json:
        emit_json({**asdict(report), "sound": report.sound})
    else:
        _show(report)
    if not report.sound:
        raise SystemExit(FOUND)


def _show(report: EnvironmentReport) -> None:
    out = console()
    found = [
        ("the gold calls reach the goal", f"{report.gold} of {report.tasks} tasks"),
        ("and do so without their last change", f"{report.cut_short} of {report.writing} (none should)"),
    ]
    if report.unscripted:
        open_ended = "without gold calls: for agents and models"
        found.append((open_ended, f"{report.unscripted} tasks, nothing promised"))
    found += [(f"{name} can be made", f"for {n} of {report.tasks}") for name, n in report.makeable.items()]
    out.print(table("check", "found", rows=found))
    if report.substitutes:
        nothing = "nothing in the map: it cannot be blocked in switch_needed"
        rows = ((tool, ", ".join(names) or nothing) for tool, names in report.substitutes.items())
        out.print()
        out.print(table("tasks hang on", "what stands in", rows=rows))
    out.print()
    for flaw in report.flaws:
        paragraph(out, f"{flaw.check}: {flaw.place}: {flaw.what}", rest="  ", width=100)
    paragraph(
        out, "No flaw was found." if report.sound else f"{counted(len(report.flaws), 'flaw')}.", width=100
    )
