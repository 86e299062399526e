from __future__ import annotations

import ast
import subprocess

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.diagnose import quoting
from triage.diagnose.quoting import (
    UnquotableError,
    for_compose,
    for_kubernetes,
    for_python,
    for_shell,
    for_yaml,
    safe_text,
)

HOSTILE = (
    "x; rm -rf ~ #",
    "$(touch pwned)",
    "`touch pwned`",
    "${HOME}",
    "a'b\"c",
    "'; echo 'x",
    "[bold red]x[/bold red]",
    "[type=value_error, input_value=1]",
    ":fire: %s {x} !! \\n \\",
    "-rf",
    "",
    "~",
    "* ? {a,b}",
    "no",
    "1e3",
    "null",
    "- a: b # c",
    "$$(A) $(B) $$$(C) $D ${E}",
)
UNSAFE = (
    "a\nb",
    "a\rb",
    "\x1b[31m",
    "\x00",
    "\u202eabc",
    "a\u200eb",
    "\u2066x",
    "\x7f",
    "\x85",
    "\u2028",
    "\ud800",
    "\u00a0",
    "\t",
)
printable = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), max_size=80)


def through_sh(words: list[str]) -> list[str]:
    command = "printf '%s\\0' " + " ".join(words)
    done = subprocess.run(["sh", "-c", command], capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


@settings(max_examples=60, deadline=None)
@given(st.lists(printable, min_size=1, max_size=5))
def test_shell_words_round_trip(values: list[str]) -> None:
    """Any printable text comes out of a real sh as it went in, as one word."""
    assert through_sh([for_shell(value) for value in values]) == values


def test_hostile_words_round_trip() -> None:
    """Commands, substitutions and quotes stay text under a real sh."""
    assert through_sh([for_shell(value) for value in HOSTILE]) == list(HOSTILE)


@pytest.mark.parametrize("value", UNSAFE)
def test_what_is_not_printable_is_never_quoted(value: str) -> None:
    """Control characters, line breaks, escapes and bidirectional marks disable the command in every idiom."""
    assert not safe_text(value)
    for quote in (for_shell, for_yaml, for_kubernetes, for_compose, for_python):
        with pytest.raises(UnquotableError):
            quote(value)


@pytest.mark.parametrize("quote", [for_shell, for_yaml, for_kubernetes, for_compose, for_python])
def test_length_is_bounded(quote: object) -> None:
    """A value beyond the bound is not quoted."""
    with pytest.raises(UnquotableError):
        quote("a" * (quoting.VALUE_LIMIT + 1))  # type: ignore[operator]


@given(printable | st.sampled_from(HOSTILE))
def test_yaml_round_trips(value: str) -> None:
    """Any printable text is the same text for a YAML reader, alone and as an item of a list."""
    assert yaml.safe_load(for_yaml(value)) == value
    assert yaml.safe_load(f"args:\n- {for_yaml(value)}\n- {for_yaml('256')}") == {"args": [value, "256"]}


def kubelet(text: str) -> str:
    """What the kubelet makes of an argument when no variable is defined, by its documented rules."""
    out, place = "", 0
    while place < len(text):
        if text[place] == "$" and text[place + 1 : place + 2] == "$":
            out, place = out + "$", place + 2
        elif text[place] == "$" and text[place + 1 : place + 2] == "(" and ")" in text[place:]:
            raise AssertionError(f"a reference: {text!r}")
        else:
            out, place = out + text[place], place + 1
    return out


@given(printable | st.sampled_from(HOSTILE) | st.text("$()A", max_size=8))
def test_kubernetes_references_are_escaped(value: str) -> None:
    """A value with ``$(NAME)`` in it reaches the container as it is."""
    assert kubelet(yaml.safe_load(for_kubernetes(value))) == value


@given(printable | st.sampled_from(HOSTILE))
def test_compose_variables_are_escaped(value: str) -> None:
    """Every dollar is doubled, which compose turns back."""
    read = yaml.safe_load(for_compose(value))
    assert read.replace("$$", "") == value.replace("$", "")
    assert read.replace("$$", "$") == value


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | printable


@given(
    st.recursive(
        scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(printable, inner, max_size=3), max_leaves=5
    )
)
def test_python_literals_round_trip(value: object) -> None:
    """Any plain value comes out of Python's own reader as it went in."""
    assert ast.literal_eval(for_python(value)) == value


def test_python_takes_nothing_but_literals() -> None:
    """Objects and endless nesting are refused."""
    nested: list[object] = []
    for _ in range(40):
        nested = [nested]
    for value in (object(), b"x", {1, 2}, nested):
        with pytest.raises(UnquotableError):
            for_python(value)


@pytest.mark.parametrize("name", ["A B", "A=B", "1A", "", "A;rm", "A\n"])
def test_variable_names(name: str) -> None:
    """Only what a shell takes for a name is one."""
    with pytest.raises(UnquotableError):
        quoting.variable_name(name)
