"""``vllm-triage learn PACKAGE``: read the messages of a package into the user's data folder."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import orjson
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from triage import catalogue
from triage.cli.options import Parser
from triage.cli.streams import is_watched, say, write
from triage.errors import TriageError, UsageError
from triage.source import index, packages

BUNDLED = "vllm"
"""The package whose releases are known without learning."""

_Item = TypeVar("_Item")


def run(words: Sequence[str]) -> int:
    """Read packages, list what was read, or forget it.

    Raises:
        UsageError: a package cannot be read, or is not known.
    """
    parser = Parser(
        prog="vllm-triage learn",
        usage="vllm-triage learn PACKAGE ... [--as-version V]\n"
        "       vllm-triage learn --list | --remove NAME[==VERSION]",
        description="Read the messages of a package, so that reports place them from then on: a nightly or a fork of"
        " vLLM, a plugin, torch, transformers, ray. Nothing of the package is run, and only its messages are kept.",
    )
    parser.add_argument(
        "packages",
        metavar="PACKAGE",
        nargs="*",
        help="a folder, a wheel or source archive, an installed package's name, or NAME==VERSION, which pip downloads",
    )
    parser.add_argument("--as-version", metavar="V", type=_version, help="its version, where it does not say one")
    parser.add_argument("--list", action="store_true", help="what was read so far")
    parser.add_argument(
        "--remove", metavar="NAME[==VERSION]", action="append", default=[], help="forget a package; repeatable"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text", help="of the list")
    arguments = parser.parse_args(words)
    folder = catalogue.data_folder()
    if not (arguments.packages or arguments.list or arguments.remove):
        raise UsageError("there is nothing to read", "vllm-triage learn PACKAGE, e.g. vllm-ascend==0.11.0")
    if arguments.as_version and len(arguments.packages) != 1:
        raise UsageError("--as-version is of one package", "name one package at a time")
    for wanted in arguments.remove:
        _remove(folder, wanted)
    for wanted in arguments.packages:
        _learn(folder, wanted, arguments.as_version)
    if arguments.list:
        _list(folder, arguments.format)
    return 0


def _version(text: str) -> str:
    try:
        return str(Version(text.removeprefix("v")))
    except InvalidVersion:
        raise argparse.ArgumentTypeError(f"{text!r} is no version (0.33.1.dev5+fork is one)") from None


def _learn(folder: Path, wanted: str, version: str | None) -> None:
    with packages.opened(wanted, say) as package:
        version = version or package.version
        if version is None:
            raise UsageError(f"{wanted} says no version", "give it: --as-version 0.33.1.dev5+fork")
        if package.name == BUNDLED and version in _bundled_releases():
            write(f"vllm {version} is known already; for a fork of it: --as-version {version}+fork\n", None)
            return
        path = folder / "sites" / f"{package.name}.jsonl"
        releases, known = _load(path)
        unread: list[str] = []
        files = list(package.files.items())
        sites = index.SiteReader().read_files(
            _progress(files, f"{package.name} {version}"), lambda file, reason: unread.append(f"{file}: {reason}")
        )
        if not sites:
            raise UsageError(f"{wanted} holds no messages", "name a package's folder, or its wheel")
        merged = index.merge(known, version, sites)
        _replace(path, index.dump_index(package.name, {*releases, version}, merged, package.folders))
    for each in unread[:5]:
        say(f"not read: {each}")
    if len(unread) > 5:
        say(f"not read: {len(unread) - 5} more files")
    write(f"{package.name} {version}: {len(sites):,} messages of {len(files) - len(unread):,} files\n", None)


def _progress(files: Sequence[_Item], title: str) -> Iterator[_Item]:
    """Go through files, with a bar where somebody watches standard error."""
    if not is_watched():
        yield from files
        return
    from rich.console import Console
    from rich.progress import track

    yield from track(files, title, console=Console(stderr=True), transient=True)


def _bundled_releases() -> Sequence[str]:
    sites = catalogue.load().sites
    return sites.releases if sites is not None else ()


def _load(path: Path) -> tuple[list[str], dict[index.Key, dict[str, int]]]:
    if not path.exists():
        return [], {}
    try:
        releases, known = index.load_index(path.read_bytes())
    except (OSError, TriageError, ValueError, LookupError, TypeError, AttributeError) as error:
        hint = f"vllm-triage learn --remove {path.stem}, then learn it again"
        raise UsageError(f"{path} is damaged: {error}", hint) from error
    return releases, known


def _remove(folder: Path, wanted: str) -> None:
    try:
        requirement = Requirement(wanted)
        versions = {str(Version(each.version)) for each in requirement.specifier}
    except (InvalidRequirement, InvalidVersion) as error:
        raise UsageError(f"{wanted!r} names no package", "write NAME or NAME==VERSION") from error
    path = folder / "sites" / f"{canonicalize_name(requirement.name)}.jsonl"
    if not path.exists():
        raise UsageError(f"{requirement.name} was not learned", "vllm-triage learn --list shows what was")
    left: list[str] = []
    if versions:
        releases, known = _load(path)
        if missing := versions - set(releases):
            raise UsageError(f"{requirement.name} {missing.pop()} was not learned", f"learned: {', '.join(releases)}")
        left = [release for release in releases if release not in versions]
        for release in versions:
            known = index.merge(known, release, {})
        if left:
            _replace(path, index.dump_index(path.stem, left, known, _head(path).get("folders", ())))
    if not left:
        try:
            path.unlink()
        except OSError as error:
            raise UsageError(f"{path} cannot be removed: {error.strerror}", "check whose folder it is") from error
    write(f"{wanted} is forgotten\n", None)


def _list(folder: Path, format: str) -> None:
    rows: list[dict[str, object]] = []
    lines: list[str] = []
    for path in catalogue.learned_files(folder):
        try:
            versions = _head(path)["releases"]
            rows.append({"package": path.stem, "versions": versions, "file": str(path)})
            lines.append(f"{path.stem} {', '.join(versions)}")
        except (OSError, ValueError, LookupError, TypeError):
            rows.append({"package": path.stem, "versions": None, "file": str(path)})
            lines.append(f"{path.stem} is damaged: vllm-triage learn --remove {path.stem}")
    if format == "json":
        write(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n", None)
        return
    write("\n".join(lines or ["nothing was learned yet: vllm-triage learn PACKAGE"]) + "\n", None)


def _head(path: Path) -> dict[str, list[str]]:
    with path.open("rb") as file:
        head: dict[str, list[str]] = orjson.loads(file.readline(1 << 16))
    return head


def _replace(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever reads half of it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.replace(name, path)
    except OSError as error:
        hint = f"name a folder that may be written: {catalogue.DATA_VARIABLE}=DIR"
        raise UsageError(f"{path} cannot be written: {error.strerror}", hint) from error
