"""docs/write-a-map.md: what the guide shows works as it is shown."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from btm.authored.expressions import _ENVIRONMENT
from btm.cli.map import map_group
from btm.fallback import FallbackMap
from btm.fallback.fields import _FAMILY_KINDS
from btm.fallback.schema import Fallback, MapFile, ToolEntry
from btm.maps import against, check
from btm.model import ErrorKind, ToolCall

GUIDE = (Path(__file__).resolve().parents[2] / "docs" / "write-a-map.md").read_text()
CONSOLE = re.findall(r"```console\n(.*?)```", GUIDE, re.DOTALL)
SLIP = re.search(r"```text\n(error.*?)```", GUIDE, re.DOTALL)
MAPS = [block for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL) if "version:" in block]


@pytest.mark.parametrize("text", MAPS)
def test_every_map_of_the_guide_is_valid(text: str) -> None:
    FallbackMap.from_text(text)


AGENT = '''
def get_ticket(ticket_id: str):
    """Get one ticket by its id."""
def search_tickets(query: str, limit: int = 10):
    """Search tickets by text."""
def close_ticket(ticket_id: str, reason: str = ""):
    """Close a ticket."""
def hand_over_to_human(summary: str):
    """Ask a person to take over."""
tools = [get_ticket, search_tickets, close_ticket, hand_over_to_human]
'''


@pytest.fixture
def followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder in which the guide is followed."""
    (tmp_path / "support").mkdir()
    (tmp_path / "support" / "agent.py").write_text(AGENT)
    monkeypatch.chdir(tmp_path)
    for name in ("support", "support.agent"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield tmp_path / "support.yaml"
    for name in ("support", "support.agent"):
        sys.modules.pop(name, None)


def said(command: str) -> str:
    program, group, *arguments = shlex.split(command.partition("#")[0].partition(">")[0])
    assert (program, group) == ("btm", "map")
    result = CliRunner().invoke(map_group, arguments, catch_exceptions=False)
    assert result.exit_code in (0, 1), result.output
    return "\n".join(line.rstrip() for line in result.stdout.strip().splitlines())


def test_who_follows_the_guide_sees_what_it_shows(followed: Path) -> None:
    shown = 0
    for block in CONSOLE:
        if " check " in block:
            followed.write_text(MAPS[1])  # what the guide has its reader write by then
        commands = [line for line in block.splitlines() if line.startswith("$ ")]
        outputs = [said(line.removeprefix("$ ")) for line in commands]
        expected = "\n".join(line for line in block.splitlines() if not line.startswith("$ ")).strip()
        if expected:
            shown += 1
            assert outputs[-1] == expected
        if " init " in block:
            assert followed.read_text().endswith(MAPS[0].partition("tools:\n")[2])
    assert shown == 4
    assert (followed.parent / "support.svg").exists()
    assert SLIP
    followed.write_text(MAPS[1].replace("{query: ", "{qeury: "))
    assert said("btm map check support.yaml --tools support.agent:tools") == SLIP.group(1).strip()


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
