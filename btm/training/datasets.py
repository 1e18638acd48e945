"""Rows as a ``datasets.Dataset``: the only module that imports ``datasets`` (extra ``train``)."""

from __future__ import annotations

from typing import Any

from btm.errors import MissingExtraError

try:
    from datasets import Dataset
except ModuleNotFoundError as missing:
    raise MissingExtraError("datasets", "train", "a dataset for a trainer") from missing


def dataset_of(rows: list[dict[str, Any]]) -> Any:
    """Return rows as a dataset."""
    return Dataset.from_list(rows)
