"""What must never be taken for a cause: lines that look like one and mean nothing, or only that something else failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]

CORE = "(EngineCore_DP0 pid=712)"
API = "(APIServer pid=655)"
WARN = f"{CORE} WARNING 12-02 09:41:17"
TRACE = "Traceback (most recent call last):\n"
SITE = "/opt/venv/lib/python3.12/site-packages"

START = f"""\
{API} INFO 12-02 09:40:58 [api_server.py:1839] vLLM API server version 0.11.0
{API} INFO 12-02 09:40:58 [utils.py:233] non-default args: {{'model': 'acme/otter-3b'}}
{CORE} INFO 12-02 09:41:12 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config: model='acme/otter-3b'
{CORE} INFO 12-02 09:41:16 [gpu_model_runner.py:2602] Starting to load model acme/otter-3b...
"""
UP = f"""\
{CORE} INFO 12-02 09:41:31 [core.py:210] init engine (profile, create kv cache, warmup model) took 9.41 seconds
{API} INFO:     Started server process [655]
{API} INFO:     Application startup complete.
"""
SERVED = f'{API} INFO:     192.0.2.40:51122 - "POST /v1/completions HTTP/1.1" 200 OK\n'
FAILURE = "".join(
    f"{CORE} ERROR 12-02 09:41:19 [core.py:708] {line}\n"
    for line in (
        "EngineCore failed to start.",
        TRACE.rstrip(),
        f'  File "{SITE}/acme/lanes.py", line 7, in reserve',
        "    raise LaneError(name)",
        "acme.lanes.LaneError: no slot left in lane 9",
    )
)


class Noise(NamedTuple):
    """row: where the line is listed; text: as printed; slug: its record, None where none is needed to pass over it."""

    row: str
    text: str
    slug: str | None = None


NOISE = [
    Noise(
        "A9 cuDNN factory",
        "2026-12-02 09:41:17.102938: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] Unable to register "
        "cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
        "cuda-factory-registered-twice",
    ),
    Noise(
        "A9 cuBLAS factory, glog",
        "E0000 00:00:1764668477.120394    4711 cuda_blas.cc:1418] Unable to register cuBLAS factory: Attempting to "
        "register factory for plugin cuBLAS when one has already been registered",
        "cuda-factory-registered-twice",
    ),
    Noise(
        "A9 vllm._C absent",
        f"{WARN} [_custom_ops.py:20] Failed to import from vllm._C with "
        "ModuleNotFoundError(\"No module named 'vllm._C'\")",
        "kernel-module-not-imported",
    ),
    Noise(
        "A9 vllm._C, a library missing",
        "WARNING 12-02 09:41:17 _custom_ops.py:18] Failed to import from vllm._C with "
        "ImportError('libcuda.so.1: cannot open shared object file: No such file or directory')",
        "kernel-module-not-imported",
    ),
    Noise(
        "A9 NCCL network plugin",
        "gpu7:4711:4790 [0] NCCL INFO NET/Plugin : dlerror=libnccl-net.so: cannot open shared object file: No such file "
        "or directory No plugin found (libnccl-net.so), using internal implementation",
        "nccl-network-plugin-absent",
    ),
    Noise(
        "A9 custom allreduce",
        f"{WARN} [custom_all_reduce.py:145] Custom allreduce is disabled because it's not supported on more than two "
        "PCIe-only GPUs. To silence this warning, specify disable_custom_all_reduce=True explicitly.",
        "custom-allreduce-disabled",
    ),
    Noise(
        "A9 methods not implemented",
        "WARNING 12-02 09:41:17 [utils.py:2522] Methods determine_num_available_blocks,device_config not implemented in "
        "<vllm.v1.worker.gpu_worker.Worker object at 0x7f11aa22bb90>",
        "worker-methods-not-implemented",
    ),
    Noise(
        "A9 WSL",
        f"{WARN} [interface.py:381] Using 'pin_memory=False' as WSL is detected. This may slow down the performance.",
        "pinned-memory-off-under-wsl",
    ),
    Noise(
        "A9 B4 destroy_process_group",
        "[rank0]:[W1202 09:41:17.120394857 ProcessGroupNCCL.cpp:1538] Warning: WARNING: destroy_process_group() was not "
        "called before program exit, which can leak resources. For more info, please see "
        "https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
        "process-group-not-destroyed",
    ),
    Noise(
        "A9 B4 resource_tracker",
        "/usr/lib/python3.12/multiprocessing/resource_tracker.py:279: UserWarning: resource_tracker: There appear to be "
        "3 leaked semaphore objects to clean up at shutdown\n  warnings.warn('resource_tracker: There appear to be %d '",
        "shared-objects-left-at-exit",
    ),
    Noise(
        "B4 resource_tracker, its own KeyError",
        f'{TRACE}  File "/usr/lib/python3.12/multiprocessing/resource_tracker.py", line 239, in main\n'
        "    cache[rtype].remove(name)\nKeyError: '/psm_1d2c3b4a'",
        "resource-tracker-lost-count",
    ),
    Noise(
        "A9 awq",
        "WARNING 12-02 09:41:17 config.py:289] awq quantization is not fully optimized yet. The speed can be slower "
        "than non-quantized models.",
        "quantization-not-optimized",
    ),
    Noise(
        "A9 rope_parameters",
        "Unrecognized keys in `rope_parameters` for 'rope_type'='yarn': {'attn_factor'}",
        "rope-keys-unrecognized",
    ),
    Noise(
        "A9 FlashInfer",
        f"{WARN} [topk_topp_sampler.py:67] FlashInfer is not available. Falling back to the PyTorch-native "
        "implementation of top-p & top-k sampling. For the best performance, please install FlashInfer.",
        "flashinfer-sampler-absent",
    ),
    Noise(
        "A9 TORCH_NCCL_AVOID_RECORD_STREAMS",
        "[W1202 09:41:17.120394857 ProcessGroupNCCL.cpp:4115] Warning: TORCH_NCCL_AVOID_RECORD_STREAMS=1 has no effect "
        "for point-to-point collectives. (function pointToPoint)",
        "nccl-record-streams-variable-without-effect",
    ),
    Noise(
        "A9 usage thread, /.config",
        f"Exception in thread Thread-4 (_report_usage_worker):\n{TRACE}"
        '  File "/usr/lib/python3.12/threading.py", line 1075, in _bootstrap_inner\n    self.run()\n'
        f'  File "{SITE}/vllm/usage/usage_lib.py", line 164, in _report_usage_worker\n'
        "    self._report_usage_once(model_architecture, usage_context, extra_kvs)\n"
        f'  File "{SITE}/vllm/usage/usage_lib.py", line 232, in _write_to_file\n'
        "    os.makedirs(os.path.dirname(_USAGE_STATS_JSON_PATH), exist_ok=True)\n"
        "PermissionError: [Errno 13] Permission denied: '/.config'",
        "usage-report-failed",
    ),
    Noise(
        "A9 usage thread, read-only file system, a message that another record knows",
        f"Exception in thread Thread-9 (_report_usage_worker):\n{TRACE}"
        f'  File "{SITE}/vllm/usage/usage_lib.py", line 252, in _write_to_file\n'
        "    os.makedirs(os.path.dirname(_USAGE_STATS_JSON_PATH), exist_ok=True)\n"
        "OSError: [Errno 30] Read-only file system: '/home/svc/.config/vllm'",
        "usage-report-failed",
    ),
    Noise(
        "A9 usage thread, its headline cut away",
        f"{TRACE}"
        f'  File "{SITE}/vllm/usage/usage_lib.py", line 202, in _report_usage_once\n'
        "    info = cpuinfo.get_cpu_info()\n"
        "json.decoder.JSONDecodeError: Expecting value: line 1 column 1 (char 0)",
        "usage-report-failed",
    ),
    Noise(
        "A9 SyntaxWarning", "<unknown>:12: SyntaxWarning: invalid escape sequence '\\s'", "escape-sequence-in-source"
    ),
    Noise(
        "A9 SyntaxWarning of a file",
        f"{SITE}/acme/jit.py:88: SyntaxWarning: invalid escape sequence '\\e'\n  x = '\\e'",
    ),
    Noise(
        "A9 unknown variable", f"{WARN} [envs.py:1818] Unknown vLLM environment variable detected: VLLM_RELEASE_NAME"
    ),
    Noise(
        "B4 Ray's expected termination",
        "INFO 12-02 09:41:17 [ray_distributed_executor.py:127] Shutting down Ray distributed executor. If you see error "
        "log from logging.cc regarding SIGTERM received, please ignore because this is the expected termination process "
        "in Ray.",
        "ray-shutdown-announced",
    ),
    Noise("B4 get_mempolicy", "get_mempolicy: Operation not permitted", "numa-policy-not-permitted"),
    Noise(
        "B4 one shm_broadcast line",
        f"{CORE} INFO 12-02 09:41:17 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 "
        "seconds. This typically happens when some processes are hanging or doing some time-consuming work",
        "broadcast-block-awaited",
    ),
    Noise(
        "B4 FSM",
        f"{CORE} ERROR 12-02 09:41:17 [backend_xgrammar.py:166] Failed to advance FSM for request chatcmpl-7c1d for "
        "tokens 151645. Please file an issue.",
        "grammar-did-not-advance",
    ),
    Noise(
        "B4 400 in the access log", f'{API} INFO:     192.0.2.9:5123 - "POST /v1/completions HTTP/1.1" 400 Bad Request'
    ),
    Noise("B4 Process SpawnProcess-1", "Process SpawnProcess-1:"),
    Noise(
        "B4 expandable_segments",
        "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    ),
    Noise(
        "A2 TORCHDYNAMO_VERBOSE",
        "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to "
        'PyTorch). For even more developer context, set TORCH_LOGS="+dynamo"',
        "compiler-trace-advice",
    ),
    Noise(
        "nanobind",
        'nanobind: leaked 4 instances!\n - leaked instance 0x7f00aa of type "xgrammar.CompiledGrammar"\n'
        "nanobind: this is likely caused by a reference counting issue in the binding code.",
        "binding-objects-left-at-exit",
    ),
    Noise(
        "destructor",
        f"Exception ignored in: <function LLMEngine.__del__ at 0x7f00>\n{TRACE}"
        f'  File "{SITE}/vllm/engine/llm_engine.py", line 480, in __del__\n'
        "    if model_executor := getattr(self, 'model_executor', None):\n"
        "ImportError: sys.meta_path is None, Python is likely shutting down",
        "exception-ignored-by-python",
    ),
    Noise(
        "exit handler",
        f"Error in atexit._run_exitfuncs:\n{TRACE}"
        f'  File "{SITE}/acme/pool.py", line 48, in _close\n    self.lanes.clear()\n'
        "AttributeError: 'NoneType' object has no attribute 'clear'",
        "exception-ignored-by-python",
    ),
    Noise(
        "tokenizers fork",
        "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. "
        "Disabling parallelism to avoid deadlocks...\nTo disable this warning, you can either:\n"
        "\t- Avoid using `tokenizers` before the fork if possible",
        "tokenizers-forked-after-use",
    ),
    Noise("torch_dtype", "`torch_dtype` is deprecated! Use `dtype` instead!", "deprecated-name-used"),
    Noise(
        "TRANSFORMERS_CACHE",
        f"{SITE}/transformers/utils/hub.py:128: FutureWarning: Using `TRANSFORMERS_CACHE` is deprecated and will be "
        "removed in v5 of Transformers. Use `HF_HOME` instead.\n  warnings.warn(",
    ),
    Noise(
        "vllm._version",
        f"{SITE}/vllm/__init__.py:5: RuntimeWarning: Failed to read commit hash:\nNo module named 'vllm._version'\n"
        "  from .version import __version__, __version_tuple__  # isort:skip",
        "version-file-absent",
    ),
    Noise(
        "Triton",
        "WARNING 12-02 09:41:17 [importing.py:28] Triton is not installed. Using dummy decorators. Install it via "
        "`pip install triton` to enable kernel compilation.",
        "triton-absent",
    ),
    Noise(
        "MoE settings",
        f"{WARN} [fused_moe.py:799] Using default MoE config. Performance might be sub-optimal! Config file not found at "
        "['/x/configs/E=64,N=704,device_name=NVIDIA_L4.json']",
        "moe-kernels-not-tuned",
    ),
    Noise(
        "metrics folder",
        "WARNING 12-02 09:41:17 [prometheus.py:33] Found PROMETHEUS_MULTIPROC_DIR was set by user. This directory must "
        "be wiped between vLLM runs or you will find inaccurate metrics. Unset the variable and vLLM will properly "
        "handle cleanup.",
        "metrics-folder-set-by-user",
    ),
    Noise(
        "Hub cache, a message that another record knows",
        "Could not cache non-existence of file. Will ignore error and continue. Error: [Errno 30] Read-only file system: "
        "'/models/.no_exist/4f1c/adapter_config.json'",
        "hub-cache-note-not-written",
    ),
    Noise("git", "fatal: not a git repository (or any of the parent directories): .git", "no-git-repository"),
    Noise(
        "libibverbs",
        "libibverbs: Warning: couldn't load driver 'libmlx5-rdmav34.so': libmlx5-rdmav34.so: cannot open shared object "
        "file: No such file or directory",
        "rdma-driver-not-loaded",
    ),
    Noise("asyncio", "ERROR:asyncio:Task was destroyed but it is pending!", "task-exception-not-retrieved"),
    Noise(
        "proactor",
        "Exception in callback _ProactorBasePipeTransport._call_connection_lost(None)\n"
        "handle: <Handle _ProactorBasePipeTransport._call_connection_lost(None)>\n"
        "Traceback (most recent call last):\n"
        '  File "C:\\Python313\\Lib\\asyncio\\events.py", line 89, in _run\n'
        "    self._context.run(self._callback, *self._args)\n"
        '  File "C:\\Python313\\Lib\\asyncio\\proactor_events.py", line 165, in _call_connection_lost\n'
        "    self._sock.shutdown(socket.SHUT_RDWR)\n"
        "ConnectionResetError: [WinError 10054] An existing connection was forcibly closed by the remote host",
        "client-reset-on-windows",
    ),
    Noise(
        "end of a wrapped warning",
        "rors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n",
        "ulimit-not-raised",
    ),
    Noise("uvicorn", "WARNING:  Invalid HTTP request received.", "http-request-malformed"),
    Noise(
        "OpenTelemetry",
        "ERROR:opentelemetry.exporter.otlp.proto.grpc.exporter:Failed to export traces to otel.example.com:4317, error "
        "code: StatusCode.UNAVAILABLE",
        "trace-export-failed",
    ),
    Noise(
        "CPU threads",
        f"{WARN} [cpu_worker.py:447] CPU backend doesn't allow to use `torch.set_num_threads` after the thread binding, "
        "skip it.",
        "cpu-threads-not-bound",
    ),
]
LOGGERS = ("(", "WARNING", "INFO ", "ERROR", "2026-", "E0000", "gpu7:")
LOOSE = [n for n in NOISE if not n.text.startswith(LOGGERS) and "Traceback" not in n.text]


def by_row(noise: Noise) -> str:
    return noise.row


def roots(report: Report) -> list[str]:
    return [finding.message for finding in report.findings if finding.role == "root_cause"]


@pytest.mark.parametrize("noise", NOISE, ids=by_row)
@pytest.mark.parametrize("place", ["start", "serving", "end"])
def test_noise_in_a_healthy_log(diagnose: Diagnose, noise: Noise, place: str) -> None:
    """A server that works stays healthy, whatever is printed beside; ``--all`` names the line."""
    line = f"{noise.text}\n"
    log = {
        "start": START + line + UP + SERVED,
        "serving": START + UP + SERVED + line + SERVED,
        "end": START + UP + SERVED + line,
    }[place]
    report = diagnose(log)
    assert (report.status, report.findings) == ("healthy", ())
    named = {(f.record.slug, f.role) for f in diagnose(log, show_all=True).findings if f.record}
    assert {slug for slug, _ in named} == ({noise.slug} if noise.slug else set())
    assert {role for _, role in named} <= {"harmless", "warning"}


@pytest.mark.parametrize("noise", NOISE, ids=by_row)
@pytest.mark.parametrize("order", ["before", "after"])
def test_noise_beside_an_unknown_failure(diagnose: Diagnose, noise: Noise, order: str) -> None:
    """Noise is neither the cause of a failure that no record knows, nor does it hide it."""
    line = f"{noise.text}\n"
    report = diagnose(START + line + FAILURE if order == "before" else START + FAILURE + line)
    assert (report.status, roots(report)) == ("unknown_failure", ["no slot left in lane 9"])


@pytest.mark.parametrize("noise", NOISE, ids=by_row)
def test_noise_alone(diagnose: Diagnose, noise: Noise) -> None:
    """A log cut down to noise claims no cause."""
    report = diagnose(f"{noise.text}\n")
    assert roots(report) == []
    assert report.status in ("healthy", "insufficient_evidence")


@pytest.mark.parametrize("noise", LOOSE, ids=by_row)
@pytest.mark.parametrize("order", ["before", "after"])
def test_noise_in_one_block_with_an_error(diagnose: Diagnose, noise: Noise, order: str) -> None:
    """Loose text of several programs runs together; a harmless line in it does not make the rest harmless."""
    error = "lanes.cu:77: CUDA error: lane 9 is shut"
    report = diagnose(START + ("\n".join((noise.text, error) if order == "before" else (error, noise.text))) + "\n")
    assert [error in message for message in roots(report)] == [True]


@pytest.mark.parametrize("advice", [n.text for n in NOISE if n.slug == "compiler-trace-advice"])
def test_advice_inside_an_exception_does_not_excuse_it(diagnose: Diagnose, advice: str) -> None:
    """What is raised is judged by what it says, not by the advice that it ends with."""
    text = f'{TRACE}  File "{SITE}/torch/_dynamo/x.py", line 3, in f\n    g()\nacme.LaneError: lane 9 is shut\n\n{advice}\n'
    assert roots(diagnose(START + text)) == ["lane 9 is shut"]


def test_exception_of_another_thread_counts(diagnose: Diagnose) -> None:
    """Only the thread that reports usage may fail; the same error elsewhere is shown."""
    text = (
        f"Exception in thread Thread-4 (serve_lanes):\n{TRACE}"
        f'  File "{SITE}/acme/lanes.py", line 232, in serve_lanes\n    os.makedirs(path)\n'
        "PermissionError: [Errno 13] Permission denied: '/.config'\n"
    )
    assert roots(diagnose(START + text)) == ["[Errno 13] Permission denied: '/.config'"]


def test_unknown_variable_that_ends_the_start_counts(diagnose: Diagnose) -> None:
    """The same words raised as an exception are no warning."""
    text = f'{TRACE}  File "{SITE}/vllm/envs.py", line 1816, in validate\n    raise ValueError(\nValueError: Unknown vLLM environment variable detected: VLLM_LANES\n'
    assert roots(diagnose(text)) == ["Unknown vLLM environment variable detected: VLLM_LANES"]


@pytest.mark.parametrize(
    "lines",
    [
        ("ERROR 12-02 09:41:17 multiproc_worker_utils.py:120] Worker VllmWorkerProcess pid 4711 died, exit code: -15",),
        (
            "ERROR 12-02 09:41:17 multiproc_worker_utils.py:120] Worker VllmWorkerProcess pid 4711 died, exit code: None",
        ),
        (
            "ERROR 12-02 09:41:17 [core.py:418] Got fatal signal from worker processes, shutting down. See stack trace "
            "above for root cause issue.",
            "Killed",
        ),
    ],
    ids=["B4 exit code -15", "B4 exit code None", "B4 Killed by itself"],
)
def test_ends_by_the_parent_are_no_cause(diagnose: Diagnose, lines: tuple[str, ...]) -> None:
    """A worker that its parent ended says that something failed before; beside the failure it is passed over."""
    text = "".join(f"{line}\n" for line in lines)
    report = diagnose(text)
    assert (report.status, report.findings) == ("insufficient_evidence", ())
    assert report.missing
    assert roots(diagnose(START + FAILURE + text)) == ["no slot left in lane 9"]


def test_killed_alone_is_evidence(diagnose: Diagnose) -> None:
    """With nothing else there, a kill from outside is what there is to go by."""
    report = diagnose(f"{START}Killed\n")
    assert report.status == "insufficient_evidence"
    assert "dmesg" in " ".join(report.missing)
