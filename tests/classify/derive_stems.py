"""Writes into the rule files the beginnings of words by which rules are looked up, derived from their patterns.

    python tests/classify/derive_stems.py

A rule works without its ``stems``: they are then derived when the file is read, which costs a millisecond a rule.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from btm.classify import rules

DATA = Path(rules.__file__).with_name("data")
FILES = {"wording": "rule", "carriers": "carrier", "decision": "sign"}


def derived(text: str, table: str) -> str:
    """Return a rule file's text with the stems of each of its entries."""
    parts = re.split(rf"(?=^\[\[{table}\]\])", text, flags=re.M)
    return "".join(_with_stems(part, table) if part.startswith("[[") else part for part in parts)


def _with_stems(part: str, table: str) -> str:
    entry = tomllib.loads(part)[table][0]
    part = re.sub(r"^stems = .*\n", "", part, flags=re.M)
    if "pattern" not in entry or "cues" in entry or entry.get("where") == "tool":
        return part
    parts = rules.alternatives(entry["pattern"]) if table != "carrier" else [entry["pattern"]]
    stems = " | ".join(" ".join(sorted(rules.stems_of_pattern(part))) for part in parts)
    return re.sub(r"^pattern = ", f'stems = "{stems}"\npattern = ', part, count=1, flags=re.M)


if __name__ == "__main__":
    for name, table in FILES.items():
        path = DATA / f"{name}.toml"
        path.write_text(derived(path.read_text(encoding="utf-8"), table), encoding="utf-8")
