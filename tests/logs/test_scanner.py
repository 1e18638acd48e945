from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.logs.lenient import loads
from btm.logs.scanner import Broken, Element, Scanner

NASTY = st.sampled_from(
    ['}, {"id": ', '"}]}, [{"id":', "\\", '\\"', "{[", "]}", 'a"b', "\u2028", "é", "\n", ""]
)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | NASTY | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "b", "messages"]), inner, max_size=3)
    ),
    max_leaves=12,
)
ELEMENTS = st.lists(
    st.fixed_dictionaries({"id": SCALARS, "task_id": SCALARS, "messages": VALUES}) | VALUES, max_size=8
)
LAYOUTS = st.sampled_from([{}, {"indent": 1}, {"separators": (",", ":")}, {"ensure_ascii": False}])


def chunks(raw: bytes, size: int) -> Iterator[bytes]:
    return (raw[i : i + size] for i in range(0, len(raw), size))


def scanned(
    raw: bytes, path: tuple[str, ...] = (), size: int = 1 << 20, **options: Any
) -> list[Element | Broken]:
    return list(Scanner(chunks(raw, size), **options).elements(path))


def values(found: list[Element | Broken]) -> list[Any]:
    return [element.value for element in found if isinstance(element, Element)]


@given(ELEMENTS, LAYOUTS, st.integers(1, 40))
def test_elements_are_those_that_json_finds(elements: list[Any], layout: dict[str, Any], size: int) -> None:
    raw = json.dumps(elements, **layout).encode()
    found = scanned(raw, size=size)
    assert values(found) == elements
    assert all(json.loads(element.raw) == element.value for element in found if isinstance(element, Element))


@given(ELEMENTS, VALUES, LAYOUTS, st.integers(1, 40))
def test_elements_below_a_key_are_found_among_other_members(
    elements: list[Any], other: Any, layout: dict[str, Any], size: int
) -> None:
    document = {"info": other, "tasks": [{"id": 1}], "simulations": elements, "after": [other]}
    assert values(scanned(json.dumps(document, **layout).encode(), ("simulations",), size)) == elements


@given(st.lists(st.lists(ELEMENTS, max_size=3), max_size=3), st.integers(1, 40))
def test_a_path_leads_through_arrays_of_objects(nested: list[list[list[Any]]], size: int) -> None:
    document = {"a": [{"x": 1, "b": [{"c": innermost, "y": []} for innermost in inner]} for inner in nested]}
    expected = [element for inner in nested for innermost in inner for element in innermost]
    assert values(scanned(json.dumps(document).encode(), ("a", "b", "c"), size)) == expected


@given(
    st.lists(st.dictionaries(st.text(max_size=3), VALUES, min_size=1), max_size=4),
    st.sampled_from(["", "\n", " "]),
)
def test_documents_one_after_the_other_are_each_a_value(documents: list[Any], between: str) -> None:
    raw = between.join(json.dumps(document, indent=2) for document in documents).encode()
    assert values(list(Scanner(chunks(raw, 16)).values())) == documents


def numbered(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"id": n, "name": f"n{n}", "messages": [{"id": 0, "text": "}, {"}], **more} for n in range(count)]


def test_a_broken_element_is_reported_with_its_line_and_the_rest_is_read() -> None:
    raw = json.dumps(numbered(6), indent=1).encode()
    broken = raw.replace(b'"name": "n3"', b'"name": nonsense')
    found = scanned(broken)
    assert [value["id"] for value in values(found)] == [0, 1, 2, 4, 5]
    (problem,) = [piece for piece in found if isinstance(piece, Broken)]
    assert problem.line == raw[: raw.index(b'"n3"')].count(b"\n") - 1  # the element begins two lines above
    assert "not JSON" in problem.reason


@pytest.mark.parametrize("damage", [b'"n3', b'n3"', b"{", b"}}"])
def test_an_element_whose_brackets_do_not_balance_costs_only_itself(damage: bytes) -> None:
    raw = json.dumps(numbered(12)).encode().replace(b'"n3"', damage)
    found = scanned(raw)
    assert [value["id"] for value in values(found) if "name" in value] == [0, 1, 2, *range(4, 12)]
    assert any(isinstance(piece, Broken) for piece in found)


def test_a_document_that_is_cut_gives_what_was_whole_and_one_report() -> None:
    raw = json.dumps({"simulations": numbered(5)}).encode()
    for end in range(len(raw) - 1):
        found = scanned(raw[:end], ("simulations",), size=50)
        whole = values(found)
        assert whole == numbered(5)[: len(whole)]
        assert sum(isinstance(piece, Broken) for piece in found) == (1 if end else 0)


def test_an_element_beyond_the_limit_is_skipped_and_the_rest_is_read() -> None:
    elements = numbered(10)
    elements[4]["text"] = "x" * 5_000
    found = scanned(json.dumps(elements).encode(), limit=2_000, size=512)
    assert [value["id"] for value in values(found)] == [0, 1, 2, 3, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "raw", [b"}", b"[}", b"[1 2", b"]]", b"[,]", b"{,}", b'{"a"', b"[" * 5_000, b'[{"a":' * 3_000]
)
def test_nonsense_ends_without_an_exception(raw: bytes) -> None:
    for path in ((), ("a",)):
        assert all(isinstance(piece, Element | Broken) for piece in scanned(raw, path, size=7))
    assert list(Scanner(iter([raw])).values())


@pytest.mark.parametrize(
    "inside", [b"[" * 50_000 + b"]" * 50_000, b"9" * 5_000, b"-" + b"1" * 20_000 + b".5"]
)
def test_what_python_does_not_read_ends_without_an_exception(inside: bytes) -> None:
    raw = b'{"messages": ' + inside + b"}"
    for path in ((), ("messages",), ("other",)):
        assert all(isinstance(piece, Element | Broken) for piece in scanned(raw, path, size=997))
    assert list(Scanner(iter([raw])).values())
    Scanner(iter([raw])).keys()


@given(st.binary(max_size=200), st.integers(1, 30))
def test_arbitrary_bytes_end_without_an_exception(raw: bytes, size: int) -> None:
    scanned(raw, (), size)
    scanned(b"[" + raw, (), size)
    scanned(b'{"a": [' + raw, ("a",), size)
    Scanner(chunks(raw, size)).keys()


def test_what_logs_hold_beyond_json_is_read() -> None:
    assert loads(b'{"a": Infinity}') == {"a": float("inf")}
    assert loads(b'"\xff\xfe"') == "\ufffd\ufffd"
    assert loads(rb'"\ud800 \ude00 \ud83d\ude00"') == "\ufffd \ufffd \U0001f600"
    for bad in (b"", b"{", b"[" * 100_000, b"{'a': 1}"):
        with pytest.raises(ValueError):  # noqa: PT011 - orjson's own text
            loads(bad)
