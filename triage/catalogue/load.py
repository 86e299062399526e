"""Loading the catalogue: the bundled records, flags and marks, and the users' own records over them."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import orjson

from triage.catalogue.flags import Flags
from triage.catalogue.inherit import overlay, resolve
from triage.catalogue.learned import Indexes, learned_files
from triage.catalogue.marks import load_marks
from triage.catalogue.page import read_page
from triage.catalogue.record import parse_record
from triage.catalogue.sites import SiteFile
from triage.errors import RecordError
from triage.model import Catalogue, Cause, Json, ReleaseMark, Rename

LARGEST = 4 << 20
"""Bytes that a record file, or the list of flags, may have."""

PAGE_SUFFIXES = (".txt", ".md")
SUFFIXES = (".json", *PAGE_SUFFIXES)

_PACKAGE = Path(__file__).resolve().parent.parent
_NOT_RECORDS = ("readme.md", "readme.txt", "schema.json")


def bundled_patterns() -> Path:
    """The folder of the bundled records, sites and flags: inside the package, else the checkout's.

    Raises:
        RecordError: there is none.
    """
    for folder in (_PACKAGE / "_patterns", _PACKAGE.parent / "patterns"):
        if (folder / "causes").is_dir():
            return folder
    hint = "install vllm-triage again"
    raise RecordError("the bundled records are missing", hint, file=str(_PACKAGE / "_patterns"))


def load(
    directories: Sequence[Path] = (),
    *,
    bundled: bool = True,
    learned: Path | None = None,
    on_damaged: Callable[[RecordError], None] | None = None,
) -> Catalogue:
    """Load the catalogue.

    Args:
        directories: folders with users' records (``*.json``, and pages as ``*.txt`` or ``*.md``, at any depth);
            a later one wins over an earlier one, and all over the bundled records.
        bundled: whether to start from the bundled records and flags.
        learned: the data folder with indexes of packages that the user had read, see :mod:`triage.catalogue.learned`.
        on_damaged: told of each of these that cannot be used, which is left out; without it, they raise.

    Returns:
        The causes, by slug, the flags of each release of vLLM, and what tells releases apart.

    Raises:
        RecordError: a folder is missing or a record is wrong; nothing is skipped.
    """
    causes: tuple[Cause, ...] = ()
    flags: Mapping[str, frozenset[str]] = {}
    options: Flags | None = None
    releases: tuple[tuple[str, ...], ...] = ()
    marks: tuple[ReleaseMark, ...] = ()
    sites: list[SiteFile] = []
    if bundled:
        patterns = bundled_patterns()
        causes = resolve(_checked(read_file(path) for path in record_files(patterns / "causes")))
        flags = load_flags(patterns / "flags" / "vllm.json")
        options = flags if isinstance(flags, Flags) and flags else None
        releases, marks = load_marks(patterns / "releases" / "vllm.json")
        if (patterns / "sites" / "vllm.jsonl").is_file():
            sites.append(SiteFile(patterns / "sites" / "vllm.jsonl"))
    if learned is not None:
        sites += _learned(learned, on_damaged)
    for directory in directories:
        causes = overlay(causes, _checked(read_file(path, user=True) for path in record_files(directory)))
    index = Indexes(sites) if len(sites) > 1 else next(iter(sites), None)
    return Catalogue(causes, flags, marks, releases, index, options)


def _learned(folder: Path, on_damaged: Callable[[RecordError], None] | None) -> Iterator[SiteFile]:
    """The indexes that the user had read, whole ones only where somebody is told of the others."""
    try:
        for path in learned_files(folder):
            index = SiteFile(path, f"vllm-triage learn --remove {path.stem}, and learn it again")
            try:
                index.check()
            except RecordError as damage:
                if on_damaged is None:
                    raise
                on_damaged(damage)
                continue
            yield index
    except RecordError as damage:
        if on_damaged is None:
            raise
        on_damaged(damage)


def record_files(directory: Path) -> list[Path]:
    """The record files of a folder, at any depth, sorted.

    A folder laid out as the project's ``patterns`` has them in ``causes``. READMEs, ``schema.json`` and hidden
    files are no records.

    Args:
        directory: the folder.

    Raises:
        RecordError: it is no folder, or cannot be read.
    """
    if not directory.is_dir():
        what = "is a file, should be a folder" if directory.exists() else "there is no such folder"
        raise RecordError(what, "give the folder that holds the record files", file=str(directory))
    root = directory / "causes" if (directory / "causes").is_dir() else directory
    found: list[Path] = []
    for folder, below, names in os.walk(root, onerror=_unreadable, followlinks=False):
        below[:] = sorted(name for name in below if not name.startswith("."))
        found.extend(
            Path(folder, name)
            for name in names
            if name.endswith(SUFFIXES) and not name.startswith(".") and name.lower() not in _NOT_RECORDS
        )
    return sorted(found)


def read_file(path: Path, *, user: bool = False) -> Cause:
    """Read one record file or page.

    Args:
        path: the file.
        user: whether it is a user's, see :func:`triage.catalogue.record.parse_record`.

    Raises:
        RecordError: it cannot be read, or the record is wrong.
    """
    return parse_record(read_data(path), str(path), user)


def read_data(path: Path) -> Mapping[str, Json]:
    """The object that a record file holds, or that a page says.

    Args:
        path: the file.

    Raises:
        RecordError: it cannot be read, is no JSON, or no page.
    """
    raw = _read(path)
    if path.suffix in PAGE_SUFFIXES:
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RecordError(f"is not UTF-8 at byte {error.start}", "save it as UTF-8", file=str(path)) from error
        return read_page(text, str(path))
    try:
        data: Mapping[str, Json] = orjson.loads(raw.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError as error:
        message = f"is no valid JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise RecordError(message, "mend the text there: a comma, a quote or a bracket", file=str(path)) from error
    return data


def load_flags(path: Path) -> Mapping[str, frozenset[str]]:
    """The flags of each release.

    Args:
        path: the generated file, ``{"releases": [...], "flags": {"--x": [["0.6.0", "0.33.0", {...}]]}}``; what flags
            became stands beside it in ``renames.json``.

    Returns:
        Release to flags, empty where there is no file.

    Raises:
        RecordError: the file is damaged.
    """
    if not path.exists():
        return {}
    try:
        data = orjson.loads(_read(path))
        releases, ranges = data["releases"], data["flags"]
        known = set(releases)
        unknown = {end for spans in ranges.values() for first, last, *_ in spans for end in (first, last)} - known
        fields = data.get("fields", {})
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        hint = "generate it again, or install vllm-triage again"
        raise RecordError("the list of flags is damaged", hint, file=str(path)) from error
    if unknown:
        message = f"ranges name releases that are not listed: {', '.join(sorted(map(str, unknown)))}"
        raise RecordError(message, "generate it again", file=str(path), field="flags")
    return Flags(releases, ranges, fields, _renames(path.with_name("renames.json")))


def _renames(path: Path) -> tuple[Rename, ...]:
    if not path.exists():
        return ()
    try:
        rows = orjson.loads(_read(path))["renames"]
        return tuple(
            Rename(row["old"], row["new"], row.get("same", True), row.get("value"), row.get("note", "")) for row in rows
        )
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise RecordError(
            "the list of renamed flags is damaged", "install vllm-triage again", file=str(path)
        ) from error


def _checked(causes: Iterator[Cause]) -> tuple[Cause, ...]:
    """Refuse two records of one folder under the same name: which of them counts would be chance."""
    read = tuple(causes)
    names: dict[str, str] = {}
    for cause in read:
        for field, name in (("slug", cause.slug), ("id", cause.id)):
            other = names.setdefault(name, cause.origin)
            if other != cause.origin:
                hint = "keep one of them, or give one another id and slug"
                raise RecordError(f"{name!r} is also that of {other}", hint, file=cause.origin, field=field)
    return read


def _read(path: Path) -> bytes:
    hint = "check that it exists and that you may read it"
    try:
        # A named pipe would wait for somebody to write, a device may never end.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise RecordError(
                    "is no regular file", "take it out of the folder, or copy what it gives into a file", file=str(path)
                )
            raw = file.read(LARGEST + 1)
    except OSError as error:
        raise RecordError(f"cannot be read: {error.strerror}", hint, file=str(path)) from error
    if len(raw) > LARGEST:
        message = f"is larger than {LARGEST >> 20} MiB, which no record is"
        raise RecordError(message, "take it out of the folder", file=str(path))
    return raw


def _unreadable(error: OSError) -> None:
    hint = "check that you may read it"
    raise RecordError(f"cannot be read: {error.strerror}", hint, file=str(error.filename)) from error
