"""A user's record over a bundled one: the user's wins, and inherits what it lacks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from triage.catalogue.agreement import normal_key, pattern_key
from triage.catalogue.extension import values_of
from triage.catalogue.record import given
from triage.model import Cause, Template

_INHERITED = (
    ("title", "title"),
    ("summary", "summary"),
    ("package", "package"),
    ("versions", "versions"),
    ("role", "role"),
    ("scope", "scope"),
    ("owner", "owner"),
    ("when", "when"),
    ("levels", "levels"),
    ("fixes", "fixes"),
    ("restartHelps", "restart_helps"),
    ("mistake", "mistake"),
    ("consequenceOf", "consequence_of"),
    ("outranks", "outranks"),
    ("related", "related"),
    ("fixedIn", "fixed_in"),
    ("sources", "sources"),
    ("sites", "sites"),
)
"""Fields of the ``triage`` object that are taken over whole, and their names in the model."""


def inherit(user: Cause, base: Cause, templates: Sequence[Template] | None = None) -> Cause:
    """Give a user's cause what it lacks from the one that it replaces.

    Args:
        user: the cause that wins; its record stays as it is.
        base: the cause that it replaces.
        templates: the base's templates to take over; None for all of them.

    Returns:
        The user's cause with the base's computed fixes, captures, conditions, sites and so on where
        it gives none, answering to the base's names too.
    """
    present = _given_by(user)
    lacking = {attribute: getattr(base, attribute) for name, attribute in _INHERITED if name not in present}
    if "fixes" not in _given_by(base) and given(user.record, "solutions"):
        # Neither computes its fixes: the user's own advice stands.
        lacking.pop("fixes", None)
    declared = {name: user.captures[name] for name in _declared(user) if name in user.captures}
    templates = base.templates if templates is None else templates
    keyed = {normal_key(template): template for template in base.templates}
    own = user.templates
    if not present:
        # The same message, but its holes may be called otherwise than the inherited fixes expect.
        own = tuple(keyed.get(normal_key(template), template) for template in own)
    held = {normal_key(template) for template in own}
    extra = tuple(template for template in templates if normal_key(template) not in held)
    names = dict.fromkeys((*user.aliases, base.slug, base.id, *base.aliases))
    return replace(
        user,
        **lacking,
        aliases=tuple(name for name in names if name not in (user.slug, user.id)),
        templates=own + extra,
        exception_class=user.exception_class or base.exception_class,
        severity=user.severity if given(user.record, "severity") else base.severity,
        captures={**user.captures, **base.captures, **declared},
    )


def overlay(below: Sequence[Cause], above: Sequence[Cause]) -> tuple[Cause, ...]:
    """Put causes over others: one with the id, slug, alias or pattern of another replaces it.

    Args:
        below: the causes that may be replaced.
        above: the causes that win.

    Returns:
        The remaining ones and the winners, by slug; ``consequenceOf``, ``outranks`` and ``related`` point to
        winners by their slugs.
    """
    by_name, by_pattern = _index(below)
    bases: dict[int, Cause] = {}
    claims: dict[str, list[int]] = {}
    for number, cause in enumerate(above):
        base = _claimed(cause, by_name, by_pattern)
        if base is not None:
            bases[number] = base
            claims.setdefault(base.slug, []).append(number)
    merged: list[Cause] = [cause for cause in below if cause.slug not in claims]
    for number, cause in enumerate(above):
        base = bases.get(number)
        if base is None:
            merged.append(cause)
            continue
        # Several records may replace one with variants: each template goes to one of them.
        rivals = claims[base.slug]
        taken = {key for rival in rivals if rival != number for key in message_keys(above[rival])}
        free = [template for template in base.templates if normal_key(template) not in taken]
        first = number == rivals[0]
        winner = inherit(cause, base, free if first else ())
        merged.append(winner if first else replace(winner, aliases=cause.aliases))
    return resolve(merged)


def resolve(causes: Iterable[Cause]) -> tuple[Cause, ...]:
    """Sort causes by slug, and turn aliases in their references into slugs.

    Args:
        causes: the causes.

    Returns:
        The causes; references to causes that there are not stay as they are.
    """
    ordered = sorted(causes, key=lambda cause: cause.slug)
    slugs = {cause.slug for cause in ordered}
    named = {name: cause.slug for cause in ordered for name in (*cause.aliases, cause.id) if name not in slugs}
    if not named:
        return tuple(ordered)
    return tuple(_renamed(cause, named) for cause in ordered)


def _given_by(cause: Cause) -> frozenset[str]:
    extension = cause.record.get("triage")
    return values_of(extension) if isinstance(extension, dict) else frozenset()


def _declared(cause: Cause) -> tuple[str, ...]:
    extension = cause.record.get("triage")
    captures = extension.get("captures") if isinstance(extension, dict) else None
    return tuple(captures) if isinstance(captures, dict) else ()


def _renamed(cause: Cause, named: Mapping[str, str]) -> Cause:
    before = (cause.consequence_of, cause.outranks, cause.related)
    after = tuple(tuple(dict.fromkeys(named.get(name, name) for name in names)) for names in before)
    if before == after:
        return cause
    return replace(cause, consequence_of=after[0], outranks=after[1], related=after[2])


def _index(causes: Sequence[Cause]) -> tuple[dict[str, Cause], dict[str, Cause]]:
    by_name: dict[str, Cause] = {}
    by_pattern: dict[str, Cause] = {}
    for cause in causes:
        for name in (cause.id, cause.slug, *cause.aliases):
            by_name.setdefault(name, cause)
        for key in message_keys(cause):
            by_pattern.setdefault(key, cause)
    return by_name, by_pattern


def message_keys(cause: Cause) -> tuple[str, ...]:
    """What a cause's messages are compared by: equal keys mean equal messages, holes and white space aside."""
    own = (pattern_key(cause.pattern),) if cause.pattern is not None else ()
    return tuple(normal_key(template) for template in cause.templates) + own


def _claimed(cause: Cause, by_name: Mapping[str, Cause], by_pattern: Mapping[str, Cause]) -> Cause | None:
    for name in (cause.id, cause.slug, *cause.aliases):
        if name in by_name:
            return by_name[name]
    for key in message_keys(cause):
        if key in by_pattern:
            return by_pattern[key]
    return None
