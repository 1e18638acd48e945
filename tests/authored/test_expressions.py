"""btm.authored.expressions: expressions read the values they are given, and can do nothing else."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from btm.authored.expressions import (
    Template,
    compile_expression,
    compile_template,
    compile_value,
    referenced_names,
    render,
)
from btm.errors import TemplateError


class Trap:
    """An object whose every use would show."""

    secret = "s3cret"

    def method(self) -> str:
        return self.secret

    def __str__(self) -> str:
        raise RuntimeError("str was called")


def test_an_expression_keeps_the_type_of_its_value() -> None:
    assert compile_expression("call.n")(call={"n": 3}) == 3
    assert compile_expression("call.n + 1")(call={"n": 3}) == 4
    assert compile_expression("[call.n, 'a']")(call={"n": None}) == [None, "a"]
    assert compile_expression("result.status == 'cancelled'")(result={"status": "cancelled"}) is True


def test_select_gives_a_list_and_first_an_item() -> None:
    orders = [{"id": 1, "on": True}, {"id": 2, "on": False}]
    assert compile_expression("result | selectattr('on') ")(result=orders) == [orders[0]]
    assert (
        compile_expression("result | selectattr('id', 'eq', call.id) | first")(result=orders, call={"id": 2})
        == orders[1]
    )


def test_lines_that_contain_a_text_can_be_selected() -> None:
    value = {"text": "one\ntwo\nten"}
    assert compile_expression("result.text.splitlines() | select('containing', 't') | list")(
        result=value
    ) == ["two", "ten"]
    assert compile_expression("result is containing('text')")(result=value) is True
    assert compile_expression("3 is containing('text')")() is False


def test_a_key_named_like_a_method_is_the_key() -> None:
    assert compile_expression("result.items")(result={"items": [1]}) == [1]
    assert compile_expression("result.items | length + result.get")(result={"items": [1], "get": 2}) == 3
    assert list(compile_expression("result.keys()")(result={"a": 1})) == ["a"]


def test_one_expression_alone_keeps_its_type_and_text_around_it_makes_text() -> None:
    names = {"known": {"n": 3, "s": "x"}}
    assert compile_value("{{ known.n }}")(names) == 3
    assert compile_value(" {{ known.n * 2 }} ")(names) == 6
    assert compile_value("#{{ known.n }}")(names) == "#3"
    assert compile_value("{{ known.n }}{{ known.s }}")(names) == "3x"
    assert compile_value("plain")(names) == "plain"


@given(
    st.lists(
        st.sampled_from(
            ["text ", "{{ a }}", "{{a.b}}", "{{ c.d }}", "\n", "{", "}", "{{ true }}", "é", "{{ a.b }}"]
        ),
        max_size=6,
    )
)
def test_a_plain_template_is_filled_as_jinja_fills_it(parts: list[str]) -> None:
    text = "".join(parts)
    names = {"a": {"b": 1}, "c": {"d": "x"}, "text": "t"}  # "{", "{", "text ", "}", "}" names text
    try:
        template = compile_template(text)
    except TemplateError:
        return
    plain = template.render(names)
    template_by_engine = Template(text)
    template_by_engine._pieces = ()
    assert plain == template_by_engine.render(names)


def test_templates_know_if_and_for() -> None:
    text = "{% for x in xs if x %}{{ loop.index }}{{ x }}{% if not loop.last %}, {% endif %}{% else %}none{% endfor %}"
    assert render(text, {"xs": ["a", "", "b"]}) == "1a, 2b"
    assert render(text, {"xs": []}) == "none"


@pytest.mark.parametrize(
    "text", ["known.x", "known", "known.x.y", "known.x | upper", "known.x ~ 'a'", "known['x']"]
)
def test_an_undefined_name_is_an_error(text: str) -> None:
    with pytest.raises(TemplateError):
        compile_expression(text)(other=1)
    with pytest.raises(TemplateError):
        render("{{ " + text + " }}", {"known": {}} if "x" in text else {})


def test_an_undefined_name_can_be_asked_about() -> None:
    assert compile_expression("known.x is defined")(known={}) is False
    assert compile_expression("known.x | default(call.y)")(known={}, call={"y": 2}) == 2


@pytest.mark.parametrize(
    "text",
    [
        "x.__class__",
        "x['__class__']",
        "''.__class__.__mro__",
        "x.secret",
        "x.method()",
        "x | attr('secret')",
        "x.__init__.__globals__",
        "[].append(1)",
        "{}.update(a=1)",
        "'%s' % x",
        "'{0.secret}'.format(x)",
        "'{}'.format_map({})",
        "lipsum()",
        "cycler(1)",
        "joiner()",
        "namespace(a=1)",
        "dict(a=1)",
        "f()",
        "f.__call__()",
        "_x",
        "self.x",
        "x | map(attribute='secret') | list",
        "[x] | map(attribute='secret') | list | first",
        "[x] | sum(attribute='secret')",
        "[x] | join(attribute='secret')",
        "[x] | selectattr('secret') | list | first",
        "x | pprint",
        "x | xmlattr",
        "range.start",
        "''.join(['a'])",
        "x is callable",
    ],
)
def test_nothing_but_plain_values_can_be_reached(text: str) -> None:
    with pytest.raises(TemplateError):
        compile_expression(text)(x=Trap(), f=lambda: "called")


@pytest.mark.parametrize(
    "text",
    [
        "{% set a = 1 %}",
        "{% include 'x' %}",
        "{% import 'x' as x %}",
        "{% extends 'x' %}",
        "{% block a %}{% endblock %}",
        "{% macro a() %}{% endmacro %}",
        "{% call x() %}{% endcall %}",
        "{% filter upper %}a{% endfilter %}",
        "{% with a = 1 %}{% endwith %}",
        "{% do x %}",
        "{% for a in x recursive %}{% endfor %}",
        "{{ x",
        "{% if x %}",
        "{{ 1 +/ 2 }}",
        "{{ x | nothere }}",
        "{{ x is nothere }}",
        "{% for a in x %}{% for b in x %}{% for c in x %}{% endfor %}{% endfor %}{% endfor %}",
        "{{ " + "(" * 3_000,
        "x" * 5_000,
        "{{ " + "+".join(["1"] * 900) + " }}",
    ],
)
def test_statements_with_memory_or_reach_are_refused_when_read(text: str) -> None:
    with pytest.raises(TemplateError):
        compile_template(text)


def test_a_misspelt_filter_gets_the_nearest_one() -> None:
    with pytest.raises(TemplateError, match="did you mean 'first'"):
        compile_expression("x | frist")


@pytest.mark.parametrize(
    "text",
    [
        "{{ 'a' * 1000000000 }}",
        "{{ 10 ** 1000000000 }}",
        "{{ (10 ** 60) ** 60 }}",
        "{{ [0] * 100000000 }}",
        "{{ range(1000000000) | list }}",
        "{{ 1.5 | round(1000000000) }}",
        "{{ 'a'.ljust(1000000000) }}",
        "{{ 'a' | center(1000000000) }}",
        "{{ range(2000) | map('string') | join(big) }}",
        "{{ big | replace('a', big) }}",
        "{{ big ~ big ~ big }}",
        "{{ big + big }}",
        "{{ big }}{{ big }}{{ big }}",
        "{{ huge | sort }}",
        "{% for a in range(2000) %}{% for b in range(2000) %}{% endfor %}{% endfor %}",
        "{% for a in huge %}{% endfor %}",
        "{{ huge }}",
        "{{ '%1000000000d' % 1 }}",
        "{{ 7 << 3 }}",
        "{{ 'a'.zfill(1000000000) }}",
        "{{ [[0] * 9000] * 9000 == [[0] * 9000] * 9000 }}",
        "{{ huge | map('string') | map('list') | sum }}",
        "{{ [big, big, big] | map('list') | sum(start=[]) }}",
        "{{ huge | select('in', huge) | list }}",
        "{% for a in range(1900) %}{{ 'x' if a in huge }}{% endfor %}",
        "{% for a in range(1900) %}{{ big.split('a') | length }}{% endfor %}",
        "{{ big.replace('a', big) }}",
        "{{ 'a'.expandtabs(99999999) }}",
    ],
)
def test_no_template_runs_long_or_grows_large(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(TemplateError):
        render(text, {"big": "a" * 15_000, "huge": list(range(100_000))})
    assert time.process_time() - begun < 2


def test_an_object_without_text_is_named_by_its_type() -> None:
    assert render("{{ x }}{{ x ~ '' }}", {"x": Trap()}) == "<Trap without text>" * 2


def test_ordinary_work_on_long_results_is_allowed() -> None:
    rows = [{"id": i, "name": f"n{i}", "tags": ["a", "b"]} for i in range(5_000)]
    text = "result | selectattr('id', 'ge', 10) | map(attribute='name') | select('containing', '99') | list | length"
    assert compile_expression(text)(result=rows) == sum("99" in f"n{i}" for i in range(10, 5_000))
    assert compile_expression("result.splitlines() | length")(result="line\n" * 100_000) == 100_000
    assert compile_expression("result | sum(attribute='id')")(result=rows) == sum(range(5_000))
    assert compile_expression("'a' in result and 'c' not in result")(result=["a", "b"]) is True


def test_what_a_value_raises_becomes_a_template_error() -> None:
    class Evil(dict[str, Any]):
        def __contains__(self, key: object) -> bool:
            raise SystemError("no")

    for text in ("x.a", "x.a.b | upper", "x == 1 or x.a"):
        with pytest.raises(TemplateError):
            compile_expression(text)(x=Evil())


def test_referenced_names_are_dotted_paths_without_loop_names() -> None:
    text = "{% for o in result.orders %}{{ o.id }}{{ call['id'] }}{{ loop.index }}{% endfor %}"
    text += "{{ known.a.b | default(z) }}"
    assert referenced_names(text) == {"result.orders", "call.id", "known.a.b", "z"}
    assert referenced_names("result | selectattr('a', 'eq', call.a)", expression=True) == {"result", "call.a"}


HOSTILE = st.text() | st.sampled_from(
    [
        "{{ 7 * 7 }}",
        "{% for x in range(9) %}x{% endfor %}",
        "{{ call.__class__ }}",
        "{# x #}",
        "{{ known.b }}",
        "}}{{ 1 }}",
    ]
)


@given(HOSTILE)
def test_a_value_is_never_evaluated_whatever_it_holds(value: str) -> None:
    names = {"call": {"a": value}, "known": {"b": "leaked"}}
    assert compile_value("{{ call.a }}")(names) == value
    assert compile_value("<{{ call.a }}>")(names) == f"<{value}>"
    assert compile_value("{{ [call.a] }}")(names) == [value]


@given(st.text(st.sampled_from("{}%#()[]|.'\"abcx 0_+*~=\n"), max_size=40))
def test_any_text_is_a_template_or_a_template_error(text: str) -> None:
    with contextlib.suppress(TemplateError):
        compile_value(text)({"a": 1, "x": {"a": [1, "b"]}, "b": "c"})


def test_what_is_made_of_something_undefined_is_undefined() -> None:
    for text in ("{'lines': result.nothing}", "[result.nothing]", "{'a': [{'b': result.nothing}]}"):
        with pytest.raises(TemplateError, match="is not defined"):
            compile_expression(text)(result={"a": 1})
    assert compile_expression("{'a': [{'b': result.a}]}")(result={"a": 1}) == {"a": [{"b": 1}]}
