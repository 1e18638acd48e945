"""What must not be lost, made double or broken, tried out: ``python tests/soak [--nightly] [--only NAME...]``.

It is bounded and stays on this machine; ``--nightly`` does more of everything. It prints a table in Markdown. The exit code
is 1 when something did not hold.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import hostile
import scenarios

ALL = {
    **scenarios.ALL,
    "killed commands": hostile.killed_commands,
    "outputs": hostile.outputs,
    "secrets": hostile.secrets,
    "bombs": hostile.bombs,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nightly", action="store_true", help="more of everything")
    parser.add_argument("--only", nargs="+", choices=ALL, help="these alone")
    options = parser.parse_args()
    rows = ["| what was done | what had to hold | held |", "|---|---|---|"]
    good = True
    for name in options.only or ALL:
        run = ALL[name]
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            done, must, held = told(run, Path(folder), options.nightly)
        good &= held
        rows.append(f"| {done} | {must} | {'yes' if held else '**no**'} |")
        print(
            f"{name:18} {time.monotonic() - began:6.1f} s  {'held' if held else 'DID NOT HOLD'}: {done}",
            flush=True,
        )
    print("\n".join(rows))
    return 0 if good else 1


def told(
    run: Callable[[Path, bool], tuple[str, str, bool]], folder: Path, nightly: bool
) -> tuple[str, str, bool]:
    try:
        return run(folder, nightly)
    except Exception as error:  # noqa: BLE001 - the others are still run
        return (
            f"{run.__name__.replace('_', ' ')}: {type(error).__name__}: {error}"[:200],
            "no exception",
            False,
        )


if __name__ == "__main__":
    raise SystemExit(main())
