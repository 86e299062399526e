"""Quoting of values for the place that they are pasted into: a shell, YAML, Python.

Every value here may come from a log, and so from anybody. What is not printable (control characters, line
breaks, escapes, bidirectional marks) is never quoted: the command that would hold it is not printed.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping

VALUE_LIMIT = 4096
"""Characters of one quoted value."""

DEPTH_LIMIT = 24
"""Lists and dictionaries inside one another in one Python literal."""

SECRET_MASK = "***"

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")


class UnquotableError(ValueError):
    """A value cannot be quoted safely for its place."""


def safe_text(text: str) -> bool:
    """Whether a text is printable throughout: no control or format characters, no line breaks, no lone surrogates.

    ``str.isprintable`` turns away the categories Cc, Cf (bidirectional marks among them), Cs, Co, Cn, Zl, Zp, and
    every blank but the plain space.
    """
    return text.isprintable()


def for_shell(text: str) -> str:
    """Quote a value for sh, so that it is one word and stands for itself.

    Raises:
        UnquotableError: it is not printable, or too long.
    """
    return shlex.quote(_checked(text))


def for_yaml(text: str) -> str:
    """Quote a value as a double-quoted YAML scalar, so that it stays text (``"256"``, ``"no"``).

    Raises:
        UnquotableError: it is not printable, or too long.
    """
    return json.dumps(_checked(text), ensure_ascii=False)


def for_kubernetes(text: str) -> str:
    """Quote an item of a container's ``args:``; Kubernetes itself replaces ``$(NAME)`` there.

    Raises:
        UnquotableError: it is not printable, or too long.
    """
    # "$$" stands for "$" everywhere, so once one dollar has to be doubled all have to be.
    return for_yaml(text.replace("$", "$$") if "$(" in text or "$$" in text else text)


def for_compose(text: str) -> str:
    """Quote an item of a compose file; compose replaces ``$NAME`` and ``${NAME}`` everywhere.

    Raises:
        UnquotableError: it is not printable, or too long.
    """
    return for_yaml(text.replace("$", "$$"))


def for_python(value: object) -> str:
    """Write a value as a Python literal.

    Args:
        value: None, bool, int, float, str, or lists and dictionaries of them.

    Raises:
        UnquotableError: a text in it is not printable, or it is too long, too deep, or of another type.
    """
    written = _literal(value, 0)
    if len(written) > VALUE_LIMIT:
        raise UnquotableError(f"longer than {VALUE_LIMIT} characters")
    return written


def variable_name(name: str) -> str:
    """Give back a variable's name that needs no quoting.

    Raises:
        UnquotableError: it is no such name.
    """
    if not _VARIABLE_NAME.fullmatch(name):
        raise UnquotableError(f"not a variable's name: {name[:40]!r}")
    return name


def shell_join(words: Iterable[str]) -> str:
    """Quote words and join them to a command.

    Raises:
        UnquotableError: one of them cannot be quoted.
    """
    return " ".join(for_shell(word) for word in words)


def _checked(text: str) -> str:
    if len(text) > VALUE_LIMIT:
        raise UnquotableError(f"longer than {VALUE_LIMIT} characters")
    if not safe_text(text):
        raise UnquotableError("holds characters that are not printable")
    return text


def _literal(value: object, depth: int) -> str:
    if depth > DEPTH_LIMIT:
        raise UnquotableError("too deep")
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        # Double quotes where Python would take single ones: the common style of code that is pasted.
        text = _checked(value)
        return f'"{text}"' if not re.search(r'["\\]', text) else repr(text)
    if isinstance(value, list):
        return "[" + ", ".join(_literal(item, depth + 1) for item in value) + "]"
    if isinstance(value, Mapping):
        pairs = (f"{_literal(key, depth + 1)}: {_literal(item, depth + 1)}" for key, item in value.items())
        return "{" + ", ".join(pairs) + "}"
    raise UnquotableError(f"no literal: {type(value).__name__}")
