"""The formats as a whole: golden files, and what holds for every format."""

from __future__ import annotations

import json

import pytest
from report_examples import EXAMPLES, HOSTILE, SEED_REPORT

from triage.errors import UsageError
from triage.render import FORMATS, Options, render
from triage.render.visible import is_plain

_SUFFIX = {
    "text": "txt",
    "concise": "concise.txt",
    "json": "json",
    "jsonl": "jsonl",
    "markdown": "md",
    "html": "html",
    "github": "github.txt",
}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
@pytest.mark.parametrize("format", FORMATS)
def test_piped_output_is_as_accepted(name, format, golden):
    """Every example in every format is byte for byte what was accepted."""
    golden(f"{name}.{_SUFFIX[format]}", render(EXAMPLES[name], format, Options()))


@pytest.mark.parametrize(
    ("name", "width"), [(n, w) for n in ("seed", "many-fixes", "unknown", "several-causes") for w in (60, 160)]
)
def test_terminal_output_is_as_accepted(name, width, golden):
    """Text for a narrow and a wide terminal is what was accepted."""
    golden(f"{name}.width-{width}.txt", render(EXAMPLES[name], "text", Options(width=width)))


@pytest.mark.parametrize("name", ["seed", "several-causes"])
def test_coloured_output_is_as_accepted(name, golden):
    """Text in colour is what was accepted, escapes and all."""
    golden(f"{name}.color.txt", render(EXAMPLES[name], "text", Options(color=True, width=100)))


@pytest.mark.parametrize("name", ["seed-all", "many-fixes"])
def test_all_is_as_accepted(name, golden):
    """With show_all, every fix is in full and other findings are listed."""
    golden(f"{name}.all.txt", render(EXAMPLES[name], "text", Options(width=100, show_all=True)))


@pytest.mark.parametrize("name", sorted(EXAMPLES))
@pytest.mark.parametrize("format", FORMATS)
def test_every_format_ends_in_one_line_feed(name, format):
    """Output ends in exactly one line feed, so that it can be joined and appended."""
    text = render(EXAMPLES[name], format)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("width", [None, 60])
def test_no_format_lets_hostile_characters_through(format, width):
    """Neither ESC nor a bidi or line separator of the log reaches the output raw."""
    text = render(HOSTILE, format, Options(width=width))
    assert not set(text) & set("\x1b\x07\r\u202e\u202c\u2028\ud800\t")
    assert all(map(is_plain, text.split("\n")))


def test_an_unknown_format_is_refused_with_the_ones_there_are():
    """A format that does not exist is a usage error whose hint lists the formats."""
    with pytest.raises(UsageError) as caught:
        render(SEED_REPORT, "xml")
    assert "xml" in caught.value.message
    assert all(name in (caught.value.hint or "") for name in FORMATS)


def test_all_formats_keep_the_order_of_the_findings():
    """The findings stand in the report's order, whatever the format."""
    report = EXAMPLES["seed-all"]
    lines = [finding.line for finding in report.findings]
    places = [line.split(":")[1] for line in render(report, "concise").splitlines()]
    assert [int(place) for place in places] == lines
    assert [finding["line"] for finding in json.loads(render(report, "json"))["findings"]] == lines
    text = render(report, "text")
    at = [text.index(f"stdin:{line}") for line in lines]
    assert at == sorted(at)
