"""Reads ``written/*.txt``: answers of tools as a language model imagined that services of all trades word them, labelled.

Each is ``@@ tool effect label source``, then the answer as it came. They teach the second opinion (``fit_opinion.py``);
nothing is measured on them but with their whole file left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

FILES = tuple(sorted((Path(__file__).parent / "written").glob("*.txt")))


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield labelled rows. Raises ValueError for a heading that is none."""
    for number, block in enumerate(path.read_text(encoding="utf-8").split("@@ ")[1:]):
        head, _, value = block.partition("\n")
        tool, effect, label, source = head.split()
        answer: Any = value.strip("\n")
        if answer[:1] in "{[" and number % 3:  # two of three arrive as values, as from a framework
            with suppress(ValueError):
                answer = json.loads(answer)
        yield {
            "id": f"{path.stem}-{number}", "tool": tool, "effect": effect, "label": label, "source": f"{path.stem}/{source}",
            "outcome": {"form": "result", "value": answer, "is_error": None},
        }  # fmt: skip
