from __future__ import annotations

import pytest

from triage.catalogue.expressions import FUNCTIONS, expression_problem, placeholders
from triage.diagnose.expressions import _FUNCTIONS, ExpressionError, MissingName, evaluate, fill

GOOD = [
    "1",
    "max(a, 2048)",
    "round_down(a // b, 16)",
    "round_up(a, 8) - 1",
    "a * 2 / 3 % 4",
    "-a + 1.5",
    "a > 1 and not b == 2 or a <= b != 3",
    "min(a, b, 4)",
    "ceil(a / b)",
    "floor(a)",
    "largest_divisor(a, b)",
    "power_of_two(a / b)",
    "given(a, 2) + given(b, a)",
    "a == 'text'",
    "given(a, given(b, 'text')) != 'text'",
    "True",
]
BAD = [
    "a ** b",
    "a.b",
    "a[0]",
    "f(a)",
    "max(a, key=b)",
    "'text'",
    "a if b else 1",
    "a is b",
    "a << 1",
    "lambda: a",
    "[a]",
    "a b",
    "",
    "max()",
    "ceil(a, b)",
    "round_up(a)",
    "a in b",
    "~a",
    "None",
    "a < 'text'",
    "given(1, a)",
    "given(a)",
    "given(a, 'text') < 'text'",
    "given(a, b=1)",
    "max(a, 'text') == a",
    "a == 'text' + 'text'",
    "a.max(b)",
    "(" * 300,
    "a" * 500,
]


@pytest.mark.parametrize("expression", GOOD)
def test_language(expression: str) -> None:
    """What the diagnosis computes is accepted, and the names that it needs are told."""
    problem, names = expression_problem(expression)
    assert problem is None
    assert names <= {"a", "b"}
    evaluate(expression, {"a": 12, "b": 4})


@pytest.mark.parametrize("expression", BAD)
def test_outside_the_language(expression: str) -> None:
    """What the diagnosis refuses is refused."""
    problem, _ = expression_problem(expression)
    assert problem
    with pytest.raises((ExpressionError, MissingName)):
        evaluate(expression, {"a": 12, "b": 4, "a" * 500: 1})


SHOWN = [
    ("given(a, 'no number')", "12"),
    ("given(b, 'no number')", "no number"),
    ("given(b, given(a, 'no number'))", "12"),
    ("max(a, 20)", "20"),
]


@pytest.mark.parametrize(("expression", "text"), SHOWN)
def test_words_for_an_absent_value(expression: str, text: str) -> None:
    """In a text for people ``given`` may fall back to words, for both sides."""
    problem, names = expression_problem(expression, shown=True)
    assert problem is None
    assert names <= {"a", "b"}
    assert fill(f"<{{{expression}}}>", {"a": 12}) == f"<{text}>"


@pytest.mark.parametrize("expression", ["'text'", "a + 'text'", "given('b', 'text')", "given(b, a < 'text')"])
def test_no_other_words(expression: str) -> None:
    """Text by itself is braces that should have been doubled, for both sides."""
    assert expression_problem(expression, shown=True)[0]
    with pytest.raises(ExpressionError):
        fill(f"{{{expression}}}", {"a": 12})


def test_functions_are_those_of_the_diagnosis() -> None:
    """Both sides know the same functions."""
    assert set(FUNCTIONS) == set(_FUNCTIONS)


def test_placeholders() -> None:
    """Expressions in braces are found; doubled braces are text."""
    assert placeholders("at {a}, or {max(a, b)}: {{not this}}") == ("a", "max(a, b)")
