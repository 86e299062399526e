"""From a wall of vLLM log to the one cause, where it was raised, and the command that fixes it.

    import triage

    report = triage.diagnose_log(Path("failed.log"))
    print(report.status, report.findings[0].title)
    print(triage.render_report(report, "markdown"))

Everything that this module does not name is private.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from triage.errors import InputError, RecordError, TriageError, UsageError
from triage.model import Finding, Fix, Idiom, InputFacts, Location, RecordRef, Report, Run

__all__ = [
    "Finding",
    "Fix",
    "InputError",
    "InputFacts",
    "Location",
    "RecordError",
    "RecordRef",
    "Report",
    "Run",
    "TriageError",
    "UsageError",
    "diagnose_log",
    "render_report",
    "report_schema",
]


def diagnose_log(
    log: str | bytes | Path | BinaryIO,
    *,
    patterns: Sequence[Path] = (),
    vllm_version: str | None = None,
    idiom: Idiom | None = None,
    show_all: bool = False,
) -> Report:
    """Diagnose a log.

    Args:
        log: the log itself as text or bytes, the path of a file, or an open binary stream.
        patterns: folders with further records.
        vllm_version: the release, where the log does not show it.
        idiom: of the fixes' commands; None takes what the log shows.
        show_all: consequences, warnings and harmless findings too.

    Returns:
        The report, nothing redacted: render_report() does that.

    Raises:
        InputError: the log cannot be read.
        RecordError: a record in one of the folders is wrong.
    """
    # The stages are imported here so that the types above cost a program nothing.
    from triage import catalogue, pipeline

    settings = pipeline.Settings(vllm_version=vllm_version, idiom=idiom, show_all=show_all)
    triage = pipeline.Triage(catalogue.load(patterns), settings)
    if isinstance(log, Path):
        source = pipeline.open_source(str(log))
    elif isinstance(log, (str, bytes)):
        data = log.encode("utf-8", "backslashreplace") if isinstance(log, str) else log
        source = pipeline.Source("text", io.BytesIO(data))
    else:
        source = pipeline.Source(str(getattr(log, "name", "stream")), log)
    for _ in triage.read(source):
        pass
    return triage.report()


def render_report(report: Report, format: str = "text", *, width: int | None = None, redacted: bool = True) -> str:
    """Put a report into a form: text, concise, json, jsonl or markdown.

    Args:
        report: what diagnose_log() gave.
        format: the form's name.
        width: columns to wrap prose at; None does not wrap.
        redacted: take secrets and prompts out, and addresses and user names too where the form is made to be shared.

    Raises:
        UsageError: there is no such form.
    """
    from triage import pipeline

    return pipeline.present(report, format, pipeline.Options(width=width), redacted=redacted)


def report_schema() -> dict[str, object]:
    """The JSON Schema of the json form, ``vllm-triage/report/1``."""
    from triage import pipeline

    return dict(pipeline.schema())
