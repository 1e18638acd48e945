from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from btm.cli.evaluate import evaluate
from btm.cli.grid import read_allowances, read_contrasts, read_passes
from btm.errors import EvaluationError
from btm.lab.grid import GRID_ARMS, Cell, run_grid
from btm.lab.grid_picture import draw_grid, grid_page
from btm.lab.request import Request
from btm.lab.scenarios import Scenario

SMALL = Request(scenarios=(Scenario.MIXED,), tasks=6, worlds=2)


@pytest.fixture(scope="module")
def cells() -> tuple[Cell, ...]:
    return run_grid(SMALL, (0.0, 1.0), ((1.5, 2.5),), (1,))


def test_a_grid_has_a_cell_for_every_combination_with_every_arm(cells: tuple[Cell, ...]) -> None:
    assert [(c.contrast, c.allowance, c.passes, c.episodes) for c in cells] == [
        (0.0, (1.5, 2.5), 1, 6),
        (1.0, (1.5, 2.5), 1, 6),
    ]
    assert all(set(c.solved) == set(GRID_ARMS) for c in cells)


def test_a_cell_compares_with_the_order_that_solved_most(cells: tuple[Cell, ...]) -> None:
    for cell in cells:
        most = max(rate for arm, rate in cell.solved.items() if arm.startswith("order:"))
        assert cell.solved[cell.best] == most
        assert cell.against_best.difference == pytest.approx(cell.solved["btm"] - most)


def test_a_cell_says_by_kind_of_fault_what_was_solved_and_of_how_many(cells: tuple[Cell, ...]) -> None:
    for cell in cells:
        assert cell.by_kind
        for row in cell.by_kind:
            assert 0 < row.episodes <= cell.episodes
            assert all(0.0 <= rate <= 1.0 for rate in (row.btm, row.best, row.shuffled, row.informed))


def test_the_picture_shows_every_cell_those_behind_too(cells: tuple[Cell, ...]) -> None:
    drawn = ET.fromstring(draw_grid(cells, "shop"))
    texts = [node.text or "" for node in drawn.iter("{http://www.w3.org/2000/svg}text")]
    for cell in cells:
        assert any(f"{cell.against_best.difference * 100:+.1f}" in text for text in texts)
    assert len([t for t in texts if t.startswith("btm ") and t.endswith("%")]) == len(cells)


def test_the_command_runs_a_grid_draws_it_and_gives_one_document(tmp_path) -> None:  # type: ignore[no-untyped-def]
    picture = tmp_path / "grid.svg"
    options = [
        "--grid",
        "--contrast",
        "1",
        "--allowance",
        "1-1.3",
        "--passes",
        "1",
        "--worlds",
        "1",
        "--tasks",
        "4",
    ]
    result = CliRunner().invoke(evaluate, [*options, "--picture", str(picture), "--json"])
    assert result.exit_code == 0, result.output
    (cell,) = json.loads(result.stdout)["cells"]
    assert cell["allowance"] == [1.0, 1.3]
    assert picture.read_text().startswith("<svg")


def test_a_page_has_the_picture_and_its_numbers(cells: tuple[Cell, ...]) -> None:
    page = grid_page(cells, "shop, seed 0", SMALL)
    assert '<figure class="wide"><svg' in page
    assert "https:" not in page
    for cell in cells:
        assert f"{cell.against_shuffled.difference * 100:+.1f} (" in page


def test_what_is_about_episodes_does_not_go_with_a_grid(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for words in (["--csv", str(tmp_path / "x.csv")], ["--fail-under", "solved=0.9"]):
        result = CliRunner().invoke(evaluate, ["--grid", *words])
        assert result.exit_code == 2
        assert "do not go with --grid" in result.stderr


def test_lists_are_read_and_wrong_ones_named() -> None:
    assert read_contrasts("0,.4,1") == (0.0, 0.4, 1.0)
    assert read_allowances("1-1.3, 5-6") == ((1.0, 1.3), (5.0, 6.0))
    assert read_passes("1,5") == (1, 5)
    for read, text in (
        (read_contrasts, "2"),
        (read_contrasts, "x"),
        (read_allowances, "3-1"),
        (read_passes, "0"),
    ):
        with pytest.raises(EvaluationError):
            read(text)


def test_lists_need_a_grid_and_so_does_a_picture() -> None:
    for options, message in (
        (("--contrast", "0,1"), "only with --grid"),
        (("--picture", "x.svg"), "goes with --grid"),
    ):
        result = CliRunner().invoke(evaluate, options)
        assert result.exit_code == 2
        assert message in result.stderr
