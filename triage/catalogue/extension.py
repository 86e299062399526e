"""The ``triage`` object of a record: what we add to the shape that records have elsewhere."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from triage.catalogue.fields import Fields
from triage.model import CaptureSpec, CauseSite, FixRecipe, Json, Mistake, Owner, Role, Safety, Scope, When

CaptureType = Literal["int", "float", "str", "message"]
Problem = Literal["unknown_flag", "choice", "number", "json", "limit", "unknown_key"]
CaptureSource = Literal["hole", "args", "engine", "run", "chain", "near"]

ROLES: Final[tuple[Role, ...]] = get_args(Role)
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
OWNERS: Final[tuple[Owner, ...]] = get_args(Owner)
SAFETIES: Final[tuple[Safety, ...]] = get_args(Safety)
PROBLEMS: Final[tuple[Problem, ...]] = get_args(Problem)
TYPES: Final[tuple[CaptureType, ...]] = get_args(CaptureType)
SOURCES: Final[tuple[CaptureSource, ...]] = get_args(CaptureSource)

EXTENSION_FIELDS: Final = (
    "slug",
    "aliases",
    "title",
    "summary",
    "package",
    "versions",
    "variants",
    "role",
    "scope",
    "owner",
    "when",
    "levels",
    "captures",
    "fixes",
    "restartHelps",
    "mistake",
    "consequenceOf",
    "outranks",
    "related",
    "fixedIn",
    "sources",
    "sites",
)
VARIANT_FIELDS: Final = ("template", "class", "versions")
WHEN_FIELDS: Final = ("present", "absent", "process", "classes", "frames")
CAPTURE_FIELDS: Final = ("type", "unit", "source", "key")
FIX_FIELDS: Final = (
    "title",
    "set",
    "unset",
    "env",
    "unsetEnv",
    "packages",
    "steps",
    "verify",
    "safety",
    "tradeoff",
    "estimate",
    "when",
    "versions",
)
MISTAKE_FIELDS: Final = ("problem", "flag", "field", "value", "choices")
SITE_FIELDS: Final = ("file", "function", "class", "template", "lines")

_FLAG = re.compile(r"--[A-Za-z0-9][\w.-]*\Z")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SLUG = re.compile(r"[A-Za-z0-9][\w.-]*\Z")


@dataclass(frozen=True, slots=True)
class Extension:
    """The ``triage`` object as read; the names are those of :class:`triage.model.Cause`."""

    slug: str | None = None
    aliases: tuple[str, ...] = ()
    title: str | None = None
    summary: str | None = None
    package: str | None = None
    versions: str | None = None
    variants: tuple[str, ...] = ()
    role: Role | None = None
    scope: Scope | None = None
    owner: Owner | None = None
    when: When | None = None
    levels: tuple[str, ...] = ()
    captures: Mapping[str, CaptureSpec] = field(default_factory=dict)
    fixes: tuple[FixRecipe, ...] = ()
    restart_helps: bool | None = None
    mistake: Mistake | None = None
    consequence_of: tuple[str, ...] = ()
    outranks: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    fixed_in: str | None = None
    sources: tuple[str, ...] = ()
    sites: tuple[CauseSite, ...] = ()


def read_extension(fields: Fields) -> Extension:
    """Read a ``triage`` object, noting flaws in the fields handed in.

    Args:
        fields: the object's fields.

    Returns:
        What it holds; what is wrong is left out.
    """
    fields.only(EXTENSION_FIELDS)
    slug = fields.text("slug")
    if slug is not None and not _SLUG.match(slug):
        fields.flaw("slug", f"{slug!r} is no slug", "use lower-case words joined by hyphens")
    return Extension(
        slug=slug,
        aliases=fields.texts("aliases"),
        title=fields.text("title"),
        summary=fields.text("summary"),
        package=fields.text("package"),
        versions=fields.text("versions"),
        variants=_variants(fields),
        role=fields.choice("role", ROLES),
        scope=fields.choice("scope", SCOPES),
        owner=fields.choice("owner", OWNERS),
        when=_when(fields),
        levels=fields.texts("levels"),
        captures=_captures(fields),
        fixes=tuple(_fix(entry) for entry in fields.objects("fixes")),
        restart_helps=fields.flag("restartHelps"),
        mistake=_mistake(fields),
        consequence_of=fields.texts("consequenceOf"),
        outranks=fields.texts("outranks"),
        related=fields.texts("related"),
        fixed_in=fields.text("fixedIn"),
        sources=fields.texts("sources"),
        sites=tuple(_site(entry) for entry in fields.objects("sites")),
    )


def _variants(fields: Fields) -> tuple[str, ...]:
    value = fields.data.get("variants")
    if not isinstance(value, list):
        return fields.texts("variants")
    found: list[str] = []
    for index, entry in enumerate(value):
        if isinstance(entry, str):
            template: str | None = entry
        elif isinstance(entry, dict):
            below = Fields(entry, fields.path(f"variants[{index}]"), fields.flaws)
            below.only(VARIANT_FIELDS)
            template, _, _ = below.text("template"), below.text("class"), below.text("versions")
        else:
            template = None
        if template is None or not template.strip():
            fields.flaw(f"variants[{index}]", "holds no template", 'write a text, or {"template": "..."}')
        else:
            found.append(template)
    return tuple(found)


def _when(fields: Fields) -> When | None:
    below = fields.below("when")
    if not below.data:
        return None
    below.only(WHEN_FIELDS)
    return When(*(below.texts(name) for name in WHEN_FIELDS))


def _captures(fields: Fields) -> dict[str, CaptureSpec]:
    below = fields.below("captures")
    found: dict[str, CaptureSpec] = {}
    for name in below.data:
        entry = below.below(name)
        entry.only(CAPTURE_FIELDS)
        if not name.isidentifier():
            below.flaw(name, f"{name!r} cannot name a capture", "use letters, digits and underscores")
            continue
        source = entry.choice("source", SOURCES) or "hole"
        key = entry.text("key")
        if source in ("chain", "near") and key is None:
            entry.flaw(
                "key", f"a capture from {source!r} needs a key", "write a pattern whose first group is the value"
            )
        found[name] = CaptureSpec(
            name=name,
            type=entry.choice("type", TYPES) or "auto",
            unit=entry.text("unit"),
            source=source,
            key=key if key is not None or source == "hole" else name,
        )
    return found


def _mistake(fields: Fields) -> Mistake | None:
    below = fields.below("mistake")
    if not below.data:
        return None
    below.only(MISTAKE_FIELDS)
    problem, flag = below.choice("problem", PROBLEMS), below.text("flag")
    if problem is None or flag is None:
        below.flaw("flag", "a mistake needs its problem and a flag", "name the capture that holds the flag")
        return None
    return Mistake(problem, flag, below.text("field"), below.text("value"), below.text("choices"))


def _fix(fields: Fields) -> FixRecipe:
    fields.only(FIX_FIELDS)
    title = fields.text("title")
    if title is None:
        fields.flaw("title", "a fix needs a title", "say in a few words what the change does")
    return FixRecipe(
        title=title or "",
        set=_changes(fields.below("set"), _FLAG, "a flag starts with two hyphens: --max-num-seqs"),
        unset=_names(fields, "unset", _FLAG, "a flag starts with two hyphens: --max-num-seqs"),
        env=_changes(fields.below("env"), _VARIABLE, "a variable is letters, digits and underscores"),
        unset_env=_names(fields, "unsetEnv", _VARIABLE, "a variable is letters, digits and underscores"),
        packages=fields.texts("packages"),
        steps=fields.texts("steps"),
        verify=fields.text("verify"),
        safety=fields.choice("safety", SAFETIES) or "needs_judgement",
        tradeoff=fields.text("tradeoff") or "",
        estimate=fields.flag("estimate") or False,
        when=fields.text("when"),
        versions=fields.text("versions"),
    )


def _names(fields: Fields, name: str, shape: re.Pattern[str], hint: str) -> tuple[str, ...]:
    found = fields.texts(name)
    for index, entry in enumerate(found):
        if not shape.match(entry):
            fields.flaw(f"{name}[{index}]", f"{entry!r} is malformed", hint)
    return found


def _changes(fields: Fields, shape: re.Pattern[str], hint: str) -> dict[str, object]:
    """Flag or variable to value: a number, true or false, an expression, or ``{"text": "..."}``."""
    found: dict[str, object] = {}
    for name, value in fields.data.items():
        if not shape.match(name):
            fields.flaw(name, f"{name!r} is malformed", hint)
        if isinstance(value, dict):
            below = fields.below(name)
            below.only(("text",))
            if not isinstance(value.get("text"), str):
                below.flaw("text", "should be a text", 'write {"text": "constant"}')
        elif value is None or isinstance(value, list) or value == "":
            fields.flaw(name, "has no value", 'write a number, an expression, or {"text": "constant"}')
        found[name] = value
    return found


def _site(fields: Fields) -> CauseSite:
    fields.only(SITE_FIELDS)
    lines: dict[str, int] = {}
    below = fields.below("lines")
    for release in below.data:
        number = below.whole(release)
        if number is not None:
            lines[release] = number
    file, template = fields.text("file"), fields.text("template")
    if file is None:
        fields.flaw("file", "a site needs a file", "write its path from the package: vllm/config/scheduler.py")
    return CauseSite(file or "", fields.text("function"), fields.text("class"), template or "", lines)


def values_of(extension: Mapping[str, Json]) -> frozenset[str]:
    """The names of the fields that a ``triage`` object gives a value to."""
    return frozenset(name for name, value in extension.items() if value not in (None, "", "null", [], {}))
