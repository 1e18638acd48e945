"""btm.authored.loading: authored files are read strictly, and every problem has its place."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, RootModel

from btm.authored.loading import load_authored, parse, problem, read_text, validate
from btm.authored.yaml_tree import MAX_CHARACTERS, MAX_DEPTH
from btm.errors import AuthoredFileError, FallbackMapError, PolicyError


class Colour(StrEnum):
    RED = "red"
    GREEN = "green"


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Wheel(Strict):
    size: int
    spokes: float = 1.0
    colours: tuple[Colour, ...] = ()


class Bicycle(Strict):
    name: str
    wheels: dict[str, Wheel] = {}
    bell: str | list[str] | None = None


class Fleet(RootModel[list[Bicycle]]):
    pass


def places(text: str, model: type[BaseModel] = Bicycle) -> list[str]:
    _, problems = validate(parse(text, "f.yaml"), model)
    return [str(p).removeprefix("f.yaml:") for p in problems]


def refused(text: str) -> AuthoredFileError:
    with pytest.raises(FallbackMapError) as caught:
        parse(text, "f.yaml", FallbackMapError)
    return caught.value


def test_a_good_file_becomes_an_instance_of_the_model() -> None:
    text = "name: old\nwheels:\n  front: {size: 28, colours: [red, green]}\n"
    loaded = load_authored(text, "f.yaml", Bicycle, FallbackMapError)
    assert loaded.wheels["front"] == Wheel(size=28, colours=(Colour.RED, Colour.GREEN))


def test_a_file_may_be_a_list() -> None:
    assert load_authored("- name: a\n- name: b\n", "f.yaml", Fleet, PolicyError).root[1].name == "b"
    assert places("- name: a\n- nam: b\n", Fleet) == [
        "2:3: unknown key 'nam' in item #2; expected one of bell, name, wheels; did you mean 'name'?"
    ]


def test_the_words_yes_no_on_and_off_are_text() -> None:
    assert parse("on: no\nyes: off", "f").value() == {"on": "no", "yes": "off"}


def test_times_and_dates_and_versions_are_text() -> None:
    value = parse("[12:30, 2024-05-01, 1.2.3, 0x10, 1_000, .nan]", "f").value()
    assert value == ["12:30", "2024-05-01", "1.2.3", "0x10", "1_000", ".nan"]


def test_numbers_booleans_and_nothing_have_their_types() -> None:
    assert parse("[1, -2, 1.5, 1e3, .5, true, false, null, ~, '1']", "f").value() == [
        1, -2, 1.5, 1000.0, 0.5, True, False, None, None, "1",
    ]  # fmt: skip


def test_an_unknown_key_is_named_with_the_nearest_right_one() -> None:
    assert places("name: x\nwheels:\n  front: {size: 1, spoeks: 2}") == [
        "3:20: unknown key 'spoeks' in wheels.front; expected one of colours, size, spokes; did you mean 'spokes'?"
    ]


def test_a_wrong_type_says_what_is_there_and_what_was_expected() -> None:
    assert places("name: 3\nwheels: [1]") == [
        "1:7: name is the number 3; expected text",
        "2:9: wheels is a list; expected a mapping (key: value)",
    ]


def test_numbers_are_not_text_and_text_is_not_a_number() -> None:
    assert places("name: x\nwheels: {front: {size: '28', spokes: yes}}") == [
        "2:24: wheels.front.size is the text '28'; expected a whole number",
        "2:38: wheels.front.spokes is the text 'yes'; expected a number",
    ]


def test_a_value_outside_a_closed_set_gets_the_nearest_value() -> None:
    text = "name: x\nwheels:\n  front:\n    size: 1\n    colours:\n      - red\n      - gren\n"
    assert places(text) == [
        "7:9: front.colours #2 is the text 'gren'; expected one of red, green; did you mean 'green'?"
    ]


def test_a_missing_key_is_told_once() -> None:
    assert places("wheels: {}") == ["1:1: the file has no 'name'; expected the key 'name'"]
    assert places("nmae: x") == [
        "1:1: unknown key 'nmae'; expected one of bell, name, wheels; did you mean 'name'?"
    ]


def test_the_branches_of_a_union_are_one_expectation() -> None:
    assert places("name: x\nbell: {a: 1}") == ["2:7: bell is a mapping; expected text or a list"]
    assert places("name: x\nbell: [a, 2]") == ["2:11: bell #2 is the number 2; expected text"]


def test_all_problems_are_told_in_the_order_of_the_file() -> None:
    with pytest.raises(PolicyError) as caught:
        load_authored("bel: x\nname: 3\nwheels: 4\n", "f.yaml", Bicycle, PolicyError)
    assert (caught.value.line, caught.value.column, caught.value.suggestion) == (1, 1, "bell")
    assert [note[:11] for note in caught.value.__notes__] == ["f.yaml:2:7:", "f.yaml:3:9:"]


def test_a_validators_own_problem_keeps_its_expectation_and_suggestion() -> None:
    from pydantic import field_validator

    class Own(Strict):
        a: str

        @field_validator("a")
        @classmethod
        def check(cls, value: str) -> str:
            raise problem("a is odd", expected="something even", suggestion="two")

    assert places("a: one", Own) == ["1:4: a is odd; expected something even; did you mean 'two'?"]


def test_a_key_that_comes_twice_is_refused_where_it_comes_again() -> None:
    error = refused("a: 1\nb:\n  c: 1\n  d: 2\n  c: 3\n")
    assert (error.line, error.column) == (5, 3)
    assert "first on line 3" in str(error)


@pytest.mark.parametrize(
    ("text", "line", "column", "said"),
    [
        ("", 1, 1, "empty"),
        ("# only a comment\n", 1, 1, "empty"),
        ("a: b: c", 1, 5, "a second ': '"),
        ("a: [1, 2", 1, 4, "not YAML"),
        ("a: 1\nb: {c: [2}\n", 2, 10, "not YAML"),
        ("a: 1\n---\nb: 2\n", 2, 1, "second document"),
        ("a: !!python/object/apply:os.system [ls]", 1, 4, "tag"),
        ("a: !mine 3", 1, 4, "tag"),
        ("? [a, b]\n: 1\n", 1, 3, "key"),
        ("1: x\n", 1, 1, "key"),
        ("a: 1\n<<: {b: 2}\n", 2, 1, "merge"),
        ("a: *b\n", 1, 4, "alias"),
        ("a: &a [1, *a]\n", 1, 11, "alias"),
        ("a: \x01", 1, 4, "not allowed"),
        ("a: 12345678901234567890123", 1, 4, "too large"),
        ("a: 1e999", 1, 4, "too large"),
    ],
)
def test_what_is_not_plain_yaml_is_refused_with_its_place(
    text: str, line: int, column: int, said: str
) -> None:
    error = refused(text)
    assert (error.line, error.column) == (line, column)
    assert said in str(error)


def test_aliases_may_repeat_a_value() -> None:
    assert parse("a: &x {b: 1}\nc: *x\n", "f").value() == {"a": {"b": 1}, "c": {"b": 1}}


def test_aliases_that_multiply_are_refused() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 9)]
    assert "aliases expanded" in str(refused("\n".join(lines)))


def test_deep_nesting_and_huge_files_are_refused() -> None:
    assert "deep" in str(refused("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)))
    refused("[" * 100_000)
    assert "characters" in str(refused("a" * (MAX_CHARACTERS + 1)))


def test_the_python_parser_refuses_the_same_things(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("btm.authored.yaml_tree._Loader", yaml.SafeLoader)
    assert parse("on: [1, 'a', {b: ~}]", "f").value() == {"on": [1, "a", {"b": None}]}
    assert (refused("a: 1\na: 2").line, refused("a: 1\na: 2").column) == (2, 1)
    assert "deep" in str(refused("[" * 300))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"nowhere\.yaml: cannot be read"):
        read_text(tmp_path / "nowhere.yaml", PolicyError)
    (tmp_path / "latin.yaml").write_bytes("a: 1\nb: é".encode("latin-1"))
    with pytest.raises(PolicyError, match=r"latin\.yaml:2:4: this is not UTF-8"):
        read_text(tmp_path / "latin.yaml", PolicyError)


def test_a_word_inside_a_text_has_its_own_place() -> None:
    node = parse('a: "{{ known.x }}"\nb: plain known\nc: |\n  known\n', "f")
    assert node.at(["a"]).word_place("known")[1:] == (1, 8)
    assert node.at(["b"]).word_place("known")[1:] == (2, 10)
    assert node.at(["c"]).word_place("known")[1:] == (3, 4)


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(10**17), 10**17)
    | st.text("ab: #-'\"\n{}[]on\\é&*!|>%@`0", max_size=12)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("abc :#'", max_size=5), inner, max_size=4)
    ),
)


@given(VALUES)
def test_any_value_that_is_dumped_is_read_back(value: object) -> None:
    assert parse(yaml.safe_dump({"value": value}, allow_unicode=True), "f").value() == {"value": value}
