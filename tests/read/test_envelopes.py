"""Envelopes come off, in any nesting, and what they said is kept."""

from __future__ import annotations

import pytest

from triage.model import Line, Record
from triage.read import to_record
from triage.read.prefixes import PREFIXES

ALL = [(prefix.name, example) for prefix in PREFIXES for example in prefix.examples]
EXAMPLES = [(name, example) for name, example in ALL if "TEXT" in example]
MARKED = [(name, example) for name, example in ALL if "TEXT" not in example]
OWN_BLANKS = ("uvicorn", "xinference, KServe and other Python loggers", "Python's basicConfig")
TEXTS = [
    "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).",
    '  File "/usr/lib/python3.12/site-packages/vllm/config/scheduler.py", line 264, in verify_max_model_len',
    "    | Traceback (most recent call last):",
    "    raise ValueError(",
    "Traceback (most recent call last):",
    "TypeError: f() missing 1 required positional argument: 'x'",
    "0: foo",
    "12: the twelfth shard is missing",
    "1 validation error for ModelConfig",
    "  Value error, INFO: something else [type=value_error, input_value=ArgsKwargs(()), input_type=ArgsKwargs]",
    "RuntimeError: the child said INFO: something",
    "RuntimeError: ERROR 11-30 14:15:02 [core.py:12] is how its lines begin",
    "{'model': 'Qwen/Qwen3-8B', 'max_num_seqs': 256}",
    '{"model": "Qwen/Qwen3-8B", "messages": [{"role": "user", "content": "hi"}]}',
    '{"id": "cmpl-1", "object": "text_completion", "choices": [{"text": "Traceback"}]}',
    '{"text": "an answer", "index": 0}',
    "args:",
    "  - --max-num-seqs=256",
    "- name: vllm",
    "image: vllm/vllm-openai:v0.11.0",
    "key: |",
    "| a | b |",
    "| NVIDIA-SMI 550.54.15    Driver Version: 550.54.15    CUDA Version: 12.4 |",
    "|=========================================+======================|",
    "|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |",
    "+-----------------------------------------+----------------------+",
    "Mon Nov 30 14:15:02 2026       ",
    "x: int | None",
    "def f(x: int | None = None) -> str | int:",
    "    x: dict[str, int] | None = None",
    "max_num_seqs: int | None",
    "a | b",
    "cat log.txt | grep ERROR",
    "the option level=debug gives more",
    "level=3 is the highest optimisation level",
    "--compilation-config level=3",
    "time=0.12 s, tokens=12",
    "msg = f'{x}'",
    "#include <cuda.h>",
    "# 7.914 is the version",
    "[1, 2, 3]",
    "[0] first device",
    "[error] nothing here",
    "[rank 0] not torch's",
    "(a) the first (b) the second",
    "(most recent call last)",
    "(64) must be greater than or equal to max_num_seqs (256).",
    "process with pid=41 died",
    "Worker proc VllmWorker-1 died unexpectedly (exit code: 1)",
    "Process EngineCore_DP0:",
    "INFO: one blank only",
    "error: unrecognized arguments: --foo",
    "vllm: error: argument --max-num-seqs: invalid int value: 'x'",
    "Loading safetensors checkpoint shards:  50% Completed | 2/4 [00:01<00:01,  1.61it/s]",
    "Capturing CUDA graphs:  10%|#         | 1/11 [00:00<00:03]",
    "vllm-1 exited with code 1 (restarting)",
    "==> /var/log/a.log <==",
    "2 GPUs were found",
    "2024 was a good year",
    "1764512102 is a number",
    "E   ValueError: boom",
    "I am here",
    "W: no such thing",
    "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    "NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 7000",
    "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "http://127.0.0.1:8000/v1",
    "a.b.c:12:34: note",
    "KeyError: 'level'",
    '"quoted"',
    "...<6 lines>...",
    "~~~~^^^^",
    "During handling of the above exception, another exception occurred:",
]


def record(text: str) -> Record:
    return to_record((Line("stdin", 1, 0, text),))


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_each_envelope_comes_off_whole(name: str, example: str) -> None:
    """Of each known envelope's example only the text is left."""
    assert record(example).text == "TEXT"


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_each_envelope_keeps_indentation(name: str, example: str) -> None:
    """The blanks that a traceback starts its lines with survive, whatever stands before them."""
    if name in OWN_BLANKS or example == "[rank1]:TEXT":
        pytest.skip("its own blanks cannot be told from the text's")
    assert record(example.replace("TEXT", '  File "x.py", line 1, in f')).text == '  File "x.py", line 1, in f'


@pytest.mark.parametrize(("name", "example"), MARKED)
def test_a_librarys_mark_stays(name: str, example: str) -> None:
    """What tells a library's message from others stays with it; its process is taken from what is before."""
    got = record(example)
    assert got.text.startswith(("NCCL WARN ", "|CCL_ERROR| "))
    assert example.endswith(got.text)
    assert got.pid in (312, 1322)


@pytest.mark.parametrize(("name", "example"), ALL)
def test_an_example_shows_its_row(name: str, example: str) -> None:
    """Each row's pattern takes its own example's beginning."""
    pattern = next(prefix.pattern for prefix in PREFIXES if prefix.name == name and example in prefix.examples)
    assert any((found := pattern.search(example, at)) and found.end() > at for at in range(len(example)))


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


@pytest.mark.parametrize(("outer_name", "outer"), EXAMPLES[::3])
@pytest.mark.parametrize(("middle_name", "middle"), EXAMPLES[1::4])
def test_envelopes_nest_in_any_order(outer_name: str, outer: str, middle_name: str, middle: str) -> None:
    """Any two around vLLM's own come off; behind a logger's own prefix only vLLM's may follow."""
    ends = next(p for p in PREFIXES if p.name == outer_name).ends
    if (ends or record(outer).logger_file) and not next(p for p in PREFIXES if p.name == middle_name).inner:
        pytest.skip("what a logger says is its text")
    inner = "(EngineCore_DP0 pid=41) ERROR 11-30 14:15:02 [core.py:12] TEXT"
    assert record(outer.replace("TEXT", middle.replace("TEXT", inner))).text == "TEXT"


def test_twelve_deep() -> None:
    """Twelve envelopes, one inside the other, come off."""
    text = (
        "> │ llm-1  | 2026-11-30T14:15:02Z [pod/vllm-0/vllm] May 20 14:20:23 host vllm[32308]: "
        "2024-04-27 10:13:05 | ERROR | stderr | (APIServer pid=1) (EngineCore pid=2) (Worker_TP1 pid=3) [rank1]: "
        "ERROR 11-30 14:15:02 [core.py:12] TEXT"
    )
    got = record(text)
    assert (got.text, got.pod, got.pid, got.rank, got.level) == ("TEXT", "vllm-0", 3, 1, "ERROR")


@pytest.mark.parametrize(
    "text",
    [
        "ab12cd34ef56gh[error]",
        "2024-04-27 10:13:05 | ERROR | stderr | ",
        "2026-06-09 14:01:52.982 [Error] (Process) ",
        "ERROR 2025-11-19T20:16:36Z ",
        "2026-11-30T14:15:02.1234567Z ##[error]",
        "2025-06-19T11:30:14+08:00 - gpustack.worker.backends.vllm - INFO - ",
        "2024-02-20T18:03:18.581+07:00\t[WARN ] PyProcess - W-167-model-stderr: ",
    ],
)
def test_a_relays_level_is_none_of_the_line(text: str) -> None:
    """A relay's level speaks of the channel: a progress bar on standard error is no error."""
    assert record(text + "Loading weights:  50%").level is None
    assert record(text + "INFO 11-30 14:15:02 [core.py:12] TEXT").level == "INFO"


@pytest.mark.parametrize("text", TEXTS)
def test_text_is_no_envelope(text: str) -> None:
    """Lines of a plain traceback, of sources, tables, configurations and prose stay as they are."""
    assert record(text).text == text


@pytest.mark.parametrize("text", TEXTS)
def test_a_loggers_text_is_no_envelope(text: str) -> None:
    """What stands behind vLLM's own prefix stays, too."""
    assert record(f"(APIServer pid=1) INFO 11-30 14:15:02 [core.py:12] {text}").text == text


@pytest.mark.parametrize(
    "text",
    [
        "llm-1  | table of services",
        "2026-11-30T14:15:02Z is when it began",
        "> quoted",
        "#12 7.914 steps",
        '{"message": "hello", "level": "error"}',
        'level=info msg="x"',
        "[2025-03-28 14:41:40] [ERROR] x",
        "STDERR: x",
    ],
)
def test_what_a_logger_says_is_its_text(text: str) -> None:
    """A message may begin like an envelope: behind vLLM's own prefix it is none."""
    if text[0] == "{" or "msg=" in text:
        pytest.skip("wrapped whole")
    assert record(f"INFO 11-30 14:15:02 [core.py:12] {text}").text == text


def test_colour_codes_that_lost_their_escape_come_off() -> None:
    """A paste that lost the ESC bytes still reads; a range in brackets is no colour code."""
    assert record("[36m(RayWorkerWrapper pid=1)[0m rate(x[5m])").text == "rate(x[5m])"
