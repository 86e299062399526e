"""Archives of logs (support bundles, downloaded artifacts) read as folders: tar, also compressed, and zip.

A member is named by its archive's path and its own: ``bundle.tar.gz/logs/vllm-0.log``. Nothing is unpacked to disk.
"""

from __future__ import annotations

import os
import tarfile
import zipfile
import zlib
from functools import lru_cache
from typing import BinaryIO, cast

from triage.errors import InputError
from triage.read.compression import decompressed

MEMBERS_LIMIT = 2000
"""Members of one archive that are read."""

_HINT = "unpack it and name the folder"


def members_of(path: str) -> list[str] | None:
    """The files in an archive, in its order, hidden ones left out; None where the file is no archive.

    Raises:
        InputError: it is one, but cannot be read, or holds no file.
    """
    if (kind := _kind(path)) is None:
        return None
    names = [name for name in _archive(path, kind, os.stat(path).st_mtime_ns).names if not _is_hidden(name)]
    if not names:
        raise InputError(f"{path} is an archive without files", "name a log, or an archive that holds some")
    return [f"{path}/{name}" for name in names[:MEMBERS_LIMIT]]


def open_member(path: str) -> BinaryIO | None:
    """Open a member of an archive by the name that ``members_of`` gave; None where the path is none.

    Raises:
        InputError: the archive is damaged or encrypted there.
    """
    archive = os.path.dirname(path)
    while archive and archive != os.path.dirname(archive) and not os.path.isfile(archive):
        archive = os.path.dirname(archive)
    if not os.path.isfile(archive) or (kind := _kind(archive)) is None:
        return None
    return _archive(archive, kind, os.stat(archive).st_mtime_ns).open(path[len(archive) + 1 :], path)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") and part.strip(".") for part in name.split("/"))


def _kind(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            first = file.read(4)
            if first == b"PK\x03\x04":
                return "zip"
            file.seek(0)
            start = b""
            for chunk in decompressed(iter(lambda: file.read(1 << 14), b""), path):
                start += chunk
                if len(start) >= 512:
                    break
    except (OSError, InputError):
        return None  # said when it is opened as a log
    return "tar" if start[257:262] == b"ustar" else None


class _Archive:
    """An open archive; a compressed tar is read from front to back, which is the order its members are asked in."""

    def __init__(self, path: str, kind: str) -> None:
        self._tar: tarfile.TarFile | None = None
        self._zip: zipfile.ZipFile | None = None
        try:
            if kind == "zip":
                self._zip = zipfile.ZipFile(path)
                self.names = [info.filename for info in self._zip.infolist() if not info.is_dir() and info.file_size]
            else:
                self._tar = tarfile.open(path)  # noqa: SIM115 - kept open while its members are read
                self._members = {member.name: member for member in self._tar if member.isfile() and member.size}
                self.names = list(self._members)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, zlib.error) as failure:
            raise InputError(f"{path} is an archive that cannot be read: {failure}", _HINT) from None

    def open(self, name: str, path: str) -> BinaryIO | None:
        try:
            if self._zip is not None:
                return cast("BinaryIO", self._zip.open(name))
            member = self._members.get(name)
            return cast("BinaryIO", self._tar.extractfile(member)) if self._tar is not None and member else None
        except KeyError:
            return None
        except (tarfile.TarError, zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError) as failure:
            raise InputError(f"{path} cannot be read: {failure}", _HINT) from None


@lru_cache(maxsize=1)
def _archive(path: str, kind: str, changed: int) -> _Archive:
    """The archive, kept open while its members are read; changed tells another file of the same name."""
    return _Archive(path, kind)
