"""The envelopes of programs around vLLM: their loggers, what they relay lines with, and what people put before lines.

A logger's level is the message's. A relay's is the channel's ("stderr" is an error to it) and is left out, so that
what it relays reads as it was printed.
"""

from __future__ import annotations

from triage.read.prefix import ANY_LEVEL, BEGINS, CLOCK, DAY, ISO, LEVEL, Prefix, row

LOGGERS: tuple[Prefix, ...] = (
    row("uvicorn", r"(?P<level>INFO|WARNING|ERROR|CRITICAL|DEBUG|TRACE):  +", "INFO:     TEXT", inner=True),
    row(
        "Python's basicConfig",
        r"(?P<level>INFO|WARNING|ERROR|CRITICAL|DEBUG):(?!root:usage)[A-Za-z_]\w*(?:\.\w+)*:(?=\S)",
        "ERROR:root:TEXT",
        "WARNING:vllm.entrypoints.openai:TEXT",
        ends=True,
    ),
    # A day, then name, process and level in the order that each likes.
    row(
        "GPUStack, a relay",
        rf"(?P<time>(?:{ISO}|{DAY}(?:[.,]\d+)?(?:[+-]\d\d:\d\d)?)) - [\w.]+\.backends\.[\w.]+ - {ANY_LEVEL} - ",
        "2025-06-19T11:30:14+08:00 - gpustack.worker.backends.vllm - INFO - TEXT",
        "2026-06-01 13:16:40.221034+08:00 - gpustack.worker.backends.vllm - ERROR - TEXT",
    ),
    row(
        "xinference, KServe and other Python loggers",
        rf"(?P<time>{DAY}[.,]\d+) (?:(?P<pid>\d+) )?(?:[A-Za-z][\w.]* )?(?:(?P<pid>\d+) )?{LEVEL} +"
        r"(?!\d\d-\d\d \d\d:|\[[\w./]+\.py:\d+\] )"
        r"(?:\[[\w./]+:(?:[\w<>]+\(\))?:?\d+\] )?",
        "2025-03-12 09:29:12,291 xinference.core.model 822191 ERROR    TEXT",
        "2025-03-28 14:41:40.220 1 kserve ERROR [errors.py:handler():146] TEXT",
        "2025-03-28 14:41:40.220 ERROR TEXT",
    ),
    row(
        "Python loggers with dashes",
        rf"(?P<time>(?:{ISO}|{DAY}(?:[.,]\d+)?(?:[+-]\d\d:\d\d)?)) - [\w.]+ - {LEVEL} - ",
        "2025-03-28 14:41:40,220 - my.module - ERROR - TEXT",
    ),
    row(
        "loguru",
        rf"(?P<time>{DAY}[.,]\d+) \| {LEVEL} +\| (?:[\w.<>]+:[\w<>]+:(?P<line>\d+) - )?",
        "2025-03-28 14:41:40.220 | ERROR    | my.module:main:12 - TEXT",
    ),
    row(
        "FastChat",
        rf"(?P<time>{DAY}) \| {ANY_LEVEL} +\| std(?:err|out) \| ",
        "2024-04-27 10:13:05 | ERROR | stderr | TEXT",
    ),
    row(
        "FastChat's own",
        rf"(?P<time>{DAY}) \| {LEVEL} +\| \w+ \| ",
        "2024-04-27 10:13:05 | INFO | model_worker | TEXT",
    ),
    row(
        "DJL and SageMaker",
        rf"(?P<time>{ISO})[\t ]+\[{ANY_LEVEL} *\] [\w.]+ - [\w.-]+(?:stdout|stderr): ",
        "2024-02-20T18:03:18.581+07:00\t[WARN ] PyProcess - W-167-model-stderr: TEXT",
    ),
    row(
        "TorchServe and SageMaker",
        rf"(?P<time>\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d:\d\d,\d+) \[{ANY_LEVEL} *\] "
        r"[\w.-]+-(?:stdout|stderr) [\w.]+ - ",
        "2024-02-20T18:03:18,581 [INFO ] W-9000-model_1.0-stdout MODEL_LOG - TEXT",
        "2024-02-20 18:03:18,581 [WARN ] W-9000-model-stderr com.amazonaws.ml.mms.wlm.WorkerLifeCycle - TEXT",
    ),
    row(
        "a supervisor's relay",
        rf"\[?(?P<time>(?:{ISO}|{DAY}(?:[.,]\d+)?))\]?[ \t]+\[(?i:{ANY_LEVEL}) *\] \((?i:process|std(?:out|err))\) ",
        "2026-06-09 14:01:52.982 [Error] (Process) TEXT",
    ),
    row(
        "a clock and a level in brackets",
        rf"\[?(?P<time>(?:{ISO}|{DAY}(?:[.,]\d+)?))\]?[ \t]+\[(?i:{LEVEL}) *\] ",
        "[2025-03-28 14:41:40] [ERROR] TEXT",
        "2025-03-28 14:41:40,220 [WARNING] TEXT",
    ),
    row(
        "Google Cloud's export",
        rf"[A-Z]+ (?P<time>{ISO}) (?:\[resource\.labels\.\w+: (?P<pod>[\w.-]+)\] )?",
        "INFO 2025-11-19T20:16:36.096674521Z [resource.labels.containerName: vllm] TEXT",
        "ERROR 2025-11-19T20:16:36Z TEXT",
    ),
    row(
        "dynamo and other Rust programs",
        rf"(?P<time>{ISO}) +{LEVEL} +(?:[\w-]+(?:\{{[^}}]{{0,200}}\}})?: )?[a-z_]\w*(?:(?:::|\.)\w+)+: ",
        "2026-05-01T15:00:24Z ERROR dynamo_llm::http::service: TEXT",
        "2026-05-01T15:00:24.123456Z  INFO core.run_engine_core: TEXT",
    ),
    row(
        "RunPod, a relay",
        r"(?P<pod>[a-z0-9]{6,24})\[(?:error|info|warning|debug)\](?:\\n)*",
        "ab12cd34ef56gh[error]TEXT",
        "ab12cd34ef56gh[info]\\nTEXT",
    ),
    row(
        "RunPod's worker",
        rf"(?P<file>[\w.-]+\.py) +:(?P<line>\d+) +(?P<time>{DAY},\d+) ",
        "engine.py           :170  2026-02-03 12:50:43,752 TEXT",
    ),
    row("BuildKit", r"#\d+ \d+\.\d+ ", "#12 7.914 TEXT"),
    row(
        "a relay of a subprocess",
        rf"(?:vLLM |\w+ )?(?:STDOUT|STDERR): |\[{ANY_LEVEL}\|[\w./]+:\d+(?::\d+)?\] (?P<time>{DAY},\d+) >> ",
        "vLLM STDOUT: TEXT",
        "[ERROR|vllm_server.py:211:16433] 2024-10-23 01:48:56,680 >> TEXT",
    ),
    # Docker Desktop and cloud consoles put a clock in front of a line that has its own.
    row(
        "a clock",
        rf"(?:- )?\[?(?P<time>{CLOCK})\]?[ \t](?={BEGINS})",
        "2024-10-27 23:04:47 (EngineCore pid=3) TEXT",
        "2026-11-30 14:15:02 +0800 (EngineCore pid=3) TEXT",
        "2026-11-30 14:15:02,123 (EngineCore pid=3) TEXT",
        "2026/11/30 14:15:02 (EngineCore pid=3) TEXT",
        "[11/30/2026 02:15:02 PM] (EngineCore pid=3) TEXT",
        "30/Nov/2026:14:15:02 +0000 (EngineCore pid=3) TEXT",
        "1764512102.123 (EngineCore pid=3) TEXT",
        "1764512102123 (EngineCore pid=3) TEXT",
        "2024-10-18 08:39:59 private-gpt-1  | TEXT",
        guessed=True,
    ),
    row("a terminal program's border", r"[│┃║] ?", "│ TEXT"),
    row("quoting in mail and forums", r"(?:> ?)+", "> TEXT", "> > TEXT"),
)
