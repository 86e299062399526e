"""Messages that Python printed in pieces are put together; nothing is evaluated, everything is bounded."""

from __future__ import annotations

import pytest

from triage.events.messages import LITERAL_LIMIT, as_meant, filled, literal, split


@pytest.mark.parametrize(
    ("printed", "meant"),
    [
        ("('a is ', 'not b')", "a is not b"),
        ("('rank %s of %d', 3, 8)", "rank 3 of 8"),
        ("('failed with %s', 'it\\'s \"full\"')", 'failed with it\'s "full"'),
        ("(\"no 'x' in \", 'y, z')", "no 'x' in y, z"),
        ("('key', ValueError('x'))", "key ValueError('x')"),
        ("('one',)", "('one',)"),
        ("(1, 2)", "(1, 2)"),
        ("(a note) and more", "(a note) and more"),
        ("('cut off, 'here", "('cut off, 'here"),
    ],
)
def test_a_tuple_as_it_was_meant(printed: str, meant: str) -> None:
    """Pieces are joined, holes filled; what is no tuple with a text in front stays."""
    assert as_meant(printed) == meant


def test_too_few_arguments_leave_their_holes() -> None:
    """A hole without an argument stays, so that no value is made up."""
    assert filled("a %s b %s", ["x"]) == "a x b %s"


def test_hostile_literals_stay_text() -> None:
    """Too long, too deep, or no literal: given back as printed."""
    deep = "(" * 500 + ")" * 500
    assert split(deep) == [deep]
    assert split("1," * LITERAL_LIMIT) == ["1," * LITERAL_LIMIT]
    assert literal("__import__('os').getcwd()") == "__import__('os').getcwd()"
    assert literal("'a" * LITERAL_LIMIT) == "'a" * LITERAL_LIMIT
