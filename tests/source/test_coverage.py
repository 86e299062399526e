"""The table of what is known of each release."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from triage.errors import UsageError
from triage.source import coverage
from triage.source.index import Key, load_index

ROOT = Path(__file__).parent.parent.parent


def key(template: str, kind: str = "raise", of: str = "ValueError", function: str = "f") -> Key:
    return Key("vllm/a.py", function, kind, of, template, "", 0)


def test_messages_are_counted_once_and_places_each() -> None:
    """The last patch of a minor release stands for it; INFO calls are no messages, asserts without text are places."""
    known = {
        key("wrong {a}"): {"0.8.4": 1, "0.8.5": 2, "0.9.0": 3},
        key("wrong {a}", function="g"): {"0.8.5": 9},
        key("noticed", "log", "WARNING"): {"0.9.0": 4},
        key("started", "log", "INFO"): {"0.8.5": 5, "0.9.0": 5},
        key("", "check", "AssertionError"): {"0.8.5": 6},
    }
    causes = [{"sites": [{"lines": {"0.8.5": 2}}, {"lines": {"0.8.5": 9}}]}, {"sites": []}, {}]
    rows = coverage.table(["0.8.4", "0.8.5", "0.9.0"], known, causes).splitlines()[2:]
    assert rows == ["| 0.9.0 | 2 | 2 | 0 | 0 |", "| 0.8.5 | 1 | 2 | 1 | 1 |"]


def test_table_is_put_between_its_marks() -> None:
    """What stands around it stays; a file without marks is not written."""
    text = f"before\n{coverage.BEGIN}old\n{coverage.END}after\n"
    assert coverage.put(text, "new\n") == f"before\n{coverage.BEGIN}new\n{coverage.END}after\n"
    with pytest.raises(UsageError, match="no place"):
        coverage.put("before\nafter\n", "new\n")


def test_readme_shows_the_table_of_what_is_here() -> None:
    """Who adds a release or a cause writes the table anew: python -m triage.source coverage, ARCHITECTURE.md."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    causes = [orjson.loads(path.read_bytes())["triage"] for path in sorted(ROOT.glob("patterns/causes/**/*.json"))]
    made = coverage.table(*load_index((ROOT / "patterns/sites/vllm.jsonl").read_bytes()), causes)
    assert coverage.put(readme, made) == readme
