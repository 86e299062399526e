"""JSON and JSON lines, and the schema that describes them."""

from __future__ import annotations

import copy
import json
from dataclasses import fields, replace

import pytest
from jsonschema import Draft202012Validator
from report_examples import EXAMPLES, HOSTILE, SEED, SEED_ALL, SEED_REPORT

from triage.model import Finding, Fix, InputFacts, Report, Run
from triage.render import render, render_end, render_finding, schema


def _validator():
    return Draft202012Validator(schema())


def _line_validator():
    return Draft202012Validator({"$ref": "#/$defs/line", "$defs": schema()["$defs"]})


def test_the_schema_is_a_schema():
    """The published file is valid JSON Schema 2020-12."""
    Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_every_report_obeys_the_schema(name):
    """The object, and each line of jsonl, is as published."""
    _validator().validate(json.loads(render(EXAMPLES[name], "json")))
    for line in render(EXAMPLES[name], "jsonl").splitlines():
        _line_validator().validate(json.loads(line))


_WRONG = [
    (("status",), "fine"),
    (("schema",), "vllm-triage/report/2"),
    (("findings",), {}),
    (("findings", 0, "line"), "87"),
    (("findings", 0, "role"), "cause"),
    (("findings", 0, "scope"), "elsewhere"),
    (("findings", 0, "score"), 101),
    (("findings", 0, "captures", "max_num_seqs"), [256]),
    (("findings", 0, "record"), "slug"),
    (("findings", 0, "record", "slug"), None),
    (("findings", 0, "location", "basis"), "guess"),
    (("findings", 0, "location", "line"), 332.5),
    (("findings", 0, "restart_helps"), "no"),
    (("findings", 0, "count"), 0),
    (("findings", 0, "evidence"), "text"),
    (("findings", 0, "fixes", 0, "unset"), "--x"),
    (("findings", 0, "fixes", 0, "safety"), "dangerous"),
    (("findings", 0, "fixes", 0, "estimate"), None),
    (("findings", 0, "fixes", 0, "commands"), [1]),
    (("runs", 0, "version_basis"), "guess"),
    (("runs", 0, "args"), []),
    (("input", "lines"), -1),
    (("input", "sources"), None),
    (("missing",), "x"),
    (("hidden", "other"), 1),
    (("redacted", "tokens"), "1"),
]


@pytest.mark.parametrize(("path", "value"), _WRONG, ids=[".".join(map(str, path)) for path, _ in _WRONG])
def test_a_wrong_value_fails_the_schema(path, value):
    """A value of the wrong type, or outside its words, is no report."""
    report = json.loads(render(SEED_REPORT, "json"))
    assert _validator().is_valid(report)
    target = report
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    assert not _validator().is_valid(report)


def test_a_missing_field_fails_the_schema_and_an_added_one_does_not():
    """Each field of a finding is required; fields may be added anywhere."""
    report = json.loads(render(SEED_REPORT, "json"))
    for field in report["findings"][0]:
        lacking = copy.deepcopy(report)
        del lacking["findings"][0][field]
        assert not _validator().is_valid(lacking), field
    report["findings"][0]["later"] = report["later"] = {"x": 1}
    assert _validator().is_valid(report)


def test_every_field_of_the_model_is_in_the_json():
    """A field added to the model does not get lost on the way out."""
    report = json.loads(render(SEED_REPORT, "json"))
    for cls, value in (
        (Report, report),
        (Finding, report["findings"][0]),
        (Fix, report["findings"][0]["fixes"][0]),
        (Run, report["runs"][0]),
        (InputFacts, report["input"]),
    ):
        assert {each.name for each in fields(cls)} <= set(value)


def test_the_seed_report_is_as_the_contract_says():
    """Numbers are numbers, absent is null, and the fields have the contract's values."""
    report = json.loads(render(SEED_REPORT, "json"))
    finding = report["findings"][0]
    assert report["schema"] == "vllm-triage/report/1"
    assert finding["captures"] == {"max_num_batched_tokens": 64, "max_num_seqs": 256}
    assert finding["score"] == 100.0
    assert finding["site"] is None
    assert finding["rank"] is None
    assert finding["fixes"][1]["set"] == {"--max-num-seqs": 64}
    assert finding["location"]["basis"] == "catalogue"
    assert report["input"] == {"lines": 214, "bytes": 20480, "sources": ["stdin"], "limits": [], "files": []}


def test_the_message_comes_back_unchanged():
    """Escapes of JSON apart, nothing is added to the message, hostile as it may be."""
    finding = json.loads(render(HOSTILE, "json"))["findings"][0]
    assert finding["message"] == HOSTILE.findings[0].message.replace("\ud800", "\\ud800")
    assert finding["captures"]["large"] == 10**30


def test_odd_arguments_become_json():
    """Sets, tuples, bytes, huge and keyed-by-number values of arguments have a form in JSON."""
    args = json.loads(render(HOSTILE, "json"))["runs"][0]["args"]
    assert args == {"a": [1, 2], "b": [10**40, "\\ud800"], "c": {"3": "b'x'"}}


def test_deep_arguments_are_bounded():
    """An argument nested without end is cut, not an error."""
    deep: object = 1
    for _ in range(2000):
        deep = [deep]
    report = replace(SEED_REPORT, runs=(replace(SEED_REPORT.runs[0], args={"x": deep, "n": 1 << 5000}),))
    args = json.loads(render(report, "json"))["runs"][0]["args"]
    assert "..." in json.dumps(args["x"])
    assert args["n"] is None


def test_jsonl_is_a_line_for_each_finding_and_a_closing_one():
    """Findings in order, then the end with status and runs; each is one line however lines are split."""
    lines = render(SEED_ALL, "jsonl").splitlines()
    values = [json.loads(line) for line in lines]
    assert [value["type"] for value in values] == ["finding", "finding", "finding", "end"]
    assert values[-1]["status"] == "cause_found"
    assert values[-1]["runs"][0]["model"] == "Qwen/Qwen3-8B"
    assert lines[0] == render_finding(SEED)
    assert lines[-1] == render_end(SEED_ALL)
    assert len(render(HOSTILE, "jsonl").splitlines()) == 2


def test_a_finding_line_that_lies_about_its_type_fails_the_schema():
    """A line is either a finding or the end, and nothing else."""
    line = json.loads(render_finding(SEED))
    assert not _line_validator().is_valid({**line, "type": "end"})
    assert not _line_validator().is_valid({**line, "type": "other"})
