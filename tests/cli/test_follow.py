"""--follow: inputs that go on growing, until Ctrl-C."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triage.model import Report
from triage.pipeline import Settings, Source, Triage

SEED = "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"
SLUG = b"batched-tokens-below-num-seqs"
SOON = 0.5
"""Seconds within which a finding comes behind its last line."""


@contextmanager
def following(*words: str | Path) -> Iterator[subprocess.Popen[bytes]]:
    """The command, following; stopped at the end whatever happened."""
    process = subprocess.Popen(
        [sys.executable, "-m", "triage", "--follow", *map(str, words)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def line_of(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def test_the_last_event_of_a_pipe_is_not_held_until_the_next_line() -> None:
    """What a pipe says last comes soon, though nothing follows it and the pipe stays open."""
    with following("--format", "concise") as process:
        assert process.stdin is not None
        process.stdin.write(b"(EngineCore pid=7) acme.FirstError: one\n")
        process.stdin.flush()
        assert b"acme.FirstError" in line_of(process)  # loaded and waiting
        before = time.monotonic()
        process.stdin.write(SEED.encode())
        process.stdin.flush()
        assert SLUG in line_of(process)
        # A machine that runs other tests beside is slower; held until the next line it would never come.
        assert time.monotonic() - before < 10 * SOON


def test_a_file_is_waited_for_and_ctrl_c_prints_the_report(tmp_path: Path) -> None:
    """Lines that are added are read, as are those of the file that a rotation puts in its place, or of an emptied one."""
    log = tmp_path / "vllm.log"
    log.write_text("acme.FirstError: one\n")
    with following(log, "--all") as process:
        assert f"{log}:1: error: acme.FirstError: one".encode() in line_of(process)
        with log.open("a") as file:
            file.write(SEED)
        assert SLUG in line_of(process)
        log.rename(tmp_path / "vllm.log.1")
        log.write_text("acme.SecondError: two, of a longer line that makes the file larger than what comes next\n")
        assert b"acme.SecondError" in line_of(process)
        log.write_text("acme.ThirdError: three\n")
        assert b"acme.ThirdError" in line_of(process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, b"")
    assert b"fix 1" in out
    assert b"was replaced or emptied while it was followed" in out


def test_several_files_are_followed_at_a_time(tmp_path: Path) -> None:
    """None of them waits for the end of another; one that is missing is said at once, the rest followed."""
    one, two = tmp_path / "one.log", tmp_path / "two.log"
    one.write_text("")
    two.write_text("")
    with following(one, tmp_path / "gone.log", two) as process:
        assert process.stderr is not None
        assert b"gone.log does not exist" in process.stderr.readline()
        for log in (two, one, two):
            with log.open("a") as file:
                file.write(f"acme.{log.stem.title()}Error: no {log.stat().st_size}\n")
            assert line_of(process).startswith(str(log).encode())
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
    assert process.returncode == 130


def paced(*pieces: str, pause: float = 0.6, follow: bool = True) -> Report:
    """The report of a pipe that pauses between pieces."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        os.close(reading)
        for piece in pieces:
            os.write(writing, piece.encode())
            time.sleep(pause)
        os._exit(0)
    os.close(writing)
    from triage import catalogue

    triage = Triage(catalogue.load(), Settings(follow=follow))
    source = Source("stdin", os.fdopen(reading, "rb", buffering=0))  # type: ignore[arg-type]
    findings = triage.follow([source], lambda: False, lambda failure: None) if follow else triage.read(source)
    for _ in findings:
        pass
    os.waitpid(child, 0)
    return triage.report()


def test_a_pause_inside_a_traceback_does_not_break_it() -> None:
    """A traceback waits for its exception line, however slowly it comes."""
    pieces = (
        "(EngineCore pid=7) Traceback (most recent call last):\n",
        '(EngineCore pid=7)   File "/x/vllm/v1/engine/core.py", line 12, in run\n(EngineCore pid=7)     start()\n',
        f"(EngineCore pid=7) {SEED}",
    )
    followed, read = paced(*pieces), paced(*pieces, pause=0.0, follow=False)
    assert followed.findings == read.findings
    assert followed.findings[0].location == read.findings[0].location
