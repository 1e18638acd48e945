"""What tools read of a file is text, whatever words it holds."""

from __future__ import annotations

import pytest

from btm.classify import classify
from btm.model import ToolCall

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
