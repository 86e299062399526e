"""The index of sites: one entry for each message and file, whatever release moved it."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.errors import TriageError
from triage.source.__main__ import main
from triage.source.index import SiteReader, dump_index, load_index, merge, pack, unpack

OLD = """
def verify(a, b):
    if a < b:
        raise ValueError(f"a ({a}) is below b ({b})")
    assert a
"""
NEW = f"import os\n{OLD}    raise RuntimeError('gone')\n"


def release(root: Path, source: str) -> Path:
    (root / "vllm").mkdir(parents=True)
    (root / "vllm" / "a.py").write_text(source, encoding="utf-8")
    return root


@given(st.lists(st.none() | st.integers(1, 99999), min_size=1).filter(any))
def test_packed_lines_come_back(lines: list[int | None]) -> None:
    """Whatever releases have a site, and wherever it moves, its lines survive."""
    assert dict(unpack(pack(lines))) == {place: line for place, line in enumerate(lines) if line is not None}


def test_same_message_of_two_releases_is_one_entry(tmp_path: Path) -> None:
    """What only moved stands once with both lines; what is new has one; code of an assert is not kept."""
    reader = SiteReader()
    known = merge({}, "1.0", reader.read(release(tmp_path / "old", OLD)))
    known = merge(known, "1.1", reader.read(release(tmp_path / "new", NEW)))
    got = {(key.kind, key.of, key.template, key.guard): lines for key, lines in known.items()}
    assert got == {
        ("raise", "ValueError", "a ({a}) is below b ({b})", "a < b"): {"1.0": 4, "1.1": 5},
        ("check", "AssertionError", "", ""): {"1.0": 5, "1.1": 6},
        ("raise", "RuntimeError", "gone", ""): {"1.1": 7},
    }


def test_index_survives_writing_and_reading(tmp_path: Path) -> None:
    """Releases, keys and lines come back; twice the same message in a function keeps both places."""
    twice = "def f(x):\n    if x:\n        raise ValueError('no')\n    raise ValueError('no')\n"
    known = merge({}, "1.0", SiteReader().read(release(tmp_path, twice)))
    data = dump_index("vllm", ["1.0"], known)
    releases, again = load_index(data)
    assert (releases, again) == (["1.0"], known)
    assert sorted(line for lines in again.values() for line in lines.values()) == [3, 4]
    assert dump_index("vllm", releases, again) == data


def test_a_release_is_added_by_one_command_and_replaced_by_the_same(tmp_path: Path) -> None:
    """The command adds to the file that is there; a release that it has already is read anew."""
    out = tmp_path / "index.jsonl"
    old, new = release(tmp_path / "old", OLD), release(tmp_path / "new", NEW)
    assert main(["index", "--out", str(out), f"1.0={old}"]) == 0
    assert main(["index", "--out", str(out), f"1.1={new}"]) == 0
    both = out.read_bytes()
    assert load_index(both)[0] == ["1.0", "1.1"]
    assert main(["index", "--out", str(out), f"1.1={new}"]) == 0
    assert out.read_bytes() == both


@pytest.mark.parametrize("data", [b"", b"{}\n", b'{"schema": "vllm-triage/sites/9", "releases": []}\n'])
def test_another_file_is_refused(data: bytes) -> None:
    """What is no index is named as such, not overwritten."""
    with pytest.raises(TriageError):
        load_index(data)
