"""Is the release inferred from logs that do not name it? Windows of genuine logs, banners taken out.

    python -m tests.real.inference samples/real samples/healthy MORE... [--seed 1] [--windows 5] [--show]

Of each log that names its release, windows of at least 15 lines are cut at random places, without the lines that name
a version; each is read as a log of its own. Right is the log's release, or one that the catalogue holds in one group
with it, since nothing that was logged differs; "none" is a window that settles on nothing.

With ``--unknown`` each window is read as if its release, and those in its group, were unknown, as a fork's or a nightly
build's is: whatever is inferred is wrong then.
"""

from __future__ import annotations

import argparse
import io
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import Version

from triage import catalogue
from triage.model import Catalogue
from triage.pipeline import Settings, Source, Triage

SHORTEST = 15
"""Lines of a window at least."""


def windows(lines: Sequence[str], release: str, count: int, chance: random.Random) -> Iterator[list[str]]:
    """Parts of a log without the lines that name its release, or call a version anything."""
    number = re.escape(Version(release).base_version)
    named = re.compile(number + r"|\bversion\b", re.IGNORECASE)
    folder = re.compile(rf"/[\w.-]*{number}[\w.-]*(?=/)")  # an environment that is called after the release
    lines = [folder.sub("/venv", line) for line in lines]
    kept = [line for line in lines if not named.search(line)]
    if len(kept) < SHORTEST:
        return
    for _ in range(count):
        size = chance.randint(SHORTEST, min(len(kept), 120))
        start = chance.randint(0, len(kept) - size)
        yield kept[start : start + size]


def inferred(lines: Sequence[str], known: Catalogue) -> tuple[str | None, str | None]:
    """The release of a log and how it is known."""
    triage = Triage(known, Settings())
    for _ in triage.read(Source("log", io.BytesIO("\n".join(lines).encode()))):
        pass
    runs = triage.report().runs
    return (runs[-1].vllm_version, runs[-1].version_basis) if runs else (None, None)


def without(known: Catalogue, release: str) -> Catalogue:
    """What is known, without a release and those that hardly differ from it."""
    left_out = {each for group in known.releases if release in group for each in group}
    marks = tuple(
        replace(mark, lines={line: releases - left_out for line, releases in mark.lines.items()})
        for mark in known.marks
    )
    return replace(known, marks=marks, releases=tuple(g for g in known.releases if not left_out & set(g)))


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, print a line for each release."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("logs", nargs="+", type=Path, help="logs, or folders of them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--windows", type=int, default=5, help="of each log")
    parser.add_argument("--unknown", action="store_true", help="take the log's own release out of what is known")
    parser.add_argument("--show", action="store_true", help="print the windows that settle on nothing, or wrongly")
    arguments = parser.parse_args(argv)
    known = catalogue.load()
    group_of = {release: number for number, group in enumerate(known.releases) for release in group}
    chance = random.Random(arguments.seed)
    outcomes: dict[str, Counter[str]] = {}
    files = [file for path in arguments.logs for file in (sorted(path.rglob("*.log")) if path.is_dir() else [path])]
    for file in files:
        lines = file.read_text(encoding="utf-8", errors="replace").split("\n")
        release, basis = inferred(lines, known)
        if release is None or basis != "log":
            continue
        base = Version(release).base_version
        for window in windows(lines, release, arguments.windows, chance):
            guess, how = inferred(window, without(known, base) if arguments.unknown else known)
            assert how != "log", window
            same = guess is not None and (
                Version(guess).base_version == base or group_of.get(guess) == group_of.get(base, -1)
            )
            outcome = "right" if same else "none" if guess is None else "wrong"
            outcomes.setdefault(base, Counter())[outcome] += 1
            if arguments.show and outcome != "right":
                print(f"--- {file}: {outcome}, {guess}", *window, sep="\n")
    for release, counts in sorted(outcomes.items(), key=lambda item: Version(item[0])):
        total = sum(counts.values())
        shares = ", ".join(f"{name} {counts[name]} ({counts[name] / total:.1%})" for name in ("right", "none", "wrong"))
        print(f"{release}: {total} windows, {shares}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
