"""Lines that hold several are taken apart as the program printed them."""

from __future__ import annotations

import pytest

from triage.read.unfold import PIECES_LIMIT, unfold

FRAME = 'File "/opt/a.py", line 3, in go'


def texts(line: str) -> list[str]:
    return [text for text, _ in unfold(line)]


def test_collapsed_traceback() -> None:
    """Frames, code and the exception stand on lines of their own again; what stood before it stays there."""
    line = f"boom: Traceback (most recent call last): {FRAME} f(x) {FRAME} raise ValueError( ValueError: no File here"
    assert texts(line) == [
        "boom: Traceback (most recent call last):",
        f"  {FRAME}",
        "    f(x)",
        f"  {FRAME}",
        "    raise ValueError(",
        "ValueError: no File here",
    ]


@pytest.mark.parametrize(
    "sentence",
    [
        "The above exception was the direct cause of the following exception:",
        "During handling of the above exception, another exception occurred:",
    ],
)
def test_collapsed_chain(sentence: str) -> None:
    """A chain on one line: both tracebacks, and the sentence that links them."""
    one = f"Traceback (most recent call last): {FRAME} f(x) KeyError: 'a'"
    got = texts(f"{one} {sentence} {one.replace('KeyError', 'ValueError')}")
    assert got[3:6] == ["KeyError: 'a'", sentence, "Traceback (most recent call last):"]
    assert got[-1] == "ValueError: 'a'"


def test_two_collapsed_tracebacks_without_a_sentence() -> None:
    """The second traceback begins where its words stand; the first keeps its exception."""
    one = f"Traceback (most recent call last): {FRAME} f(x) KeyError: 'a'"
    assert [text for text in texts(f"{one} {one}") if text.startswith("KeyError")] == ["KeyError: 'a'"] * 2


def test_escaped_line_breaks() -> None:
    r"""A traceback quoted as one string, its line breaks as ``\n``."""
    line = f'Traceback (most recent call last):\\n  {FRAME}\\n    f(\\"x\\")\\nValueError: a\\n'.replace('"/', '\\"/')
    assert texts(line)[2:4] == ['    f("x")', "ValueError: a"]


def test_html_entities() -> None:
    """A paste out of a web page."""
    assert texts("ValueError: &#39;a&#39; &lt; &quot;b&quot;") == ["ValueError: 'a' < \"b\""]


@pytest.mark.parametrize("line", ["plain", "Traceback (most recent call last):", f"  {FRAME}", "a\\nb", "AT&T"])
def test_single_lines_stay(line: str) -> None:
    """A line that holds one stays as it is."""
    assert texts(line) == [line]


def test_bounded() -> None:
    """One line stands for so many at most."""
    assert len(unfold("Traceback (most recent call last): " + f"{FRAME} f() " * 3 * PIECES_LIMIT)) == PIECES_LIMIT
