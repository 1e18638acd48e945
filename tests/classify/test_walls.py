"""Walls where a page was asked for, as text and as HTML, and pages that tell of them, which are what was asked for."""

from __future__ import annotations

import pytest

from btm.classify import classify
from btm.model import ErrorKind as K
from btm.model import ToolCall

FETCH = ToolCall("fetch_page", {"url": "https://shop.test/berths"})
WALLS = {
    "Our systems have detected unusual traffic from your computer network. This page checks to see if it's "
    "really you sending the requests, and not a robot.": K.AUTH_ERROR,
    "Checking your browser before accessing shop.test. You will be redirected shortly.": K.AUTH_ERROR,
    "Please enable cookies. Sorry, you have been blocked. You are unable to access shop.test. Ray ID: 8a1b": K.AUTH_ERROR,
    "Pardon our interruption... As you were browsing, something about your browser made us think you were a bot. "
    "Please enable cookies and JavaScript before you proceed.": K.AUTH_ERROR,
    "Press & Hold to confirm you are a human (and not a bot). Reference ID 8f2c1e0a": K.AUTH_ERROR,
    "Subscribe to continue reading. Already a subscriber? Log in to read the full story.": K.AUTH_ERROR,
    "You've reached your article limit. Create a free account or subscribe to keep reading.": K.AUTH_ERROR,
    "We are down for scheduled maintenance. We'll be back online soon. Thank you for your patience.": K.UNAVAILABLE,
    "This domain is for sale! Buy this domain at GoDaddy. Related searches: boats, berths": K.NOT_FOUND,
    "Access has been blocked by your organization. Category: gambling. Contact your administrator.": K.AUTH_ERROR,
    "Before you continue to Video. We use cookies and data to deliver services. Reject all. Accept all. Privacy policy": (
        K.PRECONDITION_FAILED
    ),
}
PAGES = [
    "# Handling CAPTCHAs\n\nWhen your scraper is blocked, check the Ray ID and enable cookies.",
    "The museum is open daily. Enable JavaScript for the interactive map.",
    "Cloudflare's 'checking your browser' page was redesigned in 2023, the company said; users see a Ray ID below it.",
    "Dock 4 is closed for maintenance until Friday. Ferries leave from dock 5 at noon.",
    "Tickets cost 12 EUR per month. Members get a discount.",
    "We sold the domain in 2019 and moved the shop to a new address.",
    "How to fix 'access denied': clear cookies, disable your VPN and verify that you are not a robot.",
    "Robots took over the warehouse; people who work there say captchas are harder than ever.",
]


@pytest.mark.parametrize(("text", "kind"), WALLS.items())
def test_a_wall_is_no_page_whatever_form_it_comes_in(text: str, kind: K) -> None:
    page = f"<!DOCTYPE html><html><head><title>Welcome</title><script>var a</script></head><body><p>{text}</p></body></html>"
    for answer in (text, page, {"url": "https://shop.test", "content": text}, {"status": 200, "body": page}):
        assert classify(FETCH, answer).kind is kind, answer
    assert classify(ToolCall("web_search"), text).kind is kind


@pytest.mark.parametrize("text", PAGES)
def test_what_tells_of_walls_is_a_page(text: str) -> None:
    for answer in (text, f"<html><head><title>News</title></head><body><p>{text}</p></body></html>"):
        assert classify(FETCH, answer).ok, answer


@pytest.mark.parametrize("text", WALLS)
def test_a_page_with_more_to_say_is_one(text: str) -> None:
    assert classify(
        FETCH, text + " The ferry leaves from berth four at noon, and from berth six at two." * 20
    ).ok


def test_who_brings_no_pages_brings_no_walls() -> None:
    assert classify(ToolCall("get_ticket"), next(iter(WALLS))).rule.startswith("wall:") is False
