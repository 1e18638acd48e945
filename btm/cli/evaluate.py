"""``btm eval`` and ``btm demo``: does an agent get further with btm, and by how much?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from btm.cli.evaluation_files import Outputs, output_options
from btm.cli.evaluation_request import apply_preset, request_of
from btm.cli.options import JSON, agent_options
from btm.cli.output import emit_json, fail, progress
from btm.errors import BTMError, EvaluationError

DEMO_DATABASE = "btm-demo.db"

_SCENARIOS_HELP = (
    "clean, retry_works, switch_needed, impossible, mixed (each task drawn into one of the last three), noisy (any fault "
    "on any call, with no promise), or all (the first four). Repeatable or comma-separated.  [default: "
    "retry_works,switch_needed,impossible; mixed in the heterogeneous profile]"
)


@click.command("eval")
@click.option(
    "--domain",
    default="shop",
    help="shop; tau2:retail, tau2:airline, tau2:telecom (extra tau2); bfcl; or your own: my_pkg.envs:ClinicEnv.",
)
@click.option(
    "--mcp",
    metavar="COMMAND",
    help="An MCP server as the domain, with --tasks tasks.yaml: --mcp 'python server.py'.",
)
@click.option("--map", "fallback_map", metavar="MAP", help="A fallback map instead of the domain's own.")
@agent_options
@click.option(
    "--show",
    metavar="ID,...",
    help="With --base-url: tasks that the model sees done before each request, and that are not measured; small models "
    "need two to make calls at all.",
)
@click.option("--scenario", "scenarios", multiple=True, metavar="NAME", help=_SCENARIOS_HELP)
@click.option(
    "--arms",
    default="bare,retry3,btm",
    metavar="A,B,...",
    help="What the agent runs with; --list-arms says which there are.",
)
@click.option(
    "--seed",
    "seeds",
    metavar="N|A..B",
    default="0",
    help="The same seed gives the same run, to the byte. Several (0..4, or 0,3) run one after the other.",
)
@click.option("--rate", type=float, default=0.4, help="Chance that a call is a failing one.")
@click.option(
    "--unseen", is_flag=True, help="noisy: silent faults strike at fields that the map does not declare."
)
@click.option(
    "--noise",
    metavar="NAME,...",
    help="Noise of users and tools besides, in that share of tasks and calls; --list-noise says which there is.",
)
@click.option(
    "--noise-growth",
    metavar="A:B",
    help="Let the noise's share rise in a line from the first task to the last.",
)
@click.option(
    "--preset",
    metavar="NAME",
    help="Settings after a published benchmark: bench2robust, agent-reflex, agentnoise. What you give yourself stays.",
)
@click.option("--fault-kinds", metavar="K,...", help="Inject only these kinds of fault.  [default: all nine]")
@click.option("--max-consecutive", type=int, default=2, help="Faults in a row on one call that heals.")
@click.option(
    "--budget", type=int, help="The most faults in one episode of retry_works.  [default: no bound]"
)
@click.option(
    "--tasks",
    metavar="N|ID,...",
    help="The first N tasks, or these ids (end a single number with a comma); with --mcp a file.  [default: all]",
)
@click.option(
    "--profile",
    default="uniform",
    help="uniform; heterogeneous: tools differ in how they heal, how reliable they are and what they cost; or outage: "
    "a service is down for half of the episodes.",
)
@click.option(
    "--worlds",
    type=click.IntRange(1),
    default=4,
    help="Heterogeneous: how many worlds to average over; the seed is the first one's.",
)
@click.option(
    "--passes",
    metavar="N",
    default="5",
    help="Heterogeneous: how often btm goes through the half of the tasks that it learns on.",
)
@click.option(
    "--contrast",
    metavar="X",
    help="Heterogeneous: how far tools differ, from 0 (all alike: nothing to learn) to 1.  [default: 1]",
)
@click.option(
    "--allowance",
    metavar="A-B",
    help="Heterogeneous: what a task may cost more, in calls for each fault on its path.  [default: 1.5-2.5]",
)
@click.option(
    "--best-fixed", is_flag=True, help="Run every fixed order too, and compare with the best in hindsight."
)
@click.option(
    "--grid",
    is_flag=True,
    help="Heterogeneous: btm against the best fixed order in every combination of --contrast, --allowance and --passes "
    "(lists, separated by commas).  [default: 0,0.4,0.7,1 x 1-1.3,1.5-2.5,2.5-3.5,5-6 x 5]",
)
@click.option("--picture", metavar="FILE.svg", help="With --grid: draw it.")
@click.option(
    "--db", "database", metavar="FILE", help="Keep what the first arm with btm learned in this SQLite file."
)
@output_options
@click.option(
    "--workers",
    type=click.IntRange(1),
    default=1,
    metavar="N",
    help="Run in N processes; the episodes are the same whatever their number.",
)
@click.option(
    "--resume",
    metavar="FILE",
    help="Keep each finished arm there; the same command goes on where it was stopped.",
)
@click.option(
    "--metrics", is_flag=True, help="Say how the arms behave too: help and harm, loops, doubts, tokens."
)
@click.option(
    "--prices", metavar="call=X,token=Y", help="With --metrics or --json: what that costs in money."
)
@click.option("--list-noise", is_flag=True, help="Say which noise and presets there are, and stop.")
@click.option("--list-arms", is_flag=True, help="Say which arms there are, and stop.")
@JSON
def evaluate(
    as_json: bool, list_arms: bool, list_noise: bool, grid: bool, picture: str | None, **options: Any
) -> None:
    """Measure how far an agent gets when its tools fail, with btm and without.

    A scripted agent (no model), or yours, works through a domain's tasks while faults are injected from a seed. Every
    arm meets the same faults on the same tasks. A task is solved when the database is as it should be at the end and the
    user's questions are answered.

    \b
    Columns:
      solved    with its 95 % interval (Wilson's; resampled over worlds and tasks
                where those repeat)
      calls     that reached the tools
      repeats   the same call again after it failed
      doubled   writes that happened once too often
      to human  tasks handed over
      dropped   neither solved nor handed over
    In --json, calls and what stands below it are sums over a row's episodes.

    \b
    Examples:
      btm eval
      btm eval --domain tau2:retail --scenario switch_needed --arms bare,btm
      btm eval --profile heterogeneous --arms btm,btm:priors-only --best-fixed
      btm eval --profile outage --arms bare,btm:no-breaker,btm
      btm eval --seed 0..4 --workers 2 --html report.html --fail-under solved=0.95
      btm eval --grid --worlds 12 --picture grid.svg
    """  # noqa: D301 - click reads the backslashes
    from btm.cli.evaluation_text import show_behaviour, show_evaluation, show_names, show_noise  # noqa: PLC0415 - only this command needs it
    from btm.lab.arms import ARMS  # noqa: PLC0415
    from btm.lab.behaviour import Prices  # noqa: PLC0415
    from btm.lab.own_agent import agent_name  # noqa: PLC0415
    from btm.lab.parallel import evaluate_over  # noqa: PLC0415
    from btm.lab.report import document  # noqa: PLC0415

    if list_arms:
        if as_json:
            emit_json([{"arm": name, "about": about} for name, about in ARMS.items()])
        else:
            show_names("arm", ARMS)
        return
    if list_noise:
        show_noise(as_json=as_json)
        return
    try:
        apply_preset(options)
        outputs, workers = Outputs.take(options), options.pop("workers")
        resume, server = options.pop("resume"), options.pop("mcp")
        if server is not None:
            options |= {"domain": f"mcp:{options['tasks'] or 'tasks.yaml'}|{server}", "tasks": None}
        metrics, priced = options.pop("metrics"), options.pop("prices")
        prices = Prices.read(priced) if priced else None
        options["agent"] = agent_name(
            options["agent"], *(options.pop(name) for name in ("base_url", "model", "api_key_env", "timeout"))
        )
        if grid:
            _grid(options, picture, outputs, as_json)
            return
        if picture is not None:
            raise EvaluationError("--picture draws a grid: it goes with --grid")
        request = request_of(options)
        pieces = workers > 1 or resume is not None
        with progress("evaluating", "pieces of work" if pieces else "episodes") as tell:
            evaluation = evaluate_over(request, workers, tell, resume)
        outputs.write(evaluation)
    except BTMError as error:
        fail(str(error))
    if as_json:
        emit_json(document(evaluation, prices=prices))
    else:
        show_evaluation(evaluation)
        if metrics:
            show_behaviour(evaluation, prices)
    outputs.hold(evaluation)


@click.command("demo")
@click.option("--seed", type=int, default=0, help="The same seed gives the same table.")
@click.option(
    "--db",
    "database",
    default=DEMO_DATABASE,
    metavar="FILE",
    help="Where to keep what was learned; an earlier demo's database is replaced, any other file is not.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the document of 'btm eval --json' instead.")
def demo(seed: int, database: str, as_json: bool) -> None:
    """See btm at work on a small built-in shop: a few seconds, no key, no network.

    The same scripted agent (no model) works through the shop's tasks bare, with three fixed retries, and with btm,
    while its tools fail in the same ways. Then: one incident told step by step, a recovery context as a model would
    get it, and the numbers that were learned.
    """
    from btm.cli.evaluation_text import show_demo  # noqa: PLC0415 - only this command needs it
    from btm.lab.demo import run_demo  # noqa: PLC0415
    from btm.lab.report import document  # noqa: PLC0415

    try:
        with progress("running the demo", "episodes") as tell:
            shown = run_demo(seed, Path(database), tell)
    except BTMError as error:
        fail(str(error))
    if as_json:
        emit_json(document(shown.evaluation))
    else:
        show_demo(shown)


def _grid(options: dict[str, Any], picture: str | None, outputs: Outputs, as_json: bool) -> None:
    from btm.cli.grid import read_allowances, read_contrasts, read_passes, show_grid  # noqa: PLC0415
    from btm.lab.grid import ALLOWANCES, CONTRASTS  # noqa: PLC0415

    if outputs.csv or outputs.junit or outputs.limits:
        raise EvaluationError(
            "--csv, --junit and --fail-under are about episodes: they do not go with --grid"
        )
    contrast, allowance, passes = options["contrast"], options["allowance"], read_passes(options["passes"])
    one_cell = {"contrast": None, "allowance": None, "passes": "1", "profile": "heterogeneous"}
    request = request_of({**options, **one_cell})
    show_grid(
        request,
        read_contrasts(contrast) if contrast is not None else CONTRASTS,
        read_allowances(allowance) if allowance is not None else ALLOWANCES,
        passes,
        picture=picture,
        html=outputs.html,
        as_json=as_json,
    )
