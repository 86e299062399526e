"""Words of a shell's command line, rewritten so that each can be kept.

Each is as a shell would need it again, in one of five forms:

- plain: ``--max-num-seqs``, ``~/models/x``, ``~user/models/x``
- quoted with single quotes, as ``shlex.quote`` does: ``'{"method": "ngram"}'``
- in double quotes, where a variable stands in it: ``"$HOME/x:/x"``
- with backslashes, where the shell had a pattern to fill in (``*``, ``{a,b}``): so quoted it stands for itself, and
  can be told from what the user had quoted
- ``NAME=`` and one of these, in front of the program

What a shell would run inside a word (``$(...)``, backquotes) is never kept: then there are no words.
"""

from __future__ import annotations

import re
import shlex

WORDS_LIMIT = 400
"""Words of a launch command."""

ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,80})=")
"""What ``NAME=value`` begins with."""

_PLAIN = re.compile(r"[\w@%+=:,./^-]+", re.ASCII)
_TILDE = re.compile(r"(?:[A-Za-z_]\w{0,80}=)?~(?:[a-z_][\w-]{0,31})?(?:/[\w@%+=:,./^-]*)?", re.ASCII)
# What a shell fills in where it is not quoted: names of files, and one word for each part of a list.
_PATTERN = re.compile(r"[*?]|\{[^{}]*(?:,|\.\.)[^{}]*\}")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w{0,80}|\{[A-Za-z_]\w{0,80}\})", re.ASCII)
# Harmless enough to be kept as what they stand for.
_SUBSTITUTES = {"$(pwd)": "$PWD", "`pwd`": "$PWD", "${PWD}": "$PWD"}


def shell_words(text: str, place: int = 0) -> tuple[list[str], int] | None:
    """Split a command into words, each in one of the forms of this module; stop at an operator.

    Args:
        text: the line.
        place: where to begin.

    Returns:
        The words and the place behind them; None where a word would run something, or quotes do not close.
    """
    words: list[str] = []
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        if text[place] in "#;|&<>()":
            break
        word = _word(text, place)
        if word is None or len(words) >= WORDS_LIMIT:
            return None
        written, place = word
        if text[place : place + 1] in ("<", ">") and written.isdigit():
            break
        words.append(written)
    return words, place


def windows_words(text: str) -> list[str]:
    """Split a command of cmd or PowerShell, where a backslash is a part of a path."""
    found = re.findall(r'(?:[^\s"]|"[^"]*")+', text)[:WORDS_LIMIT]
    words = [word.replace('"', "") for word in found]
    return [word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words]


def _word(text: str, place: int) -> tuple[str, int] | None:
    """The word that starts here, rewritten, and the place behind it."""
    pieces: list[tuple[bool, str]] = []
    start, quoted, bare = place, False, ""
    while place < len(text):
        char = text[place]
        if char.isspace() or char in ";|&<>()":
            break
        if char == "'":
            end = text.find("'", place + 1)
            if end < 0:
                return None
            pieces.append((False, text[place + 1 : end]))
            place, quoted = end + 1, True
        elif char == '"':
            inner = _double(text, place + 1, pieces)
            if inner is None:
                return None
            place, quoted = inner, True
        elif char == "\\":
            if place + 1 >= len(text):
                return None
            pieces.append((False, text[place + 1]))
            place += 2
        elif char in "$`":
            step = _expansion(text, place, pieces)
            if step is None:
                return None
            place = step
        else:
            pieces.append((False, char))
            bare += char
            place += 1
    if not quoted and _TILDE.fullmatch(text[start:place]):
        return text[start:place], place
    written = _written(pieces)
    # In an assignment neither is filled in; a word with a variable or a line break stays as it is.
    if _PATTERN.search(bare) and not ASSIGNMENT.match(bare) and not any(active for active, _ in pieces):
        written = re.sub(r"([^\w@%+=:./^-])", r"\\\1", "".join(piece for _, piece in pieces), flags=re.ASCII)
    return written, place


def _double(text: str, place: int, pieces: list[tuple[bool, str]]) -> int | None:
    pieces.append((False, ""))
    while place < len(text):
        char = text[place]
        if char == '"':
            return place + 1
        if char == "\\" and text[place + 1 : place + 2] in ('"', "\\", "$", "`"):
            pieces.append((False, text[place + 1]))
            place += 2
        elif char in "$`":
            step = _expansion(text, place, pieces)
            if step is None:
                return None
            place = step
        else:
            pieces.append((False, char))
            place += 1
    return None


def _expansion(text: str, place: int, pieces: list[tuple[bool, str]]) -> int | None:
    for written, meaning in _SUBSTITUTES.items():
        if text.startswith(written, place):
            pieces.append((True, meaning))
            return place + len(written)
    if variable := _VARIABLE.match(text, place):
        pieces.append((True, variable[0]))
        return variable.end()
    if text[place] == "$" and not re.match(r"[({'\"\d@*#?$!\-]", text[place + 1 : place + 2]):
        pieces.append((False, "$"))
        return place + 1
    return None


def _written(pieces: list[tuple[bool, str]]) -> str:
    # An assignment's name must stay outside the quotes, or a shell takes it for the program.
    value = "".join(text for _, text in pieces)
    if all(not active for active, _ in pieces):
        name = ASSIGNMENT.match(value)
        if name and not _PLAIN.fullmatch(value):
            return name[0] + shlex.quote(value[name.end() :])
        return value if _PLAIN.fullmatch(value) else shlex.quote(value)
    quoted = "".join(text if active else re.sub(r'([\\"$`])', r"\\\1", text) for active, text in _braced(pieces))
    name = ASSIGNMENT.match(quoted)
    return f'{name[0]}"{quoted[name.end() :]}"' if name else f'"{quoted}"'


def _braced(pieces: list[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """Variables in braces where the text behind them would lengthen their name."""
    braced: list[tuple[bool, str]] = []
    for (active, text), (_, behind) in zip(pieces, [*pieces[1:], (False, "")], strict=True):
        lengthened = active and not text.startswith("${") and re.match(r"\w", behind)
        braced.append((active, f"${{{text[1:]}}}" if lengthened else text))
    return braced
