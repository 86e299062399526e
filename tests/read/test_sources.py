"""Bytes come from files, folders and pipes, plain or compressed, in UTF-8 or UTF-16."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
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


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark(encoding: str) -> None:
    """Every second byte being zero tells it, however little of it comes first."""
    data = "ERROR \u00e9 boom\r\n".encode(encoding) * 99
    source = Source("x", io.BytesIO(data))
    assert b"".join(read_chunks(source)) == "ERROR \u00e9 boom\r\n".encode() * 99


def test_binary_is_said_to_be() -> None:
    """Of a binary file the beginning is given, with a note; padding, colours and other encodings are none."""
    source = Source("core.1", io.BytesIO(bytes(range(256)) * 1000))
    assert len(b"".join(read_chunks(source))) <= 1 << 16
    assert source.notes == ["core.1 is binary, no text: only its beginning was looked at"]
    for text in (
        b"\0" * 5000 + b"ERROR boom\n" * 50,
        b"\x1b[31mERR\x1b[0m\tx\r\n" * 99,
        "\u00e9\u6587".encode("gb18030") * 99,
    ):
        source = Source("log", io.BytesIO(text))
        assert b"".join(read_chunks(source)) == text
        assert source.notes == []


@pytest.mark.parametrize("kind", ["tar", "tar.gz", "tar.xz", "zip"])
def test_archive_is_read_as_a_folder(tmp_path: Path, kind: str) -> None:
    """A support bundle's files have its name before their own, hidden and empty ones are left out."""
    members = {
        "logs/b.log": b"second\n",
        "logs/a.log": b"first\n",
        ".git/x": b"no",
        "empty": b"",
        "old.gz": gzip.compress(b"old\n"),
    }
    path = tmp_path / f"bundle.{kind}"
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, data in members.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(path, f"w:{kind.partition('.')[2]}") as tar:
            for name, data in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    names = [f"{path}/logs/b.log", f"{path}/logs/a.log", f"{path}/old.gz"]
    assert files_below(str(path)) == names
    assert files_below(str(tmp_path)) == names
    assert [b"".join(read_chunks(open_source(name))) for name in names] == [b"second\n", b"first\n", b"old\n"]
    with pytest.raises(InputError, match="does not exist"):
        open_source(f"{path}/logs/c.log")


def test_damaged_archive(tmp_path: Path) -> None:
    """A cut archive is named by itself, and beside good logs it does not keep them from being read."""
    (tmp_path / "bad.zip").write_bytes(b"PK\x03\x04" + b"x" * 100)
    (tmp_path / "good.log").write_text("fine\n")
    with pytest.raises(InputError, match="archive that cannot be read"):
        files_below(str(tmp_path / "bad.zip"))
    assert files_below(str(tmp_path)) == [str(tmp_path / "bad.zip"), str(tmp_path / "good.log")]
