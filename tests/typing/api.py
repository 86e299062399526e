"""The public API as a typed program uses it: mypy reads this file, strictly; nothing runs it."""

from __future__ import annotations

import io
from pathlib import Path

import triage


def statuses(path: Path) -> list[str]:
    """Diagnose in every way that the API offers."""
    reports: list[triage.Report] = [
        triage.diagnose_log(path),
        triage.diagnose_log("ValueError: x"),
        triage.diagnose_log(b"ValueError: x", vllm_version="0.11.0", idiom="k8s"),
        triage.diagnose_log(io.BytesIO(b""), patterns=[Path("records")], show_all=True),
    ]
    return [report.status for report in reports]


def first_commands(report: triage.Report) -> tuple[str, ...]:
    """Take a report apart."""
    finding: triage.Finding | None = next(iter(report.findings), None)
    if finding is None or not finding.fixes:
        return ()
    fix: triage.Fix = finding.fixes[0]
    where: triage.Location | None = finding.location
    named: triage.RecordRef | None = finding.record
    assert where is None or where.line > 0
    assert named is None or named.slug
    return fix.commands


def forms(report: triage.Report) -> list[str]:
    """Render, and say what is wrong."""
    try:
        return [triage.render_report(report), triage.render_report(report, "markdown", width=80, redacted=False)]
    except triage.UsageError as error:
        return [error.message, error.hint or ""]
    except (triage.InputError, triage.RecordError, triage.TriageError):
        return []
