"""A page that asks to sign in is no success of a tool that was to answer with data, and a hint where pages are fetched."""

from __future__ import annotations

from typing import Any

import pytest

from btm.classify import classify
from btm.model import Effect, ErrorKind, ToolCall

FIELD = '<form action="/x" method="post"><input name="u"><input type="password" name="p"><button>Go</button></form>'
PAGES = {
    "a form": f"<!DOCTYPE html><html><head><title>Sign in</title></head><body>{FIELD}</body></html>",
    "a company's": f"<html><head><title>Acme | Log in</title></head><body><h1>Welcome back</h1>{FIELD}</body></html>",
    "an expired session": "<html><head><title>Session expired</title></head><body>Please log in again.</body></html>",
    "German": f'<html lang="de"><head><title>Anmelden</title></head><body>{FIELD}</body></html>',
    "SSO": (
        '<html><head><title>Redirecting</title></head><body onload="document.forms[0].submit()">'
        '<form method="post" action="https://sso.acme.test/saml2"><input type="hidden" name="SAMLRequest" value="abc">'
        "</form><script>var a = 1;</script></body></html>"
    ),
    "a code by mail": "<html><head><title>Sign in - Access</title></head><body><button>Send a code</button></body></html>",
}
HOW_TO = "To sign in, open the page and enter your password. " * 30
BERTHS = "The ferry leaves from berth four at noon, and from berth six at two. " * 20
OTHER = {
    "about signing in": f"<html><head><title>How to sign in</title></head><body><p>{HOW_TO}</p></body></html>",
    "with a box for it": f"<html><head><title>Berths</title></head><body>{FIELD}<main>{BERTHS}</main></body></html>",
}


def forms(page: str) -> list[Any]:
    return [page, {"status": 200, "body": page}, [{"type": "text", "text": page}]]


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("effect", Effect)
def test_a_page_that_asks_to_sign_in_is_no_answer_and_nothing_was_done(page: str, effect: Effect) -> None:
    for answer in forms(page):
        outcome = classify(ToolCall("book_berth", {"vessel": "Aurora"}, effect), answer)
        assert (outcome.kind, outcome.ambiguous) == (ErrorKind.AUTH_ERROR, False), answer


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
@pytest.mark.parametrize("tool", ["fetch_page", "browser_navigate", "http_request", "bash", "scrape_site"])
def test_a_tool_that_goes_to_any_page_may_bring_it_back(page: str, tool: str) -> None:
    for answer in forms(page):
        outcome = classify(ToolCall(tool, {"url": "https://port.test"}), answer)
        assert (outcome.ok, outcome.suspected) == (True, ErrorKind.AUTH_ERROR), answer


@pytest.mark.parametrize("page", OTHER.values(), ids=OTHER)
def test_a_page_that_has_more_to_say_is_no_page_for_signing_in(page: str) -> None:
    for answer in forms(page):
        assert classify(ToolCall("fetch_page", {"url": "https://port.test"}), answer).suspected is None
        assert classify(ToolCall("get_berths", {}), answer).kind is not ErrorKind.AUTH_ERROR


@pytest.mark.parametrize(
    "place", ["/login?next=/berths", "https://sso.acme.test/oauth2/authorize?x=1", "/users/sign_in"]
)
def test_a_redirect_to_where_one_signs_in_is_no_success(place: str) -> None:
    answer = {"status": 302, "headers": {"location": place}, "body": ""}
    assert classify(ToolCall("get_berths", {}), answer).kind is ErrorKind.AUTH_ERROR
    assert classify(ToolCall("http_request", {"url": "https://port.test"}), answer).ok


def test_a_redirect_elsewhere_is_left_alone() -> None:
    answer = {"status": 302, "headers": {"location": "/berths/4/author"}, "body": ""}
    assert classify(ToolCall("get_berths", {}), answer).kind is not ErrorKind.AUTH_ERROR


def test_an_error_page_in_a_body_is_told_like_one_by_itself() -> None:
    page = "<html><head><title>502 Bad Gateway</title></head><body></body></html>"
    assert classify(ToolCall("get_berths", {}), {"status": 200, "body": page}).kind is ErrorKind.SERVER_ERROR
    page = "<html><head><title>401 Authorization Required</title></head><body></body></html>"
    assert classify(ToolCall("get_berths", {}), page).kind is ErrorKind.AUTH_ERROR


def test_a_page_made_to_keep_the_reader_busy_is_read_at_once() -> None:
    for page in (
        "<html><title>" + "<script>" * 50_000,
        "<html>" + '<input type="' * 50_000,
        "<html>" + "<" * 500_000,
    ):
        classify(ToolCall("get_berths", {}), page)
