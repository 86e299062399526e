"""The envelopes that vLLM, Ray, torch and the libraries of accelerators put around a text themselves."""

from __future__ import annotations

from triage.read.prefix import DAY, LEVEL, Prefix, row

_BRACKETS = r"\[(?P<file>[\w./*<>-]+):(?P<line>\d+)(?:\]|\[\])"
_OURS = r"(?:APIServer|EngineCore|Engine_?Core|Worker|VllmWorker|VllmWorkerProcess|RayWorker|DPCoordinator)\w*"

VLLM: tuple[Prefix, ...] = (
    # At level DEBUG a path stands in the brackets; k9s turns "]" into "[]", Markdown "__init__" into "**init**".
    row(
        "vLLM's logger",
        rf"{LEVEL} (?P<time>(?:\d{{4}}-)?\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?) "
        rf"(?:{_BRACKETS}|(?P<file>[\w.*-]+\.py):(?P<line>\d+)\])(?: |$)",
        "ERROR 11-30 14:15:02 [core.py:12] TEXT",
        "INFO 06-18 21:35:42 llm_engine.py:161] TEXT",
        "ERROR 11-19 12:16:36 [v1/engine/core.py:842] TEXT",
        "INFO 11-19 12:16:36 [entrypoints/.../serving.py:1267] TEXT",
        "ERROR 2026-04-25 10:01:17.340 [x.py:246] TEXT",
        "ERROR 09-27 06:46:46 [core.py:485[] TEXT",
        "INFO 09-27 06:46:46 [**init**.py:239] TEXT",
        inner=True,
        ends=True,
    ),
    row(
        "vLLM's logger, trimmed",
        rf"{LEVEL} (?:(?P<time>\d\d-\d\d) )?{_BRACKETS}(?: |$)",
        "ERROR [core.py:1330] TEXT",
        "INFO 08-15 [api_utils.py:345] TEXT",
        inner=True,
        ends=True,
    ),
    # The brackets are often lost in pasting; without both, only vLLM's own names are told from prose.
    row(
        "process tag of vLLM or Ray",
        r"\(?(?P<process>[A-Za-z][\w:.-]*(?: [A-Z]+\d+)*)(?: rank=(?P<rank>\d+))?,? "
        r"pid=(?P<pid>\d+)(?:, ip=[\w.:-]+)?\)(?: |$)",
        "(EngineCore_DP0 pid=41) TEXT",
        "(VllmWorker rank=1 pid=2978) TEXT",
        "(VllmWorker TP0 pid=302) TEXT",
        "(RayWorkerWrapper pid=901, ip=192.0.2.11) TEXT",
        "RayWorkerWrapper pid=438, ip=192.0.2.6) TEXT",
        "(ServeReplica:llm:VLLMDeployment pid=1886) TEXT",
        "(APIServer pid=1) (EngineCore_DP6 pid=2454) (Worker_DP6_EP6 pid=2516) TEXT",
        "(Worker pid=1) (Worker_TP1 pid=1) TEXT",
        inner=True,
    ),
    row(
        "process tag without its closing bracket",
        rf"\(?(?P<process>{_OURS})(?: rank=(?P<rank>\d+))? pid=(?P<pid>\d+)(?:, ip=[\w.:-]+)? "
        r"(?=(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) (?:\d|\[)|Traceback \(most| +File \"|\()",
        "(EngineCore_DP0 pid=41 ERROR 11-30 14:15:02 [core.py:12] TEXT",
        "Worker_TP1 pid=41 ERROR 11-30 14:15:02 [core.py:12] TEXT",
        inner=True,
    ),
    row(
        "process tag of forks, in square brackets",
        r"\[(?P<process>[A-Za-z]\w*)(?:\] ?\[|,? )(?:rank=(?P<rank>\d+)(?:\] ?\[|,? ))?pid=(?P<pid>\d+)\](?: |$)",
        "[EngineCore_DP0][pid=1242] TEXT",
        "[EngineCore_DP0] [pid=1242] TEXT",
        "[EngineCore_DP0 pid=1242] TEXT",
        "[Worker rank=3 pid=1242] TEXT",
        inner=True,
    ),
    row(
        "Ray, a nameless process",
        r"\(pid=(?P<pid>\d+)(?:, ip=[\w.:-]+)?\)(?: |$)",
        "(pid=901) TEXT",
        "(pid=901, ip=192.0.2.11) TEXT",
        inner=True,
    ),
    row(
        "Ray, its own processes",
        r"\((?P<process>raylet|autoscaler|gcs_server)(?:,? [^)]{0,40})?\) ",
        "(autoscaler +9s) TEXT",
        "(raylet) TEXT",
        "(raylet, ip=192.0.2.11) TEXT",
        inner=True,
    ),
    row(
        "torch's rank",
        r"\[(?:rank|default|trainer)(?P<rank>\d+)\]:(?: |(?=\S)|$)",
        "[rank0]: TEXT",
        "[rank1]:TEXT",
        "[default0]: TEXT",
        inner=True,
    ),
    row(
        "mpirun --tag-output",
        r"\[\d+,(?P<rank>\d+)\]<std(?:out|err)>: ?",
        "[1,0]<stderr>: TEXT",
        "[1,12]<stdout>: TEXT",
    ),
    row(
        "torch's C++ log",
        r"\[(?P<glog>[IWEF])(?:(?P<time>\d{4} \d\d:\d\d:\d\d\.\d+))? ?(?P<file>[\w.]+\.\w+):(?P<line>\d+)\] ",
        "[rank1]:[E ProcessGroupNCCL.cpp:523] TEXT",
        "[W1130 15:00:59.793196071 utils.cpp:68] TEXT",
        "[rank0]:[E1219 01:11:00.120981455 ProcessGroupNCCL.cpp:1515] TEXT",
        inner=True,
    ),
    row(
        "Ray's own logger",
        rf"(?P<time>{DAY},\d+)\s+{LEVEL} (?P<file>[\w./-]+):(?P<line>\d+) -- ",
        "2025-02-26 11:14:54,614\tINFO worker.py:1636 -- TEXT",
        ends=True,
        inner=True,
    ),
    row(
        "Ray's C++ log",
        rf"\[(?P<time>{DAY}[.,]\d+) (?P<glog>[IWEFC]) (?P<pid>\d+) \d+\] (?:\([\w ]+\) )?"
        r"(?P<file>[\w./-]+):(?P<line>\d+): ",
        "[2025-02-26 11:14:54,614 E 902 1011] (raylet) node_manager.cc:3069: TEXT",
        "[2025-02-26 11:14:54,614 C 902 902] core_worker.cc:12: TEXT",
        ends=True,
        inner=True,
    ),
    row(
        "Ray Serve",
        rf"{LEVEL} (?P<time>{DAY},\d+) (?P<file>[\w.:-]+) (?P<line>\d+) -- ",
        "ERROR 2025-03-07 10:02:50,377 controller 1702 -- TEXT",
        ends=True,
        inner=True,
    ),
    # Its own mark stays with the text, level and all: it is how the message is known.
    row(
        "NCCL",
        rf"(?:\[(?P<time>{DAY})\] )?[A-Za-z0-9][\w.-]*:(?P<pid>\d+):\d+ \[\d+\] "
        r"(?:(?P<file>[\w./-]+\.(?:cc|h|cu)):(?P<line>\d+) )?(?=NCCL (?:WARN|INFO|TRACE)\b)",
        "node-1:312:988 [3] NCCL WARN Duplicate GPU detected",
        "node-1:312:988 [3] init.cc:991 NCCL WARN Duplicate GPU detected",
        "[2025-06-16 17:17:39] node-1:312:988 [3] init.cc:991 NCCL WARN Duplicate GPU detected",
        inner=True,
        ends=True,
    ),
    row(
        "oneCCL",
        r"(?P<time>\d{4}:\d\d:\d\d-\d\d:\d\d:\d\d):\( *(?P<pid>\d+)\) (?=\|CCL_(?:ERROR|WARN|INFO|DEBUG)\|)",
        "2025:03:21-09:15:10:( 1322) |CCL_ERROR| no peers",
        inner=True,
        ends=True,
    ),
    row(
        "CANN's plog",
        rf"\[{LEVEL}\] ?[A-Z_]+\((?P<pid>\d+),[^)]{{0,60}}\):(?P<time>\d{{4}}-\d\d-\d\d-\d\d:\d\d:\d\d[\d.]*) "
        r"\[(?P<file>[\w./-]+):(?P<line>\d+)\] ?(?:\d+ )?",
        "[ERROR] RUNTIME(1242,python3):2026-11-30-14:15:02.123.456 [task.cc:91]1301 TEXT",
        inner=True,
        ends=True,
    ),
    row(
        "CANN's error report",
        r"\[PID: (?P<pid>\d+)\] (?P<time>\d{4}-\d\d-\d\d-\d\d:\d\d:\d\d[\d.]*) ",
        "[PID: 1242] 2026-11-30-14:15:02.123.456 TEXT",
        inner=True,
    ),
    row(
        "absl and XLA",
        rf"(?P<time>{DAY}\.\d{{6}}): (?P<glog>[IWEF]) +(?P<file>[\w./+-]+):(?P<line>\d+)\] ",
        "2026-11-30 14:15:02.123456: E external/local_xla/xla/stream_executor/cuda/cuda_dnn.cc:9261] TEXT",
        inner=True,
        ends=True,
    ),
    row(
        "glog",
        r"(?P<glog>[IWEF])(?P<time>\d{4}(?:\d{4})? \d\d:\d\d:\d+\.\d+) +(?P<pid>\d+) "
        r"(?P<file>[\w./-]+):(?P<line>\d+)\] ",
        "E0806 21:52:46.350172 1 backend_model.cc:692] TEXT",
        "W20261130 14:15:02.123456  77 init.cc:9] TEXT",
        "E0000 00:00:1733000000.123456 1 cuda_dnn.cc:8310] TEXT",
        inner=True,
        ends=True,
    ),
)
