"""What reading and fitting logs are measured against: the same recorded files, parsed and nothing more."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson

FILES = [
    "tau2/airline-qwen2.5-7b.json",
    "tau2/airline-gpt-oss-120b.json",
    "tau2/retail-gpt-4.1.json",
    "tau1/airline-gpt-4o.json",
    "intercode/sql-gpt-3.5.jsonl.gz",
    "intercode/bash-gpt-4.jsonl.gz",
]


def parse_only(path: Path) -> None:
    """The yardstick: the same file, opened, unpacked and parsed with nothing made of it."""
    if path.suffix == ".gz":
        with gzip.open(path) as lines:
            for line in lines:
                orjson.loads(line)
    else:
        orjson.loads(path.read_bytes())
