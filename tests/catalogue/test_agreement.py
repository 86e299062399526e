from __future__ import annotations

import pytest

from triage.catalogue.agreement import agree, group_names, normal_key, pattern_key, pattern_to_parts, template_of
from triage.catalogue.templates import parse_template, template_to_pattern

TEMPLATE = parse_template("seats ({self.seats}) must not exceed rows ({self.rows}).")


@pytest.mark.parametrize(
    "pattern",
    [
        r"seats \((.+?)\) must not exceed rows \((.+?)\)\.",
        r"^seats \((.+?)\) must not exceed rows \((.+?)\)\.$",
        r"seats\s+\((\d+)\) must  not\nexceed rows \((\d+)\)\.",
        r"seats \((?P<seats>.+?)\) must not exceed rows \((?P<rows>[^)]+)\)\.",
        r"seats \(([\d.]+)\) must (?:not|never) exceed rows \((.*)\)[.]?",
    ],
)
def test_agreeing(pattern: str) -> None:
    """White space, anchors and the form of the groups do not count; other patterns must match the message."""
    assert agree(TEMPLATE, pattern) is None


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        (r"seats \((.+?)\) must not exceed columns \((.+?)\)\.", "exceed columns"),
        (r"seats \((.+?)\) must not exceed rows 5\.", "rows 5."),
        (r"seats \((.+?)\) must not exceed rows \((.+?)\)\. Or else", "Or else"),
        (r"seats \((.+? must", "no valid regular expression"),
        (r"seats (?:a|b) must", "does not match"),
    ],
)
def test_disagreeing(pattern: str, reason: str) -> None:
    """The reason shows where the two part ways."""
    found = agree(TEMPLATE, pattern)
    assert found is not None
    assert reason in found


def test_runaway_pattern_is_stopped() -> None:
    """A pattern that takes exponential time on its own message is refused, not waited for."""
    template = parse_template("a" * 60 + "!{x}")
    assert agree(template, r"(?:a|aa)+(?:aa|a)+(?:a|aa)+[bc]") == (
        "messagePattern takes too long to match its own errorMessage"
    )


def test_reading_a_pattern_back() -> None:
    """Literals and groups come back; anything cleverer does not."""
    assert pattern_to_parts(r"a \((.+?)\)\. b") == ("a (", None, "). b")
    assert pattern_to_parts(r"a|b") is None
    assert pattern_to_parts(r"a (b)?") is None
    assert pattern_to_parts(r"a (?:b)") is None
    assert pattern_to_parts(r"a\d") is None
    assert pattern_to_parts("a\\") is None


def test_keys_ignore_white_space_and_names() -> None:
    """Two wordings of one message have one key, as have a template and its pattern."""
    other = parse_template("seats  ({seats}) must not\nexceed rows ({n}).")
    assert normal_key(other) == normal_key(TEMPLATE)
    assert pattern_key(template_to_pattern(TEMPLATE)) == normal_key(TEMPLATE)
    assert pattern_key("a | b") == "a|b"


def test_group_names() -> None:
    """Named groups name the captures; else all groups are numbered."""
    assert group_names(r"(a) (b)") == ("value_1", "value_2")
    assert group_names(r"(?P<x>a) (b)") == ("x",)


def test_template_of_a_pattern() -> None:
    """A plain pattern becomes a template; one whose groups say what they hold does not."""
    plain = template_of(r"used \{(.+?)\} of (.+?)\.")
    assert plain is not None
    assert plain.text == "used {{{value_1}}} of {value_2}."
    assert parse_template(plain.text).parts == plain.parts
    assert template_of(r"used (\d+)") is None
