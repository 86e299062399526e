"""The generated index of sites, read where a message has to be placed and not before.

The file is searched as it lies there, as bytes: parsing tens of thousands of entries would take longer than the whole
report, and one report asks for a few. Its form is described in ``triage/source/index.py``, which writes it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import orjson

from triage.catalogue.templates import parse_template
from triage.errors import RecordError
from triage.model import Site

SCHEMA = "vllm-triage/sites/1"

WORDS = 40
"""Different words of a text that are counted in the index, the longest."""

RAREST = 14
"""Of them, the rarest that the index has: by these the entries are found. Some may stand in a hole's value."""

RARE = 1500
"""A word of fewer entries is rare: three of them find a text, and commoner ones are left alone."""

COMMON = 12_000
"""Places of one word that are looked at."""

OFFERED = 1500
"""Sites offered for one text."""

KEPT = 30_000
"""Words, and sites, that are kept once they were looked up: who asks for one often asks for many."""

_WORD = re.compile(rb"[A-Za-z_]{3,}|\b[A-Za-z]{2}\b")


class Lines(Mapping[str, int]):
    """Release to line, unpacked when asked for."""

    def __init__(self, releases: Sequence[str], packed: str) -> None:
        """Take the releases of the index, oldest first, and a site's packed lines."""
        self._releases, self._packed = releases, packed

    @cached_property
    def _lines(self) -> dict[str, int]:
        first, _, steps = self._packed.partition(":")
        lines: dict[str, int] = {}
        at = 0
        for release, step in zip(self._releases[int(first) :], steps.split(","), strict=False):
            if step != "-":
                at += int(step or 0)
                lines[release] = at
        return lines

    def __getitem__(self, release: str) -> int:
        """The line in a release; KeyError where the release lacks the site."""
        return self._lines[release]

    def __iter__(self) -> Iterator[str]:
        """The releases that have it, oldest first."""
        return iter(self._lines)

    def __len__(self) -> int:
        """How many releases have it."""
        return len(self._lines)


class SiteFile:
    """An index file.

    Args:
        path: the file; it is read at the first question.
        mend: what to do where it is damaged.
    """

    def __init__(self, path: Path, mend: str = "install vllm-triage again") -> None:
        self._path, self._mend = path, mend
        self._counts: dict[bytes, int] = {}
        self._found: dict[bytes, tuple[int, ...]] = {}
        self._sites: dict[int, Site | None] = {}

    @cached_property
    def _read(self) -> tuple[bytes, tuple[str, ...], tuple[str, ...]]:
        """The file's bytes, the releases that it knows, oldest first, and its packages."""
        try:
            data = self._path.read_bytes()
            head = orjson.loads(data[: data.index(b"\n")])
            if head["schema"] != SCHEMA:
                raise ValueError(f"its form is {head['schema']}")
            return data, tuple(head["releases"]), tuple(head.get("folders") or [head["package"]])
        except (OSError, orjson.JSONDecodeError, LookupError, TypeError, ValueError) as error:
            raise RecordError(f"the index of sites is damaged: {error}", self._mend, file=str(self._path)) from error

    def check(self) -> None:
        """See that the file is whole, as far as its head and its end tell.

        Raises:
            RecordError: it is damaged.
        """
        if not self._data.endswith(b"\n"):
            raise RecordError("the index of sites is damaged: it ends in a line", self._mend, file=str(self._path))

    @property
    def _data(self) -> bytes:
        return self._read[0]

    @property
    def releases(self) -> tuple[str, ...]:
        """The releases that it knows, oldest first.

        Raises:
            RecordError: the file is damaged.
        """
        return self._read[1]

    @property
    def packages(self) -> tuple[str, ...]:
        """The packages that it is of, by their folders' names."""
        return self._read[2]

    @cached_property
    def _files(self) -> tuple[list[int], list[str]]:
        """Where each source file's entries begin, and which file it is."""
        found = [
            (match.start(), orjson.loads(match[0])["file"]) for match in re.finditer(rb'(?m)^\{"file":.*$', self._data)
        ]
        return [start for start, _ in found], [file for _, file in found]

    def worded(self, text: str, release: str | None = None) -> Sequence[Site]:
        """The sites whose entries share the most telling words with a text, at most OFFERED.

        Args:
            text: a message.
            release: of this one, where it has any; sites that it lacks come behind them.
        """
        words = sorted(set(_WORD.findall(text.encode("utf-8", "replace"))), key=lambda word: (-len(word), word))[:WORDS]
        counted = sorted((count, word) for word in words if (count := self._count(word)))[:RAREST]
        scores: Counter[int] = Counter()
        for place, (count, word) in enumerate(counted):
            if place >= 3 and count > RARE:
                break
            weight = round(1000 * math.log(1 + COMMON / count)) + len(word)
            for start in self._starts(word):
                scores[start] += weight
        here: list[Site] = []
        elsewhere: list[Site] = []
        for start, _ in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: 2 * OFFERED]:
            if (site := self._site(start)) is not None:
                (here if release is None or release in site.lines else elsewhere).append(site)
                if len(here) >= OFFERED:
                    break
        return [*here, *elsewhere][:OFFERED]

    def at(self, file: str, line: int, release: str | None = None) -> Sequence[Site]:
        """The sites of a line.

        Args:
            file: a source file, or the end of its path, as the logger prints it.
            line: the line, 1-based.
            release: in this release; None, or one that is not known, is any.
        """
        known = release in self.releases
        return [
            site
            for name in dict.fromkeys(self._files[1])
            if name == file or name.endswith(f"/{file}")
            for site in self.inside(name)
            if (site.lines.get(release or "") == line if known else line in site.lines.values())
        ]

    def inside(self, file: str) -> Sequence[Site]:
        """The sites of a source file, package-relative; none where the index does not know it."""
        starts, files = self._files
        if file not in files:
            return []
        place = files.index(file)
        end = starts[place + 1] if place + 1 < len(starts) else len(self._data)
        at = self._data.index(b"\n", starts[place]) + 1
        found: list[Site] = []
        while at < end:
            if (site := self._site(at)) is not None:
                found.append(site)
            at = self._data.find(b"\n", at) + 1 or end
        return found

    def _count(self, word: bytes) -> int:
        if (known := self._counts.get(word)) is not None:
            return known
        count = self._data.count(word)
        if len(self._counts) < KEPT:
            self._counts[word] = count
        return count

    def _starts(self, word: bytes) -> tuple[int, ...]:
        """Where the entries begin that hold a word, at most COMMON."""
        if (known := self._found.get(word)) is not None:
            return known
        data = self._data
        starts: list[int] = []
        at = data.find(word)
        while at >= 0 and len(starts) < COMMON:
            starts.append(data.rfind(b"\n", 0, at) + 1)
            at = data.find(word, data.find(b"\n", at))
        if len(self._found) < KEPT:
            self._found[word] = tuple(starts)
        return tuple(starts)

    def _site(self, start: int) -> Site | None:
        if start in self._sites:
            return self._sites[start]
        site = self._parsed(start)
        if len(self._sites) < KEPT:
            self._sites[start] = site
        return site

    def _parsed(self, start: int) -> Site | None:
        line = self._data[start : self._data.index(b"\n", start)]
        if not line.startswith(b"["):
            return None
        kind, of, function, text, packed, *guard = orjson.loads(line)
        starts, files = self._files
        template = parse_template(text) if text else None
        lines = Lines(self.releases, packed)
        return Site(
            kind,
            of,
            files[bisect_right(starts, start) - 1],
            function or None,
            template,
            lines,
            guard[0] if guard else None,
        )
