"""Fixes for messages that no record knows, where the sources say which relation between two settings they check."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import regex

from triage.model import FixRecipe, Placement, Scalar

_COMPARISON = regex.compile(r"(?P<left>[\w.]+) (?P<operator><|<=|>|>=|!=) (?P<right>[\w.]+)")
_MODULUS = regex.compile(r"(?P<left>[\w.]+) % (?P<right>[\w.]+) != 0")
# For each relation that holds where the message comes out: what the left side, and what the right side, must become.
_ENDS = {
    "<": ("{other}", "{other}"),
    "<=": ("{other} + 1", "{other} - 1"),
    ">": ("{other}", "{other}"),
    ">=": ("{other} - 1", "{other} + 1"),
    "!=": ("{other}", "{other}"),
}


def recipes(placement: Placement, flags: Collection[str]) -> tuple[FixRecipe, ...]:
    """The changes of one setting each that satisfy the check that a message stands under.

    Args:
        placement: the message's place, with what its holes held.
        flags: those that the run's release has.

    Returns:
        A recipe for each side that is a flag, for a modulus for its divisor; none where the check is no comparison or
        modulus, or the log does not show its numbers.
    """
    guard = placement.site.guard or ""
    if found := _MODULUS.fullmatch(guard):
        left, right = _name(found["left"]), _name(found["right"])
        if (flag := _flag(right, flags)) and _is_number(left, placement.captures):
            return (_recipe(flag, f"largest_divisor({left}, {right})", guard),)
        return ()
    found = _COMPARISON.fullmatch(guard)
    if found is None:
        return ()
    left, right = _name(found["left"]), _name(found["right"])
    sides = zip((left, right), (right, left), _ENDS[found["operator"]], strict=True)
    return tuple(
        _recipe(flag, end.format(other=other), guard)
        for name, other, end in sides
        if (flag := _flag(name, flags))
        and _is_number(name, placement.captures)
        and _is_number(other, placement.captures)
    )


def _recipe(flag: str, value: str, guard: str) -> FixRecipe:
    return FixRecipe(
        title=f"set {flag} to {{{value}}}",
        set={flag: value},
        safety="needs_judgement",
        tradeoff=f"worked out from the check alone: it fails where {guard}",
    )


def _name(side: str) -> str:
    return side if side[0].isdigit() else side.rpartition(".")[2]


def _flag(name: str, flags: Collection[str]) -> str | None:
    flag = f"--{name.replace('_', '-')}"
    return flag if flag in flags else None


def _is_number(name: str, captures: Mapping[str, Scalar]) -> bool:
    if name[0].isdigit():
        return name.isdigit()
    value = captures.get(name)
    return isinstance(value, (int, float)) and not isinstance(value, bool)
