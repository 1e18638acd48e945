"""The same answer is named the same in every process, whatever seed its hashes have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROWS = Path(__file__).with_name("strangers.jsonl")
NAMES = (
    "import json, sys; from btm.classify.recorded import classify_row\n"
    "for line in open(sys.argv[1], encoding='utf-8').readlines()[::6]: print(classify_row(json.loads(line)))"
)


def test_outcomes_do_not_depend_on_the_seed_of_hashes() -> None:
    said = [
        subprocess.run(
            [sys.executable, "-c", NAMES, str(ROWS)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert said[0] == said[1]
    assert said[0].count(b"\n") > 200
