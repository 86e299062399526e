"""One event in the making: a state machine over the lines of one stream.

It reads the grammar of tracebacks: headline, frames, exception line, message, and the two sentences that link a
chain; and beside it what argparse, a dying process and a failed log call print.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from triage.events import foreign, messages, pydantic, shapes
from triage.events.crashes import Crash
from triage.events.logging_errors import LoggingError
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

State = Literal["headline", "frames", "message", "link", "text", "usage", "crash", "logging"]


class Builder:
    """One event in the making.

    state: what the next line is expected to be; bounded: whether its middle was left out.

    Args:
        record: the first record.
        logged: whether a logger prints the stream.
    """

    def __init__(self, record: Record, logged: bool) -> None:
        self.state: State = "headline" if logged else "text"
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
        self._flat = False  # the paste lost its indentation
        self._ended = False  # nothing can come behind what was read
        self._source: Record | None = None  # the record of the last line of source code
        self._crash: Crash | None = None
        self._logging: LoggingError | None = None
        self._begin(record)

    # --- reading ---

    def add(self, record: Record) -> bool:
        """Take a further record of the stream; False when it begins something new."""
        if self._ended:
            return False
        if self._logged and not self.has_header_of(record):
            return False
        if self._indent and record.text[: self._indent].isspace():
            record = replace(record, text=record.text[self._indent :])
        taken = getattr(self, f"_in_{self.state}")(record)
        if taken:
            self._keep(record)
        return bool(taken)

    @property
    def seems_complete(self) -> bool:
        """Whether what was read can be all of it: neither a traceback nor a usage without its last line."""
        if self.state == "usage":
            return bool(self._headline)
        return self.state in ("headline", "message", "text", "crash")

    def has_header_of(self, record: Record) -> bool:
        """Whether a record has the header that the first one had: lines of one message of a logger."""
        return (record.level, record.logger_file, record.logger_line, record.time) == self._key

    def waits_behind(self, record: Record) -> bool:
        """Whether a line that the traceback did not take may be another part of the process in its middle."""
        text = record.text
        if self.state != "frames" or self._logged or not self._frames:
            return False
        begins = shapes.before_traceback(text) is not None or shapes.USAGE.match(text)
        return not begins and (not shapes.START.match(text) or bool(shapes.NOISE.match(text)))

    def goes_on_with(self, record: Record) -> bool:
        """Whether a line behind foreign ones is the rest of this traceback: a frame, or its exception."""
        text = record.text[self._indent :] if record.text[: self._indent].isspace() else record.text
        if shapes.START.match(text):
            return False
        return foreign.frame_of(text) is not None or shapes.RAISED.match(text) is not None

    def _begin(self, record: Record) -> None:
        text = record.text
        self._keep(record)
        if (before := shapes.before_traceback(text)) is not None:
            self._open_traceback(before)
        elif self._logged:
            self._headline.append(text)
        elif shapes.USAGE.match(text):
            self.state = "usage"
        elif shapes.USAGE_ERROR_ALONE.match(text):
            self.state, self._headline, self._message = "usage", [text], [record]
        elif shapes.CRASH.match(text):
            self.state, self._crash = "crash", Crash(text)
        elif text.strip() == shapes.LOGGING_ERROR:
            self.state, self._logging = "logging", LoggingError()
        elif frame := foreign.frame_of(text):
            self.state = "frames"
            self._add_frame(frame, text)
        elif (raised := shapes.BARE_RAISED.match(text)) is not None:
            self._open_message(raised["class"], raised["message"], record)
        else:
            self._headline.append(text)

    def _in_headline(self, record: Record) -> bool:
        text = record.text
        if (before := shapes.before_traceback(text)) is not None:
            self._open_traceback(before)
        elif frame := foreign.frame_of(text):
            self.state = "frames"
            self._add_frame(frame, text)
        elif len(self._headline) < MESSAGE_LIMIT:
            self._headline.append(text)
        return True

    def _in_text(self, record: Record) -> bool:
        text = record.text
        before = shapes.before_traceback(text)
        if before is not None and len(self._headline) == 1 and shapes.HEADLINE.match(self._headline[0]):
            self._open_traceback(before)  # "Process EngineCore_DP0:"
            return True
        if not text.strip() or before is not None or len(self._headline) >= TEXT_LIMIT or self._begins_new(text):
            return False
        if foreign.frame_of(text):
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

    def _in_crash(self, record: Record) -> bool:
        text = record.text
        if self._crash is None or shapes.before_traceback(text) is not None or self._begins_new(text):
            return False
        return self._crash.add(text)

    def _in_logging(self, record: Record) -> bool:
        return self._logging is not None and self._logging.add(record)

    def _in_frames(self, record: Record) -> bool:
        text = record.text
        if frame := foreign.frame_of(text):
            self._add_frame(frame, text)
        elif shapes.CARETS.match(text) or not text.strip():
            pass
        elif text[0] not in " \t" and (raised := self._raised_line(text)) is not None:
            self._open_message(raised["class"] or "", raised["message"] or "", record)
        elif (before := shapes.before_traceback(text)) is not None:
            if not self._logged and not self._frames:
                return False
            self._open_traceback(before)
        elif self._frames and (pointed := foreign.at_arrow(self._frames[-1], text)) is not None:
            self._frames[-1], self._source = pointed, record
        elif foreign.is_drawn(record):
            pass  # a locals table, or code around the failing line
        elif self._frames and self._frames[-1].source is None and (text[0] in " \t" or self._flat or self._logged):
            self._frames[-1] = replace(self._frames[-1], source=text.strip()[:500])
            self._source = record
        elif text[0] not in " \t" and not self._logged:
            return False  # a foreign line, or the traceback was cut here
        return True

    def _raised_line(self, text: str) -> dict[str, str | None] | None:
        if shapes.NOISE.match(text):
            return None
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
        if (before := shapes.before_traceback(text)) is not None:
            quotes = not self._first_text.strip() or self._text_so_far().rstrip().endswith(":")
            if not (self._logged or quotes or (self._class or "").endswith("ExceptionGroup")):
                return False
            self._open_quoted()
            self._open_traceback(before)
            return True
        if text[:1] in (" ", "\t") and (frame := foreign.frame_of(text)):
            # RayTaskError prints the remote frames behind its own line: the exception is still to come.
            self._class, self._message, self._first_text, self.state = None, [], "", "frames"
            self._add_frame(frame, text)
            return True
        if (place := foreign.place_of(text)) is not None:
            if not self._frames or (place.file, place.line) != (self._frames[-1].file, self._frames[-1].line):
                self._frames.append(place)
            self._ended = True
            return True
        # The message of an exception may quote a warning of a subprocess before the subprocess's traceback.
        if not self._logged and self._begins_new(text):
            return False
        self._blanks = self._blanks + 1 if not stripped else 0
        if self._blanks > 2 and not self._logged:
            return False
        if len(self._message) < MESSAGE_LIMIT and not shapes.NATIVE_FRAME.match(text):
            self._message.append(record)
        return True

    def _in_link(self, record: Record) -> bool:
        text = record.text
        if (before := shapes.before_traceback(text)) is not None:
            self._open_traceback(before)
            return True
        return not text.strip()

    # --- building ---

    @staticmethod
    def _begins_new(text: str) -> bool:
        return bool(shapes.START.match(text) or shapes.BARE_RAISED.match(text) or shapes.USAGE.match(text))

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

    def _add_frame(self, frame: Frame, text: str) -> None:
        self._flat = text[0] not in " \t"
        if len(self._frames) < FRAMES_LIMIT:
            self._frames.append(frame)
        else:
            self._frames[-1] = frame  # the innermost is the one that counts
            self.bounded = True

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
        source = self._frames[-1].source if self._frames else None
        if not message and self._class is not None and source and not _is_template(source):
            message = source  # AssertionError without a text: the failing line says it
            records = (self._source, *records) if self._source is not None else records
        return Raised(self._class, messages.as_meant(message), tuple(self._frames), records, link)

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
        if self._logging is not None:
            return self._logging.event() or Event("text", records)
        if self._crash is not None:
            return Event("text", records, "\n".join(self._crash.head))
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


def _is_template(source: str) -> bool:
    """Whether a line of code raises with a text of its own: that is the message's template, not the message."""
    return source.startswith("raise ") and ("'" in source or '"' in source)
