"""One start-up failure in all the words that releases, libraries and pastes give it: same cause, same numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from triage.model import Finding, Report

Diagnose = Callable[..., Report]

ENGINE = "(EngineCore_DP0 pid=6880) ERROR 09-21 05:44:31 [core.py:843] "
FRAMES = (
    'File "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py", line 834, in run_engine_core',
    "  engine_core = EngineCoreProc(*args, **kwargs)",
)

NEEDS = "KV cache is needed, which is larger than the available KV cache memory"
TRY_KV = "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine."
DOCS = "See https://docs.vllm.ai/en/latest/configuration/conserving_memory/ for more details."
NO_ROOM = (
    "No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine"
)
LESS = "on startup is less than desired GPU memory utilization"
FREE_IT = "Decrease GPU memory utilization or reduce GPU memory used by other processes."
OOM = "CUDA out of memory. Tried to allocate"
BF16 = "Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your"
HALF = "flag in CLI, for example: --dtype=half."
SCHEME = "Quantization scheme is not supported for the current GPU."
DERIVED = "is greater than the derived max_model_len"
MAY = "This may lead to incorrect model outputs or CUDA errors."
COUNT = (
    "RuntimeError: Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error? Error"
)
GATED = (
    "Cannot access gated repo for url https://huggingface.co/acme/guarded-9b/resolve/main/config.json.\nAccess to model"
)


class Wording(NamedTuple):
    """A wording: its row, the exception as the engine logs it, the cause, and captures that it must give."""

    row: str
    error: str
    slug: str
    captures: Mapping[str, object] = {}


KV = "kv-cache-smaller-than-one-request"
ROOM = "no-memory-for-cache-blocks"
FREE = "free-gpu-memory-below-utilization"
MEMORY = "cuda-out-of-memory"
BFLOAT = "bfloat16-needs-newer-gpu"
LENGTH = "max-model-len-above-derived"

WORDINGS = [
    Wording(
        "A8 KV too small, V0, tokens",
        "ValueError: The model's max seq len (40960) is larger than the maximum number of tokens that can be stored in "
        f"KV cache (13040). {TRY_KV}",
        KV,
        {"max_seq_len": 40960, "kv_cache_tokens": 13040},
    ),
    Wording(
        "A8 KV too small, V1, models's, unbalanced, 24.00",
        f"ValueError: To serve at least one request with the models's max seq len (98304), (24.00 GiB {NEEDS} "
        f"(7.15 GiB). Based on the available memory, the estimated maximum model length is 29280. {TRY_KV}",
        KV,
        {"max_seq_len": 98304, "kv_needed_gib": 24.0, "kv_available_gib": 7.15, "estimated_max_model_len": 29280},
    ),
    Wording(
        "A8 KV too small, V1, model's, documentation URL, 4.0",
        f"ValueError: To serve at least one request with the model's max seq len (65536), (12.0 GiB {NEEDS} "
        f"(4.0 GiB). Based on the available memory, the estimated maximum model length is 21840. {TRY_KV} {DOCS}",
        KV,
        {"max_seq_len": 65536, "kv_needed_gib": 12.0, "kv_available_gib": 4.0, "estimated_max_model_len": 21840},
    ),
    Wording(
        "A8 KV too small, V1, no estimate",
        f"ValueError: To serve at least one request with the models's max seq len (32768), (5.25 GiB {NEEDS} "
        f"(3.9 GiB). {TRY_KV}",
        KV,
        {"max_seq_len": 32768, "kv_needed_gib": 5.25, "kv_available_gib": 3.9},
    ),
    Wording(
        "A8 KV too small, the stray parenthesis mended",
        f"ValueError: To serve at least one request with the models's max seq len (16384), 2.5 GiB {NEEDS} "
        f"(1.75 GiB). {TRY_KV}",
        KV,
        {"max_seq_len": 16384, "kv_needed_gib": 2.5, "kv_available_gib": 1.75},
    ),
    Wording("A8 no room, short", f"ValueError: {NO_ROOM}.", ROOM),
    Wording(
        "A8 no room, 2026",
        f"ValueError: {NO_ROOM} (this flag also controls CPU memory reservation on the CPU backend, despite its name). "
        f"{DOCS}",
        ROOM,
    ),
    Wording(
        "A8 free memory, no device",
        f"ValueError: Free memory on device (11.21/15.77 GiB) {LESS} (0.9, 14.19 GiB). {FREE_IT}",
        FREE,
        {"free_gib": 11.21, "total_gib": 15.77, "gpu_memory_utilization": 0.9, "requested_gib": 14.19},
    ),
    Wording(
        "A8 free memory, cuda:0",
        f"ValueError: Free memory on device cuda:3 (70.02/79.25 GiB) {LESS} (0.95, 75.29 GiB). {FREE_IT}",
        FREE,
        {"device": "cuda:3", "free_gib": 70.02, "total_gib": 79.25, "requested_gib": 75.29},
    ),
    Wording(
        "A8 OOM, torch.OutOfMemoryError, another process",
        f"torch.OutOfMemoryError: {OOM} 270.00 MiB. GPU 0 has a total capacity of 15.77 GiB of which 97.38 MiB is "
        "free. Process 811 has 15.67 GiB memory in use. Of the allocated memory 15.10 GiB is allocated by PyTorch, and "
        "102.11 MiB is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.",
        MEMORY,
        {"tried_to_allocate": "270.00 MiB", "gpu": "0", "free": "97.38 MiB", "process_pid": 811},
    ),
    Wording(
        "A8 OOM, torch.cuda.OutOfMemoryError, empty index, this process",
        f"torch.cuda.OutOfMemoryError: {OOM} 3.06 GiB. GPU  has a total capacity of 23.64 GiB of which 1.92 GiB is "
        "free. Including non-PyTorch memory, this process has 21.71 GiB memory in use. Of the allocated memory 20.97 "
        "GiB is allocated by PyTorch, and 338.50 MiB is reserved by PyTorch but unallocated.",
        MEMORY,
        {"tried_to_allocate": "3.06 GiB", "total_capacity": "23.64 GiB", "allocated_by_pytorch": "20.97 GiB"},
    ),
    Wording(
        "A8 OOM, capacty, KiB",
        f"torch.cuda.OutOfMemoryError: {OOM} 128.00 KiB. GPU 5 has a total capacty of 31.74 GiB of which 64.00 KiB is "
        "free. Including non-PyTorch memory, this process has 31.73 GiB memory in use.",
        MEMORY,
        {"tried_to_allocate": "128.00 KiB", "gpu": "5", "free": "64.00 KiB"},
    ),
    Wording(
        "A8 OOM, PYTORCH_ALLOC_CONF",
        f"torch.OutOfMemoryError: {OOM} 18.00 MiB. GPU 1 has a total capacity of 44.39 GiB of which 6.31 MiB is free. "
        "If reserved but unallocated memory is large try setting PYTORCH_ALLOC_CONF=expandable_segments:True to avoid "
        "fragmentation.",
        MEMORY,
        {"tried_to_allocate": "18.00 MiB", "gpu": "1", "total_capacity": "44.39 GiB", "free": "6.31 MiB"},
    ),
    Wording(
        "A8 bf16, blank missing before the flag",
        f"ValueError: {BF16} Tesla V100-SXM2-32GB GPU has compute capability 7.0. You can use float16 instead by "
        f"explicitly setting the`dtype` {HALF}",
        BFLOAT,
        {"gpu_name": "Tesla V100-SXM2-32GB", "capability": "7.0"},
    ),
    Wording(
        "A8 bf16, blank there",
        f"ValueError: {BF16} Quadro RTX 8000 GPU has compute capability 7.5. You can use float16 instead by "
        f"explicitly setting the `dtype` {HALF}",
        BFLOAT,
        {"gpu_name": "Quadro RTX 8000", "capability": "7.5"},
    ),
    Wording(
        "A8 bf16, old text stops after the capability",
        f"ValueError: {BF16} Tesla P40 GPU has compute capability 6.1.",
        BFLOAT,
        {"gpu_name": "Tesla P40"},
    ),
    Wording(
        "A8 quantisation, method",
        "ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current "
        "capability: 70.",
        "quantization-needs-newer-gpu",
        {"quantization": "awq", "min_capability": 75, "current_capability": 70},
    ),
    Wording(
        "A8 quantisation, scheme, tuple",
        "RuntimeError: ('Quantization scheme is not supported for ', 'the current GPU. Min capability: 89. ', 'Current "
        "capability: 86.')",
        "quantization-scheme-needs-other-gpu",
        {"min_capability": 89, "current_capability": 86},
    ),
    Wording(
        "A8 quantisation, scheme, required capability, tuple",
        "RuntimeError: ('Quantization scheme is not supported for ', 'the current GPU. Required capability: ', '90. "
        "Current capability: 120.')",
        "quantization-scheme-needs-other-gpu",
        {"min_capability": 90, "current_capability": 120},
    ),
    Wording(
        "A8 quantisation, scheme, sentence",
        f"RuntimeError: {SCHEME} Min capability: 80. Current capability: 75.",
        "quantization-scheme-needs-other-gpu",
        {"min_capability": 80, "current_capability": 75},
    ),
    Wording(
        "A8 max_model_len, max_position_embeddings",
        f"ValueError: User-specified max_model_len (65536) {DERIVED} (max_position_embeddings=40960 or "
        f"model_max_length=None in model's config.json). {MAY}",
        LENGTH,
        {"max_model_len": 65536, "max_len_key": "max_position_embeddings", "derived_max_model_len": 40960},
    ),
    Wording(
        "A8 max_model_len, key None",
        f"ValueError: User-specified max_model_len (16384) {DERIVED} (None=8192 or model_max_length=None in model's "
        f"config.json). {MAY} Make sure the value is correct and within the model context size.",
        LENGTH,
        {"max_model_len": 16384, "max_len_key": "None", "derived_max_model_len": 8192},
    ),
    Wording(
        "A8 max_model_len, seq_length",
        f"ValueError: User-specified max_model_len (4096) {DERIVED} (seq_length=2048 or model_max_length=None in "
        "model's config.json).",
        LENGTH,
        {"max_model_len": 4096, "max_len_key": "seq_length", "derived_max_model_len": 2048},
    ),
    Wording(
        "A8 max_model_len, n_positions",
        f"ValueError: User-specified max_model_len (3000) {DERIVED} (n_positions=1024 or model_max_length=1024 in "
        f"model's config.json). {MAY}",
        LENGTH,
        {"max_model_len": 3000, "max_len_key": "n_positions", "derived_max_model_len": 1024},
    ),
    Wording(
        "A8 architecture, not supported for now",
        "ValueError: Model architectures ['DriftForCausalLM'] are not supported for now. Supported architectures: "
        "dict_keys(['AquilaModel', 'ArcticForCausalLM'])",
        "architecture-not-supported",
        {"architectures": "['DriftForCausalLM']"},
    ),
    Wording(
        "A8 architecture, failed to be inspected",
        "ValueError: Model architectures ['DriftForCausalLM'] failed to be inspected. Please check the logs for more "
        "details.",
        "architecture-inspection-failed",
        {"architectures": "['DriftForCausalLM']"},
    ),
    Wording(
        "A8 architecture, Transformers cannot help",
        "ValueError: DriftForCausalLM has no vLLM implementation and the Transformers implementation is not compatible "
        "with vLLM. Try setting VLLM_USE_V1=0.",
        "transformers-implementation-not-compatible",
        {"architecture": "DriftForCausalLM"},
    ),
    Wording(
        "A8 HF auth, 401",
        f"huggingface_hub.errors.GatedRepoError: 401 Client Error. (Request ID: Root=1-68a0)\n\n{GATED} "
        "acme/guarded-9b is restricted. You must have access to it and be authenticated to access it. Please log in.",
        "gated-repo-without-login",
        {"model": "acme/guarded-9b", "status": 401},
    ),
    Wording(
        "A8 HF auth, 403",
        f"huggingface_hub.errors.GatedRepoError: 403 Client Error. (Request ID: Root=1-68a1)\n\n{GATED} "
        "acme/guarded-9b is restricted and you are not in the authorized list. Visit "
        "https://huggingface.co/acme/guarded-9b to ask for access.",
        "gated-repo-access-not-granted",
        {"model": "acme/guarded-9b", "status": 403},
    ),
    Wording(
        "A8 HF auth, 404",
        "huggingface_hub.errors.RepositoryNotFoundError: 404 Client Error. (Request ID: Root=1-68a2)\n\nRepository Not "
        "Found for url: https://huggingface.co/api/models/acme/hidden-9b/tree/main?recursive=True&expand=False.\n"
        "Please make sure you specified the correct `repo_id` and `repo_type`.\nIf you are trying to access a private "
        "or gated repo, make sure you are authenticated.",
        "hub-repository-not-found",
        {"model": "acme/hidden-9b"},
    ),
    Wording("A8 CUDA init, 802", f"{COUNT} 802: system not yet initialized", "fabric-manager-not-running"),
    Wording(
        "A8 CUDA init, 803",
        f"{COUNT} 803: system has unsupported display driver / cuda driver combination",
        "driver-library-mismatch",
    ),
    Wording(
        "A8 CUDA init, 804",
        f"{COUNT} 804: forward compatibility was attempted on non supported HW",
        "cuda-forward-compatibility-unsupported",
    ),
    Wording("A8 CUDA init, 999", f"{COUNT} 999: unknown error", "cuda-initialisation-unknown-error"),
    Wording(
        "A8 spec config, draft TP",
        "ValueError: speculative_draft_tensor_parallel_size=4 cannot be other value than 1 or target model "
        "tensor_parallel_size",
        "draft-tensor-parallel-size-differs",
        {"draft_tensor_parallel_size": 4},
    ),
    Wording(
        "A8 spec config, draft TP, old",
        "ValueError: speculative_draft_tensor_parallel_size=2 cannot be other value than 1",
        "draft-tensor-parallel-size-differs",
        {"draft_tensor_parallel_size": 2},
    ),
]


def failed_start(error: str) -> str:
    """The engine's log of a start that failed with an error, every line with its prefix."""
    lines = ["EngineCore failed to start.", "Traceback (most recent call last):", *(f"  {frame}" for frame in FRAMES)]
    return "".join(f"{ENGINE}{line}\n" for line in (*lines, *error.split("\n")))


def root(report: Report) -> Finding:
    """The one root cause."""
    (finding,) = [each for each in report.findings if each.role == "root_cause"]
    return finding


@pytest.mark.parametrize("wording", WORDINGS, ids=[each.row for each in WORDINGS])
def test_wording(diagnose: Diagnose, wording: Wording) -> None:
    """Each wording names the one cause with its numbers, quotes the line and tells the process."""
    found = root(diagnose(failed_start(wording.error)))
    assert found.record is not None
    assert found.record.slug == wording.slug
    assert {name: found.captures.get(name) for name in wording.captures} == dict(wording.captures)
    assert (found.process, found.pid) == ("EngineCore_DP0", 6880)
    assert found.fixes
    assert all(line in failed_start(wording.error) for line in found.evidence)


SPECULATIVE = [
    (
        "A8 spec config, function loads, two names",
        "vllm serve: error: argument --speculative-config/-sc: Value {method:eagle3} cannot be converted to <function "
        "loads at 0x7f3c2e5f2340>.",
        "{method:eagle3}",
    ),
    (
        "A8 spec config, function loads, single quotes",
        "api_server.py: error: argument --speculative-config: Value {'method': 'mtp'} cannot be converted to <function "
        "loads at 0x7ff2a1b3c940>.",
        "{'method': 'mtp'}",
    ),
]


@pytest.mark.parametrize(("row", "line", "value"), SPECULATIVE, ids=[row for row, _, _ in SPECULATIVE])
def test_json_lost_its_quotes(diagnose: Diagnose, row: str, line: str, value: str) -> None:
    """An argument whose quotes the shell took is told by what arrived, without a traceback."""
    found = root(diagnose(f"usage: vllm serve [model_tag] [options]\n\n{line}\n"))
    assert found.record is not None, row
    assert found.record.slug == "json-argument-not-parsed"
    assert found.captures["value"] == value
    assert str(found.captures["flag"]).startswith("--speculative-config")


def test_number_of_cuda_error_decides(diagnose: Diagnose) -> None:
    """A8 CUDA init: where the number was cut away, the sentence before it names no cause."""
    found = root(diagnose(failed_start(f"{COUNT[:130]}")))
    assert found.record is None


def test_fallback_to_transformers_is_no_failure(diagnose: Diagnose) -> None:
    """A8 architecture: a model that runs through Transformers instead is a working one."""
    log = (
        "(EngineCore_DP0 pid=71) WARNING 09-21 05:44:20 [utils.py:163] DriftForCausalLM has no vLLM implementation, "
        "falling back to Transformers implementation. Some features may not be supported and performance may not be "
        "optimal.\n(APIServer pid=1) INFO:     Started server process [1]\n"
        "(APIServer pid=1) INFO:     Application startup complete.\n"
    )
    report = diagnose(log)
    assert [each for each in report.findings if each.role == "root_cause"] == []


PLACES = [
    ("vllm/v1/worker/gpu_worker.py", "load_model", "out-of-memory-loading-weights", "--tensor-parallel-size"),
    (
        "vllm/v1/worker/gpu_worker.py",
        "determine_available_memory",
        "out-of-memory-profiling",
        "--max-num-batched-tokens",
    ),
    ("vllm/worker/worker.py", "determine_num_available_blocks", "out-of-memory-profiling", "--max-num-batched-tokens"),
    (
        "vllm/v1/worker/gpu_model_runner.py",
        "capture_model",
        "out-of-memory-capturing-graphs",
        "--gpu-memory-utilization",
    ),
    (
        "vllm/worker/cache_engine.py",
        "_allocate_kv_cache",
        "out-of-memory-allocating-kv-cache",
        "--gpu-memory-utilization",
    ),
    ("vllm/v1/worker/gpu_worker.py", "execute_model", "out-of-memory-while-serving", "--gpu-memory-utilization"),
    ("vllm/v1/worker/gpu_worker.py", "init_device", "cuda-out-of-memory", "--max-num-seqs"),
]


@pytest.mark.parametrize(("file", "function", "slug", "flag"), PLACES, ids=[f"A8 OOM in {row[1]}" for row in PLACES])
def test_place_decides_what_has_to_shrink(diagnose: Diagnose, file: str, function: str, slug: str, flag: str) -> None:
    """The same out-of-memory text is another cause with another first fix by what the frames were doing."""
    log = (
        "(APIServer pid=1) INFO 09-21 05:44:11 [utils.py:233] non-default args: {'model': 'acme/drift-30b', "
        "'tensor_parallel_size': 2, 'gpu_memory_utilization': 0.93, 'max_num_batched_tokens': 16384}\n"
        "Traceback (most recent call last):\n"
        f'  File "/opt/venv/lib/python3.12/site-packages/{file}", line 310, in {function}\n'
        "    self.work()\n"
        '  File "/opt/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1773, in _wrapped_call_impl\n'
        "    return self._call_impl(*args, **kwargs)\n"
        f"torch.OutOfMemoryError: {OOM} 746.00 MiB. GPU 0 has a total capacity of 31.36 GiB of which 233.62 MiB is "
        "free. Including non-PyTorch memory, this process has 31.12 GiB memory in use.\n"
    )
    found = root(diagnose(log))
    assert found.record is not None
    assert found.record.slug == slug
    assert flag in found.fixes[0].set
