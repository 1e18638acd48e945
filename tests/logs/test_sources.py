from __future__ import annotations

import gzip
import io
import json
import os
import sys
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from log_samples import jsonl, openai_messages, read, tau2_file, write

from btm.errors import MissingExtraError, TraceError
from btm.logs.reading import read_conversations
from btm.logs.records import split_lines
from btm.logs.source import CHUNK, find_logs, open_log

LINES = jsonl({"trace_id": f"t{n}", "messages": openai_messages()} for n in range(50))


def zst(content: bytes) -> bytes:
    return (
        pytest.importorskip("zstandard", reason="the extra 'zstd' is not installed")
        .ZstdCompressor()
        .compress(content)
    )


def content_of(path: Path) -> tuple[bytes, str | None]:
    with open_log(str(path)) as stream:
        return b"".join(stream.chunks()), stream.problem


PACKERS: list[Callable[[bytes], bytes]] = [bytes, gzip.compress, zst]


@pytest.mark.parametrize("pack", PACKERS)
def test_packed_logs_are_known_by_their_content(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert content_of(write(tmp_path / "log.txt", pack(LINES))) == (LINES, None)
    assert len(read(tmp_path / "log.txt")[0]) == 50


@pytest.mark.parametrize("pack", PACKERS[1:])
def test_several_packed_pieces_one_after_the_other_are_one_log(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    assert content_of(write(tmp_path / "log", pack(LINES) + pack(b"") + pack(LINES))) == (LINES * 2, None)


@pytest.mark.parametrize("pack", PACKERS[1:])
def test_a_packed_log_that_was_cut_gives_what_was_whole_and_says_so(
    pack: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    noise = [{"trace_id": os.urandom(400).hex(), "messages": openai_messages()} for _ in range(400)]
    packed = pack(jsonl(noise))
    conversations, skipped = read(write(tmp_path / "log", packed[: len(packed) * 3 // 4]))
    assert 100 < len(conversations) < 400
    assert [c.conversation_id for c in conversations] == [n["trace_id"] for n in noise[: len(conversations)]]
    assert any("ends in the middle" in s.reason and s.line == 0 for s in skipped)
    assert len(skipped) <= 2  # the cut itself, and the line that it went through


def test_damaged_gzip_data_is_reported_and_not_raised(tmp_path: Path) -> None:
    packed = bytearray(gzip.compress(LINES))
    packed[len(packed) // 2] ^= 0xFF
    assert read(write(tmp_path / "log", bytes(packed)))[1]


def test_a_packed_log_is_unpacked_a_piece_at_a_time(tmp_path: Path) -> None:
    with open_log(str(write(tmp_path / "log", gzip.compress(bytes(50 * CHUNK))))) as stream:
        assert max(map(len, stream.chunks())) <= CHUNK


def test_a_missing_package_is_named_with_its_cure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "log.zst", zst(LINES))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(MissingExtraError, match=r"bayesian-tool-memory\[zstd\]"):
        list(read_conversations([path]))


def test_stdin_is_a_log_too(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(gzip.compress(LINES))

    monkeypatch.setattr(sys, "stdin", Stdin)
    conversations, skipped = read("-")
    assert (len(conversations), skipped) == (50, [])
    assert conversations[0].source == "-:1"


def test_a_pipe_that_gives_a_byte_at_a_time_is_known_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dripping(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            return super().read(1)

    class Stdin:
        buffer = Dripping(gzip.compress(LINES))

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert len(read("-")[0]) == 50


def test_folders_and_globs_are_taken_in_sorted_order_without_hidden_files(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b/2.json", "a.json", ".git/x.json", ".hidden", "c.jsonl"):
        write(tmp_path / name, {"messages": openai_messages()})
    found = [Path(log.path).relative_to(tmp_path).as_posix() for log in find_logs([tmp_path])]
    assert found == ["a.json", "c.jsonl", "b/2.json"]
    globbed = list(find_logs([tmp_path / "**" / "*.json"]))
    assert [Path(log.path).name for log in globbed] == ["a.json", "2.json"]
    assert not any(log.named for log in globbed)
    assert [log.named for log in find_logs([tmp_path / "a.json", "-"])] == [True, True]


def test_a_path_that_leads_nowhere_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    for nowhere in (tmp_path / "none.json", tmp_path / "*.jsonl"):
        with pytest.raises(TraceError, match="no such file"):
            read_conversations([nowhere])


def test_a_file_that_cannot_be_opened_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "log", LINES)

    def refuse(*_: object, **__: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("btm.logs.source.open_to_read", refuse)
    with pytest.raises(TraceError, match="Permission denied"):
        list(read_conversations([path]))


def test_a_byte_order_mark_and_carriage_returns_and_blank_lines_do_not_matter(tmp_path: Path) -> None:
    content = b"\xef\xbb\xbf\r\n" + LINES.replace(b"\n", b"\r\n\r\n  \r\n")
    conversations, skipped = read(write(tmp_path / "log", content))
    plain = read(write(tmp_path / "plain", LINES))[0]
    assert skipped == []
    assert [c.digest for c in conversations] == [c.digest for c in plain]
    assert conversations[1].source.endswith(":5")


def test_a_byte_order_mark_before_a_document_does_not_matter(tmp_path: Path) -> None:
    assert len(read(write(tmp_path / "log", b"\xef\xbb\xbf" + json.dumps(tau2_file(3)).encode()))[0]) == 3


def test_lines_are_split_wherever_the_chunks_end() -> None:
    raw = b"one\r\ntwo\n\nthree"
    for size in range(1, len(raw) + 1):
        chunks = (raw[i : i + size] for i in range(0, len(raw), size))
        assert list(split_lines(chunks)) == [(1, b"one"), (2, b"two"), (3, b""), (4, b"three")]


def test_a_line_beyond_the_limit_is_dropped_while_it_is_read() -> None:
    chunks = iter([b"ok\n", b"x" * 50, b"x" * 50, b"\nok\n", b"y" * 100])
    assert list(split_lines(chunks, limit=60)) == [(1, b"ok"), (2, None), (3, b"ok"), (4, None)]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_among_the_logs_of_a_folder_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    (tmp_path / "log.jsonl").write_text("{}")
    for given in (tmp_path, tmp_path / "*.jsonl"):
        assert [log.path for log in find_logs([given])] == [str(tmp_path / "log.jsonl")]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be"])
def test_a_log_in_utf_16_is_read_as_if_it_were_utf_8(encoding: str, tmp_path: Path) -> None:
    bom = b"\xfe\xff" if encoding == "utf-16-be" else b""
    wide, plain = tmp_path / "wide.jsonl", tmp_path / "plain.jsonl"
    wide.write_bytes(bom + LINES.decode().encode(encoding))
    plain.write_bytes(LINES)
    (conversations, skipped), (expected, _) = read(wide), read(plain)
    assert not skipped
    assert [c.digest for c in conversations] == [c.digest for c in expected]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_that_was_named_is_read_once_as_it_comes(tmp_path: Path) -> None:
    pipe, plain = tmp_path / "pipe", write(tmp_path / "plain.jsonl", LINES.replace(b'"t', b'"p'))
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(LINES,), daemon=True)
    writer.start()
    conversations, skipped = read(plain, pipe)
    writer.join(10)
    assert not writer.is_alive()
    assert (len(conversations), skipped) == (100, [])


def test_an_archive_is_read_as_the_logs_in_it(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.jsonl", LINES)
        archive.writestr("b.json", json.dumps({"trace_id": "b", "messages": openai_messages()}, indent=1))
        archive.writestr("readme.txt", "no log")
    conversations, skipped = read(tmp_path / "logs.zip")
    assert (len(conversations), skipped) == (51, [])


def test_a_zip_archive_that_is_none_or_is_damaged_is_reported(tmp_path: Path) -> None:
    for content in (b"PK\x03\x04 and nothing of the kind", b"PK\x03\x04"):
        (tmp_path / "log.zip").write_bytes(content)
        conversations, skipped = read(tmp_path / "log.zip")
        assert conversations == []
        assert "the zip archive cannot be read" in skipped[0].reason
        assert skipped[0].lost
