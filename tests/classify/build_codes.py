"""Counts the error codes of cloud services that no rule knows, and writes those that have one meaning.

    python tests/classify/build_codes.py [--write]

Reads the service models that botocore ships (Apache-2.0): the names of their exceptions with their HTTP status, which
are facts of the services' interfaces. A name is kept where every service that has it gives it one kind, by its status
and its "fault", and where the classifier names none by itself. Needs botocore; the data file is
``btm/classify/data/cloud_codes.toml``.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

import botocore

from btm.classify import codes, rules, types
from btm.classify.codes import kind_of, of_status
from btm.model import ErrorKind as K

TARGET = Path(rules.__file__).with_name("data") / "cloud_codes.toml"
VAGUE = frozenset({400, 500})
"""Statuses that say no more than whose fault it was."""


def shapes() -> defaultdict[str, Counter[int]]:
    """Return, for each exception's name, how many services give it which status."""
    found: defaultdict[str, Counter[int]] = defaultdict(Counter)
    for path in sorted(Path(botocore.__file__).parent.glob("data/*/*/service-2.json*")):
        raw = path.read_bytes()
        model = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        for name, shape in model["shapes"].items():
            error = shape.get("error", {})
            if shape.get("exception"):
                code = error.get("code", name)
                found[code.rsplit(".", 1)[-1]][error.get("httpStatusCode", 0)] += 1
    return found


def bare(code: str) -> str:
    """Return a code without case and punctuation and the ending that says that it is one."""
    return codes._SUFFIX.sub("", codes._PUNCTUATION.sub("", code[:80].lower()))


def kind_by(name: str, statuses: Counter[int]) -> K | None:
    """Return the one kind that the statuses of a name mean, or None; vague ones leave it to the words of the name."""
    telling = {status for status in statuses if status and status not in VAGUE}
    kinds = {kind_of(status) for status in telling}
    if len(kinds) != 1 or K.UNKNOWN in kinds:
        return None
    return of_status(telling.pop(), codes.of_code(name)).kind


def main(arguments: list[str]) -> None:
    made_before = frozenset(n for listed in rules.table("cloud_codes").values() for n in listed.split())
    known, unknown, told = 0, Counter[K](), defaultdict[K, set[str]](set)
    for name, statuses in shapes().items():
        if (bare(name) not in made_before and codes.of_code(name) is not None) or types.known_type(
            name
        ) is not None:
            known += 1
            continue
        kind = kind_by(name, statuses)
        if kind is not None:
            told[kind].add(bare(name))
        else:
            unknown[K.UNKNOWN] += 1
    print(f"{known} named by rules, {sum(map(len, told.values()))} by status, {unknown.total()} not told")
    if "--write" in arguments:
        lines = [
            "# Exceptions of cloud services that no rule names, by the kind that their HTTP status means: made by",
            f"# tests/classify/build_codes.py from the service models of botocore {botocore.__version__} (Apache-2.0).",
        ]
        for kind in sorted(told):
            lines += ["", f'{kind} = """', *wrapped(sorted(told[kind])), '"""']
        TARGET.write_text("\n".join(lines) + "\n", encoding="utf-8")


def wrapped(names: list[str]) -> list[str]:
    lines = [""]
    for name in names:
        if len(lines[-1]) + len(name) > 118:
            lines.append("")
        lines[-1] = f"{lines[-1]} {name}".strip()
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
