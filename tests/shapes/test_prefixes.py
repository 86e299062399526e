"""Every prefix that real logs carry, around several causes, logged by vLLM and printed by Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from triage.model import Finding, Report
from triage.read import strip_ansi

Diagnose = Callable[..., Report]

CAUSES = {
    "batched-tokens-below-num-seqs": (
        "ValueError: max_num_batched_tokens (96) must be greater than or equal to max_num_seqs (192).",
        {"max_num_batched_tokens": 96, "max_num_seqs": 192},
    ),
    "max-model-len-above-derived": (
        "ValueError: User-specified max_model_len (65536) is greater than the derived max_model_len "
        "(max_position_embeddings=40960 or model_max_length=None in model's config.json).",
        {},
    ),
    "heads-not-divisible-by-tensor-parallel-size": (
        "ValueError: Total number of attention heads (28) must be divisible by tensor parallel size (8).",
        {},
    ),
    "no-memory-for-cache-blocks": (
        "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when "
        "initializing the engine.",
        {},
    ),
}


def traceback_of(slug: str) -> list[str]:
    """What Python prints of a cause."""
    return [
        "Traceback (most recent call last):",
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 699, in run_engine_core',
        "    engine_core = EngineCoreProc(*args, **kwargs)",
        "                  ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^",
        '  File "/usr/local/lib/python3.12/dist-packages/vllm/v1/engine/core.py", line 498, in __init__',
        "    super().__init__(vllm_config)",
        CAUSES[slug][0],
    ]


class Shape(NamedTuple):
    """A row: its name, the prefix of line n ({n}, {s}: seconds of two digits, {}: the text), what a finding says."""

    row: str
    line: str
    says: Mapping[str, object] = {}
    slug: str = "batched-tokens-below-num-seqs"


HEADS, LENGTH, BLOCKS = (
    "heads-not-divisible-by-tensor-parallel-size",
    "max-model-len-above-derived",
    "no-memory-for-cache-blocks",
)

OWN = [  # vLLM's own, each a whole prefix of logged lines
    Shape("A1 0.2 to 0.7.3", "ERROR 06-18 21:35:42 llm_engine.py:161] {}", {"first_time": "06-18 21:35:42"}),
    Shape("A1 0.7.4 to 0.10.0", "ERROR 03-19 07:27:53 [core.py:340] {}", {"process": None}, HEADS),
    Shape("A1 0.10.1", "(EngineCore_0 pid=43) ERROR 08-06 20:57:06 [core.py:718] {}", {"process": "EngineCore_0"}),
    Shape("A1 0.10.2", "(Worker_TP0_EP0 pid=61) ERROR 10-06 20:57:06 [core.py:718] {}", {"pid": 61}, BLOCKS),
    Shape("A1 0.10.2 DP", "(Worker_DP6_EP6 pid=61) ERROR 10-06 20:57:06 [x.py:7] {}", {"process": "Worker_DP6_EP6"}),
    Shape("A1 0.18", "(EngineCore pid=84) ERROR 05-07 13:20:18 [core.py:1129] {}", {"process": "EngineCore"}, LENGTH),
    Shape("A1 VllmWorkerProcess", "(VllmWorkerProcess pid=13360) ERROR 12-01 10:00:01 x.py:9] {}", {"pid": 13360}),
    Shape("A1 VllmWorker rank", "(VllmWorker rank=1 pid=2978) ERROR 04-01 10:00:01 [x.py:9] {}", {"rank": 1}),
    Shape(
        "A1 VllmWorker TP", "(VllmWorker TP3 pid=298) ERROR 08-01 10:00:01 [x.py:9] {}", {"process": "VllmWorker TP3"}
    ),
    Shape("A1 RayWorkerVllm", "(RayWorkerVllm pid=12) ERROR 04-01 10:00:01 x.py:9] {}", {"process": "RayWorkerVllm"}),
    Shape("A1 DEBUG path", "(EngineCore_DP0 pid=270) ERROR 11-19 12:16:36 [v1/engine/core.py:842] {}", {"pid": 270}),
    Shape("A1 level without time", "ERROR [core.py:1330] {}", {"first_time": None}, HEADS),
    Shape("A1 day without time", "(APIServer pid=3) ERROR 08-15 [api_utils.py:345] {}", {"pid": 3}),
    Shape("A1 stacked tags", "(APIServer pid=32) (EngineCore_0 pid=296) (VllmWorker TP0 pid=302) {}", {"pid": 302}),
    Shape("A1 worker twice", "(Worker pid=11) (Worker_TP1 pid=11) ERROR 10-06 20:57:06 [x.py:7] {}", {"pid": 11}),
    Shape("B1 ascend fork", "ERROR 2026-04-25 10:01:17.340 [x.py:246] {}", {"first_time": "2026-04-25 10:01:17.340"}),
    Shape("B1 k9s eats a bracket", "ERROR 09-27 06:46:46 [core.py:485[] {}", {}, BLOCKS),
    Shape("C1 0.33", "(EngineCore pid=77) ERROR 11-30 14:15:02 [core.py:12] {}", {"process": "EngineCore"}, HEADS),
    Shape("C2 shortened path", "ERROR 11-30 14:15:02 [model_executor/.../utils/fp8_utils.py:12] {}"),
    Shape("tag, opening bracket lost", "EngineCore_DP0 pid=41) ERROR 11-30 14:15:02 [core.py:12] {}", {"pid": 41}),
    Shape("tag, closing bracket lost", "(EngineCore_DP0 pid=41 ERROR 11-30 14:15:02 [core.py:12] {}", {"pid": 41}),
    Shape(
        "tag, both brackets lost", "Worker_TP1 pid=47 ERROR 11-30 14:15:02 [core.py:12] {}", {"process": "Worker_TP1"}
    ),
    Shape("fork's tags", "[EngineCore_DP0][pid=1242] ERROR 11-30 14:15:02 [core.py:12] {}", {"pid": 1242}),
    Shape(
        "fork's tag", "[EngineCore_DP0 pid=1242] ERROR 11-30 14:15:02 [core.py:12] {}", {"process": "EngineCore_DP0"}
    ),
    Shape("A4 nested tags", "(AsyncVLLMInferenceEngine pid=891624) (EngineCore_0 pid=892803) {}", {"pid": 892803}),
    Shape(
        "A4 actor with ip", "(RayWorkerWrapper pid=356, ip=192.0.2.11) ERROR 11-30 14:15:02 [x.py:1] {}", {"pid": 356}
    ),
    Shape("A4 colour", "\x1b[36m(RayWorkerWrapper pid=356, ip=192.0.2.11)\x1b[0m {}", {"process": "RayWorkerWrapper"}),
    Shape("A4 colour's remnant", "[36m(RayWorkerWrapper pid=357, ip=192.0.2.11)[0m {}", {"pid": 357}, LENGTH),
]

AROUND = [  # what stands around the lines of a whole program
    Shape("A3 compose", "llm-1       | {}", {"pod": "llm-1"}),
    Shape("A3 compose v1", "vllm_server_1  | {}", {"pod": "vllm_server_1"}, HEADS),
    Shape("A3 compose, a name without number", "vllm  | {}", {"pod": "vllm"}),
    Shape("compose --timestamps", "llm-1  | 2026-11-30T14:15:02.5{s}111222Z {}", {"pod": "llm-1"}, LENGTH),
    Shape("A3 podman-compose", "[llm]        | {}", {"pod": "llm"}),
    Shape("A3 compose behind a clock", "2024-10-18 08:39:{s} private-gpt-1  | {}", {"pod": "private-gpt-1"}),
    Shape("A3 kubectl --timestamps", "2024-06-28T06:11:{s}.685300953Z {}", {}, BLOCKS),
    Shape("A3 kubectl --timestamps, zone", "2024-06-28T06:11:{s}.685300953+08:00 {}"),
    Shape("B1 cloud console's clock", "- 2024-06-22T20:17:{s}.186+00:00 {}"),
    Shape("A3 kubectl --prefix", "[pod/vllm-0/vllm] {}", {"pod": "vllm-0"}, HEADS),
    Shape("kubectl --prefix --timestamps", "[pod/vllm-7d-x2/vllm] 2026-11-30T14:15:{s}.1Z {}", {"pod": "vllm-7d-x2"}),
    Shape("A3 stern", "vllm-7d9f8-x2k4 vllm {}", {"pod": "vllm-7d9f8-x2k4"}),
    Shape("stern in colour", "\x1b[32mvllm-0\x1b[0m \x1b[32;1mserver\x1b[0m {}", {"pod": "vllm-0"}, BLOCKS),
    Shape("stern -A", "prod vllm-0 server {}", {"pod": "vllm-0"}, HEADS),
    Shape("stern's arrow", "vllm-0 › server {}", {"pod": "vllm-0"}),
    Shape("A3 CRI", "2026-03-18T07:40:{s}.111222333Z stderr F {}", {}, LENGTH),
    Shape("A3 Google Cloud", "ERROR 2025-11-19T20:16:{s}.096674521Z [resource.labels.containerName: vllm] {}"),
    Shape("A3 journald", "Aug 15 18:15:{s} gpu-1 vllm[7405]: {}", {}, HEADS),
    Shape("journald short-iso", "2026-11-30T14:15:{s}+0000 gpu-1 vllm[7405]: {}"),
    Shape("journald short-precise", "Nov 30 14:15:{s}.123456 gpu-1 vllm[7405]: {}", {}, BLOCKS),
    Shape("journald short-monotonic", "[   41.8771{s}] gpu-1 vllm[7405]: {}"),
    Shape("journald short-full", "Mon 2026-11-30 14:15:{s} UTC gpu-1 vllm[7405]: {}"),
    Shape("syslog RFC 3164", "<27>Nov 30 14:15:{s} gpu-1 vllm[7405]: {}", {}, LENGTH),
    Shape("syslog RFC 5424", "<27>1 2026-11-30T14:15:{s}.003Z gpu-1 vllm 7405 - - {}"),
    Shape("A3 CloudWatch and DJL", "2024-02-20T18:03:{s}.581+07:00\t[WARN ] PyProcess - W-167-model-stderr: {}"),
    Shape("TorchServe", "2024-02-20T18:03:{s},581 [WARN ] W-9000-model_1.0-stderr MODEL_LOG - {}", {}, HEADS),
    Shape("CloudWatch, aws logs tail", "2026-11-30T14:15:{s}.123000+00:00 ecs/vllm/0a1b {}", {"pod": "ecs/vllm/0a1b"}),
    Shape("Loki, logcli", '2026-11-30T14:15:{s}Z {{app="vllm", pod="vllm-3"}} {}', {"pod": "vllm-3"}),
    Shape("A3 buildkite", "[2026-02-24T20:21:{s}Z] {}", {}, BLOCKS),
    Shape("A3 buildkite, copied", "  | [2026-02-24T20:21:{s}Z] {}"),
    Shape("Jenkins", "[2026-02-24T20:21:{s}.123Z] {}"),
    Shape("GitHub Actions", "2026-11-30T14:15:{s}.1234567Z {}", {}, HEADS),
    Shape("GitHub Actions ##[error]", "2026-11-30T14:15:{s}.1234567Z ##[error]{}"),
    Shape("gh run view --log", "serve (3.12)\tRun tests\t2026-11-30T14:15:{s}.1234567Z {}", {"pod": "serve (3.12)"}),
    Shape("GitLab", "2026-11-30T14:15:{s}.123456Z 01E {}", {}, LENGTH),
    Shape("A3 GPUStack", "2025-06-19T11:30:{s}+08:00 - gpustack.worker.backends.vllm - INFO - {}"),
    Shape("A3 lemonade", "2026-06-09 14:01:{s}.982 [Error] (Process) {}", {}, HEADS),
    Shape("A3 RunPod", "ab12cd34ef56gh[error]{}\\n", {"pod": "ab12cd34ef56gh"}),
    Shape("RunPod, line ends at both ends", "ab12cd34ef56gh[info]\\n{}\\n", {}, BLOCKS),
    Shape("A3 FastChat", "2024-04-27 10:13:{s} | ERROR | stderr | {}"),
    Shape("A3 unsloth", "vLLM STDOUT: {}", {}, LENGTH),
    Shape("A3 VinePPO", "[ERROR|vllm_server.py:211:16433] 2024-10-23 01:48:{s},680 >> {}"),
    Shape("A3 BuildKit, its seconds alone", "7.9{s} {}                 ", {}, HEADS),
    Shape("BuildKit", "#12 7.9{s} {}"),
    Shape("A3 Slurm --label", "0: {}", {"rank": 0}),
    Shape("Slurm --label, two digits", "12: {}", {"rank": 12}, LENGTH),
    Shape("A3 torchrun", "[rank3]: {}", {"rank": 3}, BLOCKS),
    Shape("torchrun --redirects", "[default5]:{}", {"rank": 5}),
    Shape("mpirun", "[1,7]<stderr>:{}", {"rank": 7}),
    Shape("A3 TUI border", "│{}│", {}, HEADS),
    Shape("B1 k9s box", "│ {}                   │"),
    Shape("B1 two clocks", "2024-10-27 23:04:{s} {}", {}, BLOCKS),
    Shape("dmesg", "[41877.1203{s}] {}"),
    Shape("dmesg -T", "[Wed Nov  4 10:11:{s} 2026] {}"),
    Shape("dmesg -d", "[  +0.0000{s}] {}", {}, LENGTH),
    Shape("A7 quoting", "> > {}"),
    Shape("cat -n", "     {n}\t{}", {}, HEADS),
    Shape("nl", "    {n}\t{}"),
    Shape("grep -n", "{n}:{}", {}, BLOCKS),
    Shape("less -N", "      {n} {}"),
    Shape("an editor's gutter", " {n} | {}", {}, LENGTH),
    Shape("clock without zone", "2026-11-30T14:15:{s}.123 {}"),
    Shape("clock +0800", "2026-11-30 14:15:{s} +0800 {}", {}, HEADS),
    Shape("clock with comma", "2026-11-30 14:15:{s},123 {}"),
    Shape("Unix seconds", "17645121{s}.123 {}", {}, BLOCKS),
    Shape("Unix milliseconds", "17645121{s}123 {}"),
    Shape("access log's clock", "30/Nov/2026:14:15:{s} +0000 {}", {}, LENGTH),
    Shape("American clock", "11/30/2026 02:15:{s} PM {}"),
    Shape("clock in brackets", "[2026-11-30 14:15:{s}.123] {}", {}, HEADS),
]


def around(shape: Shape, lines: list[str]) -> str:
    return "".join(shape.line.format(line, n=n, s=f"{n:02}") + "\n" for n, line in enumerate(lines, 10))


def root(report: Report, slug: str) -> Finding:
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [f.record.slug if f.record else f.message for f in roots] == [slug]
    assert report.status == "cause_found"
    return roots[0]


def check(report: Report, shape: Shape, log: str) -> None:
    finding = root(report, shape.slug)
    message, captures = CAUSES[shape.slug]
    assert finding.message == message.partition(": ")[2]
    assert finding.exception_class == "ValueError"
    assert {name: finding.captures[name] for name in captures} == captures
    assert finding.count == 1
    assert {name: getattr(finding, name) for name in shape.says} == shape.says
    assert finding.vllm_frame is not None or finding.location is not None
    assert set(finding.evidence) <= {strip_ansi(line) for line in log.splitlines()}


@pytest.mark.parametrize("shape", OWN, ids=lambda shape: shape.row)
def test_vllms_own_prefix(diagnose: Diagnose, shape: Shape) -> None:
    """A logged traceback behind each generation of vLLM's own prefixes: the cause, its numbers, its process."""
    log = around(shape, ["EngineCore failed to start.", *traceback_of(shape.slug)])
    check(diagnose(log), shape, log)


@pytest.mark.parametrize("shape", AROUND, ids=lambda shape: shape.row)
def test_around_a_plain_traceback(diagnose: Diagnose, shape: Shape) -> None:
    """A traceback as Python prints it, every line behind the prefix."""
    log = around(shape, ["Process EngineCore_DP0:", *traceback_of(shape.slug)])
    check(diagnose(log), shape, log)


@pytest.mark.parametrize("shape", AROUND, ids=lambda shape: shape.row)
def test_around_a_logged_traceback(diagnose: Diagnose, shape: Shape) -> None:
    """A traceback that vLLM logged, twice prefixed: what its own prefix says is innermost and wins."""
    own = "(EngineCore_DP0 pid=41) ERROR 11-30 14:15:02 [core.py:12] "
    log = around(shape, [own + line for line in ["EngineCore failed to start.", *traceback_of(shape.slug)]])
    says = {**shape.says, "process": "EngineCore_DP0", "pid": 41, "first_time": "11-30 14:15:02"}
    check(diagnose(log), shape._replace(says=says), log)
