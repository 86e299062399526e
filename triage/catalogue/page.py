"""A record as a page of text: read, and written.

A page has the record's content under headings, each between blank lines. What a page does not have,
a record read from one lacks too: the ``triage`` object, ``sourceCodeStart`` and the like. The slug and
the pattern are derived as the records derive them. Sections that pages do not have elsewhere
("Prevention tips", "Tags", ...) are written only where a record has them, so that it comes back whole.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from triage.catalogue.blocks import Blocks, join_blocks, split_blocks
from triage.catalogue.fields import is_absent
from triage.catalogue.record import RECORD_FIELDS, derived_slug
from triage.catalogue.templates import parse_template, template_to_pattern
from triage.errors import RecordError
from triage.model import Cause, Json

TITLE_LENGTH = 60
"""Characters after which pages cut a title."""

_SHA_LENGTH = 10
_MESSAGE, _MEANING, _SOURCE = "Error message", "What it means", "Source"
_SOLUTIONS, _EXAMPLE, _WHEN, _RELATED = "Solutions", "Example fix", "When it happens", "Related errors"
_PATTERN, _TIPS, _TAGS, _HANDLING, _CODE, _STATUS, _SLUG = (
    "Message pattern",
    "Prevention tips",
    "Tags",
    "Handling strategy",
    "Error code",
    "HTTP status",
    "Slug",
)
_HEADINGS = (
    _MESSAGE,
    _PATTERN,
    _MEANING,
    _SOURCE,
    _SOLUTIONS,
    _EXAMPLE,
    _WHEN,
    _TIPS,
    _TAGS,
    _HANDLING,
    _CODE,
    _STATUS,
    _SLUG,
    _RELATED,
)
_FIRST = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+) · (?P<severity>[^·]+?)(?: · (?P<type>[^·]+?))?\s*")
_THROWN = re.compile(r"(?:Thrown|Raised|Logged) at (?P<file>\S.*?)(?::(?P<line>\d+))?\s*")
_PINNED = re.compile(r"View on GitHub(?: \(pinned to (?P<sha>[0-9a-f]+)\))?\s*")
_FOOTER = re.compile(
    r"(?:AI-assisted analysis of (?P<repo>\S+?)@(?P<sha>[0-9a-f]+)(?: \((?P<date>[^)]*)\))?\. )?"
    r"Data as JSON: \S*?/(?P<id>[^/\s]+?)\.(?: Report an issue: GitHub\.)?\s*"
)
_NUMBER = re.compile(r"(\d+)[.)] ")
_BULLET = re.compile(r"[•*-] ")
_TRIGGER, _SITUATIONS = "Trigger: ", "Common situations: "


def read_page(text: str, origin: str) -> dict[str, Json]:
    """Read a page.

    Args:
        text: the page.
        origin: the file it came from, for messages.

    Returns:
        A record object, without wrapper: the known fields in order, null where the page has nothing.
        Text before and behind the page proper is kept as ``leadingText`` and ``trailingText``, and a title
        that is not the start of the message as ``title``.

    Raises:
        RecordError: it is no such page: the first line, or the message, is missing.
    """
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    heads = ((index, _FIRST.fullmatch(line)) for index, line in enumerate(lines))
    first, head = next(((index, found) for index, found in heads if found is not None), (0, None))
    if head is None:
        hint = "a page starts with 'owner/repo · severity · ErrorClass'; keep other texts outside the folder"
        raise RecordError("this text is no page of a record", hint, file=origin)
    footer_at = next((index for index in range(len(lines) - 1, first, -1) if _FOOTER.fullmatch(lines[index])), None)
    footer = _FOOTER.fullmatch(lines[footer_at]) if footer_at is not None else None
    title, sections = _sections(lines[first + 1 : footer_at if footer_at is not None else len(lines)])
    message, pattern = sections.get(_MESSAGE), sections.get(_PATTERN)
    if message is None and pattern is None and title and len(title) < TITLE_LENGTH and not _is_cut(title):
        message = title
    if message is None and pattern is None:
        hint = "give the whole message under 'Error message'"
        raise RecordError("is missing", hint, file=origin, field=_MESSAGE)
    record: dict[str, Json] = dict.fromkeys(RECORD_FIELDS)
    del record["triage"]
    record.update(repo=head["repo"], severity=head["severity"], errorClass=head["type"], errorMessage=message)
    derived = template_to_pattern(parse_template(message)) if message is not None else None
    record["messagePattern"] = pattern or derived
    record["documentation"] = sections.get(_MEANING)
    if footer is not None:
        record.update(id=footer["id"], analyzedSha=footer["sha"], analyzedAt=footer["date"])
    _read_source(record, sections.get(_SOURCE, ""))
    _read_lists(record, sections)
    blocks = split_blocks(sections.get(_EXAMPLE, ""))
    record.update(exampleFix=blocks.fix, validationCode=blocks.validation)
    record.update(tryCatchPattern=blocks.try_catch, typeGuard=blocks.type_guard)
    record["triggerScenarios"], record["commonSituations"] = _read_when(sections.get(_WHEN, ""))
    identity = record["id"]
    record["slug"] = sections.get(_SLUG) or derived_slug(
        message or pattern, identity if isinstance(identity, str) else None
    )
    if title != (message or "")[:TITLE_LENGTH].rstrip():
        record["title"] = title
    _keep(record, "leadingText", lines[:first])
    _keep(record, "trailingText", lines[footer_at + 1 :] if footer_at is not None else [])
    return record


def write_page(cause: Cause, related: Sequence[str] = ()) -> str:
    """Write a record as a page.

    Args:
        cause: the cause; its record is what is written.
        related: titles of related errors besides those that the record names.

    Returns:
        The page, without a line end behind its last line.
    """
    record = cause.record
    message, pattern = _text(record, "errorMessage"), _text(record, "messagePattern")
    derived = template_to_pattern(parse_template(message)) if message is not None else None
    head = [_text(record, "repo") or cause.package, cause.severity, cause.exception_class]
    out = [_text(record, "leadingText"), " · ".join(part for part in head if part)]
    out.append(_text(record, "title") or (message or cause.title)[:TITLE_LENGTH].rstrip())
    titles = dict.fromkeys([*_texts(record, "relatedErrors"), *(title[:TITLE_LENGTH].rstrip() for title in related)])
    blocks = Blocks(
        _text(record, "exampleFix"),
        _text(record, "validationCode"),
        _text(record, "tryCatchPattern"),
        _text(record, "typeGuard"),
    )
    trigger, situations = _text(record, "triggerScenarios"), _text(record, "commonSituations")
    slug = _text(record, "slug") or cause.slug
    sections: dict[str, str | None] = {
        _MESSAGE: message,
        _PATTERN: pattern if pattern != derived else None,
        _MEANING: _text(record, "documentation"),
        _SOURCE: _write_source(record),
        _SOLUTIONS: "\n".join(f"{n}. {solution}" for n, solution in enumerate(_texts(record, "solutions"), 1)),
        _EXAMPLE: join_blocks(blocks),
        _WHEN: "\n\n".join(
            label + entry for label, entry in ((_TRIGGER, trigger), (_SITUATIONS, situations)) if entry is not None
        ),
        _TIPS: _bullets(_texts(record, "preventionTips")),
        _TAGS: _bullets(_texts(record, "tags")),
        _HANDLING: _text(record, "handlingStrategy"),
        _CODE: _number_or_text(record, "errorCode"),
        _STATUS: _number_or_text(record, "httpStatus"),
        _SLUG: slug if slug != derived_slug(message or pattern, cause.id) else None,
        _RELATED: _bullets(titles),
    }
    for heading in _HEADINGS:
        section = sections[heading]
        if section:
            out += [heading, section]
    out += [_footer(record, cause), _text(record, "trailingText")]
    return "\n\n".join(part for part in out if part is not None)


def _sections(lines: list[str]) -> tuple[str, dict[str, str]]:
    """The title, and each section's text without the one blank line on either side."""
    starts: list[tuple[int, str]] = []
    waiting = list(_HEADINGS)
    for index, line in enumerate(lines):
        heading = line.lstrip("#").strip()
        alone = (index == 0 or not lines[index - 1].strip()) and (
            index + 1 == len(lines) or not lines[index + 1].strip()
        )
        # Headings come in order and once: the same words inside a later section are text.
        if alone and heading in waiting:
            starts.append((index, heading))
            del waiting[: waiting.index(heading) + 1]
    ends = [*(index for index, _ in starts), len(lines)][1:]
    title = " ".join(line.lstrip("#").strip() for line in lines[: starts[0][0] if starts else len(lines)]).strip()
    return title, {
        heading: _inner("\n".join(lines[start + 1 : end])) for (start, heading), end in zip(starts, ends, strict=True)
    }


def _inner(text: str) -> str:
    """A section's text: one line feed off its start and one blank line off its end, no more (code may have its own)."""
    return text.removeprefix("\n").removesuffix("\n") if text.strip() else ""


def _is_cut(title: str) -> bool:
    return title.endswith(("...", "…"))


def _read_source(record: dict[str, Json], section: str) -> None:
    lines = section.split("\n")
    thrown = _THROWN.fullmatch(lines[0])
    if thrown is not None:
        record["filePath"] = thrown["file"]
        record["lineNumber"] = int(thrown["line"]) if thrown["line"] else None
        lines = lines[1:]
        lines = lines[1:] if lines and not lines[0].strip() else lines
    pinned_at = next((i for i in range(len(lines) - 1, -1, -1) if _PINNED.fullmatch(lines[i])), None)
    pinned = _PINNED.fullmatch(lines[pinned_at]) if pinned_at is not None else None
    if pinned_at is not None and pinned is not None:
        sha = pinned["sha"] or record["analyzedSha"]
        if isinstance(sha, str) and thrown is not None:
            anchor = f"#L{thrown['line']}" if thrown["line"] else ""
            record["githubUrl"] = f"https://github.com/{record['repo']}/blob/{sha}/{thrown['file']}{anchor}"
        lines = lines[:pinned_at]
        lines = lines[:-1] if lines and not lines[-1].strip() else lines
    code = "\n".join(lines)
    record["sourceCode"] = code if code.strip() else None


def _write_source(record: Mapping[str, Json]) -> str:
    parts: list[str] = []
    file, line = _text(record, "filePath"), record.get("lineNumber")
    if file is not None:
        parts.append(f"Thrown at {file}:{line}" if isinstance(line, int) else f"Thrown at {file}")
    code = _text(record, "sourceCode")
    if code is not None:
        parts.append(code)
    url = _text(record, "githubUrl")
    if url is not None:
        pinned = re.search(r"/blob/([0-9a-f]{7,40})/", url)
        sha = pinned[1] if pinned else _text(record, "analyzedSha")
        parts.append(f"View on GitHub (pinned to {sha[:_SHA_LENGTH]})" if sha else "View on GitHub")
    return "\n\n".join(parts)


def _read_lists(record: dict[str, Json], sections: Mapping[str, str]) -> None:
    record["solutions"] = list(_numbered(sections.get(_SOLUTIONS, ""))) or None
    for name, heading in (("preventionTips", _TIPS), ("tags", _TAGS), ("relatedErrors", _RELATED)):
        record[name] = list(_items(sections.get(heading, ""))) or None
    for name, heading in (("handlingStrategy", _HANDLING), ("errorCode", _CODE)):
        record[name] = sections.get(heading)
    status = sections.get(_STATUS)
    record["httpStatus"] = int(status) if status is not None and status.isdecimal() else status


def _numbered(section: str) -> list[str]:
    """Items that count up from 1; a line that does not go on counting belongs to the item before it."""
    items: list[str] = []
    for line in section.split("\n"):
        number = _NUMBER.match(line)
        if number is not None and int(number[1]) == len(items) + 1:
            items.append(line[number.end() :])
        elif items:
            items[-1] += f"\n{line}"
        elif line.strip():
            items.append(_BULLET.sub("", line, count=1))
    return [item.rstrip("\n") for item in items]


def _items(section: str) -> list[str]:
    return [_BULLET.sub("", line, count=1).rstrip() for line in section.split("\n") if line.strip()]


def _read_when(section: str) -> tuple[str | None, str | None]:
    """What triggers it and where it is common; a paragraph with neither label goes with the one before."""
    if not section.strip():
        return None, None
    before, label, after = ("\n\n" + section).partition("\n\n" + _SITUATIONS)
    trigger = before.removeprefix("\n\n").removeprefix(_TRIGGER)
    return trigger or None, after if label else None


def _footer(record: Mapping[str, Json], cause: Cause) -> str:
    sha, date = _text(record, "analyzedSha"), _text(record, "analyzedAt")
    analysis = ""
    if sha is not None:
        day = f" ({date[:10]})" if date else ""
        analysis = f"AI-assisted analysis of {_text(record, 'repo')}@{sha[:_SHA_LENGTH]}{day}. "
    return f"{analysis}Data as JSON: /api/errors/{cause.id}. Report an issue: GitHub."


def _keep(record: dict[str, Json], name: str, lines: list[str]) -> None:
    text = "\n".join(lines).strip("\n")
    if text.strip():
        record[name] = text


def _bullets(items: Sequence[str] | Mapping[str, None]) -> str:
    return "\n".join(f"• {item}" for item in items)


def _text(record: Mapping[str, Json], name: str) -> str | None:
    value = record.get(name)
    return value if isinstance(value, str) and not is_absent(value) else None


def _texts(record: Mapping[str, Json], name: str) -> list[str]:
    value = record.get(name)
    return [entry for entry in value if isinstance(entry, str)] if isinstance(value, list) else []


def _number_or_text(record: Mapping[str, Json], name: str) -> str | None:
    value = record.get(name)
    return None if is_absent(value) else str(value)
