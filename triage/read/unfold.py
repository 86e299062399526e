r"""Lines that hold several: JSON log lines, literal ``\n`` escapes, tracebacks collapsed to one line, HTML entities.

A log collector wraps each line in JSON; a server quotes a whole traceback as one string; a form on the web puts all
lines of a paste together. What they hold is put back to what the program printed.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator

import regex

from triage.read.json_lines import read_json

PIECES_LIMIT = 2000
"""Lines that one line may stand for."""

_ENTITY = regex.compile(r"&(?:quot|apos|amp|lt|gt|nbsp|#\d{1,5}|#x[0-9a-fA-F]{1,4});")
_FRAME = regex.compile(r'(?:^|[\s.])File \\?"[^"\\]{1,400}\\?", line \d+(?:, in [\w.<>]+)?')
_TRACEBACK = "Traceback (most recent call last):"
_LINK = regex.compile(
    r"((?:The above exception was the direct cause of the following exception"
    r"|During handling of the above exception, another exception occurred):)"
)
_CLIENTS = regex.compile(r"\b(?:[Pp]rompt|output|content)(?:\\?['\"])?\s{0,8}[:=]\s{0,8}\\?['\"]")
_LAST = regex.compile(r" (?=(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)\b(?:: |$))")


def unfold(text: str) -> list[tuple[str, dict[str, str]]]:
    """Give the lines that a line stands for, each with what its wrapper said ("level", "time", "pod").

    Args:
        text: the line, its envelopes off.

    Returns:
        The line itself in most cases.
    """
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text)
    if text.startswith("{") and text.rstrip().endswith("}") and (found := read_json(text)):
        return found[:PIECES_LIMIT]
    if _is_clients(text):
        return [(text, {})]
    if "\\n" in text and text.count("\\n") >= 2 and (_TRACEBACK in text or _FRAME.search(text)):
        text = text.replace("\\r\\n", "\\n")
        return list(_plain(map(_unescaped, text.split("\\n"))))[:PIECES_LIMIT]
    if _TRACEBACK in text and not text.rstrip().endswith(_TRACEBACK) and _FRAME.search(text):
        return list(_plain(_uncollapsed(text)))[:PIECES_LIMIT]
    return [(text, {})]


def _is_clients(text: str) -> bool:
    """Whether the traceback stands in what a client sent or was answered, and is no traceback of the server."""
    found = _CLIENTS.search(text) if _TRACEBACK in text or "\\n" in text else None
    return found is not None and found.start() < max(text.find(_TRACEBACK), text.find("File "))


def _plain(lines: Iterable[str]) -> Iterator[tuple[str, dict[str, str]]]:
    return ((line, {}) for line in lines)


def _unescaped(line: str) -> str:
    return line.replace('\\"', '"').replace("\\'", "'").replace("\\t", "\t")


def _uncollapsed(text: str) -> Iterator[str]:
    """Split tracebacks that lost their line breaks: before each frame, behind each frame, before the exception."""
    for part in _LINK.split(text):
        if _LINK.fullmatch(part):
            yield part
            continue
        starts = [found.start() for found in regex.finditer(regex.escape(_TRACEBACK), part)]
        if not starts:
            yield part.strip()
            continue
        # What stands between two tracebacks ends the first: its exception.
        for number, (start, end) in enumerate(zip(starts, [*starts[1:], len(part)], strict=True)):
            before = part[:start] if number == 0 else ""
            yield f"{before}{_TRACEBACK}" if before.strip() else _TRACEBACK
            yield from _uncollapsed_frames(part[start + len(_TRACEBACK) : end].strip())


def _uncollapsed_frames(rest: str) -> Iterator[str]:
    frames = list(_FRAME.finditer(rest))
    for frame, following in zip(frames, [*frames[1:], None], strict=True):
        yield f"  {frame[0].strip()}"
        code = rest[frame.end() : following.start() if following else len(rest)].strip()
        if following is None:
            *before, last = _LAST.split(f" {code}", maxsplit=1) if _LAST.search(f" {code}") else [code, ""]
            if before and before[0].strip():
                yield f"    {before[0].strip()}"
            if last:
                yield last
        elif code:
            yield f"    {code}"
