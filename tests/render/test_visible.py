"""Foreign text made visible and bounded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.render.visible import excerpt, flat, is_plain, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain [bold]", "plain [bold]"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\tb\nc\rd", "a\\tb\\nc\\rd"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202egnp", "<U+202E>gnp"),
        ("a\u200bb\ufeff", "a<U+200B>b<U+FEFF>"),
        ("a\u2028b", "a<U+2028>b"),
        ("\U000e0041", "<U+E0041>"),
        ("\ud800", "<U+D800>"),
        ("e\u034fe\u3164", "e<U+034F>e<U+3164>"),
        ("Грüße 世界 ▄▄", "Грüße 世界 ▄▄"),
    ],
)
def test_what_cannot_be_seen_is_spelt_out(text, shown):
    """Controls, invisible and bidi characters have a spelling; letters of any script stay."""
    assert visible(text, 100) == shown


def test_the_length_is_bounded_with_a_marker():
    """A long text ends in how much more there is; an escape is never cut in two."""
    assert visible("abcdef", 3) == "abc [... 3 more characters]"
    assert visible("\x1b\x1b", 5) == "\\x1b [... 1 more characters]"


@given(st.text(st.characters(), max_size=60))
def test_the_result_is_plain_whatever_the_text(text):
    """Nothing that would need to be made visible is left, and doing it again changes nothing."""
    shown = visible(text, 1000)
    assert is_plain(shown)
    assert visible(shown, 1000) == shown
    assert "\n" not in shown


@given(st.text(max_size=300), st.integers(min_value=1, max_value=50))
def test_the_result_is_never_much_longer_than_the_limit(text, limit):
    """The marker is all that may come on top of the limit."""
    assert len(visible(text, limit)) <= limit + len(" [... 300 more characters]")


def test_prose_becomes_one_line():
    """Line feeds and indents of prose collapse to blanks."""
    assert flat("a\n   b\t c ", 100) == "a b c"


def test_flat_is_quick_on_a_huge_text():
    """Only the part that can be shown is looked at, and the cut is marked."""
    assert flat("a " * 10_000_000, 10).endswith("]")


def test_an_excerpt_starts_at_the_message():
    """The head of a long line is left out up to the word before the message."""
    line = "t" * 500 + " ValueError: it broke " + "z" * 500
    assert excerpt(line, "it broke", 80).startswith("[...] ValueError: it broke zzz")
    assert excerpt("short it broke", "it broke", 80) == "short it broke"
