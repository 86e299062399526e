"""One line for each finding, in a form that stays: ``source:line: role: title [slug] fix: --flag value``."""

from __future__ import annotations

from triage.model import Finding, Report
from triage.render import words
from triage.render.options import Options
from triage.render.visible import flat, phrase, visible


def concise_line(finding: Finding) -> str:
    """The finding on one line, without a line feed."""
    label = words.label_of(finding) if finding.role == "root_cause" else finding.role
    line = f"{words.place_of(finding)}: {label}: {words.title_of(finding)} [{words.name_of(finding)}]"
    if finding.fixes:
        fix = finding.fixes[0]
        line += f" fix: {', '.join(words.changes_of(fix)) or phrase(fix.title, words.TITLE)}"
    return line


def render_concise(report: Report, options: Options) -> str:
    """The report as lines to grep; what has no finding to show says so in one line.

    Args:
        report: what was found.
        options: not used; lines are the same on every terminal.
    """
    source = words.joined((visible(each, words.NAME) for each in report.input.sources[:1]), "") or "input"
    if report.status == "healthy":
        lines = [f"{source}: healthy: {words.healthy(report)}"]
    elif report.status == "insufficient_evidence":
        lines = [f"{source}: insufficient: {flat(words.joined([words.insufficient(report), *report.missing]), 600)}"]
    else:
        lines = []
    lines += [concise_line(finding) for finding in report.findings]
    return "".join(f"{line}\n" for line in lines)
