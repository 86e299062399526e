"""Standard streams: colour and width, our own errors, closed pipes, Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Literal, NoReturn

from triage.errors import RecordError, TriageError, UsageError
from triage.render import visible

EXIT_CANNOT = 2
EXIT_STOPPED = 130

Color = Literal["auto", "always", "never"]


def complain(failure: TriageError) -> None:
    """Print one of our own errors to standard error: what is wrong in one line, the mend in another."""
    where = ""
    if isinstance(failure, RecordError):
        where = f"{failure.file}: " + (f"{failure.field}: " if failure.field else "")
    print(f"vllm-triage: error: {visible(where + failure.message, 400)}", file=sys.stderr)
    if failure.hint:
        print(f"  hint: {visible(failure.hint, 400)}", file=sys.stderr)


def say(text: str) -> None:
    """Print a line of progress to standard error."""
    print(f"vllm-triage: {text}", file=sys.stderr)


def is_watched() -> bool:
    """Whether a person reads standard error at a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()


def use_color(wanted: Color) -> bool:
    """Whether to colour standard output: as asked, else on a terminal, unless NO_COLOR is set or TERM is dumb."""
    if wanted != "auto":
        return wanted == "always"
    return (
        sys.stdout is not None
        and sys.stdout.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def terminal_width() -> int | None:
    """The terminal's width in columns, None where standard output is none."""
    return shutil.get_terminal_size().columns if sys.stdout is not None and sys.stdout.isatty() else None


def write(text: str, path: str | None, *, append: bool = False) -> None:
    """Write a report to standard output, or to a file.

    Args:
        text: the report.
        path: the file; None for standard output.
        append: whether to add to the file.

    Raises:
        UsageError: the file cannot be written.
    """
    data = text.encode("utf-8", "backslashreplace")
    if path is None:
        if sys.stdout is None:
            raise UsageError("there is no standard output", "name a file with -o")
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as failure:
            raise UsageError(
                f"standard output cannot be written: {failure.strerror or failure}", "name a file with -o"
            ) from None
        return
    try:
        with open(path, "ab" if append else "wb") as file:
            file.write(data)
    except OSError as failure:
        raise UsageError(
            f"{path} cannot be written: {failure.strerror or failure}",
            "name a file in a folder that exists and may be written",
        ) from None


def is_collected(path: str | None) -> bool:
    """Whether a file collects what several steps of a job say, so that a report goes behind what is there.

    GitHub names such a file in GITHUB_STEP_SUMMARY.
    """
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    return bool(path and summary) and os.path.realpath(path or "") == os.path.realpath(summary or "")


def open_output(path: str | None) -> Callable[[str], None]:
    """Give a function that writes piece by piece; a file is emptied first, unless it collects the output of others.

    Raises:
        UsageError: the file cannot be written.
    """
    if path is not None and not is_collected(path):
        write("", path)
    return lambda text: write(text, path, append=True)


@contextlib.contextmanager
def quiet_pipe() -> Iterator[None]:
    """End quietly when whoever reads our output goes away (``vllm-triage log | head -1``)."""
    try:
        yield
        if sys.stdout is not None:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes standard output once more at exit and would complain: give it something that takes it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        _leave()


def _leave() -> NoReturn:
    raise SystemExit(0)


class Stopper:
    """Turns Ctrl-C into the end of the input, so that what was read so far is still reported.

    A second Ctrl-C ends the program.
    """

    def __init__(self) -> None:
        self.stopped = False

    def __call__(self) -> bool:
        """Whether Ctrl-C was pressed."""
        return self.stopped

    @contextlib.contextmanager
    def listening(self) -> Iterator[Stopper]:
        """Listen while reading."""
        try:
            before = signal.signal(signal.SIGINT, self._stop)
        except ValueError:  # not the main thread: whoever runs us listens
            yield self
            return
        try:
            yield self
        finally:
            signal.signal(signal.SIGINT, before)

    def _stop(self, number: int, frame: FrameType | None) -> None:
        if self.stopped:
            raise KeyboardInterrupt
        self.stopped = True
