"""What a program printed as it ran: it ends with a complaint, or it went on."""

from __future__ import annotations

import pytest

from btm import ErrorKind, ToolCall
from btm.classify.engine import classify


def kind_of(text: str, tool: str) -> ErrorKind | None:
    return classify(ToolCall(tool), text).kind


@pytest.mark.parametrize(
    ("tool", "text", "kind"),
    [
        ("pack", "Reading rules\nResolving 12 parts\nERROR: no such part 'lid'\nSee pack --help", "not_found"),
        ("flow_run", "NOTE: 3 steps\nERROR ~ Cannot reach the queue: connection refused\n\nTip: -resume", "unavailable"),
        ("sync_site", "pushing to /srv/site\nsearching for changes\nabort: permission denied on refs/main", "auth_error"),
        ("plot", "12:01:07 - INFO start\n12:01:09 - ERROR: disk quota exceeded", "quota_exhausted"),
        ("run_command", "[1/2] CC a.o\nFAILED: a.o\nninja: build stopped: no space left on device", "quota_exhausted"),
        ("run_job", "Reading\nSegmentation fault (core dumped)", "server_error"),
        ("run_sql", "BEGIN\nERROR:  relation \"x\" does not exist\nLINE 1: select", "not_found"),
        ("run_command", "ERROR: quota exceeded\nUploaded 0 files", "quota_exhausted"),
        ("run_command", "Warning: permanently added host.\nPermission denied (publickey).", "auth_error"),
        ("stage", "[✔]  account is there\n[✖]  timed out waiting for the plane after 20m0s", "timeout"),
    ],
)  # fmt: skip
def test_a_run_ends_with_what_stopped_it(tool: str, text: str, kind: str) -> None:
    assert kind_of(text, tool) == kind


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        (
            "pack",
            "Reading rules\nERROR: mirror one is down\nTrying mirror two\nFetched 12 parts\nDone in 3 s",
        ),
        ("pay_terminal", "Status: Accepted\nERROR: 0\nAuth: 2778"),
        ("search_code", "a.py:7:\n  error: str = 'gone'\nError: how to raise it"),
        ("tail_log", "10:00:01 INFO up\n10:00:02 FATAL disk full"),
        ("run_import", "Reading rows\nError: bad line 4\nImported 119 rows of 120 lines"),
        ("run_command", "*** Welcome to Ubuntu ***\nUptime 5 days\nLoad 0.1"),
        ("run_command", "Permission denied on /root, skipping\nScanned 500 files"),
        ("bash", "error: mirror one timed out\nusing mirror two\nInstalled 12 packages"),
        ("bash", "commit abc\nAuthor: Ann\n\n    Fix Error: crash on start"),
        ("bash", "total: 12\nerror: 3\nwarnings: 0"),
        ("run_command", "## Errors\nError: `E42` is raised when the disk is full.\nSee below."),
        ("bash", "2024-05-05 10:00:01 ERROR: timeout for user 5\n2024-05-05 10:00:02 INFO idle"),
        ("read_file", 'BEGIN\nERROR:  relation "x" does not exist\nLINE 1: select'),
    ],
)
def test_what_went_on_or_only_quotes_is_no_failure(tool: str, text: str) -> None:
    assert kind_of(text, tool) is None


@pytest.mark.parametrize(
    "end",
    [
        "** BUILD FAILED **",
        "[INFO] BUILD FAILURE",
        "Bus error (core dumped)",
        "Killed",
        "rsync error: code 23 at main.c",
    ],
)
def test_a_verdict_or_a_signal_is_an_end_of_its_own(end: str) -> None:
    assert kind_of(f"[INFO] Reading the plan\nStep 1 of 2\n{end}", "run_command") is not None
