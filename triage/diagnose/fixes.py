"""A cause's fixes with their numbers worked out, and rendered for the run at hand."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

import regex
from packaging.version import Version

from triage.diagnose import quoting
from triage.diagnose.arguments import Release
from triage.diagnose.commands import Change, render
from triage.diagnose.environments import wanted
from triage.diagnose.expressions import ExpressionError, MissingName, evaluate, fill, unfilled, visible
from triage.diagnose.flags import name_of
from triage.diagnose.launches import CUT
from triage.diagnose.mistakes import advised, translated
from triage.diagnose.presence import is_given, is_variable_shown, may_be_given
from triage.diagnose.quoting import UnquotableError
from triage.diagnose.values import admits, names_of, parse_version
from triage.model import Catalogue, Cause, Fix, FixRecipe, Idiom, RunFacts, Scalar

UNPRINTABLE = "UNPRINTABLE"
"""Stands in a step or a check for a value that cannot be quoted safely."""

SOLUTIONS_LIMIT = 12
"""Solutions of a record without computed fixes that are shown."""

DEFAULT_PORT = 8000
"""Where the server listens unless told otherwise."""

_DECIMALS = 6
_LIST = regex.compile(r"[\[({] ?(?:(?P<q>['\"])[\w./:@+-]{1,200}(?P=q)(?:, ?| ?(?=[\])}]))){1,200}[\])}]", regex.ASCII)
_NAMES = regex.compile(r"(?:[A-Za-z][\w.]*(?:==[\w.]+)?(?: |\Z)){2,20}", regex.ASCII)


def work_out(
    cause: Cause, captures: Mapping[str, Scalar], facts: RunFacts, catalogue: Catalogue, idiom: Idiom | None
) -> tuple[Fix, ...]:
    """Work out the fixes of a cause.

    Args:
        cause: the cause.
        captures: the values that the message and its surroundings gave; None for one that was cut away.
        facts: what the log says of the run.
        catalogue: for the flags that each release has.
        idiom: the idiom asked for; None takes the run's own.

    Returns:
        The fixes that apply to the run's release and change something, in the record's order; where none does, those
        of the nearest release, since a message that is there proves that the check is. With the release
        unknown those of all releases, each with the ones that it is for. One whose numbers the log does not
        hold has no commands and says what is missing. One that only drops flags comes last where the log does not
        show the arguments. A record without computed fixes gives its solutions, without commands; so does one of whose
        fixes none would change anything.
    """
    release = release_of(facts.vllm_version, catalogue)
    if own := advised(cause.mistake, captures, facts, release, catalogue.options):
        cause = replace(cause, fixes=(*own, *cause.fixes))
    if not cause.fixes:
        return _solutions(cause)
    context = _Context(
        cause=cause,
        captures=captures,
        facts=facts,
        names=names_of(captures, facts),
        release=release,
        catalogue=catalogue,
        idiom=idiom or facts.launch_idiom or "cli",
    )
    version = context.release.version
    if version is None:
        return _in_order(_fix(recipe, context) for recipe in cause.fixes) or _in_general(cause, context.unsaid)
    tried: list[list[FixRecipe]] = []
    for nearest in (version, *_by_distance(version, catalogue)):
        admitted = [recipe for recipe in cause.fixes if admits(recipe.versions, nearest)]
        if admitted in tried:
            continue
        tried.append(admitted)
        # Of another release, where this one's all are withheld: each says which it is for.
        shown = [recipe if nearest == version else _labelled(recipe) for recipe in admitted]
        if fixes := _in_order(_fix(recipe, context) for recipe in shown):
            return fixes
    return _in_general(cause, context.unsaid)


def release_of(version: str | None, catalogue: Catalogue) -> Release:
    """What the catalogue knows of a release: its flags, or those of the nearest release below it.

    A pre-release or development build counts as the release that it leads to.
    """
    parsed = parse_version(version)
    if parsed is None:
        return Release()
    known = sorted((release, name) for name in catalogue.flags if (release := parse_version(name)) is not None)
    below = [name for release, name in known if release <= parsed]
    return Release(parsed, catalogue.flags[below[-1]], below[-1]) if below else Release(parsed)


@dataclass(frozen=True, slots=True)
class _Context:
    cause: Cause
    captures: Mapping[str, Scalar]
    facts: RunFacts
    names: Mapping[str, Scalar]
    release: Release
    catalogue: Catalogue
    idiom: Idiom
    unsaid: dict[str, None] = field(default_factory=dict)  # what other wordings of the message say, and fixes need


def _fix(recipe: FixRecipe, context: _Context) -> tuple[Fix, bool] | None:
    """A recipe worked out, and whether it is for a flag that nobody knows to be there; None where it does not apply."""
    fix = _applied(recipe, context)
    if fix is None:
        return None
    if context.release.version is None:
        fix = replace(fix, title=_labelled(recipe, fix.title).title)
    drops = bool(recipe.unset) and not (recipe.set or recipe.env or recipe.packages or recipe.steps)
    if not drops or any(is_given(flag, context.facts) for flag in recipe.unset):
        return fix, False
    return replace(fix, title=f"if {' or '.join(recipe.unset)} is set: {fix.title}"), True


def _labelled(recipe: FixRecipe, title: str | None = None) -> FixRecipe:
    """A recipe that says in its title which releases it is for."""
    title = recipe.title if title is None else title
    return replace(recipe, title=f"{title} (vLLM {recipe.versions})" if recipe.versions else title)


def _applied(recipe: FixRecipe, context: _Context) -> Fix | None:
    flags = context.release.flags
    recipe = translated(recipe, context.release, context.catalogue.options)
    if flags is not None and any(flag.partition(".")[0] not in flags for flag in recipe.set):
        return None
    try:
        if recipe.when is not None and not evaluate(recipe.when, context.names):
            return None
    except MissingName as missing:
        # A wording of the message without that number: the fix is for another one.
        if unsaid := [name for name in missing.names if _is_of_other_wording(name, context)]:
            context.unsaid.update(dict.fromkeys(unsaid))
            return None
        return _withheld(recipe, _lacking(missing.names, context), context)
    except ExpressionError as reason:
        return _withheld(recipe, (f"its condition cannot be worked out: {reason}",), context)
    try:
        return _worked_out(recipe, context)
    except MissingName as missing:
        if unsaid := [name for name in missing.names if _is_of_other_wording(name, context)]:
            context.unsaid.update(dict.fromkeys(unsaid))
            return None
        return _withheld(recipe, _lacking(missing.names, context), context)
    except ExpressionError as reason:
        return _withheld(recipe, (f"its number cannot be worked out: {reason}",), context)


def _worked_out(recipe: FixRecipe, context: _Context) -> Fix | None:
    missing: dict[str, None] = {}
    values: dict[str, Scalar] = {}
    variables: dict[str, Scalar] = {}
    for recipes, found in ((recipe.set, values), (recipe.env, variables)):
        for key, value in recipes.items():
            try:
                found[key] = _computed(value, context.names)
            except MissingName as lacking:
                missing.update(dict.fromkeys(lacking.names))
    texts: dict[str, str] = {}
    quoted = {"verify": recipe.verify or "", **{f"step {place}": step for place, step in enumerate(recipe.steps)}}
    reachable = {**context.names, **_port(context)}
    for key, text in {"title": recipe.title, "tradeoff": recipe.tradeoff, **quoted}.items():
        names = context.names if key == "title" else reachable
        try:
            texts[key] = fill(text, names, _for_paste if key in quoted else None)
        except MissingName as lacking:
            missing.update(dict.fromkeys(lacking.names))
    if missing:
        raise MissingName(*missing)
    unset = tuple(flag for flag in recipe.unset if may_be_given(flag, context.facts))
    removed, further = _variables_to_remove(recipe, context.facts)
    variables.update(dict.fromkeys(removed))
    same = all(_is_present(flag, value, context) for flag, value in values.items())
    if (recipe.set or recipe.unset) and same and not (unset or variables or recipe.packages):
        return None
    given, passed = wanted(variables)
    change = Change(values, unset, given, recipe.packages, passed)
    rendered = render(change, context.facts, context.idiom, context.release)
    return Fix(
        title=texts["title"],
        set=values,
        unset=unset,
        env={name: value for name, value in variables.items() if name not in passed},
        steps=(*(texts[key] for key in texts if key.startswith("step ")), *rendered.steps, *further),
        commands=rendered.commands,
        verify=texts["verify"] or None,
        safety=recipe.safety,
        tradeoff=texts["tradeoff"],
        estimate=recipe.estimate,
        note=rendered.note,
    )


def _variables_to_remove(recipe: FixRecipe, facts: RunFacts) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The variables to take away, and steps for those that need not be there, because the flag beside them is."""
    if not any(is_given(flag, facts) for flag in recipe.unset):
        return recipe.unset_env, ()
    shown = [name for name in recipe.unset_env if is_variable_shown(name, facts)]
    rest = [name for name in recipe.unset_env if name not in shown]
    return tuple(shown), tuple(f"if {name} is set in its environment: unset it too" for name in rest)


def _port(context: _Context) -> dict[str, Scalar]:
    """The port that the server is asked on, unless the cause has a capture of that name."""
    if "port" in context.cause.captures or "port" in context.captures:
        return {}
    port = context.facts.args.get("port")
    return {"port": port if isinstance(port, int) and not isinstance(port, bool) else DEFAULT_PORT}


def _withheld(recipe: FixRecipe, missing: tuple[str, ...], context: _Context) -> Fix:
    return Fix(
        title=unfilled(recipe.title, context.names),
        safety=recipe.safety,
        tradeoff=unfilled(recipe.tradeoff, context.names),
        estimate=recipe.estimate,
        missing=missing,
    )


def _solutions(cause: Cause) -> tuple[Fix, ...]:
    solutions = cause.record.get("solutions")
    if not isinstance(solutions, list):
        return ()
    titles = (visible(solution.strip()) for solution in solutions[:SOLUTIONS_LIMIT] if isinstance(solution, str))
    return tuple(Fix(title=title) for title in titles if title)


def _in_general(cause: Cause, unsaid: Collection[str]) -> tuple[Fix, ...]:
    """The record's advice in words, where none of its computed changes would change anything, or none can be computed.

    Args:
        cause: the cause.
        unsaid: values that the computed changes need and this wording of the message does not give.
    """
    steps = tuple(fix.title for fix in _solutions(cause))
    missing = tuple(
        [f"{' and '.join(unsaid)}: this message does not say it, other wordings of it do"] if unsaid else ()
    )
    why = (
        "the message lacks what a change is computed from" if missing else "no known change applies to these arguments"
    )
    return (Fix(title=f"what helps in general: {why}", steps=steps, missing=missing),) if steps else ()


def _in_order(found: Iterable[tuple[Fix, bool] | None]) -> tuple[Fix, ...]:
    """The fixes, those behind the others whose condition nobody has looked at."""
    fixes = [each for each in found if each is not None]
    return tuple(fix for last in (False, True) for fix, conditional in fixes if conditional is last)


def _by_distance(version: Version, catalogue: Catalogue) -> list[Version]:
    """The releases that are known, those next to a version first, the older of two before the newer."""
    known = sorted({release for name in catalogue.flags if (release := parse_version(name)) is not None} | {version})
    place = known.index(version)
    return sorted((release for release in known if release != version), key=lambda r: abs(known.index(r) - place))


def _computed(value: object, names: Mapping[str, Scalar]) -> Scalar:
    if isinstance(value, Mapping):
        text = value.get("text")
        if not isinstance(text, str):
            raise ExpressionError("a constant needs a text")
        return text
    if isinstance(value, str):
        value = evaluate(value, names)
    if isinstance(value, float):
        # A whole number that came of a division is one: the flags for counts take no point.
        return int(value) if value.is_integer() else round(value, _DECIMALS)
    if isinstance(value, (int, bool)):
        return value
    raise ExpressionError(f"no value: {type(value).__name__}")


def _is_present(flag: str, value: Scalar, context: _Context) -> bool:
    base, dot, path = flag.partition(".")
    present: object = context.facts.args.get(name_of(base)) if dot else None
    for key in path.split(".") if dot else ():
        present = present.get(key) if isinstance(present, Mapping) else None
    if not dot:
        present = context.names.get(name_of(flag))
        if isinstance(value, bool) and present is None:
            return False
    return present == value and isinstance(present, bool) is isinstance(value, bool)


def _is_of_other_wording(name: str, context: _Context) -> bool:
    spec = context.cause.captures.get(name)
    return spec is not None and spec.source in ("hole", "chain", "near") and name not in context.captures


def _lacking(names: Iterable[str], context: _Context) -> tuple[str, ...]:
    return tuple(_how_to_get(name, context) for name in names)


def _how_to_get(name: str, context: _Context) -> str:
    if name in context.captures:
        return f"{name} is cut off in the log: pass the whole message"
    spec = context.cause.captures.get(name)
    key = spec.key if spec is not None and spec.source in ("args", "engine") and spec.key else name
    flag = "--" + key.replace("_", "-")
    if not (spec is not None and spec.source == "args") and flag not in _flags(context):
        return f"{name} is not in the log: pass the log from the start of vLLM on"
    if context.facts.args and CUT not in context.facts.unusable:
        return f"{key} is not in the log: start with {flag} N set"
    return f"{key} is not in the log: start with {flag} N set, or pass the lines with 'non-default args'"


def _flags(context: _Context) -> frozenset[str]:
    if context.release.flags is not None:
        return context.release.flags
    newest = _newest(context.catalogue)
    return context.catalogue.flags[newest] if newest is not None else frozenset()


def _newest(catalogue: Catalogue) -> str | None:
    known = [(version, name) for name in catalogue.flags if (version := parse_version(name)) is not None]
    return max(known)[1] if known else None


def _for_paste(value: str) -> str:
    """A value for a step or a check; names in a row ("einops timm") stay the several words that they are.

    A printed list of names (``['spawn', 'fork']``) is told as prose has it: spawn, fork.
    """
    if _NAMES.fullmatch(value):
        return value
    if _LIST.fullmatch(value):
        return ", ".join(name.strip(" '\"") for name in value[1:-1].split(",") if name.strip())
    try:
        return quoting.for_shell(value)
    except UnquotableError:
        return UNPRINTABLE
