"""Prefixes that nobody knows come off where they are regular, and only there."""

from __future__ import annotations

import pytest

from triage.read import split_lines, unwrap

TRACEBACK = """\
Traceback (most recent call last):
  File "/opt/x.py", line 3, in f
    g(
  File "/opt/y.py", line 12, in g
    raise ValueError("no")
ValueError: no
"""


def texts(log: str) -> list[str]:
    return [record.text for record in unwrap(split_lines([log.encode()], "stdin"))]


@pytest.mark.parametrize(
    "prefix",
    [
        "[2026/11/30 14:15:{n:02}] [/bin/sh]: ",
        "14:15:{n:02}.123 svc-7 out> ",
        "<job 17> 30.11.2026 14:15:{n:02} | ",
        "{n}: ",
        "task[3] 2026.11.30-14.15.{n:02} stderr -- line {n}: ",
    ],
)
def test_regular_prefix_comes_off(prefix: str) -> None:
    """A clock or a counter in any order, in front of every line; the indentation behind it survives."""
    log = "".join(prefix.format(n=n) + line + "\n" for n, line in enumerate(TRACEBACK.splitlines(), 1))
    assert texts(log) == TRACEBACK.splitlines()


def test_around_known_prefixes() -> None:
    """What is behind an unknown prefix may be a known one."""
    log = "".join(f"[job 3 of 8] (Worker_TP0 pid=9) {line}\n" for line in TRACEBACK.splitlines())
    assert texts(log) == TRACEBACK.splitlines()


@pytest.mark.parametrize(
    "log",
    [
        TRACEBACK,
        "step 1: loaded\nstep 2: loaded\nstep 3: loaded\nstep 4: loaded\nstep 5: loaded\nstep 6: loaded\n",
        "[1] a\n[2] b\n" + TRACEBACK,
        "epoch 1, loss 0.5\nepoch 2, loss 0.4\nepoch 3, loss 0.3\nepoch 4, loss 0.2\nepoch 5, loss 0.1\n" + TRACEBACK,
    ],
)
def test_text_that_repeats_itself_stays(log: str) -> None:
    """Without a log behind it, or with too few lines, what looks regular is the text itself."""
    assert texts(log) == log.splitlines()
