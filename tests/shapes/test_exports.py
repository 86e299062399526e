"""What consoles and launchers make of a log: files they export, the newest line first, lines that a logger passes on."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]

FAILED = """\
INFO 03-09 07:12:40 [__init__.py:239] Automatically detected platform cuda.
INFO 03-09 07:12:44 [api_server.py:1043] vLLM API server version 0.8.5
WARNING 03-09 07:12:45 [utils.py:2267] Found ulimit of 20000 and failed to automatically increase with error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n
Traceback (most recent call last):
  File "/opt/venv/bin/vllm", line 6, in <module>
    sys.exit(main())
             ^^^^^^
  File "/opt/venv/lib/python3.12/site-packages/vllm/config.py", line 3106, in _get_and_verify_max_len
    raise ValueError(
ValueError: User-specified max_model_len (9000) is greater than the derived max_model_len (max_position_embeddings=2048 or model_max_length=None in model's config.json). This may lead to incorrect model outputs or CUDA errors. To allow overriding this maximum, set the env var VLLM_ALLOW_LONG_MAX_MODEL_LEN=1
"""
HEALTHY = """\
WARNING 03-09 07:12:45 [utils.py:2267] Found ulimit of 20000 and failed to automatically increase with error current limit exceeds maximum limit. This can cause fd limit errors like `OSError: [Errno 24] Too many open files`. Consider increasing with ulimit -n
INFO 03-09 07:12:58 [launcher.py:28] Available routes are:
INFO:     Started server process [1]
INFO:     Application startup complete.
INFO:     192.0.2.7:51034 - "POST /v1/completions HTTP/1.1" 200 OK
"""
USAGE = """\
usage: vllm serve [model_tag] [options]
vllm serve: error: unrecognized arguments: --max-number-seqs 12
"""


def _clock(index: int) -> str:
    return f"2026-03-09T07:12:{40 + index // 3:02d}.{index * 37 % 1000:03d}Z"


def _table(
    header: list[str], row: Callable[[int, str], list[str]], quoting: int = csv.QUOTE_MINIMAL, end: int = 1
) -> Callable[[str], str]:
    def export(log: str) -> str:
        out = io.StringIO()
        writer = csv.writer(out, quoting=quoting)  # type: ignore[arg-type]
        writer.writerow(header)
        writer.writerows([row(index, line) for index, line in enumerate(log.splitlines())][::end])
        return out.getvalue()

    return export


def _cells(log: str) -> str:
    """A collector that put the lines of a traceback into one cell."""
    before, traceback = log.split("Traceback", 1)
    out = io.StringIO()
    csv.writer(out).writerows(
        [
            ["Date", "Message"],
            *([_clock(0), line] for line in before.splitlines()),
            [_clock(9), f"Traceback{traceback}"],
        ]
    )
    return out.getvalue()


def _document(entry: Callable[[int, str], object], indent: int | None = 2, end: int = 1) -> Callable[[str], str]:
    return lambda log: json.dumps([entry(i, line) for i, line in enumerate(log.splitlines())][::end], indent=indent)


def _google(index: int, line: str) -> object:
    return {"textPayload": line, "insertId": f"x{index}", "timestamp": _clock(index), "severity": "ERROR"}


def _loki(log: str) -> str:
    values = [[str(1764512102123000000 + index), line] for index, line in enumerate(log.splitlines())]
    return json.dumps({"status": "success", "data": {"result": [{"stream": {"app": "vllm"}, "values": values}]}})


def _elastic(log: str) -> str:
    hits = [
        {"_id": str(i), "_source": {"@timestamp": _clock(i), "message": line}}
        for i, line in enumerate(log.splitlines())
    ]
    return json.dumps({"took": 3, "hits": {"hits": hits}}, indent=2)


def _notebook(log: str) -> str:
    output = {"name": "stderr", "output_type": "stream", "text": log.splitlines(keepends=True)}
    return json.dumps({"cells": [{"cell_type": "code", "outputs": [output], "source": ["import vllm\n"]}]}, indent=1)


def _each(form: str) -> Callable[[str], str]:
    return lambda log: "\n".join(
        form.format(clock=_clock(index)[:-1].replace("T", " "), line=line, n=index + 1)
        for index, line in enumerate(log.splitlines())
    )


def _reversed(log: str) -> str:
    return "\n".join(reversed(log.splitlines()))


SHAPES: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("A3 Datadog's table", _table(["Date", "Host", "Service", "Content"], lambda i, x: [_clock(i), "gpu-1", "vllm", x], csv.QUOTE_ALL)),
    ("A3 Splunk's table", _table(["_raw", "_time", "host"], lambda i, x: [x, _clock(i), "gpu-1"], csv.QUOTE_ALL)),
    ("A3 Grafana's table", _table(["labels", "Time", "Line", "id"], lambda i, x: ['{"pod":"vllm-0"}', _clock(i), x, "7_a"])),
    ("A3 Azure's table", _table(["TimeGenerated [UTC]", "LogEntry_s", "Log_s"], lambda i, x: [_clock(i), "", x])),
    ("A3 CloudWatch's table, newest first", _table(["@timestamp", "@message"], lambda i, x: [_clock(i), x], end=-1)),
    ("A3 a table, a traceback in one cell", _cells),
    ("A3 Google Cloud's document", _document(_google)),
    ("A3 Google Cloud's document, newest first", _document(_google, end=-1)),
    ("A3 Google Cloud's document on one line", _document(_google, indent=None)),
    ("A3 Loki's answer", _loki),
    ("A3 Elastic's hits", _elastic),
    ("A3 a list of lines", lambda log: json.dumps({"state": "failed", "logs": log.splitlines()}, indent=2)),
    ("A3 a notebook's file", _notebook),
    ("A2 newest first", _reversed),
    ("A2 newest first, behind clocks", lambda log: _reversed(_each("{clock} {line}")(log))),
    ("A3 passed on by Python's logger", _each("{clock} - launcher - INFO - {line}")),
    ("A3 passed on by loguru", _each("{clock} | INFO     | launcher:stream:41 - {line}")),
    ("A3 passed on without a clock", _each("INFO:launcher:{line}")),
    ("A3 passed on as errors", _each("{clock} - launcher - ERROR - {line}")),
    ("A7 indented by a tab", _each("\t{line}")),
    ("A3 an envelope that nobody knows", _each("[base] <{clock}> {line}")),
    ("A7 a page of HTML", lambda log: "<pre>\n" + _each('<span class="l"><a href="#{n}">{n}</a> {line}</span>')(log) + "\n</pre>"),
    ("A7 a page of HTML, a division each", _each('<div class="line"><span>{line}</span></div>')),
)  # fmt: skip


@pytest.mark.parametrize(("_name", "made"), SHAPES, ids=[name for name, _ in SHAPES])
def test_the_cause_is_named_from_an_export(_name: str, made: Callable[[str], str], diagnose: Diagnose) -> None:
    """The failure in the export has its cause, its numbers and its place; evidence quotes the export's own line."""
    text = made(FAILED)
    report = diagnose(text)
    (finding,) = report.findings
    assert finding.record is not None
    assert finding.record.slug == "max-model-len-above-derived"
    assert finding.captures["max_model_len"] == 9000
    assert finding.location is not None
    assert finding.location.line == 3106
    lines = [line.rstrip("\r") for line in text.split("\n")]
    assert all(quoted.strip() in (line.strip() for line in lines) for quoted in finding.evidence)


@pytest.mark.parametrize(("_name", "made"), [s for s in SHAPES if "one cell" not in s[0]])
def test_an_export_of_a_healthy_log_claims_no_cause(_name: str, made: Callable[[str], str], diagnose: Diagnose) -> None:
    """A warning that gives an error as an example stays one, whatever stands before it."""
    assert not diagnose(made(HEALTHY)).findings


@pytest.mark.parametrize("form", ["{clock} - launcher - INFO - {line}", "INFO:launcher:{line}"])
def test_a_usage_message_that_is_passed_on(form: str, diagnose: Diagnose) -> None:
    """A level of a relay does not hide what a command line's parser says."""
    (finding,) = diagnose(_each(form)(USAGE)).findings
    assert finding.record is not None
    assert finding.record.slug == "unrecognized-arguments"


def test_what_failed_last_counts_where_the_newest_line_stands_first(diagnose: Diagnose) -> None:
    """A server that served and then failed has not recovered, though its start stands below the failure."""
    served = (
        f"INFO 03-09 07:10:0{n} [loggers.py:116] Engine 000: Avg prompt throughput: 1.0 tokens/s\n" for n in range(8)
    )
    log = (
        "INFO:     Application startup complete.\n"
        + "".join(served)
        + (
            "ERROR 03-09 07:12:09 [multiproc_executor.py:146] Worker proc VllmWorker-1 died unexpectedly (exit code: -9), shutting down executor.\n"
        )
    )
    report = diagnose(_reversed(log))
    assert report.status == "cause_found"
    assert report.findings[0].record is not None
    assert report.findings[0].record.slug == "worker-process-died"


@pytest.mark.parametrize(
    "wording",
    [
        "fd limit errors like `OSError: [Errno 24]\nToo many open files`",
        "errors such as `OSError: [Errno 24] Too many open files`",
    ],
)
def test_an_error_given_as_an_example_is_none(wording: str, diagnose: Diagnose) -> None:
    """A paste that lost its envelope and broke its lines still tells an example from an error."""
    assert not diagnose(f"x Found ulimit of 20000. This can cause {wording}. Consider increasing\n").findings


def test_newest_first_keeps_the_files_own_line_numbers(diagnose: Diagnose) -> None:
    """What a viewer printed backwards is read forwards; the report names the lines as the file has them."""
    sample = Path(__file__).parents[2] / "samples" / "real" / "0.32.0-batched-tokens-below-num-seqs" / "input.log"
    lines = sample.read_text(encoding="utf-8").splitlines()
    backwards = list(reversed(lines))
    forth = diagnose("\n".join(lines)).findings[0]
    back = diagnose("\n".join(backwards)).findings[0]
    assert back.record == forth.record
    assert dict(back.captures) == dict(forth.captures)
    assert back.evidence_line is not None
    assert backwards[back.evidence_line - 1] == back.evidence[0]
