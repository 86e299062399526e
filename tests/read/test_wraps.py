"""Hard wraps are undone where the width shows itself, and nowhere else."""

from __future__ import annotations

import textwrap

import pytest

from triage.read import split_lines, unwrap

LOG = """\
(APIServer pid=214) INFO 11-30 14:15:02 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=214) INFO 11-30 14:15:02 [utils.py:233] non-default args: {'model_tag': 'Qwen/Qwen3-8B', 'max_num_seqs': 256}
(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708] EngineCore failed to start.
(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708] Traceback (most recent call last):
(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708]   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 699, in run_engine_core
(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708]     engine_core = EngineCoreProc(*args, **kwargs)
(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708]   File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 498, in __init__
(EngineCore_DP0 pid=271) ERROR 11-30 14:15:09 [core.py:708] ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).
"""


def texts(log: str) -> list[str]:
    return [record.text for record in unwrap(split_lines([log.encode()], "stdin"))]


def hard_wrapped(log: str, width: int) -> str:
    return "".join(line[at : at + width] + "\n" for line in log.splitlines() for at in range(0, len(line), width))


@pytest.mark.parametrize("width", [80, 100, 120, 140])
def test_hard_wraps_are_undone(width: int) -> None:
    """Lines cut at a terminal's width, in the middle of words and numbers, come together again."""
    assert texts(hard_wrapped(LOG, width)) == texts(LOG)


def test_padded_wraps_are_undone() -> None:
    """A copy from a terminal program pads every line with blanks to its width."""
    padded = "".join(f"{line:<100}\n" for line in hard_wrapped(LOG, 100).splitlines())
    assert texts(padded) == texts(LOG)


def test_mail_wraps_between_words_are_undone() -> None:
    """An issue form or a mail wraps between words, and indents the whole."""
    wrapped = "".join(
        f"  {part}\n"
        for line in LOG.splitlines()
        for part in textwrap.wrap(line, 110, drop_whitespace=True, break_long_words=False)
    )
    assert texts(wrapped)[-1].endswith("must be greater than or equal to max_num_seqs (256).")


def test_long_line_is_no_wrap() -> None:
    """The longest line of a log that was not wrapped keeps to itself."""
    log = "INFO:     started\nValueError: " + "x" * 110 + "\nINFO:     bye\nsome text\n"
    assert len(texts(log)) == 4


def test_record_knows_all_its_lines() -> None:
    """A joined record names every input line that it stands for."""
    record = list(unwrap(split_lines([hard_wrapped(LOG, 100).encode()], "stdin")))[-1]
    assert [line.number for line in record.lines] == [12, 13]
