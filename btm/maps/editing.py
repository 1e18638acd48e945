"""New text put into an existing map: what stands there stays as it is, comments and order and all.

Text is inserted, never rewritten; the result is read again, and refused unless it means the old map plus the new
part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from btm.authored.loading import Node, parse
from btm.errors import FallbackMapError
from btm.support.untrusted import printable

Values = Mapping[str, Any]


def add_tools(text: str, file: str, blocks: Mapping[str, str]) -> str:
    """Return the map with new tools after its last one.

    ``blocks`` maps each new tool to its YAML in lines, written without indentation. Raises FallbackMapError when the
    map's ``tools`` are written in braces, or when a tool is already there.
    """
    root = parse(text, file, FallbackMapError)
    tools = root.child("tools")
    if tools is None or tools.entries is None:
        raise _refuse(root, "the map has no mapping 'tools' to add to")
    clash = sorted(set(blocks) & set(tools.entries))
    if clash:
        raise _refuse(tools, f"the tool {clash[0]!r} is already in the map")
    if not blocks:
        return text
    newline = _newline(text)
    if not tools.entries:  # tools: {}
        indent, at = "  ", tools.end
        start = _offset(text, (tools.place.line, tools.place.column))
        written = "".join(_indented(block, indent, newline) for block in blocks.values())
        made = text[:start].rstrip(" ") + newline + written + text[_offset(text, at) :].lstrip("\r\n")
    else:
        if tools.flow:
            raise _refuse(
                tools, "the tools of this map are written in braces; write one a line to add to them"
            )
        indent = " " * (min(place.column for place in tools.keys.values() if place.file == file) - 1)
        written = "".join(_indented(block, indent, newline) for block in blocks.values())
        made = _after_line(text, _last_line(tools), written, newline)
    return _verified(made, file, {**_plain(root), "tools": {**_plain(tools), **_read_blocks(blocks, file)}})


def add_fallback(text: str, file: str, tool: str, fallback: Values, comment: str = "") -> str:
    """Return the map with one more fallback under a tool, after those it has.

    Works on entries written in lines and in braces; ``comment`` is kept for the former only. Raises FallbackMapError
    when the tool is not in this file, or shares its entry with another one by an alias.
    """
    root, entry = _entry(text, file, tool)
    expected = _plain(root)
    expected["tools"][tool]["fallbacks"] = [*(expected["tools"][tool].get("fallbacks") or []), dict(fallback)]
    made = _inserted(text, entry, entry.child("fallbacks"), flow(fallback), _note(comment))
    return _verified(made, file, expected)


def add_verify(text: str, file: str, tool: str, verify: Values, comment: str = "") -> str:
    """Return the map with the read that checks a write.

    Raises FallbackMapError as :func:`add_fallback` does, and when the write has a check already.
    """
    root, entry = _entry(text, file, tool)
    present = entry.child("verify")
    if present is not None:
        raise _refuse(present, f"{tool!r} has a 'verify' already")
    expected = _plain(root)
    expected["tools"][tool]["verify"] = dict(verify)
    item = flow(verify)
    if entry.flow:
        made = _in_braces(text, entry, f"verify: {item}")
    else:
        indent, newline, note = _indent(entry), _newline(text), _note(comment)
        written = (f"{indent}{note}{newline}" if note else "") + f"{indent}verify: {item}{newline}"
        made = _after_line(text, _last_line(entry), written, newline)
    return _verified(made, file, expected)


def _entry(text: str, file: str, tool: str) -> tuple[Node, Node]:
    """Return the map and the tool's own entry in it, or refuse."""
    root = parse(text, file, FallbackMapError)
    tools = root.child("tools")
    entry = tools.child(tool) if tools is not None else None
    if tools is None or entry is None or entry.entries is None:
        raise _refuse(root, f"the tool {tool!r} is not in this file")
    key = tools.keys[tool]
    if (entry.place.line, entry.place.column) < (key.line, key.column):
        raise _refuse(entry, f"{tool!r} shares its entry with another tool by an alias")
    return root, entry


def _note(comment: str) -> str:
    return f"# {' '.join(printable(comment).split())}" if comment else ""


def _inserted(text: str, entry: Node, listed: Node | None, item: str, note: str) -> str:
    newline = _newline(text)
    if listed is not None and listed.items is not None and entry.keys["fallbacks"].line <= listed.place.line:
        if listed.flow:
            at = _offset(text, listed.end) - 1
            return text[:at].rstrip() + (", " if listed.items else "") + item + text[at:]
        indent = " " * (_column_of_dash(text, listed) - 1)
        return _after_line(text, _last_line(listed), _item(indent, item, note, newline), newline)
    if listed is not None:
        raise _refuse(listed, "these fallbacks are shared with another tool by an alias, or are not a list")
    if entry.flow:
        return _in_braces(text, entry, f"fallbacks: [{item}]")
    indent = _indent(entry)
    written = f"{indent}fallbacks:{newline}" + _item(f"{indent}  ", item, note, newline)
    return _after_line(text, _last_line(entry), written, newline)


def _in_braces(text: str, entry: Node, pair: str) -> str:
    at = _offset(text, entry.end) - 1
    before = text[:at].rstrip()
    return f"{before}{'' if before.endswith(('{', ',')) else ', '}{pair}{text[at:]}"


def _indent(entry: Node) -> str:
    return " " * (min(place.column for place in entry.keys.values()) - 1)


def _item(indent: str, item: str, note: str, newline: str) -> str:
    return (f"{indent}{note}{newline}" if note else "") + f"{indent}- {item}{newline}"


def flow(value: Any) -> str:
    """Return a value as YAML on one line; text is quoted where YAML would take it for something else."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow(str(key))}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(flow(item) for item in value) + "]"
    if isinstance(value, str) and _is_bare(value):
        return value
    if not isinstance(value, str):
        return orjson.dumps(value).decode()  # every JSON number, true, false and null is YAML's too
    quoted = orjson.dumps(value.encode("utf-8", "replace").decode()).decode()
    return "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in quoted)


def _is_bare(text: str) -> bool:
    """Whether a text may stand without quotes: a name that YAML reads as this very text."""
    if (
        not text
        or not all(c.isascii() and (c.isalnum() or c in "_-.?/") for c in text)
        or not text[0].isalpha()
    ):
        return False
    return bool(parse(f"v: {text}", "<text>").value() == {"v": text})


def _plain(node: Node) -> Any:
    return node.value()


def _read_blocks(blocks: Mapping[str, str], file: str) -> dict[str, Any]:
    read: dict[str, Any] = {}
    for block in blocks.values():
        read.update(parse(block, file, FallbackMapError).value())
    return read


def _verified(text: str, file: str, expected: Any) -> str:
    if parse(text, file, FallbackMapError).value() != expected:
        raise FallbackMapError("this map is written in a way that text cannot be added to", file=file)
    return text


def _after_line(text: str, line: int, written: str, newline: str) -> str:
    lines = text.splitlines(keepends=True)
    if lines and line >= len(lines) and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    return "".join(lines[:line]) + written + "".join(lines[line:])


def _last_line(node: Node) -> int:
    line, _ = node.end
    return line


def _column_of_dash(text: str, listed: Node) -> int:
    line = text.splitlines()[listed.place.line - 1]
    return (
        line.find("-", listed.place.column - 1) + 1
        if listed.place.column <= len(line)
        else listed.place.column
    )


def _offset(text: str, at: tuple[int, int]) -> int:
    line, column = at
    return sum(len(part) for part in text.splitlines(keepends=True)[: line - 1]) + column - 1


def _indented(block: str, indent: str, newline: str) -> str:
    return "".join((indent + line if line else "") + newline for line in block.rstrip("\n").split("\n"))


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _refuse(node: Node, what: str) -> FallbackMapError:
    return FallbackMapError(what, **node.place._asdict())
