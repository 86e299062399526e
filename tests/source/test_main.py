"""The developer's command, run on small made-up releases."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from triage.source.__main__ import main

SOURCE = 'class EngineArgs:\n    def add_cli_args(parser):\n        parser.add_argument("--max-num-seqs", type=int)\n'
FRONTEND = (
    "from vllm.engine.arg_utils import EngineArgs\n"
    "def make_arg_parser(parser):\n    return EngineArgs.add_cli_args(parser)\n"
)


@pytest.fixture
def releases(tmp_path: Path) -> list[str]:
    words = []
    for release, lead in (("0.10.0", "\n\n"), ("0.9.0", "")):
        engine = tmp_path / release / "vllm" / "engine"
        engine.mkdir(parents=True)
        (engine / "arg_utils.py").write_text(SOURCE)
        (engine.parent / "entrypoints").mkdir()
        (engine.parent / "entrypoints" / "cli_args.py").write_text(FRONTEND)
        (engine / "core.py").write_text(lead + "raise RuntimeError(f'engine core {index} failed to start')\n")
        words.append(f"{release}={tmp_path / release}")
    return words


def test_locate_writes_lines_of_every_release(
    tmp_path: Path, releases: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Records in folders below are found; the place is that of the newest release, whatever the order of the words."""
    path = tmp_path / "causes" / "engine" / "failed.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(orjson.dumps({"errorMessage": "engine core {n} failed to start", "triage": {"slug": "failed"}}))
    assert main(["locate", "--records", str(tmp_path / "causes"), *releases]) == 0
    record = orjson.loads(path.read_bytes())
    assert record["triage"]["sites"] == [
        {
            "file": "vllm/engine/core.py",
            "function": None,
            "class": "RuntimeError",
            "template": "engine core {index} failed to start",
            "lines": {"0.9.0": 1, "0.10.0": 3},
        }
    ]
    assert (record["filePath"], record["lineNumber"]) == ("vllm/engine/core.py", 3)
    assert capsys.readouterr().out == "engine/failed.json: 1 sites, 0.9.0 to 0.10.0, 2 of 2 releases, written\n"


def test_a_record_found_nowhere_is_said_to_be(
    tmp_path: Path, releases: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A message that no release has is shown as such, and its record is only formatted."""
    path = tmp_path / "causes" / "nowhere.json"
    path.parent.mkdir()
    path.write_bytes(orjson.dumps({"errorMessage": "no such message anywhere"}, option=orjson.OPT_INDENT_2) + b"\n")
    before = path.read_bytes()
    assert main(["locate", "--records", str(tmp_path / "causes"), *releases]) == 0
    assert capsys.readouterr().out == "nowhere.json: 0 sites, in no release\n"
    assert path.read_bytes() == before


def test_the_index_locates_as_the_releases_do(tmp_path: Path, releases: list[str]) -> None:
    """Records get the same sites from the index; an assert's source, which the index lacks, stays in the record."""
    checked = {
        "file": "a.py",
        "function": None,
        "class": "AssertionError",
        "template": "assert x",
        "lines": {"0.9.0": 1},
    }
    record = {"errorMessage": "engine core {n} failed to start", "triage": {"slug": "failed", "sites": [checked]}}
    got = []
    index = str(tmp_path / "index.jsonl")
    assert main(["index", "--out", index, *releases]) == 0
    for name, words in (("roots", releases), ("index", ["--index", index])):
        path = tmp_path / name / "failed.json"
        path.parent.mkdir()
        path.write_bytes(orjson.dumps(record))
        assert main(["locate", "--records", str(path.parent), *words]) == 0
        got.append(orjson.loads(path.read_bytes())["triage"]["sites"])
    assert [site for site in got[1] if site != checked] == got[0]
    assert checked in got[1]


def test_flags_writes_the_file(tmp_path: Path, releases: list[str]) -> None:
    """The flags of all releases end up in one file."""
    out = tmp_path / "flags.json"
    assert main(["flags", "--out", str(out), *releases]) == 0
    assert orjson.loads(out.read_bytes())["flags"] == {
        "--max-num-seqs": [["0.9.0", "0.10.0", {"type": "int", "default": None}]]
    }


@pytest.mark.parametrize("word", ["latest=.", "0.9.0=nowhere", "0.9.0"])
def test_a_wrong_release_is_refused(tmp_path: Path, word: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A word that names no release or no package ends the command with one line and a hint."""
    assert main(["flags", "--out", str(tmp_path / "x.json"), word]) == 2
    error = capsys.readouterr().err.splitlines()
    assert error[0].startswith("error: ")
    assert error[1].startswith("hint: ")
    assert not (tmp_path / "x.json").exists()


def test_a_folder_without_records_is_refused(tmp_path: Path, releases: list[str]) -> None:
    """Nothing to locate is a mistake, not a success."""
    assert main(["locate", "--records", str(tmp_path / "none"), *releases]) == 2
