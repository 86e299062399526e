"""Records put together to events, each process by itself, since their lines interleave.

A stream is what one process prints through one channel: its logger or plain standard error. Within a
stream lines keep their order, so that an event can be read line by line (``builder``). What another part of
the process prints in the middle of a traceback does not end it: the traceback waits for its rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from triage.events import shapes
from triage.events.builder import RECORDS_LIMIT, Builder
from triage.events.clients import masked
from triage.model import Event, Record

STREAMS_LIMIT = 512
"""Streams open at a time; the one that was opened first is closed beyond that."""

FOREIGN_LIMIT = 12
"""Lines of something else for which a traceback waits."""


# What a frame, a traceback, a usage message or argparse's last line begin with.
_RELAYED = frozenset(" Tuvap./")


class _Stream(NamedTuple):
    source: str
    pod: str | None
    process: str | None
    pid: int | None
    rank: int | None
    logged: bool


class _Relay(NamedTuple):
    source: str
    pod: str | None
    level: str | None
    file: str | None
    line: int | None


class Assembler:
    """Assembles events from the records of one or several sources."""

    def __init__(self) -> None:
        self._open: dict[_Stream, Builder] = {}
        self._waiting: dict[_Stream, tuple[Builder, int]] = {}  # tracebacks, and the foreign lines behind them so far
        self._quoting: set[tuple[str, str | None]] = set()  # sources in the middle of a client's prompt
        self._relays: set[_Relay] = set()
        self.limits: set[str] = set()

    def feed(self, record: Record) -> Iterator[Event]:
        """Take a record; give the events that it shows to be complete."""
        if (gutter := shapes.GUTTER.match(record.text)) is not None:
            record = replace(record, text=record.text[gutter.end() :])
        if record.level is not None and self._is_relayed(record):
            record = replace(record, level=None)
        logged = record.level is not None
        place = (record.first.source, record.pod)
        if logged or record.process is not None:
            self._quoting.discard(place)
        elif place in self._quoting:
            return  # the rest of a prompt that has line breaks
        text, goes_on = masked(record.text, record.level)
        if text != record.text:
            record = replace(record, text=text)
        if goes_on:
            self._quoting.add(place)
        stream = _Stream(record.first.source, record.pod, record.process, record.pid, record.rank, logged)
        if logged:
            # A log line of the same process ends a message in its plain channel (but no traceback: threads interleave).
            plain = stream._replace(logged=False)
            if (other := self._open.get(plain)) and other.state in ("message", "text", "usage", "crash"):
                yield from self._close(plain)
        if stream in self._waiting:
            yield from self._resume(stream, record)
        builder = self._open.get(stream)
        if builder is not None and not builder.add(record):
            if builder.waits_behind(record):
                self._waiting[stream] = (self._open.pop(stream), 0)
            else:
                yield from self._close(stream)
            builder = None
        if builder is None and (logged or record.text.strip()):
            if len(self._open) >= STREAMS_LIMIT:
                self.limits.add(f"more than {STREAMS_LIMIT} processes at a time")
                yield from self._close(next(iter(self._open)))
            self._open[stream] = Builder(record, logged)

    def pause(self) -> Iterator[Event]:
        """Give what seems complete where nothing more came for a while; a traceback without its last line is not."""
        for stream, builder in list(self._open.items()):
            if builder.seems_complete:
                yield from self._close(stream)

    def end(self) -> Iterator[Event]:
        """Give what is still open, in the order of its beginning."""
        for stream in list(self._waiting):
            yield from self._finish(self._waiting.pop(stream)[0])
        for stream in list(self._open):
            yield from self._close(stream)

    def _is_relayed(self, record: Record) -> bool:
        """Whether a logger only passes on what another program prints, line by line: its level says nothing of them.

        A frame of a traceback or a usage message that is a log message of its own shows it, from there on. vLLM's
        logger, which names a file of Python, repeats its header on the lines of one message.
        """
        relay = _Relay(record.first.source, record.pod, record.level, record.logger_file, record.logger_line)
        if relay in self._relays:
            return True
        text = record.text
        if (record.logger_file or "").endswith(".py") or text[:1] not in _RELAYED:
            return False
        if record.level in ("ERROR", "CRITICAL"):
            stream = _Stream(record.first.source, record.pod, record.process, record.pid, record.rank, True)
            builder = self._open.get(stream)
            shows = shapes.FRAME.match(text) is not None and (builder is None or not builder.has_header_of(record))
        else:
            begins = shapes.before_traceback(text) == "" or shapes.FRAME.match(text)
            shows = bool(begins or shapes.USAGE.match(text) or shapes.USAGE_ERROR_ALONE.match(text))
        if shows:
            if len(self._relays) >= STREAMS_LIMIT:
                self._relays.clear()
            self._relays.add(relay)
        return shows

    def _resume(self, stream: _Stream, record: Record) -> Iterator[Event]:
        """Go on with the traceback that waits, where the line belongs to it; give it up where none will come."""
        builder, lines = self._waiting[stream]
        if builder.goes_on_with(record):
            del self._waiting[stream]
            yield from self._close(stream)
            self._open[stream] = builder
        elif lines >= FOREIGN_LIMIT or shapes.before_traceback(record.text) is not None:
            del self._waiting[stream]
            yield from self._finish(builder)
        else:
            self._waiting[stream] = builder, lines + 1

    def _close(self, stream: _Stream) -> Iterator[Event]:
        if (builder := self._open.pop(stream, None)) is not None:
            yield from self._finish(builder)

    def _finish(self, builder: Builder) -> Iterator[Event]:
        event = builder.event()
        if builder.bounded:
            self.limits.add(f"an event longer than {RECORDS_LIMIT} lines, its middle left out")
        yield event
