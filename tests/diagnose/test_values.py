from __future__ import annotations

import pytest

from triage.diagnose.captures import from_facts, from_text
from triage.diagnose.values import admits, names_of, parse_version
from triage.model import CaptureSpec, Cause, Event, Line, Record, RunFacts, Scalar


def cause(**captures: CaptureSpec) -> Cause:
    return Cause(record={}, wrapper=None, origin="test", id="x", slug="x", captures=captures)


@pytest.mark.parametrize(
    ("version", "default"),
    [("0.6.3.post1", 0.9), ("0.19.1", 0.9), ("0.20.0rc2", 0.92), ("0.20.0", 0.92), ("0.33.0", 0.92), (None, None)],
)
def test_a_default_that_changed_is_that_of_the_release(version: str | None, default: Scalar) -> None:
    """What the arguments do not name has the default of the run's release; without a release it is not known."""
    facts = RunFacts(vllm_version=version, args={"model": "org/m"})
    assert names_of({}, facts).get("gpu_memory_utilization") == default


def test_a_default_is_only_for_arguments_that_are_known() -> None:
    """A run whose arguments the log does not show, or shows in part, has none; a value given goes first."""
    name = "gpu_memory_utilization"
    assert name not in names_of({}, RunFacts(vllm_version="0.11.0"))
    cut = RunFacts(vllm_version="0.11.0", args={"model": "m"}, unusable=(name,))
    assert name not in names_of({}, cut)
    assert names_of({}, RunFacts(vllm_version="0.11.0", args={name: 0.5}))[name] == 0.5
    assert names_of({name: 0.6}, RunFacts(vllm_version="0.11.0", args={name: 0.5}))[name] == 0.6


def test_versions() -> None:
    """A build of a release to come counts as that release; a specifier that is none admits nothing."""
    parsed = parse_version("0.20.0rc1")
    assert parsed is not None
    assert admits(">=0.20", parsed)
    assert admits(None, parsed)
    assert not admits("newer", parsed)
    assert parse_version("main") is None


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("size 512.00 MiB", "GiB", 0.5),
        ("size 2.5 GiB", "GiB", 2.5),
        ("size -1.5GiB", "GiB", -1.5),
        ("size 3 GiB", "MiB", 3072.0),
        ("size 4096 bytes", "KiB", 4.0),
        ("size 2.25", "GiB", 2.25),
        ("size 1.5.5 GiB", "GiB", None),
        ("size 512.00 MiB", None, None),
    ],
)
def test_sizes_are_in_the_unit_of_their_capture(text: str, unit: str | None, value: Scalar) -> None:
    """A size is converted to the capture's unit, whatever unit the text has; what is no size has no value."""
    spec = CaptureSpec("size", "float", unit=unit, source="near", key=r"size (-?[\d.]+(?: ?\w+)?)")
    event = Event("log", (Record("x", (Line("stdin", 1, 0, "x"),)),))
    assert from_text(cause(size=spec), event, [text]) == {"size": value}


def test_the_platform_is_a_run_fact() -> None:
    """What kind of device a run is for can be asked."""
    spec = CaptureSpec("platform", "str", source="run")
    assert from_facts(cause(platform=spec), RunFacts(platform="cpu")) == {"platform": "cpu"}
    assert from_facts(cause(platform=spec), RunFacts()) == {}
