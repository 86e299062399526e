"""The index of sites: every message of a package, once for each template and file, with its line in each release.

The file is lines of JSON: a head with the releases, then for each source file its path, followed by its sites:

    {"schema": "vllm-triage/sites/1", "package": "vllm", "releases": ["0.6.0", ...]}
    {"file": "vllm/config/scheduler.py"}
    ["raise", "ValueError", "SchedulerConfig.verify", "budget ({self.budget}) must ...", "40:329,,6", "a < b"]

A site has its kind, its class or level, its function, its template (empty where it has no text of its own), its lines,
and its guard where it has one. Lines are packed: the place of the first release that has it and its line there, then
for each further release by how much it moved; nothing where it did not, ``-`` where the release lacks it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import orjson
from packaging.version import Version

from triage.errors import TriageError
from triage.source.sites import MAX_FILE_BYTES, Site, sites_of

SCHEMA = "vllm-triage/sites/1"

LONGEST = 1000
"""Characters of a template that are kept; longer ones (help texts, listings) are cut there."""


class Key(NamedTuple):
    """What makes two releases' sites the same one; number tells apart the same message twice in a function."""

    file: str
    function: str
    kind: str
    of: str
    template: str
    guard: str
    number: int


class SourceFile(Protocol):
    """Something that gives a source file's bytes: a path, or a member of an archive."""

    def read_bytes(self) -> bytes:
        """The file's bytes."""


class SiteReader:
    """Reads the sites of release after release; a file that stayed the same is read once."""

    def __init__(self) -> None:
        """Begin with nothing read."""
        self._seen: dict[tuple[str, str], dict[Key, int]] = {}

    def read(self, root: Path, on_error: Callable[[str, str], None] | None = None) -> dict[Key, int]:
        """The sites of an unpacked release, with their lines.

        Args:
            root: the folder that holds the package's folder (``root/vllm/...``).
            on_error: called with file and reason for each file that cannot be read or parsed; such files give none.
        """
        return self.read_files(
            ((path.relative_to(root).as_posix(), path) for path in sorted(root.rglob("*.py"))), on_error
        )

    def read_files(
        self, files: Iterable[tuple[str, SourceFile]], on_error: Callable[[str, str], None] | None = None
    ) -> dict[Key, int]:
        """The sites of source files, with their lines.

        Args:
            files: package-relative paths (``vllm/config/scheduler.py``), each with what gives its bytes.
            on_error: called with file and reason for each file that cannot be read or parsed; such files give none.
        """
        found: dict[Key, int] = {}
        for file, path in files:
            try:
                source = path.read_bytes()
                if len(source) > MAX_FILE_BYTES:
                    raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
                key = (file, hashlib.sha256(source).hexdigest())
                if key not in self._seen:
                    self._seen[key] = keyed(sites_of(source, file))
            except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
                if on_error is not None:
                    on_error(file, f"{type(error).__name__}: {error}")
                continue
            found.update(self._seen[key])
        return found


def keyed(sites: Iterable[Site]) -> dict[Key, int]:
    """Sites of one file by what makes them the same in another release.

    An assert without a message keeps its place only: its source is code, which is not shipped.
    """
    found: dict[Key, int] = {}
    for site in sites:
        template = "" if site.kind == "check" or not _has_text(site.template) else site.template[:LONGEST]
        of = site.level if site.kind == "log" else site.class_name
        key = Key(site.file, site.function or "", site.kind, of or "", template, site.guard or "", 0)
        while key in found:
            key = key._replace(number=key.number + 1)
        found[key] = site.line
    return found


def _has_text(template: str) -> bool:
    depth = 0
    for character in template.replace("{{", "").replace("}}", ""):
        depth += (character == "{") - (character == "}")
        if depth <= 0 and character.isalnum():
            return True
    return False


def merge(known: Mapping[Key, Mapping[str, int]], release: str, sites: Mapping[Key, int]) -> dict[Key, dict[str, int]]:
    """Put a release's sites into an index, over what it had of that release.

    Args:
        known: each site with its line in each release.
        release: the release.
        sites: its sites, with their lines.
    """
    merged = {key: {r: line for r, line in lines.items() if r != release} for key, lines in known.items()}
    for key, line in sites.items():
        merged.setdefault(key, {})[release] = line
    return {key: lines for key, lines in merged.items() if lines}


def dump_index(
    package: str, releases: Iterable[str], known: Mapping[Key, Mapping[str, int]], folders: Sequence[str] = ()
) -> bytes:
    """Write an index, sorted by file, place and template.

    Args:
        package: the package's name.
        releases: its releases that were read.
        known: each site with its line in each release.
        folders: the package's folders, where they are not called as the package is (``vllm_ascend``).
    """
    ordered = sorted(releases, key=Version)
    head = {"schema": SCHEMA, "package": package, "releases": ordered}
    out = [orjson.dumps({**head, "folders": list(folders)} if folders else head)]
    file = None
    for key in sorted(known):
        if key.file != file:
            file = key.file
            out.append(orjson.dumps({"file": file}))
        row = [key.kind, key.of, key.function, key.template, pack([known[key].get(r) for r in ordered])]
        out.append(orjson.dumps([*row, key.guard] if key.guard else row))
    return b"\n".join(out) + b"\n"


def load_index(data: bytes) -> tuple[list[str], dict[Key, dict[str, int]]]:
    """Read an index: its releases, and each site with its line in each release.

    Raises:
        TriageError: it is no index, or one of a newer form.
    """
    lines = data.splitlines()
    head = orjson.loads(lines[0]) if lines else {}
    if head.get("schema") != SCHEMA:
        raise TriageError("this is no index of sites of this form", "write it anew: python -m triage.source index")
    releases: list[str] = head["releases"]
    known: dict[Key, dict[str, int]] = {}
    file = ""
    for line in lines[1:]:
        row = orjson.loads(line)
        if isinstance(row, dict):
            file = row["file"]
            continue
        kind, of, function, template, packed, *guard = row
        key = Key(file, function, kind, of, template, guard[0] if guard else "", 0)
        while key in known:
            key = key._replace(number=key.number + 1)
        known[key] = {releases[place]: at for place, at in unpack(packed)}
    return releases, known


def pack(lines: Sequence[int | None]) -> str:
    """Lines by release, as text: ``40:329,,6`` is 329 in the 41st and 42nd release, and 335 in the 43rd."""
    first = next(place for place, line in enumerate(lines) if line is not None)
    last = max(place for place, line in enumerate(lines) if line is not None)
    at = lines[first] or 0
    steps = [str(at)]
    for line in lines[first + 1 : last + 1]:
        steps.append("-" if line is None else "" if line == at else str(line - at))
        at = at if line is None else line
    return f"{first}:{','.join(steps)}"


def unpack(packed: str) -> Iterator[tuple[int, int]]:
    """The opposite of `pack`: pairs of a release's place and the line there."""
    first, _, steps = packed.partition(":")
    at = 0
    for place, step in enumerate(steps.split(","), int(first)):
        if step != "-":
            at += int(step or 0)
            yield place, at
