"""Which tools give text as their answer: by whole words of their names."""

from __future__ import annotations

import pytest

from btm.classify import classify
from btm.model import ErrorKind, ToolCall

NOISE = "\ufffd \ufffd\ufffd\ufffd " * 8


@pytest.mark.parametrize(
    "tool", ["get_order_details", "get_details_by_id", "locate", "list_categories", "login"]
)
def test_a_name_that_only_contains_a_word_of_text_is_no_reader_of_text(tool: str) -> None:
    assert classify(ToolCall(tool), NOISE).kind is ErrorKind.MALFORMED


@pytest.mark.parametrize("tool", ["cat", "tail", "read_file", "readFile", "open_document", "run_shell"])
def test_what_reads_text_may_give_any(tool: str) -> None:
    assert classify(ToolCall(tool), NOISE).ok


SOURCE = (
    6
    * """\t\t\tconst errorMessage = error instanceof Error ? error.message : "Unknown error occurred";
\t\t\tlamp.showError(errorMessage);
\t\t}
\t}
}
"""
)


@pytest.mark.parametrize("tool", ["read", "Read", "str_replace_editor"])
def test_what_a_coding_agents_tools_read_of_a_file_is_no_failure(tool: str) -> None:
    assert classify(ToolCall(tool, {"path": "src/lamp.ts"}), SOURCE).ok
    assert not classify(
        ToolCall(tool, {"path": "src/lamp.ts"}), "Error: ENOENT: no such file or directory"
    ).ok
