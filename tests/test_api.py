"""The public API: what a program gets by ``import triage``."""

from __future__ import annotations

import io
from pathlib import Path

import jsonschema
import orjson
import pytest

import triage

SEED = "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"


def test_names_are_sorted_and_there() -> None:
    """What the module names exists, in order."""
    assert triage.__all__ == sorted(triage.__all__)
    assert all(hasattr(triage, name) for name in triage.__all__)


@pytest.mark.parametrize("kind", ["text", "bytes", "stream", "file"])
def test_a_log_in_every_form(tmp_path: Path, kind: str) -> None:
    """Text, bytes, a stream and a file give the same finding."""
    path = tmp_path / "x.log"
    path.write_text(SEED)
    log = {"text": SEED, "bytes": SEED.encode(), "stream": io.BytesIO(SEED.encode()), "file": path}[kind]
    report = triage.diagnose_log(log)  # type: ignore[arg-type]
    assert report.findings[0].captures == {"max_num_batched_tokens": 64, "max_num_seqs": 256}


def test_json_form_obeys_the_schema() -> None:
    """The json form is valid by the published schema."""
    report = triage.diagnose_log(SEED, show_all=True)
    jsonschema.validate(orjson.loads(triage.render_report(report, "json")), triage.report_schema())


def test_errors_are_our_own(tmp_path: Path) -> None:
    """A missing file and an unknown form raise what the module names, with a hint."""
    with pytest.raises(triage.InputError) as missing:
        triage.diagnose_log(tmp_path / "nope.log")
    assert missing.value.hint
    with pytest.raises(triage.UsageError) as form:
        triage.render_report(triage.diagnose_log(""), "pdf")
    assert form.value.hint
