"""Records put together to events, each process by itself, since their lines interleave.

A stream is what one process prints through one channel: its logger or plain standard error. Within a
stream lines keep their order, so a small state machine reads the traceback grammar: headline,
frames, exception line, message, and the two sentences that link a chain.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal, NamedTuple

import regex

from triage.events import pydantic, shapes
from triage.model import Event, Frame, Link, Raised, Record

FRAMES_LIMIT = 300
"""Frames kept of one exception."""

MESSAGE_LIMIT = 60
"""Lines kept of one message."""

RECORDS_LIMIT = 3000
"""Records kept of one event."""

USAGE_LIMIT = 8
"""Lines kept of what a command line's parser complains of."""

TEXT_LIMIT = 40
"""Lines of loose text that are looked at together."""

STREAMS_LIMIT = 512
"""Streams open at a time; the one that was opened first is closed beyond that."""

_State = Literal["headline", "frames", "message", "link", "text", "usage"]


class _Stream(NamedTuple):
    source: str
    pod: str | None
    process: str | None
    pid: int | None
    rank: int | None
    logged: bool


class Assembler:
    """Assembles events from the records of one or several sources."""

    def __init__(self) -> None:
        self._open: dict[_Stream, _Builder] = {}
        self._quoting: set[tuple[str, str | None]] = set()  # sources in the middle of a client's prompt
        self.limits: set[str] = set()

    def feed(self, record: Record) -> Iterator[Event]:
        """Take a record; give the events that it shows to be complete."""
        if (gutter := shapes.GUTTER.match(record.text)) is not None:
            record = replace(record, text=record.text[gutter.end() :])
        logged = record.level is not None
        place = (record.first.source, record.pod)
        if logged:
            self._quoting.discard(place)
            if _leaves_prompt_open(record.text):
                self._quoting.add(place)
        elif place in self._quoting and record.process is None:
            return  # the rest of a prompt that has line breaks
        stream = _Stream(record.first.source, record.pod, record.process, record.pid, record.rank, logged)
        if logged:
            # A log line of the same process ends a message in its plain channel (but no traceback: threads interleave).
            plain = stream._replace(logged=False)
            if (other := self._open.get(plain)) and other.state in ("message", "text", "usage"):
                yield from self._close(plain)
        builder = self._open.get(stream)
        if builder is not None and not builder.add(record):
            yield from self._close(stream)
            builder = None
        if builder is None and (logged or record.text.strip()):
            if len(self._open) >= STREAMS_LIMIT:
                self.limits.add(f"more than {STREAMS_LIMIT} processes at a time")
                yield from self._close(next(iter(self._open)))
            self._open[stream] = _Builder(record, logged)

    def end(self) -> Iterator[Event]:
        """Give what is still open, in the order of its beginning."""
        for stream in list(self._open):
            yield from self._close(stream)

    def _close(self, stream: _Stream) -> Iterator[Event]:
        builder = self._open.pop(stream)
        event = builder.event()
        if builder.bounded:
            self.limits.add(f"an event longer than {RECORDS_LIMIT} lines, its middle left out")
        yield event


def _leaves_prompt_open(text: str) -> bool:
    """Whether a log line begins to quote a client's text and does not end the quotation: it has line breaks then."""
    found = shapes.PROMPT.search(text)
    return found is not None and not regex.search(rf"{found['quote']}, ?[A-Za-z_ ]{{1,40}}[:=]", text, pos=found.end())


class _Builder:
    """One event in the making."""

    def __init__(self, record: Record, logged: bool) -> None:
        self.state: _State = "headline" if logged else "text"
        self.bounded = False
        self._logged = logged
        self._key = (record.level, record.logger_file, record.logger_line, record.time)
        self._records: list[Record] = []
        self._headline: list[str] = []
        self._raised: list[Raised] = []
        self._outer: list[Raised] = []  # exceptions whose message quotes the traceback being read
        self._frames: list[Frame] = []
        self._class: str | None = None
        self._message: list[Record] = []
        self._first_text = ""
        self._blanks = 0
        self._indent = 0  # blanks before "Traceback", which all its lines have: a quoted or indented paste
        self._source: Record | None = None  # the record of the last line of source code
        self._begin(record)

    # --- reading ---

    def add(self, record: Record) -> bool:
        """Take a further record of the stream; False when it begins something new."""
        if self._logged and (record.level, record.logger_file, record.logger_line, record.time) != self._key:
            return False
        if self._indent and record.text[: self._indent].isspace():
            record = replace(record, text=record.text[self._indent :])
        taken = getattr(self, f"_in_{self.state}")(record)
        if taken:
            self._keep(record)
        return bool(taken)

    def _begin(self, record: Record) -> None:
        text = record.text
        self._keep(record)
        if (found := text.find(shapes.TRACEBACK)) >= 0:
            self._open_traceback(text[:found])
        elif self._logged:
            self._headline.append(text)
        elif shapes.USAGE.match(text):
            self.state = "usage"
        elif frame := shapes.FRAME.match(text):
            self.state = "frames"
            self._add_frame(frame)
        elif (raised := shapes.BARE_RAISED.match(text)) is not None:
            self._open_message(raised["class"], raised["message"], record)
        else:
            self._headline.append(text)

    def _in_headline(self, record: Record) -> bool:
        text = record.text
        if (found := text.find(shapes.TRACEBACK)) >= 0:
            self._open_traceback(text[:found])
        elif frame := shapes.FRAME.match(text):
            self.state = "frames"
            self._add_frame(frame)
        elif len(self._headline) < MESSAGE_LIMIT:
            self._headline.append(text)
        return True

    def _in_text(self, record: Record) -> bool:
        text = record.text
        if (found := text.find(shapes.TRACEBACK)) >= 0 and len(self._headline) == 1 and self._headline[0].endswith(":"):
            self._open_traceback(text[:found])  # "Process EngineCore_DP0:"
            return True
        if not text.strip() or found >= 0 or len(self._headline) >= TEXT_LIMIT or shapes.START.match(text):
            return False
        if shapes.FRAME.match(text) or shapes.BARE_RAISED.match(text) or shapes.USAGE.match(text):
            return False
        self._headline.append(text)
        return True

    def _in_usage(self, record: Record) -> bool:
        text = record.text
        if shapes.USAGE_ERROR.match(text):
            self._headline, self._message = [text], [record]
            return True
        if not self._headline:
            return text.startswith((" ", "\t")) or not text.strip()
        # What argparse prints last, wrapped by the terminal.
        if not text.strip() or shapes.START.match(text) or len(self._headline) >= USAGE_LIMIT:
            return False
        self._message.append(record)
        self._headline.append(text)
        return True

    def _in_frames(self, record: Record) -> bool:
        text = record.text
        if frame := shapes.FRAME.match(text):
            self._add_frame(frame)
        elif shapes.CARETS.match(text) or not text.strip():
            pass
        elif text[0] not in " \t" and (raised := self._raised_line(text)) is not None:
            self._open_message(raised["class"] or "", raised["message"] or "", record)
        elif (found := text.find(shapes.TRACEBACK)) >= 0:
            if not self._logged and not self._frames:
                return False
            self._open_traceback(text[:found])
        elif self._frames and self._frames[-1].source is None:
            self._frames[-1] = replace(self._frames[-1], source=text.strip()[:500])
            self._source = record
        elif text[0] not in " \t" and not self._logged:
            return False  # a foreign line: the traceback was cut here
        return True

    def _raised_line(self, text: str) -> dict[str, str | None] | None:
        if (raised := shapes.RAISED.match(text)) is not None:
            return raised.groupdict()
        # Where indentation was lost, a source line must not pass for an exception: it stands below its frame.
        if self._frames and self._frames[-1].source is not None and (raised := shapes.RAISED_IN_TRACEBACK.match(text)):
            return raised.groupdict()
        return None

    def _in_message(self, record: Record) -> bool:
        text = record.text
        stripped = text.strip()
        if stripped in (shapes.DIRECT_CAUSE, shapes.DURING_HANDLING):
            self._end_raised("direct_cause" if stripped == shapes.DIRECT_CAUSE else "during_handling")
            self.state = "link"
            return True
        if (found := text.find(shapes.TRACEBACK)) >= 0:
            if not self._logged and self._first_text.strip() and not self._text_so_far().rstrip().endswith(":"):
                return False
            self._open_quoted()
            self._open_traceback(text[:found])
            return True
        if (frame := shapes.FRAME.match(text)) and text[0] in " \t":
            # RayTaskError prints the remote frames behind its own line: the exception is still to come.
            self._class, self._message, self._first_text, self.state = None, [], "", "frames"
            self._add_frame(frame)
            return True
        if not self._logged and (
            shapes.START.match(text) or shapes.BARE_RAISED.match(text) or shapes.USAGE.match(text)
        ):
            return False
        self._blanks = self._blanks + 1 if not stripped else 0
        if self._blanks > 2 and not self._logged:
            return False
        if len(self._message) < MESSAGE_LIMIT:
            self._message.append(record)
        return True

    def _in_link(self, record: Record) -> bool:
        text = record.text
        if (found := text.find(shapes.TRACEBACK)) >= 0:
            self._open_traceback(text[:found])
            return True
        return not text.strip()

    # --- building ---

    def _keep(self, record: Record) -> None:
        if len(self._records) < RECORDS_LIMIT:
            self._records.append(record)
        else:
            self._records[-1] = record
            self.bounded = True

    def _open_traceback(self, before: str) -> None:
        if self.state == "frames" and self._frames:
            self._end_raised(None)
        if before.strip() and not self._raised:
            self._headline.append(before.rstrip(" ,"))
        elif not before.strip():
            self._indent += len(before)
        self.state = "frames"

    def _add_frame(self, found: regex.Match[str]) -> None:
        if len(self._frames) < FRAMES_LIMIT:
            self._frames.append(Frame(found["file"], int(found["line"]), found["function"]))

    def _open_message(self, class_name: str, message: str, record: Record) -> None:
        if message.startswith(shapes.TRACEBACK):
            self._class, self._first_text, self._message = class_name, "", [record]
            self._open_quoted()
            self.state = "frames"
            return
        self._class, self._first_text, self._message, self.state = class_name, message, [record], "message"

    def _open_quoted(self) -> None:
        """The message being read quotes a traceback: keep the exception aside, its quoted cause comes first."""
        self._outer.append(self._current(None))
        self._frames, self._class, self._message, self._first_text = [], None, [], ""

    def _text_so_far(self) -> str:
        return "\n".join([self._first_text, *(record.text for record in self._message[1:])])

    def _current(self, link: Link | None) -> Raised:
        message, records = self._text_so_far().strip("\n").rstrip(), tuple(self._message)
        if not message and self._frames and self._frames[-1].source:
            message = self._frames[-1].source  # AssertionError without a text: the failing line says it
            records = (self._source, *records) if self._source is not None else records
        return Raised(self._class, message, tuple(self._frames), records, link)

    def _end_raised(self, link: Link | None) -> None:
        if self._class is not None or self._frames:
            self._raised.extend(replace(raised, link=link) for raised in pydantic.unwrap(self._current(link)))
        self._frames, self._class, self._message, self._first_text, self._blanks = [], None, [], "", 0

    def event(self) -> Event:
        """The event, complete."""
        records = tuple(self._records)
        if self.state == "usage":
            headline = "\n".join(self._headline) or records[0].text  # cut before its error line
            return Event("usage", tuple(self._message) or records, headline)
        unfinished = self.state in ("frames", "link")
        self._end_raised(None)
        for outer in reversed(self._outer):
            if self._raised and self._raised[-1].link is None:
                self._raised[-1] = replace(self._raised[-1], link="direct_cause")
            self._raised.append(outer)
        headline = "\n".join(self._headline).strip("\n")
        if self._raised:
            return Event("exception", records, headline, tuple(self._raised), unfinished)
        return Event("log" if self._logged else "text", records, headline)
