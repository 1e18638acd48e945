"""``btm failbench``: how an agent treats failures, in five dimensions."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click
import orjson

from btm.cli.options import JSON, agent_options
from btm.cli.output import console, emit_json, fail, interval_bar, paragraph, progress, table, write_file
from btm.errors import BTMError
from btm.lab.names import comma_separated, known_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from btm.lab.failbench import CaseScore, FailureCase, Row


@click.command("failbench")
@click.option("--arms", default="bare,retry3,btm", metavar="A,B,...", help="As in btm eval.")
@agent_options
@click.option("--dimension", "dimensions", multiple=True, metavar="NAME", help="Only these. Repeatable.")
@click.option("--sample", type=click.IntRange(1), metavar="N", help="Every so many-th case, N a dimension.")
@click.option("--transcripts", metavar="FILE.jsonl", help="Write each case's score and transcript there.")
@click.option(
    "--export", "exported", metavar="FILE.jsonl", help="Write the cases (input, target, metadata), and stop."
)
@click.option("--list", "listed", is_flag=True, help="List the cases, and stop.")
@click.option("--check", "checked", is_flag=True, help="Prove that every case measures something, and stop.")
@JSON
def failbench(as_json: bool, listed: bool, checked: bool, exported: str | None, **options: Any) -> None:
    """Measure how an agent treats failures: recognition, recovery, loops, self-checking, idempotency.

    \b
    recognition   the failure is named rightly (arms with btm: by its classifier;
                  others name nothing); what is fine is named fine
    recovery      the task is done although a tool fails once, or for good where
                  there is a way round
    loops         no call that is refused for ever is repeated more than 3 times
    self-checking a wrong value in a good answer is not acted on
    false alarm   the same tasks without the fault are simply done
    idempotency   a write whose answer is lost or unknown happens once

    The same cases at every run; their ids never change within a version.
    """  # noqa: D301 - click reads the backslashes
    from btm.lab.failbench import check, play, rows  # noqa: PLC0415 - the lab loads slowly
    from btm.lab.failbench.play import maker  # noqa: PLC0415

    try:
        which = _which(options["dimensions"], options["sample"])
        if listed or exported:
            _list(which, exported, as_json=as_json)
            return
        if checked:
            _check(list(check(which)), as_json=as_json)
            return
        names = _arms(options["arms"])
        agent = _agent(*(options[name] for name in ("agent", "base_url", "model", "api_key_env", "timeout")))
        with progress("playing", "cases") as tell:
            makers = {name: maker(name) for name in names}
            scores = list(play(makers, which, agent=agent, progress=tell))
        if options["transcripts"]:
            _write(options["transcripts"], [_told(score) for score in scores])
    except BTMError as error:
        fail(str(error))
    _show(rows(scores), names, as_json=as_json)


def _arms(text: str) -> tuple[str, ...]:
    from btm.lab.arms import check_arms  # noqa: PLC0415

    return check_arms(comma_separated(text))


def _agent(*asked: Any) -> Any:
    from btm.lab.own_agent import OwnAgent, agent_name  # noqa: PLC0415

    found = agent_name(*asked)
    return OwnAgent(found) if found else None


def _which(dimensions: Sequence[str], sample: int | None) -> tuple[FailureCase, ...]:
    from btm.lab.failbench import Dimension, cases  # noqa: PLC0415

    known = [dimension.value for dimension in Dimension]
    wanted = known_names("dimension", dimensions or known, known)
    found = [case for case in cases() if case.dimension.value in wanted]
    if sample is None:
        return tuple(found)
    taken: list[FailureCase] = []
    for dimension in Dimension:
        here = [case for case in found if case.dimension is dimension]
        step = max(1, len(here) // sample)
        taken += here[::step][:sample]
    return tuple(taken)


def _list(which: Sequence[FailureCase], exported: str | None, *, as_json: bool) -> None:
    if exported:
        _write(exported, [_sample(case) for case in which])
        return
    if as_json:
        emit_json([case.to_json() for case in which])
        return
    rows = [(case.id, f"{case.tool}: {case.text or case.kind or 'nothing'}"[:70]) for case in which]
    console().print(table("id", "what fails", rows=rows))


def _sample(case: FailureCase) -> dict[str, Any]:
    """Return a case as inspect-ai's ``Sample`` and OpenAI's evals have theirs: input, target, metadata."""
    from btm.lab.failbench.cases import task_of  # noqa: PLC0415

    target = list(case.labels) or case.dimension.value
    return {"id": case.id, "input": task_of(case).request, "target": target, "metadata": case.to_json()}


def _write(path: str, lines: Sequence[Any]) -> None:
    write_file(path, b"".join(orjson.dumps(line) + b"\n" for line in lines))


def _told(score: CaseScore) -> dict[str, Any]:
    return {
        "case": score.case, "dimension": score.dimension.value, "arm": score.arm, "passed": score.passed,
        "said": score.said, "transcript": list(score.transcript),
    }  # fmt: skip


def _check(problems: Sequence[str], *, as_json: bool) -> None:
    if as_json:
        emit_json({"sound": not problems, "problems": list(problems)})
    for problem in problems if not as_json else ():
        paragraph(console(), problem, rest="  ", width=100)
    if not problems and not as_json:
        paragraph(console(), "Every case measures something.", width=100)
    if problems:
        raise SystemExit(1)


def _show(found: Sequence[Row], names: Sequence[str], *, as_json: bool) -> None:
    from btm.lab.failbench import VERSION  # noqa: PLC0415
    from btm.lab.failbench.play import overall  # noqa: PLC0415
    from btm.lab.jsonvalue import rounded  # noqa: PLC0415

    if as_json:
        results = [asdict(row) for row in found]
        total = {name: overall(found, name) for name in names}
        emit_json(rounded({"version": VERSION, "results": results, "overall": total}))
        return
    made = table("dimension", "arm", "cases", "rate", "95 %", "")
    for row in found:
        span, bar = f"{row.low * 100:.0f}-{row.high * 100:.0f}", interval_bar(row.low, row.rate, row.high)
        made.add_row(row.dimension, row.arm, str(row.cases), f"{row.rate * 100:.1f} %", span, bar)
    for name in names:
        made.add_row("overall", name, "", f"{overall(found, name) * 100:.1f} %", "", "")
    console().print(made)
    paragraph(
        console(),
        "overall is the mean of the dimensions; self-checking counts for what it exceeds its false alarms by. "
        "The scripted agent is no model: it shows what is between agent and tools.",
        width=100,
    )
