"""Where the messages of cause records come from: their templates looked up among the sites of releases.

A site belongs to a cause when their texts say the same: literals compared without white space, holes whatever their
expressions are. Where none of a site's causes has its very text, the nearest fit counts: a cause whose literals stand
in the site's text in order (the cause is more general, or leaves an end out), or the reverse (the source puts
together what the cause spells out).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, get_args

import orjson
from packaging.version import Version

from triage.errors import RecordError
from triage.source.compare import skeleton, split
from triage.source.index import Key
from triage.source.sites import MAX_FILE_BYTES, Kind, Site, sites_of

MIN_LETTERS = 10
"""A template with less literal text than this says too little to be looked up."""

GENERAL_SHARE = 0.5
"""The share of a site's text that a more general cause must have."""

START_LETTERS = 16
"""The letters before its first hole that a cause must have where it is but the start of a site's text."""

SPECIAL_SHARE, SPECIAL_LETTERS = 0.7, 20
"""The share of a cause's text that a more general site must have, and its letters: "{} is not supported." is any."""

SPELLED_SHARE, SPELLED_LETTERS = 0.35, 24
"""The same where the site has so many letters of its own: the cause spells out what a hole holds."""

WORD_SHARE = 0.75
"""The share of a template's words that a file must have to be parsed at all."""

REPOSITORY = "https://github.com/vllm-project/vllm/blob"
"""Where a release's sources can be read, under its tag."""

_WORD = re.compile(rb"[A-Za-z_]{5,}")
_HOLE = "\0"

_SiteKey: TypeAlias = "tuple[str, str, str, str]"
_Rank: TypeAlias = "tuple[int, float]"
Found: TypeAlias = "dict[_SiteKey, dict[str, int]]"
"""Sites of one cause, by file, function, class and template: the line in each release."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A template to look for. cause: the handle that what is found is filed under; text: the template."""

    cause: str
    text: str


def locate(wanted: Iterable[Wanted], sites: Iterable[Site]) -> list[tuple[str, Site]]:
    """Find the sites that emit the messages of causes.

    Args:
        wanted: the causes' templates.
        sites: the sites of one release.

    Returns:
        Pairs of cause and site, in the sites' order; a site may belong to several causes whose templates fit equally.
    """
    return _Index(wanted).pairs(sites)


def locate_release(
    wanted: Sequence[Wanted],
    root: Path,
    on_error: Callable[[str, str], None] | None = None,
    seen: dict[tuple[str, str], tuple[tuple[str, Site], ...]] | None = None,
) -> list[tuple[str, Site]]:
    """Find the sites of an unpacked release; only files with the words of some template are parsed.

    Args:
        wanted: the causes' templates.
        root: the folder that holds the package's folder.
        on_error: called with file and reason for each file that cannot be read or parsed.
        seen: what was found in files of other releases for the same templates, kept between calls: most files stay
            the same from one release to the next.
    """
    index = _Index(wanted)
    seen = {} if seen is None else seen
    out: list[tuple[str, Site]] = []
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root).as_posix()
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
            source = path.read_bytes()
            key = (file, hashlib.sha256(source).hexdigest())
            if key not in seen:
                sites = sites_of(source, file) if index.worth_parsing(source) else ()
                seen[key] = tuple(index.pairs(sites))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if on_error is not None:
                on_error(file, f"{type(error).__name__}: {error}")
            continue
        out.extend(seen[key])
    return out


class _Index:
    """Templates prepared for comparison."""

    def __init__(self, wanted: Iterable[Wanted]) -> None:
        self.templates: list[tuple[str, tuple[str, ...], str, int]] = []
        self.exact: dict[tuple[str, ...], list[str]] = {}
        self.words: set[frozenset[bytes]] = set()
        for each in wanted:
            parts = split(each.text)
            bones = skeleton(parts)
            if _letters(bones) < MIN_LETTERS:
                continue
            self.templates.append((each.cause, bones, _HOLE.join(bones), _letters(bones)))
            self.exact.setdefault(bones, []).append(each.cause)
            literal = " ".join(part for part in parts if isinstance(part, str))
            self.words.add(frozenset(_WORD.findall(literal.encode())))

    def worth_parsing(self, source: bytes) -> bool:
        """Whether a file may hold one of the templates."""
        present = frozenset(_WORD.findall(source))
        return any(len(words & present) >= WORD_SHARE * len(words) for words in self.words)

    def pairs(self, sites: Iterable[Site]) -> list[tuple[str, Site]]:
        """The causes and sites that fit; of the several texts that one statement may emit, the nearest to a cause."""
        return _nearest((rank, cause, site) for site in sites for rank, cause in self.causes_of(site.template))

    def causes_of(self, template: str) -> list[tuple[_Rank, str]]:
        """The causes that a site's template fits, the nearest only, with how near they are."""
        bones = skeleton(split(template))
        exact = [((0, 0.0), cause) for cause in sorted(set(self.exact.get(bones, ())))]
        letters = _letters(bones)
        if letters < MIN_LETTERS:
            return exact
        text = _HOLE.join(bones)
        fits: dict[_Rank, set[str]] = {}
        for cause, wanted, wanted_text, wanted_letters in self.templates:
            share = wanted_letters / letters
            if exact:
                # What spells out one value of a hole is emitted here too, whoever has the general text.
                if share > 1 and _is_spelled_out(letters, share) and _in_order(bones, wanted_text):
                    fits.setdefault((0, 0.0), set()).add(cause)
                continue
            start_only = text.startswith(wanted[0]) and len(wanted[0]) >= START_LETTERS
            if (share >= GENERAL_SHARE or start_only) and _in_order(wanted, text):
                fits.setdefault((1, -share), set()).add(cause)
            elif _is_spelled_out(letters, share) and _in_order(bones, wanted_text):
                fits.setdefault((2, share), set()).add(cause)
        if exact:
            return exact + [((0, 0.0), cause) for cause in sorted(fits.get((0, 0.0), set()) - {c for _, c in exact})]
        nearest = min(fits, default=(0, 0.0))
        return [(nearest, cause) for cause in sorted(fits.get(nearest, ()))]


def _is_spelled_out(letters: int, share: float) -> bool:
    """Whether a site of so many letters says enough to be that of a cause of share times as many."""
    near = letters >= SPECIAL_LETTERS and share * SPECIAL_SHARE <= 1
    return near or (letters >= SPELLED_LETTERS and share * SPELLED_SHARE <= 1)


def _nearest(fits: Iterable[tuple[_Rank, str, Site]]) -> list[tuple[str, Site]]:
    fits = list(fits)
    nearest: dict[tuple[str, str, int], _Rank] = {}
    for rank, cause, site in fits:
        place = (cause, site.file, site.line)
        nearest[place] = min(rank, nearest.get(place, rank))
    return [(cause, site) for rank, cause, site in fits if rank == nearest[cause, site.file, site.line]]


def locate_indexed(
    wanted: Sequence[Wanted], releases: Sequence[str], known: Mapping[Key, Mapping[str, int]]
) -> dict[str, list[tuple[str, Site]]]:
    """Find the sites in the index of all messages, release by release.

    Args:
        wanted: the causes' templates.
        releases: the releases of the index.
        known: its sites, each with its line in each release.
    """
    index = _Index(wanted)
    causes: dict[str, list[tuple[_Rank, str]]] = {}
    fits: dict[str, list[tuple[_Rank, str, Site]]] = {release: [] for release in releases}
    for key, lines in known.items():
        if not key.template:
            continue
        if key.template not in causes:
            causes[key.template] = index.causes_of(key.template)
        for rank, cause in causes[key.template]:
            of, level = (None, key.of) if key.kind == "log" else (key.of or None, None)
            for release, line in lines.items():
                site = Site(key.template, of, level, key.file, line, key.function or None, _kind(key.kind))
                fits[release].append((rank, cause, site))
    return {release: _nearest(found) for release, found in fits.items()}


def _kind(name: str) -> Kind:
    return next(kind for kind in get_args(Kind) if kind == name)


def _letters(bones: tuple[str, ...]) -> int:
    return sum(map(len, bones))


def _in_order(bones: tuple[str, ...], text: str) -> bool:
    """Whether literals stand in a text one after the other."""
    position = 0
    for bone in bones:
        start = text.find(bone, position)
        if start < 0:
            return False
        position = start + len(bone)
    return True


class RecordFile:
    """A record file whose ``triage.sites`` are to be brought up to date."""

    def __init__(self, path: Path) -> None:
        """Read the file.

        Args:
            path: the file; a record, or one in a wrapper with ``record``.

        Raises:
            RecordError: the file cannot be read, or is no record.
        """
        self.path = path
        try:
            self.before = path.read_bytes()
            self.document = orjson.loads(self.before)
        except (OSError, orjson.JSONDecodeError) as error:
            raise RecordError(f"cannot be read: {error}", "make it one JSON object", file=str(path)) from error
        record = self.document.get("record", self.document) if isinstance(self.document, dict) else None
        if not isinstance(record, dict):
            raise RecordError("is no record", "make it one JSON object", file=str(path))
        self.record: dict[str, object] = record

    @property
    def extension(self) -> dict[str, object]:
        """The record's ``triage`` object, empty where it has none."""
        extension = self.record.get("triage")
        return extension if isinstance(extension, dict) else {}

    def templates(self) -> tuple[str, ...]:
        """Its message and variants; none for a record of another package than vLLM."""
        if self.extension.get("package") not in (None, "vllm"):
            return ()
        message = self.record.get("errorMessage")
        given = [message if message != "null" else None]
        variants = self.extension.get("variants")
        for variant in variants if isinstance(variants, list) else []:
            given.append(variant.get("template") if isinstance(variant, dict) else variant)
        return tuple(dict.fromkeys(text for text in given if isinstance(text, str) and text))

    def update(self, found: Found, releases: Iterable[str], *, indexed: bool = False) -> bool:
        """Merge what was found into ``triage.sites`` and set the record's place to that of its newest release.

        Args:
            found: the cause's sites with their lines.
            releases: the releases looked at; lines that the record has for others are kept.
            indexed: whether they were looked at in the index, which lacks the source of asserts without a message: such
                sites of the record stay as they are.

        Returns:
            Whether the file was written; it is left alone where nothing changed.
        """
        looked_at = set(releases)
        merged: Found = {}
        for key, lines in _sites_of_record(self.extension.get("sites")).items():
            kept = indexed and key[3].startswith("assert ")
            merged[key] = {release: line for release, line in lines.items() if kept or release not in looked_at}
        for key, lines in found.items():
            merged.setdefault(key, {}).update(lines)
        merged = {key: dict(sorted(lines.items(), key=_by_version)) for key, lines in sorted(merged.items()) if lines}
        if merged or self.extension.get("sites"):
            self.record.setdefault("triage", {})
            self.extension["sites"] = [_entry(key, lines) for key, lines in merged.items()]
        if merged:
            self._set_place(merged)
        after = orjson.dumps(self.document, option=orjson.OPT_INDENT_2) + b"\n"
        if after == self.before:
            return False
        self.path.write_bytes(after)
        return True

    def _set_place(self, merged: Found) -> None:
        newest = max((release for lines in merged.values() for release in lines), key=Version)
        message = skeleton(split(str(self.record.get("errorMessage") or "")))

        def preference(key: _SiteKey) -> tuple[int, bool, _SiteKey]:
            bones = skeleton(split(key[3]))
            near = _in_order(message, _HOLE.join(bones)) or _in_order(bones, _HOLE.join(message))
            distance = 0 if bones == message else 1 if near else 2
            return distance, key[2] != str(self.record.get("errorClass") or ""), key

        best = min((key for key, lines in merged.items() if newest in lines), key=preference)
        line = merged[best][newest]
        self.record.update(filePath=best[0], lineNumber=line, githubUrl=f"{REPOSITORY}/v{newest}/{best[0]}#L{line}")


def collect(pairs: Mapping[str, Iterable[tuple[str, Site]]]) -> dict[str, Found]:
    """Put the findings of several releases together.

    Args:
        pairs: for each release the pairs that `locate` gave.

    Returns:
        For each cause its sites with the line in each release; the first line where a function has the text twice.
    """
    out: dict[str, Found] = {}
    for release, found in pairs.items():
        for cause, site in found:
            key = (site.file, site.function or "", site.class_name or "", site.template)
            out.setdefault(cause, {}).setdefault(key, {}).setdefault(release, site.line)
    return out


def _entry(key: _SiteKey, lines: dict[str, int]) -> dict[str, object]:
    file, function, class_name, template = key
    return {
        "file": file,
        "function": function or None,
        "class": class_name or None,
        "template": template,
        "lines": lines,
    }


def _sites_of_record(sites: object) -> Found:
    out: Found = {}
    for site in sites if isinstance(sites, list) else []:
        if isinstance(site, dict) and isinstance(site.get("lines"), dict):
            key = tuple(str(site.get(name) or "") for name in ("file", "function", "class", "template"))
            out.setdefault((key[0], key[1], key[2], key[3]), {}).update(site["lines"])
    return out


def _by_version(item: tuple[str, int]) -> Version:
    return Version(item[0])
