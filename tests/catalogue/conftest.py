"""Records to test with: the two public seed documents, and a small valid record of our own."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

SEEDS = Path(__file__).parent.parent / "data" / "seeds"

OWN: dict[str, Any] = {
    "id": "0123456789abcdef",
    "repo": "example/engine",
    "slug": "seats-above-rows",
    "errorMessage": "seats ({self.seats}) must not exceed rows ({self.rows}).",
    "messagePattern": None,
    "errorClass": "ValueError",
    "severity": "error",
    "documentation": "Each seat needs a row of its own.",
    "solutions": ["Lower the seats"],
    "schemaVersion": 2,
    "triage": {
        "slug": "seats-above-rows",
        "title": "--seats ({seats}) is above --rows ({rows})",
        "summary": "A seat needs a row, and {seats} seats were asked for {rows} rows.",
        "role": "root_cause",
        "scope": "startup",
        "owner": "config",
        "captures": {"seats": {"type": "int"}, "rows": {"type": "int"}},
        "fixes": [{"title": "at most {rows} seats", "set": {"--seats": "min(seats, rows)"}, "safety": "safe"}],
    },
}


@pytest.fixture
def seed_json() -> bytes:
    return (SEEDS / "record.json").read_bytes()


@pytest.fixture
def seed_record(seed_json: bytes) -> dict[str, Any]:
    record: dict[str, Any] = orjson.loads(seed_json)["record"]
    return record


@pytest.fixture
def seed_page() -> str:
    return (SEEDS / "page.txt").read_text(encoding="utf-8")


@pytest.fixture
def own() -> dict[str, Any]:
    return copy.deepcopy(OWN)


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A folder of record files: ``folder(**{"name": object or text})``."""

    def make(**files: Any) -> Path:
        for name, content in files.items():
            raw = content.encode() if isinstance(content, str) else orjson.dumps(content)
            suffix = "" if "." in name else ".json"
            path = tmp_path / "records" / f"{name}{suffix}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(raw)
        return tmp_path / "records"

    return make
