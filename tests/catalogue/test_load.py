from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from triage.catalogue import bundled_patterns, lint, load
from triage.catalogue.load import Flags, load_flags, record_files
from triage.errors import RecordError

Folder = Callable[..., Path]
SEEDS = Path(__file__).parent.parent / "data" / "seeds"


def refused(*directories: Path) -> RecordError:
    with pytest.raises(RecordError) as caught:
        load(directories, bundled=False)
    assert caught.value.hint
    return caught.value


def test_seeds_load_from_a_folder() -> None:
    """Both seed documents, dropped into a folder as they are, are two causes."""
    causes = load([SEEDS], bundled=False).causes
    assert {cause.id for cause in causes} == {"3ca77c0599b73dfa", "f5eb2fb0db7e5cea"}
    assert all(cause.user for cause in causes)


def test_seeds_win_over_the_bundled_records() -> None:
    """With the bundled records below them, the seeds replace what they match, and compute its fixes."""
    bundled, both = load().causes, load([SEEDS]).causes
    by_id = {cause.id: cause for cause in both}
    assert by_id["3ca77c0599b73dfa"].user
    assert by_id["3ca77c0599b73dfa"].fixes[0].set
    texts = [template.text for cause in both for template in cause.templates]
    message = by_id["3ca77c0599b73dfa"].templates[0].text
    assert texts.count(message) == 1
    assert len(both) == len(bundled)


def test_folders_are_read_at_any_depth(folder: Folder, own: dict[str, Any]) -> None:
    """Records and pages lie anywhere below; READMEs, the schema and hidden files are none."""
    root = folder(
        **{
            "deep/er/seats": own,
            "README.md": "# not a record",
            "schema.json": {},
            ".hidden.json": "{",
            "notes.yaml": "x",
        }
    )
    shutil.copy(SEEDS / "page.txt", root / "deep" / "page.md")
    assert len(load([root], bundled=False).causes) == 2


def test_layout_with_causes(folder: Folder, own: dict[str, Any]) -> None:
    """A folder laid out like the project's patterns is read from its causes."""
    root = folder(**{"causes/seats": own, "flags/vllm": {"releases": []}})
    assert [path.name for path in record_files(root)] == ["seats.json"]


def test_later_folders_win(tmp_path: Path, own: dict[str, Any]) -> None:
    """The same record in two folders: the later one counts."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.json").write_bytes(orjson.dumps({**own, "documentation": name}))
    (cause,) = load([tmp_path / "one", tmp_path / "two"], bundled=False).causes
    assert cause.record["documentation"] == "two"


def test_two_of_a_name_are_refused(folder: Folder, own: dict[str, Any]) -> None:
    """Two records of one folder under one name are an error that names both files."""
    error = refused(folder(a=own, b=own))
    assert error.file.endswith("b.json")
    assert "a.json" in error.message


@pytest.mark.parametrize(
    ("content", "field", "message"),
    [
        ('{"errorMessage": "x",\n "tags": [}', None, "line 2, column"),
        ("", None, "no valid JSON"),
        ("[]", None, "holds one object"),
        ('{"errorMessage": "x {y}", "messagePattern": "z (.+?)"}', "messagePattern", "errorMessage has"),
    ],
)
def test_broken_records_are_refused(folder: Folder, content: str, field: str | None, message: str) -> None:
    """A broken record stops loading with its file, field, reason and mend; nothing is skipped."""
    error = refused(folder(broken=content))
    assert error.file.endswith("broken.json")
    assert error.field == field
    assert message in error.message


def test_broken_page_is_refused(tmp_path: Path) -> None:
    """A text that is no page, or not UTF-8, stops loading too."""
    (tmp_path / "notes.txt").write_text("buy milk")
    assert "no page" in refused(tmp_path).message
    (tmp_path / "notes.txt").write_bytes(b"\xff\xfe")
    assert "UTF-8" in refused(tmp_path).message


def test_missing_folder_is_refused(tmp_path: Path) -> None:
    """A folder that is not there, or a file in its place, is an error that says so."""
    assert "no such folder" in refused(tmp_path / "gone").message
    (tmp_path / "file").write_text("")
    assert "is a file" in refused(tmp_path / "file").message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable_file_is_refused(folder: Folder, own: dict[str, Any]) -> None:
    """A record that may not be read is an error."""
    root = folder(x=own)
    (root / "x.json").chmod(0)
    assert "cannot be read" in refused(root).message


def test_broken_link_is_refused(tmp_path: Path) -> None:
    """A link that leads nowhere is an error, not a skipped file."""
    (tmp_path / "x.json").symlink_to(tmp_path / "gone.json")
    assert "cannot be read" in refused(tmp_path).message


def test_empty_folder_is_an_empty_catalogue(tmp_path: Path) -> None:
    """A folder without records loads as no causes."""
    assert load([tmp_path], bundled=False).causes == ()


def test_bundled_records_load() -> None:
    """All bundled record files are causes, in the order of their slugs, and not a user's."""
    causes = load().causes
    assert len(causes) == len(list((bundled_patterns() / "causes").rglob("*.json")))
    assert [cause.slug for cause in causes] == sorted(cause.slug for cause in causes)
    assert not any(cause.user for cause in causes)


def test_loading_from_anywhere(tmp_path: Path) -> None:
    """The bundled records are found from any working directory."""
    code = "from triage.catalogue import load; print(len(load().causes))"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) == len(load().causes)


def test_packaged_records_come_first(tmp_path: Path) -> None:
    """An installed package finds the records inside itself."""
    import triage

    package = tmp_path / "triage"
    shutil.copytree(Path(triage.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(bundled_patterns(), package / "_patterns")
    code = "from triage.catalogue import bundled_patterns, load; load(); print(bundled_patterns())"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert Path(done.stdout.strip()) == (package / "_patterns").resolve()


def test_missing_bundle_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package without its records says so."""
    # By way of sys.modules: the package's attribute of that name is the function.
    monkeypatch.setattr(sys.modules["triage.catalogue.load"], "_PACKAGE", tmp_path / "triage")
    with pytest.raises(RecordError, match="bundled records are missing"):
        load()


def test_loading_is_quick() -> None:
    """Loading takes about a millisecond of processor time per record at most."""
    load()
    start = time.process_time()
    count = len(load().causes)
    assert time.process_time() - start < 0.1 + 0.002 * count


def test_flags_by_release(tmp_path: Path) -> None:
    """Ranges of consecutive releases unfold to the flags of each release."""
    path = tmp_path / "vllm.json"
    ranges = {"--a": [["1.0", "1.2"]], "--b": [["1.1", "1.1"], ["2.0", "2.0"]]}
    path.write_bytes(orjson.dumps({"package": "vllm", "releases": ["1.0", "1.1", "1.2", "2.0"], "flags": ranges}))
    flags = load_flags(path)
    assert dict(flags) == {
        "1.0": frozenset({"--a"}),
        "1.1": frozenset({"--a", "--b"}),
        "1.2": frozenset({"--a"}),
        "2.0": frozenset({"--b"}),
    }
    assert len(flags) == 4
    assert "3.0" not in flags


def test_flags_file_may_be_missing(tmp_path: Path) -> None:
    """Without the file no flags are known."""
    assert load_flags(tmp_path / "gone.json") == {}


@pytest.mark.parametrize(
    "content",
    [
        "{",
        "[]",
        '{"releases": ["1"]}',
        '{"releases": ["1"], "flags": {"--a": [["1", "2"]]}}',
        '{"releases": 1, "flags": {"--a": 1}}',
    ],
)
def test_damaged_flags_are_told(tmp_path: Path, content: str) -> None:
    """A damaged flags file is an error that names it."""
    path = tmp_path / "vllm.json"
    path.write_text(content)
    with pytest.raises(RecordError) as caught:
        load_flags(path)
    assert caught.value.file == str(path)


def test_bundled_flags_are_flags() -> None:
    """The bundled flags, where generated, are two-hyphen names in every release."""
    flags = load().flags
    for release in flags:
        assert flags[release]
        assert all(flag.startswith("--") for flag in flags[release])
    assert isinstance(flags, Flags) or not flags


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_no_regular_file_is_refused(folder: Folder, own: dict[str, Any]) -> None:
    """A named pipe nobody writes to, a device without an end and a folder of a record's name are told, not read."""
    directory = folder(good=own)
    for name, make in (
        ("pipe.json", os.mkfifo),
        ("device.json", lambda path: os.symlink("/dev/zero", path)),
        ("page.txt", lambda path: os.symlink("/dev/zero", path)),
    ):
        make(directory / name)
        with pytest.raises(RecordError, match="is no regular file") as caught:
            load([directory], bundled=False)
        assert caught.value.file.endswith(name)
        assert "is no regular file" in {problem.message for problem in lint(directory)}
        (directory / name).unlink()


def test_a_huge_file_is_refused(folder: Folder) -> None:
    """No record has megabytes; the rest of the file is not read."""
    directory = folder(huge="{}")
    with (directory / "huge.json").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(RecordError, match="is larger than 4 MiB"):
        load([directory], bundled=False)


def test_a_link_to_a_record_is_read(folder: Folder, own: dict[str, Any], tmp_path: Path) -> None:
    """A mounted configuration is made of links."""
    directory = folder(good=own)
    (directory / "good.json").rename(tmp_path / "elsewhere")
    (directory / "good.json").symlink_to(tmp_path / "elsewhere")
    assert [cause.slug for cause in load([directory], bundled=False).causes] == ["seats-above-rows"]
