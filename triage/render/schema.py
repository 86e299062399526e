"""The published JSON Schema of the report."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import orjson


def schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of ``vllm-triage/report/1``; ``$defs/line`` is a line of jsonl."""
    loaded: dict[str, Any] = orjson.loads(files("triage.render").joinpath("report.schema.json").read_bytes())
    return loaded
