"""Verdicts on texts that mislead: quoted errors, cut tracebacks, ends without a word, wrappers of every kind."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]
SAMPLES = Path(__file__).parent.parent / "samples"
HEALTHY = (SAMPLES / "healthy" / "0.32.0-serve" / "input.log").read_text(encoding="utf-8")
REAL = sorted((SAMPLES / "real").glob("*/input.log"))
SEED = "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256)."
SLUG = "batched-tokens-below-num-seqs"
FRAMES = 'Traceback (most recent call last):\n  File "/x/vllm/config/scheduler.py", line 329, in verify_max_model_len\n    raise ValueError(\n'
INFO = "(APIServer pid=1311) INFO 11-30 15:05:00 [logger.py:40] "


def slug(report: Report) -> str | None:
    first = next((finding for finding in report.findings if finding.role == "root_cause"), None)
    return first.record.slug if first and first.record else None


def inside(text: str) -> str:
    """The healthy log with a text in its middle, requests served before and after it."""
    lines = HEALTHY.splitlines(keepends=True)
    place = max(n for n, line in enumerate(lines) if '"POST' in line and " 200" in line)
    return "".join([*lines[:place], text if text.endswith("\n") else f"{text}\n", *lines[place:]])


@pytest.mark.parametrize(
    "text",
    [
        f"{INFO}Received request cmpl-1: prompt: 'why\n{FRAMES}{SEED}\n<|assistant|>', params: SamplingParams(n=1)",
        f"{INFO}Received request cmpl-1: prompt: 'why {SEED}', params: SamplingParams(n=1)",
        f"{INFO}Generated response cmpl-1: output: 'say\n{SEED}\n', finish_reason: stop",
        "".join(f"{INFO}{line}\n" for line in f"{FRAMES}{SEED}".splitlines()),
        f"{FRAMES}{SEED}",
        f'vllm/config/scheduler.py:329:            raise ValueError("{SEED[12:]}")',
        f'            raise ValueError(f"{SEED[12:]}")',
        f"$ echo '{SEED}'",
        f'curl -d \'{{"prompt": "{SEED}"}}\' http://localhost:8000/v1/completions',
        f"The documentation says that {SEED[12:]}",
    ],
)
def test_quoted_error_in_a_healthy_log(diagnose: Diagnose, text: str) -> None:
    """A server that goes on serving has not failed, whatever stands in prompts, sources, commands and prose around it."""
    report = diagnose(inside(text))
    assert (report.status, slug(report)) == ("healthy", None)


@pytest.mark.parametrize(
    "text",
    [
        "Our pod fails:\n\n" + textwrap.indent(f"{FRAMES}{SEED}", "    "),
        "message: |\n" + textwrap.indent(f"{FRAMES}{SEED}", "  "),
        textwrap.indent(f"{FRAMES}{SEED}", "\t"),
        f"{FRAMES}{SEED}".replace("\n", "\r\n"),
        f"{FRAMES}{SEED}".replace("\n", "\\n").replace('"', '\\"'),
        f"{FRAMES}{SEED}".replace("\n", " "),
        f"{FRAMES}{SEED}".replace("\n", "\n\n"),
        f"{FRAMES}{SEED}".replace('"', "&quot;").replace("(", "&#40;"),
        json.dumps({"levelname": "ERROR", "message": "failed", "exc_info": f"{FRAMES}{SEED}"}),
        json.dumps({"error": {"message": SEED[12:], "type": "BadRequestError", "code": 400}}),
        "  + Exception Group Traceback (most recent call last):\n  | ExceptionGroup: errors (1 sub-exception)\n"
        "  +-+---------------- 1 ----------------\n"
        + "".join(f"    | {line}\n" for line in f"{FRAMES}{SEED}".splitlines()),
        "".join(f"│ {line:<110}│\n" for line in f"{FRAMES}{SEED}".splitlines()),
        "".join(f"{n}: {line}\n" for n, line in enumerate(f"{FRAMES}{SEED}\n".splitlines())),
    ],
)
def test_traceback_in_every_shape(diagnose: Diagnose, text: str) -> None:
    """Indented, collapsed, escaped, as entities, in JSON, in a box, in an exception group."""
    report = diagnose(text)
    assert (report.status, slug(report)) == ("cause_found", SLUG)
    assert report.findings[0].captures == {"max_num_batched_tokens": 64, "max_num_seqs": 256}


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name)
@pytest.mark.parametrize("form", ["docker", "cri", "compose", "journald", "json", "crlf"])
def test_wrapper_changes_no_verdict(diagnose: Diagnose, path: Path, form: str) -> None:
    """A genuine log gives the same root cause, values and status as it is, and as a collector stores it."""
    text = path.read_bytes().replace(b"\r\n", b"\n").replace(b"\r", b"\n").decode("utf-8", "backslashreplace")
    wrap: dict[str, Callable[[str], str]] = {
        "docker": lambda line: json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-30T14:15:02.1Z"}),
        "cri": lambda line: f"2026-11-30T14:15:02.123456789Z stderr F {line}",
        "compose": lambda line: f"vllm-1  | {line}",
        "journald": lambda line: f"Nov 30 14:15:02 host vllm[4242]: {line}",
        "json": lambda line: json.dumps({"message": line, "kubernetes": {"pod_name": "vllm-0"}}),
        "crlf": lambda line: f"{line}\r",
    }
    wrapped = "".join(wrap[form](line) + "\n" for line in text.split("\n"))
    plain, got = diagnose(text), diagnose(wrapped)
    assert (got.status, slug(got)) == (plain.status, slug(plain))
    assert [dict(f.captures) for f in got.findings] == [dict(f.captures) for f in plain.findings]
    assert ["".join(f.message.split()) for f in got.findings] == ["".join(f.message.split()) for f in plain.findings]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (HEALTHY + "vllm-1 exited with code 137\n", "exited with code 137"),
        (HEALTHY + "Killed\n", "Killed"),
        ("Last State: Terminated\n  Reason: Error\n  Exit Code: 137\nvllm\n", "a process was ended"),
        ("Error from server (NotFound): pods not found\n", "nothing in this input looks like one"),
        ("".join(f"{FRAMES}{SEED}".splitlines(keepends=True)[:2]), "lines after"),
        ("usage: vllm serve [model_tag] [options]\n  [--x]\n", "lines after"),
    ],
)
def test_end_without_a_word_is_not_healthy(diagnose: Diagnose, text: str, part: str) -> None:
    """Killed, cut, or no log at all: not enough evidence, and what to fetch."""
    report = diagnose(text)
    assert report.status in ("insufficient_evidence", "unknown_failure")
    assert report.status == "unknown_failure" or part in " ".join(report.missing)
    assert all(finding.message for finding in report.findings)


@pytest.mark.parametrize(
    "exception", ["KeyboardInterrupt: terminated", "KeyboardInterrupt", "asyncio.exceptions.CancelledError"]
)
def test_orderly_stop_is_healthy(diagnose: Diagnose, exception: str) -> None:
    """Ctrl-C, SIGTERM and what asyncio makes of them after a start that was complete."""
    text = 'Traceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\n'
    assert diagnose(f"{HEALTHY}{text}{exception}\n").status == "healthy"


def test_warning_in_a_records_words_pasted_bare(diagnose: Diagnose) -> None:
    """The harmless warning that begins like the second seed is not taken for a cut form of it."""
    text = "max_num_scheduled_tokens is set to 4 based on the speculative decoding settings. This may lead to suboptimal performance."
    assert diagnose(text).findings == ()


def test_engines_own_exception_before_a_known_one_of_the_api_server(diagnose: Diagnose) -> None:
    """What the API server says a second later does not explain why its engine failed, known or not."""
    engine = "(EngineCore_DP0 pid=41) ERROR 11-30 14:15:09 [core.py:708] "
    lines = [
        "EngineCore failed to start.",
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "acme.BrokenError: quux",
    ]
    api = 'Traceback (most recent call last):\n  File "/x/api_server.py", line 9, in run_server\n    bind()\nOSError: [Errno 98] Address already in use\n'
    text = "".join(f"{engine}{line}\n" for line in lines) + "".join(
        f"(APIServer pid=1) {line}\n" for line in api.splitlines()
    )
    report = diagnose("(APIServer pid=1) INFO 11-30 14:15:02 [a.py:1] vLLM API server version 0.11.0\n" + text)
    assert [f.message for f in report.findings] == ["quux"]


def test_ignored_cause_is_said(diagnose: Diagnose) -> None:
    """A report that leaves its only cause out says so."""
    report = diagnose(SEED, ignore=frozenset({SLUG}))
    assert report.status == "insufficient_evidence"
    assert SLUG in report.missing[0]


def test_thousands_of_failures_stay_fast(diagnose: Diagnose) -> None:
    """Different exceptions by the thousand are ranked in about linear time."""
    import time

    text = "".join(
        f"acme.E{'abcdefghij'[n % 10]}{chr(97 + n // 10 % 26)}{chr(97 + n // 260)}Error: boom\n" for n in range(4000)
    )
    start = time.process_time()
    report = diagnose(text)
    assert report.status == "unknown_failure"
    assert time.process_time() - start < 20
