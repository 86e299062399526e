"""``vllm-triage learn``: what was read is used, listed, and forgotten."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from triage import cli

SOURCE = """\
class Rules:
    def check(self, slots):
        if slots < self.lanes:
            raise ValueError(f"the conveyor has {self.lanes} lanes, but {slots} slots are greased")
"""
LOG = """\
INFO 11-20 10:00:01 [api_server.py:1839] vLLM API server version 0.11.0
ERROR 11-20 10:00:09 [core.py:708] EngineCore failed to start.
ERROR 11-20 10:00:09 [core.py:708] Traceback (most recent call last):
ERROR 11-20 10:00:09 [core.py:708] ValueError: the conveyor has 8 lanes, but 3 slots are greased
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "checkout" / "vllm_conveyor"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "rules.py").write_text(SOURCE)
    (folder / "broken.py").write_text("def (:\n")
    monkeypatch.setenv("VLLM_TRIAGE_DATA", str(tmp_path / "data"))
    return folder


def report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, object]:
    (tmp_path / "a.log").write_text(LOG)
    assert cli.main(["--format", "json", str(tmp_path / "a.log")]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)["findings"][0]
    return found


def test_learned_messages_are_placed(package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """File, function, line and values of a plugin's message, after its sources were read and not before."""
    assert report(tmp_path, capsys)["site"] is None
    assert cli.main(["learn", str(package), "--as-version", "v1.0"]) == 0
    said = capsys.readouterr()
    assert said.out == "vllm-conveyor 1.0: 1 messages of 2 files\n"
    assert "not read: vllm_conveyor/broken.py: SyntaxError" in said.err
    found = report(tmp_path, capsys)
    assert found["captures"] == {"lanes": 8, "slots": 3}
    location = found["location"]
    assert isinstance(location, dict)
    assert (location["file"], location["line"], location["function"]) == ("vllm_conveyor/rules.py", 4, "Rules.check")
    assert (location["version"], location["basis"], location["url"]) == ("1.0", "catalogue", None)


def test_listed_and_forgotten(package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Versions come and go by themselves; the last one takes the package along."""
    for version in ("1.0", "1.1"):
        cli.main(["learn", str(package), "--as-version", version])
    capsys.readouterr()
    cli.main(["learn", "--list"])
    assert capsys.readouterr().out == "vllm-conveyor 1.0, 1.1\n"
    assert cli.main(["learn", "--remove", "vllm_conveyor==1.0", "--list", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert [(row["package"], row["versions"]) for row in rows] == [("vllm-conveyor", ["1.1"])]
    assert cli.main(["learn", "--remove", "vllm-conveyor==1.0"]) == 2
    assert "1.0 was not learned" in capsys.readouterr().err
    assert cli.main(["learn", "--remove", "vllm-conveyor"]) == 0
    capsys.readouterr()
    cli.main(["learn", "--list"])
    assert capsys.readouterr().out.startswith("nothing was learned yet")
    assert report(tmp_path, capsys)["site"] is None


def test_what_cannot_be_learned(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No version, no package, two of them under one version: one line that names the mend, and status 2."""
    for words in ([str(package)], [], ["--remove", "vllm-conveyor"], ["a", "b", "--as-version", "1"], ["--as-version"]):
        assert cli.main(["learn", *words]) == 2
        assert "hint: " in capsys.readouterr().err


def test_a_bundled_release_needs_no_learning(package: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """vLLM's releases are known; a fork is given a version of its own."""
    fork = package.with_name("vllm")
    package.rename(fork)
    assert cli.main(["learn", str(fork), "--as-version", "0.32.0"]) == 0
    assert "0.32.0+fork" in capsys.readouterr().out
    assert cli.main(["learn", str(fork), "--as-version", "0.32.0+fork"]) == 0
    assert capsys.readouterr().out.startswith("vllm 0.32.0+fork: 1 messages")


def test_a_damaged_index_names_the_mend(package: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The report comes without it, and says which package to forget; the list shows it, and forgetting it helps."""
    cli.main(["learn", str(package), "--as-version", "1.0"])
    index = tmp_path / "data" / "sites" / "vllm-conveyor.jsonl"
    (tmp_path / "a.log").write_text(LOG)
    for damaged in (b"{}\n", index.read_bytes()[:-5]):
        index.write_bytes(damaged)
        capsys.readouterr()
        assert cli.main([str(tmp_path / "a.log")]) == 0
        said = capsys.readouterr()
        assert "learn --remove vllm-conveyor" in said.err
        assert said.out
    index.write_text("{}\n")
    cli.main(["learn", "--list"])
    assert "is damaged" in capsys.readouterr().out
    assert cli.main(["learn", "--remove", "vllm-conveyor"]) == 0
    assert cli.main([str(tmp_path / "a.log")]) == 0


def test_nothing_of_the_package_runs(package: Path) -> None:
    """Sources are read as text."""
    (package / "__init__.py").write_text("raise SystemExit('this ran')\n")
    done = subprocess.run(
        [sys.executable, "-m", "triage", "learn", str(package), "--as-version", "1"], capture_output=True, check=True
    )
    assert b"this ran" not in done.stdout + done.stderr
