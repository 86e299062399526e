"""Bytes come from files, folders and pipes, plain or compressed, in UTF-8 or UTF-16."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from triage.errors import InputError
from triage.read import Source, files_below, open_source, read_chunks

TEXT = b"".join(b"line %d of a log\n" % number for number in range(40_000))
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: zstandard.ZstdCompressor().compress(data),
}


def read(data: bytes) -> bytes:
    return b"".join(read_chunks(Source("x", io.BytesIO(data))))


@pytest.mark.parametrize("kind", COMPRESS)
def test_compressed_by_content(kind: str) -> None:
    """A compressed log is read whatever its name; two streams in one file are one log."""
    packed = COMPRESS[kind](TEXT)
    assert read(packed) == TEXT
    assert read(packed + packed) == TEXT + TEXT


@pytest.mark.parametrize("kind", COMPRESS)
def test_cut_or_damaged_compressed_file_gives_what_it_has(kind: str) -> None:
    """A truncated download gives its beginning and then an error that names the file."""
    text = os.urandom(600_000).hex().encode()
    chunks, got = read_chunks(Source("x.log", io.BytesIO(COMPRESS[kind](text)[:-100_000]))), b""

    def take() -> None:
        nonlocal got
        for chunk in chunks:
            got += chunk

    if kind == "zst":
        take()  # its reader takes a missing end for the end
    else:
        with pytest.raises(InputError, match=r"x\.log is cut short or damaged"):
            take()
    assert text.startswith(got)
    assert 0 < len(got) < len(text)


@pytest.mark.parametrize("kind", COMPRESS)
def test_bomb_is_read_piece_by_piece(kind: str) -> None:
    """A small file that stands for a large one comes in pieces of bounded size."""
    chunks = read_chunks(Source("x", io.BytesIO(COMPRESS[kind](b"\0" * 50_000_000))))
    assert max(len(next(chunks)) for _ in range(10)) <= 1 << 18


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_with_a_mark(encoding: str) -> None:
    """PowerShell's redirects are transcoded, wherever the chunks are cut."""
    data = "é ab\r\n".encode(encoding) * 30_001
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b"\xfe\xff"
    assert read(mark + data) == "é ab\r\n".encode() * 30_001
    assert read(b"\xef\xbb\xbfplain") == b"plain"


def test_folder_stands_for_its_files(tmp_path: Path) -> None:
    """Every file below it, in order, hidden ones left out."""
    for name in ("b/2.log", "a.log", "b/1.log", ".hidden", ".git/x"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    assert files_below(str(tmp_path)) == [str(tmp_path / name) for name in ("a.log", "b/1.log", "b/2.log")]
    assert files_below("some.log") == ["some.log"]


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    """A missing file and an empty folder are our own errors, with a hint."""
    with pytest.raises(InputError, match="does not exist") as missing:
        open_source(str(tmp_path / "nope"))
    assert missing.value.hint
    with pytest.raises(InputError, match="without files"):
        files_below(str(tmp_path))


def test_stopped_source_ends() -> None:
    """When asked to stop, a source ends as if its input had."""
    assert list(read_chunks(Source("x", io.BytesIO(TEXT)), lambda: True)) == []


def test_pipe_gives_what_it_has() -> None:
    """A pipe that is still open is read as it fills."""
    out, into = os.pipe()
    os.write(into, b"first\n")
    chunks = read_chunks(Source("pipe", os.fdopen(out, "rb")))
    assert next(chunks) == b"first\n"
    os.write(into, b"second\n")
    assert next(chunks) == b"second\n"
    os.close(into)
    assert list(chunks) == []
