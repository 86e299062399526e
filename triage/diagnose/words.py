"""Words of a command: literal text, or text with variables in it, written for each place.

A word of ``RunFacts.launch`` is written as a shell needs it: plain, in single quotes, in double quotes where a
variable stands in it, or with backslashes where the shell had a pattern to fill in (``*``, ``{a,b}``). A word in any
other form is taken for literal text, so that nothing in a log can become shell syntax.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from typing import NamedTuple

from triage.diagnose import quoting
from triage.diagnose.quoting import UnquotableError

_PLAIN = re.compile(r"[\w@%+=:,./^-]+", re.ASCII)
_TILDE = re.compile(r"([A-Za-z_]\w{0,80}=)?(~(?:[a-z_][\w-]{0,31})?)((?:/[\w@%+=:,./^-]*)?)", re.ASCII)
_ESCAPED = re.compile(r"(?:[\w@%+=:./^-]|\\[^\w])+", re.ASCII)
_DOUBLE = re.compile(r'([A-Za-z_]\w{0,80}=)?"((?:[^"\\$`!]|\\["\\$`]|\$[A-Za-z_]\w*|\$\{[A-Za-z_]\w*\})*)"', re.ASCII)
_PIECE = re.compile(r"\$\{?(?P<name>[A-Za-z_]\w*)\}?|\\(?P<escaped>.)|(?P<text>[^$\\]+)", re.ASCII)
_ASSIGNED = re.compile(r"([A-Za-z_]\w{0,80}=)('.*)", re.ASCII | re.DOTALL)
_SECRET_NAME = re.compile(
    r"(?:[A-Za-z0-9_]*_)?(?:TOKEN|KEY|SECRET|PASSWORD|PASSWD|CREDENTIALS)", re.IGNORECASE | re.ASCII
)
_SECRET_VALUE = re.compile(r"\b(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{16,})")
SECRET_FLAGS = {"--api-key": "VLLM_API_KEY", "--hf-token": "HF_TOKEN"}
"""Flags whose value is never printed, and the variable that stands for it."""

_SEVERAL_KEYS = frozenset({"--api-key"})


class Word(NamedTuple):
    """One word: pieces that are literal text, or (active) the name of a variable; written: its form for sh."""

    pieces: tuple[tuple[bool, str], ...]
    written: str

    @property
    def value(self) -> str | None:
        """Its text; None where a variable stands in it."""
        return None if any(active for active, _ in self.pieces) else "".join(text for _, text in self.pieces)

    @property
    def start(self) -> str:
        """The text up to its first variable, ``HF_TOKEN=`` of ``HF_TOKEN="$HF_TOKEN"``."""
        return "" if not self.pieces or self.pieces[0][0] else self.pieces[0][1]

    def kubernetes(self) -> str:
        """The word as an item of ``args:``, a variable as ``$(NAME)``."""
        if (value := self.value) is not None:
            return quoting.for_kubernetes(value)
        pieces = self._named_pieces()
        return quoting.for_yaml("".join(f"$({text})" if on else text.replace("$", "$$") for on, text in pieces))

    def compose(self) -> str:
        """The word as an item of ``command:``, a variable as ``${NAME}``."""
        pieces = self._named_pieces()
        return quoting.for_yaml("".join(f"${{{text}}}" if on else text.replace("$", "$$") for on, text in pieces))

    def behind(self, prefix: str) -> Word:
        """The word without what it starts with (``NAME=``).

        Raises:
            UnquotableError: what is left has no form of its own.
        """
        rest = [(active, text) for active, text in self.pieces]
        if not self.start.startswith(prefix):
            raise UnquotableError(f"does not begin with {prefix!r}")
        rest[0] = (False, rest[0][1][len(prefix) :])
        pieces = tuple(piece for piece in rest if piece[1])
        if all(not active for active, _ in pieces):
            return literal("".join(text for _, text in pieces))
        if not self.written.startswith(prefix):
            raise UnquotableError(f"has a variable behind {prefix!r}")
        return Word(pieces, self.written[len(prefix) :])

    def _named_pieces(self) -> tuple[tuple[bool, str], ...]:
        return tuple((active, quoting.variable_name(text) if active else text) for active, text in self.pieces)


def literal(text: str) -> Word:
    """A word that stands for itself.

    Raises:
        UnquotableError: it cannot be quoted safely.
    """
    return Word(((False, text),), quoting.for_shell(text))


def assignment(name: str, value: str) -> Word:
    """``NAME=value`` in front of a program.

    Raises:
        UnquotableError: it cannot be quoted safely.
    """
    return Word(((False, f"{name}={value}"),), f"{quoting.variable_name(name)}={quoting.for_shell(value)}")


def variable(name: str, before: str = "") -> Word:
    """A word that stands for a variable's value, with plain text before it (``NAME=``)."""
    written = f'{before}"${name}"'
    return Word(((False, before), (True, name)) if before else ((True, name),), written)


def read_word(written: str) -> Word:
    """Read a word of a launch command.

    Raises:
        UnquotableError: it cannot be printed safely.
    """
    if not quoting.safe_text(written) or len(written) > quoting.VALUE_LIMIT:
        raise UnquotableError("holds characters that are not printable")
    if _PLAIN.fullmatch(written):
        return Word(((False, written),), written)
    if tilde := _TILDE.fullmatch(written):
        # "~user" is no variable: it can be kept for a shell, and for nothing else.
        home = (True, "HOME" if tilde[2] == "~" else tilde[2])
        return Word(tuple(piece for piece in ((False, tilde[1] or ""), home, (False, tilde[3])) if piece[1]), written)
    if _ESCAPED.fullmatch(written):
        return literal(re.sub(r"\\(.)", r"\1", written))
    if double := _DOUBLE.fullmatch(written):
        return Word(tuple(_pieces(double[1] or "", double[2])), written)
    named = _ASSIGNED.fullmatch(written)
    before, quoted = (named[1], named[2]) if named else ("", written)
    try:
        parts = shlex.split(quoted)
    except ValueError:
        parts = []
    if len(parts) == 1 and shlex.quote(parts[0]) == quoted:
        return Word(((False, before + parts[0]),), written)
    return literal(written)


def is_pattern(written: str) -> bool:
    """Whether a word of a launch command was for the shell to fill in; ``read_word`` takes it for what it is."""
    return "\\" in written and not _TILDE.fullmatch(written) and bool(_ESCAPED.fullmatch(written))


def without_secrets(words: Iterable[Word]) -> list[Word]:
    """The words with secret values replaced by variables, by flag, by variable name or by their look."""
    kept: list[Word] = []
    flag: str | None = None
    last: Word | None = None
    for word in words:
        value = word.value
        name, equals, _ = (value or "").partition("=")
        # A key that begins with a tilde is one all the same.
        home = any(active and text.startswith("~") for active, text in word.pieces)
        if flag is not None and (value is not None or home) and not word.start.startswith("-"):
            # Some flags take several keys; one variable stands for them.
            if kept[-1] is not last:
                last = variable(SECRET_FLAGS[flag])
                kept.append(last)
            flag = flag if flag in _SEVERAL_KEYS else None
            continue
        flag = name.replace("_", "-") if name.replace("_", "-") in SECRET_FLAGS and not equals else None
        if equals and name.replace("_", "-") in SECRET_FLAGS:
            kept.append(variable(SECRET_FLAGS[name.replace("_", "-")], before=f"{name}="))
        else:
            kept.append(_masked(word, value, name) if value is not None and equals else _look(word, value))
    return kept


def _masked(word: Word, value: str, name: str) -> Word:
    # "HF_TOKEN=x" before the program or behind "-e"; "--env=HF_TOKEN=x".
    before, _, last = name.rpartition("=")
    if name in ("--env", "-e"):
        before, last = f"{name}=", value.split("=", 2)[1]
        if value.count("=") < 2:
            return word
    if _SECRET_NAME.fullmatch(last):
        return variable(last, before=f"{before}{last}=")
    return _look(word, value)


def _look(word: Word, value: str | None) -> Word:
    found = _SECRET_VALUE.search(value) if value is not None else None
    if value is None or found is None:
        return word
    name = "HF_TOKEN" if found[0].startswith("hf_") else "VLLM_API_KEY"
    before, behind = value[: found.start()], value[found.end() :]
    pieces = tuple(piece for piece in ((False, before), (True, name), (False, behind)) if piece[1])
    escaped = [text if active else re.sub(r'([\\"$`])', r"\\\1", text) for active, text in pieces]
    if any("!" in text for text in (before, behind)):
        raise UnquotableError("a secret beside an exclamation mark")
    return Word(
        pieces, '"' + "".join(f"${{{t}}}" if on else t for (on, _), t in zip(pieces, escaped, strict=True)) + '"'
    )


def _pieces(before: str, body: str) -> list[tuple[bool, str]]:
    pieces: list[tuple[bool, str]] = []
    text = before
    for piece in _PIECE.finditer(body):
        if piece["name"]:
            pieces += [(False, text)] if text else []
            pieces.append((True, piece["name"]))
            text = ""
        else:
            text += piece["escaped"] or piece["text"]
    return pieces + ([(False, text)] if text else [])
