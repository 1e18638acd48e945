"""Attempts as Parquet, and the same aggregation by engines that fit more than one machine."""

from __future__ import annotations

import importlib
import importlib.util
import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from shared_data import shared

from btm.cli.main import cli
from btm.errors import MissingExtraError
from btm.learning.posterior import BetaPosterior, Decay, Evidence, Priors, pooled
from btm.logs.attempts_table import EVIDENCE_SQL, AttemptsFile, evidence_row
from btm.model import EvidenceKey
from btm.store import EvidenceRow
from btm.store.sql import SqlStore

table = importlib.import_module("btm.logs.attempts_table")
needs_arrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="needs pyarrow, the extra 'parquet'"
)

pytestmark = pytest.mark.xdist_group("attempts_table")  # one process makes what these tests share


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A database fitted from recorded logs, and the attempts that were written on the way."""
    folder = tmp_path_factory.mktemp("fitted")
    database, attempts = folder / "btm.db", folder / "attempts.parquet"
    logs = [shared("data/traces/tau2"), shared("data/traces/intercode/bash-gpt-3.5.jsonl.gz")]
    options = ["--db", database, "--emit", attempts, "--half-life", "365", "--workers", "2", "--json"]
    result = CliRunner().invoke(cli, ["fit", *map(str, [*logs, *options])], catch_exceptions=False)
    assert json.loads(result.stdout)["attempts"] > 250
    return database, attempts


def beliefs(rows: list[EvidenceRow]) -> dict[EvidenceKey, BetaPosterior]:
    evidence = Evidence(rows)
    return {key: pooled(evidence, key, Priors()) for key, _, _ in rows}


def agree(database: Path, rows: list[dict[str, Any]]) -> None:
    store = SqlStore(database)
    try:
        expected = beliefs(list(store.evidence()))
    finally:
        store.close()
    found = beliefs([evidence_row(row) for row in rows])
    assert found.keys() == expected.keys()
    for key, belief in expected.items():
        assert (found[key].alpha, found[key].beta) == pytest.approx((belief.alpha, belief.beta), rel=1e-12)


@needs_arrow
def test_duckdb_sums_the_attempts_to_the_same_posteriors(fitted: tuple[Path, Path]) -> None:
    duckdb = pytest.importorskip("duckdb", reason="needs duckdb")
    database, attempts = fitted
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW attempts AS SELECT * FROM read_parquet('{attempts}')")
        found = connection.execute(EVIDENCE_SQL)
        names = [column[0] for column in found.description]
        agree(database, [dict(zip(names, row, strict=True)) for row in found.fetchall()])


@needs_arrow
def test_spark_sums_the_attempts_to_the_same_posteriors(fitted: tuple[Path, Path]) -> None:
    sql = pytest.importorskip("pyspark.sql", reason="needs pyspark")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none on the path")
    database, attempts = fitted
    spark = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    try:
        spark.read.parquet(str(attempts)).createOrReplaceTempView("attempts")
        agree(database, [row.asDict() for row in spark.sql(EVIDENCE_SQL).collect()])
    finally:
        spark.stop()


@needs_arrow
def test_the_file_names_the_decay_that_its_weights_stand_under(fitted: tuple[Path, Path]) -> None:
    parquet = importlib.import_module("pyarrow.parquet")
    database, attempts = fitted
    store = SqlStore(database)
    try:
        decay = store.decay
    finally:
        store.close()
    metadata = parquet.read_schema(attempts).metadata
    assert float(metadata[b"btm.half_life_s"]) == decay.half_life_s == 365 * 86_400.0
    assert float(metadata[b"btm.landmark"]) == decay.landmark
    rows = parquet.read_table(attempts).to_pylist()
    assert all(row["weight"] == decay.weight(row["at"]) for row in rows)


@needs_arrow
def test_nothing_is_left_of_a_file_whose_writing_failed(tmp_path: Path) -> None:
    def write() -> None:
        with AttemptsFile(tmp_path / "attempts.parquet", Decay()):
            raise RuntimeError("the log cannot be read")

    with pytest.raises(RuntimeError):
        write()
    assert list(tmp_path.iterdir()) == []


@needs_arrow
def test_a_dry_run_can_write_attempts_without_a_database(tmp_path: Path) -> None:
    log, out = shared("data/traces/tau1"), tmp_path / "attempts.parquet"
    options = ["--dry-run", "--emit", str(out), "--db", str(tmp_path / "btm.db")]
    assert CliRunner().invoke(cli, ["fit", str(log), *options], catch_exceptions=False).exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == ["attempts.parquet"]
    rows = importlib.import_module("pyarrow.parquet").read_table(out).to_pylist()
    assert {row["weight"] for row in rows} == {1.0}


def test_without_pyarrow_the_cure_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(table, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"bayesian-tool-memory\[parquet\]"):
        AttemptsFile(tmp_path / "attempts.parquet", Decay(math.inf, 0.0))


def test_rows_of_an_engine_become_rows_for_a_store() -> None:
    row = {
        "tool": "get_order",
        "kind": "timeout",
        "action": "retry",
        "target": "",
        "ordinal": 1,
        "successes": 2,
        "failures": 3.5,
    }
    key, successes, failures = evidence_row(row)
    assert key == ("get_order", "timeout", "retry", "", 1)
    assert (successes, failures) == (2.0, 3.5)
