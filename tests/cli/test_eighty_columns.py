"""On a terminal of 80 columns every table has a line a row, and no line is folded by chance."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from chat_kit import TIMEOUT, conversation
from database_kit import live, run, write_map
from rich.console import Console


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btm.cli.output._PIPE_WIDTH", 80)


def lines_of(*arguments: str | Path, code: int = 0) -> list[str]:
    result = run(*arguments)
    assert result.exit_code == code, result.output
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert max(map(len, lines)) <= 80
    return lines


TROUBLES = (TIMEOUT, "Error: order not found", "Error: 503 service unavailable")

TOOLS = ("search_onestop_flight", "update_the_delivery_address_of_an_order")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "chats.jsonl"
    rows = (conversation(n, *([TROUBLES[n % 3]] * 5), "fine", tool=TOOLS[bool(n % 3)]) for n in range(60))
    path.write_text("".join(rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", ["calibration", "backtest"])
def test_every_forecaster_has_one_line_a_measure_and_group(command: str, log: Path) -> None:
    lines = lines_of(command, log, code=1)  # the log is so regular that the raw rates foretell it better
    for name in ("btm (pooled)", "shipped priors", "one global rate", "each key's rate", "Beta(1, 1) a key"):
        assert sum(line.startswith(name) for line in lines) in (2, 4)  # a group without attempts is left out
    assert any(line.startswith("one global rate") and " to " in line for line in lines)
    bars = [line for line in lines if "●" in line]
    assert bars
    assert all("%" in line for line in bars)


def test_what_was_advised_has_one_line_an_action(log: Path) -> None:
    lines = lines_of("backtest", log, code=1)
    start = next(n for n, line in enumerate(lines) if line.startswith("advised"))
    end = next(n for n, line in enumerate(lines) if line.startswith("all "))
    assert all(" of " in line or " - " in line or line.endswith("-") for line in lines[start + 1 : end + 1])


def test_every_player_has_one_line() -> None:
    lines = lines_of("regret", "--games", "1", "--incidents", "100")
    players = ("btm", "flat", "shuffled", "rules", "patient rules", "thompson", "informed")
    for player in players:
        (row,) = [line for line in lines if line.startswith(f"{player} ") and "±" in line]
        assert len(row.removeprefix(player).split()) == 9


def test_a_level_of_a_belief_has_one_line(tmp_path: Path) -> None:
    database = live(tmp_path / "btm.db", [True, False])
    given = ("--tool", "get_order", "--error", "timeout", "--db", database, "--map", write_map(tmp_path))
    lines = lines_of("explain", *given)
    assert sum("other transient errors " in line for line in lines) == 1
    assert sum("search_orders in other places " in line for line in lines) == 1


def test_a_kind_of_failure_is_never_broken(tmp_path: Path) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("Error: invalid arguments for order_id\nError: the order is not open\nfine\n")
    lines = lines_of("classify", texts)
    assert any(line.startswith("1   invalid_arguments ") for line in lines)
    assert lines[-1].startswith("3 outcomes: ")


def test_a_name_and_its_number_stay_together(log: Path) -> None:
    lines = lines_of("fit", log, "--dry-run")
    row = next(n for n, line in enumerate(lines) if line.startswith("update_the_delivery_address"))
    said = " ".join(lines[row : row + 3])
    assert "not_found 100" in said
    assert not any(line.strip().isdecimal() for line in lines)


def test_what_was_found_is_a_table_a_finding(log: Path) -> None:
    lines = lines_of("audit", log, "--worst", "1")
    at = lines.index("loop")
    assert lines[at + 1].split() == ["conversation", "step", "tool", "what"]
    rows = "".join(line[:24].strip() for line in lines[at + 2 :])
    assert str(log)[:20] in rows


@pytest.mark.parametrize(
    "arguments", [("audit",), ("calibration",), ("export", "trajectories", "-o", "t.jsonl")]
)
def test_reading_logs_shows_how_far_it_is_on_a_terminal_and_never_with_json(
    arguments: tuple[str, ...], log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(log.parent)
    terminal = io.StringIO()
    console = Console(file=terminal, force_terminal=True, width=80)
    monkeypatch.setattr("btm.cli.logs.progress_console", lambda: console)
    run(*arguments, log, "--json")
    assert terminal.getvalue() == ""
    result = run(*arguments, log)
    assert "60 conversations" in terminal.getvalue()
    assert "\x1b" not in result.stdout
