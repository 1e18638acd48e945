"""Attempts as a Parquet file, for engines that fit more than one machine can read.

Evidence is a group-by-sum over attempts (:data:`EVIDENCE_SQL`): what DuckDB, Spark or a warehouse adds up from these
files is what ``btm fit`` adds up, up to rounding. ``weight`` is what an attempt counts under the decay that the file's
own metadata names (``btm.half_life_s``, ``btm.landmark``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from btm.errors import MissingExtraError
from btm.learning.posterior import Decay
from btm.model import Action, Attempt, ErrorKind, EvidenceKey
from btm.store import EvidenceRow

EVIDENCE_SQL: Final = Path(__file__).with_name("evidence.sql").read_text(encoding="utf-8")
"""Attempts to evidence, in the SQL that DuckDB and Spark share."""

_ROWS = 50_000  # held before they are written, and the size of a row group


class AttemptsFile:
    """Writes attempts to a Parquet file; a context manager, and the file appears when its block ends well.

    Raises MissingExtraError when pyarrow is not installed.
    """

    def __init__(self, path: str | Path, decay: Decay) -> None:
        try:  # optional, and slow to import
            pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
        except ImportError as missing:
            raise MissingExtraError("pyarrow", "parquet", "writing attempts as Parquet") from missing
        self._arrow: Any = pyarrow
        self._decay = decay
        self._path = Path(path)
        self._begun = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        self._schema = _schema(pyarrow, decay)
        self._writer: Any = parquet.ParquetWriter(self._begun, self._schema)
        self._rows: list[dict[str, Any]] = []
        self.written = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self._flush()
        self._writer.close()
        if kind is None:
            self._begun.replace(self._path)
        else:
            self._begun.unlink(missing_ok=True)

    def add(self, attempts: Iterable[tuple[str, Attempt]]) -> None:
        """Add attempts, each with the id of its conversation."""
        self._rows += (_row(conversation, attempt, self._decay) for conversation, attempt in attempts)
        if len(self._rows) >= _ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self._writer.write_table(self._arrow.Table.from_pylist(self._rows, schema=self._schema))
            self.written += len(self._rows)
            self._rows.clear()


def evidence_row(row: Mapping[str, Any]) -> EvidenceRow:
    """Return a row that an engine gave for ``EVIDENCE_SQL`` as a row for :meth:`SqlStore.add_learned`."""
    kind, action = ErrorKind(row["kind"]), Action(row["action"])
    key = EvidenceKey(row["tool"], kind, action, row["target"], int(row["ordinal"]))
    return key, float(row["successes"]), float(row["failures"])


def _schema(pyarrow: Any, decay: Decay) -> Any:
    text, number = pyarrow.string(), pyarrow.float64()
    columns = dict.fromkeys(("conversation", "incident", "call_id", "tool", "kind", "action", "target"), text)
    columns |= {"ordinal": pyarrow.int32(), "success": pyarrow.bool_(), "failed_as": text}
    columns |= dict.fromkeys(("at", "latency_s", "weight"), number)
    nullable = {"failed_as", "latency_s"}
    fields = [pyarrow.field(name, kind, nullable=name in nullable) for name, kind in columns.items()]
    about = {"btm.half_life_s": repr(decay.half_life_s), "btm.landmark": repr(decay.landmark)}
    return pyarrow.schema(fields, metadata=about)


def _row(conversation: str, attempt: Attempt, decay: Decay) -> dict[str, Any]:
    key = attempt.key
    row = {
        "conversation": conversation,
        "incident": attempt.incident_id,
        "call_id": attempt.call_id,
        "tool": key.tool,
        "kind": str(key.kind),
        "action": str(key.action),
        "target": key.target,
        "ordinal": key.ordinal,
        "success": attempt.success,
        "failed_as": None if attempt.failed_as is None else str(attempt.failed_as),
        "at": attempt.at,
        "latency_s": attempt.latency_s,
        "weight": decay.weight(attempt.at),
    }
    return {name: _utf8(value) if isinstance(value, str) else value for name, value in row.items()}


def _utf8(text: str) -> str:
    """Return text without lone surrogates, which a log may hold and Parquet cannot."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
