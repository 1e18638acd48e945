"""What people see of an evaluation and of the demo: tables and a story, in 80 to 100 columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from rich.table import Table
from rich.text import Text

from btm.cli.output import compared, console, counted, emit_json, interval_bar, paragraph, percent, table
from btm.lab.behaviour import DEFINITIONS, SHARES, Prices, behaviour
from btm.lab.demo import Demo
from btm.lab.metrics import ALL, Paired, Result
from btm.lab.net import Net, net_of
from btm.lab.noise import NOISE, PRESETS
from btm.lab.noisy import NoiseRow, noise_rows
from btm.lab.outage import OutageRow, outage_of
from btm.lab.own_agent import agent_title
from btm.lab.power import detectable
from btm.lab.report import against_best, command_line, comparisons, summary
from btm.lab.request import HETEROGENEOUS, OUTAGE, UNIFORM, Evaluation
from btm.lab.scenarios import Scenario
from btm.lab.story import Story, lines
from btm.learning.posterior import BetaPosterior
from btm.model import Action, EvidenceKey

_WIDTH = 80
_FINE = 0.05
"""A sample that would show a difference of five points is large enough to say that there is none."""

_WIDTHS = {
    "arm": 14,
    "solved": 6,
    "95 %": 9,
    "calls": 6,
    "repeats": 7,
    "doubled": 7,
    "to human": 8,
    "dropped": 7,
}


def _say(text: str = "", style: str = "") -> None:
    console().print(Text(text, style=style))


def show_names(what: str, abouts: Mapping[str, str]) -> None:
    """Print every name with what it is."""
    console().print(table(what, "what it is", rows=abouts.items()))


def show_noise(*, as_json: bool) -> None:
    """Print every sort of noise with what it is, and every preset with its source."""
    presets = {name: made.source for name, made in PRESETS.items()}
    if as_json:
        emit_json({"noise": dict(NOISE), "presets": presets})
        return
    for what, abouts in (("noise", NOISE), ("preset", presets)):
        show_names(what, abouts)
        _say()


def show_evaluation(evaluation: Evaluation) -> None:
    """Print an evaluation: results, differences, and what was left out."""
    request = evaluation.request
    who = "a scripted agent (no model)" if request.agent is None else agent_title(request.agent)
    _say(f"{request.domain}, seed {request.faults.seed}: {who}, the same faults for every arm")
    rows = [row for row in summary(evaluation) if row.fault_kind is None]
    for number, (scenario, group) in enumerate(groupby(rows, key=lambda row: row.scenario)):
        here = list(group)
        what = "tasks" if request.profile == UNIFORM else "episodes"
        _heading(f"{scenario}: {here[0].episodes} {what}" if scenario != ALL else "all of these together")
        console().print(_results(here, header=number == 0))
    first = request.arms[0]
    differences = [row for row in comparisons(evaluation) if row.b == first]
    if differences:
        _heading(f"against {first}, on the same tasks")
        console().print(_differences(differences))
    if Scenario.NOISY in request.scenarios:
        _heading(f"gained and lost against {first}, by kind of fault on a task's path")
        console().print(_net(net_of(evaluation.episodes, Scenario.NOISY)))
    if request.noise is not None:
        _heading("by noise of the user, what can be solved")
        console().print(_noise_table(noise_rows(evaluation.episodes)))
    if request.profile == OUTAGE:
        _heading("while the service was down")
        console().print(_outage(outage_of(evaluation.episodes)))
    for row in against_best(evaluation) if request.best_fixed else ():
        _heading(f"against the best fixed order in hindsight, {row.scenario}: {row.b.removeprefix('order:')}")
        _say(
            f"{row.a} solved {row.difference * 100:+.1f} points more (95 % {row.low * 100:+.1f} to {row.high * 100:+.1f})"
        )
    _say()
    for note in (*_notes(evaluation, differences), f"Run it again: {command_line(request)}"):
        _wrap(note, "dim", "  ")


def show_behaviour(evaluation: Evaluation, prices: Prices | None) -> None:
    """Print how the arms behaved, a metric a line, and what each means."""
    rows = behaviour(evaluation.episodes, prices)
    _heading("how they behave")
    names = [row.arm for row in rows]
    made = table("", *(f">{name}" for name in names))
    for name in DEFINITIONS:
        values = [getattr(row, name) for row in rows]
        if any(value is not None for value in values):
            made.add_row(name.replace("_", " "), *(_number(name, value) for value in values))
    console().print(made)
    _say()
    for name, about in DEFINITIONS.items():
        _wrap(f"{name.replace('_', ' ')}: {about}", "dim", "  ")


def _number(name: str, value: float | None) -> str:
    if value is None:
        return "-"
    if name in SHARES:
        return percent(value)
    return f"{value:.4f}" if name == "money" else f"{value:g}" if isinstance(value, int) else f"{value:.1f}"


def _results(rows: Iterable[Result], *, header: bool) -> Table:
    made = Table(box=None, pad_edge=False, header_style="dim", show_header=header)
    for name, width in _WIDTHS.items():
        made.add_column(name, min_width=width, no_wrap=True, justify="left" if name == "arm" else "right")
    for row in rows:
        made.add_row(
            row.arm,
            percent(row.success),
            f"{row.low * 100:.0f} to {row.high * 100:.0f}",
            str(row.calls),
            str(row.identical_repeats),
            str(row.double_writes),
            str(row.escalated),
            str(row.dropped),
        )
    return made


def _differences(found: Iterable[Paired]) -> Table:
    rows = ((row.scenario, row.a, *compared(row.difference, row.low, row.high, row.p)) for row in found)
    return table("scenario", "arm", ">solved more", ">95 %", ">p", rows=rows, once=True)


def _net(found: Iterable[Net]) -> Table:
    rows = (
        (
            row.arm,
            row.fault_kind or "any",
            row.episodes,
            row.solved_before,
            row.gained,
            row.lost,
            f"{row.net:+d}",
        )
        for row in found
    )
    columns = (">tasks", ">solved before", ">gained", ">lost", ">net")
    return table("arm", "fault", *columns, rows=rows, once=True)


def _noise_table(found: Iterable[NoiseRow]) -> Table:
    made = table("noise", "arm", ">episodes", ">solved", ">95 %", ">cleanly", ">drop")
    for row in found:
        span = f"{row.low * 100:.0f} to {row.high * 100:.0f}"
        drop = "-" if row.drop is None else f"{row.drop * 100:+.0f} points"
        shares = (percent(row.solved), span, percent(row.trajectory), drop)
        made.add_row(row.noise, row.arm, str(row.episodes), *shares)
    return made


def _outage(found: Iterable[OutageRow]) -> Table:
    rows = (
        (row.arm, f"{row.solved} of {row.episodes}", row.calls, row.dead_calls, f"{row.waited_s:.0f} s")
        for row in found
    )
    return table("arm", ">solved", ">calls", ">of what was down", ">waited for nothing", rows=rows)


def _notes(evaluation: Evaluation, differences: Sequence[Paired]) -> list[str]:
    notes = []
    request = evaluation.request
    if request.profile == HETEROGENEOUS:
        notes.append(
            f"{counted(request.worlds, 'world')}, in each of which btm learned on one half of the tasks in "
            f"{request.passes} {'pass' if request.passes == 1 else 'passes'}; every arm "
            "ran the other half, those with btm from that same evidence, within a budget of calls."
        )
    for scenario, count in evaluation.left_out.items():
        if count:
            notes.append(f"{scenario} cannot be made for {count} of the tasks: they are left out of it.")
    notes += _noise_notes(evaluation)
    notes += _too_few(evaluation, differences)
    if evaluation.unusable:
        notes.append(f"{len(evaluation.unusable)} tasks of the source cannot be used at all.")
    return notes


def _noise_notes(evaluation: Evaluation) -> list[str]:
    request, notes = evaluation.request, []
    if request.preset:
        notes.append(f"Settings: {PRESETS[request.preset].source}.")
    if request.noise is None:
        return notes
    if request.noise.growth is not None:
        first, last = request.noise.growth
        tasks = len({e.task_id for e in evaluation.episodes})
        notes.append(
            f"The share of noise rises from {first:g} by {(last - first) / max(1, tasks - 1):.4g} a task to {last:g}."
        )
    for name, count in evaluation.unmade.items():
        notes.append(
            f"{name} has no place in {count} of the tasks that it was drawn for: they are played without."
        )
    if request.noise.of_users and request.agent is None:
        notes.append(
            "The scripted agent reads no words: only topic_shift gives it more to do. Users' noise is for agents of your "
            "own and chat models."
        )
    return notes


def _too_few(evaluation: Evaluation, differences: Sequence[Paired]) -> list[str]:
    """Say of which differences the sample is too small to tell anything."""
    first = evaluation.request.arms[0]
    unseen: dict[str, list[str]] = {}
    for row in differences:
        told = row.scenario in (ALL, Scenario.IMPOSSIBLE) or not row.low <= 0 <= row.high
        least = 0.0 if told else detectable(evaluation.episodes, row.a, row.b, row.scenario)
        if least > _FINE:
            unseen.setdefault(row.a, []).append(f"{row.scenario} ({least * 100:.0f})")
    alike: dict[str, list[str]] = {}
    for arm, here in unseen.items():
        alike.setdefault(", ".join(here), []).append(arm)
    return [
        f"Too few tasks to tell {', '.join(arms)} from {first} in {here}: in brackets, the smallest true difference in "
        "points that so many tasks mostly show."
        for here, arms in alike.items()
    ]


# -- the demo -----------------------------------------------------------------------------------------------------


def show_demo(demo: Demo) -> None:
    """Print the demo."""
    evaluation = demo.evaluation
    tasks = len({e.task_id for e in evaluation.episodes})
    _wrap(
        f"A scripted agent (no model) works through {tasks} tasks of a small shop while its tools fail, from seed "
        f"{evaluation.request.faults.seed}: alone, with three fixed retries, and with btm in act mode. Each meets the "
        "same faults. Either a repeat heals them, or a tool is blocked and another one has to stand in, or every way "
        "is blocked and a human has to be told."
    )
    _heading("Tasks solved")
    console().print(_scoreboard(evaluation))
    if demo.story is not None:
        _heading("One incident, step by step")
        _tell(demo.story)
    if demo.context is not None:
        _heading(f"What a model would be told about it now (about {demo.context.tokens} tokens)")
        # As it stands: a line that is broken here would not be the line that a model gets.
        console().print(Text(demo.context.text), soft_wrap=True)
    _heading("What was learned: the five numbers with most evidence")
    for key, belief in demo.strongest:
        _posterior(key, belief)
    _heading("Where it is kept")
    _say(f"{demo.database} (SQLite). Look into it with: btm show --db {demo.database}")


def _heading(text: str) -> None:
    _say()
    _say(text, "bold")


def _scoreboard(evaluation: Evaluation) -> Table:
    request = evaluation.request
    rows = {(row.scenario, row.arm): row for row in summary(evaluation) if row.fault_kind is None}
    made = table("", *(f">{arm}" for arm in request.arms))
    for scenario in request.scenarios:
        here = [rows[scenario, arm] for arm in request.arms]
        made.add_row(
            scenario.replace("_", " "), *(_of(round(row.success * row.episodes), row) for row in here)
        )
        if scenario is Scenario.IMPOSSIBLE:
            made.add_row("  and a human was told", *(_of(row.escalated, row) for row in here))
    whole = [rows[ALL, arm] for arm in request.arms]
    made.add_row("calls", *(str(row.calls) for row in whole))
    made.add_row("writes made twice", *(str(row.double_writes) for row in whole))
    return made


def _of(count: int, row: Result) -> str:
    return f"{count} of {row.episodes} {percent(count / row.episodes):>6}"


def _tell(told: Story) -> None:
    _wrap(f"The user: {told.request}", "", "  ")
    _say()
    for number, line in enumerate(lines(told.handled.trail), start=1):
        _wrap(f"{number}. {line.did}", "", "   ")
        _wrap(f"   {line.outcome}", "green" if line.ok else "yellow", "   ")


def _wrap(text: str, style: str = "", indent: str = "") -> None:
    """Print a paragraph in lines of at most ``_WIDTH`` characters; those after the first are indented."""
    paragraph(console(), text, rest=indent, style=style, width=_WIDTH)


def _posterior(key: EvidenceKey, belief: BetaPosterior) -> None:
    _wrap(f"{_what(key)} after {key.kind} of {key.tool}", indent="  ")
    low, high = belief.interval()
    _say(
        f"  {interval_bar(low, belief.mean, high)}  chance {belief.mean:.2f}, "
        f"95 % {low:.2f} to {high:.2f}, tried {belief.n:.0f} times"
    )


def _what(key: EvidenceKey) -> str:
    tries = {1: "", 2: " (2nd try)", 3: " (3rd try or later)"}[key.ordinal]
    words = {
        Action.RETRY: "a repeat",
        Action.REVISE: "other arguments",
        Action.REPAIR: f"a repair with {key.target}",
        Action.SWITCH: f"a switch to {key.target}",
        Action.VERIFY: f"a check with {key.target}",
    }
    return words.get(key.action, str(key.action)) + tries
