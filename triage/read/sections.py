"""The stretches of several files that ``tail`` prints one after the other, told apart by their headers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import regex

from triage.model import Line, Record
from triage.read import wraps

# "==> /var/log/pods/vllm-1.log <==", of tail and head.
_HEADER = regex.compile(r"==> (?P<file>\S.{0,400}) <==\s*$")
# Both channels of a program are one program; a file named after the channel alone says nothing.
_ENDING = regex.compile(r"(?i:[._-]?(?:log|txt|out|err|stdout|stderr|output|\d+\.log)$)")


def unwrap(lines: Iterable[Line], *, window: int = wraps.WINDOW) -> Iterator[Record]:
    """Turn lines into records: hard wraps undone, envelopes off, the files of a tail told apart as pods.

    Args:
        lines: lines of one source.
        window: lines to look ahead to tell the width of wraps; 0 on a live stream.
    """
    name: str | None = None
    for record in wraps.unwrap(lines, window=window):
        if record.text.startswith("==> ") and (found := _HEADER.match(record.text)):
            name = _name_of(found["file"])
        elif name is not None and record.pod is None:
            record = replace(record, pod=name)
        yield record


def _name_of(file: str) -> str | None:
    if file == "standard input":
        return None
    name = file.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    for _ in range(3):
        name = _ENDING.sub("", name)
    return name or None
