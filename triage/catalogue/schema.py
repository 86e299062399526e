"""The JSON Schema of record files, and the tables of fields that are made of it."""

from __future__ import annotations

from typing import Any

import orjson

from triage.catalogue.load import bundled_patterns

_PARTS = ("record", "triage", "variant", "when", "mistake", "capture", "fix", "site")


def schema() -> dict[str, Any]:
    """The JSON Schema of a record file.

    Raises:
        RecordError: the bundled files are missing.
    """
    found: dict[str, Any] = orjson.loads((bundled_patterns() / "schema.json").read_bytes())
    return found


def field_tables(document: dict[str, Any]) -> str:
    """The fields of a record, part by part, as Markdown tables.

    Args:
        document: the schema.

    Returns:
        A heading and a table for each part; what stands between the markers in ``patterns/README.md``.
    """
    out: list[str] = []
    for part in _PARTS:
        definition = document["$defs"][part]
        heading = "The record" if part == "record" else f"`{part}`"
        rows = [f"| `{name}` | {_says(document, entry)} |" for name, entry in definition["properties"].items()]
        out += [f"### {heading}", "", definition["description"], "", "| field | holds |", "|---|---|", *rows, ""]
    return "\n".join(out)


def _says(document: dict[str, Any], entry: dict[str, Any]) -> str:
    reference = entry.get("$ref", "").rpartition("/")[2]
    text = str(entry.get("description") or document["$defs"][reference]["description"])
    choices = entry.get("enum")
    if choices:
        text = f"One of {', '.join(f'`{choice}`' for choice in choices)}. {text}"
    return text.replace("|", "\\|").replace("{", "\\{")
