"""The source around a place, read from what is installed where the report is made; none of it is kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from packaging.version import InvalidVersion, Version

from triage.model import Excerpt, Location
from triage.source.packages import version_beside

BEFORE, AFTER = 5, 5
"""Lines before the line that raises, and behind it."""

LARGEST = 8_000_000
"""Bytes of a source file that is read."""


def search_folders() -> list[Path]:
    """The folders that this interpreter has its packages in."""
    return [Path(folder or ".") for folder in sys.path]


def excerpt(
    location: Location, folders: Iterable[Path], lines_of: Callable[[Location], Sequence[Mapping[str, int]]]
) -> Excerpt | None:
    """Read the lines around a place.

    Args:
        location: where a message is raised.
        folders: where packages may lie (``site-packages``, a checkout), the likeliest first.
        lines_of: gives the lines, release to line, of the sites that stand at a location.

    Returns:
        The lines; None where the package is not installed, or is of another release in which the line is not known.
    """
    file = PurePosixPath(location.file)
    if file.is_absolute() or ".." in file.parts or file.suffix != ".py":
        return None  # what a log says is no path to be opened anywhere
    for folder in folders:
        path = folder / file
        try:
            if not path.is_file() or path.stat().st_size > LARGEST:
                continue
            text = path.read_text(encoding="utf-8", errors="replace").split("\n")
        except OSError:
            continue
        version = version_beside(folder, file.parts[0])
        line = _line(location, version, lines_of)
        if line is None or not 0 < line <= len(text):
            continue
        first = max(1, line - BEFORE)
        return Excerpt(location.file, version, first, line, tuple(text[first - 1 : line + AFTER]))
    return None


def _line(
    location: Location, installed: str | None, lines_of: Callable[[Location], Sequence[Mapping[str, int]]]
) -> int | None:
    """The line in the installed release: the same in the same release, else that of the same message."""
    if location.basis == "traceback" or location.version is None:
        return location.line
    if installed is None:  # a checkout: which release's line it has is not known
        return None
    if _is_same(location.version, installed):
        return location.line
    found = {lines[release] for lines in lines_of(location) for release in lines if _is_same(release, installed)}
    return found.pop() if len(found) == 1 else None


def _is_same(one: str, other: str) -> bool:
    try:
        return Version(one).base_version == Version(other).base_version
    except InvalidVersion:
        return one == other
