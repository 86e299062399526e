"""Fixes for mistakes in the command line, worked out of the flags that the run's release has."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from rapidfuzz import fuzz, process

from triage.diagnose.arguments import Release
from triage.diagnose.flags import flag_name, name_of
from triage.diagnose.wrong_values import APART, CLOSE, TEXT_LIMIT, braced, constant, corrected, target_of
from triage.model import FixRecipe, Flag, FlagBook, Mistake, Rename, RunFacts, Scalar

FLAGS_LIMIT = 6
"""Unknown flags of one message that are looked up."""

SHORTEST = 4
"""Letters of a word that can stand for a longer one."""

_WORDS = re.compile(r"[-_]")
_KEY = re.compile(r"\w{1,80}", re.ASCII)
_FLAG = re.compile(r"--[A-Za-z][\w-]{1,80}(?:\.[\w.-]{1,80})?", re.ASCII)


def advised(
    mistake: Mistake | None, captures: Mapping[str, Scalar], facts: RunFacts, release: Release, book: FlagBook | None
) -> tuple[FixRecipe, ...]:
    """The changes that put a mistake in the command line right.

    Args:
        mistake: what the message complains of; None where it complains of no flag.
        captures: the values that the message gave.
        facts: what the log says of the run, for the values that flags have.
        release: the run's release; where the log does not show it, the newest stands in for it, and every change is
            left to judgement.
        book: what each release makes of its flags.

    Returns:
        A recipe for each flag or value whose right form is known: what it became, in which release it is, or the one
        that it is close to. None where nothing is known: a name that resembles no flag is not guessed at.
    """
    flag = captures.get(mistake.flag) if mistake is not None else None
    if mistake is None or book is None or not isinstance(flag, str):
        return ()
    options = book.options(release.name or book.newest)
    if mistake.problem in ("choice", "number", "json", "limit"):
        fields = book.fields(release.name or book.newest, flag)
        target = target_of(flag, captures.get(mistake.field or ""), options, fields)
        value, choices = captures.get(mistake.value or ""), captures.get(mistake.choices or "")
        return tuple(corrected(mistake.problem, target, value, choices, facts)) if target is not None else ()
    if mistake.problem == "unknown_key":
        key = captures.get(mistake.value or "")
        fields = book.fields(release.name or book.newest, flag)
        return tuple(_keyed(flag, key, facts, fields, options)) if isinstance(key, str) else ()
    # One fix makes all the changes: a command that is right in one flag alone does not start.
    words = _words(flag)
    given = {each: _given(each, facts, words) for each in _named(words, release)}
    parts = [_replacement(each, value, release, book, options) for each, value in given.items()]
    known = [part for part in parts if part is not None]
    if not known or len(known) < len(parts):
        return tuple(known)
    if len(known) == 1:
        return (known[0],)
    return (_together(known),)


def translated(recipe: FixRecipe, release: Release, book: FlagBook | None) -> FixRecipe:
    """A recipe with flags that the release does not have yet under the names that they have there."""
    if book is None or release.flags is None:
        return recipe
    changes: dict[str, object] = {}
    for flag, value in recipe.set.items():
        former = next(
            (
                each.old
                for each in book.renamed(flag)
                if flag.partition(".")[0] not in release.flags
                and each.new == flag
                and each.same
                and each.old in release.flags
            ),
            flag,
        )
        changes[former] = value
    if list(changes) == list(recipe.set):
        return recipe
    title = recipe.title
    for new, former in zip(recipe.set, changes, strict=True):
        title = title.replace(new, former)
    return FixRecipe(
        title=title,
        set=changes,
        unset=recipe.unset,
        env=recipe.env,
        unset_env=recipe.unset_env,
        packages=recipe.packages,
        steps=recipe.steps,
        verify=recipe.verify,
        safety=recipe.safety,
        tradeoff=recipe.tradeoff,
        estimate=recipe.estimate,
        when=recipe.when,
        versions=recipe.versions,
    )


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text[:TEXT_LIMIT])
    except ValueError:
        return text[:TEXT_LIMIT].split()


def _named(words: list[str], release: Release) -> list[str]:
    """The flags in a list of arguments that the release does not have."""
    found = dict.fromkeys(flag_name(found[0]) for word in words if (found := _FLAG.match(word)))
    # One that the release has is unknown to another program than the server, or the release is not what we take it for.
    return [flag for flag in found if flag.partition(".")[0] not in (release.flags or ())][:FLAGS_LIMIT]


class _Given(NamedTuple):
    """What a flag is given; shown: whether the log shows it on the command line, where it can be changed."""

    value: Scalar
    shown: bool


def _given(flag: str, facts: RunFacts, words: list[str]) -> _Given:
    if (name := name_of(flag)) in facts.args:
        value = facts.args[name]
        return _Given(value if isinstance(value, (bool, int, float, str)) else None, True)
    for word, following in zip(words, [*words[1:], ""], strict=True):
        if flag_name(word) != flag:
            continue
        _, equals, text = word.partition("=")
        text = text if equals else "" if following.startswith("-") else following
        return _Given(int(text) if re.fullmatch(r"-?\d{1,15}", text, re.ASCII) else text or None, False)
    return _Given(None, False)


def _replacement(
    flag: str, given: _Given, release: Release, book: FlagBook, options: Mapping[str, Flag]
) -> FixRecipe | None:
    flags = release.flags or frozenset(options)
    for each in book.renamed(flag):
        if each.old == flag and each.new is None:
            return _dropped(flag, given, f"{_who(release)} has no {flag}: {each.note}")
        target = each.new if each.old == flag else each.old
        if target is not None and target.partition(".")[0] in flags and (each.old == flag or each.same):
            return _renamed(flag, target, each, given, release)
    if spans := book.spans(flag):
        return _dropped(flag, given, _lifetime(flag, spans, release))
    close = closest(flag, options)
    if close is None:
        return None
    value = given.value
    if value is None or (options[close].kind == "switch") is not isinstance(value, bool):
        return _in_words(flag, close)
    return FixRecipe(
        title=f"write {close} for {flag}",
        set={close: constant(value)},
        unset=(flag,),
        safety="needs_judgement",
        tradeoff=f"{close} is the flag of this release that {flag} is closest to",
    )


def closest(flag: str, options: Mapping[str, Flag]) -> str | None:
    """The flag, or key, that a misspelt one must mean; None where none, or more than one, is as close."""
    abbreviated = [name for name in options if _is_short_for(flag, name)]
    if abbreviated:
        return abbreviated[0] if len(abbreviated) == 1 else None
    found = process.extract(flag, list(options), scorer=fuzz.ratio, score_cutoff=CLOSE - APART, limit=2)
    if not found or found[0][1] < CLOSE or (len(found) > 1 and found[0][1] - found[1][1] < APART):
        return None
    return found[0][0]


def _is_short_for(name: str, whole: str) -> bool:
    """Whether the words of a name are beginnings of another's: ``num_spec_tokens`` and ``num_speculative_tokens``."""
    short, full = (_WORDS.split(each.lstrip("-")) for each in (name, whole))
    return len(short) == len(full) > 1 and all(
        one == other
        or (len(one) >= SHORTEST and (other.startswith(one) or (one.startswith(other) and len(other) >= SHORTEST)))
        for one, other in zip(short, full, strict=True)
    )


def _renamed(flag: str, target: str, rename: Rename, given: _Given, release: Release) -> FixRecipe:
    value = given.value if rename.same else rename.value
    if value is None:
        return _in_words(flag, target)
    known = release.name is not None
    return FixRecipe(
        title=f"write {target} for {flag}",
        set={target: constant(value)},
        unset=(flag,),
        safety="safe" if known and rename.same else "needs_judgement",
        tradeoff=f"{flag} has that name in {'this release' if known else 'the newest releases'}",
    )


def _dropped(flag: str, given: _Given, why: str) -> FixRecipe:
    if given.shown:
        return FixRecipe(title=f"drop {flag}", unset=(flag,), safety="changes_behaviour", tradeoff=why)
    steps = (f"remove {flag} and its value, from the command or from the file that --config names",)
    return FixRecipe(title=f"drop {flag}", steps=steps, safety="changes_behaviour", tradeoff=why)


def _lifetime(flag: str, spans: Sequence[tuple[str, str]], release: Release) -> str:
    shown = " and ".join(f"{first} to {last}" if first != last else first for first, last in spans)
    return f"{_who(release)} has no {flag}; it is a flag of vLLM {shown}"


def _who(release: Release) -> str:
    return f"vLLM {release.version}" if release.version is not None else "this release"


def _in_words(flag: str, target: str) -> FixRecipe:
    return FixRecipe(
        title=f"write {target} for {flag}",
        steps=(f"replace {flag} by {target}, in the command or in the file that --config names",),
        safety="needs_judgement",
    )


def _together(parts: list[FixRecipe]) -> FixRecipe:
    order = ("safe", "changes_behaviour", "needs_judgement")
    return FixRecipe(
        title=" and ".join(part.title for part in parts),
        set={flag: value for part in parts for flag, value in part.set.items()},
        unset=tuple(flag for part in parts for flag in part.unset),
        steps=tuple(step for part in parts for step in part.steps),
        safety=max((part.safety for part in parts), key=order.index),
        tradeoff="; ".join(part.tradeoff for part in parts if part.tradeoff),
    )


def _keyed(
    owner: str, key: str, facts: RunFacts, fields: Mapping[str, Flag], options: Mapping[str, Flag]
) -> Iterator[FixRecipe]:
    """The key of a JSON value that a misspelt one must mean."""
    holders = [name for name, each in options.items() if each.of == owner]
    meant = closest(key, fields)
    if meant is None or len(holders) != 1:
        return
    flag, title = holders[0], f"write {braced(meant)} for {braced(key)} in the value of {holders[0]}"
    given = facts.args.get(name_of(flag))
    value = given.get(key) if isinstance(given, Mapping) else None
    if isinstance(value, (bool, int, float, str)) and _KEY.fullmatch(key):
        changes: dict[str, object] = {f"{flag}.{meant}": constant(value)}
        yield FixRecipe(
            title=title, set=changes, unset=(f"{flag}.{key}",), tradeoff=f"of the keys of {owner} the closest"
        )
    else:
        step = f"rename the key {braced(key)} to {braced(meant)}, in the command or in the file that --config names"
        yield FixRecipe(title=title, steps=(step,), tradeoff=f"of the keys of {owner} the closest")
