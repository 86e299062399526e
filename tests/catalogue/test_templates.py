from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.catalogue.templates import doubled, parse_printf, parse_template, template_to_pattern
from triage.model import Hole


def shape(text: str) -> list[str | tuple[str, str]]:
    """A template's parts, holes as (name, expression)."""
    return [part if isinstance(part, str) else (part.name, part.expression) for part in parse_template(text).parts]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("plain", ["plain"]),
        ("", []),
        ("a {x} b", ["a ", ("x", "x"), " b"]),
        ("{a.b.c}", [("c", "a.b.c")]),
        ("{x!r}", [("x", "x")]),
        ("{x!s:>10}", [("x", "x")]),
        ("{x:.2f} GiB", [("x", "x"), " GiB"]),
        ("{x:{width}.{digits}f}!", [("x", "x"), "!"]),
        ("{x=}", ["x=", ("x", "x")]),
        ("a {self.x = !r} b", ["a self.x = ", ("x", "self.x"), " b"]),
        ("{{x}}", ["{x}"]),
        ("{{{x}}}", ["{", ("x", "x"), "}"]),
        ("{d['}']}", [("value", "d['}']")]),
        ("{d['a:b']}", [("a_b", "d['a:b']")]),
        ('{", ".join(f"{n!r}" for n in names)}', [("names", '", ".join(f"{n!r}" for n in names)')]),
        ("{a != b}", [("a", "a != b")]),
        ("{a == b}", [("a", "a == b")]),
        ("{a <= b}", [("a", "a <= b")]),
        ("{f(x=1)}", [("f", "f(x=1)")]),
        ("{x[1:2]}", [("x", "x[1:2]")]),
        ("{x} {y.x} {x}", [("x", "x"), " ", ("x_2", "y.x"), " ", ("x_3", "x")]),
        ("{x_2} {x} {x}", [("x_2", "x_2"), " ", ("x", "x"), " ", ("x_3", "x")]),
        ("{}", [("value", "")]),
        ("{a}{b}", [("a", "a"), ("b", "b")]),
    ],
)
def test_f_string_grammar(text: str, parts: list[Any]) -> None:
    """Templates are split as Python splits f-strings, and the whole expression is kept."""
    assert shape(text) == parts


@pytest.mark.parametrize("text", ["a { b", "a } b", "{", "}", "{ {", "{x", "{'", "{x:"])
def test_lone_braces_are_literal(text: str) -> None:
    """A message that was never an f-string may hold lone braces; they are text."""
    assert parse_template(text).parts == (text,)


@given(st.text(alphabet="ab {}'\"()[]!:=.x", max_size=40))
def test_no_text_fails(text: str) -> None:
    """Every text is a template, its text is kept, and no two holes share a name."""
    template = parse_template(text)
    assert template.text == text
    names = [hole.name for hole in template.holes]
    assert len(names) == len(set(names))


@given(st.text(max_size=60))
def test_doubled_text_is_literal(text: str) -> None:
    """Text with doubled braces reads back as it was."""
    assert "".join(part for part in parse_template(doubled(text)).parts if isinstance(part, str)) == text
    assert not parse_template(doubled(text)).holes


def test_pattern_is_that_of_the_seed(seed_record: dict[str, Any]) -> None:
    """A derived pattern is written as the records have it."""
    assert template_to_pattern(parse_template(seed_record["errorMessage"])) == seed_record["messagePattern"]


@given(st.text(min_size=1, max_size=40))
def test_pattern_matches_its_own_literal(text: str) -> None:
    """Special characters of a literal are escaped."""
    assert re.fullmatch(template_to_pattern(parse_template(doubled(text))), text)


def test_long_hostile_text_is_quick() -> None:
    """Thousands of braces that open nothing take no quadratic walk of Python code."""
    assert parse_template("{" * 3000).parts == ("{" * 1500,)


def test_printf_style() -> None:
    """A logger's format gives holes for its conversions; %% is a literal."""
    template = parse_printf("%s of %(total)d (%.2f, 100%%)")
    assert template.parts == (
        Hole("value", "value"),
        " of ",
        Hole("total", "total"),
        " (",
        Hole("value_2", "value"),
        ", 100%)",
    )
