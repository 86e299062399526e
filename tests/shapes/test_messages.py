"""Messages as they are printed: wrapped by pydantic, as tuples, quoted, relayed, or with their point at the end."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]


class Shape(NamedTuple):
    """A shape: its row, a log, the cause, its captures."""

    row: str
    text: str
    slug: str
    captures: dict[str, object] = {}  # noqa: RUF012


HEAD = """Traceback (most recent call last):
  File "/opt/vllm/engine/arg_utils.py", line 1421, in create_model_config
    return ModelConfig(
"""

SHAPES = [
    Shape(
        "C6 pydantic, value error",
        HEAD
        + "pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig\n"
        + "  Value error, max_num_batched_tokens (32) must be greater than or equal to max_num_seqs (48). "
        + "[type=value_error, input_value=ArgsKwargs((), {'runner_t...n': False}), input_type=ArgsKwargs]\n"
        + "    For further information visit https://errors.pydantic.dev/2.12/v/value_error\n",
        "batched-tokens-below-num-seqs",
        {"max_num_batched_tokens": 32, "max_num_seqs": 48},
    ),
    Shape(
        "C6 pydantic, assertion",
        HEAD
        + "pydantic_core._pydantic_core.ValidationError: 1 validation error for ParallelConfig\n"
        + '  Assertion failed, assert "factor" in rope_scaling [type=assertion_error, input_value=ArgsKwargs(()), '
        + "input_type=ArgsKwargs]\n",
        "rope-scaling-without-factor",
    ),
    Shape(
        "C6 pydantic, several errors",
        HEAD
        + "pydantic_core._pydantic_core.ValidationError: 2 validation errors for EngineArgs\n"
        + "max_num_seqs\n  Input should be a valid integer, unable to parse string as an integer "
        + "[type=int_parsing, input_value='many', input_type=str]\n"
        + "    For further information visit https://errors.pydantic.dev/2.12/v/int_parsing\n"
        + "lora\n  Value error, LoRA rank 72 is greater than max_lora_rank 64. [type=value_error, input_value={}, "
        + "input_type=dict]\n    For further information visit https://errors.pydantic.dev/2.12/v/value_error\n",
        "lora-rank-above-maximum",
        {"lora_rank": 72},
    ),
    Shape(
        "C6 pydantic, tail cut",
        HEAD
        + "pydantic_core._pydantic_core.ValidationError: 1 validation error for SchedulerConfig\n"
        + "  Value error, max_num_batched_tokens (33) must be greater than or equal to max_num_seqs (49). [type=val\n",
        "batched-tokens-below-num-seqs",
        {"max_num_batched_tokens": 33, "max_num_seqs": 49},
    ),
    Shape(
        "C6 pydantic, several lines",
        HEAD
        + "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig\n"
        + "  Value error, Invalid repository ID or local directory specified: '/models/pear'.\n"
        + "Please verify the following requirements:\n1. Provide a valid Hugging Face repository ID.\n"
        + "2. Specify a local directory that contains a recognized configuration file.\n"
        + "   - For Hugging Face models: ensure the presence of a 'config.json'.\n"
        + "   - For Mistral models: ensure the presence of a 'params.json'.\n"
        + " [type=value_error, input_value=ArgsKwargs((), {'model': '/models/pear'}), input_type=ArgsKwargs]\n",
        "model-config-not-found",
        {"model": "/models/pear"},
    ),
    Shape(
        "C6 pydantic 1",
        HEAD
        + "pydantic.error_wrappers.ValidationError: 1 validation error for SchedulerConfig\n"
        + "__root__\n  max_num_batched_tokens (34) must be greater than or equal to max_num_seqs (50). "
        + "(type=value_error)\n",
        "batched-tokens-below-num-seqs",
        {"max_num_batched_tokens": 34, "max_num_seqs": 50},
    ),
    Shape(
        "A2 tuple form, filled in",
        "RuntimeError: ('Worker failed with error %s, please check the stack trace above for the root cause', "
        "'CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total capacity of 39.39 GiB of which 2.00 GiB "
        "is free. Process 9 has 37.00 GiB memory in use.')\n",
        "cuda-out-of-memory",
        {"gpu": "1", "tried_to_allocate": "3.00 GiB"},
    ),
    Shape(
        "C8 tuple form, joined",
        HEAD
        + "ValueError: ('The quantization method gptq is not supported for ', 'the current GPU. Minimum capability: "
        + "60. ', 'Current capability: 52.')\n",
        "quantization-needs-newer-gpu",
        {"quantization": "gptq", "min_capability": 60, "current_capability": 52},
    ),
    Shape(
        "C8 a KeyError's quotes",
        HEAD + "KeyError: 'LoRA rank 18 is greater than max_lora_rank 8.'\n",
        "lora-rank-above-maximum",
        {"lora_rank": 18, "max_lora_rank": 8},
    ),
    Shape(
        "C8 HTTPException",
        HEAD + "fastapi.exceptions.HTTPException: 400: At most 2 image(s) may be provided in one prompt.\n",
        "too-many-media-items-in-request",
        {"limit": 2, "modality": "image"},
    ),
    Shape(
        "C7 parameter and value behind the message",
        HEAD
        + "vllm.exceptions.VLLMValidationError: At most 3 video(s) may be provided in one prompt. Set "
        + "`--limit-mm-per-prompt` to increase this limit. (parameter=messages, value=7)\n",
        "too-many-media-items-in-request",
        {"limit": 3, "modality": "video"},
    ),
    Shape(
        "C8 a logger call that failed",
        """\
        --- Logging error ---
        Traceback (most recent call last):
          File "/usr/lib/python3.12/logging/__init__.py", line 1160, in emit
            msg = self.format(record)
          File "/usr/lib/python3.12/logging/__init__.py", line 392, in getMessage
            msg = msg % self.args
        TypeError: not all arguments converted during string formatting
        Call stack:
          File "/opt/vllm/v1/engine/core.py", line 332, in run_engine_core
            logger.error("EngineCore hit an exception: LoRA rank %s", e)
        Message: 'Could not load: LoRA rank %d is greater than max_lora_rank %d.'
        Arguments: (28, 16)
        """,
        "lora-rank-above-maximum",
        {"lora_rank": 28, "max_lora_rank": 16},
    ),
    Shape(
        "A6 an empty first line and an indented block",
        HEAD + "RuntimeError: \n        The NVIDIA driver on your system is too old (found version 11040). Please "
        "update your GPU driver\n        by downloading and installing a new version from the URL: "
        "http://www.nvidia.com/Download/index.aspx\n        Alternatively, go to: https://pytorch.org to install a "
        "PyTorch version that has been compiled with your version of the CUDA driver.\n",
        "cuda-driver-too-old",
        {"found_version": 11040},
    ),
    Shape(
        "A6 a blank line in the message",
        HEAD + "OSError: pear is not a local folder and is not a valid model identifier listed on "
        "'https://huggingface.co/models'\n\nIf this is a private repository, make sure to pass a token having "
        "permission to this repo either by logging in with `hf auth login` or by passing `token=<your_token>`\n",
        "hub-repository-not-found",
        {"model": "pear"},
    ),
    Shape(
        "B2 the useful part last",
        HEAD
        + "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:328, "
        + "invalid usage (run with NCCL_DEBUG=WARN for details), NCCL version 2.21.5\n"
        + "ncclInvalidUsage: This usually reflects invalid usage of NCCL library.\nLast error:\n"
        + "Duplicate GPU detected : rank 2 and rank 0 both on CUDA device 5000\n",
        "two-ranks-on-one-gpu",
        {"rank_a": 2, "rank_b": 0, "device": "5000"},
    ),
    Shape(
        "C9 two messages in one line",
        "(APIServer pid=1) ERROR 08-08 11:12:13 [serving.py:88] Call to add_lora method failed: LoRA rank 21 is "
        "greater than max_lora_rank 16.\n",
        "lora-rank-above-maximum",
        {"lora_rank": 21, "max_lora_rank": 16},
    ),
    Shape(
        "B2 repr first, then its traceback",
        """\
        ERROR 12-19 01:10:59 engine.py:157] ValueError('Attempted to assign 12 + 9 = 21 multimodal tokens to 20 placeholders')
        ERROR 12-19 01:10:59 engine.py:157] Traceback (most recent call last):
        ERROR 12-19 01:10:59 engine.py:157]   File "/opt/vllm/model_executor/models/utils.py", line 400, in merge
        ERROR 12-19 01:10:59 engine.py:157]     raise ValueError(
        ERROR 12-19 01:10:59 engine.py:157] ValueError: Attempted to assign 12 + 9 = 21 multimodal tokens to 20 placeholders
        """,
        "media-placeholders-split",
        {"multimodal_tokens_sum": 21, "placeholders": 20},
    ),
    Shape(
        "B2 repr with escapes",
        "ERROR 12-19 01:10:59 engine.py:157] ValueError(\"Unknown attention backend: \\'TURBO\\'. Valid options are: "
        'FLASH_ATTN, \\"XFORMERS\\"")\n',
        "unknown-attention-backend",
        {"backend": "TURBO"},
    ),
    Shape(
        "B2 a relay whose text has quotes",
        "(EngineCore_DP0 pid=4) ERROR 11-11 10:00:00 [core.py:710] RuntimeError: Worker failed with error 'Unknown "
        "attention backend: 'NEON'. Valid options are: FLASH_ATTN', please check the stack trace above for the root "
        "cause\n",
        "unknown-attention-backend",
        {"backend": "NEON"},
    ),
    Shape(
        "A6 argparse, program of its own name",
        "usage: api_server.py [-h] [--host HOST] [--port PORT]\n                     [--max-num-seqs N]\n"
        "api_server.py: error: unrecognized arguments: --enable-turbo\n",
        "unrecognized-arguments",
        {"unrecognized": "--enable-turbo"},
    ),
    Shape(
        "A6 argparse, a subcommand",
        "usage: vllm serve [model_tag] [options]\nvllm serve: error: argument --max-lora-rank: invalid choice: 96 "
        "(choose from 8, 16, 32)\n",
        "max-lora-rank-not-allowed",
        {"choice": 96},
    ),
    Shape(
        "A6 a container runtime's line",
        "docker: Error response from daemon: failed to create task for container: OCI runtime create failed: "
        "runc create failed: nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.9, please "
        "update your driver to a newer version, or use an earlier cuda container: unknown.\n",
        "container-needs-newer-driver",
        {"required_cuda": "12.9"},
    ),
    Shape(
        "A7 only the message in a sentence",
        "on our cluster it says LoRA rank 40 is greater than max_lora_rank 16. what now?\n",
        "lora-rank-above-maximum",
        {"lora_rank": 40, "max_lora_rank": 16},
    ),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.row)
def test_cause_of_a_message(diagnose: Diagnose, shape: Shape) -> None:
    """Whatever wraps a message, its cause and values come out, once, and the evidence is input as it is."""
    text = dedent(shape.text)
    report = diagnose(text)
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [f.record.slug if f.record else f.message for f in roots] == [shape.slug]
    assert {name: str(roots[0].captures.get(name)) for name in shape.captures} == {
        name: str(value) for name, value in shape.captures.items()
    }
    assert roots[0].count == 1
    assert set(roots[0].evidence) <= set(text.splitlines())


def test_a_usage_error_that_no_record_knows_is_shown(diagnose: Diagnose) -> None:
    """argparse's own wording is given as it is."""
    report = diagnose(
        "usage: api_server.py [-h]\napi_server.py: error: argument --kiwi: not allowed with argument --pear\n"
    )
    (finding,) = report.findings
    assert report.status == "unknown_failure"
    assert finding.message == "api_server.py: error: argument --kiwi: not allowed with argument --pear"


@pytest.mark.parametrize(
    ("printed", "message"),
    [
        ("RuntimeError: ('kiwi store is ', 'full: 3 of 3')", "kiwi store is full: 3 of 3"),
        ("KeyError: 'kiwi.weight'", "'kiwi.weight'"),
    ],
)
def test_message_that_no_record_knows(diagnose: Diagnose, printed: str, message: str) -> None:
    """A tuple is joined to the sentence that it was meant to be; a KeyError keeps its quotes, as it was printed."""
    (finding,) = diagnose(f"{HEAD}{printed}\n").findings
    assert finding.message == message
