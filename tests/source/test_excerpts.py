"""The installed source around a place."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from triage import cli
from triage.model import Location
from triage.source.excerpts import excerpt

TEXT = "".join(f"line {number}\n" for number in range(1, 31))
METADATA = "Name: vllm\nVersion: {}\n"


def no_lines(place: Location) -> Sequence[Mapping[str, int]]:
    """Nothing is known of other releases."""
    return ()


def at(line: int, version: str | None = "1.0", file: str = "vllm/config/a.py") -> Location:
    return Location(file, line, "f", version, "catalogue")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "vllm" / "config").mkdir(parents=True)
    (tmp_path / "vllm" / "config" / "a.py").write_text(TEXT)
    (tmp_path / "vllm-1.0.dist-info").mkdir()
    (tmp_path / "vllm-1.0.dist-info" / "METADATA").write_text(METADATA.format("1.0+cpu"))
    return tmp_path


@pytest.mark.parametrize(
    ("line", "first", "last"), [(12, "line 7", "line 17"), (2, "line 1", "line 7"), (29, "line 24", "")]
)
def test_lines_around(folder: Path, line: int, first: str, last: str) -> None:
    """Five before and behind, fewer at the file's ends; a build of the release counts as it."""
    found = excerpt(at(line), [folder], no_lines)
    assert found is not None
    assert (found.version, found.line, found.lines[0], found.lines[-1]) == ("1.0+cpu", line, first, last)
    assert found.lines[found.line - found.first] == f"line {line}"


def test_another_release_is_shown_at_its_own_line(folder: Path) -> None:
    """The same message's line in the installed release; nothing where that is not known, or not one."""
    lines: list[Mapping[str, int]] = [{"1.0": 20, "1.1": 12}]
    found = excerpt(at(12, "1.1"), [folder], lambda place: lines)
    assert found is not None
    assert found.lines[found.line - found.first] == "line 20"
    assert excerpt(at(12, "1.1"), [folder], no_lines) is None
    lines.append({"1.0": 25, "1.1": 12})
    assert excerpt(at(12, "1.1"), [folder], lambda place: lines) is None


def test_the_first_folder_that_has_it(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Folders without the package are passed over."""
    assert excerpt(at(3), [tmp_path_factory.mktemp("empty"), folder], no_lines) is not None
    assert excerpt(at(3), [], no_lines) is None
    assert excerpt(at(300), [folder], no_lines) is None


@pytest.mark.parametrize("file", ["/etc/passwd", "../secret.py", "vllm/../../x.py", "vllm/config/a.txt", "/tmp/a.py"])
def test_a_log_opens_no_other_file(folder: Path, file: str) -> None:
    """Paths come from the log: only sources inside a folder of packages are read."""
    (folder / "vllm" / "config" / "a.txt").write_text(TEXT)
    (folder.parent / "secret.py").write_text(TEXT)
    assert excerpt(at(3, None, file), [folder], no_lines) is None


def test_the_command_shows_it(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In text with the line marked, in JSON with numbers; a hint on standard error where it is not there."""
    log = tmp_path / "a.log"
    log.write_text(
        "INFO 11-20 10:00:01 [api_server.py:1839] vLLM API server version 1.0\n"
        "ERROR 11-20 10:00:09 [core.py:708] Traceback (most recent call last):\n"
        'ERROR 11-20 10:00:09 [core.py:708]   File "/opt/site-packages/vllm/config/a.py", line 12, in f\n'
        "ERROR 11-20 10:00:09 [core.py:708] ValueError: an error that only this test has\n"
    )
    assert cli.main(["--source-from", str(folder), str(log)]) == 0
    said = capsys.readouterr()
    assert "source vllm/config/a.py, as installed 1.0+cpu" in said.out
    assert "> 12 | line 12" in said.out
    assert said.err == ""
    cli.main(["--source-from", str(folder), "--format", "json", str(log)])
    found = json.loads(capsys.readouterr().out)["findings"][0]["excerpt"]
    assert (found["line"], found["lines"][0], found["lines"][-1]) == (12, [7, "line 7"], [17, "line 17"])
    for format in ("markdown", "html"):
        cli.main(["--source-from", str(folder), "--format", format, str(log)])
        assert "12 | line 12" in capsys.readouterr().out
    cli.main(["--source", str(log)])
    said = capsys.readouterr()
    assert "line 12\n" not in said.out
    assert "--source-from DIR" in said.err
