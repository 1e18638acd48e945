"""Error texts as words: pages by what they show, JSON bodies by their values, no server's own paths."""

from __future__ import annotations

import time

import pytest

from btm.support.readable import readable, shown, without_markup

PAGE = """<!DOCTYPE html>
<html><head><title>403 Forbidden</title><style>b{color:red}</style><script>var t="abc";</script></head>
<body><!-- served from /srv/app/releases/42 --><h1>Forbidden</h1>
<p>You don't have permission to access /var/www/html/admin/export.php on this server.</p>
<form><input type="hidden" name="csrf" value="9f8a>7d6c"><input name=user value='jane'>
<textarea>draft of a mail</textarea><select><option>gold plan</option></select></form>
<div hidden>for support only</div><p style="display: none">not seen</p></body></html>"""


def test_a_page_is_told_by_what_it_shows() -> None:
    assert readable(PAGE) == (
        "403 Forbidden Forbidden You don't have permission to access [path] on this server."
    )


@pytest.mark.parametrize("end", range(200, len(PAGE), 37))
def test_a_page_that_was_cut_hides_as_much(end: int) -> None:
    said = readable(PAGE[:end])
    for hidden in (
        "9f8a",
        "jane",
        "draft",
        "gold",
        "support",
        "not seen",
        "/srv",
        "/var",
        "abc",
        "<",
        "color",
    ):
        assert hidden not in said


def test_what_stands_before_a_page_stays() -> None:
    assert readable("502 Bad Gateway: <html><center>nginx</center></html>") == "502 Bad Gateway: nginx"


def test_a_comparison_is_no_markup() -> None:
    assert readable("need 3 < x and y > 4, got List[int]") == "need 3 < x and y > 4, got List[int]"


def test_a_json_body_is_told_by_its_values_however_often_it_is_wrapped() -> None:
    body = r'{"error": {"code": 503, "message": "Backend said: {\"detail\": \"<html><b>down</b></html>\"}"}}'
    assert readable(body) == "Backend said: down; code: 503"
    assert readable("HTTP 503: " + body) == "HTTP 503: Backend said: down; code: 503"
    assert readable('{"loc": ["body", "date"], "msg": "bad date"}') == "bad date; loc: body; loc: date"


@pytest.mark.parametrize("flag", ["isError=True", "is_error=True result_type='complete'"])
def test_the_repr_of_an_mcp_result_is_told_by_its_texts(flag: str) -> None:
    text = (
        f"""meta=None content=[TextContent(type='text', text="it's \\"late\\"", annotations=None)] {flag}"""
    )
    assert readable(text) == 'it\'s "late"'


def test_of_a_traceback_what_was_raised_is_told() -> None:
    text = 'Traceback (most recent call last):\n  File "/home/deploy/app.py", line 10, in x\nValueError: bad date'
    assert readable(text) == "ValueError: bad date"
    assert shown(text) == text  # a reader of the whole text needs its lines


@pytest.mark.parametrize(
    "path", ["/srv/app/secrets/config.yml", "/home/deploy/.ssh/id_rsa", r"C:\inetpub\wwwroot\web.config"]
)
def test_a_refusal_does_not_tell_where_a_server_keeps_its_files(path: str) -> None:
    assert readable(f"403 Forbidden: '{path}'") == "403 Forbidden: '[path]'"
    assert readable(f"403 Forbidden: '{path}'", path) == f"403 Forbidden: '{path}'"  # the agent named it


def test_other_errors_keep_their_paths_and_addresses() -> None:
    assert readable("No such file: '/home/me/a.txt'") == "No such file: '/home/me/a.txt'"
    assert readable("403 for https://x.test/etc/a and GET /orders/7") == (
        "403 for https://x.test/etc/a and GET /orders/7"
    )


@pytest.mark.parametrize(
    "piece",
    ["<p>", "<p a='", "<", "<p ", "<!--", "<p>&", "<![CDATA[", "<script>", '{"a":', "/var/", "a:\\", ' a="'],
)
def test_hostile_texts_take_little_more_time_than_plain_ones(piece: str) -> None:
    started = time.perf_counter()
    readable("<p forbidden " + piece * 20_000)
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "page", ["".join(f"<b>{n}" for n in range(60_000)), "<svg>" * 60_000 + "</b>" * 60_000]
)
def test_pages_of_many_pieces_take_time_in_proportion(page: str) -> None:
    started = time.perf_counter()
    without_markup(page)
    assert time.perf_counter() - started < 5
