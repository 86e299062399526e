from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, get_args

import jsonschema
import orjson
import pytest

from triage.catalogue import bundled_patterns, extension, record, schema
from triage.catalogue.schema import field_tables
from triage.model import Owner, Role, Safety, Scope

SEEDS = Path(__file__).parent.parent / "data" / "seeds"
DOCUMENT = schema()
DEFINITIONS = DOCUMENT["$defs"]
VALIDATOR = jsonschema.Draft202012Validator(DOCUMENT)


def complaints(data: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(data)]


def test_schema_is_a_schema() -> None:
    """The published schema is valid."""
    jsonschema.Draft202012Validator.check_schema(DOCUMENT)


@pytest.mark.parametrize("path", sorted((bundled_patterns() / "causes").rglob("*.json")), ids=lambda path: path.stem)
def test_bundled_record_fits(path: Path) -> None:
    """Every bundled record fits the schema, and ships no source code."""
    data = orjson.loads(path.read_bytes())
    assert complaints(data) == []
    assert not data.get("sourceCode")


def test_seed_fits(seed_json: bytes, own: dict[str, Any]) -> None:
    """The seed fits with and without its wrapper, and so does our own example."""
    assert complaints(orjson.loads(seed_json)) == []
    assert complaints(orjson.loads(seed_json)["record"]) == []
    assert complaints(own) == []


@pytest.mark.parametrize(
    ("definition", "fields"),
    [
        ("record", record.RECORD_FIELDS),
        ("triage", extension.EXTENSION_FIELDS),
        ("variant", extension.VARIANT_FIELDS),
        ("when", extension.WHEN_FIELDS),
        ("capture", extension.CAPTURE_FIELDS),
        ("fix", extension.FIX_FIELDS),
        ("site", extension.SITE_FIELDS),
    ],
)
def test_schema_and_reader_know_the_same_fields(definition: str, fields: tuple[str, ...]) -> None:
    """The schema lists just the fields that are read, in the same order."""
    assert tuple(DEFINITIONS[definition]["properties"]) == fields


def test_reader_reads_every_field() -> None:
    """Every field of a record has a type in the reader."""
    typed = {*record.TEXT_FIELDS, *record.WHOLE_FIELDS, *record.CODE_FIELDS, *record.LIST_FIELDS, "triage"}
    assert typed == set(record.RECORD_FIELDS)


@pytest.mark.parametrize(
    ("definition", "field", "choices"),
    [
        ("triage", "role", get_args(Role)),
        ("triage", "scope", get_args(Scope)),
        ("triage", "owner", get_args(Owner)),
        ("fix", "safety", get_args(Safety)),
        ("capture", "type", extension.TYPES),
        ("capture", "source", extension.SOURCES),
    ],
)
def test_choices(definition: str, field: str, choices: tuple[str, ...]) -> None:
    """The schema's choices are those of the model."""
    assert tuple(DEFINITIONS[definition]["properties"][field]["enum"]) == choices


def test_every_field_is_described() -> None:
    """No field is without a description."""
    for name in ("record", "triage", "variant", "when", "capture", "fix", "site"):
        for field, entry in DEFINITIONS[name]["properties"].items():
            reference = entry.get("$ref", "").rpartition("/")[2]
            assert entry.get("description") or DEFINITIONS[reference]["description"], f"{name}.{field}"


@pytest.mark.parametrize(
    "change",
    [
        {"errorMessage": None},
        {"triage": {"titel": "x"}},
        {"triage": {"role": "x"}},
        {"triage": {"fixes": [{"set": {}}]}},
        {"triage": {"fixes": [{"title": "x", "set": {"seats": 1}}]}},
        {"triage": {"captures": {"a b": {}}}},
        {"lineNumber": "7"},
        {"solutions": "one"},
    ],
)
def test_schema_refuses_what_the_reader_refuses(own: dict[str, Any], change: dict[str, Any]) -> None:
    """Mistakes that the reader refuses do not fit the schema either."""
    changed = copy.deepcopy(own) | change
    assert complaints(changed)
    _, flaws = record.read_record(changed, "x", user=True)
    assert flaws


def test_readme_has_the_fields_of_the_schema() -> None:
    """The tables in the README are those made of the schema.

    To accept changes of the schema:
    python -c "from triage.catalogue.schema import field_tables, schema; print(field_tables(schema()))"
    """
    text = (bundled_patterns() / "README.md").read_text(encoding="utf-8")
    start, end = "<!-- fields: made of schema.json -->\n\n", "\n<!-- end of fields -->"
    assert text.partition(start)[2].partition(end)[0] == field_tables(DOCUMENT)


def test_readme_names_the_rules() -> None:
    """The README's naming examples are what the names module does."""
    from triage.catalogue.templates import parse_template

    text = (bundled_patterns() / "README.md").read_text(encoding="utf-8")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `{")]
    assert len(rows) >= 12
    for row in rows:
        for template in row[1].split("`")[1::2]:
            name = row[2].split("`")[1]
            assert parse_template(template).holes[0].name == name, template
