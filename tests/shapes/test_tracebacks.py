"""Tracebacks in every form that Python, its tools and pastes give them: the innermost message is the cause."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]


class Shape(NamedTuple):
    """A shape: its row, a log, the cause, captures, and the line (from 1) in which the message begins."""

    row: str
    text: str
    slug: str
    captures: dict[str, object] = {}  # noqa: RUF012
    line: int | None = None


SHAPES = [
    Shape(
        "A6 direct cause, three deep",
        """\
        Traceback (most recent call last):
          File "/srv/venv/vllm/model_executor/models/x.py", line 61, in load
            raise ValueError(f"GGUF model with architecture {architecture} is not supported yet.")
        ValueError: GGUF model with architecture falcon9 is not supported yet.

        The above exception was the direct cause of the following exception:

        Traceback (most recent call last):
          File "/srv/venv/vllm/executor.py", line 6, in start
            raise KeyError(name) from e
        KeyError: 'falcon9'

        During handling of the above exception, another exception occurred:

        Traceback (most recent call last):
          File "/srv/venv/vllm/engine.py", line 9, in boot
            raise RuntimeError("Engine could not boot")
        RuntimeError: Engine could not boot
        """,
        "gguf-architecture-not-supported",
        {"architecture": "falcon9"},
        4,
    ),
    Shape(
        "A6 exception groups, nested",
        """\
          + Exception Group Traceback (most recent call last):
          |   File "/srv/venv/starlette/_utils.py", line 76, in collapse_excgroups
          |     yield
          | ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)
          +-+---------------- 1 ----------------
            | Exception Group Traceback (most recent call last):
            |   File "/srv/venv/anyio/_backends/_asyncio.py", line 763, in __aexit__
            |     raise BaseExceptionGroup(
            | ExceptionGroup: inner tasks (2 sub-exceptions)
            +-+---------------- 1 ----------------
              | Traceback (most recent call last):
              |   File "/srv/venv/vllm/entrypoints/utils.py", line 71, in wrapper
              |     return handler_task.result()
              | ValueError: LoRA rank 96 is greater than max_lora_rank 32.
              +---------------- 2 ----------------
              | Traceback (most recent call last):
              |   File "/srv/venv/starlette/responses.py", line 9, in listen
              |     await receive()
              | RuntimeError: client went away
              +------------------------------------
        """,
        "lora-rank-above-maximum",
        {"lora_rank": 96, "max_lora_rank": 32},
        14,
    ),
    Shape(
        "A6 notes of add_note",
        """\
        Traceback (most recent call last):
          File "/srv/venv/vllm/lora/worker_manager.py", line 117, in _load_adapter
            peft_helper.validate_legal(self.lora_config)
        ValueError: LoRA rank 80 is greater than max_lora_rank 16.
        while loading adapter sql-lora
        and its second note: see the adapter's page
        """,
        "lora-rank-above-maximum",
        {"lora_rank": 80, "max_lora_rank": 16},
        4,
    ),
    Shape(
        "A4 remote frames behind a RayTaskError",
        """\
        (EngineCore_DP0 pid=6940) Traceback (most recent call last):
        (EngineCore_DP0 pid=6940)   File "/opt/ray/_private/worker.py", line 2858, in get
        (EngineCore_DP0 pid=6940)     raise value.as_instanceof_cause()
        (EngineCore_DP0 pid=6940) ray.exceptions.RayTaskError(ValueError): ray::RayWorkerWrapper.execute_method() (pid=7106, ip=192.0.2.7, actor_id=0a1b, repr=<vllm.executor.ray_utils.RayWorkerWrapper object at 0x7f00>)
        (EngineCore_DP0 pid=6940)   File "/opt/vllm/model_executor/layers/quantization/fp8.py", line 300, in create_weights
        (EngineCore_DP0 pid=6940)     raise ValueError(
        (EngineCore_DP0 pid=6940) ValueError: Weight input_size_per_partition = 1408 is not divisible by weight quantization block_k = 128.
        """,
        "weight-not-divisible-by-fp8-block",
        {"input_size_per_partition": 1408, "block_k": 128},
        7,
    ),
    Shape(
        "A4 an exception that RayTaskError cannot subclass",
        """\
        Traceback (most recent call last):
          File "/opt/verl/trainer/main.py", line 64, in run
            ray.get(runner.run.remote(config))
        ray.exceptions.RayTaskError: ray::TaskRunner.run() (pid=31, ip=192.0.2.9)
          File "/opt/vllm/engine/arg_utils.py", line 1421, in create_model_config
            return ModelConfig(
        pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig
          Value error, Invalid repository ID or local directory specified: '/models/kiwi'. [type=value_error, input_value=ArgsKwargs((), {'model': '/models/kiwi'}), input_type=ArgsKwargs]
            For further information visit https://errors.pydantic.dev/2.11/v/value_error
        2026-03-01 10:10:10,100\tERROR worker.py:430 -- User exception type <class 'pydantic_core._pydantic_core.ValidationError'> in RayTaskError can't be subclassed! This exception is raised as RayTaskError only.
        """,
        "model-config-not-found",
        {"model": "/models/kiwi"},
        8,
    ),
    Shape(
        "A4 a traceback as the message of another exception",
        """\
        Traceback (most recent call last):
          File "/opt/ray/serve/_private/deployment_state.py", line 694, in check_ready
            _, self._version = ray.get(self._ready_obj_ref)
        RuntimeError: Traceback (most recent call last):
          File "/opt/vllm/config.py", line 1502, in verify_with_parallel_config
            raise ValueError(
        ValueError: Total number of attention heads (14) must be divisible by tensor parallel size (4).
        """,
        "heads-not-divisible-by-tensor-parallel-size",
        {"total_num_attention_heads": 14, "tensor_parallel_size": 4},
        7,
    ),
    Shape(
        "A6 a subprocess's traceback inside a message",
        """\
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] Error in inspecting model architecture 'KiwiForCausalLM'
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] Traceback (most recent call last):
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]   File "/opt/vllm/model_executor/models/registry.py", line 861, in _run_in_subprocess
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]     returned.check_returncode()
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] subprocess.CalledProcessError: Command '['/usr/bin/python3', '-m', 'vllm.model_executor.models.registry']' returned non-zero exit status 1.
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] The above exception was the direct cause of the following exception:
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] Traceback (most recent call last):
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]   File "/opt/vllm/model_executor/models/registry.py", line 429, in _try_inspect_model_cls
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]     return model.inspect_model_cls()
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] RuntimeError: Error raised in subprocess:
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] /usr/lib/python3.12/runpy.py:128: RuntimeWarning: 'vllm.model_executor.models.registry' found in sys.modules
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]   warn(RuntimeWarning(msg))
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] Traceback (most recent call last):
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]   File "<frozen runpy>", line 198, in _run_module_as_main
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]   File "<frozen runpy>", line 88, in _run_code
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]   File "/opt/transformers/tokenization.py", line 12, in <module>
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410]     raise AttributeError(key)
        (APIServer pid=1) ERROR 08-08 11:12:13 [registry.py:410] AttributeError: KiwiTokenizer has no attribute all_special_tokens_extended
        """,
        "transformers-without-special-tokens-extended",
        {"tokenizer_class": "KiwiTokenizer"},
        20,
    ),
    Shape(
        "A6 frames without source",
        """\
        Traceback (most recent call last):
          File "<frozen runpy>", line 198, in _run_module_as_main
          File "<frozen runpy>", line 88, in _run_code
          File "<string>", line 1, in <module>
          File "uvloop/loop.pyx", line 1518, in uvloop.loop.Loop.run_until_complete
        OSError: Incorrect path_or_model_id: '/weights/kiwi'. Please provide either the path to a *local* folder or the repo_id of a model on the Hub.
        """,
        "model-path-not-found",
        {"path": "/weights/kiwi"},
        6,
    ),
    Shape(
        "A6 carets and elisions of Python 3.13",
        """\
        Traceback (most recent call last):
          File "/opt/vllm/config/model.py", line 9, in _get_and_verify_max_len
            raise ValueError(
            ...<3 lines>...
                )
          File "/opt/vllm/config/speculative.py", line 31, in verify
            self.check(a,
            ~~~~~~~~~~^^^
                       b)
                       ^^
        ValueError: rejection_sample_method='synthetic' requires exactly one of synthetic_acceptance_rates or synthetic_acceptance_length.
        """,
        "synthetic-acceptance-not-given",
        {},
        11,
    ),
    Shape(
        "B2 collapsed to one line",
        'Traceback (most recent call last): File "/opt/vllm/engine.py", line 12, in boot self.check(x) '
        'File "/opt/vllm/config.py", line 1502, in check raise ValueError( ValueError: LoRA rank 24 is greater than '
        "max_lora_rank 8.\n",
        "lora-rank-above-maximum",
        {"lora_rank": 24, "max_lora_rank": 8},
        1,
    ),
    Shape(
        "B2 a chain collapsed to one line",
        'Traceback (most recent call last): File "/opt/vllm/config.py", line 1502, in check raise ValueError( '
        "ValueError: LoRA rank 24 is greater than max_lora_rank 8. During handling of the above exception, another "
        'exception occurred: Traceback (most recent call last): File "/opt/vllm/engine.py", line 12, in boot '
        "raise RuntimeError(e) RuntimeError: the engine gave up\n",
        "lora-rank-above-maximum",
        {"lora_rank": 24, "max_lora_rank": 8},
        1,
    ),
    Shape(
        "B2 indentation lost",
        """\
        Traceback (most recent call last):
        File "/opt/vllm/engine/llm_engine.py", line 226, in __init__
        self._initialize_kv_caches()
        ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
        File "/opt/vllm/worker/worker.py", line 560, in raise_if_cache_size_invalid
        raise ValueError("No available memory for the cache blocks. "
        ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.
        """,
        "no-memory-for-cache-blocks",
        {},
        7,
    ),
    Shape(
        "B2 headline and traceback on one line",
        """\
        ERROR 03-19 07:27:53 [core.py:340] EngineCore hit an exception: Traceback (most recent call last):
        ERROR 03-19 07:27:53 [core.py:340]   File "/opt/vllm/v1/engine/core.py", line 332, in run_engine_core
        ERROR 03-19 07:27:53 [core.py:340]     engine_core = EngineCoreProc(*args, **kwargs)
        ERROR 03-19 07:27:53 [core.py:340] RuntimeError: No CUDA GPUs are available
        """,
        "no-cuda-gpus-visible",
        {},
        4,
    ),
    Shape(
        "A1 message before its own traceback",
        """\
        (VllmWorkerProcess pid=91) ERROR 01-05 10:00:00 multiproc_worker_utils.py:238] Exception in worker VllmWorkerProcess while processing method init_device: No CUDA GPUs are available, Traceback (most recent call last):
        (VllmWorkerProcess pid=91) ERROR 01-05 10:00:00 multiproc_worker_utils.py:238]   File "/opt/vllm/executor/multiproc_worker_utils.py", line 229, in _run_worker_process
        (VllmWorkerProcess pid=91) ERROR 01-05 10:00:00 multiproc_worker_utils.py:238]     output = executor(*args, **kwargs)
        (VllmWorkerProcess pid=91) ERROR 01-05 10:00:00 multiproc_worker_utils.py:238] RuntimeError: No CUDA GPUs are available
        """,
        "no-cuda-gpus-visible",
        {},
        4,
    ),
    Shape(
        "B2 native output inside a traceback",
        """\
        Traceback (most recent call last):
          File "/opt/vllm/engine/core.py", line 332, in run_engine_core
            engine_core = EngineCoreProc(*args, **kwargs)
        nanobind: leaked 3 instances!
         - leaked instance 0x7f1 of type "xgrammar.xgrammar_bindings.GrammarCompiler"
        nanobind: this is likely caused by a reference counting issue in the binding code.
        /usr/lib/python3.12/multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown
          warnings.warn('resource_tracker: There appear to be %d '
          File "/opt/vllm/lora/worker_manager.py", line 117, in load
            peft_helper.validate_legal(self.lora_config)
        ValueError: LoRA rank 48 is greater than max_lora_rank 8.
        """,
        "lora-rank-above-maximum",
        {"lora_rank": 48, "max_lora_rank": 8},
        11,
    ),
    Shape(
        "A6 a Java program's trace behind it",
        """\
        Traceback (most recent call last):
          File "/opt/djl_python/rolling_batch/vllm.py", line 41, in __init__
            self.engine = LLMEngine.from_engine_args(args)
        OSError: [Errno 30] Read-only file system: '/models/cache'
        ai.djl.engine.EngineException: Failed to initialize model: prediction failure
        \tat ai.djl.python.engine.PyModel.load(PyModel.java:212)
        \tat ai.djl.repository.zoo.BaseModelLoader.loadModel(BaseModelLoader.java:160)
        Caused by: java.util.concurrent.ExecutionException: worker process died
        \t... 4 more
        """,
        "model-cache-read-only",
        {"path": "/models/cache"},
        4,
    ),
    Shape(
        "A7 starts amid frames",
        """\
            return func(*args, **kwargs)
                   ^^^^^^^^^^^^^^^^^^^^^
          File "/opt/vllm/config.py", line 1502, in verify
            raise NotImplementedError(
        NotImplementedError: Concurrent Partial Prefill is not supported. We recommend to remove Concurrent Partial Prefill from your config.
        """,
        "partial-prefills-unsupported",
        {},
        5,
    ),
    Shape(
        "A7 exception line without a traceback",
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3 has a total capacity of "
        "23.50 GiB of which 1.25 GiB is free. Process 77 has 22.1 GiB memory in use.\n",
        "cuda-out-of-memory",
        {"gpu": "3"},
        1,
    ),
]


def check(report: Report, shape: Shape, text: str) -> None:
    """One root cause, with its captures, at its line; the evidence is input lines as they are."""
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [f.record.slug if f.record else f.message for f in roots] == [shape.slug]
    root = roots[0]
    assert {name: str(root.captures.get(name)) for name in shape.captures} == {
        name: str(value) for name, value in shape.captures.items()
    }
    lines = text.splitlines()
    assert root.evidence_line is not None
    assert root.evidence[0] == lines[root.evidence_line - 1]
    assert set(root.evidence) <= set(lines)
    if shape.line is not None:
        assert root.line == shape.line


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.row)
def test_cause_of_a_traceback(diagnose: Diagnose, shape: Shape) -> None:
    """Whatever drew the traceback, the cause, its values and its line come out."""
    text = dedent(shape.text)
    check(diagnose(text), shape, text)


def test_a_traceback_cut_before_its_exception_names_no_cause(diagnose: Diagnose) -> None:
    """Where the input ends amid frames, a source line that shows a message's literal is no message."""
    report = diagnose(
        dedent(
            """\
            Traceback (most recent call last):
              File "/opt/vllm/model_executor/model_loader/gguf.py", line 61, in load
                raise ValueError(f"GGUF model with architecture {architecture} is not supported yet.")
            """
        )
    )
    assert all(finding.record is None for finding in report.findings)
    assert report.status == "insufficient_evidence"
