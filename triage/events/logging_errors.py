"""The block that Python's logging prints when a log call's arguments do not fit its text.

    --- Logging error ---
    Traceback ... TypeError: not all arguments converted during string formatting
    Call stack: ... the line of code that logged
    Message: 'Engine %s died'
    Arguments: ('a', ValueError('b'))

What the program meant to log is the message with its arguments; the error about the formatting is of no interest.
"""

from __future__ import annotations

from dataclasses import replace

import regex

from triage.events import messages
from triage.model import Event, Record

LINES_LIMIT = 200
"""Lines of one block."""

_CALL = regex.compile(
    r"\s+\w*(?:log|logger|logging|LOG)\w*\.(?P<level>debug|info|warning|error|exception|critical)\w*\("
)
_MESSAGE, _ARGUMENTS = "Message: ", "Arguments: "


class LoggingError:
    """One block in the making."""

    def __init__(self) -> None:
        self._said: list[Record] = []
        self._level: str | None = None
        self._lines = 0
        self._done = False

    def add(self, record: Record) -> bool:
        """Take a further line of the block; False when it is over."""
        if self._done or self._lines >= LINES_LIMIT:
            return False
        self._lines += 1
        text = record.text
        if (call := _CALL.match(text)) is not None:
            self._level = "ERROR" if call["level"] == "exception" else call["level"].upper()
        if text.startswith((_MESSAGE, _ARGUMENTS)):
            self._said.append(record)
        self._done = text.startswith(_ARGUMENTS)
        return True

    def event(self) -> Event | None:
        """What was meant to be logged, at the level of the line that logged it; None where the block was cut."""
        texts = [record.text for record in self._said]
        if not texts or not texts[0].startswith(_MESSAGE):
            return None
        template = str(messages.literal(texts[0][len(_MESSAGE) :]))
        arguments: list[object] = []
        if len(texts) > 1:
            printed = texts[1][len(_ARGUMENTS) :].strip()
            inner = printed[1:-1] if printed[:1] == "(" and printed[-1:] == ")" else printed
            arguments = [messages.literal(part) for part in messages.split(inner)]
        records = tuple(replace(record, level=self._level or record.level) for record in self._said)
        return Event("log", records, messages.filled(template, arguments))
