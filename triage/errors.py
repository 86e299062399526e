"""Our own errors. Each says what is wrong in one line, and how to mend it in another."""

from __future__ import annotations


class TriageError(Exception):
    """Something kept the program from doing its work.

    Args:
        message: what is wrong, one line, without a full stop.
        hint: what to do about it, one line, or None.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(TriageError):
    """The command line, or a call, asked for something that cannot be done."""


class InputError(TriageError):
    """An input could not be read."""


class RecordError(TriageError):
    """A record file is wrong.

    Args:
        message: what is wrong.
        hint: how to mend it.
        file: the record's file.
        field: the field, as a dotted path, or None for the whole file.
    """

    def __init__(self, message: str, hint: str | None = None, *, file: str, field: str | None = None) -> None:
        super().__init__(message, hint)
        self.file = file
        self.field = field
