"""The envelopes that are known, each with examples of it: a table, so that a further one is a further row.

Shapes and their releases come from public reports of vLLM 0.2 to 0.33. An example is a prefix with the text
"TEXT" behind it; the tests take it off, and that nothing else is left.
"""

from __future__ import annotations

from typing import NamedTuple

import regex

_ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)"
_DAY = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"
_LEVEL = r"(?P<level>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL)"
_BRACKETS = r"\[(?P<file>[\w./*<>-]+):(?P<line>\d+)(?:\]|\[\])"


class Prefix(NamedTuple):
    """An envelope: its name, its pattern (groups: time, pod, process, pid, rank, level, glog, file, line), examples."""

    name: str
    pattern: regex.Pattern[str]
    examples: tuple[str, ...]


def _prefix(name: str, pattern: str, *examples: str) -> Prefix:
    return Prefix(name, regex.compile(pattern), examples)


PREFIXES: tuple[Prefix, ...] = (
    # At level DEBUG a path stands in the brackets; k9s turns "]" into "[]", Markdown "__init__" into "**init**".
    _prefix(
        "vLLM's logger",
        rf"{_LEVEL} (?P<time>(?:\d{{4}}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?) "
        rf"(?:{_BRACKETS}|(?P<file>[\w.*-]+\.py):(?P<line>\d+)\])(?: |$)",
        "ERROR 11-30 14:15:02 [core.py:12] TEXT",
        "INFO 06-18 21:35:42 llm_engine.py:161] TEXT",
        "ERROR 11-19 12:16:36 [v1/engine/core.py:842] TEXT",
        "INFO 11-19 12:16:36 [entrypoints/.../serving.py:1267] TEXT",
        "ERROR 2026-04-25 10:01:17.340 [x.py:246] TEXT",
        "ERROR 09-27 06:46:46 [core.py:485[] TEXT",
        "INFO 09-27 06:46:46 [**init**.py:239] TEXT",
    ),
    _prefix("vLLM's logger, trimmed", rf"{_LEVEL} {_BRACKETS}(?: |$)", "ERROR [core.py:1330] TEXT"),
    _prefix("uvicorn", r"(?P<level>INFO|WARNING|ERROR|CRITICAL|DEBUG|TRACE):  +", "INFO:     TEXT"),
    # The opening bracket is often lost in pasting.
    _prefix(
        "process tag of vLLM or Ray",
        r"\(?(?P<process>[A-Za-z][\w:.-]*(?: [A-Z]+\d+)*)(?: rank=(?P<rank>\d+))? "
        r"pid=(?P<pid>\d+)(?:, ip=[\w.:-]+)?\)(?: |$)",
        "(EngineCore_DP0 pid=41) TEXT",
        "(VllmWorker rank=1 pid=2978) TEXT",
        "(VllmWorker TP0 pid=302) TEXT",
        "(RayWorkerWrapper pid=901, ip=192.0.2.11) TEXT",
        "RayWorkerWrapper pid=438, ip=192.0.2.6) TEXT",
        "(ServeReplica:llm:VLLMDeployment pid=1886) TEXT",
        "(APIServer pid=1) (EngineCore_DP6 pid=2454) (Worker_DP6_EP6 pid=2516) TEXT",
    ),
    _prefix("Ray, a nameless process", r"\(pid=(?P<pid>\d+)(?:, ip=[\w.:-]+)?\)(?: |$)", "(pid=901) TEXT"),
    _prefix(
        "Ray, its own processes",
        r"\((?P<process>raylet|autoscaler|gcs_server)(?: [^)]{0,40})?\) ",
        "(autoscaler +9s) TEXT",
        "(raylet) TEXT",
    ),
    _prefix("torch's rank", r"\[rank(?P<rank>\d+)\]:(?: |(?=\S)|$)", "[rank0]: TEXT", "[rank1]:TEXT"),
    _prefix(
        "torch's C++ log",
        r"\[(?P<glog>[IWEF])(?:(?P<time>\d{4} \d\d:\d\d:\d\d\.\d+))? ?(?P<file>[\w.]+\.\w+):(?P<line>\d+)\] ",
        "[rank1]:[E ProcessGroupNCCL.cpp:523] TEXT",
        "[W1130 15:00:59.793196071 utils.cpp:68] TEXT",
        "[rank0]:[E1219 01:11:00.120981455 ProcessGroupNCCL.cpp:1515] TEXT",
    ),
    # Loggers of programs around vLLM: a day, then name, process and level in the order that each likes.
    _prefix(
        "xinference, KServe and other Python loggers",
        rf"(?P<time>{_DAY}[.,]\d+) (?:(?P<pid>\d+) )?(?:[A-Za-z][\w.]* )?(?:(?P<pid>\d+) )?{_LEVEL} +"
        r"(?!\d\d-\d\d \d\d:|\[[\w./]+\.py:\d+\] )"
        r"(?:\[[\w./]+:(?:[\w<>]+\(\))?:?\d+\] )?",
        "2025-03-12 09:29:12,291 xinference.core.model 822191 ERROR    TEXT",
        "2025-03-28 14:41:40.220 1 kserve ERROR [errors.py:handler():146] TEXT",
        "2025-03-28 14:41:40.220 ERROR TEXT",
    ),
    _prefix(
        "Python loggers with dashes",
        rf"(?P<time>(?:{_ISO}|{_DAY}(?:[.,]\d+)?(?:[+-]\d\d:\d\d)?)) - [\w.]+ - {_LEVEL} - ",
        "2025-06-19T11:30:14+08:00 - gpustack.worker.backends.vllm - INFO - TEXT",
        "2026-06-01 13:16:40.221034+08:00 - gpustack.worker.backends.vllm - ERROR - TEXT",
        "2025-03-28 14:41:40,220 - my.module - ERROR - TEXT",
    ),
    _prefix(
        "DJL and SageMaker",
        rf"(?P<time>{_ISO})\t\[{_LEVEL} *\] [\w.]+ - [\w.-]+(?:stdout|stderr): ",
        "2024-02-20T18:03:18.581+07:00\t[WARN ] PyProcess - W-167-model-stderr: TEXT",
    ),
    _prefix(
        "a clock and a level in brackets",
        rf"\[?(?P<time>(?:{_ISO}|{_DAY}(?:[.,]\d+)?))\]?[ \t]+\[(?i:{_LEVEL}) *\] (?:\(\w+\) )?",
        "2026-06-09 14:01:52.982 [Error] (Process) TEXT",
        "[2025-03-28 14:41:40] [ERROR] TEXT",
    ),
    _prefix(
        "Google Cloud's export",
        rf"(?P<level>[A-Z]+) (?P<time>{_ISO}) (?:\[resource\.labels\.\w+: (?P<pod>[\w.-]+)\] )?",
        "INFO 2025-11-19T20:16:36.096674521Z [resource.labels.containerName: vllm] TEXT",
    ),
    _prefix("RunPod", r"(?P<pod>\w{6,20})\[(?P<level>error|info|warning)\]", "ab12cd34ef56gh[error]TEXT"),
    _prefix("BuildKit", r"#\d+ \d+\.\d+ ", "#12 7.914 TEXT"),
    _prefix("dmesg", r"\[ *\d+\.\d{3,6}\] ", "[41877.120345] TEXT"),
    _prefix(
        "dmesg -T",
        r"\[(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4})\] ",
        "[Wed Nov  4 10:11:12 2026] TEXT",
    ),
    _prefix(
        "a relay of a subprocess",
        r"(?:vLLM |\w+ )?(?:STDOUT|STDERR): |\[(?P<level>ERROR|INFO|WARNING)\|[\w./]+:\d+(?::\d+)?\] "
        rf"(?P<time>{_DAY},\d+) >> ",
        "vLLM STDOUT: TEXT",
        "[ERROR|vllm_server.py:211:16433] 2024-10-23 01:48:56,680 >> TEXT",
    ),
    _prefix("a terminal program's border", r"[│┃║] ?", "│ TEXT"),
    _prefix("CRI", rf"(?P<time>{_ISO}) (?:stdout|stderr) [FP](?: |$)", "2026-03-18T07:40:55.111222333Z stderr F TEXT"),
    _prefix(
        "kubectl and docker --timestamps",
        rf"(?P<time>{_ISO})(?: |\t|$)",
        "2024-06-28T06:11:52.685300953Z TEXT",
        "2024-06-28T06:11:52+08:00 TEXT",
    ),
    _prefix("buildkite", rf"\[(?P<time>{_ISO})\](?: |$)", "[2026-02-24T20:21:58Z] TEXT"),
    _prefix("kubectl --prefix", r"\[pod/(?P<pod>[\w.-]+)/[\w.-]+\] ", "[pod/vllm-0/vllm] TEXT"),
    _prefix("docker compose", r"(?P<pod>[A-Za-z][\w.-]*) +\| ?", "llm-1       | TEXT"),
    _prefix("podman-compose", r"\[(?P<pod>[A-Za-z][\w.-]*)\] +\| ?", "[llm]        | TEXT"),
    _prefix(
        "journald and syslog",
        r"(?P<time>(?:[A-Z][a-z]{2}|\d{1,2}月) [ \d]?\d \d\d:\d\d:\d\d) [\w.-]+ [\w./@-]+\[(?P<pid>\d+)\]: ",
        "May 20 14:20:23 host vllm[32308]: TEXT",
        "6月 10 14:20:23 host vllm[32308]: TEXT",
    ),
    # Docker Desktop and cloud consoles put a clock in front of a line that has its own.
    _prefix(
        "a clock",
        rf"(?:- )?(?P<time>\d{{4}}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d+)?) (?={_LEVEL}\b|\()",
        "2024-10-27 23:04:47 ERROR 10-27 09:04:47 serving_chat.py:200] TEXT",
        "2024-10-27 23:04:47 (EngineCore pid=3) TEXT",
    ),
    _prefix("FastChat", rf"(?P<time>{_DAY}) \| {_LEVEL} +\| \w+ \| ", "2024-04-27 10:13:05 | ERROR | stderr | TEXT"),
    _prefix(
        "glog",
        r"(?P<glog>[IWEF])(?P<time>\d{4} \d\d:\d\d:\d\d\.\d+) +(?P<pid>\d+) (?P<file>[\w./-]+):(?P<line>\d+)\] ",
        "E0806 21:52:46.350172 1 backend_model.cc:692] TEXT",
    ),
    _prefix(
        "Ray's own logger",
        rf"(?P<time>{_DAY},\d+)\s+{_LEVEL} (?P<file>[\w./-]+):(?P<line>\d+) -- ",
        "2025-02-26 11:14:54,614\tINFO worker.py:1636 -- TEXT",
    ),
    _prefix(
        "Ray Serve",
        rf"{_LEVEL} (?P<time>{_DAY},\d+) (?P<file>[\w.:-]+) (?P<line>\d+) -- ",
        "ERROR 2025-03-07 10:02:50,377 controller 1702 -- TEXT",
    ),
    _prefix("quoting in mail and forums", r"(?:> ?)+", "> TEXT", "> > TEXT"),
)
