"""An evaluation for other programs: a row an episode (CSV), a test an episode (JUnit XML), and limits for CI."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from xml.etree import ElementTree as ET

from btm.errors import EvaluationError
from btm.lab.metrics import Episode
from btm.lab.names import no_such
from btm.lab.report import command_line
from btm.lab.request import Evaluation
from btm.lab.scenarios import Scenario

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def under_test(evaluation: Evaluation) -> str:
    """Return the arm that limits and JUnit files are about: the last one that was asked for."""
    return evaluation.request.arms[-1]


def right(episode: Episode) -> bool:
    """Whether an episode ended as it should: solved, or handed over where nothing could solve it."""
    return episode.escalated if episode.scenario == Scenario.IMPOSSIBLE else episode.solved


def _solvable(episodes: Iterable[Episode]) -> list[Episode]:
    return [e for e in episodes if e.scenario != Scenario.IMPOSSIBLE]


METRICS: Mapping[str, tuple[Callable[[Episode], bool], Callable[[Iterable[Episode]], list[Episode]]]] = {
    "solved": (lambda e: e.solved, _solvable),
    "right": (right, list),
}
"""What can have a limit: a share of which episodes. ``solved``: of those that can be; ``right``: of all."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A share of episodes of the arm under test that must be reached."""

    metric: str
    least: float

    @classmethod
    def read(cls, text: str) -> Limit:
        """Read ``solved=0.95``. Raises EvaluationError."""
        name, equals, number = text.partition("=")
        if name not in METRICS:
            raise no_such("metric", name, METRICS)
        try:
            least = float(number)
        except ValueError:
            least = -1.0
        if not equals or not 0 <= least <= 1:
            raise EvaluationError(f"{text!r} has no limit in [0, 1]: expected {name}=0.95")
        return cls(name, least)

    def missed(self, evaluation: Evaluation) -> str:
        """Return what to say where the limit is not reached, ``""`` where it is. No episode reaches no limit."""
        arm = under_test(evaluation)
        good, which = METRICS[self.metric]
        mine = which(e for e in evaluation.episodes if e.arm == arm)
        count = sum(map(good, mine))
        if mine and count / len(mine) >= self.least:
            return ""
        return f"{arm}: {self.metric} {count} of {len(mine)} episodes, under {self.least:g}"


def csv_text(evaluation: Evaluation) -> str:
    """Return a table with a row an episode. What a spreadsheet would take for a formula gets an apostrophe."""
    rows = [_row(e) for e in evaluation.episodes]
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys() if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def _row(episode: Episode) -> dict[str, object]:
    row = {**asdict(episode), "kinds": " ".join(sorted(episode.kinds)), "dropped": episode.dropped}
    return {name: _cell(value) for name, value in row.items()}


def _cell(value: object) -> object:
    if isinstance(value, bool):
        return int(value)
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def junit_xml(evaluation: Evaluation) -> str:
    """Return the arm under test as JUnit XML: a suite a scenario, a test an episode; it fails where not :func:`right`."""
    arm = under_test(evaluation)
    mine = [e for e in evaluation.episodes if e.arm == arm]
    name = _legal(f"btm eval {evaluation.request.domain} {arm}")
    top = ET.Element(
        "testsuites", name=name, tests=str(len(mine)), failures=str(sum(not right(e) for e in mine))
    )
    for scenario in dict.fromkeys(e.scenario for e in mine):
        here = [e for e in mine if e.scenario == scenario]
        failures = str(sum(not right(e) for e in here))
        suite = ET.SubElement(top, "testsuite", name=str(scenario), tests=str(len(here)), failures=failures)
        listed = ET.SubElement(suite, "properties")
        ET.SubElement(listed, "property", name="command", value=_legal(command_line(evaluation.request)))
        for e in here:
            title = e.task_id if e.world == 0 else f"{e.task_id} (world {e.world})"
            case = ET.SubElement(suite, "testcase", classname=f"{name}.{scenario}", name=_legal(title))
            if not right(e):
                ended = "handed over" if e.escalated else "dropped" if e.dropped else "solved"
                kinds = ", ".join(sorted(e.kinds)) or "no fault"
                message = f"{ended} after {e.calls} calls; on its path: {kinds}"
                ET.SubElement(case, "failure", message=message, type=str(ended))
    ET.indent(top)
    return ET.tostring(top, encoding="unicode", xml_declaration=True) + "\n"


def _legal(text: str) -> str:
    """Return a text without the characters that XML cannot hold."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)
