"""The envelopes of containers, clusters, machines and job schedulers: what stands around the lines of a whole program.

Their levels are those of a channel (all of standard error is "error" to some) and say nothing of the line: they are
left out.
"""

from __future__ import annotations

from triage.read.prefix import BEGINS, DAY, ISO, Prefix, row

_MONTH = r"(?:[A-Z][a-z]{2}|\d{1,2}月)"
_TAG = r"[\w.-]+ (?:[\w./@()-]+\[(?P<pid>\d+)\]|kernel|systemd): "
HOSTS: tuple[Prefix, ...] = (
    row(
        "CRI",
        rf"(?P<time>{ISO}) (?:stdout|stderr) [FP](?: |$)",
        "2026-03-18T07:40:55.111222333Z stderr F TEXT",
        "2026-03-18T07:40:55.111222333+08:00 stdout F TEXT",
    ),
    row(
        "CloudWatch, aws logs tail",
        r"(?P<time>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}\+00:00) (?P<pod>[\w.$-][\w.$\[\]-]*(?:/[\w.$\[\]-]+)+) ",
        "2026-11-30T14:15:02.123000+00:00 ecs/vllm/0a1b2c3d TEXT",
        "2026-11-30T14:15:02.123000+00:00 AllTraffic/i-0a1b2c3d TEXT",
    ),
    row(
        "Loki, logcli",
        rf"(?P<time>{ISO}) \{{(?=\w+=\")(?:[^{{}}]*?\bpod=\"(?P<pod>[^\"]*)\")?[^{{}}]{{0,2000}}\}} ",
        '2026-11-30T14:15:02Z {app="vllm", pod="vllm-0"} TEXT',
        '2026-11-30T14:15:02+01:00 {app="vllm"} TEXT',
    ),
    row(
        "GitLab",
        rf"(?P<time>{ISO}) \d\d[OE](?:\+ ?| |$)",
        "2026-11-30T14:15:02.123456Z 00O TEXT",
        "2026-11-30T14:15:02.123456Z 01E TEXT",
    ),
    row(
        "GitLab's sections",
        r"section_(?:start|end):\d+:[\w.-]+(?:\[[^\]]{0,100}\])?(?: |$)",
        "section_start:1733000000:step_script[collapsed=true] TEXT",
    ),
    row(
        "journald, short-iso and rsyslog",
        rf"(?P<time>{ISO}) {_TAG}",
        "2026-11-30T14:15:02+0000 gpu-1 vllm[32308]: TEXT",
        "2026-11-30T14:15:02.123456+01:00 gpu-1 kernel: TEXT",
    ),
    row(
        "syslog, RFC 5424",
        rf"<\d{{1,3}}>1 (?P<time>{ISO}|-) \S+ \S+ (?:(?P<pid>\d+)|\S+) \S+ (?:-|(?:\[[^\]]*\])+) ?\ufeff?",
        "<34>1 2026-11-30T14:15:02.123Z gpu-1 vllm 77 ID47 - TEXT",
        '<34>1 2026-11-30T14:15:02.123Z gpu-1 vllm - - [x@1 a="b"] TEXT',
    ),
    row(
        "journald and syslog, RFC 3164",
        rf"(?:<\d{{1,3}}>)?(?P<time>{_MONTH} [ \d]?\d \d\d:\d\d:\d\d(?:\.\d+)?) {_TAG}",
        "May 20 14:20:23 host vllm[32308]: TEXT",
        "6月 10 14:20:23 host vllm[32308]: TEXT",
        "May  2 14:20:23.123456 host vllm[32308]: TEXT",
        "<34>May 20 14:20:23 host vllm[32308]: TEXT",
        "May 20 14:20:23 host kernel: TEXT",
    ),
    row(
        "journald, short-monotonic and short-unix",
        rf"(?:\[ *\d+\.\d{{3,6}}\]|(?P<time>1\d{{9}}\.\d{{6}})) {_TAG}",
        "[   41.877120] host vllm[32308]: TEXT",
        "1764512102.123456 host vllm[32308]: TEXT",
    ),
    row(
        "journald, short-full",
        rf"[A-Z][a-z]{{2}} (?P<time>{DAY}) [A-Z]{{2,5}} {_TAG}",
        "Mon 2026-11-30 14:15:02 UTC host vllm[32308]: TEXT",
    ),
    # The kernel's clock since boot, absolute (-T), relative (-d), of the day (-H); its facility and level (-x).
    row(
        "dmesg",
        r"(?:<\d{1,3}>|[a-z]{4,8} *:[a-z]{3,6} *: )?"
        r"\[(?: *\d+\.\d{3,6}|(?P<time>[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4})"
        r"| *[+<] *\d+\.\d{6}>?|[A-Z][a-z]{2} ?\d+ \d\d:\d\d)\] ",
        "[41877.120345] TEXT",
        "[    7.120345] TEXT",
        "<3>[41877.120345] TEXT",
        "kern  :err   : [41877.120345] TEXT",
        "[Wed Nov  4 10:11:12 2026] TEXT",
        "[  +0.000005] TEXT",
        "[Nov30 14:15] TEXT",
    ),
    row(
        "kubectl and docker --timestamps",
        rf"(?:- )?(?P<time>{ISO})(?: |\t|$)",
        "2024-06-28T06:11:52.685300953Z TEXT",
        "2024-06-28T06:11:52+08:00 TEXT",
        "- 2024-06-22T20:17:30.186+00:00 TEXT",
    ),
    row("kubectl --prefix", r"\[pod/(?P<pod>[\w.-]+)/[\w.-]+\](?: |$)", "[pod/vllm-0/vllm] TEXT"),
    row(
        "buildkite and Jenkins",
        rf"(?: *\| )?\[(?P<time>{ISO})\](?: |$)",
        "[2026-02-24T20:21:58Z] TEXT",
        "  | [2026-02-24T20:21:58Z] TEXT",
    ),
    row(
        "gh run view --log",
        rf"(?P<pod>[\w(][^\t\n]{{0,150}})\t[^\t\n]{{1,150}}\t\ufeff?(?={ISO} )",
        "serve (3.12)\tRun tests\t2026-11-30T14:15:02.1234567Z TEXT",
        "serve\tUNKNOWN STEP\t\ufeff2026-11-30T14:15:02.1234567Z TEXT",
    ),
    row(
        "GitHub Actions and Azure pipelines",
        r"##\[(?:error|warning|notice|debug|group|section|command|endgroup)\]",
        "##[error]TEXT",
    ),
    # Compose pads the names so that the bars stand below each other: two blanks, or the number of the container.
    row(
        "docker compose",
        rf"(?P<pod>(?=[\w.-]*[A-Za-z])[A-Za-z0-9][\w.-]*)(?:(?<=[-_]\d{{1,4}}) +| {{2,}}| (?=\| ?{BEGINS}))\| ?",
        "llm-1       | TEXT",
        "vllm_1  | TEXT",
        "vllm  | TEXT",
        "vllm | (Worker pid=9) TEXT",
    ),
    row("podman-compose", r"\[(?P<pod>[A-Za-z0-9][\w.-]*)\] +\| ?", "[llm]        | TEXT"),
)
