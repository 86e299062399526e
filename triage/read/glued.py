"""Lines that stand on one line because nothing ended the first: progress bars, breaks that a form wrote out or dropped.

A bar is redrawn without a line end, so what a process logs next stands right behind it. The bar is split off where
something plainly begins behind it; text that only looks like a bar keeps to itself.
"""

from __future__ import annotations

from collections.abc import Callable

import regex

PIECES_LIMIT = 400
"""Lines that one line is split into at most."""

_COUNT = r"[\d.,]+(?:[kKMGTP]i?B?(?![a-z]))?"
# tqdm: "Loading shards:  67%|##7   | 2/3 [00:31<00:15, 15.61s/it]"; vLLM's form of it says "Completed".
_BAR = regex.compile(
    rf"(?:[^'\"{{}}|]{{0,100}}?: ?)?\s*\d{{1,3}}%(?:\|[^|'\"]{{0,300}}\|| Completed \|)\s*{_COUNT}/{_COUNT}"
    r"(?: \[[^\[\]'\"]{0,200}\])?"
    rf"|[^'\"{{}}|]{{0,100}}?: {_COUNT}(?:it|B) \[\d\d:\d\d[^\[\]'\"]{{0,100}}\]"
)
_BEGINS = regex.compile(
    r"Traceback \(most recent call last\):|  File \"[^\"]{1,400}\", line \d|"
    r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)\b(?:: |$)|usage: \S"
)
_BREAK = regex.compile(r"<br ?/?>|</?(?:pre|code|details)>|</?(?:div|p|li|tr|td)(?: [^<>]{0,300})?>", regex.IGNORECASE)
_INLINE = regex.compile(r"</?(?:span|a|b|i|em|strong|font|mark)(?: [^<>]{0,300})?>", regex.IGNORECASE)
_TAG = regex.compile(r"\([A-Za-z][\w:.-]*(?: [A-Z]+\d+)*(?: rank=\d+)?,? pid=\d+(?:, ip=[\w.:-]+)?\)")

TAG_WITHIN = 200
"""Characters of a line that its first process tag stands within."""

TAGS_AT_LEAST = 3
"""How often a line holds the tag that it begins with, where its breaks were dropped."""


def unbroken(text: str) -> list[str]:
    """Split a line at the breaks that a web form or page wrote out (``<br>``); the line itself in most cases.

    Breaks that were dropped show where every line began with the same process tag: ``(APIServer pid=1) a(APIServer
    pid=1) b``.
    """
    if "<" in text and _BREAK.search(text := untagged(text)):
        return [part for part in _BREAK.split(text, maxsplit=PIECES_LIMIT) if part.strip()] or [""]
    return _at_tags(text) if text.count(" pid=") >= TAGS_AT_LEAST else [text]


def _at_tags(text: str) -> list[str]:
    tag = _TAG.search(text, 0, TAG_WITHIN)
    if tag is None or text.count(tag[0]) < TAGS_AT_LEAST:
        return [text]
    head, *parts = text.split(tag[0], maxsplit=PIECES_LIMIT)
    if parts[0].isspace():  # relays that put the same tag around each other
        return [text]
    return [f"{head}{tag[0]}{part}" for part in parts]


def untagged(text: str) -> str:
    """A line of a page without the tags that only colour or link its words."""
    return _INLINE.sub("", text) if "</" in text else text


def behind_bars(text: str, is_prefixed: Callable[[str], bool]) -> list[str]:
    """Split a progress bar from what was logged right behind it; the line itself in most cases.

    Args:
        text: the line, its envelopes off.
        is_prefixed: whether a text begins with an envelope that is known.
    """
    if "%|" not in text and "% Completed |" not in text and "it [" not in text:
        return [text]
    at = 0
    while at < len(text) and (bar := _BAR.match(text, at)) is not None and bar.end() > at:
        at = bar.end()
        rest = text[at : at + 600]
        if is_prefixed(rest) or _BEGINS.match(rest):
            return [text[:at], text[at:]]
        blanks = len(rest) - len(rest.lstrip())
        if blanks and (is_prefixed(rest[blanks:]) or _BEGINS.match(rest, blanks)):
            return [text[:at], text[at + blanks :]]
    return [text]
