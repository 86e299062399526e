"""Indexes of packages that the user had read (``vllm-triage learn``), beside the bundled one of vLLM.

They lie in the user's data folder, ``sites/PACKAGE.jsonl``, in the form of the bundled index. A learned release of vLLM
(a nightly, a fork) adds its lines to the sites that the bundled index has already.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from packaging.version import Version

from triage.catalogue.sites import SiteFile
from triage.errors import RecordError
from triage.model import Site

DATA_VARIABLE = "VLLM_TRIAGE_DATA"
"""Environment variable that names another data folder."""


def data_folder() -> Path:
    """The user's data folder; it need not exist."""
    if named := os.environ.get(DATA_VARIABLE):
        return Path(named)
    import platformdirs  # not before it is needed: a library user may never ask

    return platformdirs.user_data_path("vllm-triage", appauthor=False)


def learned_files(folder: Path) -> list[Path]:
    """The index files in a data folder, sorted; none where there is no such folder.

    Raises:
        RecordError: the folder cannot be read.
    """
    try:
        return sorted((folder / "sites").glob("*.jsonl"))
    except OSError as error:
        hint = f"make it readable, or name another folder in {DATA_VARIABLE}"
        raise RecordError(f"cannot be read: {error.strerror}", hint, file=str(folder / "sites")) from error


class Indexes:
    """Several indexes that answer as one: the bundled one, and those that the user had read.

    Args:
        files: the indexes, the bundled one first.
    """

    def __init__(self, files: Sequence[SiteFile]) -> None:
        self._files = files
        self._merged: dict[tuple[int, int], Site] = {}
        self._kept: list[tuple[Site, Site]] = []

    @cached_property
    def packages(self) -> tuple[str, ...]:
        """The packages whose sources are known, by their folders' names, sorted."""
        return tuple(sorted({package for file in self._files for package in file.packages}))

    @cached_property
    def releases(self) -> tuple[str, ...]:
        """The releases of vLLM that are known, oldest first.

        Raises:
            RecordError: a file is damaged.
        """
        return tuple(sorted({release for file in self._of_vllm for release in file.releases}, key=Version))

    @cached_property
    def _of_vllm(self) -> list[SiteFile]:
        return [file for file in self._files if "vllm" in file.packages]

    def worded(self, text: str, release: str | None = None) -> Sequence[Site]:
        """The sites that share the most telling words with a text; see :meth:`SiteFile.worded`."""
        return self._together(file.worded(text, self._own(file, release)) for file in self._files)

    def at(self, file: str, line: int, release: str | None = None) -> Sequence[Site]:
        """The sites of a line; see :meth:`SiteFile.at`."""
        known = release in self.releases
        return self._together(
            index.at(file, line, self._own(index, release))
            for index in self._files
            if not known or index not in self._of_vllm or release in index.releases
        )

    def inside(self, file: str) -> Sequence[Site]:
        """The sites of a source file."""
        return self._together(index.inside(file) for index in self._files)

    def _own(self, file: SiteFile, release: str | None) -> str | None:
        """The release to ask an index for: a run's release is one of vLLM, other packages have their own numbers."""
        return release if file in self._of_vllm else None

    def _together(self, lists: Iterable[Sequence[Site]]) -> Sequence[Site]:
        """The sites of all indexes; one that two of them have in different releases is one, with the lines of both."""
        found: list[Site] = []
        places: dict[object, int] = {}
        for sites in lists:
            before = len(found)
            for site in sites:
                key = _key(site)
                place = places.get(key, before)
                if place < before and not set(found[place].lines) & set(site.lines):
                    found[place] = self._joined(found[place], site)
                    del places[key]
                else:
                    places.setdefault(key, len(found))
                    found.append(site)
        return found

    def _joined(self, one: Site, other: Site) -> Site:
        """One site of two indexes; the same object each time, since sites are told apart by it."""
        pair = (id(one), id(other))
        if pair not in self._merged:
            lines = dict(sorted({**one.lines, **other.lines}.items(), key=lambda item: Version(item[0])))
            self._kept.append((one, other))  # as long as they live, their ids are theirs
            self._merged[pair] = replace(one, lines=lines)
        return self._merged[pair]


def _key(site: Site) -> tuple[object, ...]:
    template = site.template.text if site.template is not None else None
    return site.file, site.function, site.kind, site.of, template, site.guard
