"""Texts without what wraps, pastes and terminals change, and the way back to the original.

An 80-column wrap breaks the longest literal of nine messages in ten, so literals are compared with
all white space out. Case, backslashes, backticks and the shape of quotes go too: Markdown, JSON
escapes and word processors change them.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

import regex

# str.translate maps one character to one, so offsets stay true; what is to be dropped becomes a blank.
_FOLD = str.maketrans(
    string.ascii_uppercase + "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb`\\\u00a0\u200b",
    string.ascii_lowercase + '\'\'\'"""""    ',
)
_RUN = regex.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Folded:
    """A folded text: what is left of it, and for each character its offset in the original."""

    original: str
    text: str
    offsets: tuple[int, ...]

    def span(self, start: int, end: int) -> str:
        """The original text between two offsets of the folded one."""
        if end <= start:
            return ""
        return self.original[self.offsets[start] : self.offsets[end - 1] + 1]


def fold(text: str) -> Folded:
    """Fold a text and keep the way back."""
    translated = text.translate(_FOLD)
    pieces: list[str] = []
    offsets: list[int] = []
    for run in _RUN.finditer(translated):
        pieces.append(run[0])
        offsets.extend(range(run.start(), run.end()))
    return Folded(text, "".join(pieces), tuple(offsets))


def fold_literal(text: str) -> str:
    """Fold a literal of a template, where no way back is needed."""
    return "".join(_RUN.findall(text.translate(_FOLD)))
