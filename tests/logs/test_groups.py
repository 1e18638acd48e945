from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from log_samples import jsonl, openinference_spans, read, write

from btm.logs import groups
from btm.logs.groups import Groups

RECORDS = st.lists(st.tuples(st.text(max_size=3), st.binary(max_size=20)), max_size=30)


@given(RECORDS, st.sampled_from([0, 300, 1 << 20]))
def test_records_come_back_by_key_in_order_whether_held_or_written(
    records: list[tuple[str, bytes]], budget: int
) -> None:
    expected: dict[str, list[bytes]] = {}
    with Groups(budget) as held:
        for key, record in records:
            expected.setdefault(key, []).append(record)
            held.add(key, record)
        found = list(held)
    assert dict(found) == expected
    assert len(found) == len(expected)


def test_many_mixed_traces_give_the_same_beyond_the_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spans = [span for n in range(40) for span in openinference_spans(f"{n:032x}")]
    spans.sort(key=lambda span: json.dumps(span["context"]["span_id"]))
    path = write(tmp_path / "log", jsonl(spans))
    held = {c.conversation_id: c for c in read(path)[0]}
    monkeypatch.setattr(groups, "BUDGET", 1_000)
    monkeypatch.setattr(Groups.__init__, "__defaults__", (1_000,))
    written = {c.conversation_id: c for c in read(path)[0]}
    assert len(held) == 40
    assert written == held
