"""A record file's object to a cause, and back.

The shape is that of schemaVersion 2: an object, or ``{"record": {...}, "datasetVersion": ...}`` around
it, with null or the text "null" for absent values. Fields that are not known are kept and given
back. Our own additions are in one object, ``triage`` (:mod:`triage.catalogue.extension`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

import orjson

from triage.catalogue.agreement import agree, group_names, template_of
from triage.catalogue.extension import Extension, read_extension
from triage.catalogue.fields import Fields, Flaw, is_absent, kind
from triage.catalogue.templates import doubled, parse_printf, parse_template, template_to_pattern, with_captures
from triage.errors import RecordError
from triage.model import CaptureSpec, Cause, FixRecipe, Hole, Json, Template

TEXT_FIELDS: Final = (
    "id",
    "repo",
    "slug",
    "errorMessage",
    "messagePattern",
    "errorType",
    "errorClass",
    "severity",
    "filePath",
    "sourceCode",
    "githubUrl",
    "documentation",
    "triggerScenarios",
    "commonSituations",
    "exampleFix",
    "handlingStrategy",
    "validationCode",
    "typeGuard",
    "tryCatchPattern",
    "backgroundTag",
    "analyzedSha",
    "analyzedAt",
)
WHOLE_FIELDS: Final = ("lineNumber", "sourceCodeStart", "sourceCodeEnd", "schemaVersion")
CODE_FIELDS: Final = ("errorCode", "httpStatus")
LIST_FIELDS: Final = ("solutions", "preventionTips", "tags", "relatedErrors")

RECORD_FIELDS: Final = (
    "id",
    "repo",
    "slug",
    "errorCode",
    "errorMessage",
    "messagePattern",
    "errorType",
    "errorClass",
    "httpStatus",
    "severity",
    "filePath",
    "lineNumber",
    "sourceCode",
    "sourceCodeStart",
    "sourceCodeEnd",
    "githubUrl",
    "documentation",
    "triggerScenarios",
    "commonSituations",
    "solutions",
    "exampleFix",
    "handlingStrategy",
    "validationCode",
    "typeGuard",
    "tryCatchPattern",
    "preventionTips",
    "tags",
    "backgroundTag",
    "analyzedSha",
    "analyzedAt",
    "schemaVersion",
    "relatedErrors",
    "triage",
)
"""The fields known to us, in the order in which records have them; ``relatedErrors`` comes from pages."""

MAX_TEMPLATE = 20_000
"""Characters of a message template; the longest message of vLLM has some 1,500."""

_SLUG_LENGTH = 48
_ID_LENGTH = 6


def parse_record(data: Mapping[str, Json], origin: str, user: bool = False) -> Cause:
    """Read a record object.

    Args:
        data: the object as orjson gives it, with or without the wrapper.
        origin: the file it came from, for messages.
        user: whether it is a user's record; then its regular expressions and release specifiers
            are checked too, which the tests do for the bundled ones.

    Returns:
        The cause, with every field of the record kept in ``Cause.record``.

    Raises:
        RecordError: the first thing that is wrong with it.
    """
    cause, flaws = read_record(data, origin, user)
    for flaw in flaws:
        if flaw.severity == "error":
            raise RecordError(flaw.message, flaw.hint, file=origin, field=flaw.field)
    return cause


def read_record(data: Mapping[str, Json], origin: str, user: bool = False) -> tuple[Cause, list[Flaw]]:
    """Read a record object as far as it goes.

    Args:
        data: the object as orjson gives it, with or without the wrapper.
        origin: the file it came from.
        user: as for :func:`parse_record`.

    Returns:
        The cause without what is wrong, and all that is wrong.

    Raises:
        RecordError: it is no object at all.
    """
    record, wrapper = _unwrap(data, origin)
    flaws: list[Flaw] = []
    fields = Fields(record, "", flaws)
    text = {name: fields.text(name) for name in TEXT_FIELDS}
    lists = {name: fields.texts(name) for name in LIST_FIELDS}
    for name in WHOLE_FIELDS:
        fields.whole(name)
    for name in CODE_FIELDS:
        fields.code(name)
    extension = read_extension(fields.below("triage"))
    templates, pattern = _message(fields, text["errorMessage"], text["messagePattern"])
    templates += tuple(
        _template(fields, f"triage.variants[{index}]", variant) for index, variant in enumerate(extension.variants)
    )
    slug = extension.slug or text["slug"] or derived_slug(text["errorMessage"] or text["messagePattern"], text["id"])
    names = [hole.name for template in templates for hole in template.holes]
    if pattern is not None:
        names += group_names(pattern)
    captures = {name: CaptureSpec(name) for name in names} | dict(extension.captures)
    cause = Cause(
        record=record,
        wrapper=wrapper,
        origin=origin,
        id=text["id"] or slug,
        slug=slug,
        aliases=_aliases(slug, text["slug"], extension.aliases),
        title=extension.title or _title(templates, slug),
        summary=extension.summary or "",
        package=extension.package or "vllm",
        versions=extension.versions,
        templates=templates,
        pattern=pattern,
        exception_class=text["errorClass"],
        severity=text["severity"] or "error",
        role=extension.role or "root_cause",
        scope=extension.scope,
        owner=extension.owner,
        when=extension.when,
        levels=extension.levels,
        captures=captures,
        fixes=extension.fixes or tuple(_advice(solution, captures) for solution in lists["solutions"]),
        restart_helps=extension.restart_helps,
        mistake=extension.mistake,
        consequence_of=extension.consequence_of,
        outranks=extension.outranks,
        related=extension.related,
        fixed_in=extension.fixed_in,
        sources=extension.sources,
        sites=extension.sites,
        user=user,
    )
    if user:
        _check_expressions(fields, extension)
    return cause, flaws


def to_json(cause: Cause) -> bytes:
    """Give a record back as it was read: every field, the wrapper, the author's "null" texts.

    Args:
        cause: a cause read by :func:`parse_record`.

    Returns:
        The JSON text, UTF-8, compact.
    """
    if cause.wrapper is None:
        return orjson.dumps(cause.record)
    return orjson.dumps({"record": cause.record, **cause.wrapper})


def derived_slug(message: str | None, identity: str | None) -> str:
    """The slug of a record that brings none, as the records have it elsewhere.

    Args:
        message: its message template.
        identity: its id.

    Returns:
        The message's words, cut to 48 characters, and the first six of the id.
    """
    words = re.sub(r"[^a-z0-9]+", "-", (message or "").lower()).strip("-")[:_SLUG_LENGTH].strip("-")
    return "-".join(part for part in (words, (identity or "")[:_ID_LENGTH]) if part) or "unnamed"


def _unwrap(data: Mapping[str, Json], origin: str) -> tuple[Mapping[str, Json], Mapping[str, Json] | None]:
    # The type says so, but what a file holds is known only now.
    value: object = data
    if not isinstance(value, Mapping):
        hint = 'one record per file: {...}, or {"record": {...}, "datasetVersion": "..."}'
        raise RecordError(f"a record file holds one object, this one {kind(value)}", hint, file=origin)
    if "record" not in data or "errorMessage" in data or "messagePattern" in data:
        return data, None
    record = data["record"]
    if not isinstance(record, dict):
        hint = 'write {"record": {...}}'
        raise RecordError(f"is {kind(record)}, should be an object", hint, file=origin, field="record")
    return record, {name: value for name, value in data.items() if name != "record"}


def _message(fields: Fields, message: str | None, pattern: str | None) -> tuple[tuple[Template, ...], str | None]:
    """The template of errorMessage, or the pattern where there is only that; checked that both agree."""
    if message is None:
        if pattern is None:
            if "errorMessage" not in {flaw.field for flaw in fields.flaws}:
                fields.flaw("errorMessage", "is missing", "give the message, with {holes} where values stand")
            return (), None
        reason = regex_error(pattern)
        if reason is not None:
            fields.flaw("messagePattern", reason, "mend the regular expression, or give errorMessage instead")
            return (), None
        # As a template it is found across wrapped lines too, which no regular expression is.
        readable = template_of(pattern)
        return ((readable,), None) if readable is not None else ((), pattern)
    template = _template(fields, "errorMessage", message)
    if pattern is None:
        return (template,), None
    reason = agree(template, pattern)
    if reason is not None and "%" in message:
        # Some sources have the format of a logger call as it stands: "(%d) exceeds ...".
        printf = parse_printf(message)
        if agree(printf, pattern) is None:
            return (printf,), None
    if reason is not None:
        expected = template_to_pattern(template)
        hint = f"set messagePattern to null to have it derived, or to {expected[:200]!r}"
        fields.flaw("messagePattern", reason, hint)
    return (template,), None


def _template(fields: Fields, name: str, text: str) -> Template:
    if len(text) > MAX_TEMPLATE:
        fields.flaw(name, f"is longer than {MAX_TEMPLATE} characters", "keep the part that names the fault")
        return parse_template(text[:MAX_TEMPLATE])
    return parse_template(text)


def _aliases(slug: str, foreign: str | None, aliases: tuple[str, ...]) -> tuple[str, ...]:
    own = (foreign,) if foreign is not None and foreign != slug else ()
    return tuple(dict.fromkeys(own + aliases))


def _title(templates: tuple[Template, ...], slug: str) -> str:
    """The message with its holes by name: what a record without a title is called."""
    if not templates:
        return slug.replace("-", " ")
    parts = (f"{{{part.name}}}" if isinstance(part, Hole) else doubled(part) for part in templates[0].parts)
    return " ".join("".join(parts).split())


def _advice(solution: str, captures: Mapping[str, CaptureSpec]) -> FixRecipe:
    """A solution in prose: a fix that changes nothing by itself."""
    return FixRecipe(title=with_captures(solution, captures), safety="needs_judgement")


def regex_error(pattern: str) -> str | None:
    """Why a pattern is no regular expression, None where it is one."""
    import regex

    try:
        regex.compile(pattern)
    except regex.error as error:
        return f"is no valid regular expression: {error}"
    return None


def specifier_error(text: str) -> str | None:
    """Why a text is no PEP 440 version specifier, None where it is one."""
    # Loaded for users' records only: it costs as much as reading the whole catalogue.
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        SpecifierSet(text)
    except InvalidSpecifier:
        return f"{text!r} is no version specifier"
    return None


def _check_expressions(fields: Fields, extension: Extension) -> None:
    patterns: list[tuple[str, str]] = []
    if extension.when is not None:
        for name in ("present", "absent", "frames"):
            listed = getattr(extension.when, name)
            patterns += [(f"triage.when.{name}[{index}]", entry) for index, entry in enumerate(listed)]
    for spec in extension.captures.values():
        if spec.source in ("chain", "near") and spec.key is not None:
            patterns.append((f"triage.captures.{spec.name}.key", spec.key))
    for name, pattern in patterns:
        reason = regex_error(pattern)
        if reason is not None:
            fields.flaw(name, reason, "mend the regular expression; literal brackets and dots need a backslash")
    specifiers = [("triage.versions", extension.versions)]
    specifiers += [(f"triage.fixes[{index}].versions", fix.versions) for index, fix in enumerate(extension.fixes)]
    for name, specifier in specifiers:
        if specifier is not None and (problem := specifier_error(specifier)) is not None:
            fields.flaw(name, problem, 'write it as ">=0.10.2,<0.12"')


def given(record: Mapping[str, Json], name: str) -> bool:
    """Whether a record gives a value to one of its fields."""
    value = record.get(name)
    return not is_absent(value) and value not in ([], {})
