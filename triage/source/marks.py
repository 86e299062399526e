"""Marks of releases: log statements and call sites whose lines tell one release of vLLM from the next.

The logger prints ``[file.py:123]``, and a file's lines move with nearly every release. A log without a version
banner therefore still says which release wrote it: enough pairs of file and line fit one release only. The same holds
for the frames of tracebacks in functions that nearly all of them pass.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import orjson
from packaging.version import Version

from triage.source.sites import MAX_FILE_BYTES, sites_of
from triage.source.watched import FUNCTIONS, TEXTS, TEXTS_OF

ALIKE_SHARE = 0.9
"""The share of marks that two releases of one minor release have in common where they hardly differ."""

_CHOSEN = ("log_fn", "log_level")
"""Variables that hold a method of the logger."""

_UNSPLIT = 14
"""Characters of a text that stand on one line of the source."""

_OnError: TypeAlias = "Callable[[str, str], None] | None"


@dataclass(frozen=True, slots=True)
class LogMark:
    """A log statement of one release. file: base name, as the logger prints it; text: what its message begins with."""

    file: str
    text: str
    line: int


@dataclass(frozen=True, slots=True)
class FrameMark:
    """A function of one release that tracebacks pass.

    file: package-relative; start: the line of its ``def``; calls: the lines that a traceback may show, counted from
    start. A function that only moved has the same calls.
    """

    file: str
    function: str
    start: int
    calls: tuple[int, ...]


Mark: TypeAlias = "LogMark | FrameMark"


class MarkReader:
    """Reads the marks of release after release; a file that stayed the same is read once."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._seen: dict[tuple[str, str], tuple[Mark, ...]] = {}

    def read(self, root: Path, on_error: _OnError = None) -> set[Mark]:
        """The marks of an unpacked release.

        Args:
            root: the folder that holds the package's folder (``root/vllm/...``).
            on_error: called with file and reason for each file that cannot be read or parsed; such files give none.
        """
        found: set[Mark] = set()
        for path in sorted((root / "vllm").rglob("*.py")):
            file = path.relative_to(root).as_posix()
            try:
                if path.stat().st_size > MAX_FILE_BYTES:
                    raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
                source = path.read_bytes()
                key = (file, hashlib.sha256(source).hexdigest())
                if key not in self._seen:
                    self._seen[key] = (*log_marks(source, file), *frame_marks(source, file))
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if on_error is not None:
                    on_error(file, f"{type(error).__name__}: {error}")
                continue
            found.update(self._seen[key])
        return found


def log_marks(source: bytes, file: str) -> Iterator[LogMark]:
    """The log statements of a file whose messages begin with one of the texts.

    Args:
        source: its content.
        file: its package-relative path.

    Raises:
        SyntaxError: the content is no Python of this interpreter's grammar.
        ValueError: it holds null bytes, or is in no known encoding.
        RecursionError: it is nested too deeply.
    """
    base = file.rsplit("/", 1)[-1]
    texts = (*TEXTS, *TEXTS_OF.get(base, ()))
    # Parsing hundreds of files a release takes minutes; a text may be split over source lines, its start is not.
    if b"log" not in source or not any(text[:_UNSPLIT].encode() in source for text in texts):
        return
    logged = [(site.template, site.line) for site in sites_of(source, file) if site.kind == "log"]
    for template, line in (*logged, *_through_variable(_parse(source))):
        text = max((text for text in texts if template.startswith(text)), key=len, default=None)
        if text is not None:
            yield LogMark(base, text, line)


def _through_variable(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Messages whose level is chosen before: the statistics of an idle engine are not worth an INFO."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _CHOSEN and node.args:
            first = node.args[0]
            while isinstance(first, ast.BinOp):
                first = first.left
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, node.lineno
            elif isinstance(first, ast.Attribute) and first.attr == "log_prefix":
                yield "Engine ", node.lineno


def frame_marks(source: bytes, file: str) -> Iterator[FrameMark]:
    """The functions of a file that tracebacks pass.

    Args:
        source: its content.
        file: its package-relative path.

    Raises:
        SyntaxError: the content is no Python of this interpreter's grammar.
        ValueError: it holds null bytes, or is in no known encoding.
        RecursionError: it is nested too deeply.
    """
    names = FUNCTIONS.get(file, ())
    for node in ast.walk(_parse(source)) if names else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in names:
            calls = tuple(sorted({line - node.lineno for line in _lines(node)}))
            if calls:
                yield FrameMark(file, node.name, node.lineno, calls)


def _lines(function: ast.AST) -> Iterator[int]:
    """The lines of a function that a traceback may show: where something is called, awaited, entered or raised."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and not _is_harmless(node.func):
            yield node.lineno
            # Of a call in a chain of methods, a traceback shows the line of the method's name.
            if isinstance(node.func, ast.Attribute) and node.func.end_lineno is not None:
                yield node.func.end_lineno
        elif isinstance(node, ast.Raise | ast.Assert | ast.Await | ast.With | ast.AsyncWith | ast.Yield):
            yield node.lineno


def _is_harmless(called: ast.expr) -> bool:
    """Whether a call is one that tracebacks do not come from: the logger's, or a function of Python itself."""
    if isinstance(called, ast.Attribute):
        return isinstance(called.value, ast.Name) and called.value.id in ("logger", "time")
    return isinstance(called, ast.Name) and hasattr(builtins, called.id)


def alike(known: Mapping[str, Iterable[Mark]]) -> list[list[str]]:
    """Groups of releases that follow each other in one minor release and hardly differ, oldest first.

    Args:
        known: the marks of each release.
    """
    groups: list[list[str]] = []
    for release in sorted(known, key=Version):
        if groups and _hardly_differ(groups[-1][-1], release, known):
            groups[-1].append(release)
        else:
            groups.append([release])
    return groups


def _hardly_differ(earlier: str, later: str, known: Mapping[str, Iterable[Mark]]) -> bool:
    before, after = set(known[earlier]), set(known[later])
    same_minor = Version(earlier).release[:2] == Version(later).release[:2]
    return same_minor and len(before & after) >= ALIKE_SHARE * max(len(before), len(after))


def dump_marks(package: str, known: Mapping[str, Iterable[Mark]]) -> bytes:
    """The marks of releases as a reviewable file: for each line the ranges of known releases that have it there.

    Releases that hardly differ stand together.

    Args:
        package: the package's name.
        known: the marks of each release.
    """
    releases = sorted(known, key=Version)
    logs: dict[tuple[str, str], dict[int, list[list[str]]]] = {}
    frames: dict[tuple[str, str], dict[tuple[int, ...], dict[int, list[list[str]]]]] = {}
    for position, release in enumerate(releases):
        before = releases[position - 1] if position else None
        for mark in known[release]:
            if isinstance(mark, LogMark):
                spans = logs.setdefault((mark.file, mark.text), {}).setdefault(mark.line, [])
            else:
                bodies = frames.setdefault((mark.file, mark.function), {})
                spans = bodies.setdefault(mark.calls, {}).setdefault(mark.start, [])
            if spans and spans[-1][1] == before:
                spans[-1][1] = release
            elif not spans or spans[-1][1] != release:
                spans.append([release, release])
    # One line a mark: orjson's own indenting would give each number one.
    log_lines = [
        _json({"file": file, "text": text, "lines": _sorted(lines)}) for (file, text), lines in sorted(logs.items())
    ]
    frame_lines = [
        _json(
            {
                "file": file,
                "function": function,
                "bodies": [{"calls": calls, "starts": _sorted(starts)} for calls, starts in sorted(bodies.items())],
            }
        )
        for (file, function), bodies in sorted(frames.items())
    ]
    head = f'{{\n  "package": {_json(package)},\n  "releases": {_json(alike(known))},\n  "marks": [\n    '
    between = '\n  ],\n  "frames": [\n    '
    return (head + ",\n    ".join(log_lines) + between + ",\n    ".join(frame_lines) + "\n  ]\n}\n").encode()


def _sorted(lines: Mapping[int, list[list[str]]]) -> dict[str, str]:
    """Ranges as text, "0.6.3 0.11.0-0.12.0": lists of them would take most of the time that the file takes to load."""
    return {
        str(line): " ".join(first if first == last else f"{first}-{last}" for first, last in spans)
        for line, spans in sorted(lines.items())
    }


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _parse(source: bytes) -> ast.Module:
    with warnings.catch_warnings():
        # Old releases have invalid escapes in strings; they parse all the same.
        warnings.simplefilter("ignore")
        return ast.parse(source)
