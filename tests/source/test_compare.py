"""How templates are taken apart and compared."""

from __future__ import annotations

import pytest

from triage.source.compare import skeleton, split
from triage.source.templates import Hole, render


@pytest.mark.parametrize("text", ["a {x} b", "{x}{y}", "{{a}} {d['k']}", "", "{f(x, {1: 2})} end"])
def test_split_is_the_reverse_of_render(text: str) -> None:
    """Taking a template apart and putting it together gives the same text."""
    assert render(split(text)) == text


def test_a_brace_that_opens_no_hole_is_text() -> None:
    """An unbalanced or empty brace does not fail, and stays what it is."""
    assert split("a { b") == ("a { b",)
    assert split("a {} b") == ("a {} b",)
    assert split("a {(} b") == ("a {(} b",)


def test_skeletons_ignore_white_space_and_the_names_of_holes() -> None:
    """Two templates that say the same have the same skeleton; a hole at an end counts."""
    assert skeleton(split("a  {x} b\n{y}{z}c")) == skeleton(split("a {q.r!r} b {s} c")) == ("a", "b", "c")
    assert skeleton(split("{x} b")) == ("", "b")
    assert skeleton(split("b {x}")) == ("b", "")
    assert split("b {x}") == ("b ", Hole("x"))
