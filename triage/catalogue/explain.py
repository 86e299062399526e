"""Finding a record by what a user has in hand, and showing the whole of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import orjson

from triage.catalogue.fields import is_absent
from triage.catalogue.lookup import find, related
from triage.catalogue.page import TITLE_LENGTH, write_page
from triage.catalogue.record import RECORD_FIELDS, to_json
from triage.catalogue.templates import doubled
from triage.model import Catalogue, Cause, FixRecipe, Json

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
        The text: headings and code in column 0, so that code can be copied; control characters visible.
    """
    record = cause.record
    head = [cause.severity, cause.exception_class, cause.role, cause.scope, cause.owner]
    out = [f"{cause.slug}  ({', '.join(part for part in head if part)})", cause.title, cause.summary]
    out += [_section("Error message", _message(cause)), _section("What it means", _get(record, "documentation"))]
    out += [_section("When it happens", _get(record, "triggerScenarios"))]
    out += [_section("Common situations", _get(record, "commonSituations")), _section("Where", _where(cause))]
    out += [_code("Source code", _get(record, "sourceCode") or source_code)]
    out += [_section("Captures", _captures(cause)), *_fixes(cause)]
    out += [_section("Solutions", _numbered(_list(record, "solutions")))]
    for heading, name in (
        ("Example fix", "exampleFix"),
        ("Validation code", "validationCode"),
        ("Try / catch", "tryCatchPattern"),
        ("Type guard", "typeGuard"),
    ):
        out.append(_code(heading, _get(record, name)))
    out += [_section("Prevention tips", _bullets(_list(record, "preventionTips")))]
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
    return "\nor: ".join(lines) or None


def _where(cause: Cause) -> str:
    record, lines = cause.record, []
    file, line = _get(record, "filePath"), record.get("lineNumber")
    if file is not None:
        lines.append(f"{file}:{line}" if isinstance(line, int) else file)
    if (url := _get(record, "githubUrl")) is not None:
        lines.append(url)
    for site in cause.sites:
        place = f"{site.file} in {site.function}" if site.function else site.file
        lines.append(place + _releases(site.lines))
    return "\n".join(lines)


def _releases(lines: Mapping[str, int]) -> str:
    """Lines by release, runs of equal lines taken together."""
    parts = []
    for line, run in groupby(lines.items(), key=lambda entry: entry[1]):
        releases = [release for release, _ in run]
        span = releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"
        parts.append(f"{line} ({span})")
    return f": line {', '.join(parts)}" if parts else ""


def _captures(cause: Cause) -> str:
    lines = []
    for spec in cause.captures.values():
        unit = f" in {spec.unit}" if spec.unit else ""
        origin = "" if spec.source == "hole" else f", from {spec.source}: {spec.key}"
        lines.append(f"{spec.name}: {spec.type}{unit}{origin}")
    return "\n".join(lines)


def _fixes(cause: Cause) -> list[str]:
    solutions = [doubled(solution) for solution in _list(cause.record, "solutions")]
    # Fixes that were made of the solutions have a section of their own.
    computed = [fix for fix in cause.fixes if _changes(fix) or fix.title not in solutions]
    return [_section(f"Fix {number}", _fix(fix)) for number, fix in enumerate(computed, 1)]


def _fix(fix: FixRecipe) -> str:
    about = [fix.safety.replace("_", " "), fix.tradeoff, "an estimate" if fix.estimate else ""]
    lines = [f"{fix.title}  [{'; '.join(part for part in about if part)}]", *_changes(fix)]
    for label, text in (("only if", fix.when), ("only for releases", fix.versions), ("check", fix.verify)):
        if text:
            lines.append(f"{label}: {text}")
    return "\n".join(lines)


def _changes(fix: FixRecipe) -> list[str]:
    lines = [f"set {name} = {_value(value)}" for name, value in fix.set.items()]
    lines += [f"drop {name}" for name in fix.unset]
    lines += [f"set {name}={_value(value)} in the environment" for name, value in fix.env.items()]
    lines += [f"unset {name} in the environment" for name in fix.unset_env]
    lines += [f"install {package}" for package in fix.packages]
    return lines + [f"step: {step}" for step in fix.steps]


def _value(value: object) -> str:
    return str(value["text"]) if isinstance(value, Mapping) and "text" in value else str(value)


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
        for label in ("present", "absent", "process", "classes"):
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
