"""Lines that container runtimes and log collectors cut to pieces, put together again.

CRI marks the pieces of a long line P and its last one F; Docker's json-file ends only a line's last piece with a line
feed; fluentd and fluent-bit carry a field that says so. The pieces of one stream may stand between those of others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import orjson
import regex

from triage.model import Line

LONGEST = 1 << 18
"""Characters that pieces are joined to at most."""

STREAMS = 64
"""Streams with an unfinished line at a time; the one begun first is given up beyond that."""

DOCKER_PIECE = 16_000
"""Characters of an entry from which it was cut by the runtime: it cuts at 16 KiB."""

# "[pod/x/y] 2026-03-18T07:40:55.1Z stderr P text"
_CRI = regex.compile(
    r"(?P<before>.{0,120}?)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.,\d]*(?:Z|[+-]\d\d:?\d\d) (?P<stream>stdout|stderr) "
    r"(?P<tag>[PF])(?: |$)"
)
_TEXTS = ("log", "message", "msg", "MESSAGE")
_TAGS = ("logtag", "_p", "tag_partial")


class WholeLine(NamedTuple):
    """A line of a program: the input lines that hold it, and its text as far as it is put together."""

    lines: tuple[Line, ...]
    text: str


class _Open:
    """A stream's line in the making."""

    def __init__(self, piece: WholeLine) -> None:
        self.pieces = [piece]
        self.size = len(piece.text)

    def add(self, piece: WholeLine) -> None:
        self.pieces.append(piece)
        self.size += len(piece.text)

    @property
    def lines(self) -> tuple[Line, ...]:
        return tuple(line for piece in self.pieces for line in piece.lines)


def join_partials(lines: Iterable[Line]) -> Iterator[WholeLine]:
    """Give the lines, those that were cut to pieces whole.

    Args:
        lines: lines of one source.
    """
    cri, entries = _Cri(), _Entries()
    for line in lines:
        text = line.text
        if text.startswith("{") or '{"' in text[:160]:
            yield from entries.feed(line)
        elif " stdout " in (head := text[:200]) or " stderr " in head:
            yield from cri.feed(line)
        else:
            yield WholeLine((line,), text)
    yield from cri.end()
    yield from entries.end()


class _Cri:
    def __init__(self) -> None:
        self._open: dict[tuple[str, str], _Open] = {}

    def feed(self, line: Line) -> Iterator[WholeLine]:
        found = _CRI.match(line.text)
        if found is None:
            yield WholeLine((line,), line.text)
            return
        key = (found["before"], found["stream"])
        held = self._open.get(key)
        if held is None:
            held = _Open(WholeLine((line,), line.text))
        else:
            held.add(WholeLine((line,), line.text[found.end() :]))
        if found["tag"] == "P" and held.size < LONGEST:
            if key not in self._open and len(self._open) >= STREAMS:
                yield self._close(next(iter(self._open)))
            self._open[key] = held
        else:
            self._open[key] = held
            yield self._close(key)

    def end(self) -> Iterator[WholeLine]:
        for key in list(self._open):
            yield self._close(key)

    def _close(self, key: tuple[str, str]) -> WholeLine:
        held = self._open.pop(key)
        return WholeLine(held.lines, "".join(piece.text for piece in held.pieces))


class _Entries:
    """JSON entries: what a mark calls a part, and what has no line feed where its stream's lines have one."""

    def __init__(self) -> None:
        self._open: dict[str, tuple[_Open, dict[str, Any], str, str]] = {}
        self._marks: set[str] = set()  # streams whose parts are marked
        self._feeds: set[str] = set()  # streams whose lines keep their line feeds

    def feed(self, line: Line) -> Iterator[WholeLine]:
        piece = WholeLine((line,), line.text)
        at = line.text.find("{")
        data = _loaded(line.text[at:])
        name = next((name for name in _TEXTS if isinstance(data.get(name), str)), None) if data else None
        if data is None or name is None:
            yield piece
            return
        key = f"{line.text[:at]}{data.get('stream')} {_pod(data)}"
        goes_on = self._goes_on(data, name, key)
        held = self._open.get(key)
        if held is not None:
            held[0].add(piece)
            if not goes_on or held[0].size >= LONGEST:
                yield self._close(key)
        elif goes_on:
            if len(self._open) >= STREAMS:
                yield self._close(next(iter(self._open)))
            self._open[key] = (_Open(piece), data, name, line.text[:at])
        else:
            yield piece

    def _goes_on(self, data: dict[str, Any], name: str, key: str) -> bool:
        if _is_marked(data):
            if len(self._marks) < STREAMS:
                self._marks.add(key)
            return True
        text: str = data[name]
        if name != "log" or key in self._marks or any(tag in data for tag in _TAGS):
            return False
        if text.endswith("\n"):
            if len(self._feeds) < STREAMS:
                self._feeds.add(key)
            return False
        return key in self._feeds or len(text) >= DOCKER_PIECE

    def end(self) -> Iterator[WholeLine]:
        for key in list(self._open):
            yield self._close(key)

    def _close(self, key: str) -> WholeLine:
        held, data, name, before = self._open.pop(key)
        texts = [str((_loaded(piece.text[len(before) :]) or {}).get(name, "")) for piece in held.pieces]
        return WholeLine(held.lines, before + orjson.dumps({**data, name: "".join(texts)}).decode())


def _loaded(text: str) -> dict[str, Any] | None:
    if len(text) > LONGEST:
        return None
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else None


def _is_marked(data: dict[str, Any]) -> bool:
    """Whether a collector says of an entry that its line goes on."""
    if any(data.get(name) == "P" for name in _TAGS):
        return True
    partial = str(data.get("partial_message", data.get("CONTAINER_PARTIAL_MESSAGE", ""))).lower()
    return partial == "true" and str(data.get("partial_last", "")).lower() != "true"


def _pod(data: dict[str, Any]) -> str:
    kubernetes = data.get("kubernetes")
    names = (kubernetes if isinstance(kubernetes, dict) else data).get
    return f"{names('pod_name') or names('pod') or ''} {data.get('container_id') or names('container_name') or ''}"
