"""The report for programs: JSON in one object, or a line for each finding. See report.schema.json."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import orjson

from triage.model import Finding, Fix, Report, Run
from triage.render.options import Options

SCHEMA_ID = "vllm-triage/report/1"

_DEPTH = 24
_LARGEST = 2**63 - 1
# What orjson writes as it is and a terminal would act on, or a reader of lines would split at; all of
# it can stand in JSON as \uXXXX without changing the value.
_ACTIVE = re.compile(
    "[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f]"
)


def render_json(report: Report, options: Options) -> str:
    """The report as one JSON object, indented, ending in a line feed.

    Args:
        report: what was found.
        options: not used; the report holds what is to be shown.
    """
    return _dump(report_object(report), orjson.OPT_INDENT_2) + "\n"


def render_jsonl(report: Report, options: Options) -> str:
    """The report as lines: one for each finding, then the closing one.

    Args:
        report: what was found.
        options: not used.
    """
    lines = [*map(render_finding, report.findings), render_end(report)]
    return "".join(f"{line}\n" for line in lines)


def render_finding(finding: Finding) -> str:
    """One finding as a line of JSON, without a line feed, ``"type": "finding"``."""
    return _dump({"type": "finding", **finding_object(finding)})


def render_end(report: Report) -> str:
    """The closing line: status, runs and what was read, ``"type": "end"``; without a line feed."""
    return _dump({"schema": SCHEMA_ID, "type": "end", "status": report.status, **_rest(report)})


def report_object(report: Report) -> dict[str, Any]:
    """The report as a value of dicts, lists, texts and numbers, ready for JSON."""
    return {
        "schema": SCHEMA_ID,
        "status": report.status,
        "findings": [finding_object(finding) for finding in report.findings],
        **_rest(report),
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding as a value of dicts, lists, texts and numbers, ready for JSON."""
    record, site, place, frame = finding.record, finding.site, finding.location, finding.vllm_frame
    part = finding.excerpt
    return {
        "role": finding.role,
        "scope": finding.scope,
        "owner": finding.owner,
        "severity": finding.severity,
        "confidence": finding.confidence,
        "score": float(finding.score),
        "title": finding.title,
        "message": finding.message,
        "exception_class": finding.exception_class,
        "record": record and {"id": record.id, "slug": record.slug, "title": record.title},
        "site": site
        and {"template": site.template, "file": site.file, "function": site.function, "class": site.class_name},
        "captures": finding.captures,
        "location": place
        and {
            "file": place.file,
            "line": place.line,
            "function": place.function,
            "version": place.version,
            "basis": place.basis,
            "url": place.url,
        },
        "excerpt": part
        and {
            "file": part.file,
            "version": part.version,
            "line": part.line,
            "lines": [[number, text] for number, text in enumerate(part.lines, part.first)],
        },
        "vllm_frame": frame and {"file": frame.file, "line": frame.line, "function": frame.function},
        "candidates": finding.candidates,
        "cause": finding.cause,
        "fixes": [_fix(fix) for fix in finding.fixes],
        "restart_helps": finding.restart_helps,
        "run": finding.run,
        "process": finding.process,
        "pid": finding.pid,
        "rank": finding.rank,
        "pod": finding.pod,
        "source": finding.source,
        "line": finding.line,
        "count": finding.count,
        "first_time": finding.first_time,
        "last_time": finding.last_time,
        "fingerprint": finding.fingerprint,
        "evidence": finding.evidence,
        "evidence_line": finding.evidence_line,
        "evidence_before": finding.evidence_before,
        "near": finding.near,
        "why": finding.why,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": fix.title,
        "set": fix.set,
        "unset": fix.unset,
        "env": fix.env,
        "steps": fix.steps,
        "commands": fix.commands,
        "verify": fix.verify,
        "safety": fix.safety,
        "tradeoff": fix.tradeoff,
        "estimate": fix.estimate,
        "missing": fix.missing,
        "note": fix.note,
    }


def _run(run: Run) -> dict[str, Any]:
    return {
        "vllm_version": run.vllm_version,
        "version_basis": run.version_basis,
        "model": run.model,
        "command": run.command,
        "command_basis": run.command_basis,
        "args": run.args,
        "platform": run.platform,
        "deployment": run.deployment,
        "source": run.source,
        "pod": run.pod,
    }


def _rest(report: Report) -> dict[str, Any]:
    """What the object and the closing line have in common."""
    read = report.input
    return {
        "missing": report.missing,
        "runs": [_run(run) for run in report.runs],
        "input": {
            "lines": read.lines,
            "bytes": read.bytes,
            "sources": read.sources,
            "limits": read.limits,
            "files": [
                {"source": each.name, "lines": each.lines, "causes": each.causes}
                | {"unknown": each.unknown, "others": each.others}
                for each in read.files
            ],
        },
        "hidden": report.hidden,
        "redacted": report.redacted,
    }


def _dump(value: dict[str, Any], option: int = 0) -> str:
    return _ACTIVE.sub(_escaped, orjson.dumps(_plain(value, _DEPTH), option=option).decode())


def _escaped(match: re.Match[str]) -> str:
    units = match[0].encode("utf-16-be")
    return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))


def _plain(value: object, depth: int) -> Any:
    """The value in what JSON has: lone surrogates spelt out, integers of any size kept, depth bounded."""
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int):
        return value if -_LARGEST <= value <= _LARGEST else _large(value)
    if isinstance(value, str):
        return _text(value)
    if depth == 0:
        return "..."
    if isinstance(value, Mapping):
        return {_text(str(key)): _plain(each, depth - 1) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        items = sorted(value, key=repr) if isinstance(value, set | frozenset) else value
        return [_plain(each, depth - 1) for each in items]
    return _text(str(value))


def _large(value: int) -> Any:
    """An integer beyond 64 bits, which orjson refuses; JSON itself has no bound."""
    return orjson.Fragment(str(value).encode()) if value.bit_length() < 1024 else None


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
