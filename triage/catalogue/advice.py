"""What a record says to do, and where its message is raised, in the lines of an explanation."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby

from triage.catalogue.templates import with_captures
from triage.model import Cause, CauseSite, FixRecipe

COMPUTED = "<computed>"
"""Stands for a value that is worked out from the log."""

NEWEST_LINES = 3
"""Lines of the newest place that are shown, the newest first."""

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}")
_FLAG = re.compile(r"--[a-z][\w-]*")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# A comparison of values with numbers or each other, which reads as it is; anything with a formula in it does not.
_COMPARISON = re.compile(r"[\w.]+ (?:[<>]=?|[=!]=) [\w.]+(?: (?:and|or) [\w.]+ (?:[<>]=?|[=!]=) [\w.]+)*")
_DIRECTIONS = {
    **dict.fromkeys(("raise", "increase"), "up"),
    **dict.fromkeys(("lower", "reduce", "decrease"), "down"),
    **dict.fromkeys(("drop", "remove", "unset", "omit"), "off"),
}
# Two texts with so much in common (0 to 100) say the same.
_SAME = 85


def readable(text: str) -> str:
    """A text of a record without formulas: values of the log by their names, computed ones as ``<computed>``."""

    def value(found: re.Match[str]) -> str:
        if found[1] is None:
            return found[0][0]
        return found[0] if found[1].isidentifier() else COMPUTED

    return _BRACES.sub(value, text)


def fix_sections(cause: Cause) -> list[str]:
    """The fixes, a section each, but those that were made of the solutions, which have a section of their own."""
    solutions = [with_captures(solution, cause.captures) for solution in _solutions(cause)]
    fixes = [fix for fix in cause.fixes if _changes(fix) or fix.title not in solutions]
    sections = []
    for number, fix in enumerate(fixes, 1):
        # The same check behind every fix is said once, behind the last of them.
        check = fix.verify if number == len(fixes) or fixes[number].verify != fix.verify else None
        sections.append("\n  ".join([f"Fix {number}", *_fix(fix, check)]))
    return sections


def unsaid_solutions(cause: Cause) -> list[str]:
    """The solutions that no fix states: those that change other flags, or change them another way."""
    return [solution for solution in _solutions(cause) if not any(_states(fix, solution) for fix in cause.fixes)]


def _states(fix: FixRecipe, solution: str) -> bool:
    if not _changes(fix):
        return False
    # Only needed where a record is explained.
    from rapidfuzz import fuzz, utils

    title = readable(fix.title)
    one, two = (_DIRECTIONS.get(text.split(" ", 1)[0].lower()) for text in (title, solution))
    if one and two and one != two:
        return False
    flags = set(_FLAG.findall(solution))
    if flags and flags == {*fix.set, *fix.unset}:
        return True
    texts = (title, *map(readable, fix.steps))
    return any(fuzz.token_set_ratio(solution, text, processor=utils.default_process) >= _SAME for text in texts)


def _fix(fix: FixRecipe, check: str | None) -> list[str]:
    about = [fix.safety.replace("_", " "), fix.tradeoff, "an estimate" if fix.estimate else ""]
    title = readable(fix.title)
    lines = [f"{title}  [{'; '.join(readable(part) for part in about if part)}]"]
    lines += [change for change in _changes(fix) if not title.startswith(change)]
    if fix.when:
        lines.append(f"only if: {fix.when if _COMPARISON.fullmatch(fix.when) else 'its numbers allow it'}")
    if fix.versions:
        lines.append(f"only for releases: {fix.versions}")
    return [*lines, f"check: {readable(check)}"] if check else lines


def _changes(fix: FixRecipe) -> list[str]:
    lines = [f"set {name} {_value(value)}".rstrip() for name, value in fix.set.items()]
    lines += [f"drop {name}" for name in fix.unset]
    lines += [f"set {name}={_value(value)} in the environment" for name, value in fix.env.items()]
    lines += [f"unset {name} in the environment" for name in fix.unset_env]
    lines += [f"install {package}" for package in fix.packages]
    return lines + [f"step: {readable(step)}" for step in fix.steps]


def _value(value: object) -> str:
    """A constant as it is, a value of the log by its name."""
    if isinstance(value, Mapping) and "text" in value:
        return str(value["text"])
    if isinstance(value, str) and value.isidentifier():
        return f"{{{value}}}"
    if value is None or value is True:
        return ""
    return str(value) if not isinstance(value, str) or _NUMBER.fullmatch(value) else COMPUTED


def packed_sites(sites: Sequence[CauseSite]) -> list[str]:
    """A line for each place, with its range of releases; the newest first, with the lines of its newest releases."""
    places: dict[str, dict[str, int]] = {}
    for site in sites:
        place = f"{site.file} in {site.function}" if site.function else site.file
        lines = places.setdefault(place, {})
        lines |= {release: line for release, line in site.lines.items() if release not in lines}
    out: list[str] = []
    left = False
    for place, lines in sorted(places.items(), key=lambda entry: _newest(entry[1]), reverse=True):
        releases = sorted(lines, key=_order)
        text = place + (f", {_range(releases)}" if releases else "")
        runs = [(line, list(run)) for line, run in groupby(releases, key=lines.__getitem__)]
        if runs and not out:
            text += ": line " + ", ".join(f"{line} ({_range(run)})" for line, run in runs[: -NEWEST_LINES - 1 : -1])
            left = len(runs) > NEWEST_LINES
        left = left or bool(runs and out)
        out.append(text)
    return [*out, "(--format json has the line of each release)"] if left else out


def _newest(lines: Mapping[str, int]) -> tuple[int, ...]:
    return max(map(_order, lines), default=())


def _order(release: str) -> tuple[int, ...]:
    """Numbers to sort a release by; what follows the numbers of a release (post1) comes after it."""
    return tuple(int(part) for part in re.findall(r"\d+", release))


def _range(releases: Sequence[str]) -> str:
    return releases[0] if len(releases) == 1 else f"{releases[0]} to {releases[-1]}"


def _solutions(cause: Cause) -> tuple[str, ...]:
    value = cause.record.get("solutions")
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()
