"""Copies of a statement are counted as one, and the copy that says most stands for all."""

from __future__ import annotations

import pytest

from triage.diagnose.observations import Observation, fingerprint, merge
from triage.model import Cause, Event, Frame, Line, Match, Raised, Record, Statement


def record(number: int, *, process: str | None = None, level: str | None = "ERROR", time: str | None = None) -> Record:
    return Record("boom", (Line("stdin", number, 0, "boom"),), process=process, level=level, time=time)


def observed(
    number: int,
    *,
    process: str | None = None,
    level: str | None = "ERROR",
    time: str | None = None,
    frames: tuple[Frame, ...] = (),
    confidence: str | None = None,
    relayed: bool = False,
) -> Observation:
    first = record(number, process=process, level=level, time=time)
    event = Event("exception", (first,), raised=(Raised("ValueError", "boom", frames, (first,)),))
    match = None
    if confidence is not None:
        cause = Cause({}, None, "test", "x", "x")
        match = Match(cause, None, "boom", {}, confidence, 100.0)  # type: ignore[arg-type]
    statement = Statement(event, "boom", "ValueError", 0, (first,))
    got = Observation(statement, match, "boom", (first,), 0, (1, number, number), relayed)
    got.last_line, got.first_time, got.last_time = number, time, time
    return got


IN_VLLM = (Frame("/x/vllm/a.py", 1, "f"),)
ELSEWHERE = (Frame("/x/torch/a.py", 1, "f"),)


@pytest.mark.parametrize(
    ("less", "more"),
    [
        (observed(1), observed(2, frames=ELSEWHERE)),
        (observed(1, frames=ELSEWHERE), observed(2, frames=IN_VLLM)),
        (observed(1, confidence="truncated"), observed(2, confidence="exact")),
        (observed(1, relayed=True, frames=IN_VLLM), observed(2)),
        (observed(1, process="APIServer"), observed(2, process="EngineCore_DP0")),
        (observed(1, process="EngineCore"), observed(2, process="Worker_TP0")),
        (observed(1, level="INFO", frames=IN_VLLM), observed(2, level=None)),
    ],
)
def test_the_copy_that_says_more_stands_for_both(less: Observation, more: Observation) -> None:
    """A traceback, one into vLLM, the whole text, the message itself, the deeper process, the louder level."""
    for held, copy in ((less, more), (more, less)):
        best = merge(held, copy)
        assert best is more
        assert best.order == (1, 1, 1)
        less.count = more.count = 1


def test_of_equals_the_first_one_stands() -> None:
    """Two equal copies: the first one is quoted, both are counted, the last line is kept."""
    first, second = observed(3), observed(9)
    best = merge(first, second)
    assert best is first
    assert (best.count, best.last_line) == (2, 9)


def test_times_of_one_form_are_compared() -> None:
    """The span of copies is told by clocks of the same form; another clock's time is left out."""
    best = merge(observed(1, time="11-30 14:15:09"), observed(2, time="11-30 14:15:02"))
    assert (best.first_time, best.last_time) == ("11-30 14:15:02", "11-30 14:15:09")
    best = merge(observed(1, time="11-30 14:15:09"), observed(2, time="2026-11-30T14:15:02Z"))
    assert (best.first_time, best.last_time) == ("11-30 14:15:09", "11-30 14:15:09")


@pytest.mark.parametrize(
    ("process", "functions", "stage"),
    [
        ("VllmWorker TP0", (), "worker"),
        ("RayWorkerWrapper", (), "worker"),
        ("EngineCore_DP0", (), "engine"),
        ("APIServer", (), "api"),
        (None, ("worker_busy_loop",), "worker"),
        (None, ("run_engine_core",), "engine"),
        (None, ("run_server",), "api"),
        (None, ("f",), ""),
    ],
)
def test_stage_of_a_process(process: str | None, functions: tuple[str, ...], stage: str) -> None:
    """The process tag says which part of vLLM it is; without one the frames do."""
    frames = tuple(Frame("/x/y.py", 1, function) for function in functions)
    assert observed(1, process=process, frames=frames).stage == stage


def test_fingerprint_leaves_numbers_out() -> None:
    """The same failure with other numbers and addresses has the same fingerprint; another class has not."""
    one = fingerprint("ValueError", None, "got 64 at 0x7f00, need 256")
    assert one == fingerprint("builtins.ValueError", None, "got 32 at  0x7fff, need 128")
    assert one != fingerprint("RuntimeError", None, "got 64 at 0x7f00, need 256")
    assert fingerprint("A", "slug", "x") == fingerprint("A", "slug", "y")
