"""The marks of releases, as they are loaded."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest
from packaging.version import Version

from triage.catalogue.load import bundled_patterns
from triage.catalogue.marks import load_marks
from triage.errors import RecordError

SIZE_LIMIT = 340_000
"""Bytes of the bundled file, which is read at every start: two milliseconds for each 150 kB."""

DATA = {
    "releases": [["0.9.0"], ["0.10.0", "0.10.1"], ["0.11.0"]],
    "marks": [{"file": "utils.py", "text": "args: ", "lines": {"5": "0.9.0-0.10.1", "7": "0.11.0"}}],
    "frames": [
        {
            "file": "vllm/a.py",
            "function": "main",
            "bodies": [
                {"calls": [1, 3], "starts": {"10": "0.9.0", "12": "0.10.0-0.10.1"}},
                {"calls": [1], "starts": {"10": "0.11.0"}},
            ],
        }
    ],
}


def written(folder: Path, data: object) -> Path:
    path = folder / "vllm.json"
    path.write_bytes(orjson.dumps(data))
    return path


def test_lines_come_with_all_their_releases(tmp_path: Path) -> None:
    """A range stands for the known releases between its ends; a line that the statement never had is none."""
    releases, (statement, _) = load_marks(written(tmp_path, DATA))
    assert releases == (("0.9.0",), ("0.10.0", "0.10.1"), ("0.11.0",))
    assert (statement.file, statement.text, statement.function) == ("utils.py", "args: ", None)
    assert dict(statement.lines) == {5: {"0.9.0", "0.10.0", "0.10.1"}, 7: {"0.11.0"}}
    assert (len(statement.lines), statement.lines.get(6)) == (2, None)


def test_function_has_the_lines_of_all_its_forms(tmp_path: Path) -> None:
    """Lines are counted from where the function starts in a release; one line may be that of several forms."""
    _, (_, function) = load_marks(written(tmp_path, DATA))
    assert (function.file, function.text, function.function) == ("vllm/a.py", None, "main")
    assert dict(function.lines) == {
        11: {"0.9.0", "0.11.0"},
        13: {"0.9.0", "0.10.0", "0.10.1"},
        15: {"0.10.0", "0.10.1"},
    }
    assert (len(function.lines), function.lines.get(12)) == (3, None)


def test_no_file_is_no_marks(tmp_path: Path) -> None:
    """A catalogue without the file works, and infers nothing."""
    assert load_marks(tmp_path / "vllm.json") == ((), ())


@pytest.mark.parametrize("damage", [{"releases": 3}, {"marks": [{"file": "a.py"}]}, {"frames": None}])
def test_damaged_file_is_refused(tmp_path: Path, damage: dict[str, object]) -> None:
    """A wrong shape is said to be one, with the file's name."""
    path = written(tmp_path, {**DATA, **damage})
    with pytest.raises(RecordError, match="damaged") as caught:
        load_marks(path)
    assert caught.value.file == str(path)


def test_range_of_an_unknown_release_is_refused(tmp_path: Path) -> None:
    """A range must end at releases that the file lists; it is looked at when its line is asked for."""
    mark = {"file": "a.py", "text": "b", "lines": {"1": "0.9.0-0.12.0"}}
    _, marks = load_marks(written(tmp_path, {**DATA, "marks": [mark]}))
    with pytest.raises(RecordError, match=r"0\.9\.0-0\.12\.0"):
        marks[0].lines[1]


def test_bundled_file_is_whole() -> None:
    """Its releases are in order, every range is, and it is small enough to be read at every start."""
    path = bundled_patterns() / "releases" / "vllm.json"
    data = orjson.loads(path.read_bytes())
    releases = [release for group in data["releases"] for release in group]
    assert releases == sorted(set(releases), key=Version)
    spans = [spans for mark in data["marks"] for spans in mark["lines"].values()]
    spans += [spans for mark in data["frames"] for body in mark["bodies"] for spans in body["starts"].values()]
    for first, _, last in (span.partition("-") for ranges in spans for span in ranges.split()):
        assert {first, last or first} <= set(releases)
        assert Version(first) <= Version(last or first)
    assert path.stat().st_size < SIZE_LIMIT
