"""What number, or JSON object, was meant by a text that the command line's parser did not take for one."""

from __future__ import annotations

import ast
import json
import re
from typing import NamedTuple

TEXT_LIMIT = 60
"""Characters of a text that may be a number."""

UNSET = frozenset({"", "none", "null", "nil", "undefined", "default", "auto", "unset"})
"""What people write to say that the default will do."""

# vLLM's own reading of suffixes: k is 1000 and K 1024 (human_readable_int, vllm/utils/argparse_utils.py in 0.33.0).
_SUFFIXES = {s: 1000**n for n, s in enumerate("kmgt", 1)} | {s: 1024**n for n, s in enumerate("KMGT", 1)}
LARGEST = 10**12
"""No setting is larger."""

_GROUPED = re.compile(r"\d{1,3}(?:[,_' \u00a0]\d{3})+", re.ASCII)
_NUMBER = re.compile(
    r"(?P<digits>\d{1,15}(?:[.,]\d{1,15})?)(?P<exponent>[eE]\+?\d{1,2})?\s*(?P<unit>[%A-Za-z]{0,6})", re.ASCII
)
_BYTES = re.compile(r"(?:[GT]i?B?|[gt]b?)", re.ASCII)


class Meant(NamedTuple):
    """A number, and whether the text can mean no other."""

    value: int | float
    sure: bool


def number_meant(text: str, kind: str, *, in_gib: bool = False) -> Meant | None:
    """The number that a text stands for, None where it holds none, or nothing that this kind of value can be.

    Args:
        text: as it was given: ``32,768``, ``90%``, ``8192.0``, ``32k``.
        kind: "int", "float" or "count" (an int that may have a suffix).
        in_gib: whether the value is a number of GiB, so that ``16GiB`` is 16.
    """
    text = text[: TEXT_LIMIT + 1].strip(" \t'\"`\u201c\u201d\u2018\u2019")
    if len(text) > TEXT_LIMIT:
        return None
    if kind != "float" and _GROUPED.fullmatch(text):
        return Meant(int(re.sub(r"\D", "", text)), sure=True)
    found = _NUMBER.fullmatch(text)
    if found is None:
        return None
    unit, value = found["unit"], float(found["digits"].replace(",", ".") + (found["exponent"] or ""))
    if value > LARGEST:
        return None
    # "1,500" is a number with a separator to some and one and a half to others.
    sure = not unit and not _GROUPED.fullmatch(text)
    if unit == "%":
        value, sure = value / 100, kind == "float"
    elif unit and in_gib and _BYTES.fullmatch(unit):
        value *= 1024 if unit[0] in "tT" else 1
    elif unit in _SUFFIXES and kind != "float":
        value *= _SUFFIXES[unit]
    elif unit:
        return None
    if kind == "float":
        return Meant(value, sure)
    return Meant(int(value), sure) if value.is_integer() else None


JSON_LIMIT = 2000
"""Characters of a text that may be a JSON object without its quotes."""

_BARE = re.compile(r"(?<=[{\[,:])\s*([A-Za-z_][\w./+-]{0,200})\s*(?=[}\],:])", re.ASCII)
_WORDS = frozenset({"true", "false", "null"})


def json_meant(text: str) -> str | None:
    """The JSON object that a text was before a shell took its quotes, or as Python prints one; None where neither.

    Args:
        text: as it was given: ``{level:3}``, ``{'level': 3}``.
    """
    text = text.strip(" \t")
    text = text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" else text
    if len(text) > JSON_LIMIT or not (text.startswith("{") and text.endswith("}")):
        return None
    quoted = _BARE.sub(lambda found: found[1] if found[1] in _WORDS else json.dumps(found[1]), text)
    try:
        value = json.loads(quoted)
    except ValueError:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return None
    try:
        return json.dumps(value) if isinstance(value, dict) and value else None
    except (TypeError, ValueError):
        return None
