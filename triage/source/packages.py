"""Packages to be read: a folder, a wheel or source archive, an installed package, or a release to be downloaded.

Nothing is unpacked to disk and nothing of the package is run: archives are read member by member, versions are taken
from metadata and ``__version__ = "..."`` lines.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from email.parser import HeaderParser
from functools import partial
from pathlib import Path

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from triage.errors import UsageError
from triage.source.sites import MAX_FILE_BYTES

NO_PACKAGES = frozenset(
    {"test", "tests", "testing", "doc", "docs", "example", "examples", "benchmark", "benchmarks", "tools", "scripts"}
    | {"build", "dist", "cmake", "csrc", "docker", "node_modules", "site-packages", "__pycache__"}
)
"""Folders of a checkout or a wheel that hold no part of the package."""

ARCHIVES = (".whl", ".zip", ".egg", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar")

VERSION_FILES = ("_version.py", "version.py", "__init__.py", "__about__.py")
"""Files of a package that may say ``__version__ = "1.2"``, the likeliest first."""

_VERSION = re.compile(rb"""(?m)^\s*(?:__)?version(?:__)?(?:\s*:\s*str)?\s*=(?:\s*version\s*=)?\s*["']([^"'\s]+)["']""")


@dataclass(frozen=True, slots=True)
class Member:
    """A source file that is read when it is asked for."""

    read_bytes: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Package:
    """What is to be read.

    name: as the package index has it, in small letters (``vllm-ascend``); version: None where nothing says it;
    folders: its import packages (``vllm_ascend``); files: package-relative path to file, sorted.
    """

    name: str
    version: str | None
    folders: tuple[str, ...]
    files: Mapping[str, Member] = field(repr=False)


@contextlib.contextmanager
def opened(wanted: str, say: Callable[[str], None]) -> Iterator[Package]:
    """Open a package for reading.

    Args:
        wanted: a folder, an archive, ``NAME==VERSION``, or the name of a package that is installed here.
        say: told what is going on where it takes long.

    Raises:
        UsageError: there is no such package, or it holds no Python sources.
    """
    path = Path(wanted).expanduser()
    with contextlib.ExitStack() as stack:
        if path.is_dir():
            package = _folder(path)
        elif path.is_file():
            package = _archive(path, stack)
        elif "/" in wanted or "\\" in wanted or wanted.endswith(ARCHIVES):
            raise UsageError(f"there is no file or folder {wanted}", "check the path")
        else:
            package = _named(wanted, stack, say)
        if not package.files:
            raise UsageError(f"{wanted} holds no Python sources", "name a package's folder, or its wheel")
        yield package


def _named(wanted: str, stack: contextlib.ExitStack, say: Callable[[str], None]) -> Package:
    try:
        requirement = Requirement(wanted)
    except InvalidRequirement as error:
        hint = "write a folder, a wheel, NAME==VERSION, or the name of an installed package"
        raise UsageError(f"{wanted!r} names no package", hint) from error
    if not requirement.specifier:
        if (installed := _installed(requirement.name)) is not None:
            return installed
        hint = f"name its folder or its wheel, or a release: vllm-triage learn {requirement.name}==VERSION"
        raise UsageError(f"{requirement.name} is not installed beside this program", hint)
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vllm-triage-")))
    say(f"downloading {requirement}")
    _download(str(requirement), folder)
    return _archive(next(iter(sorted(folder.iterdir()))), stack)


def _download(requirement: str, folder: Path) -> None:
    """Get a release with pip, as a wheel where there is one; a source archive's build steps may run else.

    Raises:
        UsageError: pip is missing, or could not get it.
    """
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--disable-pip-version-check"]
    pip += ["--dest", str(folder)]
    last = ""
    for only in (["--only-binary", ":all:"], ["--no-binary", ":all:"]):
        try:
            done = subprocess.run([*pip, *only, requirement], capture_output=True, text=True, check=False)
        except OSError as error:
            raise UsageError(f"pip cannot be run: {error.strerror}", "download the wheel, and name its file") from error
        if done.returncode == 0 and any(folder.iterdir()):
            return
        lines = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith("[notice]")]
        last = lines[-1].removeprefix("ERROR: ") if lines else last
        if "No module named pip" in last:
            break
    raise UsageError(f"pip could not get {requirement}: {last}", "check the release, or name a wheel's file")


def _installed(name: str) -> Package | None:
    """A package in the interpreter's own folders; none of it is imported."""
    from importlib.metadata import Distribution, PackageNotFoundError, packages_distributions

    try:
        found = Distribution.from_name(name)
    except PackageNotFoundError:
        owners = packages_distributions().get(name, [])
        if not owners:
            return None
        found = Distribution.from_name(owners[0])
    files: dict[str, Member] = {}
    for each in found.files or ():
        file = each.as_posix()
        if file.endswith(".py") and "/" in file and not file.startswith("..") and _is_of_package(file):
            files[file] = Member(Path(str(found.locate_file(each))).read_bytes)
    if not files:  # installed in development mode: its metadata lists no sources
        for folder in sys.path:
            inner = Path(folder or ".") / canonicalize_name(name).replace("-", "_")
            if (inner / "__init__.py").is_file():
                return _folder(inner, found.version)
    return _package(found.name, found.version, files)


def _folder(path: Path, version: str | None = None) -> Package:
    """A package's own folder, or one that holds it: a checkout, site-packages, an unpacked wheel."""
    path = path.resolve()
    if (path / "__init__.py").is_file():
        while (path.parent / "__init__.py").is_file():
            path = path.parent
        root, inner = path.parent, [path]
    else:
        root = path / "src" if (path / "src").is_dir() else path
        inner = [each for each in sorted(root.iterdir()) if each.is_dir() and _is_of_package(f"{each.name}/")]
        inner = [each for each in inner if (each / "__init__.py").is_file()]
        if root.name in ("site-packages", "dist-packages"):
            raise UsageError(f"{path} holds many packages", f"name one of them: {path / 'vllm'}")
    files = {
        file.relative_to(root).as_posix(): Member(file.read_bytes) for each in inner for file in each.rglob("*.py")
    }
    files = {file: member for file, member in files.items() if _is_of_package(file)}
    name = next((each.name for each in inner), path.name)
    metadata = _metadata_beside(root, name)
    return _package(metadata.get("name", name), version or metadata.get("version"), files)


def version_beside(root: Path, name: str) -> str | None:
    """The version of a package in a folder of packages, from its metadata or its own source; None where none says it.

    Args:
        root: the folder (``site-packages``, a checkout).
        name: the package's folder in it.
    """
    if version := _metadata_beside(root, name).get("version"):
        return version
    files = {f"{name}/{each}": Member((root / name / each).read_bytes) for each in VERSION_FILES}
    return _said_version({file: member for file, member in files.items() if (root / file).is_file()})


def _metadata_beside(root: Path, name: str) -> dict[str, str]:
    """Name and version from the metadata folder that was installed beside a package."""
    for kind in ("dist-info", "egg-info"):
        for found in sorted(root.glob(f"*.{kind}")):
            own = found.name.removesuffix(f".{kind}").partition("-")[0]
            if canonicalize_name(own) == canonicalize_name(name):
                for file in ("METADATA", "PKG-INFO"):
                    with contextlib.suppress(OSError):
                        return _headers((found / file).read_bytes())
    return {}


def _archive(path: Path, stack: contextlib.ExitStack) -> Package:
    try:
        if zipfile.is_zipfile(path):
            archive = stack.enter_context(zipfile.ZipFile(path))
            members = {each.filename: Member(partial(_zip_bytes, archive, each)) for each in archive.infolist()}
        elif tarfile.is_tarfile(path):
            tar = stack.enter_context(tarfile.open(path))  # noqa: SIM115 (the stack closes it)
            members = {each.name: Member(partial(_tar_bytes, tar, each)) for each in tar if each.isfile()}
        else:
            raise UsageError(f"{path} is no wheel and no source archive", "name a .whl, .zip or .tar.gz, or a folder")
        return _of_members(path, members)
    except (OSError, zipfile.BadZipFile, tarfile.TarError, EOFError, NotImplementedError, RuntimeError) as error:
        raise UsageError(f"{path} cannot be read: {error}", "get it again") from error


def _zip_bytes(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(member) as file:
            return file.read(MAX_FILE_BYTES + 1)  # what a member says of its size may be untrue
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise OSError(f"{member.filename}: {error}") from error


def _tar_bytes(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = tar.extractfile(member)
    return file.read(MAX_FILE_BYTES + 1) if file is not None else b""


def _of_members(path: Path, members: Mapping[str, Member]) -> Package:
    metadata: dict[str, str] = {}
    for name, member in sorted(members.items(), key=lambda item: (item[0].count("/"), item[0])):
        if name.endswith((".dist-info/METADATA", "/PKG-INFO")):
            metadata = _headers(member.read_bytes())
            break
    sources = {name.replace("\\", "/"): member for name, member in members.items() if name.endswith(".py")}
    tops = {name.partition("/")[0] for name in members}
    if (
        len(tops) == 1 and f"{(top := next(iter(tops)))}/__init__.py" not in sources
    ):  # NAME-VERSION/ of a source archive
        sources = {name.removeprefix(f"{top}/"): member for name, member in sources.items()}
    if any(name.startswith("src/") for name in sources):
        sources = {name.removeprefix("src/"): m for name, m in sources.items() if name.startswith("src/")}
    files = {name: member for name, member in sources.items() if _is_of_package(name)}
    return _package(metadata.get("name", path.name.partition("-")[0]), metadata.get("version"), files)


def _package(name: str, version: str | None, files: Mapping[str, Member]) -> Package:
    folders = {file.partition("/")[0] for file in files}
    kept = {file: files[file] for file in sorted(files)}
    if version is None:
        version = _said_version(kept)
    if version is not None:
        try:
            version = str(Version(version))
        except InvalidVersion:
            version = None
    return Package(canonicalize_name(name), version, tuple(sorted(folders)), kept)


def _said_version(files: Mapping[str, Member]) -> str | None:
    for name in VERSION_FILES:
        for file, member in files.items():
            if file.count("/") == 1 and file.endswith(f"/{name}") and (found := _VERSION.search(member.read_bytes())):
                return found[1].decode("ascii", "replace")
    return None


def _is_of_package(file: str) -> bool:
    first = file.partition("/")[0]
    return "/" in file and first not in NO_PACKAGES and first.isidentifier()


def _headers(data: bytes) -> dict[str, str]:
    message = HeaderParser().parsestr(data.decode("utf-8", "replace"))
    return {key.lower(): str(message[key]) for key in ("Name", "Version") if message[key]}
