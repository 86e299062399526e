"""Tags, banners and accelerator lines around a failure: they change neither verdict nor values."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]

FRAMES = [
    "Traceback (most recent call last):",
    '  File "/opt/venv/lib/python3.12/site-packages/vllm/config/scheduler.py", line 264, in verify',
    "    raise ValueError(",
]
SAID = "max_num_batched_tokens (48) must be greater than or equal to max_num_seqs (96)."
PLAIN = [*FRAMES, f"ValueError: {SAID}"]
CORE = "(EngineCore_DP0 pid=270) ERROR 11-19 12:16:36 [core.py:842] "


def prefixed(prefix: str, lines: list[str]) -> list[str]:
    return [f"{prefix}{line}" for line in lines]


class Row(NamedTuple):
    """A shape: its row, its lines, and what the finding says of process and pid."""

    name: str
    lines: list[str]
    process: str | None = None
    pid: int | None = None


ROWS = [
    Row(
        "A1 a package path in brackets",
        prefixed(CORE.replace("[core.py", "[v1/engine/core.py"), ["EngineCore failed to start.", *PLAIN]),
        "EngineCore_DP0",
        270,
    ),
    Row("A1 a level without a time", prefixed("ERROR [core.py:1330] ", ["EngineCore failed to start.", *PLAIN])),
    Row(
        "A1 a tag alone on its line",
        [
            "(EngineCore_DP0 pid=556790) ",
            *prefixed("(EngineCore_DP0 pid=556790) ", PLAIN),
            "(EngineCore_DP0 pid=556790)",
        ],
        "EngineCore_DP0",
        556790,
    ),
    Row(
        "A1 the logo",
        [
            "(APIServer pid=1) INFO 08-15 10:11:12 [api_utils.py:345] ",
            "(APIServer pid=1) INFO 08-15 10:11:12 [api_utils.py:345]        █     █     █▄   ▄█",
            "(APIServer pid=1) INFO 08-15 10:11:12 [api_utils.py:345]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.27.1",
            *prefixed("(APIServer pid=1) ", PLAIN),
        ],
        "APIServer",
        1,
    ),
    Row("A3 kubectl's banner", ['Defaulted container "vllm" out of: vllm, routing-proxy (init)', *PLAIN]),
    Row(
        "A3 Triton quotes a traceback on one line",
        [
            "I0806 21:52:45.863589 1 python_be.cc:1912] TRITONBACKEND_ModelInstanceInitialize: llm_0_0",
            'E0806 21:52:46.350172 1 pb_stub.cc:366] "Failed to initialize Python stub: ' + "\\n".join(PLAIN) + '"',
        ],
        None,
        1,
    ),
    Row(
        "A4 a supervisor's address inside the message",
        [*FRAMES, f"ValueError: [address=127.0.0.1:37657, pid=3125985] {SAID}"],
    ),
    Row(
        "A4 Ray's count of repetitions behind the exception",
        [
            *prefixed("(RayWorkerWrapper pid=90211, ip=192.0.2.12) ", PLAIN[:-1]),
            f"(RayWorkerWrapper pid=90211, ip=192.0.2.12) {PLAIN[-1]} [repeated 15x across cluster] (Ray deduplicates "
            "logs by default. Set RAY_DEDUP_LOGS=0 to disable log deduplication)",
        ],
        "RayWorkerWrapper",
        90211,
    ),
    Row(
        "B1 oneCCL",
        ["2025:03:21-09:15:10:( 1322) |CCL_WARN| value of CCL_ATL_TRANSPORT changed to be ofi (default:mpi)", *PLAIN],
    ),
    Row(
        "B1 CANN",
        ["[W compiler_depend.ts:28] Warning: The oprator of MoeInitRouting will be removed from Pytorch", *PLAIN],
    ),
    Row(
        "B1 abseil",
        [
            "E1213 02:57:10.512345    5811 worker_pool.cpp:274] the pool has grown (rate 3)",
            *prefixed("[rank3]: ", PLAIN),
        ],
    ),
    Row("B1 dmesg", ["[41877.120345] xe 0000:83:00.0: [drm] GT0: suspended", *PLAIN]),
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_verdict_and_values(diagnose: Diagnose, row: Row) -> None:
    """The failure's record, its values, the process that said it, and input lines as evidence."""
    text = "".join(f"{line}\n" for line in row.lines)
    report = diagnose(text)
    (root,) = [finding for finding in report.findings if finding.role == "root_cause"]
    assert root.record is not None
    assert (report.status, root.record.slug) == ("cause_found", "batched-tokens-below-num-seqs")
    assert dict(root.captures) == {"max_num_batched_tokens": 48, "max_num_seqs": 96}
    assert (root.process, root.pid) == (row.process, row.pid)
    assert set(root.evidence) <= set(row.lines)


def test_repetitions_are_counted(diagnose: Diagnose) -> None:
    """Ray saw it sixteen times: once here, fifteen times elsewhere."""
    (row,) = [row for row in ROWS if "repetitions" in row.name]
    (root,) = diagnose("".join(f"{line}\n" for line in row.lines)).findings
    assert root.count == 16
