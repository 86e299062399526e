"""Texts that look like errors and are none: prompts, answers, dumps of arguments, configuration and scheduler."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]

_LOG = Path(__file__).parents[2] / "samples" / "healthy" / "0.32.0-serve" / "input.log"
_LINES = _LOG.read_text(encoding="utf-8").splitlines(keepends=True)
UP = "".join(_LINES[: 1 + next(n for n, line in enumerate(_LINES) if "Application startup complete" in line)])
SERVED = '(APIServer pid=28168) INFO:     192.0.2.9:1 - "POST /v1/chat/completions HTTP/1.1" 200 OK\n'
SAID = "max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256)."
TRACEBACK = (
    'Traceback (most recent call last):\n  File "/x/vllm/config/scheduler.py", line 329, in verify\n'
    f"    raise ValueError(\nValueError: {SAID}"
)
ESCAPED = TRACEBACK.replace("\n", "\\n")
INFO = "(APIServer pid=28168) INFO 11-30 16:40:00 "
DEBUG = "(APIServer pid=28168) DEBUG 11-30 16:40:00 "
ERROR = "(EngineCore pid=28809) ERROR 11-30 16:40:00 "


def wrapped(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.split("\n"))


REQUEST = f"{INFO}[logger.py:40] Received request cmpl-1: prompt: 'why\n{TRACEBACK}\n', params: SamplingParams(n=1)"
TEXTS = {
    "a prompt of several lines": f"{REQUEST}\n",
    "a prompt in double quotes": f'{INFO}[logger.py:40] Received request cmpl-1: prompt: "it\'s\n{TRACEBACK}\n", params: X(n=1)\n',
    "a prompt, escaped": f"{INFO}[logger.py:40] Received request cmpl-1: prompt: '<|user|>\\n{ESCAPED}<|end|>', params: X(n=1)\n",
    "a prompt, logged by 0.6": f"INFO 11-30 16:40:00 async_llm_engine.py:206] Received request cmpl-1: prompt: 'why\n{TRACEBACK}', params: X(n=1)\n",
    "a prompt behind compose": wrapped("vllm-1  | ", REQUEST),
    "a prompt behind journald": wrapped("Nov 30 14:15:02 host vllm[4242]: ", REQUEST),
    "a prompt in JSON lines": json.dumps({"level": "INFO", "message": f"Received request 1: prompt: 'x\n{TRACEBACK}'"})
    + "\n",
    "an answer": f"{INFO}[logger.py:50] Generated response cmpl-1: output: '{TRACEBACK}', output_token_ids: [1], finish_reason: stop\n",
    "an answer as it streams": f"{INFO}[logger.py:50] Generated response cmpl-1 (streaming delta): output: '{SAID}', finish_reason: None\n",
    "a request's body": f"{DEBUG}[serving.py:9] Request body: {{'messages': [{{'role': 'user', 'content': '{TRACEBACK}'}}]}}\n",
    "the scheduler's dump": f"{ERROR}[dump_input.py:76] Dumping scheduler output for model execution: SchedulerOutput(prompt='{ESCAPED}')\n",
    "the scheduler's dump, not escaped": f"{ERROR}[dump_input.py:69] Dumping input data for V1 LLM engine (v0.11.0) with config: prompt='{TRACEBACK}'\n",
    "arguments": f"{INFO}[utils.py:253] non-default args: {{'model_tag': 'x', 'chat_template': '{SAID}'}}\n",
    "a namespace": f"{INFO}[api_server.py:20] args: Namespace(host=None, max_num_seqs=256, system_prompt='ValueError: {SAID}')\n",
    "the engine's configuration": f"{INFO}[core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='CUDA out of memory'\n",
    "supported architectures": f"{INFO}[registry.py:1] Supported architectures: dict_keys(['CUDA error: out of memory'])\n",
    "an access line": '(APIServer pid=1) INFO:     192.0.2.9:500 - "GET /v1/models?x=ValueError:+CUDA+out+of+memory HTTP/1.1" 200 OK\n',
    "an offline example": f"Prompt: 'Explain: ValueError: {SAID}', Generated text: ' It means {SAID}'\n",
    "an offline example, on two lines": f"Prompt:    'Explain this'\nOutput:    'ValueError: {SAID}'\n",
    "a manifest": "args:\n  - --max-num-seqs=256\n  - --max-num-batched-tokens=64\n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("place", ["amid requests", "at the end", "alone"])
def test_quoted_text_is_no_failure(diagnose: Diagnose, name: str, place: str) -> None:
    """Whatever stands in it, between served requests, last in the log, or with nothing else around."""
    around = {"amid requests": (UP + SERVED, SERVED), "at the end": (UP + SERVED, ""), "alone": ("", "")}
    before, after = around[place]
    report = diagnose(before + TEXTS[name] + after, show_all=True)
    assert [finding.message for finding in report.findings if finding.role == "root_cause" and finding.record] == []
    if before:
        died = "dump" in name and not after  # the dump says that a step failed, not why
        assert report.status == ("insufficient_evidence" if died else "healthy")


def test_failure_behind_a_quotation_is_seen(diagnose: Diagnose) -> None:
    """The quotation ends where the process goes on: an error behind it counts, at once or in the next lines."""
    failure = wrapped("(EngineCore pid=28809) ", TRACEBACK)
    for text in (REQUEST, f"{ERROR}[x.py:1] Request failed, prompt: 'what is\nit', see below"):
        report = diagnose(f"{UP}{text}\n{failure}")
        assert [f.record.slug for f in report.findings if f.record] == ["batched-tokens-below-num-seqs"]


def test_error_that_quotes_a_prompt_keeps_its_own_words(diagnose: Diagnose) -> None:
    """Only the quotation goes: what the server says around it is reported."""
    (finding,) = diagnose(f"{UP}{ERROR}[x.py:1] Cannot digest prompt: '{SAID}', it is odd\n").findings
    assert finding.message.startswith("Cannot digest prompt")
    assert finding.record is None
    assert SAID in finding.evidence[0]
