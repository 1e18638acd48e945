"""``btm policy``: check authored rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from btm.cli.options import JSON
from btm.cli.output import FOUND, console, counted, emit_json
from btm.errors import PolicyError

if TYPE_CHECKING:
    from btm.planning.policy import Rule


@click.group("policy")
def policy_group() -> None:
    """Check policies. FILE is a path, or the name of a shipped file such as default."""


@policy_group.command("check", short_help="Say what is wrong with a policy file.")
@click.argument("file")
@JSON
def check_command(file: str, as_json: bool) -> None:
    """Say what is wrong with a policy file, all of it at once, and list the rules that it comes to.

    Exit code 1 says that there is an error.
    """
    from btm.planning.policy import Policies  # noqa: PLC0415 - commands load what they need

    problems: list[str] = []
    rules: tuple[Rule, ...] = ()
    try:
        rules = Policies.load(file).rules
    except PolicyError as error:
        problems = [str(error), *getattr(error, "__notes__", ())]
    if as_json:
        listed = [rule.model_dump(mode="json") for rule in rules]
        emit_json({"file": file, "ok": not problems, "problems": problems, "rules": listed})
    else:
        out = console()
        for problem in problems:
            out.print(f"error {problem}", markup=False)
        for rule in rules:
            does = ", ".join(
                [*(f"forbids {a}" for a in rule.forbid), *([f"requires {rule.require}"] * bool(rule.require))]
            )
            out.print(f"{rule.id} ({rule.level}): {does or 'says'}", markup=False)
        out.print(
            f"{file}: {counted(len(problems), 'error') if problems else counted(len(rules), 'rule')}",
            markup=False,
        )
    raise SystemExit(FOUND if problems else 0)
