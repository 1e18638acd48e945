"""Huge texts among arguments go by a name, and equal arguments still have one name."""

from __future__ import annotations

from typing import Any

import pytest

from btm.support.untrusted import HUGE, canonical, fingerprint, holds_huge_text

BIG = "x" * (HUGE + 1)


@pytest.mark.parametrize("wrapped", [lambda v: {"a": v}, lambda v: {"b": 1, "a": [{"c": v}]}, lambda v: [v]])
def test_arguments_with_huge_texts_are_told_apart_and_known_again(wrapped: Any) -> None:
    assert holds_huge_text(wrapped(BIG))
    one, same, other = (fingerprint("t", wrapped(text)) for text in (BIG, "x" * (HUGE + 1), BIG[:-1] + "y"))
    assert one == same != other
    assert len(canonical(wrapped(BIG))) < 200


def test_other_arguments_are_written_whole() -> None:
    assert not holds_huge_text({"a": "x" * HUGE, "b": [1, {"c": None}]})
    assert canonical({"b": 1, "a": "x"}) == b'{"a":"x","b":1}'
