"""Texts without what wraps, pastes and terminals change, and the way back to the original.

An 80-column wrap breaks the longest literal of nine messages in ten, so literals are compared with
all white space out. Case, backslashes, backticks and the shape of quotes go too: Markdown, JSON
escapes and word processors change them.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

import regex

# str.translate maps one character to one, so offsets stay true; what is to be dropped becomes a blank. Underscores and
# stars go because Markdown takes pairs of them for emphasis and eats them (or puts the one for the other).
_QUOTES = dict.fromkeys("\u2018\u2019\u201a\u2032\u00b4", "'") | dict.fromkeys(
    "\u201c\u201d\u201e\u2033\u00ab\u00bb", '"'
)
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")
_DROPPED = dict.fromkeys("`\\_*\u00a0\u00ad\u200b\u200c\u200d\u2060\ufeff", " ")
_FULL_WIDTH = {chr(code): chr(code - 0xFEE0).lower() for code in range(0xFF01, 0xFF5F)}
_FOLD = str.maketrans(
    dict(zip(string.ascii_uppercase, string.ascii_lowercase, strict=True))
    | {**_FULL_WIDTH, **_QUOTES, **_DASHES, **_DROPPED}
)
_RUN = regex.compile(r"\S+")
# What whoever cut an excerpt put in the place of its end.
_CUT = regex.compile(
    r"\s*(?:\.{3,}|\u2026)?\s*(?:[\[(<]\s*(?:\.{3,}|\u2026|(?:\w+ )?(?:truncated|snip|snipped|cut|omitted)"
    r"|\d+ (?:more )?\w+ (?:omitted|truncated|skipped|more))\s*[\])>]|\w+ truncated>)\s*$",
    regex.IGNORECASE,
)
CUT_MARK = 80
"""Characters at a text's end that are looked at for such a mark."""


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text: what is left of it, and for each character its offset in the original."""

    original: str
    text: str
    offsets: tuple[int, ...]

    def span(self, start: int, end: int) -> str:
        """The original text between two offsets of the folded one, with the underscores at its ends."""
        if end <= start:
            return ""
        begin, stop = self.offsets[start], self.offsets[end - 1] + 1
        while begin > 0 and self.original[begin - 1] == "_":
            begin -= 1
        while stop < len(self.original) and self.original[stop] == "_":
            stop += 1
        return self.original[begin:stop]


def fold(text: str) -> Folded:
    """Fold a text and keep the way back; a mark that it was cut at its end goes."""
    cut = _CUT.search(text, max(0, len(text) - CUT_MARK))
    translated = (text if cut is None else text[: cut.start()]).translate(_FOLD)
    pieces: list[str] = []
    offsets: list[int] = []
    for run in _RUN.finditer(translated):
        pieces.append(run[0])
        offsets.extend(range(run.start(), run.end()))
    return Folded(text, "".join(pieces), tuple(offsets))


def fold_literal(text: str) -> str:
    """Fold a literal of a template, where no way back is needed."""
    return "".join(_RUN.findall(text.translate(_FOLD)))
