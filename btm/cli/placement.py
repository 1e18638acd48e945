"""``btm placement``: where in a model's request btm's context helps most, measured on a model of one's own."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from btm.cli.output import compared, console, emit_json, fail, progress_console, table
from btm.errors import BTMError, EvaluationError
from btm.lab.names import comma_separated

if TYPE_CHECKING:
    from btm.lab.chat.episode import ChatEpisode
    from btm.lab.chat.report import Measured
    from btm.lab.chat.request import PlacementRequest, Server


@click.command("placement")
@click.option(
    "--base-url", required=True, metavar="URL", help="An endpoint of the OpenAI protocol, up to /v1."
)
@click.option("--model", required=True, metavar="NAME", help="The model's name there.")
@click.option(
    "--api-key-env",
    metavar="VAR",
    help="The environment variable that holds the key.  [default: no key is sent that means anything]",
)
@click.option(
    "--tasks",
    default="12",
    metavar="N|SCENARIO=N,...",
    help="Tasks per scenario (clean, retry_works, switch_needed, impossible), for example 6,switch_needed=16.",
)
@click.option("--seed", type=int, default=0, help="Decides the tasks and their faults.")
@click.option("--arms", metavar="A,B,...", help="Measure only these.  [default: all six]")
@click.option(
    "--families",
    metavar="A,B,...",
    help="Draw only these sorts of request: where, email, cancel, credit, errand.  [default: all]",
)
@click.option(
    "--demonstrations/--no-demonstrations",
    "shown",
    default=True,
    help="Show the model two finished requests first; small models need them to make calls at all.",
)
@click.option(
    "--temperature", type=click.FloatRange(0, 2), default=0.0, help="Some reasoning models take only 1."
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(0, min_open=True),
    default=120.0,
    help="Seconds for one answer; an episode with a later one counts as unsolved.",
)
@click.option("--max-tokens", type=click.IntRange(16), default=512, help="Bound of one answer.")
@click.option(
    "--journal", metavar="FILE", help="Keep finished episodes here (JSON lines); the same command goes on."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def placement(as_json: bool, journal: str | None, **options: Any) -> None:
    """Measure on your own model where btm's recovery context helps most.

    The model works as a LangChain agent with btm's middleware on short requests to the built-in shop while a tool
    fails: so that a repeat helps, that another tool has to stand in, that nothing helps, or not at all. Every arm meets
    the same tasks and faults: no message after the error, two neutral last messages (the controls), and btm's context
    as last user message, inside the tool's result, and in the system message.

    \b
    Right: solved; where nothing can work, handed to a human and not claimed done.
    Needs the extra: pip install 'bayesian-tool-memory[model]'
    Costs about 3 requests an episode. Episodes: 6 arms x 4 scenarios x 12 tasks.

    \b
    Examples:
      btm placement --base-url http://127.0.0.1:8080/v1 --model local --tasks 4
      btm placement --base-url https://example.com/v1 --model M --api-key-env KEY
    """  # noqa: D301 - click reads the backslashes
    try:
        measured = _measured(journal, options)
    except BTMError as error:
        fail(str(error))
    if as_json:
        from btm.lab.chat.report import document  # noqa: PLC0415 - only this command needs it

        emit_json(document(measured))
    else:
        show(measured)


def _measured(journal: str | None, options: dict[str, Any]) -> Measured:
    from btm.lab.chat.agents import connect  # noqa: PLC0415 - loads langchain
    from btm.lab.chat.episode_log import EpisodeLog  # noqa: PLC0415
    from btm.lab.chat.probe import probe  # noqa: PLC0415
    from btm.lab.chat.report import Measured  # noqa: PLC0415
    from btm.lab.chat.request import shown_address  # noqa: PLC0415
    from btm.lab.chat.run import measure, plan  # noqa: PLC0415

    request, server = _request(options), _server(options)
    list(plan(request))  # more tasks than there are is told before anything is asked
    kept = None
    if journal is not None:
        told = {"model": server.model, "base_url": shown_address(server.base_url)}
        asked = {"temperature": server.temperature, "max_tokens": server.max_tokens}
        kept = EpisodeLog(journal, {**told, **asked, **request.settings()})
    model = connect(server)
    try:
        warnings = probe(model, request.arms)
    except EvaluationError as error:
        raise EvaluationError(f"{shown_address(server.base_url)}: {error}") from error
    for warning in warnings:
        progress_console().print(f"btm: warning: {warning}", markup=False)
    episodes: list[ChatEpisode] = []
    for episode in measure(request, model, kept):
        episodes.append(episode)
        _tell(episodes, request)
    return Measured(request, server, tuple(episodes), warnings)


def _request(options: dict[str, Any]) -> PlacementRequest:
    from btm.lab.chat.arms import ARMS, check_arms  # noqa: PLC0415
    from btm.lab.chat.request import PlacementRequest, read_families, read_task_counts  # noqa: PLC0415
    from btm.lab.chat.tasks import FAMILIES  # noqa: PLC0415

    arms = tuple(ARMS)
    if options["arms"] is not None:
        arms = check_arms(comma_separated(options["arms"]))
    families = FAMILIES if options["families"] is None else read_families(options["families"])
    tasks = read_task_counts(options["tasks"])
    return PlacementRequest(arms, tasks, options["seed"], options["shown"], families)


def _server(options: dict[str, Any]) -> Server:
    from btm.lab.chat.request import server_of  # noqa: PLC0415

    names = ("base_url", "model", "api_key_env", "timeout_s", "max_tokens", "temperature")
    return server_of(**{name: options[name] for name in names})


def _tell(episodes: list[ChatEpisode], request: PlacementRequest) -> None:
    """Say how far it is, on stderr: one line that is written over on a terminal, a line a task in a pipe."""
    done, last = len(episodes), episodes[-1]
    if not sys.stderr.isatty() and done % len(request.arms) and done < request.episodes:
        return
    of_task = episodes[-len(request.arms) :]
    ends = ", ".join(f"{e.arm} {'right' if e.good else 'wrong'}" for e in of_task)
    text = f"{done} of {request.episodes}: {last.scenario} {last.task_id}: {ends}"
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text[:100]}" + ("\n" if done == request.episodes else ""))
    else:
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


# -- for people ---------------------------------------------------------------------------------------------------


def show(measured: Measured) -> None:
    """Print a measurement as tables."""
    from btm.lab.chat.report import command_line, comparisons, problems, summary  # noqa: PLC0415

    out = console()
    out.print(f"Placement of the recovery context, measured on {measured.server.model}", markup=False)
    out.print(f"seed {measured.request.seed}, the same tasks and faults for every arm\n")
    counts = (">right", ">95 %", ">calls", ">repeats", ">to human")
    arms = (
        (
            row.scenario,
            row.arm,
            f"{round(row.success * row.episodes)} of {row.episodes}",
            f"{row.low * 100:.0f} to {row.high * 100:.0f} %",
            row.calls,
            row.identical_repeats,
            row.escalated,
        )
        for row in summary(measured)
    )
    out.print(table("scenario", "arm", *counts, rows=arms, once=True))
    pairs = (
        (pair.scenario, pair.a, pair.b, *compared(pair.difference, pair.low, pair.high, pair.p))
        for pair in comparisons(measured)
    )
    out.print()
    measures = (">more right", ">95 %", ">p")
    out.print(table("on the same tasks", "arm", "against", *measures, rows=pairs, once=True))
    out.print("\nright: solved; where nothing can work, handed to a human and not claimed done.")
    for problem, times in problems(measured.episodes).items():
        out.print(f"ended early {times} times: {problem}", markup=False)
    for warning in measured.warnings:
        out.print(f"warning: {warning}", markup=False)
    out.print(f"Run it again: {command_line(measured)}", markup=False, soft_wrap=True)
