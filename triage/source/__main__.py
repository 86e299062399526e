"""The developer's command that brings generated facts up to date: ``python -m triage.source COMMAND ...``.

``locate --records patterns/causes --index patterns/sites/vllm.jsonl`` (or ``0.33.0=DIR ...``) writes where each cause's
message is raised into the records;
``flags --out patterns/flags/vllm.json 0.33.0=DIR ...`` adds the flags, configuration fields and variables of releases;
``marks --out patterns/releases/vllm.json 0.33.0=DIR ...`` writes the lines that tell the releases apart;
``index --out patterns/sites/vllm.jsonl 0.33.0=DIR ...`` adds releases to the index of all messages;
``coverage --index patterns/sites/vllm.jsonl --records patterns/causes --readme README.md`` writes how much of each
release is known. DIR holds the release's ``vllm`` folder, as a wheel or a checkout has it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

import orjson
from packaging.version import InvalidVersion, Version

from triage.errors import TriageError, UsageError
from triage.source import coverage
from triage.source.flag_file import Known, dump_known, load_known, read_release
from triage.source.index import SiteReader, dump_index, load_index, merge
from triage.source.locate import RecordFile, Wanted, collect, locate_indexed, locate_release
from triage.source.marks import MarkReader, dump_marks
from triage.source.sites import Site


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        argv: the words after the program's name; those of the process where None.

    Returns:
        The exit code: 0, or 2 when it could not run.
    """
    parser = argparse.ArgumentParser(prog="python -m triage.source", description="Read facts out of package sources.")
    commands = parser.add_subparsers(dest="command", required=True)
    locating = commands.add_parser("locate", help="write where the messages of records are raised")
    locating.add_argument("--records", type=Path, required=True, metavar="DIR", help="folder of record files")
    locating.add_argument("--index", type=Path, metavar="FILE", help="the index of messages, instead of releases")
    flags = commands.add_parser("flags", help="add the command-line flags of releases to their file")
    flags.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to add to, or to begin")
    marks = commands.add_parser("marks", help="write the lines that tell releases apart")
    marks.add_argument("--out", type=Path, required=True, metavar="FILE", help="file to write")
    index = commands.add_parser("index", help="add the messages of releases to the index")
    index.add_argument("--out", type=Path, required=True, metavar="FILE", help="index to add to, or to begin")
    covering = commands.add_parser("coverage", help="write the table of what is known of each release")
    covering.add_argument("--index", type=Path, required=True, metavar="FILE", help="the index of messages")
    covering.add_argument("--records", type=Path, required=True, metavar="DIR", help="folder of record files")
    covering.add_argument("--readme", type=Path, required=True, metavar="FILE", help="file that has a place for it")
    for command in (locating, flags, marks, index):
        command.add_argument("releases", nargs="*", metavar="RELEASE=ROOT", help="a release and its unpacked package")
    args = parser.parse_args(argv)
    try:
        if args.command == "coverage":
            _coverage(args.index, args.records, args.readme)
            return 0
        releases = _releases(args.releases)
        if not releases and not getattr(args, "index", None):
            raise UsageError("there is nothing to read", "write RELEASE=ROOT, as in 0.33.0=/unpacked/wheel")
        if args.command == "locate":
            _locate(args.records, releases, args.index)
        elif args.command == "flags":
            _flags(args.out, releases)
        elif args.command == "marks":
            _marks(args.out, releases)
        else:
            _index(args.out, releases)
    except TriageError as error:
        print(f"error: {error.message}" + (f"\nhint: {error.hint}" if error.hint else ""), file=sys.stderr)
        return 2
    return 0


def _releases(words: Sequence[str]) -> dict[str, Path]:
    out: dict[str, Path] = {}
    for word in words:
        release, _, root = word.partition("=")
        try:
            Version(release)
        except InvalidVersion as error:
            raise UsageError(
                f"{word!r} names no release", "write RELEASE=ROOT, as in 0.33.0=/unpacked/wheel"
            ) from error
        if not (Path(root) / "vllm").is_dir():
            raise UsageError(f"{root!r} holds no vllm folder", "name the folder that the wheel was unpacked into")
        out[release] = Path(root)
    return dict(sorted(out.items(), key=lambda item: Version(item[0])))


def _locate(records: Path, roots: dict[str, Path], index: Path | None) -> None:
    paths = sorted(records.rglob("*.json"))
    wanted = [Wanted(str(path), text) for path in paths for text in RecordFile(path).templates()]
    if not wanted:
        raise UsageError(f"{str(records)!r} holds no records of vLLM's messages", "name the folder with the causes")
    releases: Collection[str] = roots
    pairs: dict[str, list[tuple[str, Site]]] = {}
    if index is not None:
        releases, known = load_index(index.read_bytes())
        pairs = locate_indexed(wanted, releases, known)
    seen: dict[tuple[str, str], tuple[tuple[str, Site], ...]] = {}
    for release, root in roots.items():
        pairs[release] = locate_release(wanted, root, _reporter(release), seen)
        print(f"{release}: {len(pairs[release])} sites", file=sys.stderr)
    found = collect(pairs)
    for path in (path for path in paths if any(each.cause == str(path) for each in wanted)):
        sites = found.get(str(path), {})
        # Read anew: reading the releases takes minutes, and somebody may have edited the record meanwhile.
        written = RecordFile(path).update(sites, pairs, indexed=index is not None)
        have = sorted({release for lines in sites.values() for release in lines}, key=Version)
        span = f"{have[0]} to {have[-1]}, {len(have)} of {len(releases)} releases" if have else "in no release"
        print(f"{path.relative_to(records)}: {len(sites)} sites, {span}{', written' if written else ''}")


def _flags(out: Path, releases: dict[str, Path]) -> None:
    known = load_known(out.read_bytes()) if out.exists() else Known()
    out.parent.mkdir(parents=True, exist_ok=True)
    for release, root in releases.items():
        print(f"{release}: {read_release(known, release, root, _reporter(release))} flags")
    out.write_bytes(dump_known("vllm", known))


def _marks(out: Path, releases: dict[str, Path]) -> None:
    reader = MarkReader()
    known = {release: reader.read(root, _reporter(release)) for release, root in releases.items()}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(dump_marks("vllm", known))
    for release, marks in known.items():
        print(f"{release}: {len(marks)} marks")


def _index(out: Path, releases: dict[str, Path]) -> None:
    """Add releases one by one, the file written after each: reading all of them takes an hour."""
    have, known = load_index(out.read_bytes()) if out.exists() else ([], {})
    reader = SiteReader()
    out.parent.mkdir(parents=True, exist_ok=True)
    for release, root in releases.items():
        sites = reader.read(root, _reporter(release))
        known = merge(known, release, sites)
        have = sorted({*have, release}, key=Version)
        out.write_bytes(dump_index("vllm", have, known))
        print(f"{release}: {len(sites)} sites, {len(known)} in the index")


def _coverage(index: Path, records: Path, readme: Path) -> None:
    causes = [orjson.loads(path.read_bytes())["triage"] for path in sorted(records.rglob("*.json"))]
    made = coverage.table(*load_index(index.read_bytes()), causes)
    readme.write_text(coverage.put(readme.read_text(encoding="utf-8"), made), encoding="utf-8")


def _reporter(release: str) -> Callable[[str, str], None]:
    return lambda file, reason: print(f"{release} {file}: {reason}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
