"""The kept table of outcomes: RESULTS.md is read, the rows that were run are replaced, and it is written again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from table import Row

KEPT = Path(__file__).with_name("RESULTS.md")
NOT_TRIED = "not tried: "
HEAD = """# Failures provoked on real vLLMs, and what the first fix did

Written by `loop.py`; [README.md](README.md) says what a line proves. `ok` means: the failure was provoked, the right
cause was named, its first fix was applied as printed, the outcome is what the last column says, and no argument that
the fix does not name was changed. `not tried` means: the right cause was named, and its first fix cannot be carried out
by this command. Everything else is `FAILED`, and stays here until it is mended. Where a fix has steps and no command,
the outcome begins with `by hand` and the step.

{tally}

| failure | release | kind | result | cause named | first fix | outcome |
| --- | --- | --- | --- | --- | --- | --- |
"""
CELL = re.compile(r"(?<!\\)\|")


class Result(NamedTuple):
    """The outcome of one row on one release."""

    row: Row
    release: str
    cause: str
    fix: str
    passed: bool
    seen: str

    def line(self) -> str:
        """One line for the terminal."""
        return f"{self.row.name} [{self.cause}] {self.fix} -> {self.seen}"

    def word(self) -> str:
        """The result in a word or two."""
        return "ok" if self.passed else "not tried" if self.seen.startswith(NOT_TRIED) else "FAILED"

    def cells(self) -> list[str]:
        """The row of the kept table."""
        note = f" ({self.row.note})" if self.row.note else ""
        texts = (self.row.name, self.release, self.row.kind, self.word(), self.cause, self.fix, self.seen + note)
        return [escape(text) for text in texts]


def escape(text: str) -> str:
    """A text as a cell: one line, bars escaped, folders of the run shortened."""
    flat = re.sub(r"/\S*?/real-\w+/models/[\w.-]+", "/models/tiny", " ".join(text.split()))
    return flat[:400].replace("|", "\\|")


def keep(path: Path, done: list[Result], known: list[Row]) -> None:
    """Put results into the kept table.

    Args:
        path: the table.
        done: what was run; it replaces what is there of the same row and release.
        known: the rows that there are; results of others, or of releases that a row is not for, are dropped.
    """
    rows_by_name = {row.name: row for row in known}
    lines: dict[tuple[str, str], list[str]] = {}
    if path.exists():
        for line in path.read_text().splitlines():
            cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
            if len(cells) == 7 and cells[0] in rows_by_name and rows_by_name[cells[0]].fits(cells[1]):
                lines[cells[0], cells[1]] = cells
    for result in done:
        lines[result.row.name, result.release] = result.cells()
    rows = [lines[key] for key in sorted(lines)]
    good = [cells for cells in rows if cells[3] == "ok"]
    kinds = {kind: sum(cells[2] == kind for cells in good) for kind in ("config", "start", "request")}
    tally = (
        f"{len(good)} of {len(rows)} loops closed, {len({cells[4] for cells in good})} distinct causes"
        f" ({', '.join(f'{kind}: {count}' for kind, count in kinds.items())})."
    )
    path.write_text(HEAD.format(tally=tally) + "".join(f"| {' | '.join(cells)} |\n" for cells in rows))
