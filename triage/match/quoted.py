"""Error bodies of the API inside other text: what a client, a gateway or a stream shows of the server's own message.

A body is JSON or, from a Python client, the repr of a dict; it may have been escaped once more, and may be cut. It is
read under bounds on its size and depth, and never evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import orjson
import regex

from triage.values import LENGTH_LIMIT, UnreadableError, closing, literal

BODY_LIMIT = LENGTH_LIMIT
"""Characters of one body."""

DEPTH_LIMIT = 20
"""Brackets that may be open in it."""

BODIES_LIMIT = 4
"""Bodies looked at in one text."""

# Where a body begins: by its first key, however it is quoted.
_BEGINS = regex.compile(r"\{\s{0,200}\\*['\"](?:error|object|message|detail|code|type)\\*['\"]\s?:")
_MESSAGE = regex.compile(
    r"['\"]message['\"]\s?:\s?(?P<quote>['\"])(?P<message>(?:\\.|(?!(?P=quote)).){4,4000})", regex.DOTALL
)
_IS_ERROR = regex.compile(r"\{\s*['\"](?:error['\"]\s?:\s?\{|object['\"]\s?:\s?['\"]error['\"])")
_KIND = regex.compile(r"[A-Za-z]\w*(?:Error|Exception)$")


class Body(NamedTuple):
    """What an error body says: its message, and the name of the error where it gives one."""

    message: str
    kind: str | None


def bodies(text: str) -> Iterator[Body]:
    """Give the error bodies that a text quotes; the content of a request is none."""
    for count, begin in enumerate(_BEGINS.finditer(text)):
        if count >= BODIES_LIMIT:
            return
        part = text[begin.start() : begin.start() + BODY_LIMIT]
        if '\\"' in begin[0] or "\\'" in begin[0]:
            part = part.replace('\\"', '"').replace("\\'", "'").replace("\\\\", "\\")
        if (body := _read(part)) is not None:
            yield body
            return


def _read(text: str) -> Body | None:
    end = closing(text, DEPTH_LIMIT)
    data = _parsed(text[:end]) if end else None
    if isinstance(data, dict):
        return _of(data)
    # Cut, or broken by what it quotes: its message can still be read where it is plainly an error's.
    found = _MESSAGE.search(text) if _IS_ERROR.match(text) else None
    message = found["message"].replace("\\n", "\n").replace("\\", "").strip() if found else ""
    return Body(message, None) if message else None


def _of(data: dict[Any, Any]) -> Body | None:
    error = data.get("error")
    body = error if isinstance(error, dict) else data
    message, kind, code = body.get("message"), body.get("type"), body.get("code")
    if body is data:
        named = isinstance(kind, str) and _KIND.match(kind)
        failed = isinstance(code, int) and code >= 400
        if data.get("object") != "error" and not named and not failed:
            return None
    if not isinstance(message, str) or not message.strip():
        return None
    return Body(message, kind if isinstance(kind, str) and _KIND.match(kind) else None)


def _parsed(text: str) -> object:
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass  # a Python client prints a dict's repr
    try:
        return literal(text)
    except UnreadableError:
        return None
