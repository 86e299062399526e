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


@pytest.mark.parametrize("width", [90, 118])
def test_wraps_among_wider_lines_are_undone(width: int) -> None:
    """What somebody wrote around a wrapped log may be wider than it: a listing of files, a sentence."""
    words = "config.json   generation_config.json   model-00001-of-00002.safetensors   tokenizer.json   " * 2
    log = LOG + LOG.replace("214", "9914").replace("708]", "709]") + LOG.replace("214", "814").replace("708]", "710]")
    assert texts(f"{words}.\nIt stops here.\n{hard_wrapped(log, width)}")[2:] == texts(log)


def test_wide_lines_that_do_not_go_on_are_no_wrap() -> None:
    """Lines of a table are equally long; what follows them is the next line."""
    rows = "".join(
        f'(APIServer pid=1) INFO:     192.0.2.{n}:50812 - "POST /v1/completions HTTP/1.1" 200 OK {n:02}\n'
        for n in range(10, 40)
    )
    log = f"{'x' * 140}\n{rows}plain text of another program\n"
    assert texts(log)[-1] == "plain text of another program"


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


def mixed(*lines: str) -> str:
    return "".join(f"{line}\n" for line in lines)


@pytest.mark.parametrize(
    "log",
    [
        mixed(
            *(f"| {n}  NVIDIA A100-SXM4-80GB   On  | 00000000:0{n}:00.0 Off |                    0 |" for n in range(6))
        ),
        mixed(*(f'{{"level":"info","n":{n},"text":"' + "a word " * 10 + '"}' for n in range(6))),
        mixed(*["/usr/lib/python3/x.py:9: UserWarning: " + "w" * 60, "  warnings.warn("] * 4),
        mixed(*(f"ERROR 03-09 07:11:4{n} [core.py:70{n}] " + "x" * 60 for n in range(6))),
        mixed('  File "/' + "a" * 50 + '.py", line 10, in run_engine_core', "    run()") * 1
        + mixed('  File "/' + "b" * 50 + '.py", line 11, in run_engine_core', "    run()")
        + mixed('  File "/' + "c" * 50 + '.py", line 12, in run_engine_core', "    run()"),
        mixed("vllm-1  | RuntimeError: " + "x" * 80 + ".", "vllm-1  | bye", "vllm-1  | done"),
    ],
    ids=[
        "table",
        "JSON lines",
        "repeated warning",
        "log lines",
        "frames of one length",
        "one long line behind a carrier",
    ],
)
def test_what_is_not_wrapped_stays(log: str) -> None:
    """Lines of one length by nature or by chance keep to themselves."""
    assert len(list(unwrap(split_lines([log.encode()], "stdin")))) == len(log.splitlines())


@pytest.mark.parametrize("carrier", ["vllm-1  | ", "[pod/vllm-0/vllm] ", "> ", "2026-11-30T14:15:02.1Z "])
def test_wraps_behind_a_carrier_are_undone(carrier: str) -> None:
    """A viewer that wraps puts its envelope before every piece."""
    log = "".join(f"{carrier}{line}\n" for line in hard_wrapped(LOG, 100).splitlines())
    assert texts(log) == texts(LOG)


def test_indented_continuations_are_undone() -> None:
    """What is added before each continuation goes, also in the middle of a number."""
    pieces = [
        line[at : at + 96] if at else line[:100]
        for line in LOG.splitlines()
        for at in ([0, *range(100, len(line), 96)])
    ]
    log = "".join(piece + "\n" if piece.startswith("(") else f"    {piece}\n" for piece in pieces)
    assert texts(log) == texts(LOG)


def test_two_wraps_are_undone() -> None:
    """A form may wrap what a terminal had wrapped."""
    assert texts(hard_wrapped(hard_wrapped(LOG, 120), 80)) == texts(LOG)


def test_wide_characters_take_two_columns() -> None:
    """A terminal counts columns: a line of ideographs is full with fewer characters."""
    body = "".join(chr(0x4E00 + n) for n in range(150))
    lines = [f"ERROR 03-09 07:11:4{n} [core.py:7] {'x' * (2 * n)}{body}" for n in range(4)]
    pieces: list[str] = []
    for line in lines:
        piece, size = "", 0
        for character in line:
            width = 1 if character.isascii() else 2
            if size + width > 100:
                pieces.append(piece)
                piece, size = "", 0
            piece, size = piece + character, size + width
        pieces.append(piece)
    assert [f"{'x' * (2 * n)}{body}" for n in range(4)] == texts(mixed(*pieces))
