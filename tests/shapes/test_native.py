"""What native code, other languages and the machine itself print when they fail."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]


class Known(NamedTuple):
    """A shape whose cause the catalogue knows: row, log, cause, captures, how often."""

    row: str
    text: str
    slug: str
    captures: dict[str, object] = {}  # noqa: RUF012
    count: int = 1


ASSERTION = (
    "/pytorch/aten/src/ATen/native/cuda/IndexKernel.cu:92: operator(): block: [{block},0,0], thread: [{thread},0,0] "
    "Assertion `srcIndex < srcSelectDimSize` failed.\n"
)

KNOWN = [
    Known(
        "A6 faulthandler",
        """\
        Fatal Python error: Segmentation fault

        Current thread 0x00007f2c1a3ff640 (most recent call first):
          File "/opt/vllm/distributed/device_communicators/pynccl.py", line 99 in __init__
          File "/opt/vllm/v1/worker/gpu_worker.py", line 180 in init_device
          <no Python frame>

        Extension modules: numpy._core._multiarray_umath, torch._C (total: 2)
        """,
        "segmentation-fault",
    ),
    Known(
        "B1 the dump of a crash handler",
        """\
        !!!!!!! Segfault encountered !!!!!!!
          File "./nptl/pthread_kill.c", line 89, in pthread_kill
          File "<unknown>", line 0, in ncclCommInitRank
        """,
        "segmentation-fault",
    ),
    Known(
        "C++ terminate, with the message in what()",
        """\
        terminate called after throwing an instance of 'c10::DistBackendError'
          what():  [PG ID 2 PG GUID 3 Rank 5] Process group watchdog thread terminated with exception: [Rank 5] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=16, NumelOut=16, Timeout(ms)=600000) ran for 600021 milliseconds before timing out.
        Exception raised from checkTimeout at /pytorch/torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:635 (most recent call first):
        frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f1 in /opt/torch/lib/libc10.so)
        frame #1: c10d::ProcessGroupNCCL::WorkNCCL::checkTimeout + 0x1f0 (0x7f2 in /opt/torch/lib/libtorch_cuda.so)
        """,
        "nccl-collective-timeout",
        {"seqnum": 9, "op": "ALLREDUCE", "timeout_ms": 600000},
    ),
    Known(
        "CUDA device assertions by the hundred",
        "".join(ASSERTION.format(block=b, thread=t) for b in range(4) for t in range(60))
        + "Traceback (most recent call last):\n"
        + '  File "/opt/vllm/worker/model_runner.py", line 88, in execute_model\n    torch.cuda.synchronize()\n'
        + "RuntimeError: CUDA error: device-side assert triggered\n",
        "token-id-outside-vocabulary",
        {"block": 0, "thread": 0},
        240,
    ),
]


@pytest.mark.parametrize("shape", KNOWN, ids=lambda shape: shape.row)
def test_known_native_failure(diagnose: Diagnose, shape: Known) -> None:
    """The cause is named once, with its values; copies are counted."""
    text = dedent(shape.text)
    report = diagnose(text)
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [f.record.slug if f.record else f.message for f in roots] == [shape.slug]
    assert {name: roots[0].captures.get(name) for name in shape.captures} == shape.captures
    assert roots[0].count == shape.count
    assert set(roots[0].evidence) <= set(text.splitlines())


class Unknown(NamedTuple):
    """A shape that no record knows: row, log, the message that must be shown."""

    row: str
    text: str
    message: str


UNKNOWN = [
    Unknown(
        "C++ terminate",
        """\
        terminate called after throwing an instance of 'std::runtime_error'
          what():  kiwi queue is closed
        """,
        "kiwi queue is closed",
    ),
    Unknown(
        "glog check",
        "F0614 12:00:01.123456 812 plasma_store.cc:88] Check failed: fd >= 0 store socket is closed\n",
        "Check failed: fd >= 0 store socket is closed",
    ),
    Unknown(
        "absl's signal handler",
        """\
        *** SIGSEGV received at time=1723456789 on cpu 7 ***
        PC: @     0x7f0c2b1a6898  (unknown)  ncclAllReduce
            @     0x7f0c2a0c9520  (unknown)  (unknown)
            @ ... and at least 1 more frames
        """,
        "*** SIGSEGV received at time=1723456789 on cpu 7 ***",
    ),
    Unknown(
        "faulthandler, aborted",
        """\
        Fatal Python error: Aborted

        Thread 0x00007f2c1a3ff640 (most recent call first):
          File "/usr/lib/python3.12/threading.py", line 359 in wait
        """,
        "Fatal Python error: Aborted",
    ),
    Unknown(
        "a shell's word for a signal",
        "INFO 06-18 21:35:42 [__init__.py:207] Automatically detected platform cpu.\nAborted (core dumped)\n",
        "Aborted (core dumped)",
    ),
    Unknown(
        "Rust panic",
        """\
        thread 'tokio-runtime-worker' panicked at src/router.rs:118:22:
        kiwi shard 4 has no owner
        note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
        """,
        "kiwi shard 4 has no owner",
    ),
    Unknown(
        "Rust panic, older",
        "thread 'main' panicked at 'kiwi shard 7 has no owner', src/router.rs:118:22\n",
        "kiwi shard 7 has no owner",
    ),
    Unknown(
        "Go panic",
        """\
        panic: runtime error: index out of range [3] with length 3

        goroutine 1 [running]:
        main.main()
        \t/src/gateway/main.go:41 +0x1d
        exit status 2
        """,
        "panic: runtime error: index out of range [3] with length 3",
    ),
]


@pytest.mark.parametrize("shape", UNKNOWN, ids=lambda shape: shape.row)
def test_unknown_native_failure(diagnose: Diagnose, shape: Unknown) -> None:
    """What no record knows is shown by its own message, one failure for one crash, without a cause."""
    text = dedent(shape.text)
    report = diagnose(text)
    assert report.status == "unknown_failure"
    assert [finding.message for finding in report.findings] == [shape.message]
    assert set(report.findings[0].evidence) <= set(text.splitlines())
