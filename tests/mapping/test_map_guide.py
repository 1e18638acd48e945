"""docs/write-a-map.md: what the guide shows works as it is shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from btm.cli.map import map_group
from btm.fallback import FallbackMap
from btm.fallback.fields import _FAMILY_KINDS
from btm.fallback.schema import Fallback, MapFile, ToolEntry
from btm.mapping import against, check
from btm.model import ErrorKind, ToolCall
from btm.sandbox import _ENVIRONMENT

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "write-a-map.md").read_text()
MAPS = [block for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if "version:" in block]


@pytest.mark.parametrize("text", MAPS)
def test_every_map_of_the_guide_is_valid(text: str) -> None:
    FallbackMap.from_text(text)


def test_the_guides_composition_does_what_it_says() -> None:
    made = FallbackMap.from_text(MAPS[-1])
    call = ToolCall("get_ticket_by_email", {"email": "a@b"})
    (offer,) = made.candidates(call, None, {})
    then = made.next_step(call, offer, [{"id": 7}], {})
    assert then is not None
    assert then.arguments == {"customer_id": 7}
    assert made.pick_all(call, offer, [{"id": 7}, [{"t": 1}]]) == {"t": 1}


def test_the_guide_names_every_key_filter_kind_code_and_command() -> None:
    for model in (MapFile, ToolEntry, Fallback):
        for name in model.model_fields:
            assert f"`{name}`" in GUIDE or name in ("description", "tool", "via")
    filters = re.search(r"the filters (.*?)\.\n", GUIDE, re.DOTALL)
    assert filters
    assert set(re.split(r"[,\s]+", filters.group(1))) == {
        n for n in _ENVIRONMENT.filters if " " not in n and n != "d"
    }
    for family, kinds in _FAMILY_KINDS.items():
        row = re.search(rf"\| `{family}` \| (.*?) \|", GUIDE)
        assert row
        assert {ErrorKind(k) for k in row.group(1).split(", ")} == kinds
    source = Path(check.__file__).read_text() + Path(against.__file__).read_text()
    for code in re.findall(r'Severity\.\w+,\s*"([a-z-]+)"|severity, "([a-z-]+)"', source):
        assert f"`{''.join(code)}`" in GUIDE
    for command in map_group.commands:
        assert f"btm map {command}" in GUIDE
