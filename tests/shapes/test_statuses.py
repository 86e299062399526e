"""What the input as a whole amounts to: a cause, a failure without one, too little to tell, or nothing wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]

_LOG = Path(__file__).parents[2] / "samples" / "healthy" / "0.32.0-serve" / "input.log"
LINES = [line for line in _LOG.read_text(encoding="utf-8").splitlines() if "hut" not in line]  # less its shutdown


def until(part: str) -> str:
    """The healthy log up to the first line that holds a text."""
    place = next(number for number, line in enumerate(LINES) if part in line)
    return "".join(f"{line}\n" for line in LINES[: place + 1])


UP = until("Application startup complete")
LOADING = until("Starting to load model")
SERVING = "".join(f"{line}\n" for line in LINES)
STALL = (
    "(EngineCore pid=28809) INFO 11-30 16:4{n}:00 [shm_broadcast.py:466] No available shared memory broadcast block "
    "found in 60 seconds. This typically happens when some processes are hanging.\n"
)
STALLS = "".join(STALL.format(n=n) for n in range(4))
INTERRUPT = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\nKeyboardInterrupt: terminated\n'
ACCESS = '(APIServer pid=28168) INFO:     192.0.2.9:41 - "POST /v1/chat/completions HTTP/1.1" {status}\n'
TAIL = "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("", ("the input is empty", "kubectl logs"), id="empty"),
        pytest.param(" \n\n\t\n", ("nothing in this input looks like one",), id="only blanks"),
        pytest.param("bash: kubectl: command not found\n", ("Check what the command",), id="another program's output"),
        pytest.param(
            f"(APIServer pid=1) {TAIL}", ("the lines before", "--previous", "worker or engine"), id="only the tail"
        ),
        pytest.param(
            f"[pod/llm-7d9/vllm] (APIServer pid=1) {TAIL}",
            ("kubectl logs llm-7d9 --previous",),
            id="the tail, of a pod",
        ),
        pytest.param(f"vllm-1  | {TAIL}", ("docker compose logs",), id="the tail, of compose"),
        pytest.param('  File "/x/vllm/a.py", line 3, in f\n    g()\n', ("the lines after",), id="half a traceback"),
        pytest.param(LOADING, ("start-up does not complete", "loading the model", "py-spy"), id="stops while loading"),
        pytest.param(until("KV cache size"), ("reserving the KV cache",), id="stops at the cache"),
        pytest.param(
            LOADING + STALLS, ("does not answer any more while loading the model", "py-spy"), id="hang at start"
        ),
        pytest.param(
            SERVING + STALLS, ("does not answer any more while serving", "NCCL_DEBUG"), id="hang while serving"
        ),
        pytest.param(
            LOADING + INTERRUPT,
            ("who stopped the process while it was loading the model", "probe"),
            id="stopped at start",
        ),
        pytest.param(f"{LOADING}Killed\n", ("ended while loading the model", "dmesg"), id="killed at start"),
        pytest.param(
            f"{SERVING}vllm-1 exited with code 137\n", ("ended while serving", "docker inspect"), id="killed later"
        ),
        pytest.param(
            SERVING + ACCESS.format(status="500 Internal Server Error"), ("status 500",), id="only 500s at last"
        ),
        pytest.param(LOADING + LOADING, ("start-up does not complete",), id="restarted without a word"),
    ],
)
def test_not_enough_evidence_says_what_to_fetch(diagnose: Diagnose, text: str, parts: tuple[str, ...]) -> None:
    """Something is wrong and no line says why: what would show it, and the command to get it."""
    report = diagnose(text)
    said = " ".join(report.missing)
    assert (report.status, report.findings) == ("insufficient_evidence", ())
    assert [part for part in parts if part not in said] == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(UP, id="up"),
        pytest.param(SERVING, id="serving"),
        pytest.param(SERVING + STALL.format(n=1), id="one slow step"),
        pytest.param(UP + STALLS + ACCESS.format(status="200 OK"), id="slow steps, then served"),
        pytest.param(SERVING + INTERRUPT, id="stopped by Ctrl-C"),
        pytest.param(f"{SERVING}vllm-1 exited with code 0\n", id="ended in order"),
        pytest.param(UP + ACCESS.format(status="401 Unauthorized"), id="a request without its key"),
        pytest.param(
            UP + ACCESS.format(status="500 Internal Server Error") + ACCESS.format(status="200 OK"), id="served again"
        ),
        pytest.param(LOADING + LOADING + UP, id="up at the third attempt"),
    ],
)
def test_nothing_wrong(diagnose: Diagnose, text: str) -> None:
    """A server that came up and goes on serving, whatever came between."""
    report = diagnose(text)
    assert (report.status, report.findings, report.missing) == ("healthy", (), ())


def test_refused_requests_are_no_failure_and_their_reason_is_asked_for(diagnose: Diagnose) -> None:
    """Newer releases log only "400 Bad Request": the server is healthy, the reason stands in the client's answer."""
    report = diagnose(UP + 3 * ACCESS.format(status="400 Bad Request"))
    assert (report.status, report.findings) == ("healthy", ())
    assert "3 requests were refused" in report.missing[0]


def test_failure_that_start_up_got_over(diagnose: Diagnose) -> None:
    """An error before start-up completes is none in the end: it is listed as a warning."""
    error = "(EngineCore pid=28809) ERROR 11-30 16:33:16 [acme.py:1] Could not set the flux, going on without\n"
    report = diagnose(LOADING + error + SERVING[len(LOADING) :], show_all=True)
    assert report.status == "healthy"
    assert [finding.role for finding in report.findings if "flux" in finding.message] == ["warning"]
