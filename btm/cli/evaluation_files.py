"""What ``btm eval`` writes beside its table, and when it ends with 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from btm.cli.options import all_of
from btm.cli.output import FOUND, check_writable, remark, write_file

if TYPE_CHECKING:
    from btm.lab.exports import Limit
    from btm.lab.request import Evaluation

output_options = all_of(
    click.option("--html", metavar="FILE", help="Write the report as one self-contained page."),
    click.option("--csv", metavar="FILE", help="Write a row an episode."),
    click.option("--junit", metavar="FILE", help="Write the last arm's episodes as JUnit XML."),
    click.option(
        "--fail-under",
        "limits",
        multiple=True,
        metavar="METRIC=X",
        help="Exit with 1 where the last arm stays under: solved=0.95 (of the episodes that can be solved), right=0.95 "
        "(of all; right is to hand over what is impossible). Repeatable.",
    ),
)
"""The options of :class:`Outputs`."""


@dataclass(frozen=True)
class Outputs:
    """The files to write and the limits to hold."""

    html: str | None
    csv: str | None
    junit: str | None
    limits: tuple[Limit, ...]

    @classmethod
    def take(cls, options: dict[str, Any]) -> Outputs:
        """Take what belongs here out of a command's options, before any work is done. Raises EvaluationError."""
        limits = options.pop("limits")
        paths = {name: options.pop(name) for name in ("html", "csv", "junit")}
        for path in filter(None, paths.values()):
            check_writable(path)
        if not limits:
            return cls(**paths, limits=())
        from btm.lab.exports import Limit  # noqa: PLC0415 - only with --fail-under

        return cls(**paths, limits=tuple(map(Limit.read, limits)))

    def write(self, evaluation: Evaluation) -> None:
        """Write every file that was asked for."""
        if self.html is not None:
            from btm.lab.html_report import html_report  # noqa: PLC0415 - only where it is asked for

            write_file(self.html, html_report(evaluation))
        if self.csv is None and self.junit is None:
            return
        from btm.lab.exports import csv_text, junit_xml  # noqa: PLC0415 - as above

        for path, make in ((self.csv, csv_text), (self.junit, junit_xml)):
            if path is not None:
                write_file(path, make(evaluation))

    def hold(self, evaluation: Evaluation) -> None:
        """End the command with 1, and say why, where a limit is not reached."""
        missed = [text for limit in self.limits if (text := limit.missed(evaluation))]
        for text in missed:
            remark(text)
        if missed:
            raise SystemExit(FOUND)
