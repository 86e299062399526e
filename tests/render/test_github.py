"""Workflow commands: one annotation for each root cause, which no log text can break out of."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from report_examples import EXAMPLES, HEALTHY, HOSTILE, SEED, SEED_ALL, SEED_REPORT, SEVERAL_CAUSES, TAIL_ONLY, UNKNOWN

from triage.render import Options, render

_COMMAND = re.compile(r"::(?P<level>error|warning|notice) (?P<properties>[^:]*)::(?P<data>.*)")


def commands(report, **options):
    """Each command's level, properties and message, read as the runner reads them."""
    found = []
    for line in render(report, "github", Options(**options)).splitlines():
        match = _COMMAND.fullmatch(line)
        assert match, line
        properties = dict(pair.split("=", 1) for pair in match["properties"].split(","))
        found.append(
            (match["level"], {name: _plain(value) for name, value in properties.items()}, _plain(match["data"]))
        )
    return found


def _plain(text):
    for code, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
        text = text.replace(code, char)
    return text


def test_a_root_cause_is_an_error_at_its_place():
    """File and line of the log, the title with the user's numbers, and a command to run; standard input is no file."""
    source = replace(SEED, source="logs/a,b:c%.log")
    ((level, properties, text),) = commands(replace(SEED_REPORT, findings=(source,)))
    assert (level, properties["file"], properties["line"]) == ("error", "logs/a,b:c%.log", "87")
    assert properties["title"] == f"{SEED.title} [batched-tokens-below-num-seqs]"
    assert SEED.fixes[0].commands[0] in text.split("\n")
    assert "file" not in commands(SEED_REPORT)[0][1]


def test_one_annotation_for_each_root_cause_and_all_fixes_on_request():
    """The first fix is shown, the others counted; --all shows them and what else was found."""
    roots = [finding for finding in SEVERAL_CAUSES.findings if finding.role == "root_cause"]
    assert len([each for each in commands(SEVERAL_CAUSES) if each[0] == "error"]) == len(roots)
    assert "further fix" in commands(SEED_REPORT)[0][2]
    whole = commands(SEED_ALL, show_all=True)
    assert all(fix.title in whole[0][2] for fix in SEED.fixes)
    assert {level for level, _, _ in whole} == {"error", "notice", "warning"}


def test_an_unknown_failure_has_a_notice():
    """The raw error is an error, and a notice says that no record knows it."""
    levels = [(level, properties["title"]) for level, properties, _ in commands(UNKNOWN)]
    assert levels[0][0] == "error"
    assert ("notice", "vllm-triage: unknown failure") in levels


def test_too_little_evidence_says_what_is_missing():
    """What would show more stands in a notice; a healthy log has no annotation at all."""
    level, _, text = commands(TAIL_ONLY)[-1]
    assert (level, text.split("\n")[0]) == ("notice", TAIL_ONLY.missing[0])
    assert render(HEALTHY, "github").startswith("vllm-triage: no failure found")


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"healthy"}))
def test_every_line_is_one_command(name):
    """Whatever the log says, nothing but our own commands begins a line."""
    assert commands(EXAMPLES[name])


def test_a_hostile_log_adds_no_property_and_no_command():
    """Commas, colons, percent signs and line ends of the log stay text."""
    finding = replace(HOSTILE.findings[0], title="x,line=1::y\n::set-output name=a::b %0A", source="a::b,c\n.log")
    level, properties, _ = commands(replace(HOSTILE, findings=(finding,), missing=()))[0]
    assert level == "error"
    assert set(properties) == {"file", "line", "title"}
    assert properties["title"].startswith("x,line=1::y ::set-output name=a::b %0A")
