"""Finding a record by what a user has in hand, and showing the whole of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from triage.catalogue.advice import fix_sections, packed_sites, readable, unsaid_solutions
from triage.catalogue.fields import is_absent
from triage.catalogue.lookup import find, related
from triage.catalogue.page import TITLE_LENGTH, write_page
from triage.catalogue.record import RECORD_FIELDS, to_json
from triage.model import Catalogue, Cause, Json

WORDINGS = 4
"""Wordings of a message that the text shows."""

__all__ = ["as_json", "as_page", "as_text", "find", "related", "visible"]


def as_json(cause: Cause) -> str:
    """The record as it was read, as indented JSON text."""
    return orjson.dumps(orjson.loads(to_json(cause)), option=orjson.OPT_INDENT_2).decode()


def as_page(cause: Cause, catalogue: Catalogue | None = None) -> str:
    """The record as a page; with a catalogue, records related by slug are listed by their titles."""
    pairs = related(cause, catalogue) if catalogue is not None else []
    own = _list(cause.record, "relatedErrors")
    messages = [
        one.templates[0].text if one.templates else one.title for given, one in pairs if one and given not in own
    ]
    return write_page(cause, [message[:TITLE_LENGTH] for message in messages])


def as_text(cause: Cause, catalogue: Catalogue | None = None, source_code: str | None = None) -> str:
    """The whole record for a terminal.

    Args:
        cause: the cause.
        catalogue: where related records are looked up; without it they are listed as given.
        source_code: code around the site, read from the user's vLLM, shown where the record brings none.

    Returns:
        The text: what it means, when it happens, what fixes it, then the rest; headings and code in column 0, so
        that code can be copied; control characters visible.
    """
    record = cause.record
    labels = (
        ("severity", cause.severity),
        ("class", cause.exception_class),
        ("role", cause.role),
        ("scope", cause.scope),
        ("owner", cause.owner),
    )
    head = ", ".join(f"{label} {value}" for label, value in labels if value)
    out = [f"{cause.slug}  ({head})", readable(cause.title), readable(cause.summary)]
    out += [_section("Error message", _message(cause)), _section("What it means", _get(record, "documentation"))]
    out += [_section("When it happens", _get(record, "triggerScenarios"))]
    out += [_section("Common situations", _get(record, "commonSituations"))]
    out += [*fix_sections(cause), _section("Solutions", _numbered(unsaid_solutions(cause)))]
    out += [_code("Example fix", _get(record, "exampleFix"))]
    out += [_section("Prevention tips", _bullets(_list(record, "preventionTips"))), _section("Where", _where(cause))]
    out += [_code("Source code", _get(record, "sourceCode") or source_code), _section("Captures", _captures(cause))]
    for heading, name in (
        ("Validation code", "validationCode"),
        ("Try / catch", "tryCatchPattern"),
        ("Type guard", "typeGuard"),
    ):
        out.append(_code(heading, _get(record, name)))
    out += [_section("Related errors", _related(cause, catalogue)), _section("Facts", _facts(cause))]
    out += [_section("Sources", _bullets(cause.sources)), _section("Further fields", _further(record))]
    return visible("\n\n".join(part for part in out if part)) + "\n"


def visible(text: str) -> str:
    """Text with control characters spelled out, line feeds and tabs aside: a record may come from anywhere."""
    return "".join(
        char if char.isprintable() or char in "\n\t" else char.encode("unicode_escape").decode("ascii") for char in text
    )


def _message(cause: Cause) -> str | None:
    own = _get(cause.record, "errorMessage")
    texts = dict.fromkeys(([own] if own else []) + [template.text for template in cause.templates])
    lines = list(texts) + ([f"pattern: {cause.pattern}"] if cause.pattern is not None else [])
    left = len(lines) - WORDINGS
    if left > 1:
        lines[WORDINGS:] = [f"{left} further wordings (--format json has all)"]
    return "\nor: ".join(lines) or None


def _where(cause: Cause) -> str:
    record, lines = cause.record, []
    file, line = _get(record, "filePath"), record.get("lineNumber")
    if file is not None:
        lines.append(f"{file}:{line}" if isinstance(line, int) else file)
    if (url := _get(record, "githubUrl")) is not None:
        lines.append(url)
    return "\n".join([*lines, *packed_sites(cause.sites)])


def _captures(cause: Cause) -> str:
    lines = []
    for spec in cause.captures.values():
        unit = f" in {spec.unit}" if spec.unit else ""
        origin = "" if spec.source == "hole" else f", from {spec.source}: {spec.key}"
        lines.append(f"{spec.name}: {spec.type}{unit}{origin}")
    return "\n".join(lines)


def _related(cause: Cause, catalogue: Catalogue | None) -> str:
    if catalogue is None:
        return _bullets((*cause.related, *_list(cause.record, "relatedErrors")))
    lines = []
    for given, one in related(cause, catalogue):
        lines.append(given if one is None else f"{one.slug}: {one.title}")
    return _bullets(lines)


def _facts(cause: Cause) -> str:
    record = cause.record
    restart = {True: "yes", False: "no", None: None}[cause.restart_helps]
    rows: list[tuple[str, object]] = [
        ("id", cause.id),
        ("also known as", ", ".join(cause.aliases)),
        ("package", cause.package),
        ("releases", cause.versions),
        ("fixed in", cause.fixed_in),
        ("a restart helps", restart),
        ("follows from", ", ".join(cause.consequence_of)),
        ("takes precedence over", ", ".join(cause.outranks)),
        ("counts at levels", ", ".join(cause.levels)),
        ("handling", record.get("handlingStrategy")),
        ("error code", record.get("errorCode")),
        ("HTTP status", record.get("httpStatus")),
        ("error type", record.get("errorType")),
        ("tags", ", ".join(_list(record, "tags"))),
        ("repository", record.get("repo")),
        ("analysed", " ".join(str(record[name]) for name in ("analyzedSha", "analyzedAt") if _get(record, name))),
        ("file", cause.origin),
    ]
    if cause.when is not None:
        for label in ("present", "absent", "process", "classes", "frames"):
            rows.append((f"only with {label}", ", ".join(getattr(cause.when, label))))
    return "\n".join(f"{label}: {value}" for label, value in rows if not is_absent(value))


def _further(record: Mapping[str, Json]) -> str:
    """Fields not known to us, as JSON: a record shows all that it holds."""
    unknown = {name: value for name, value in record.items() if name not in RECORD_FIELDS and not is_absent(value)}
    return "\n".join(f"{name}: {orjson.dumps(value).decode()}" for name, value in unknown.items())


def _section(heading: str, body: str | None) -> str:
    if not body or not body.strip():
        return ""
    return f"{heading}\n" + "\n".join(f"  {line}" if line.strip() else "" for line in body.split("\n"))


def _code(heading: str, body: str | None) -> str:
    return f"{heading}\n\n{body.strip(chr(10))}" if body and body.strip() else ""


def _numbered(items: Sequence[str]) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


def _bullets(items: Sequence[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _get(record: Mapping[str, Json], name: str) -> str | None:
    value = record.get(name)
    return value if isinstance(value, str) and not is_absent(value) else None


def _list(record: Mapping[str, Json], name: str) -> tuple[str, ...]:
    value = record.get(name)
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()
