"""The ``btm`` command: parse, call, print. Each command's module is imported when the command is used."""

from __future__ import annotations

import errno
import gc
import io
import logging
import os
import sys
import traceback
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from btm import __version__
from btm.cli.output import FAULT, FOUND, INTERRUPTED, UNREAD, USAGE, fail
from btm.errors import BTMError, UnknownFormatError, did_you_mean

# name -> (module of btm.cli, attribute, one line for the list of commands)
COMMANDS: dict[str, tuple[str, str, str]] = {
    "demo": ("evaluate", "demo", "Run the main job: a shop agent whose tools fail, with and without btm."),
    "eval": ("evaluate", "evaluate", "Measure arms against each other on tasks with injected faults."),
    "env": ("env", "env_group", "Prove an environment of your own before agents are measured on it."),
    "show": ("show", "show", "Show what a database has learned."),
    "explain": ("explain", "explain", "Tell why the plan for an error is what it is, level by level."),
    "context": ("context", "context", "Print the recovery context a model would get for an error."),
    "classify": ("classify", "classify", "Name what went wrong in recorded outcomes."),
    "fit": ("fit", "fit", "Learn from logs of past conversations."),
    "audit": ("audit", "audit", "Find loops, risky repetitions and the like in logs."),
    "export": ("export", "export", "Write logs as failure trajectories, a database as an event log."),
    "calibration": ("calibration", "calibration", "Measure how well learned chances foretell held-out logs."),
    "backtest": ("calibration", "backtest", "Set what btm would have advised against what was done in logs."),
    "regret": (
        "regret",
        "regret",
        "Measure what deciding by learned numbers loses against the best, in simulation.",
    ),
    "failbench": ("failbench", "failbench", "Measure how an agent treats failures, in five dimensions."),
    "placement": ("placement", "placement", "Measure where the context helps your model most."),
    "skills": ("skills", "skills_group", "Mine, measure and export skill cards from logs."),
    "judge": ("judge", "judge_command", "Find calls that seemed to work and did not do what was wanted."),
    "review": ("judge", "review_command", "Decide where judges differ, one call at a time."),
    "variants": ("variants", "variants", "Make variants of failure trajectories, for training."),
    "sft": ("sft", "sft_group", "Build fine-tuning data from recoveries, and check it."),
    "train-env": ("train_env", "train_env_group", "Check an environment for training, and write its rows."),
    "merge": ("merge", "merge", "Add the evidence of databases to one another."),
    "db": ("db", "db_group", "Look after a database: check, back up, forget, compact."),
    "doctor": ("doctor", "doctor", "Say what is wrong with an installation, and how to mend it."),
    "policy": ("policy", "policy_group", "Check policies."),
    "watch": ("watch", "watch", "Show incidents as they happen, and what never failed so before."),
    "map": ("map", "map_group", "Write, check and draw fallback maps."),
    "hook": ("hook", "hook_group", "Answer the hooks of coding agents."),
    "inject": ("inject", "inject_command", "Put faults into the answers of an MCP server."),
    "mcp": ("mcp", "mcp_group", "Put btm in front of an MCP server."),
}


class _Lazy(click.Group):
    """A group that imports a command's module only when the command is run or asked for its help."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()
        except KeyboardInterrupt:
            sys.stderr.write("\nbtm: interrupted\n")
            raise SystemExit(INTERRUPTED) from None
        except BrokenPipeError:
            _drop_output()
            raise SystemExit(UNREAD) from None
        except OSError as problem:
            if ctx.params.get("verbose"):
                raise
            if problem.errno == errno.ENOSPC and problem.filename is None:
                _drop_output()
                fail(f"the output cannot be written: {problem.strerror}")
            where = f"{problem.filename}: " if problem.filename is not None else ""
            fail(f"{where}{problem.strerror or problem}")

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module, attribute, _ = COMMANDS[cmd_name]
        command: click.Command = getattr(import_module(f"btm.cli.{module}"), attribute)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            ctx.fail(f"there is no command {args[0]!r}{did_you_mean(args[0], COMMANDS, '.')}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in COMMANDS.items()])


def _drop_output() -> None:
    """Send what is left of the output nowhere: the interpreter writes it out as it ends, and would fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100, "show_default": True}


@click.command(cls=_Lazy, context_settings=_CONTEXT)
@click.version_option(__version__, prog_name="btm")
@click.option("-v", "--verbose", is_flag=True, help="Show btm's own log, with tracebacks.")
@click.pass_context
def cli(context: click.Context, verbose: bool) -> None:
    """Bayesian tool-memory: agents that survive the failures of their tools.

    With --json a command prints one JSON document and nothing else.
    Exit codes: 0 fine, 1 the check found something, 2 wrong usage or unreadable input.
    """
    context.obj = {"verbose": verbose}
    logging.basicConfig(
        level=logging.INFO if verbose else logging.WARNING, format="btm: %(message)s", stream=sys.stderr
    )


def main() -> None:
    """Run the command line; errors of btm end it with one line and exit code 2."""
    # A database's tens of thousands of keys hold no cycles: to look for some after every 700 took a third of the time.
    gc.set_threshold(100_000, 20, 20)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a terminal that has no bars gets question marks
    try:
        cli.main(prog_name="btm", standalone_mode=True)
    except (BTMError, OSError) as error:
        if "-v" in sys.argv or "--verbose" in sys.argv:
            traceback.print_exception(error)
            raise SystemExit(USAGE) from None
        sys.stderr.write(f"btm: {error}\n")
        for note in getattr(error, "__notes__", ()):
            sys.stderr.write(f"     {note}\n")
        # A log that nothing can be read from is a finding: the command was right, and the log is there.
        raise SystemExit(FOUND if isinstance(error, UnknownFormatError) else USAGE) from None
    except Exception as error:  # noqa: BLE001 - whatever it is, it is no finding of a check
        traceback.print_exception(error)
        sys.stderr.write("btm: this is a fault of btm itself\n")
        raise SystemExit(FAULT) from None
    finally:
        gc.freeze()  # nor is there anything to look for as the interpreter ends


if __name__ == "__main__":
    main()
