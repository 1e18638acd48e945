"""``btm inject``: the fault injector in front of an MCP server."""

from __future__ import annotations

import asyncio
import logging
import shlex

import click

from btm.cli.mcp import serve_until_closed
from btm.cli.output import fail
from btm.errors import EvaluationError


@click.command("inject")
@click.option("--mcp", "command", metavar="COMMAND", required=True, help="What starts the server, in quotes.")
@click.option("--rate", type=float, default=0.4, help="Chance that a call is a failing one.")
@click.option("--fault-kinds", metavar="K,...", help="Inject only these kinds of fault.  [default: all nine]")
@click.option("--tool", "tools", multiple=True, metavar="NAME", help="Only this tool fails. Repeatable.")
@click.option("--seed", type=int, default=0, help="The same seed, the same faults.")
@click.option("--max-consecutive", type=int, default=2, help="Faults in a row on one call; 0: for good.")
@click.option("--after-calls", type=int, default=0, help="So many calls go through before any fails.")
@click.option(
    "--delay",
    "delay_s",
    type=float,
    default=0.0,
    metavar="SECONDS",
    help="How much longer a failing call takes.",
)
def inject_command(
    command: str,
    rate: float,
    fault_kinds: str | None,
    tools: tuple[str, ...],
    seed: int,
    max_consecutive: int,
    after_calls: int,
    delay_s: float,
) -> None:
    r"""Serve an MCP server's tools on stdin and stdout, with faults in their answers.

    \b
    btm inject --mcp "npx -y @modelcontextprotocol/server-filesystem ."
    btm inject --mcp "python shop.py" --fault-kinds timeout,stale_data --rate 1
    btm mcp -- btm inject --mcp "python shop.py"      # and btm in front of that

    Silent faults are made by the form of an answer's values. A fault that an answer has no place for is left out, and
    said on stderr.
    """
    from btm.lab.faults.around import between  # noqa: PLC0415 - loads the lab
    from btm.lab.faults.plan import RandomFaults  # noqa: PLC0415
    from btm.lab.faults.settings import EQUAL_WEIGHTS, FaultSettings  # noqa: PLC0415
    from btm.lab.faults.settings import fault_kinds as kinds_of  # noqa: PLC0415

    try:
        words = shlex.split(command)
        settings = FaultSettings(
            seed=seed,
            rate=rate,
            weights=dict.fromkeys(kinds_of(fault_kinds), 1.0) if fault_kinds else EQUAL_WEIGHTS,
            max_consecutive=max_consecutive or None,
            tool=tools or None,
            after_calls=after_calls,
            delay_s=delay_s,
        )
    except ValueError as problem:
        fail(f"the command of --mcp cannot be read: {problem}")
    except EvaluationError as problem:
        fail(str(problem))
    if not words:
        fail("--mcp names no command")
    from btm.adapters.mcp import Interposer, Proxy, Upstream  # noqa: PLC0415 - loads the extra

    logging.getLogger("fastmcp").setLevel(logging.ERROR)
    through = Interposer(between(RandomFaults(settings, "mcp")))
    asyncio.run(serve_until_closed(Proxy(None, [Upstream(command=tuple(words))], through)))
