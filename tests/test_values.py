"""Printed Python values: read under bounds, quotes and brackets known, nothing evaluated."""

from __future__ import annotations

import pytest

from triage.values import LENGTH_LIMIT, UnreadableError, closing, depth_of, literal, outside_quotes, split


@pytest.mark.parametrize(
    ("text", "value"), [("3", 3), ("'a\\'b'", "a'b"), ("[1, (2, 'x')]", [1, (2, "x")]), ("{'a': None}", {"a": None})]
)
def test_constants_are_read(text: str, value: object) -> None:
    """Numbers, texts and containers of them come back as they were printed."""
    assert literal(text) == value


@pytest.mark.parametrize("text", ["<object at 0x1>", "open('x')", "[1, 2", "(" * 9000, "'" + "x" * LENGTH_LIMIT + "'"])
def test_anything_else_is_refused(text: str) -> None:
    """Objects, calls, cut, deep and long texts are no constants."""
    with pytest.raises(UnreadableError):
        literal(text)


def test_commas_inside_quotes_and_brackets_are_not_the_texts_own() -> None:
    """Pieces end at top-level commas; a quote may be escaped."""
    assert list(split(r"1, 'a, \', b', [2, (3, 4)], {'k': 5}")) == ["1", r" 'a, \', b'", " [2, (3, 4)]", " {'k': 5}"]


def test_a_lenient_split_knows_angle_brackets_and_passes_over_damage() -> None:
    """A dump of objects holds reprs in angle brackets; an arrow is none, and a bracket too many closes nothing."""
    assert list(split("<A: 1, 2>, b -> c, d), e", lenient=True)) == ["<A: 1, 2>", " b -> c", " d)", " e"]
    assert list(split("d), e")) == ["d), e"]


def test_depth_is_bounded() -> None:
    """More open brackets than allowed are refused, or found as no end."""
    with pytest.raises(UnreadableError):
        list(split("[[[1]]], 2", depth_limit=2))
    assert (closing("[[1]] x", 2), closing("[[1]] x", 1), closing("[[1]", 2)) == (5, 0, 0)
    assert closing("{'a}': 1}, b", 5) == 9
    assert (depth_of("[(1)]"), depth_of("'[['"), depth_of("----1")) == (2, 2, 2)


def test_quotes_are_left_out() -> None:
    """Only what stands outside strings is given, with its place."""
    assert list(outside_quotes("a'b'c")) == [(0, "a"), (4, "c")]
