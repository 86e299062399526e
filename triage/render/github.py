"""The report as GitHub's workflow commands: annotations of a job, one for each root cause.

A command is one line, ``::error file=a.log,line=87,title=...::message``; what would end a property or the line is
written as ``%0A`` and the like, so that a log line can neither add a property nor be a command of its own.
"""

from __future__ import annotations

from typing import Literal

from triage.model import Finding, Report
from triage.render import where, words
from triage.render.options import Options
from triage.render.visible import flat, phrase

STDIN = "stdin"
"""What standard input is called; it is no file to annotate."""

Level = Literal["error", "warning", "notice"]


def render_github(report: Report, options: Options) -> str:
    """The report as workflow commands, a line each; a healthy log gives a plain line, no annotation.

    Args:
        report: what was found, with private data taken out by the caller.
        options: show_all for every fix in an annotation, not the first alone.
    """
    if report.status == "healthy" and not report.findings:
        return f"vllm-triage: {words.healthy(report)}\n"
    lines = [_annotation(report, finding, options) for finding in report.findings]
    if any(finding.role == "root_cause" and finding.record is None for finding in report.findings):
        text = "no record knows an error of this log, so no cause is named for it"
        lines.append(_command("notice", {"title": "vllm-triage: unknown failure"}, [text]))
    if report.missing or report.status == "insufficient_evidence":
        title = words.insufficient(report) if report.status == "insufficient_evidence" else "what would show more"
        missing = [flat(each, words.PROSE) for each in report.missing] or [title]
        lines.append(_command("notice", {"title": f"vllm-triage: {title}"}, missing))
    return "".join(f"{line}\n" for line in lines)


def _annotation(report: Report, finding: Finding, options: Options) -> str:
    is_root = finding.role == "root_cause"
    level: Level = "notice"
    if is_root:
        level = "warning" if finding.severity in ("warning", "info") else "error"
    elif finding.role == "warning":
        level = "warning"
    place = {} if finding.source == STDIN else {"file": finding.source, "line": str(finding.line)}
    label = words.label_of(finding) if is_root else finding.role
    title = f"{words.title_of(finding)} [{words.name_of(finding)}]"
    body = [f"{label}: {title}", f"at {words.place_of(finding)}, {words.release_of(words.run_of(report, finding))}"]
    for name, text in (
        ("why", words.why_of(finding) if is_root else flat(finding.why or "", words.PROSE)),
        ("where", where.where_of(finding)),
        ("note", words.joined(words.notes_of(finding)) if is_root else ""),
    ):
        if text:
            body.append(f"{name}: {text}")
    shown = finding.fixes if options.show_all else finding.fixes[:1]
    for number, fix in enumerate(shown, 1):
        body += ["", f"fix {number}: {phrase(fix.title, words.TITLE)} {words.tag_of(fix)}"]
        body += [f"- {phrase(step, words.PROSE)}" for step in fix.steps]
        body += [f"missing: {each}" for each in words.lacking_of(fix)]
        body += [line for command in words.runnable(fix) for line in command.strip("\n").split("\n")]
    if len(finding.fixes) > len(shown):
        body.append(
            f"{words.plural(len(finding.fixes) - len(shown), 'further fix', 'further fixes')} in the full report"
        )
    return _command(level, {**place, "title": title}, body)


def _command(level: Level, properties: dict[str, str], lines: list[str]) -> str:
    named = ",".join(f"{name}={_property(flat(value, 1000))}" for name, value in properties.items())
    return f"::{level} {named}::{_data(chr(10).join(lines))}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
