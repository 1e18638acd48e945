"""How long a service asks to be left alone."""

from __future__ import annotations

import pytest

from btm.classify import classify, retry_after
from btm.model import ToolCall

NOW = 1_795_965_503.0  # 2026-11-29T15:18:23Z


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("Please try again in 20s.", 20.0),
        ("Try again in 6m0s.", 360.0),
        ("try again in 1m30s", 90.0),
        ("Try again in 1 hour 5 minutes", 3_900.0),
        ("retry in 500ms", 0.5),
        ("Please retry after 12 seconds.", 12.0),
        ("Too Many Requests: retry after 14", 14.0),
        ('"retryDelay": "34s"', 34.0),
        ("请在 30 秒后重试", 30.0),
        ("30秒後に再試行してください", 30.0),
        ("Bitte versuchen Sie es in 60 Sekunden erneut.", 60.0),
        ("réessayez dans 10 secondes", 10.0),
        ("Request was throttled. Expected available in 52 seconds.", 52.0),
        ("A wait of 44 seconds is required (caused by SendMessageRequest)", 44.0),
        ("Limit exceeded, next request allowed in 9 s", 9.0),
        ("Cooldown: 30s remaining", 30.0),
        ("The account is locked for 10 minutes", 600.0),
        ("Timed out. Waited 0.3 seconds.", None),
        ("Limit: 10 requests allowed per 60 seconds", None),
        ("retry (attempt 3 of 5)", None),
        ("Please wait a few minutes before you try again.", None),
        ("try again in 99999999 days", None),
    ],
)
def test_a_sentence_that_asks_for_a_wait_is_read(text: str, seconds: float | None) -> None:
    assert retry_after.in_text(text) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("30", 30.0),
        (2.7, 2.7),
        ("Sun, 29 Nov 2026 15:19:53 GMT", 90.0),
        ("Sun, 29 Nov 2026 15:00:00 GMT", 0.0),
        (b"5", 5.0),
        (True, None),
        (float("nan"), None),
        (-3, None),
        (10**400, None),
        ("soon", None),
        (None, None),
    ],
)
def test_a_header_is_seconds_or_a_date(value: object, seconds: float | None) -> None:
    assert retry_after.seconds_of(value, NOW) == seconds


def test_a_date_means_nothing_without_a_time_to_count_from() -> None:
    assert retry_after.seconds_of("Sun, 29 Nov 2026 15:19:53 GMT", None) is None


def test_headers_are_read_whatever_their_case() -> None:
    assert retry_after.in_headers({"RETRY-AFTER": "3"}, None) == 3.0
    assert retry_after.in_headers({"retry-after-ms": "1500"}, None) == 1.5
    assert retry_after.in_body({"error": {"details": [{"retryDelay": "34s"}]}}, None) == 34.0


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW + 11))}, 11.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(int((NOW + 7) * 1_000))}, 7.0),
        ({"RateLimit-Remaining": 0, "RateLimit-Reset": 6}, 6.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "6m0s"}, 360.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "60", "Retry-After": "3"}, 3.0),
        ({"x-ratelimit-remaining": "41", "x-ratelimit-reset": "60"}, None),
        ({"x-ratelimit-reset": "60"}, None),
    ],
)
def test_a_reset_counts_where_nothing_remains(headers: dict[str, object], seconds: float | None) -> None:
    assert retry_after.in_headers(headers, NOW) == seconds


def test_a_reset_alone_counts_where_the_limit_is_what_failed() -> None:
    assert retry_after.in_headers({"ratelimit-reset": "6"}, NOW, limited=True) == 6.0
    spent = {"x-ratelimit-remaining": "9", "x-ratelimit-reset": "6"}
    assert retry_after.in_headers(spent, NOW, limited=True) is None


THEN = 1_790_000_000.0  # 2026-09-21T14:13:20Z


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1790000011"}, 11.0),
        ({"X-Rate-Limit-Reset": "1790000020000", "X-Rate-Limit-Remaining": "0"}, 20.0),
        ({"x-ratelimit-remaining": "0", "x-ratelimit-reset-after": "2.5"}, 2.5),
        ({"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "6m0s"}, 360.0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "0",
                "anthropic-ratelimit-requests-reset": "2026-09-21T14:13:30Z",
            },
            10.0,
        ),
        ({"retry-after": "1790000007"}, 7.0),
        ({"x-ratelimit-remaining": "4999", "x-ratelimit-reset": "1790000011"}, None),
        ({"x-ratelimit-reset": "soon"}, None),
    ],
)
def test_when_a_limit_starts_anew_is_a_wait_where_nothing_is_left(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after.in_headers(headers, THEN) == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        ({"retry_at": "2026-09-21T14:13:29+00:00"}, 9.0),
        ({"error": {"resets_at": 1790000044, "message": "limit"}}, 44.0),
        ({"error": {"resets_in_seconds": 12}}, 12.0),
    ],
)
def test_a_field_may_name_the_moment(body: dict[str, object], seconds: float | None) -> None:
    assert retry_after.in_body(body, THEN) == seconds


def test_a_wait_is_read_of_an_error_that_says_nothing_else() -> None:
    assert classify(ToolCall("get_rate"), error=RuntimeError("429, retry after 4 s")).retry_after_s == 4.0
