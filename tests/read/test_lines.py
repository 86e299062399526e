"""Bytes become lines whatever ends them, wherever the chunks are cut."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.read.lines import LINE_LIMIT, split_lines


def texts(*chunks: bytes) -> list[str]:
    return [line.text for line in split_lines(chunks, "stdin")]


def test_line_ends_of_every_kind() -> None:
    r"""``\n``, ``\r\n`` and ``\r\r\n`` end a line; a last line without an end counts."""
    assert texts(b"a\nb\r\nc\r\r\nd") == ["a", "b", "c", "d"]


def test_redrawn_lines_come_apart() -> None:
    """A lone CR redraws: an error glued behind a progress bar is a line of its own, with the same number and its offset."""
    lines = list(split_lines([b"x\nbar 0%\rbar 50%\rERROR boom\nend\n"], "stdin"))
    assert [(line.number, line.text) for line in lines] == [
        (1, "x"),
        (2, "bar 0%"),
        (2, "bar 50%"),
        (2, "ERROR boom"),
        (3, "end"),
    ]
    assert [line.offset for line in lines] == [0, 2, 9, 17, 28]


def test_undecodable_bytes_stay_visible() -> None:
    """A byte that is no UTF-8 is shown, not dropped; NUL is padding."""
    assert texts(b"a\xff\x00b\n") == ["a\\xffb"]


def test_long_lines_are_cut_and_say_so() -> None:
    """A line keeps its first 256 KiB; numbers and offsets behind it stay right."""
    lines = list(split_lines([b"x" * (LINE_LIMIT + 10), b"yy\n", b"next\n"], "stdin"))
    assert (len(lines[0].text), lines[0].cut) == (LINE_LIMIT, True)
    assert (lines[1].text, lines[1].number, lines[1].offset, lines[1].cut) == ("next", 2, LINE_LIMIT + 13, False)


@given(st.lists(st.binary(max_size=12), max_size=12))
def test_chunk_borders_do_not_matter(chunks: list[bytes]) -> None:
    """The same bytes give the same lines however they are cut into chunks."""
    whole = list(split_lines([b"".join(chunks)], "stdin"))
    assert list(split_lines(chunks, "stdin")) == whole
    data = b"".join(chunks)
    assert all(
        data[line.offset :].startswith(line.text.encode()[:1])
        for line in whole
        if line.text.isascii() and "\\" not in line.text and b"\0" not in data
    )


@pytest.mark.parametrize("mark", ["\r", "\x1b[1G", "\x1b[G\x1b[2K", "\x1b[2K\x1b[A", "\x0b", "\x0c", "\u2028", "\x85"])
def test_redraws_and_other_breaks(mark: str) -> None:
    """Cursor movements redraw like a CR; what else breaks lines splits them under one number."""
    lines = list(split_lines([f"bar 0%{mark}ERROR boom\nnext\n".encode()], "stdin"))
    assert [(line.number, line.text) for line in lines] == [(1, "bar 0%"), (1, "ERROR boom"), (2, "next")]
    assert lines[1].offset == 6 + len(mark.encode())


def test_colours_and_json_are_no_breaks() -> None:
    """Colour sequences stay in the line, and so does U+2028 in JSON."""
    assert texts(b"\x1b[31mred\x1b[0m\n") == ["\x1b[31mred\x1b[0m"]
    assert texts('{"log": "a\u2028b"}\n'.encode()) == ['{"log": "a\u2028b"}']


def test_one_huge_line_takes_little_memory() -> None:
    """A line of 300 MB is read in the memory of a few chunks."""
    chunk = b"x" * (1 << 16)
    tracemalloc.start()
    lines = list(split_lines((chunk for _ in range(300 << 4)), "stdin"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(lines), lines[0].cut) == (1, True)
    assert peak < 4 << 20
