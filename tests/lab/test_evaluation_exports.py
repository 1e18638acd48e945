"""What an evaluation writes for people and programs: a page, a table, JUnit XML, limits; and over several processes."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from btm.cli.main import cli
from btm.errors import EvaluationError
from btm.lab.exports import Limit, csv_text, junit_xml
from btm.lab.html_report import html_report
from btm.lab.intervals import Pairs, mcnemar
from btm.lab.metrics import Episode
from btm.lab.parallel import evaluate_over
from btm.lab.power import detectable, detectable_difference
from btm.lab.request import Evaluation, Request
from btm.lab.runner import evaluate
from btm.lab.scenarios import Scenario

EVIL = "<script>alert(1)</script>\x1b[31m\u202eevil' \"&"
SMALL = Request(tasks=4, arms=("bare", "btm"))


@pytest.fixture(scope="module")
def small() -> Evaluation:
    return evaluate(SMALL)


class Page(HTMLParser):
    """Reads a page strictly enough to see that every tag is closed by itself."""

    VOID = frozenset({"meta", "br", "line", "rect", "path"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []
        self.links: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.links += [str(value) for name, value in attrs if name in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.text += data


def test_the_page_stands_alone(small: Evaluation) -> None:
    text = html_report(small)
    page = Page(text)
    assert page.open == []
    assert page.links == []
    assert "script" not in page.seen
    assert "url(" not in text
    assert page.seen.count("svg") == 5  # three scenarios, all of them, and what btm learned
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    for words in (
        "btm eval --domain shop",
        "Python 3",
        "simulated",
        "timeout",
        "shows from",
    ):
        assert words in page.text
    assert "<svg" not in page.text  # drawn, not written out


def test_the_same_evaluation_gives_the_same_page(small: Evaluation) -> None:
    assert html_report(small) == html_report(small)


def test_foreign_text_is_text(small: Evaluation) -> None:
    evil = replace(
        small, request=replace(SMALL, domain=EVIL, agent=EVIL, fallback_map=EVIL), unusable={EVIL: EVIL}
    )
    text = html_report(evil)
    assert "script" not in Page(text).seen
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "alert(1)" in Page(text).text
    tasks = tuple(replace(e, task_id=EVIL) for e in small.episodes)
    ET.fromstring(junit_xml(replace(evil, episodes=tasks)))
    rows = list(
        csv.DictReader(io.StringIO(csv_text(replace(small, episodes=(replace(tasks[0], task_id="=1+1"),)))))
    )
    assert rows[0]["task_id"] == "'=1+1"


def test_a_row_an_episode(small: Evaluation) -> None:
    rows = list(csv.DictReader(io.StringIO(csv_text(small))))
    assert len(rows) == len(small.episodes)
    assert {row["arm"] for row in rows} == {"bare", "btm"}
    assert sum(int(row["solved"]) for row in rows) == sum(e.solved for e in small.episodes)


def test_junit_fails_what_did_not_end_as_it_should(small: Evaluation) -> None:
    top = ET.fromstring(junit_xml(small))
    assert top.attrib["failures"] == "0"
    assert len(top.findall(".//testcase")) == 12
    bare = replace(small, request=replace(SMALL, arms=("btm", "bare")))
    failed = ET.fromstring(junit_xml(bare))
    assert int(failed.attrib["failures"]) == len(failed.findall(".//failure")) > 8


def test_limits(small: Evaluation) -> None:
    assert Limit.read("solved=1").missed(small) == ""
    assert Limit.read("right=1").missed(small) == ""
    bare = replace(small, request=replace(SMALL, arms=("btm", "bare")))
    assert Limit.read("solved=0.95").missed(bare).startswith("bare: solved ")
    assert "0 of 0" in Limit.read("solved=0").missed(replace(small, episodes=()))


@pytest.mark.parametrize("text", ["solvd=1", "solved", "solved=", "solved=2", "solved=nan", "=1"])
def test_a_wrong_limit_is_told_before_anything_runs(text: str) -> None:
    with pytest.raises(EvaluationError):
        Limit.read(text)
    run = CliRunner().invoke(cli, ["eval", "--fail-under", text])
    assert run.exit_code == 2
    assert run.stdout == ""


def test_the_command_writes_all_and_ends_with_one_under_a_limit(tmp_path: Path) -> None:
    files = [f"--{kind}={tmp_path / kind}" for kind in ("html", "csv", "junit")]
    asked = ["eval", "--tasks", "2", "--arms", "btm,bare", "--json", *files]
    run = CliRunner().invoke(cli, [*asked, "--fail-under", "solved=0.9"])
    assert run.exit_code == 1
    assert "bare: solved 0 of 4 episodes, under 0.9" in run.stderr
    json.loads(run.stdout)
    assert all((tmp_path / kind).stat().st_size > 500 for kind in ("html", "csv", "junit"))
    assert CliRunner().invoke(cli, [*asked, "--fail-under", "solved=0"]).exit_code == 0
    assert CliRunner().invoke(cli, ["eval", "--html", str(tmp_path / "no" / "x.html")]).exit_code == 2


# What a sample can show


@given(st.integers(1, 400), st.integers(0, 400))
def test_what_is_too_few_to_differ_is_never_said_to_show(n: int, differing: int) -> None:
    pairs = Pairs(n, min(differing, n), 0, 0)
    assert 0 < detectable_difference(pairs) <= 1
    if pairs.n < 6:
        assert detectable_difference(pairs) == 1


def test_the_figures_agree_with_the_formulas_they_come_from() -> None:
    # Connor (1987): 20 % of pairs differ, and a difference of 10 points needs 155 pairs.
    assert detectable_difference(Pairs(124, 16, 15, 0)) == pytest.approx(0.1, abs=0.002)
    assert mcnemar(Pairs(0, 6, 0, 0)) < 0.05 < mcnemar(Pairs(0, 5, 0, 0))
    assert detectable_difference(Pairs(0, 0, 0, 0)) == 1


def test_more_tasks_show_smaller_differences() -> None:
    least = [detectable_difference(Pairs(n - n // 5, n // 10, n // 10, 0)) for n in (20, 50, 100, 500)]
    assert least == sorted(least, reverse=True)


def test_a_difference_said_to_show_is_found_four_times_in_five() -> None:
    import random

    rng = random.Random(5)
    n, share = 155, 0.2
    least = detectable_difference(Pairs(n - 31, 16, 15, 0))
    found = 0
    for _ in range(1000):
        draws = [rng.random() for _ in range(n)]
        a = sum(d < (share + least) / 2 for d in draws)
        b = sum((share + least) / 2 <= d < share for d in draws)
        found += mcnemar(Pairs(n - a - b, a, b, 0)) < 0.05
    assert 0.70 < found / 1000 < 0.85  # the exact test is a little stricter than the formula's


def test_episodes_of_one_task_are_no_new_evidence() -> None:
    episodes = [
        Episode(arm, "clean", f"t{n}", frozenset(), arm == "a", False, 1, 0, 0, 0.0, world=world)
        for arm in ("a", "b")
        for n in range(10)
        for world in range(5)
    ]
    once = [e for e in episodes if e.world == 0]
    assert detectable(episodes, "a", "b") == detectable(once, "a", "b")


# Over several processes


@pytest.mark.parametrize(
    "request_",
    [
        Request(tasks=3, arms=("bare", "btm", "btm:flat")),
        Request(tasks=2, arms=("btm", "bare"), seeds=(3, 1)),
        Request(
            tasks=4,
            arms=("bare", "btm"),
            profile="heterogeneous",
            worlds=2,
            passes=1,
            scenarios=(Scenario.MIXED,),
        ),
        Request(tasks=2, arms=("bare",), best_fixed=True, scenarios=(Scenario.RETRY_WORKS,)),
    ],
    ids=["arms", "seeds", "worlds", "orders"],
)
@pytest.mark.xdist_group("workers")
def test_the_episodes_are_the_same_whatever_the_workers(request_: Request) -> None:
    alone = evaluate(request_)
    assert evaluate_over(request_, 3) == alone


def test_errors_of_a_worker_are_told_as_they_are() -> None:
    with pytest.raises(EvaluationError, match="did you mean 'shop'"):
        evaluate_over(Request(domain="shp", arms=("bare", "btm")), 2)
    with pytest.raises(EvaluationError, match="at least one worker"):
        evaluate_over(SMALL, 0)


@pytest.mark.xdist_group("workers")
def test_the_first_arm_with_btm_keeps_what_it_learned(tmp_path: Path) -> None:
    kept = [tmp_path / "one.db", tmp_path / "two.db"]
    for workers, path in zip((1, 2), kept, strict=True):
        evaluate_over(replace(SMALL, database=str(path)), workers)
    shown = [CliRunner().invoke(cli, ["show", "--db", str(path), "--json"]).stdout for path in kept]
    assert shown[0].replace("one.db", "two.db") == shown[1]
