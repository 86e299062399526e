"""JSON log lines, lines of pairs and rows of exports read as what the program printed."""

from __future__ import annotations

from typing import NamedTuple

import orjson
import pytest

from triage.model import Line, Record
from triage.read.envelopes import to_records


def records(text: str) -> list[Record]:
    return list(to_records((Line("stdin", 1, 0, text),)))


class Form(NamedTuple):
    """A form: what one line of it says about the text TEXT."""

    name: str
    line: str
    pod: str | None = None
    time: str | None = None
    level: str | None = None
    pid: int | None = None
    file: str | None = None
    at: int | None = None


FORMS = [
    Form("Docker json-file", '{"log":"TEXT\\n","stream":"stderr","time":"2026-11-30T14:15:02Z"}', time="2026-11-30T14:15:02Z"),
    Form(
        "vLLM's JSON_FORMAT",
        '{"time":"2026-11-30 14:15:02","level":"ERROR","message":"TEXT","filename":"core.py","lineno":12,"process":41}',
        None, "2026-11-30 14:15:02", "ERROR", 41, "core.py", 12,
    ),
    Form("structlog", '{"event":"TEXT","level":"error","timestamp":"2026-11-30T14:15:02Z"}', None, "2026-11-30T14:15:02Z", "ERROR"),
    Form("zap", '{"level":"error","ts":1733.5,"caller":"engine/core.go:12","msg":"TEXT"}', None, "1733.5", "ERROR", None, "core.go", 12),
    Form("zerolog", '{"level":"warn","time":1733000000,"message":"TEXT"}', None, "1733000000", "WARNING"),
    Form("pino", '{"level":50,"time":1733000000000,"pid":41,"hostname":"h1","msg":"TEXT"}', "h1", "1733000000000", "ERROR", 41),
    Form("bunyan", '{"name":"x","hostname":"h1","pid":41,"level":40,"msg":"TEXT","v":0}', "h1", None, "WARNING", 41),
    Form(
        "python-json-logger",
        '{"asctime":"2026-11-30 14:15:02,123","levelname":"ERROR","pathname":"/opt/vllm/core.py","lineno":12,"message":"TEXT"}',
        None, "2026-11-30 14:15:02,123", "ERROR", None, "core.py", 12,
    ),
    Form("Python's levelno", '{"levelno":40,"msg":"TEXT"}', level="ERROR"),
    Form(
        "loguru",
        '{"text":"TEXT","record":{"level":{"name":"ERROR","no":40},"line":12,"file":{"name":"core.py"},"process":{"id":41},'
        '"time":{"repr":"2026-11-30 14:15:02"},"message":"TEXT"}}',
        None, "2026-11-30 14:15:02", "ERROR", 41, "core.py", 12,
    ),
    Form(
        "Elastic's common schema",
        '{"@timestamp":"2026-11-30T14:15:02Z","log.level":"error","message":"TEXT","log":{"origin":{"file":{"name":"core.py","line":12}}}}',
        None, "2026-11-30T14:15:02Z", "ERROR", None, "core.py", 12,
    ),
    Form("ELK", '{"_source":{"message":"TEXT","kubernetes":{"pod":{"name":"vllm-3"}}},"_index":"x"}', "vllm-3"),
    Form("OpenTelemetry", '{"timestamp":"17","severityText":"ERROR","body":{"stringValue":"TEXT"}}', None, "17", "ERROR"),
    Form("Loki", '{"line":"TEXT","labels":{"pod":"vllm-3"},"timestamp":"2026-11-30T14:15:02Z"}', "vllm-3", "2026-11-30T14:15:02Z"),
    Form("Fluent Bit in Kubernetes", '{"log":"TEXT","kubernetes":{"pod_name":"vllm-3","container_name":"v"}}', "vllm-3"),
    Form("Google Cloud", '{"severity":"ERROR","jsonPayload":{"message":"TEXT"},"timestamp":"2026-11-30T14:15:02Z"}', None, "2026-11-30T14:15:02Z", "ERROR"),
    Form("Google Cloud, text", '{"textPayload":"TEXT","resource":{"labels":{"pod_name":"vllm-3"}}}', "vllm-3"),
    Form("Azure", '{"TimeGenerated":"2026-11-30T14:15:02Z","LogMessage":"TEXT","PodName":"vllm-3"}', "vllm-3", "2026-11-30T14:15:02Z"),
    Form("Azure container apps", '{"TimeStamp":"2026-11-30T14:15:02Z","Log":"TEXT"}', None, "2026-11-30T14:15:02Z"),
    Form("journald", '{"__REALTIME_TIMESTAMP":"1733000000000000","_PID":"41","_HOSTNAME":"h1","PRIORITY":"3","MESSAGE":"TEXT"}', "h1", "1733000000000000", None, 41),
    Form("journald, bytes", '{"__REALTIME_TIMESTAMP":"17","MESSAGE":[84,69,88,84]}', None, "17"),
    Form("fluentd", '2026-11-30 14:15:02 +0000 kube.vllm: {"log":"TEXT"}', None, "2026-11-30 14:15:02 +0000"),
    Form("fluent-bit", '[0] kube.vllm: [1733000000.12, {"log"=>"TEXT"}]', None, "1733000000.12"),
    Form("fluent-bit 2", '[0] kube.vllm: [[1733000000.12, {}], {"log"=>"TEXT", "stream"=>"stderr"}]', None, "1733000000.12"),
    Form("docker's model runner", 'time="2026-11-30T14:15:02Z" level=info msg="TEXT" component=vllm', None, "2026-11-30T14:15:02Z"),
    Form("logfmt", 'ts=2026-11-30T14:15:02Z caller=engine/core.go:12 level=warn msg="TEXT"', None, "2026-11-30T14:15:02Z", "WARNING", None, "core.go", 12),
    Form("CloudWatch's export", "1733000000123,TEXT", None, "1733000000123"),
    Form("CloudWatch's export, quoted", '1733000000123,"TEXT"', None, "1733000000123"),
    Form("behind kubectl's clock", '2026-11-30T14:15:01Z {"level":"error","msg":"TEXT"}', None, "2026-11-30T14:15:01Z", "ERROR"),
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_what_a_form_says_is_kept(form: Form) -> None:
    """The text is what the program printed; pod, clock, level, process and place stand in the record."""
    (got,) = records(form.line)
    assert (got.text, got.pod, got.time, got.level, got.pid, got.logger_file, got.logger_line) == ("TEXT", *form[2:])


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_vllms_prefix_inside_wins(form: Form) -> None:
    """vLLM's own prefix inside of the text is innermost."""
    if "84,69" in form.line:
        pytest.skip("spelled in bytes")
    (got,) = records(form.line.replace("TEXT", "(EngineCore pid=7) INFO 11-30 14:15:09 [x.py:3] TEXT"))
    assert (got.text, got.process, got.pid, got.level, got.time) == ("TEXT", "EngineCore", 7, "INFO", "11-30 14:15:09")
    assert (got.logger_file, got.logger_line) == ("x.py", 3)


@pytest.mark.parametrize(
    "line",
    [
        '{"levelname": "ERROR", "message": "failed", "exc_info": "Traceback (most recent call last):\\n  x\\nValueError: no"}',
        'level=error msg="failed\\nTraceback (most recent call last):\\n  x\\nValueError: no" ts=1',
        '1733000000123,"failed\nTraceback (most recent call last):\n  x\nValueError: no"',
    ],
)
def test_a_traceback_in_a_field_is_lines(line: str) -> None:
    """A traceback in the text or in a field of its own gives a record for each line."""
    if "\n" in line:
        line = orjson.dumps({"log": line.split(",", 1)[1][1:-1], "stream": "stderr"}).decode()
    texts = [record.text for record in records(line)]
    assert texts == ["failed", "Traceback (most recent call last):", "  x", "ValueError: no"]


@pytest.mark.parametrize(
    "line",
    [
        '{"model": "m", "messages": [{"role": "user", "content": "ValueError: no"}]}',
        '{"id": "1", "object": "text_completion", "choices": [{"text": "ValueError: no"}]}',
        '{"text": "ValueError: no", "index": 0}',
        '{"event": "ValueError: no"}',
        '{"architectures": ["LlamaForCausalLM"], "log": "x"}',
        "{'message': 'a Python dict'}",
        '{"message": 3}',
        '{"message": "cut off',
        'msg="x" and prose',
        "level=3 is the highest",
        'level=info msg="x" then prose',
        "1733000000,5",
        '"msg"',
    ],
)
def test_what_is_no_log_line_stays(line: str) -> None:
    """Requests, answers, configurations and prose are no log lines."""
    assert [record.text for record in records(line)] == [line]


def test_an_empty_line_is_one() -> None:
    """A blank line that Docker wrapped is a blank line."""
    (got,) = records('{"log":"\\n","stream":"stderr","time":"2026-11-30T14:15:02Z"}')
    assert (got.text, got.time) == ("", "2026-11-30T14:15:02Z")


def test_quoted_by_tritons_server() -> None:
    """Triton's server quotes a message with its line breaks spelled out."""
    line = r'I0806 21:52:45.863589 1 pb_stub.cc:366] "Failed to start: OSError: You are\nMake sure"'
    assert [record.text for record in records(line)] == ["Failed to start: OSError: You are", "Make sure"]


def test_a_relays_level_in_pairs_is_none_of_the_line() -> None:
    """Docker's model runner logs all lines of a program at one level."""
    (got,) = records('time="2026-11-30T14:15:02Z" level=error msg="Loading: 50%" component=vllm')
    assert got.level is None


def test_hostile_json_is_bounded() -> None:
    """Deep nesting and long lines come back as they are, without an error."""
    deep = '{"data":' * 5000 + "1" + "}" * 5000
    assert records(deep)[0].text == deep
    long = '{"msg": "' + "x" * 300_000 + '"}'
    assert records(long)[0].text == long
