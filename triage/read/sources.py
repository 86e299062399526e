"""Where the bytes come from: standard input and files."""

from __future__ import annotations

import codecs
import os
import select
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from triage.errors import InputError
from triage.read.compression import decompressed

CHUNK = 1 << 16
"""Bytes asked for at a time; a pipe gives what it has."""


WAIT = 0.2
"""Seconds after which a waiting read looks whether it has been stopped."""


@dataclass(frozen=True, slots=True)
class Source:
    """An open input: its name in the report, and the stream."""

    name: str
    stream: BinaryIO


def open_source(path: str) -> Source:
    """Open a file.

    Args:
        path: the path as the user gave it; it becomes the source's name.

    Raises:
        InputError: the file is missing or cannot be read.
    """
    try:
        return Source(path, open(path, "rb"))
    except FileNotFoundError:
        raise InputError(f"{path} does not exist", "check the path, or pipe the log in") from None
    except PermissionError:
        raise InputError(f"{path} cannot be read: permission denied", "run as a user who may read it") from None
    except (OSError, ValueError) as failure:
        raise InputError(f"{path} cannot be read: {failure}", "check the path, or pipe the log in") from None


def files_below(path: str) -> list[str]:
    """The files that a path stands for: itself, or every file of a folder and of the folders in it, in order.

    Hidden files and folders are left out; links to folders are not followed.

    Raises:
        InputError: the folder holds no file, or cannot be read.
    """
    if not os.path.isdir(path):
        return [path]
    found: list[str] = []
    failures: list[OSError] = []
    for folder, names, files in os.walk(path, onerror=failures.append):
        names[:] = sorted(name for name in names if not name.startswith("."))
        found += [os.path.join(folder, name) for name in sorted(files) if not name.startswith(".")]
    found = [name for name in found if os.path.isfile(name)]
    if failures and not found:
        raise InputError(f"{path} cannot be read: {failures[0].strerror}", "run as a user who may read it")
    if not found:
        raise InputError(f"{path} is a folder without files", "name a log, or a folder that holds some")
    return found


def read_chunks(source: Source, stopped: Callable[[], bool] = lambda: False) -> Iterator[bytes]:
    """Give the bytes of a source as they come, UTF-16 turned into UTF-8.

    A pipe is handed on as soon as it has something, so that a live log is followed. PowerShell writes
    UTF-16 with a byte order mark when it redirects a log into a file; UTF-8 with a mark loses it.

    Args:
        source: an open input; it is closed at the end.
        stopped: asked between reads; True ends the source here, as if the input had ended.

    Raises:
        InputError: reading fails half-way.
    """
    decoder: codecs.IncrementalDecoder | None = None
    begun = False
    try:
        for chunk in decompressed(iter(lambda: _some(source.stream, stopped), b""), source.name):
            if not begun:
                begun = True
                if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                    decoder = codecs.getincrementaldecoder("utf-16")(errors="backslashreplace")
                elif chunk.startswith(codecs.BOM_UTF8):
                    chunk = chunk[len(codecs.BOM_UTF8) :]
            yield chunk if decoder is None else decoder.decode(chunk).encode("utf-8", "backslashreplace")
        if decoder is not None:
            yield decoder.decode(b"", final=True).encode("utf-8", "backslashreplace")
    except OSError as failure:
        raise InputError(f"{source.name} cannot be read: {failure.strerror or failure}", "check the input") from None
    finally:
        if source.stream is not sys.stdin.buffer:
            source.stream.close()


def _some(stream: BinaryIO, stopped: Callable[[], bool]) -> bytes:
    """Read what is there, at most CHUNK bytes, without waiting for a full chunk where the stream can do that."""
    try:
        number = stream.fileno()
    except (AttributeError, OSError, ValueError):
        return b"" if stopped() else stream.read(CHUNK)  # no file behind it: a BytesIO in a program or a test
    while not stopped():
        try:
            ready = select.select([number], [], [], WAIT)[0]
        except (OSError, ValueError):
            ready = [number]  # Windows waits on sockets only
        if ready:
            return os.read(number, CHUNK)
    return b""
