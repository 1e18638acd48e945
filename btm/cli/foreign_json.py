"""A JSON file of another program: changed in place, shown as a diff, written so that a crash leaves it whole."""

from __future__ import annotations

import difflib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import click

from btm.cli.output import FOUND, fail, replacing
from btm.support.untrusted import redact

_LINE_LIMIT = 400


@dataclass
class ForeignJson:
    """A file with its value, which may be changed; ``before`` is its text as it was read."""

    path: Path
    before: str
    value: Any

    @classmethod
    def read(cls, path: str | Path, *, missing: Any = None, by_hand: str = "") -> Self:
        """Read a file; ``missing`` is the value of one that is not there (None: it must be).

        ``by_hand`` ends the message on one that btm cannot change: what to do there.
        """
        file = Path(path).expanduser()
        try:
            text = file.read_text("utf-8-sig")
        except FileNotFoundError:
            if missing is None:
                fail(f"there is no file {file}")
            return cls(file, "", missing)
        except UnicodeDecodeError:
            fail(f"{file} is not UTF-8 text")
        try:
            value = json.loads(text)
        except json.JSONDecodeError as problem:
            fail(
                f"{file}:{problem.lineno}:{problem.colno}: {problem.msg}; expected JSON without comments: "
                f"btm would lose them, so change this file by hand{by_hand}"
            )
        return cls(file, text, value)

    @property
    def after(self) -> str:
        """The text to write: indented as the file was, with its end."""
        indent = re.search(r"^([ \t]+)\S", self.before, re.MULTILINE)
        end = "\n" if self.before.endswith("\n") or not self.before else ""
        space: str | int = indent[1] if indent else 2
        return json.dumps(self.value, indent=space, ensure_ascii=False) + end

    def diff(self) -> str:
        """Return what changes, with secrets left out; ``""`` where only the layout would."""
        if self.before and json.loads(self.before) == self.value:
            return ""
        lines = difflib.unified_diff(
            self.before.splitlines(),
            self.after.splitlines(),
            str(self.path),
            str(self.path),
            n=1,
            lineterm="",
        )
        return "".join(f"{_shown(line)}\n" for line in lines)

    def write_what_changed(self, *, dry_run: bool) -> None:
        """Print the difference and write the file; exit code 1: nothing to change."""
        diff = self.diff()
        if not diff:
            click.echo("nothing to change", err=True)
            raise SystemExit(FOUND)
        click.echo(diff, nl=False)
        if not dry_run:
            self.write()

    def write(self) -> None:
        """Write the file in one step; who may read it stays."""
        target = self.path.resolve()
        target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target, private=True) as file:
            file.write(self.after.encode())


def _shown(line: str) -> str:
    lead = re.match(r"[-+@ ]*", line)
    start = lead[0] if lead else ""
    return start + redact(line[len(start) :], _LINE_LIMIT)
