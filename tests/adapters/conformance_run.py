"""Run the conformance kit of the adapters with the frameworks that are installed here.

``python tests/adapters/conformance_run.py [NAME,NAME ...]`` prints a table; ``--json`` one JSON document. A framework
named and not installed is a failure.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from conformance_kit import SITUATIONS, FrameworkDriver
from framework_drivers import drivers, is_there

WORKS, IMPOSSIBLE = "works", "not possible"
_LIMIT_S = 90


def verdicts(driver: FrameworkDriver) -> dict[str, str]:
    """Return what became of each situation: ``works``, ``not possible``, or what went wrong."""
    found = {}
    for name, situation in SITUATIONS.items():
        if name in driver.impossible:
            found[name] = IMPOSSIBLE
            continue
        try:
            asyncio.run(asyncio.wait_for(situation(driver), _LIMIT_S))
        except BaseException as error:  # noqa: BLE001 - what a framework ends with is the verdict
            at = traceback.extract_tb(error.__traceback__)[-1]
            found[name] = f"{type(error).__name__}: {error} ({at.line})"[:300]
        else:
            found[name] = WORKS
    return found


def main(arguments: list[str]) -> int:
    """Run what was asked for; 1 if anything went wrong."""
    warnings.simplefilter("ignore")  # the frameworks' own
    logging.disable()
    wanted = {name for given in arguments if not given.startswith("-") for name in given.lower().split(",")}
    named = [d for d in drivers() if not wanted or {d.name.lower(), d.extra} & wanted]
    unknown = wanted - {name for d in named for name in (d.name.lower(), d.extra)}
    if unknown:
        sys.exit(f"no driver is called {', '.join(sorted(unknown))}")
    absent = [f"{d.name} is not installed" for d in named if wanted and not is_there(d)]
    if absent:
        sys.exit("; ".join(absent))
    found = {driver.name: verdicts(driver) for driver in named if is_there(driver)}
    if "--json" in arguments:
        print(json.dumps(found))
    else:
        for name, by_situation in found.items():
            for situation, verdict in by_situation.items():
                print(f"{name:26} {situation:24} {verdict}")
    return int(any(v not in (WORKS, IMPOSSIBLE) for by in found.values() for v in by.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
