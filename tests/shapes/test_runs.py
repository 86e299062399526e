"""Restart loops and several pods in one input: separate runs, with facts and findings of their own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from triage.model import Report

Diagnose = Callable[..., Report]

_SAMPLES = Path(__file__).parents[2] / "samples"
FAILING = (_SAMPLES / "real" / "0.32.0-batched-tokens-below-num-seqs" / "input.log").read_text(encoding="utf-8")
OTHER = (_SAMPLES / "real" / "0.11.0-batched-tokens-below-num-seqs" / "input.log").read_text(encoding="utf-8")
HEALTHY = (_SAMPLES / "healthy" / "0.32.0-serve" / "input.log").read_text(encoding="utf-8")


def of(pod: str, text: str) -> str:
    return "".join(f"[pod/{pod}/vllm] {line}\n" for line in text.splitlines())


def zipped(*texts: str) -> str:
    """Lines of several logs in turn, as a collector mixes them."""
    lines = [text.splitlines() for text in texts]
    longest = max(map(len, lines))
    return "".join(f"{each[n]}\n" for n in range(longest) for each in lines if n < len(each))


def summary(report: Report) -> list[tuple[str | None, int | None, int]]:
    return [(f.record.slug if f.record else None, f.run, f.count) for f in report.findings]


def test_restart_loop_counts_equal_attempts_and_shows_the_last(diagnose: Diagnose) -> None:
    """Three equal failures are one finding of the last run, counted."""
    report = diagnose(3 * FAILING)
    once = diagnose(FAILING).findings[0].count
    assert len(report.runs) == 3
    assert summary(report) == [("batched-tokens-below-num-seqs", 2, 3 * once)]
    assert report.findings[0].line > 2 * FAILING.count("\n")


def test_attempts_that_fail_differently_are_both_shown_the_last_first(diagnose: Diagnose) -> None:
    """Values changed between two attempts: the last attempt's failure ranks first."""
    report = diagnose(FAILING + FAILING.replace("(64)", "(32)"))
    assert [finding.captures["max_num_batched_tokens"] for finding in report.findings] == [32, 64]
    assert [finding.run for finding in report.findings] == [1, 0]


def test_last_attempt_only(diagnose: Diagnose) -> None:
    """Asked for, earlier attempts are left out."""
    report = diagnose(FAILING + FAILING.replace("(64)", "(32)"), last_attempt=True)
    assert [finding.captures["max_num_batched_tokens"] for finding in report.findings] == [32]


def test_pods_of_different_releases_keep_their_own_facts(diagnose: Diagnose) -> None:
    """Two pods' lines in turn: each run has its own release, model and arguments."""
    report = diagnose(zipped(of("a-0", FAILING), of("b-0", OTHER.replace("(64)", "(32)"))))
    assert {(run.pod, run.vllm_version) for run in report.runs} == {("a-0", "0.32.0"), ("b-0", "0.11.0.post2")}
    assert {(f.pod, f.location.version if f.location else None) for f in report.findings} == {
        ("a-0", "0.32.0"),
        ("b-0", "0.11.0"),
    }


def test_healthy_pod_beside_a_failing_one(diagnose: Diagnose) -> None:
    """What one pod serves does not mean that another one's failure was got over."""
    report = diagnose(zipped(of("a-0", FAILING), of("b-0", HEALTHY)))
    assert (report.status, [finding.pod for finding in report.findings]) == ("cause_found", ["a-0"])


def test_release_inferred_where_no_banner_stands(diagnose: Diagnose) -> None:
    """Half of real inputs lack the banner: logger lines tell the release, and the report says that it is inferred."""
    lines = [line for line in HEALTHY.splitlines() if "version" not in line and "(v0." not in line]
    (run,) = diagnose("\n".join(lines)).runs
    assert (run.vllm_version, run.version_basis) == ("0.32.0", "inferred")
