"""Conditions of causes on the rest of the log, and values that come from it."""

from __future__ import annotations

from triage.diagnose.captures import from_facts, from_text
from triage.diagnose.evidence import Evidence
from triage.model import CaptureSpec, Catalogue, Cause, Event, Line, Record, RunFacts, When


def record(text: str) -> Record:
    return Record(text, (Line("stdin", 1, 0, text),))


def cause(when: When | None = None, *captures: CaptureSpec) -> Cause:
    return Cause({}, None, "test", "x", "x", when=when, captures={spec.name: spec for spec in captures})


def test_patterns_are_kept_apart_by_run() -> None:
    """What one run's records hold says nothing of another run."""
    evidence = Evidence(Catalogue((cause(When(present=(r"WSL",), absent=(r"\bTPU\b",))),)))
    evidence.observe(record("running under WSL"), 0)
    evidence.observe(record("a TPU"), 1)
    assert evidence.present(0) == {"WSL"}
    assert evidence.present(1) == {r"\bTPU\b"}
    assert evidence.present(2) == frozenset()


def test_pattern_that_cannot_be_told_in_time_is_not_proven_absent() -> None:
    """A pattern that runs away on a hostile line counts as met where it must be absent, as not met where present."""
    runaway = r"(?:a+)+\d"
    hostile = record("a" * 1500)
    absent = Evidence(Catalogue((cause(When(absent=(runaway,))),)))
    absent.observe(hostile, 0)
    present = Evidence(Catalogue((cause(When(present=(runaway,))),)))
    present.observe(hostile, 0)
    assert absent.present(0) == {runaway}
    assert present.present(0) == frozenset()


def test_values_of_run_facts() -> None:
    """Arguments before the engine's config line, run facts by name; what is missing or no plain value is left out."""
    specs = (
        CaptureSpec("seqs", "int", source="args", key="max_num_seqs"),
        CaptureSpec("dtype", "str", source="engine"),
        CaptureSpec("model", "str", source="run"),
        CaptureSpec("gone", "int", source="args"),
        CaptureSpec("object", "auto", source="args"),
    )
    facts = RunFacts(model="org/m", args={"max_num_seqs": 8, "object": {}}, engine={"dtype": "half", "max_num_seqs": 1})
    assert from_facts(cause(None, *specs), facts) == {"seqs": 8, "dtype": "half", "model": "org/m"}


def test_values_of_the_chain_and_of_neighbouring_lines() -> None:
    """The first group is the value, typed; of neighbouring lines the nearest to the end counts."""
    specs = (
        CaptureSpec("free", "float", source="near", key=r"free: ([\d.]+) GiB"),
        CaptureSpec("code", "int", source="chain", key=r"Error (\d+)"),
        CaptureSpec("word", "str", source="chain", key=r"at all"),
        CaptureSpec("none", "int", source="near", key=r"never (\d+)"),
    )
    event = Event("log", (record("Error 803: not at all"),))
    got = from_text(cause(None, *specs), event, ["free: 1.5 GiB", "free: 2.25 GiB", "other"])
    assert got == {"free": 2.25, "code": 803, "word": "at all"}
