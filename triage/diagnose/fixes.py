"""A cause's fixes with their numbers worked out, and rendered for the run at hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from triage.diagnose import quoting
from triage.diagnose.arguments import Release
from triage.diagnose.commands import Change, environment, render
from triage.diagnose.expressions import ExpressionError, MissingName, evaluate, fill, unfilled, visible
from triage.diagnose.flags import flag_name, name_of
from triage.diagnose.launches import CUT
from triage.diagnose.quoting import UnquotableError
from triage.model import Catalogue, Cause, Fix, FixRecipe, Idiom, RunFacts, Scalar

UNPRINTABLE = "UNPRINTABLE"
"""Stands in a step or a check for a value that cannot be quoted safely."""

SOLUTIONS_LIMIT = 12
"""Solutions of a record without computed fixes that are shown."""

_DECIMALS = 6
# Arguments whose default has been the same in every release.
_ONE_BY_DEFAULT = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")


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
        The fixes that apply to the run's release and change something, in the record's order. One whose numbers
        the log does not hold has no commands and says what is missing. A record without computed fixes
        gives its solutions, without commands.
    """
    if not cause.fixes:
        return _solutions(cause)
    context = _Context(
        cause=cause,
        captures=captures,
        facts=facts,
        names=names_of(captures, facts),
        release=release_of(facts.vllm_version, catalogue),
        catalogue=catalogue,
        idiom=idiom or facts.launch_idiom or "cli",
    )
    recipes = _for_release(cause.fixes, context.release.version, catalogue)
    return tuple(fix for fix in (_fix(recipe, context) for recipe in recipes) if fix is not None)


def names_of(captures: Mapping[str, Scalar], facts: RunFacts) -> dict[str, Scalar]:
    """The names that an expression can use: captures first, then arguments, the engine's config, run facts.

    Keys inside an argument that is a dictionary (``num_speculative_tokens``) are names too, where nothing else is.
    """
    names: dict[str, Scalar] = {"world_size": facts.world_size, "gpus": facts.gpus}
    if facts.args and CUT not in facts.unusable:
        names.update((name, 1) for name in _ONE_BY_DEFAULT if name not in facts.unusable)
    for value in facts.args.values():
        if isinstance(value, Mapping):
            names.update(_scalars(value))
    names.update(model=facts.model, vllm_version=facts.vllm_version)
    engine = dict(facts.engine)
    if "max_seq_len" in engine:
        engine.setdefault("max_model_len", engine["max_seq_len"])
    for known in (engine, facts.args):
        names.update(_scalars(known))
    names.update((name, value) for name, value in captures.items() if value is not None)
    return {name: value for name, value in names.items() if value is not None}


def release_of(version: str | None, catalogue: Catalogue) -> Release:
    """What the catalogue knows of a release: its flags, or those of the nearest release below it.

    A pre-release or development build counts as the release that it leads to.
    """
    parsed = _version(version)
    if parsed is None:
        return Release()
    known = sorted((release, name) for name in catalogue.flags if (release := _version(name)) is not None)
    below = [name for release, name in known if release <= parsed]
    return Release(parsed, catalogue.flags[below[-1]] if below else None)


@dataclass(frozen=True, slots=True)
class _Context:
    cause: Cause
    captures: Mapping[str, Scalar]
    facts: RunFacts
    names: Mapping[str, Scalar]
    release: Release
    catalogue: Catalogue
    idiom: Idiom


def _fix(recipe: FixRecipe, context: _Context) -> Fix | None:
    flags = context.release.flags
    if flags is not None and any(flag.partition(".")[0] not in flags for flag in recipe.set):
        return None
    try:
        if recipe.when is not None and not evaluate(recipe.when, context.names):
            return None
    except MissingName as missing:
        # A wording of the message without that number: the fix is for another one.
        if any(_is_of_other_wording(name, context) for name in missing.names):
            return None
        return _withheld(recipe, _lacking(missing.names, context), context)
    except ExpressionError as reason:
        return _withheld(recipe, (f"its condition cannot be worked out: {reason}",), context)
    try:
        return _worked_out(recipe, context)
    except MissingName as missing:
        if any(_is_of_other_wording(name, context) for name in missing.names):
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
    for key, text in {"title": recipe.title, "tradeoff": recipe.tradeoff, **quoted}.items():
        try:
            texts[key] = fill(text, context.names, _for_paste if key in quoted else None)
        except MissingName as lacking:
            missing.update(dict.fromkeys(lacking.names))
    if missing:
        raise MissingName(*missing)
    variables.update(dict.fromkeys(recipe.unset_env))
    unset = tuple(flag for flag in recipe.unset if _may_be_given(flag, context.facts))
    same = all(_is_present(flag, value, context) for flag, value in values.items())
    if (recipe.set or recipe.unset) and same and not (unset or variables or recipe.packages):
        return None
    given, passed = environment(variables)
    change = Change(values, unset, given, recipe.packages, passed)
    rendered = render(change, context.facts, context.idiom, context.release)
    return Fix(
        title=texts["title"],
        set=values,
        unset=unset,
        env=variables,
        steps=(*(texts[key] for key in texts if key.startswith("step ")), *rendered.steps),
        commands=rendered.commands,
        verify=texts["verify"] or None,
        safety=recipe.safety,
        tradeoff=texts["tradeoff"],
        estimate=recipe.estimate,
        note=rendered.note,
    )


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


def _for_release(recipes: Iterable[FixRecipe], version: Version | None, catalogue: Catalogue) -> list[FixRecipe]:
    if version is not None:
        return [recipe for recipe in recipes if _admits(recipe.versions, version)]
    # Release unknown: as for the newest one, unless the cause has fixes for older ones only.
    newest = _version(_newest(catalogue))
    current = [recipe for recipe in recipes if newest is None or _admits(recipe.versions, newest)]
    return current or list(recipes)


def _admits(versions: str | None, version: Version) -> bool:
    if not versions:
        return True
    try:
        return SpecifierSet(versions).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False


def _version(text: str | None) -> Version | None:
    try:
        version = Version(text or "")
    except InvalidVersion:
        return None
    return Version(version.base_version if version.is_prerelease else version.public)


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


def _may_be_given(flag: str, facts: RunFacts) -> bool:
    """Whether a flag may stand on the user's command line: not where all arguments are known without it."""
    base, dot, path = flag.partition(".")
    name = name_of(base)
    if not facts.args or CUT in facts.unusable or name in facts.unusable:
        return True
    if dot:
        value = facts.args.get(name)
        return isinstance(value, Mapping) and path.split(".")[0] in value
    if name.startswith("no_"):
        return facts.args.get(name.removeprefix("no_")) is False
    return name in facts.args


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
    known = [(version, name) for name in catalogue.flags if (version := _version(name)) is not None]
    return max(known)[1] if known else None


def _for_paste(value: str) -> str:
    try:
        return quoting.for_shell(value)
    except UnquotableError:
        return UNPRINTABLE


def _scalars(values: Mapping[str, object]) -> dict[str, Scalar]:
    return {name: value for name, value in values.items() if isinstance(value, (bool, int, float, str))}
