"""Checking record files: what is wrong with each, and how to mend it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import regex

from triage.catalogue.agreement import normal_key
from triage.catalogue.expressions import expression_problem, placeholders
from triage.catalogue.extension import EXTENSION_FIELDS, VARIANT_FIELDS
from triage.catalogue.fields import Flaw, Severity, is_absent, similar
from triage.catalogue.inherit import message_keys
from triage.catalogue.load import bundled_patterns, load, read_data, record_files
from triage.catalogue.record import RECORD_FIELDS, given, read_record, specifier_error
from triage.errors import RecordError
from triage.model import Cause, Hole, Json

CURES = re.compile(
    r"(?:add|avoid|change|check|decrease|disable|downgrade|drop|enable|ensure|fix|increase|install|lower|mend|pass|pin"
    r"|raise|reduce|remove|replace|restart|set|switch|try|unset|update|upgrade|use)(?:-|\Z)"
)
"""Words that a slug must not start with: it names the fault, not the cure."""

ANY = "*"
"""Stands for every other cause in consequenceOf."""

MIN_LITERAL = 8
"""Characters, white space aside, that a message must have besides its holes to be told from any other."""

_SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_NESTED = re.compile(r"\((?:[^()\\]|\\.)*[+*](?:[^()\\]|\\.)*\)[+*{]")
_MAX_WILDCARDS = 4
_WILDCARD = re.compile(r"(?<!\\)\.[+*]")
# Twice nested walks over this much are a matter of milliseconds, three times nested ones of many seconds.
_PROBE_LENGTH = 2_000
_PROBE_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a record file.

    file: its path as given; field: dotted path, None for the whole file; hint: how to mend it.
    """

    file: str
    field: str | None
    message: str
    hint: str
    severity: Severity


def lint(directory: Path) -> list[Problem]:
    """Check the record files of a folder, against each other and against the bundled records.

    Args:
        directory: the folder, see :func:`triage.catalogue.load.record_files`.

    Returns:
        What is wrong, by file and field.

    Raises:
        RecordError: there is no such folder, or no record in it.
    """
    problems: list[Problem] = []
    causes: list[Cause] = []
    files = record_files(directory)
    if not files:
        hint = "record files end in .json, pages in .txt or .md; patterns/README.md says what a record holds"
        raise RecordError("no records found", hint, file=str(directory))
    for path in files:
        try:
            cause, flaws = read_record(read_data(path), str(path), user=True)
        except RecordError as error:
            problems.append(Problem(str(path), error.field, error.message, error.hint or "", "error"))
            continue
        causes.append(cause)
        flaws = [*flaws, *_twice_given(path), *_of_the_whole(cause, path)]
        problems += [Problem(str(path), flaw.field, flaw.message, flaw.hint, flaw.severity) for flaw in flaws]
    bundled = () if _is_bundled(directory) else load().causes
    names = {name for cause in bundled for name in (cause.slug, cause.id, *cause.aliases)}
    names |= {name for cause in causes for name in (cause.slug, cause.id, *cause.aliases)}
    for cause in causes:
        found = [*_captures(cause, bundled), *_fixes(cause, bundled), *_references(cause, names)]
        problems += [Problem(cause.origin, flaw.field, flaw.message, flaw.hint, flaw.severity) for flaw in found]
    problems += _duplicates(causes)
    return sorted(problems, key=lambda problem: (problem.file, problem.field or "", problem.message))


def _is_bundled(directory: Path) -> bool:
    """Whether the folder is that of the bundled records: they need no second copy of themselves."""
    own = bundled_patterns().resolve()
    return directory.resolve() == own or own in directory.resolve().parents


def _twice_given(path: Path) -> Iterator[Flaw]:
    """Keys that an object gives twice: readers take one of the values and drop the other."""
    if path.suffix != ".json":
        return
    found: list[str] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        found.extend(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)

    json.loads(path.read_text(encoding="utf-8-sig"), object_pairs_hook=note)
    for key in found:
        yield Flaw(key, f"an object of this file gives {key!r} twice", "keep one of the two")


def _of_the_whole(cause: Cause, path: Path) -> Iterator[Flaw]:
    """What is wrong with a record by itself."""
    ours = isinstance(cause.record.get("triage"), dict)
    if not given(cause.record, "id"):
        yield Flaw("id", "is missing", "give 16 hexadecimal digits that no other record has", _severe(ours))
    if not given(cause.record, "documentation"):
        yield Flaw("documentation", "is empty", "say in plain words what the message means", _severe(ours))
    if not given(cause.record, "solutions") and not cause.fixes:
        yield Flaw("solutions", "there is neither a solution nor a fix", "say what to do about it", "warning")
    if ours:
        yield from _slug(cause, path)
    for name in cause.record:
        if name in RECORD_FIELDS:
            continue
        if name in EXTENSION_FIELDS:
            message = f"unknown field {name!r}; it belongs under 'triage'"
            yield Flaw(name, message, f'write "triage": {{"{name}": ...}}', "warning")
        elif meant := similar(name, RECORD_FIELDS):
            hint = "rename it, or leave it: unknown fields are kept and ignored"
            yield Flaw(name, f"unknown field {name!r}{meant}", hint, "warning")
    yield from _messages(cause)
    yield from _patterns(cause)
    yield from _variants(cause.record)


def _severe(ours: bool) -> Severity:
    """Records from elsewhere are as they are: what merely weakens them is a warning."""
    return "error" if ours else "warning"


def _slug(cause: Cause, path: Path) -> Iterator[Flaw]:
    field = "triage.slug"
    if not _SLUG.match(cause.slug):
        yield Flaw(field, f"{cause.slug!r} is not lower-case words joined by hyphens", "batched-tokens-below-num-seqs")
    if CURES.match(cause.slug):
        hint = "name the fault: batched-tokens-below-num-seqs, not raise-batched-tokens"
        yield Flaw(field, f"{cause.slug!r} names a cure", hint)
    if path.stem != cause.slug:
        hint = f"call the file {cause.slug}{path.suffix}, or the slug {path.stem!r}"
        yield Flaw(field, f"is {cause.slug!r}, but the file is {path.name}", hint)


def _messages(cause: Cause) -> Iterator[Flaw]:
    seen: set[str] = set()
    for index, template in enumerate(cause.templates):
        base = cause.record.get("errorMessage")
        own = index - (0 if is_absent(base) and is_absent(cause.record.get("messagePattern")) else 1)
        field = "errorMessage" if own < 0 else f"triage.variants[{own}]"
        literal = "".join("".join(part.split()) for part in template.parts if not isinstance(part, Hole))
        if len(literal) < MIN_LITERAL:
            hint = "take more of the message into the template"
            yield Flaw(field, f"has only {len(literal)} characters besides its holes, so any line fits it", hint)
        key = normal_key(template)
        if key in seen:
            yield Flaw(field, "says the same as another template of this record", "drop it", "warning")
        seen.add(key)
        if any(
            isinstance(one, Hole) and isinstance(two, Hole)
            for one, two in zip(template.parts, template.parts[1:], strict=False)
        ):
            hint = "put text between them, or make them one hole"
            yield Flaw(field, "has two holes side by side: nothing tells where one ends", hint, "warning")


def _patterns(cause: Cause) -> Iterator[Flaw]:
    """Authored regular expressions that can run away on a long line."""
    listed: list[tuple[str, str]] = []
    if cause.pattern is not None:
        listed.append(("messagePattern", cause.pattern))
    if cause.when is not None:
        for name in ("present", "absent", "frames"):
            entries = getattr(cause.when, name)
            listed += [(f"triage.when.{name}[{index}]", entry) for index, entry in enumerate(entries)]
    for spec in cause.captures.values():
        if spec.source in ("chain", "near") and spec.key is not None:
            listed.append((f"triage.captures.{spec.name}.key", spec.key))
    for field, pattern in listed:
        reason = dangerous(pattern)
        if reason is not None:
            yield Flaw(field, reason, "bound it: [^\\n]{1,200} instead of .+, no repetition inside a repetition")


def dangerous(pattern: str) -> str | None:
    """Why a regular expression may take long on a hostile line, None where nothing points to it.

    Args:
        pattern: a regular expression; one that is not valid is none of this function's business.
    """
    if _NESTED.search(pattern):
        return "repeats a repetition, which takes exponential time on some lines"
    if len(_WILDCARD.findall(pattern)) > _MAX_WILDCARDS:
        return f"has more than {_MAX_WILDCARDS} unbounded wildcards"
    try:
        compiled = regex.compile(pattern)
    except regex.error:
        return None
    words = re.findall(r"\w+", re.sub(r"\\.", "", pattern)) or ["a"]
    for piece in ("a", "0", " ", "\t0", words[0], f"{words[0]} ", " ".join(words[:3]) + " "):
        # The words that the pattern needs, for without them the engine does not even start.
        probe = " ".join(reversed(words)) + " " + (piece * (_PROBE_LENGTH // len(piece)))[:_PROBE_LENGTH] + "\n"
        try:
            compiled.search(probe, timeout=_PROBE_SECONDS)
        except TimeoutError:
            return f"takes more than {_PROBE_SECONDS} s on a line of {_PROBE_LENGTH} characters"
    return None


def _variants(record: Mapping[str, Json]) -> Iterator[Flaw]:
    extension = record.get("triage")
    listed = extension.get("variants") if isinstance(extension, dict) else None
    for index, entry in enumerate(listed if isinstance(listed, list) else ()):
        versions = entry.get("versions") if isinstance(entry, dict) and set(entry) <= set(VARIANT_FIELDS) else None
        if isinstance(versions, str) and (reason := specifier_error(versions)) is not None:
            yield Flaw(f"triage.variants[{index}].versions", reason, 'write it as ">=0.10.2,<0.12"')


def _known(cause: Cause, bundled: Sequence[Cause]) -> frozenset[str]:
    """The captures that a cause has, with those that it would inherit."""
    names = set(cause.captures)
    own = {cause.id, cause.slug, *cause.aliases}
    for other in bundled:
        if own & {other.id, other.slug, *other.aliases}:
            names |= set(other.captures)
    return frozenset(names)


def _captures(cause: Cause, bundled: Sequence[Cause]) -> Iterator[Flaw]:
    known = _known(cause, bundled)
    holes = {hole.name for template in cause.templates for hole in template.holes}
    for name, spec in cause.captures.items():
        declared = _declares(cause, name)
        if (
            declared
            and spec.source == "hole"
            and cause.templates
            and name not in holes
            and name not in known - set(cause.captures)
        ):
            hint = f"holes are named {', '.join(sorted(holes)) or '(none)'}; or give it another source"
            yield Flaw(f"triage.captures.{name}", f"no template has a hole {name!r}{similar(name, holes)}", hint)
    extension = cause.record.get("triage")
    for field in ("title", "summary"):
        value = extension.get(field) if isinstance(extension, dict) else None
        if isinstance(value, str):
            yield from _placeholders(f"triage.{field}", value, known)


GIVEN = frozenset({"port"})
"""What steps, tradeoff and verify may name without a capture: the user's own --port, else 8000."""


def _declares(cause: Cause, name: str) -> bool:
    extension = cause.record.get("triage")
    captures = extension.get("captures") if isinstance(extension, dict) else None
    return isinstance(captures, dict) and name in captures


def _fixes(cause: Cause, bundled: Sequence[Cause]) -> Iterator[Flaw]:
    extension = cause.record.get("triage")
    if not isinstance(extension, dict) or not given(extension, "fixes"):
        return
    known = _known(cause, bundled)
    for index, fix in enumerate(cause.fixes):
        field = f"triage.fixes[{index}]"
        texts = [("title", fix.title), ("tradeoff", fix.tradeoff), ("verify", fix.verify or "")]
        texts += [(f"steps[{place}]", step) for place, step in enumerate(fix.steps)]
        for name, text in texts:
            yield from _placeholders(f"{field}.{name}", text, known if name == "title" else known | GIVEN)
        for name, changes in (("set", fix.set), ("env", fix.env)):
            for key, value in changes.items():
                if isinstance(value, str) and value:
                    hint = 'write a constant text as {"text": "..."}'
                    yield from _expression(f"{field}.{name}.{key}", value, known, hint)
        if fix.when is not None:
            yield from _expression(f"{field}.when", fix.when, known, "write a comparison: max_num_seqs > 256")
        both = set(fix.set) & set(fix.unset)
        if both:
            yield Flaw(field, f"sets and unsets {', '.join(sorted(both))}", "keep one of the two")
        if not (fix.set or fix.unset or fix.env or fix.unset_env or fix.packages or fix.steps):
            yield Flaw(field, "changes nothing", "give set, unset, env, unsetEnv, packages or steps", "warning")


def _placeholders(field: str, text: str, known: frozenset[str]) -> Iterator[Flaw]:
    for expression in placeholders(text):
        yield from _expression(field, expression, known, "double braces that are meant as they are: {{ }}", shown=True)


def _expression(field: str, text: str, known: frozenset[str], hint: str, shown: bool = False) -> Iterator[Flaw]:
    problem, names = expression_problem(text, shown)
    if problem is not None:
        yield Flaw(field, problem, hint)
    for name in sorted(names - known):
        captures = ", ".join(sorted(known)) or "(none)"
        yield Flaw(field, f"unknown capture {name!r}{similar(name, known)}", f"captures here: {captures}; {hint}")


def _references(cause: Cause, names: set[str]) -> Iterator[Flaw]:
    listed = (("consequenceOf", cause.consequence_of), ("outranks", cause.outranks), ("related", cause.related))
    for field, slugs in listed:
        for index, slug in enumerate(slugs):
            if slug == ANY and field == "consequenceOf":
                continue
            if slug not in names:
                meant = similar(slug, names)
                hint = "give the slug of a record of this folder or of a bundled one"
                yield Flaw(f"triage.{field}[{index}]", f"there is no record {slug!r}{meant}", hint)
            elif slug in (cause.slug, cause.id):
                yield Flaw(f"triage.{field}[{index}]", "names the record itself", "drop it")


def _duplicates(causes: Sequence[Cause]) -> Iterator[Problem]:
    names: dict[str, Cause] = {}
    keys: dict[str, Cause] = {}
    for cause in causes:
        for field, name in (
            ("slug", cause.slug),
            ("id", cause.id),
            *(("triage.aliases", alias) for alias in cause.aliases),
        ):
            other = names.setdefault(name, cause)
            if other is not cause:
                hint = "one record per fault: merge them, or give one another name"
                yield Problem(cause.origin, field, f"{name!r} is also that of {other.origin}", hint, "error")
        for key in message_keys(cause):
            other = keys.setdefault(key, cause)
            if other is not cause and not _told_apart(cause, other):
                hint = "merge them, or tell them apart by triage.when or by outranks"
                field = "errorMessage"
                yield Problem(cause.origin, field, f"{other.origin} has the same message", hint, "error")


def _told_apart(one: Cause, two: Cause) -> bool:
    return (
        one.when is not None
        or two.when is not None
        or two.slug in one.outranks
        or one.slug in two.outranks
        or (one.package != two.package)
    )
