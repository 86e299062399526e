"""Marks of releases: log statements and call sites whose lines tell one release of vLLM from the next.

The logger prints ``[file.py:123]``, and a file's lines move with nearly every release. A log without a version
banner therefore still says which release wrote it: enough pairs of file and line fit one release only. The same holds
for the frames of tracebacks in functions that nearly all of them pass.
"""

from __future__ import annotations

import ast
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson
from packaging.version import Version

from triage.source.sites import MAX_FILE_BYTES, sites_of

TEXTS = (
    # the start of the server
    "Automatically detected platform ",
    "No platform detected, vLLM is running on ",
    "Available plugins for group ",
    "Triton is installed but ",
    "Triton not installed or not compatible",
    "Failed to import from vllm._C with ",
    "args: Namespace",
    "non-default args: ",
    "HF_HUB_OFFLINE is True, replace model_id [",
    "Unknown vLLM environment variable detected: ",
    "Found ulimit of ",
    "Resolved architecture: ",
    "This model supports multiple tasks: ",
    "Upcasting ",
    "Downcasting ",
    "Using max model len ",
    "Chunked prefill is enabled",
    "Asynchronous scheduling is ",
    "Using fp8 data type to store kv cache",
    "Defaulting to use mp for distributed inference",
    "Defaulting to use ray for distributed inference",
    "Enforce eager set, ",
    "Inductor compilation was disabled by user settings",
    "Enabled custom fusions: ",
    "Started engine process with PID ",
    "Detected the chat template content format to be ",
    "Default sampling parameters have been overridden by ",
    "Using default chat sampling params from ",
    "Supported tasks: ",
    "Supported_tasks: ",
    "Starting vLLM API server ",
    "Starting vLLM server on ",
    "Available routes are:",
    "Route: ",
    "Shutting down FastAPI HTTP server.",
    "Loaded new LoRA adapter: name ",
    # the engine core
    "Waiting for init message from front-end.",
    "init engine (profile, create kv cache, warmup model) took ",
    "EngineCore failed to start.",
    "EngineCore hit an exception",
    "EngineCore encountered a fatal error.",
    "Engine core proc ",
    "Invocation of ",
    "GPU KV cache size: ",
    "Maximum concurrency for ",
    "# GPU blocks: ",
    "AsyncLLM output_handler failed.",
    "Engine background task failed",
    "Added request ",
    # workers and their executors
    "WorkerProc failed to start.",
    "WorkerProc hit an exception",
    "Worker proc ",
    "Parent process exited, terminating worker",
    "Got fatal signal from worker processes",
    "Reducing Torch parallelism from ",
    "Error executing method ",
    "vLLM message queue communication handle: ",
    "No available shared memory broadcast block found in ",
    "Waiting for creating a placement group of specs for ",
    "No current placement group found. Creating a new placement group.",
    "Tensor parallel size (",
    "use_ray_spmd_worker: ",
    "Shutting down Ray distributed executor.",
    "Copying the following environment variables to workers",
    "DP group leader: ",
    "Found nccl from library ",
    "vLLM is using nccl==",
    "Custom allreduce is disabled because ",
    "Disabled the custom all-reduce kernel because ",
    "SymmMemCommunicator: Device capability ",
    # the model
    "Starting to load model ",
    "Loading model from scratch",
    "Loading drafter model",
    "Using Flash Attention backend",
    "Using FLASH_ATTN attention backend",
    "Using Torch SDPA backend",
    "Using XFormers backend",
    "Using FlashInfer for top-p & top-k sampling",
    "FlashInfer is not available. ",
    "Using Triton backend",
    "Loading weights took ",
    "Loading model weights took ",
    "Model loading took ",
    "Time spent downloading weights ",
    "Using cache directory: ",
    "Dynamo bytecode transform time: ",
    "Compiling a graph for ",
    "torch.compile takes ",
    "torch.compile took ",
    "torch.compile and initial profiling",
    "Memory profiling takes ",
    "Available KV cache memory: ",
    "Graph capturing finished in ",
    "Warming up model for the compilation",
    "Warming up done.",
    "auto thread-binding list (id, physical core): ",
    "Error in inspecting model architecture ",
    # serving
    "Received request ",
    "Error in preprocessing prompt inputs",
    "Error in chat completion stream generator.",
    "Avg prompt throughput: ",
    "SpecDecoding metrics: ",
    "AsyncLLMEngine has failed, terminating server process",
    "AsyncLLMEngine is already dead, terminating server process",
    "MQLLMEngine is already dead, terminating server process",
)
"""What the messages of start-up and serving begin with that logs often hold, whatever the release."""

TEXTS_OF = {
    "config.py": ("Casting ",),
    "loggers.py": ("Engine ",),
    "model.py": ("Casting ",),
    "parallel_state.py": ("rank ", "world_size="),
    "ray_utils.py": ("tensor_parallel_size=",),
}
"""Texts that are too short to be looked for outside the file that they are telling in."""

FRAMES = (
    ("vllm/entrypoints/cli/main.py", "main"),
    ("vllm/entrypoints/cli/serve.py", "cmd"),
    ("vllm/entrypoints/openai/api_server.py", "run_server"),
    ("vllm/entrypoints/openai/api_server.py", "run_server_worker"),
    ("vllm/entrypoints/openai/api_server.py", "build_async_engine_client"),
    ("vllm/entrypoints/openai/api_server.py", "build_async_engine_client_from_engine_args"),
    ("vllm/entrypoints/launchers/api_server/entry.py", "run_server"),
    ("vllm/entrypoints/launchers/api_server/entry.py", "run_server_worker"),
    ("vllm/entrypoints/launchers/api_server/entry.py", "build_async_engine_client"),
    ("vllm/entrypoints/launchers/api_server/entry.py", "build_async_engine_client_from_engine_args"),
    ("vllm/engine/multiprocessing/engine.py", "run_mp_engine"),
    ("vllm/v1/engine/core.py", "run_engine_core"),
    ("vllm/v1/engine/core.py", "run_busy_loop"),
    ("vllm/v1/engine/core.py", "_initialize_kv_caches"),
    ("vllm/v1/engine/core_client.py", "get_output_async"),
    ("vllm/v1/engine/async_llm.py", "output_handler"),
    ("vllm/v1/engine/utils.py", "wait_for_engine_startup"),
    ("vllm/v1/executor/multiproc_executor.py", "worker_main"),
    ("vllm/v1/executor/multiproc_executor.py", "worker_busy_loop"),
    ("vllm/v1/worker/gpu_worker.py", "load_model"),
    ("vllm/v1/worker/gpu_worker.py", "init_device"),
    ("vllm/engine/llm_engine.py", "from_engine_args"),
    ("vllm/v1/engine/llm_engine.py", "from_engine_args"),
    ("vllm/v1/engine/async_llm.py", "from_vllm_config"),
)
"""Functions that the tracebacks of failing starts and engines pass, by file and name as a traceback has them."""
