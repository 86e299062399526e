"""One HTML file: whole in itself, and deaf to what the log says."""

from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import pytest
from report_examples import EXAMPLES, HOSTILE, SEED, SEED_ALL, SEED_REPORT, UNKNOWN

from triage.model import InputFacts, SourceFacts
from triage.render import Options, render

_VOID = {"meta"}


class _Reader(HTMLParser):
    """Tags in order, attributes, the text of the body, and whether every tag is closed."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.commands: list[str] = []
        self._open: list[str] = []
        self._in_command = False
        self.feed(page)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in _VOID:
            self._open.append(tag)
        self._in_command = ("class", "command") in attrs

    def handle_endtag(self, tag):
        assert self._open.pop() == tag
        self._in_command = False

    def handle_data(self, data):
        if self._in_command:
            self.commands.append(data)


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_a_page_loads_nothing_and_runs_nothing(name):
    """No script, image, frame, style sheet or form; only a place's own link leads anywhere."""
    page = _Reader(render(EXAMPLES[name], "html"))
    assert not {"script", "img", "iframe", "link", "form", "object", "svg", "base"} & set(page.tags)
    assert not [key for key, _ in page.attributes if key.startswith("on") or key in ("src", "style")]
    assert all((value or "").startswith("https://github.com/") for key, value in page.attributes if key == "href")
    assert "url(" not in render(EXAMPLES[name], "html")


def test_a_hostile_log_adds_no_element():
    """Log text is text: the tags of a hostile report are those of a harmless one."""
    shape = {
        "main",
        "section",
        "h2",
        "span",
        "dl",
        "dt",
        "dd",
        "code",
        "pre",
        "p",
        "strong",
        "h3",
        "ul",
        "li",
        "footer",
    }
    page = _Reader(render(HOSTILE, "html"))
    assert set(page.tags) - {"html", "head", "meta", "title", "style", "body", "a"} <= shape
    assert "<script>" not in render(HOSTILE, "html")


def test_commands_are_whole_and_fit_for_copying():
    """A command stands alone in its block, character for character."""
    page = _Reader(render(SEED_REPORT, "html"))
    assert page.commands == [command for fix in SEED.fixes for command in fix.commands]
    assert "user-select: all" in render(SEED_REPORT, "html")


def test_it_fits_a_phone_a_dark_room_and_paper():
    """The page has a viewport, both colour schemes, and rules for print."""
    text = render(SEED_REPORT, "html")
    for rule in ('name="viewport"', "prefers-color-scheme: dark", "@media print", "overflow-wrap: anywhere"):
        assert rule in text


def test_it_has_the_findings_of_the_other_formats():
    """Root causes in full, the others listed with why; an unknown failure says so and where to ask."""
    text = render(SEED_ALL, "html", Options(show_all=True))
    assert text.count('<span class="label">error:') == sum(f.role == "root_cause" for f in SEED_ALL.findings)
    assert "consequence at <code>stdin:203</code>" in text
    unknown = render(UNKNOWN, "html")
    assert "none knows this message" in unknown
    assert "https://github.com/pytorch/pytorch/issues" in unknown


def test_several_files_have_a_line_each():
    """What was found in each of several inputs is listed."""
    files = (SourceFacts("a&b.log", 3, ("x",)), SourceFacts("c.log", 1))
    text = render(replace(SEED_REPORT, input=InputFacts(4, 9, ("a&b.log", "c.log"), (), files)), "html")
    assert "<li>a&amp;b.log: 3 lines, x</li>\n<li>c.log: 1 line, nothing found</li>" in text
