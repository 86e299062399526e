"""One fault, many wordings: what releases 0.6 to 0.33 say at run time about the same thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]


class Wording(NamedTuple):
    """A wording: its row, the line of the log that holds it, the cause, and the values in it."""

    row: str
    line: str
    slug: str
    captures: dict[str, object] = {}  # noqa: RUF012


CONTEXT = "request-longer-than-context"
MEDIA = "too-many-media-items-in-request"
LOGPROBS = "logprobs-above-maximum"
PORT = "port-variable-is-service-address"

ROOTS = [
    Wording(
        "B5 context length: requested tokens in messages and completion",
        "ValueError: This model's maximum context length is 6144 tokens. However, you requested 7011 tokens (5987 in the "
        "messages, 1024 in the completion). Please reduce the length of the messages or completion.",
        CONTEXT,
        {"max_model_len": 6144, "requested_tokens": 7011, "prompt_tokens": 5987, "max_tokens": 1024},
    ),
    Wording(
        "B5 context length: requested tokens in the messages",
        "ValueError: This model's maximum context length is 6144 tokens. However, you requested 9000 tokens in the "
        "messages, Please reduce the length of the messages.",
        CONTEXT,
        {"max_model_len": 6144, "prompt_tokens": 9000},
    ),
    Wording(
        "B5 context length: max_tokens too large",
        "ValueError: 'max_tokens' or 'max_completion_tokens' is too large: 3000. This model's maximum context length is "
        "4096 tokens and your request has 1500 input tokens (3000 > 4096 - 1500).",
        CONTEXT,
        {"max_model_len": 4096, "max_tokens": 3000, "prompt_tokens": 1500},
    ),
    Wording(
        "B5 context length: a word lost in 0.10.2",
        "ValueError: This maximum context length is 2560 tokens. However, your request has 2833 input tokens. Please "
        "reduce the length of the input messages.",
        CONTEXT,
        {"max_model_len": 2560, "prompt_tokens": 2833},
    ),
    Wording(
        "B5 context length: the prompt contains at least so many",
        "vllm.exceptions.VLLMValidationError: This model's maximum context length is 8192 tokens. However, you requested "
        "256 output tokens and your prompt contains at least 7937 input tokens, for a total of at least 8193 tokens. "
        "Please reduce the length of the input prompt or the number of requested output tokens. "
        "(parameter=input_tokens, value=7937)",
        CONTEXT,
        {"max_model_len": 8192, "max_tokens": 256, "prompt_tokens": 7937, "total_tokens": 8193},
    ),
    Wording(
        "B5 context length: the prompt contains exactly so many",
        "vllm.exceptions.VLLMValidationError: This model's maximum context length is 8192 tokens. However, your prompt "
        "contains 9100 input tokens, which exceeds this limit even without any output tokens. Please reduce the length "
        "of the input prompt. (parameter=input_tokens, value=9100)",
        CONTEXT,
        {"max_model_len": 8192, "prompt_tokens": 9100},
    ),
    Wording(
        "B5 context length: the prompt contains characters",
        "vllm.exceptions.VLLMValidationError: This model's maximum context length is 8192 tokens. However, your prompt "
        "contains 990000 characters (more than 81920 characters, which is the upper bound for 8192 input tokens). "
        "Please reduce the length of the input prompt. (parameter=input_text, value=990000)",
        CONTEXT,
        {"max_model_len": 8192},
    ),
    Wording(
        "B5 context length: the decoder prompt",
        "ValueError: The decoder prompt (length 40961) is longer than the maximum model length of 40960. Make sure that "
        "`max_model_len` is no smaller than the number of text tokens.",
        CONTEXT,
        {"max_model_len": 40960, "prompt_tokens": 40961},
    ),
    Wording(
        "B5 context length: nothing left for the answer",
        "ValueError: max_tokens must be at least 1, got -1873.",
        CONTEXT,
        {"max_tokens": -1873},
    ),
    Wording(
        "B5 context length: the warning of the V0 scheduler",
        "WARNING 02-17 11:20:31 scheduler.py:947] Input prompt (33012 tokens) is too long and exceeds limit of 32768",
        CONTEXT,
        {"max_model_len": 32768, "prompt_tokens": 33012},
    ),
    Wording(
        "B5 image limit: in one request",
        "ValueError: At most 2 image(s) may be provided in one request.",
        MEDIA,
        {"limit": 2, "modality": "image"},
    ),
    Wording(
        "B5 image limit: in one request, with the hint",
        "ValueError: At most 3 video(s) may be provided in one request. You can set `--limit-mm-per-prompt` to increase "
        "this limit if the model supports it.",
        MEDIA,
        {"limit": 3, "modality": "video"},
    ),
    Wording(
        "B5 image limit: set or defaulted",
        "ValueError: You set image=1 (or defaulted to 1) in `--limit-mm-per-prompt`, but passed 5 image items in the "
        "same prompt.",
        MEDIA,
        {"limit": 1, "modality": "image", "items": 5},
    ),
    Wording(
        "B5 image limit: in one prompt",
        "ValueError: At most 4 audio(s) may be provided in one prompt.",
        MEDIA,
        {"limit": 4, "modality": "audio"},
    ),
    Wording(
        "B5 logprobs: cannot request more",
        "ValueError: Cannot request more than 5 logprobs.",
        LOGPROBS,
        {"max_logprobs": 5},
    ),
    Wording(
        "B5 logprobs: greater than allowed",
        "ValueError: Requested sample logprobs of 40, which is greater than max allowed: 20",
        LOGPROBS,
        {"num_logprobs": 40, "max_logprobs": 20},
    ),
    Wording(
        "B5 logprobs: the slip of 0.10.2",
        "ValueError: Requested prompt logprobs of 33, which is is greater than max allowed: 20",
        LOGPROBS,
        {"num_logprobs": 33, "max_logprobs": 20},
    ),
    Wording(
        "B5 VLLM_PORT: a URI where a number is wanted",
        "ValueError: invalid literal for int() with base 10: 'tcp://203.0.113.40:8000'",
        PORT,
    ),
    Wording(
        "B5 VLLM_PORT: appears to be a URI",
        "ValueError: VLLM_PORT 'tcp://203.0.113.41:8000' appears to be a URI. This may be caused by a Kubernetes service "
        "discovery issue,check the warning in: https://docs.vllm.ai/en/stable/serving/env_vars.html",
        PORT,
    ),
]

LATER = [
    Wording(
        "B5 engine dead: background loop", "AsyncEngineDeadError: Background loop has errored already.", "engine-dead"
    ),
    Wording("B5 engine dead: engine loop", "RuntimeError: Engine loop has died", "engine-dead"),
    Wording(
        "B5 engine dead: the V0 client",
        "CRITICAL 02-17 11:20:31 launcher.py:101] MQLLMEngine is already dead, terminating server process",
        "engine-dead",
    ),
    Wording(
        "B5 engine dead: the V1 client",
        "EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause.",
        "engine-dead",
    ),
    Wording(
        "B5 worker died: ended by its parent",
        "ERROR 02-17 11:20:31 multiproc_worker_utils.py:120] Worker VllmWorkerProcess pid 415 died, exit code: -15",
        "worker-killed-by-parent",
    ),
    Wording(
        "B5 shm_broadcast: a minute without a block",
        "INFO 02-17 11:20:31 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds. This "
        "typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation).",
        "broadcast-block-awaited",
        {"seconds": 60},
    ),
    Wording(
        "B5 shm_broadcast: the same with more in brackets",
        "INFO 02-17 11:20:31 [shm_broadcast.py:698] No available shared memory broadcast block found in 120 seconds. This "
        "typically happens when some processes are hanging or doing some time-consuming work (e.g. compilation, "
        "weight/kv cache quantization).",
        "broadcast-block-awaited",
        {"seconds": 120},
    ),
]

DIED = [
    Wording(
        "B5 worker died: without its code",
        "ERROR 02-17 11:20:31 [multiproc_executor.py:135] Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        "worker-process-died",
        {"worker": "VllmWorker-1"},
    ),
    Wording(
        "B5 worker died: with its code",
        "ERROR 02-17 11:20:31 [multiproc_executor.py:230] Worker proc VllmWorker-3 died unexpectedly (exit code: -9), "
        "shutting down executor.",
        "worker-process-died",
        {"worker": "VllmWorker-3", "exit_code": "-9"},
    ),
]

ERROR_BODIES = {
    "older": "{'object': 'error', 'message': %r, 'type': 'BadRequestError', 'param': None, 'code': 400}",
    "newer": "{'error': {'message': %r, 'type': 'BadRequestError', 'param': None, 'code': 400}}",
}


def raised(line: str) -> str:
    """A line as the end of a traceback, where it is an exception, else on its own."""
    if line.split(" ", 1)[0] in ("ERROR", "WARNING", "INFO", "CRITICAL"):
        return line + "\n"
    return f'Traceback (most recent call last):\n  File "/opt/serve/run.py", line 31, in answer\n    check()\n{line}\n'


@pytest.mark.parametrize("wording", [*ROOTS, *DIED], ids=lambda wording: wording.row)
def test_wording_names_its_cause(diagnose: Diagnose, wording: Wording) -> None:
    """Each release's wording leads to the same record, with the numbers of its own holes."""
    report = diagnose(raised(wording.line))
    (root,) = (finding for finding in report.findings if finding.role == "root_cause")
    assert root.record is not None
    assert root.record.slug == wording.slug
    assert {name: root.captures.get(name) for name in wording.captures} == wording.captures


@pytest.mark.parametrize("wording", LATER, ids=lambda wording: wording.row)
def test_wording_is_known_and_no_cause(diagnose: Diagnose, wording: Wording) -> None:
    """What only follows from a cause, or only warns, is recognised and never named as the cause."""
    report = diagnose(raised(wording.line), show_all=True)
    known = [finding for finding in report.findings if finding.record and finding.record.slug == wording.slug]
    assert len(known) == 1
    assert known[0].role != "root_cause"
    assert {name: known[0].captures.get(name) for name in wording.captures} == wording.captures
    assert report.status in ("healthy", "insufficient_evidence")


@pytest.mark.parametrize("shape", ERROR_BODIES)
@pytest.mark.parametrize("wording", ROOTS[:3], ids=lambda wording: wording.row)
def test_error_body_in_a_client_traceback(diagnose: Diagnose, wording: Wording, shape: str) -> None:
    """The message inside the error body that a client prints, in the older and the newer form, is the cause."""
    message = wording.line.split(": ", 1)[1]
    body = ERROR_BODIES[shape] % message
    report = diagnose(raised(f"openai.BadRequestError: Error code: 400 - {body}"))
    (root,) = (finding for finding in report.findings if finding.role == "root_cause")
    assert root.record is not None
    assert root.record.slug == wording.slug
    assert {name: root.captures.get(name) for name in wording.captures} == wording.captures


@pytest.mark.parametrize("wording", [row for row in ROOTS if row.slug == LOGPROBS], ids=lambda wording: wording.row)
def test_the_wording_of_another_number_is_another_value(diagnose: Diagnose, wording: Wording) -> None:
    """The numbers are read from the line, not from the record."""
    limit = wording.captures["max_logprobs"]
    line = wording.line.replace(str(limit), "77")
    (root,) = (finding for finding in diagnose(raised(line)).findings if finding.role == "root_cause")
    assert root.captures["max_logprobs"] == 77
