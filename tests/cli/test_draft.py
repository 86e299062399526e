"""``vllm-triage draft``: a record that recognises what it was made of, and texts of bug reports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from triage import cli

LOG = """\
INFO 11-20 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0
ERROR 11-20 10:00:09 [core.py:708] EngineCore failed to start.
ERROR 11-20 10:00:09 [core.py:708] Traceback (most recent call last):
ERROR 11-20 10:00:09 [core.py:708]   File "/usr/lib/python3.12/site-packages/acme/rules.py", line 12, in f
ERROR 11-20 10:00:09 [core.py:708]     raise ValueError(text)
ERROR 11-20 10:00:09 [core.py:708] ValueError: the conveyor '/opt/belt' at 10.1.2.3 has 8 lanes, but {3} of 4.5 are greased
"""
OTHER = LOG.replace("/opt/belt", "/srv/b/c").replace("10.1.2.3", "10.9.9.9").replace("8 lanes", "16 lanes")
HEALTHY = (
    "INFO 11-20 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0\nINFO:     Application startup complete.\n"
)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a.log"
    path.write_text(LOG)
    return path


def test_a_draft_recognises_the_message_with_other_values(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The record as it comes is one that --patterns takes, and it is met by the same message elsewhere."""
    folder = tmp_path / "records"
    folder.mkdir()
    assert cli.main(["draft", str(log), "-o", str(folder / "conveyor.json")]) == 0
    record = json.loads((folder / "conveyor.json").read_text())
    assert record["errorMessage"].startswith("the conveyor '{value}' at {value} has {value} lanes, but {{")
    assert (record["errorClass"], record["filePath"], record["lineNumber"]) == ("ValueError", "acme/rules.py", 12)
    (tmp_path / "b.log").write_text(OTHER)
    capsys.readouterr()
    assert cli.main(["--patterns", str(folder), "--format", "json", str(tmp_path / "b.log")]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["status"], report["findings"][0]["record"]["slug"]) == ("cause_found", record["slug"])
    assert [report["findings"][0]["captures"][name] for name in ("value", "value_3")] == ["/srv/b/c", 16]
    assert cli.main(["lint", str(folder)]) in (0, 1)
    assert "documentation" in capsys.readouterr().out


def test_a_draft_of_a_known_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the index has the message the template is that of the sources, with its place."""
    (tmp_path / "a.log").write_text("ValueError: Cannot find any of ['belts'] in the model's quantization config.\n")
    assert cli.main(["draft", str(tmp_path / "a.log")]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["errorMessage"] == ("Cannot find any of {keys} in the model's quantization config.")
    assert record["filePath"].startswith("vllm/")
    assert record["githubUrl"].endswith(f"{record['filePath']}#L{record['lineNumber']}")


def test_the_text_of_a_bug_report(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Versions, place, message and the lines around it; addresses are taken out."""
    assert cli.main(["draft", "--issue", str(log)]) == 0
    text = capsys.readouterr().out
    for expected in ("**vLLM:** 0.11.0", "acme/rules.py:12 in f", "`unknown_failure`", "raise ValueError(text)"):
        assert expected in text
    assert "10.1.2.3" not in text
    assert "has 8 lanes" in text


def test_a_wrong_verdict(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The same of a verdict, also of a healthy one."""
    (tmp_path / "a.log").write_text(
        "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"
    )
    assert cli.main(["draft", "--wrong", str(tmp_path / "a.log")]) == 0
    text = capsys.readouterr().out
    assert text.startswith("# Wrong verdict: ")
    assert "`batched-tokens-below-num-seqs`" in text
    (tmp_path / "b.log").write_text(HEALTHY)
    assert cli.main(["draft", "--wrong", str(tmp_path / "b.log")]) == 0
    assert "status healthy" in capsys.readouterr().out


def test_nothing_to_draft(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A known cause, a healthy log, an empty one, a file that is not there: one line and a hint."""
    (tmp_path / "known.log").write_text(
        "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"
    )
    (tmp_path / "healthy.log").write_text(HEALTHY)
    (tmp_path / "empty.log").write_text("")
    for name in ("known", "healthy", "empty", "missing"):
        assert cli.main(["draft", str(tmp_path / f"{name}.log")]) == 2
        assert "hint: " in capsys.readouterr().err
