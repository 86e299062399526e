"""Every record has its proof: a positive sample, a near miss, and no other sample that it fires on.

samples/<slug>/ holds positive.log, near-miss.log and expect.json; samples/real/ genuine logs of failing vLLMs, each with an
expect.json and made.md; samples/healthy/ genuine logs of healthy ones.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

import triage
from triage import catalogue
from triage.model import Finding, Report
from triage.read import strip_ansi

Diagnose = Callable[..., Report]
SAMPLES = Path(__file__).parent.parent / "samples"
POSITIVE = sorted(SAMPLES.glob("*/positive.log"))
FURTHER = sorted([*SAMPLES.glob("*/positive-*.log"), *SAMPLES.glob("*/near-miss-*.log")])
REAL = sorted((SAMPLES / "real").glob("*/input.log"))
HEALTHY = sorted((SAMPLES / "healthy").glob("*/input.log"))
CAUSES = catalogue.load().causes
ROOT_SLUGS = sorted(cause.slug for cause in CAUSES if cause.role == "root_cause")


def folder(path: Path) -> str:
    return path.parent.name


def expectation(path: Path) -> dict[str, Any]:
    expected: dict[str, Any] = json.loads((path.parent / "expect.json").read_text(encoding="utf-8"))
    return expected


def roots(report: Report) -> list[Finding]:
    return [finding for finding in report.findings if finding.role == "root_cause"]


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("slug", ROOT_SLUGS)
def test_every_root_cause_has_samples(slug: str) -> None:
    """A record without a positive sample of ten lines and a near miss does not stand."""
    positive = SAMPLES / slug / "positive.log"
    assert len(positive.read_text(encoding="utf-8", errors="replace").splitlines()) >= 10
    assert (SAMPLES / slug / "near-miss.log").stat().st_size


def test_every_sample_belongs_to_a_record() -> None:
    """A folder of samples is called like its record."""
    known = {cause.slug for cause in CAUSES}
    assert {folder(path) for path in POSITIVE} <= known


@pytest.mark.parametrize("path", POSITIVE, ids=folder)
def test_positive_sample_names_its_record(diagnose: Diagnose, path: Path) -> None:
    """The sample's one root cause is its record, with the values that it holds, an explanation and a fix."""
    (root,) = roots(diagnose(path.read_bytes()))
    expected = expectation(path)
    assert root.record is not None
    assert root.record.slug == folder(path)
    assert squeezed(root.message).startswith(squeezed(expected["root_cause_message"])[:60])
    assert {name: root.captures.get(name) for name in expected["captures"]} == expected["captures"]
    assert root.cause
    assert "?" not in root.cause
    assert root.fixes


@pytest.mark.parametrize("path", POSITIVE, ids=folder)
def test_near_miss_does_not_name_the_record(diagnose: Diagnose, path: Path) -> None:
    """Half the text, the same class, or the same message with its condition met is something else."""
    report = diagnose((path.parent / "near-miss.log").read_bytes(), show_all=True)
    assert folder(path) not in {f.record.slug for f in report.findings if f.record and f.role == "root_cause"}
    wanted = expectation(path).get("near_miss_root")
    assert [squeezed(root.message)[:40] for root in roots(report)] == ([squeezed(wanted)[:40]] if wanted else [])


@pytest.mark.parametrize("path", FURTHER, ids=lambda path: f"{folder(path)}-{path.stem}")
def test_further_samples(diagnose: Diagnose, path: Path) -> None:
    """A further positive sample names its record alone, a further near miss does not name it."""
    named = {root.record.slug if root.record else None for root in roots(diagnose(path.read_bytes()))}
    assert (named == {folder(path)}) if path.name.startswith("positive") else folder(path) not in named


@pytest.mark.parametrize("path", POSITIVE, ids=folder)
def test_no_other_record_claims_the_sample(diagnose: Diagnose, path: Path) -> None:
    """Of all root-cause records only the sample's own fires on it, unless it declares that it outranks the other."""
    own = next(cause for cause in CAUSES if cause.slug == folder(path))
    fired = {f.record.slug for f in diagnose(path.read_bytes(), show_all=True).findings if f.record}
    allowed = {own.slug, *own.outranks} | {c.slug for c in CAUSES if c.role != "root_cause" or "*" in c.consequence_of}
    allowed |= {c.slug for c in CAUSES if own.slug in c.consequence_of}
    assert fired <= allowed


@pytest.mark.parametrize("path", REAL, ids=folder)
def test_real_log(diagnose: Diagnose, path: Path) -> None:
    """A genuine failure: its one root cause in vLLM's own words, its values, its place, and the status."""
    expected = expectation(path)
    report = diagnose(path.read_bytes())
    (root,) = roots(report)
    assert squeezed(expected["root_cause_message"]) in squeezed(root.message)
    assert len(root.message) <= 3 * len(expected["root_cause_message"]) + 3000  # it may stop where the text is settled
    for name, value in (expected.get("captures") or {}).items():
        if root.record is not None:
            assert value in root.captures.values(), name
    if root.record is not None and expected.get("locations"):
        assert root.location is not None
        assert {"file": root.location.file, "line": root.location.line} in expected["locations"]
    assert report.status == ("cause_found" if root.record else "unknown_failure")
    if expected.get("status") == "cause_found":
        assert root.record is not None


@pytest.mark.parametrize("path", HEALTHY, ids=folder)
def test_healthy_log_is_silent(diagnose: Diagnose, path: Path) -> None:
    """A healthy run names nothing, and every INFO and WARNING line of it by itself names nothing either."""
    report = diagnose(path.read_bytes())
    assert (report.status, report.findings) == ("healthy", ())
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        assert diagnose(line).findings == (), line


@pytest.mark.parametrize("path", [*POSITIVE, *REAL, *HEALTHY], ids=folder)
def test_json_form_is_valid(diagnose: Diagnose, path: Path) -> None:
    """Every report obeys the published schema, with everything shown."""
    report = diagnose(path.read_bytes(), show_all=True)
    jsonschema.validate(orjson.loads(triage.render_report(report, "json")), triage.report_schema())


@pytest.mark.parametrize("path", [*POSITIVE, *REAL], ids=folder)
def test_evidence_quotes_the_input(diagnose: Diagnose, path: Path) -> None:
    """What a finding quotes stands in the input, colours aside."""
    data = strip_ansi(path.read_text(encoding="utf-8", errors="backslashreplace"))
    for finding in diagnose(data, show_all=True).findings:
        assert finding.evidence
        assert all(squeezed(line) in squeezed(data) for line in finding.evidence)


@pytest.mark.parametrize("path", [*POSITIVE, *REAL], ids=folder)
def test_text_fits_a_screen(diagnose: Diagnose, path: Path) -> None:
    """The text form of one cause takes no more than 45 lines."""
    text = triage.render_report(diagnose(path.read_bytes()), "text")
    assert len(text.splitlines()) <= 45
