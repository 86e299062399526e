"""The index file as the report looks it up."""

from __future__ import annotations

from pathlib import Path

import pytest

from triage.catalogue.sites import Lines, SiteFile
from triage.errors import RecordError

INDEX = """\
{"schema":"vllm-triage/sites/1","package":"vllm","releases":["1.0","1.1","1.2"]}
{"file":"vllm/a.py"}
["raise","ValueError","Config.verify","budget ({self.budget}) must be at least the sequences ({seqs})","0:4,3,","a < b"]
["check","AssertionError","f","","1:9"]
{"file":"vllm/b.py"}
["log","WARNING","","the budget {budget} is below the sequences","0:7,-,2"]
"""


@pytest.fixture
def index(tmp_path: Path) -> SiteFile:
    path = tmp_path / "vllm.jsonl"
    path.write_text(INDEX, encoding="utf-8")
    return SiteFile(path)


def test_lines_by_release() -> None:
    """Moves add up, an empty one stays, a dash is a release without the site."""
    assert dict(Lines(("1.0", "1.1", "1.2"), "0:7,-,2")) == {"1.0": 7, "1.2": 9}
    assert dict(Lines(("1.0", "1.1", "1.2"), "1:5,")) == {"1.1": 5, "1.2": 5}


def test_sites_that_share_words_with_a_text(index: SiteFile) -> None:
    """The entry that shares more of the text comes first, with everything that the index has of it."""
    first, second = index.worded("ValueError: budget (64) must be at least the sequences (256)")
    assert (first.kind, first.of, first.file, first.function) == ("raise", "ValueError", "vllm/a.py", "Config.verify")
    assert (dict(first.lines), first.guard) == ({"1.0": 4, "1.1": 7, "1.2": 7}, "a < b")
    assert first.template is not None
    assert [hole.name for hole in first.template.holes] == ["budget", "seqs"]
    assert (second.file, second.function) == ("vllm/b.py", None)
    assert list(index.worded("completely different")) == []


def test_sites_of_a_file(index: SiteFile) -> None:
    """All of a file's sites, those without a text too; none for a file that is not known."""
    assert [(site.kind, site.template is None) for site in index.inside("vllm/a.py")] == [
        ("raise", False),
        ("check", True),
    ]
    assert [site.kind for site in index.inside("vllm/b.py")] == ["log"]
    assert list(index.inside("vllm/c.py")) == []


def test_damaged_index_is_named(tmp_path: Path) -> None:
    """A file of another form is an error that names the file."""
    path = tmp_path / "vllm.jsonl"
    path.write_text('{"schema": "x"}\n[]\n', encoding="utf-8")
    with pytest.raises(RecordError, match="damaged"):
        SiteFile(path).worded("budget must be")
