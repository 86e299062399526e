"""Envelopes come off, in any nesting, and what they said is kept."""

from __future__ import annotations

import pytest

from triage.model import Line, Record
from triage.read import to_record
from triage.read.prefixes import PREFIXES

EXAMPLES = [(prefix.name, example) for prefix in PREFIXES for example in prefix.examples]


def record(text: str) -> Record:
    return to_record((Line("stdin", 1, 0, text),))


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_each_envelope_comes_off_whole(name: str, example: str) -> None:
    """Of each known envelope's example only the text is left."""
    assert record(example).text == "TEXT"


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_each_envelope_keeps_indentation(name: str, example: str) -> None:
    """The blanks that a traceback starts its lines with survive, whatever stands before them."""
    if name in ("uvicorn", "xinference, KServe and other Python loggers") or example == "[rank1]:TEXT":
        pytest.skip("its own blanks cannot be told from the text's")
    assert record(example.replace("TEXT", '  File "x.py", line 1, in f')).text == '  File "x.py", line 1, in f'


@pytest.mark.parametrize(("outer_name", "outer"), EXAMPLES)
def test_envelopes_nest(outer_name: str, outer: str) -> None:
    """Every envelope may stand around vLLM's own prefix, which says process, level, clock and place."""
    inner = "(EngineCore_DP0 pid=41) ERROR 11-30 14:15:02 [core.py:12] TEXT"
    got = record(outer.replace("TEXT", inner))
    assert (got.text, got.process, got.pid, got.level, got.time, got.logger_file, got.logger_line) == (
        "TEXT",
        "EngineCore_DP0",
        41,
        "ERROR",
        "11-30 14:15:02",
        "core.py",
        12,
    )


def test_what_envelopes_said_is_kept() -> None:
    """Pod, rank, pid and Ray's count of repetitions stand in the record."""
    text = "[pod/vllm-0/vllm] \x1b[36m(RayWorkerWrapper pid=9, ip=192.0.2.11)\x1b[0m [rank3]: boom [repeated 15x across cluster]"
    got = record(text)
    assert (got.pod, got.process, got.pid, got.rank, got.repeats, got.text) == (
        "vllm-0",
        "RayWorkerWrapper",
        9,
        3,
        16,
        "boom",
    )


@pytest.mark.parametrize(
    "text",
    [
        "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).",
        '  File "/usr/lib/python3.12/site-packages/vllm/config/scheduler.py", line 264, in verify_max_model_len',
        "    | Traceback (most recent call last):",
        "    raise ValueError(",
        "Traceback (most recent call last):",
        "TypeError: f() missing 1 required positional argument: 'x'",
    ],
)
def test_text_is_no_envelope(text: str) -> None:
    """Lines of a plain traceback stay as they are."""
    assert record(text).text == text


def test_colour_codes_that_lost_their_escape_come_off() -> None:
    """A paste that lost the ESC bytes still reads; a range in brackets is no colour code."""
    assert record("[36m(RayWorkerWrapper pid=1)[0m rate(x[5m])").text == "rate(x[5m])"
