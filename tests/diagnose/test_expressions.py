from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.diagnose.expressions import ExpressionError, MissingName, display, evaluate, fill, unfilled, visible

NAMES = {"a": 7, "b": 2, "x": 1.5, "on": True, "text": "abc", "cut": None}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("a", 7),
        ("a + b * 2 - 1", 10),
        ("a // b", 3),
        ("a % b", 1),
        ("a / b", 3.5),
        ("-a", -7),
        ("max(a, b, 2048)", 2048),
        ("min(a, b)", 2),
        ("ceil(x)", 2),
        ("floor(x)", 1),
        ("round_up(a, 4)", 8),
        ("round_up(8, 4)", 8),
        ("round_down(a, 4)", 4),
        ("round_down(x, 1)", 1),
        ("largest_divisor(12, 5)", 4),
        ("largest_divisor(7, 3)", 1),
        ("largest_divisor(8, 100)", 8),
        ("power_of_two(1)", 1),
        ("power_of_two(0.2)", 1),
        ("power_of_two(4)", 4),
        ("power_of_two(4.01)", 8),
        ("power_of_two(a)", 8),
        ("given(a, 3)", 7),
        ("given(zz, 3)", 3),
        ("given(cut, b + 1)", 3),
        ("given(zz, given(cut, a))", 7),
        ("given(a, zz)", 7),
        ("text == 'abc'", True),
        ("text != 'abc' or text == 1", False),
        ("given(zz, 'cpu') == 'cpu'", True),
        ("given(text, given(zz, 'cpu')) != 'cpu'", True),
        ("1 < b <= 2", True),
        ("a == 7 and not b == 3 or False", True),
        ("on and a > 100", False),
        ("a != 7", False),
        ("True", True),
    ],
)
def test_values(expression: str, value: object) -> None:
    """The language does what it says."""
    assert evaluate(expression, NAMES) == value


@pytest.mark.parametrize(
    "expression",
    [
        "2 ** 3",
        "a.real",
        "a[0]",
        "'abc'",
        "text + 1",
        "text < 'b'",
        "text and a",
        "given(zz, 'abc')",
        "given(a, 1, 2)",
        "given(1, 2)",
        "power_of_two(a, b)",
        "power_of_two(999999999999999)",
        "max(text, 'abc') == 'abc'",
        "[a]",
        "(lambda: 1)()",
        "__import__('os')",
        "open(1)",
        "max()",
        "ceil(1, 2)",
        "max(*[1])",
        "min(a, key=b)",
        "a if b else 1",
        "a << 2",
        "~a",
        "a is b",
        "a in b",
        "1 // 0",
        "a / 0",
        "a % 0",
        "1e400",
        "10**16",
        "999999999999 * 999999999999",
        "round_up(a, 0)",
        "largest_divisor(0, 3)",
        "largest_divisor(10000019, 5000000)",
        "a +",
        "",
        "1" * 500,
        "+".join("1" * 100),
        "-" * 399 + "1",
        "1j",
        "a := 1",
        "a\x00b",
    ],
)
def test_everything_else_is_refused(expression: str) -> None:
    """What is outside the language, without value, or beyond the bounds is an error of its own."""
    with pytest.raises(ExpressionError):
        evaluate(expression, NAMES)


def test_missing_names_are_told_at_once() -> None:
    """All names without a value are named, in order; a value that was cut away counts as missing."""
    with pytest.raises(MissingName) as caught:
        evaluate("max(zz, a) + cut + aa", NAMES)
    assert caught.value.names == ("zz", "cut", "aa")


def test_what_stands_in_for_a_missing_value_may_be_missing_too() -> None:
    """The name that has no value either is told, not the one that had a substitute."""
    with pytest.raises(MissingName) as caught:
        evaluate("given(zz, aa) + given(a, bb)", NAMES)
    assert caught.value.names == ("aa",)


@given(st.text(max_size=60))
def test_any_text_is_survived(text: str) -> None:
    """No text makes the evaluator fail in another way."""
    try:
        evaluate(text, NAMES)
    except (ExpressionError, MissingName):
        return


@given(st.integers(1, 10**6), st.integers(1, 10**4))
def test_largest_divisor_divides(number: int, at_most: int) -> None:
    """It divides, keeps the bound, and none larger does."""
    found = evaluate(f"largest_divisor({number}, {at_most})", {})
    assert number % found == 0
    assert found <= at_most
    assert all(number % candidate for candidate in range(int(found) + 1, min(number, at_most) + 1))


def test_fill() -> None:
    """Captures and expressions are filled in; doubled braces stand for single ones."""
    assert fill("{a} of {max(a, 10)}, {{x}} {text} {a / b} {x * 2}", NAMES) == "7 of 10, {x} abc 3.5 3"


def test_fill_tells_all_that_is_missing() -> None:
    """A missing name in any hole is an error that names them all."""
    with pytest.raises(MissingName) as caught:
        fill("{zz} {a} {cut + 1}", NAMES)
    assert caught.value.names == ("zz", "cut")
    assert unfilled("{zz} {a} {cut + 1} {{", NAMES) == "zz 7 cut + 1 {"
    assert unfilled("to {floor(min(zz * 100 - max(5, a), b * 100)) / 100}", NAMES) == "to N"


def test_values_cannot_be_holes() -> None:
    """Braces in a value are shown, not filled."""
    assert fill("{text}", {"text": "{a}", "a": 1}) == "{a}"


def test_control_characters_are_made_visible() -> None:
    """A value with escapes, line breaks or bidirectional marks is shown escaped, and bounded."""
    assert visible("a\x1b[31m\n\u202eb") == "a\\x1b[31m\\n\\u202eb"
    assert len(visible("a" * 5000)) == 300
    assert fill("{text}", {"text": "a\x07"}) == "a\\x07"


@pytest.mark.parametrize(
    ("value", "shown"),
    [(3, "3"), (3.0, "3"), (0.9, "0.9"), (1 / 3, "0.33"), (0.001234, "0.0012"), (0.0, "0"), (True, "True"), ("x", "x")],
)
def test_numbers_are_shown_short(value: float | str, shown: str) -> None:
    """At most two decimals; a small number keeps what distinguishes it from nothing."""
    assert display(value) == shown
