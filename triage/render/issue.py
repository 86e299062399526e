"""What to paste into a bug report: an error that no record knows, or a verdict that is wrong."""

from __future__ import annotations

from triage.model import Finding, Report
from triage.render import where, words
from triage.render.markdown import code, escaped, fenced
from triage.render.visible import excerpt, flat, visible

_WIDTH = 600
_LINES = 60


def render_issue(report: Report, finding: Finding | None, program: str, *, wrong: bool) -> str:
    """The text of a bug report as Markdown.

    Args:
        report: what was found, with private data taken out by the caller.
        finding: the error it is about; None where nothing was found.
        program: this program's version.
        wrong: whether it is about a verdict that is wrong, not an error that no record knows.
    """
    run = words.run_of(report, finding) if finding is not None else (report.runs[-1] if report.runs else None)
    title = words.title_of(finding) if finding is not None else f"status {report.status}"
    if not wrong:
        lines = [f"# {escaped(title)}", ""]
    else:
        named = f" ({code(words.name_of(finding))})" if finding is not None and finding.record else ""
        lines = [f"# Wrong verdict: {escaped(title)}{named}", ""]
        lines += ["What it should say instead, and how that is known:", "", "> (to be written)", ""]
    facts = [
        ("vllm-triage", escaped(program)),
        ("vLLM", escaped(words.release_of(run).removeprefix("vLLM ") or "not shown in the log")),
        ("Platform", escaped(visible(run.platform, words.NAME)) if run and run.platform else ""),
        ("Deployment", escaped(visible(run.deployment, words.NAME)) if run and run.deployment else ""),
        ("Model", code(visible(run.model, words.NAME)) if run and run.model else ""),
        ("Status", code(report.status)),
    ]
    if finding is not None:
        facts += [
            ("Class", code(visible(finding.exception_class, words.NAME)) if finding.exception_class else ""),
            ("Place", escaped(where.where_of(finding))),
            ("Confidence", escaped(f"{finding.confidence}, {finding.score:g}")),
            ("Near", ", ".join(code(flat(each, words.NAME)) for each in finding.near[:3])),
        ]
    lines += [f"- **{label}:** {text}" for label, text in facts if text]
    if run is not None and run.command:
        lines += ["", f"Command ({run.command_basis}):", "", *fenced([visible(run.command, words.COMMAND)], "sh")]
    if finding is not None:
        message = [visible(line, _WIDTH) for line in finding.message.strip("\n").split("\n")][:_LINES]
        quoted = [excerpt(line.rstrip(), finding.message, _WIDTH) for line in finding.evidence][:_LINES]
        lines += ["", "Message:", "", *fenced(message, "text"), "", "In the log:", "", *fenced(quoted, "text")]
    others = [each for each in report.findings if each is not finding]
    if others:
        lines += ["", "Also found:", ""]
        for each in others[:10]:
            name = f" ({code(words.name_of(each))})" if each.record else ""
            lines.append(f"- {each.role}: {escaped(words.title_of(each))}{name}")
    return "\n".join(lines) + "\n"
