from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from btm.cli.main import cli

CONFIG = """{
    "theme": "dark",
    "mcpServers": {
        "shop": {
            "command": "npx",
            "args": ["-y", "shop-server"],
            "env": {"TOKEN": "sk-live-4eC39HqLyjWDarjtT1zdp7dc"}
        },
        "remote": {"type": "http", "url": "https://example.com/mcp"},
        "bare": {"command": "bare-server"}
    }
}
"""


def run(*arguments: str) -> Any:
    return CliRunner().invoke(cli, ["mcp", *arguments])


@pytest.fixture
def config(tmp_path: Path) -> Path:
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps(json.loads(CONFIG), indent=4) + "\n", encoding="utf-8")
    file.chmod(0o600)
    return file


def servers(config: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(config.read_text("utf-8"))["mcpServers"]
    return found


def test_wrapping_puts_btm_in_front_of_every_server_that_is_started_by_a_command(config: Path) -> None:
    result = run("wrap", str(config), "--map", "retail", "--mode", "act")
    assert result.exit_code == 0
    made = servers(config)
    assert made["shop"]["command"] == sys.executable
    assert made["shop"]["args"] == [
        *("-m", "btm", "mcp", "--mode", "act", "--map", "retail", "--"),
        *("npx", "-y", "shop-server"),
    ]
    assert made["bare"]["args"][-2:] == ["--", "bare-server"]
    assert made["remote"] == {"type": "http", "url": "https://example.com/mcp"}
    assert "remote: is reached by a URL and stays as it is" in result.output
    assert config.stat().st_mode & 0o777 == 0o600


def test_a_map_is_read_now_and_named_so_that_it_is_found_from_everywhere(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(config.parent)
    before = config.read_bytes()
    assert run("wrap", str(config), "--map", "own.yaml").exit_code != 0
    assert config.read_bytes() == before
    Path("own.yaml").write_text("version: 1\ndomain: shop\ntools: {}\n", encoding="utf-8")
    assert run("wrap", str(config), "--map", "own.yaml", "--db", "own.db").exit_code == 0
    where = [str(config.parent / "own.yaml"), "--db", str(config.parent / "own.db")]
    assert servers(config)["shop"]["args"][4:7] == where


@pytest.mark.parametrize(
    ("server", "said"),
    [
        ({"command": "btm", "args": ["mcp", "--mode", "act", "--", "npx"]}, "has btm in front already"),
        ({"command": "C:\\x\\btm.exe", "args": ["mcp", "--url", "https://a"]}, "has btm in front already"),
        ({"command": ["node", "a.js"]}, "has a command that is no text"),
        ({"command": "uvx some-server --here"}, "whole line as its command"),
        ({"disabled": True}, "has no command"),
    ],
)
def test_a_server_that_cannot_be_wrapped_says_why(server: dict[str, Any], said: str, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"a": server}}), encoding="utf-8")
    assert said in run("wrap", str(file)).output
    assert servers(file)["a"] == server


def test_a_command_whose_folder_has_a_space_is_wrapped(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    command = "C:\\Program Files\\nodejs\\npx.cmd"
    file.write_text(json.dumps({"mcpServers": {"a": {"command": command}}}), encoding="utf-8")
    run("wrap", str(file))
    assert servers(file)["a"]["args"][-2:] == ["--", command]


def test_the_diff_shows_what_changes_and_no_secret(config: Path) -> None:
    output = run("wrap", str(config)).output
    assert '-            "command": "npx",' in output
    assert "sk-live" not in output


def test_undoing_gives_back_the_file(config: Path) -> None:
    before = servers(config)
    run("wrap", str(config))
    run("wrap", str(config), "--mode", "guard")  # twice changes the options, and is still undone at once
    assert servers(config)["shop"]["args"].count("btm") == 1
    assert run("wrap", str(config), "--undo").exit_code == 0
    before["bare"]["args"] = []
    assert servers(config) == before


def test_undoing_gives_back_every_byte_where_the_servers_have_arguments(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    value = {"servers": {"a": {"type": "stdio", "command": "a", "args": ["1"]}}, "inputs": ["é"]}
    file.write_text(json.dumps(value, indent="\t", ensure_ascii=False), encoding="utf-8")
    before = file.read_bytes()
    run("wrap", str(file))
    assert file.read_bytes() != before
    run("wrap", str(file), "--undo")
    assert file.read_bytes() == before


def test_a_dry_run_changes_nothing(config: Path) -> None:
    before = config.read_bytes()
    assert "-m" in run("wrap", str(config), "--dry-run").output
    assert config.read_bytes() == before


def test_only_the_named_server_is_wrapped_and_a_slip_is_told(config: Path) -> None:
    run("wrap", str(config), "--server", "bare")
    assert servers(config)["shop"]["command"] == "npx"
    assert "did you mean 'shop'?" in run("wrap", str(config), "--server", "shpo").output


def test_what_is_not_there_to_undo_is_exit_code_one(config: Path) -> None:
    assert run("wrap", str(config), "--undo").exit_code == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": 1, // why\n}', ":1:10: "),
        ('{"a": 1, // why\n}', "'-m', 'btm', 'mcp', '--' and the command it has now"),
        ('{"theme": "dark"}', "names no MCP servers"),
        ("[]", "names no MCP servers"),
    ],
)
def test_a_file_that_cannot_be_changed_says_why(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "c.json"
    file.write_text(text, encoding="utf-8")
    result = run("wrap", str(file))
    assert result.exit_code == 2
    assert said in result.output
    assert file.read_text("utf-8") == text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "name the server"),
        (("--url", "https://a", "--", "npx"), "name the server"),
        (("--url", "example.com"), "does not begin with http"),
        (("--server", "npx"), "is not NAME=COMMAND"),
        (("--server", "a=x", "--server", "a=y"), "names 'a' twice"),
        (("--url", "https://a", "--header", "Authorization=NO_SUCH_VARIABLE_X"), "has no variable"),
        (("--header", "A=PATH", "--", "npx"), "--header belongs to --url"),
        (("--mode", "actt", "--", "npx"), "'actt' is not one of"),
    ],
)
def test_wrong_usage_is_told(arguments: tuple[str, ...], said: str) -> None:
    pytest.importorskip("fastmcp", reason="btm mcp needs the extra 'mcp'")
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.output
