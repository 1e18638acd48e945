"""Result or error text: what is in doubt is suspected, and a text about errors is a result."""

from __future__ import annotations

import pytest

from btm.classify import classify
from btm.model import Effect, ErrorKind, ToolCall

WRITE = Effect.WRITE


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("run_build", "Build completed. Errors: 0, Warnings: 3"),
        (
            "run_tests",
            "FAILED tests/test_a.py::test_b - AssertionError: assert 1 == 2\n1 failed, 9 passed in 0.12s",
        ),
        (
            "read_log",
            "2026-11-29 10:00:01 ERROR [main] Connection refused: db:5432\n2026-11-29 10:00:02 INFO retry ok\n",
        ),
        (
            "web_search",
            "1. How to fix 'Connection refused' errors\n2. Error 404 explained\n3. What does ENOENT mean?",
        ),
        ("get_page", "404 - The Page Not Found is a rock band from Bern formed in 2004."),
        (
            "save_html",
            "<html><head><title>404 Museum \u2013 history of a page</title></head><body>Open daily</body></html>",
        ),
        ("get_docs", "HTTP 429 Too Many Requests means that the client sent too many requests."),
        ("cat", "# Troubleshooting\n\n## Error: EACCES permission denied\n\nRun `chmod +x`.\n"),
        ("get_label", "closed -> geschlossen"),
        (
            "ru",
            "Заказ отменён. Ошибок нет.",
        ),
        ("bash", "Exit code: 0\nWall time: 0.3 seconds\nOutput:\nerrors.log\nfailed.txt\n"),
    ],
)
def test_a_text_about_errors_is_no_failure(tool: str, text: str) -> None:
    assert classify(ToolCall(tool), text).ok


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("no contact named 'Zoe'", ErrorKind.NOT_FOUND),
        ("unknown place 'Atlantis'", ErrorKind.NOT_FOUND),
        ("contact C-109 does not exist", ErrorKind.NOT_FOUND),
        ("there is no customer called 'Kim'", ErrorKind.NOT_FOUND),
    ],
)
def test_something_named_that_is_not_there_is_not_found_and_the_write_did_not_happen(
    text: str, kind: ErrorKind
) -> None:
    call = ToolCall("update_contact", {"name": "Zoe"}, WRITE)
    for outcome in (
        classify(call, text),
        classify(call, error=ValueError(text)),
        classify(call, error=KeyError(text)),
    ):
        assert (outcome.kind, outcome.ambiguous) == (kind, False)


@pytest.mark.parametrize(
    "text",
    [
        "The row was created, then the notification failed: connection reset",
        "Failed to notify the customer after the order was created",
        "Error: e-mail service down (booking B-12 has been saved)",
        "timeout while indexing; the document has been stored",
    ],
)
def test_a_failure_that_says_that_the_row_was_created_may_have_happened_as_text_and_raised(text: str) -> None:
    call = ToolCall("create_row", {"a": 1}, WRITE)
    for outcome in (
        classify(call, text),
        classify(call, error=RuntimeError(text)),
        classify(call, {"error": text}),
    ):
        assert not outcome.ok
        assert outcome.ambiguous, outcome


def test_what_is_in_doubt_is_suspected_and_no_failure() -> None:
    outcome = classify(ToolCall("get_state"), "Rates for Friday. The service was unavailable on Sunday.")
    assert outcome.ok
    assert outcome.suspected is ErrorKind.UNAVAILABLE
    assert outcome.rule.startswith("suspected:")
    assert 0.3 < outcome.confidence < 1.0


def test_only_flags_and_exceptions_are_wholly_sure() -> None:
    assert classify(ToolCall("get_text"), "The order was shipped on Monday.").confidence < 1.0
    assert classify(ToolCall("get_text"), "Error: order W1 not found").confidence < 1.0


@pytest.mark.parametrize(
    "tool", ["set_default_branch", "list_latest_orders", "get_catalog", "checkout_cart", "playwright_click"]
)
def test_a_word_within_a_word_of_a_tools_name_says_nothing_of_its_purpose(tool: str) -> None:
    outcome = classify(ToolCall(tool, {}, WRITE), {"error": "Branch 'develop2' does not exist"})
    assert outcome.kind is ErrorKind.NOT_FOUND
    listed = classify(ToolCall(tool, {}, WRITE), {"errors": ["Branch 'develop2' does not exist"]})
    assert not listed.ok


def test_the_exit_code_of_a_job_that_was_looked_up_is_one_of_its_facts() -> None:
    job = {
        "id": 7,
        "state": "failed",
        "name": "nightly",
        "finished_at": "2026-11-29T02:10:00Z",
        "exit_code": 1,
    }
    assert classify(ToolCall("api_get"), job).ok
    assert not classify(
        ToolCall("run"), {"exit_code": 1, "stderr": "ls: cannot access 'x': No such file or directory"}
    ).ok


def test_what_a_terminal_shows_in_colours_is_read_without_them() -> None:
    assert (
        classify(
            ToolCall("publish"), "\x1b[31mERROR   \x1b[0m Distribution: Cannot find file dist/a.whl"
        ).kind
        is ErrorKind.NOT_FOUND
    )


def test_an_aside_does_not_say_what_went_wrong() -> None:
    text = 'channel "#x" not found (cache refresh was rate-limited, try again later)'
    assert classify(ToolCall("history"), text).kind is ErrorKind.NOT_FOUND


@pytest.mark.parametrize("tool", ["get_order_details", "get_location", "geocode"])
def test_a_cut_json_text_is_malformed_whatever_word_stands_within_the_tools_name(tool: str) -> None:
    assert classify(ToolCall(tool), '{"id": 4, "city": "Ber').kind is ErrorKind.MALFORMED


def test_a_page_where_reviews_were_due_is_malformed() -> None:
    page = "<!DOCTYPE html><html><head><title>Shop</title></head><body>Welcome</body></html>"
    assert classify(ToolCall("list_reviews"), page).kind is ErrorKind.MALFORMED
    assert classify(ToolCall("fetch_page"), page).ok


def test_a_yes_or_no_with_its_reason_is_what_a_read_was_asked_for() -> None:
    body = {"deliverable": False, "reason": "street not found in postal code"}
    assert classify(ToolCall("verify_address"), body).ok
    assert not classify(ToolCall("verify_address"), {"success": False, "reason": "street not found"}).ok


def test_what_follows_a_heading_is_what_was_found() -> None:
    text = "Found 2 learnings:\n1. Retry on 503\n2. A failed login locks the account"
    assert classify(ToolCall("recall"), text).ok


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("add_comment", 'Comment added. "The server returned 503 Service Unavailable"'),
        ("create_event", "Event 'Post-mortem: connection refused' scheduled for Friday 10:00"),
        ("create_pr", "Pull request 'Handle 429 Too Many Requests' opened"),
        ("remember", "Remembered: user gets 'permission denied' on staging"),
    ],
)
def test_what_a_write_quotes_is_what_was_written(tool: str, text: str) -> None:
    assert classify(ToolCall(tool, {}, WRITE), text).ok


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("send_email", "Email to 'bob' not sent: 'mailbox unavailable'"),
        ("delete_file", "Could not delete 'report.txt': 'permission denied'"),
        ("pay", "Payment of '12.50' was declined"),
    ],
)
def test_a_write_that_says_that_it_was_not_done_quotes_its_failure(tool: str, text: str) -> None:
    assert not classify(ToolCall(tool, {}, WRITE), text).ok
