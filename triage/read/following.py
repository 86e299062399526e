"""Inputs that go on growing: a pipe that pauses, a file that a server still writes and that may be rotated."""

from __future__ import annotations

import codecs
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from typing import BinaryIO

from triage.errors import InputError
from triage.read.compression import decompressed, is_compressed
from triage.read.sources import CHUNK, Source, read_chunks, utf_16

ANEW = "was replaced or emptied while it was followed; its lines are counted on"
"""What is said of a file that began anew."""


def follow_chunks(source: Source, stopped: Callable[[], bool], wait: float) -> Iterator[bytes | None]:
    """Give the bytes of a source as they come, and wait for more behind the end of a file.

    A file that is replaced (a rotated log) is read to its end, then the one that has its name now; one that is
    emptied is read from its beginning. Compressed files, members of archives, pipes and standard input end as they
    do otherwise.

    Args:
        source: an open input; it is closed at the end.
        stopped: asked while waiting; True ends the source.
        wait: seconds to wait for more before None is given, which says that nothing came.

    Raises:
        InputError: reading fails half-way.
    """
    try:
        number = source.stream.fileno()
        is_file = stat.S_ISREG(os.fstat(number).st_mode) and source.stream is not sys.stdin.buffer
    except (AttributeError, OSError, ValueError):
        yield from read_chunks(source, stopped)  # no file behind it: a member of an archive, a stream of a program
        return
    first = os.read(number, CHUNK) if is_file else b""
    if is_file and is_compressed(first):
        os.lseek(number, 0, os.SEEK_SET)
        yield from read_chunks(source, stopped)
        return
    chunks = _file(source, first, stopped, wait) if is_file else _pipe(source.stream, stopped, wait)
    try:
        first = b""
        for chunk in chunks:
            if chunk:
                first = chunk
                break
            yield None  # nothing there yet: other inputs may have something
        if is_compressed(first):
            yield from decompressed(chain((first,), filter(None, chunks)), source.name)
            return
        encoding = utf_16(first)
        if encoding is None:
            yield first.removeprefix(codecs.BOM_UTF8)
            yield from chunks
            return
        decoder = codecs.getincrementaldecoder(encoding)(errors="backslashreplace")
        for chunk in chain((first,), chunks):
            yield None if chunk is None else decoder.decode(chunk).encode("utf-8", "backslashreplace")
    except OSError as failure:
        raise InputError(f"{source.name} cannot be read: {failure.strerror or failure}", "check the input") from None
    finally:
        if source.stream is not sys.stdin.buffer:
            source.stream.close()


def _pipe(stream: BinaryIO, stopped: Callable[[], bool], wait: float) -> Iterator[bytes | None]:
    number = stream.fileno()
    while not stopped():
        try:
            ready = select.select([number], [], [], wait)[0]
        except (OSError, ValueError):
            ready = [number]  # Windows waits on sockets only
        chunk = os.read(number, CHUNK) if ready else None
        if chunk == b"":
            return
        yield chunk


def _file(source: Source, first: bytes, stopped: Callable[[], bool], wait: float) -> Iterator[bytes | None]:
    """The bytes of a file and of what takes its place; its descriptor stays the same for whoever closes the source."""
    number = source.stream.fileno()
    chunk, last = first, b"\n"
    while not stopped():
        if chunk:
            last = chunk[-1:]
            yield chunk
        elif _begins_anew(source.name, number):
            if ANEW not in "".join(source.notes):
                source.notes.append(f"{source.name} {ANEW}")
            if last != b"\n":
                yield b"\n"  # the last line of the old file does not go on in the new one
        else:
            yield None
            time.sleep(wait)
        chunk = os.read(number, CHUNK)


def _begins_anew(path: str, number: int) -> bool:
    """Whether a file that was read to its end was emptied, or another one has its name now; it is read from then on."""
    ours = os.fstat(number)
    if ours.st_size < os.lseek(number, 0, os.SEEK_CUR):
        os.lseek(number, 0, os.SEEK_SET)
        return True
    try:
        named = os.stat(path)
    except OSError:
        return False  # moved away, and nothing there yet
    if os.path.samestat(ours, named):
        return False
    try:
        new = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    except OSError:
        return False
    try:
        os.dup2(new, number)
    finally:
        os.close(new)
    return True
