"""Escape sequences come off in every spelling, and ordinary text stays."""

from __future__ import annotations

import pytest

from triage.read.ansi import plain, strip_ansi

SPELLINGS = ["\x1b", "", "\\x1b", "\\u001b", "^[", "#033", "\\033", "\\e", "\u241b", "\u2039", "\ufffd"]


@pytest.mark.parametrize("escape", SPELLINGS)
def test_colours_come_off(escape: str) -> None:
    """In front, in the middle of words and numbers, and at the end."""
    on, off = f"{escape}[1;36m", f"{escape}[0m"
    assert strip_ansi(f"{on}ERR{off}OR max_{on}num{off}_seqs (2{on}5{off}6){off}") == "ERROR max_num_seqs (256)"


@pytest.mark.parametrize(
    "text",
    [
        "rate(x[5m])",
        "a[36]",
        "[1m]",
        "x [0] [1;2]",
        "C:\\e\\x",
        "list[5",
        "#033",
        "a ^[b",
        "[36 m]",
        "#0 [core.py:12] m",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    """Ranges, indices, paths and lone carets are no colours."""
    assert strip_ansi(text) == text


@pytest.mark.parametrize("rest", ["\x1b", "\x1b[", "\x1b[0", "\x1b[1;3"])
def test_half_a_sequence_at_the_end_comes_off(rest: str) -> None:
    """A cut may fall into a sequence."""
    assert strip_ansi(f"text{rest}") == "text"


def test_links_titles_and_overstrikes() -> None:
    """OSC links leave their text, backspaces strike out what stands before them."""
    assert strip_ansi("\x1b]8;;file:///x.py\x1b\\x.py\x1b]8;;\x07 line 3") == "x.py line 3"
    assert strip_ansi("maz\bx 12\b\b34") == "max 34"


def test_plain_text() -> None:
    """Blanks of every kind are one, characters without width go, Markdown's escapes and long dashes before flags too."""
    assert plain("a\u00a0b\u200bc\u00add\ufeff") == "a bcd"
    assert plain("serve x \u2013max-num-seqs 8 \u2014model y \u2013 z") == "serve x --max-num-seqs 8 --model y \u2013 z"
    assert plain("max\\_num\\_seqs") == "max_num_seqs"
    assert plain("C:\\venv\\vllm\\_C.pyd") == "C:\\venv\\vllm\\_C.pyd"
