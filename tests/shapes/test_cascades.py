"""Cascades of every engine generation: the root is what the text says, and the tail alone claims no cause."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]

TRACE = "Traceback (most recent call last):"
OOM = (
    "CUDA out of memory. Tried to allocate 1.75 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.11 GiB is free. "
    "Including non-PyTorch memory, this process has 22.52 GiB memory in use."
)
UNKNOWN = "no slot left in lane 9"


def logged(prefix: str, *lines: str) -> str:
    """Lines of one log record: each carries the whole prefix."""
    return "".join(f"{prefix} {line}\n" for line in lines)


def raised(
    *last: str, file: str = "/opt/venv/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py"
) -> tuple[str, ...]:
    """A traceback that ends with the given lines."""
    return TRACE, f'  File "{file}", line 77, in step', "    self.run()", *last


V0_CLIENT = "ERROR 12-02 17:20:06 client.py:305]"
V0_ENGINE = "ERROR 12-02 17:20:05 engine.py:139]"
V0_WORKER = "(VllmWorkerProcess pid=82) ERROR 12-02 17:20:05 multiproc_worker_utils.py:229]"
V0_TAIL = (
    logged(V0_CLIENT, "RuntimeError('Engine loop has died')", *raised("RuntimeError: Engine loop has died"))
    + logged("ERROR 12-02 17:20:06 serving_chat.py:661]", "Error in chat completion stream generator.")
    + "CRITICAL 12-02 17:20:06 launcher.py:99] MQLLMEngine is already dead, terminating server process\n"
    + 'INFO:     192.0.2.41:40111 - "POST /v1/chat/completions HTTP/1.1" 500 Internal Server Error\n'
    + "ERROR 12-02 17:20:07 multiproc_worker_utils.py:120] Worker VllmWorkerProcess pid 82 died, exit code: -15\n"
    + "INFO 12-02 17:20:07 multiproc_worker_utils.py:124] Killing local vLLM worker processes\n"
    + "/usr/lib/python3.12/multiprocessing/resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 "
    "leaked shared_memory objects to clean up at shutdown\n"
)
ASYNC_TAIL = logged(
    "ERROR 12-02 17:20:05 async_llm_engine.py:63]",
    "Engine background task failed",
    *raised("vllm.engine.async_llm_engine.AsyncEngineDeadError: Background loop has errored already."),
) + "".join(
    f'INFO:     192.0.2.41:{port} - "GET /health HTTP/1.1" 500 Internal Server Error\n' for port in (4011, 4012)
)
CORE = "(EngineCore_DP0 pid=712) ERROR 12-02 17:20:05 [core.py:708]"
API = "(APIServer pid=655) ERROR 12-02 17:20:06"
DEAD = "vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."
V1_TAIL = (
    logged(f"{API} [async_llm.py:480]", "AsyncLLM output_handler failed.", *raised(DEAD))
    + logged(f"{API} [serving_chat.py:1145]", "Error in chat completion stream generator.", *raised(DEAD))
    + '(APIServer pid=655) INFO:     192.0.2.41:40111 - "POST /v1/completions HTTP/1.1" 500 Internal Server Error\n'
    + "(APIServer pid=655) INFO:     Shutting down\n"
)
INIT_TAIL = "".join(
    f"(APIServer pid=655) {line}\n"
    for line in raised(
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {'EngineCore_DP0': 1}"
    )
)
RELAY = "RuntimeError: Worker failed with error '{}', please check the stack trace above for the root cause"
WORKER = "(Worker_TP1 pid=733) ERROR 12-02 17:20:05 [multiproc_executor.py:671]"


class Cascade(NamedTuple):
    """row: where it is described; cause: what comes first; tail: what follows from it; root: slug or raw message."""

    row: str
    cause: str
    tail: str
    root: str


CASCADES = [
    Cascade(
        "B3 V0 MQLLMEngine",
        logged(
            V0_WORKER,
            "Exception in worker VllmWorkerProcess while processing method execute_model.",
            *raised(f"torch.OutOfMemoryError: {OOM}"),
        ),
        logged(V0_ENGINE, f"OutOfMemoryError('{OOM}')", *raised(f"torch.OutOfMemoryError: {OOM}")) + V0_TAIL,
        "cuda-out-of-memory",
    ),
    Cascade(
        "B3 V0 MQLLMEngine, unknown",
        logged(V0_ENGINE, f"LaneError('{UNKNOWN}')", *raised(f"acme.LaneError: {UNKNOWN}")),
        logged(
            V0_CLIENT,
            f"MQEngineDeadError(\"Engine loop is not running. Inspect the stacktrace to find the original error: LaneError('{UNKNOWN}').\")",
        )
        + V0_TAIL,
        UNKNOWN,
    ),
    Cascade(
        "B3 V0 AsyncLLMEngine",
        logged("ERROR 12-02 17:20:05 async_llm_engine.py:61]", *raised(f"acme.LaneError: {UNKNOWN}")),
        ASYNC_TAIL,
        UNKNOWN,
    ),
    Cascade(
        "A2 V0 start-up",
        logged(V0_ENGINE, *raised(f"torch.OutOfMemoryError: {OOM}")),
        f'{TRACE}\n  File "/x/vllm/entrypoints/openai/api_server.py", line 222, in build_async_engine_client_from_engine_args\n    raise RuntimeError(\n'
        "RuntimeError: Engine process failed to start. See stack trace for the root cause.\n",
        "cuda-out-of-memory",
    ),
    Cascade(
        "B3 V1 TP>1",
        logged(WORKER, "WorkerProc hit an exception.", *raised(f"torch.OutOfMemoryError: {OOM}")),
        logged(CORE, "EngineCore encountered a fatal error.", *raised(RELAY.format(OOM))) + V1_TAIL,
        "cuda-out-of-memory",
    ),
    Cascade(
        "B3 V1 TP>1, the relay spans several prefixed lines",
        logged(
            WORKER,
            "WorkerProc hit an exception.",
            *raised(f"acme.LaneError: {UNKNOWN}", "  lane 9: shut", "  lane 8: full"),
        ),
        logged(
            CORE,
            "EngineCore encountered a fatal error.",
            TRACE,
            '  File "/x/vllm/v1/executor/multiproc_executor.py", line 264, in collective_rpc',
            "    raise RuntimeError(",
            f"RuntimeError: Worker failed with error '{UNKNOWN}",
            "  lane 9: shut",
            "  lane 8: full', please check the stack trace above for the root cause",
        )
        + V1_TAIL,
        UNKNOWN,
    ),
    Cascade(
        "B3 V1 TP>1, a KeyError in double quotes",
        logged(WORKER, "WorkerProc hit an exception.", *raised("KeyError: '5f0c-otter'")),
        logged(CORE, "EngineCore encountered a fatal error.", *raised(RELAY.format("'5f0c-otter'"))) + V1_TAIL,
        "'5f0c-otter'",
    ),
    Cascade(
        "B3 V1 TP=1",
        logged(CORE, "EngineCore encountered a fatal error.", *raised(f"acme.LaneError: {UNKNOWN}")),
        "(EngineCore_DP0 pid=712) Process EngineCore_DP0:\n"
        + "".join(f"(EngineCore_DP0 pid=712) {line}\n" for line in raised(f"acme.LaneError: {UNKNOWN}"))
        + V1_TAIL,
        UNKNOWN,
    ),
    Cascade(
        "B3 A2 V1 start-up",
        logged(WORKER, "WorkerProc failed to start.", *raised(f"torch.OutOfMemoryError: {OOM}")),
        logged(
            CORE,
            "EngineCore failed to start.",
            *raised(
                "Exception: WorkerProc initialization failed due to an exception in a background process. See stack trace for root cause."
            ),
        )
        + INIT_TAIL,
        "cuda-out-of-memory",
    ),
    Cascade(
        "B3 V1 native death",
        '!!!!!!! Segfault encountered !!!!!!!\n  File "<unknown>", line 0, in lane_step(float*, int)\n',
        logged(
            "(EngineCore_DP0 pid=712) ERROR 12-02 17:20:05 [multiproc_executor.py:154]",
            "Worker proc VllmWorker-1 died unexpectedly, shutting down executor.",
        )
        + logged(CORE, "EngineCore encountered a fatal error.", *raised("RuntimeError: cancelled"))
        + V1_TAIL,
        "segmentation-fault",
    ),
    Cascade(
        "B3 V1 hang",
        "[rank1]:[E1202 17:09:57.100 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: "
        "WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=8192, NumelOut=8192, Timeout(ms)=600000) ran for 600017 "
        "milliseconds before timing out.\n",
        "".join(
            f"(EngineCore_DP0 pid=712) INFO 12-02 17:1{minute}:57 [shm_broadcast.py:466] No available shared memory broadcast block found in 60 seconds.\n"
            for minute in range(3)
        )
        + logged(
            CORE, "EngineCore encountered a fatal error.", *raised("TimeoutError: RPC call to sample_tokens timed out.")
        )
        + V1_TAIL,
        "nccl-collective-timeout",
    ),
    Cascade(
        "B3 relayed call",
        logged(
            "(EngineCore_DP0 pid=712) ERROR 12-02 17:20:05 [core.py:780]",
            "Invocation of add_lora method failed",
            *raised(f"acme.LaneError: {UNKNOWN}"),
        ),
        logged(f"{API} [serving_models.py:210]", *raised(f"Exception: Call to add_lora method failed: {UNKNOWN}")),
        UNKNOWN,
    ),
    Cascade(
        "B3 Ray",
        "(RayWorkerWrapper pid=901, ip=192.0.2.11) terminate called after throwing an instance of 'acme::Lane'\n"
        f"(RayWorkerWrapper pid=901, ip=192.0.2.11)   what():  {UNKNOWN}\n",
        "(raylet) A worker died or was killed while executing a task by an unexpected system error. To troubleshoot the problem, check the logs for the dead worker. There are some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.\n"
        + logged(
            CORE,
            "EngineCore encountered a fatal error.",
            *raised("ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task."),
        )
        + V1_TAIL,
        UNKNOWN,
    ),
    Cascade(
        "B3 several ranks",
        "2026-12-02T17:20:01.1Z [rank3]: "
        + "\n2026-12-02T17:20:01.1Z [rank3]: ".join(raised(f"acme.LaneError: {UNKNOWN}"))
        + "\n",
        "2026-12-02T17:20:04.1Z [rank0]: "
        + "\n2026-12-02T17:20:04.1Z [rank0]: ".join(
            raised("RuntimeError: [../gloo/transport/tcp/pair.cc:525] Connection closed by peer [192.0.2.14]:4411")
        )
        + "\n2026-12-02T17:20:04.2Z [rank1]: "
        + "\n2026-12-02T17:20:04.2Z [rank1]: ".join(
            raised("BrokenPipeError: [Errno 32] Broken pipe", file="/usr/lib/python3.12/multiprocessing/connection.py")
        )
        + "\n",
        UNKNOWN,
    ),
]


def roots(report: Report) -> list[str]:
    return [f.record.slug if f.record else f.message for f in report.findings if f.role == "root_cause"]


@pytest.mark.parametrize("cascade", CASCADES, ids=lambda c: c.row)
def test_root_of_a_cascade(diagnose: Diagnose, cascade: Cascade) -> None:
    """One root cause, the one that the text says; everything else follows from it or means nothing."""
    report = diagnose(cascade.cause + cascade.tail, show_all=True)
    assert [root.split("\n")[0] for root in roots(report)] == [cascade.root]
    assert {f.role for f in report.findings[1:]} <= {"consequence", "warning", "harmless"}
    assert any(f.role == "consequence" for f in report.findings)


TAILS = [
    ("B3 V0 MQLLMEngine", V0_TAIL),
    ("B3 V0 AsyncLLMEngine", ASYNC_TAIL),
    ("B3 V1 engine dead", V1_TAIL),
    ("A2 V1 initialization failed", INIT_TAIL),
    (
        "B3 V1 hang",
        logged(
            CORE, "EngineCore encountered a fatal error.", *raised("TimeoutError: RPC call to execute_model timed out.")
        )
        + V1_TAIL,
    ),
    (
        "B3 coordinator",
        "".join(
            f"(APIServer pid=655) {line}\n"
            for line in raised("RuntimeError: DP Coordinator process failed during startup.")
        ),
    ),
    (
        "B3 executor failed",
        logged(CORE, "EngineCore encountered a fatal error.", *raised("RuntimeError: Executor failed.")) + V1_TAIL,
    ),
    (
        "B3 KV connector",
        logged(
            CORE,
            "EngineCore encountered a fatal error.",
            *raised("RuntimeError: Worker failed with KV connector output"),
        ),
    ),
    (
        "B3 request failed, engine dead",
        logged(
            f"{API} [serving.py:823]", "Request cmpl-9f failed with an internal error during generation", *raised(DEAD)
        ),
    ),
    ("B3 headline that no record knows", logged(f"{API} [lanes.py:9]", "Lane 9 had to be given up", *raised(DEAD))),
    (
        "B3 peers",
        "".join(
            f"[rank2]: {line}\n"
            for line in raised(
                "RuntimeError: [../gloo/transport/tcp/pair.cc:525] Connection closed by peer [192.0.2.14]:4411"
            )
        ),
    ),
    ("B3 pipe", logged(CORE, *raised("EOFError", file="/usr/lib/python3.12/multiprocessing/connection.py"))),
    (
        "B3 V0 RPC",
        "\n".join(
            raised(
                "TimeoutError: MQLLMEngine didn't reply within 10000ms", file="/x/vllm/engine/multiprocessing/client.py"
            )
        )
        + "\n",
    ),
    (
        "B3 V0 socket",
        "ERROR:asyncio:Task exception was never retrieved\n"
        + "\n".join(raised("zmq.error.ZMQError: Operation not supported"))
        + "\n",
    ),
    (
        "B3 K8s probe",
        "\n".join(raised("KeyboardInterrupt: terminated", file="/x/vllm/entrypoints/openai/api_server.py")) + "\n",
    ),
]


@pytest.mark.parametrize(("row", "tail"), TAILS, ids=[row for row, _ in TAILS])
def test_tail_alone_is_not_enough(diagnose: Diagnose, row: str, tail: str) -> None:
    """A paste that begins after the cause claims none, and says what to fetch."""
    report = diagnose(tail)
    assert (row, report.status, roots(report)) == (row, "insufficient_evidence", [])
    assert report.missing


def test_supervisor_alone_is_the_last_resort(diagnose: Diagnose) -> None:
    """A supervisor that lost a process is what there is to go by only where nothing better is there."""
    text = "".join(
        f"(APIServer pid=655) {line}\n"
        for line in raised(
            "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.",
        )
    )
    assert roots(diagnose(text)) == ["ray-actor-died"]
    better = logged(WORKER, "WorkerProc hit an exception.", *raised(f"acme.LaneError: {UNKNOWN}"))
    assert roots(diagnose(better + text)) == [UNKNOWN]


def test_quoted_cause_is_named_from_the_tail_alone(diagnose: Diagnose) -> None:
    """A relay that quotes its cause is enough to name it, a V0 engine's repr too."""
    for tail in (
        logged(CORE, "EngineCore encountered a fatal error.", *raised(RELAY.format(OOM))) + V1_TAIL,
        logged(
            V0_CLIENT,
            *raised(
                f"vllm.engine.multiprocessing.MQEngineDeadError: Engine loop is not running. Inspect the stacktrace to find the original error: OutOfMemoryError('{OOM}')."
            ),
        ),
        "\n".join(raised(f"RuntimeError: Error in model execution (input dumped to /tmp/err_1.pkl): {OOM}")) + "\n",
    ):
        assert roots(diagnose(tail)) == ["cuda-out-of-memory"]


def test_prefill_that_is_gone(diagnose: Diagnose) -> None:
    """P/D: the KeyError with the engine's id on the decode side follows from the handshake that got no answer."""
    prefix = "(EngineCore_DP0 pid=712) (Worker_TP0 pid=733) ERROR 12-02 17:20:05 [nixl_connector.py:1300]"
    text = (
        logged(
            prefix,
            "NIXL transfer failure: handshake_failed | Context: {'failure_type': 'handshake_failed', 'request_id': 'cmpl-9f', 'remote_engine_id': 'e7-otter'}",
            *raised("zmq.error.Again: Resource temporarily unavailable"),
        )
        + logged(WORKER, "WorkerProc hit an exception.", *raised("KeyError: 'e7-otter'"))
        + logged(CORE, "EngineCore encountered a fatal error.", *raised(RELAY.format("'e7-otter'")))
        + V1_TAIL
    )
    assert roots(diagnose(text)) == ["nixl-handshake-timed-out"]
