"""``vllm-triage lint DIR``: check records."""

from __future__ import annotations

from collections.abc import Sequence

from triage import catalogue
from triage.cli.options import Parser, folder
from triage.cli.streams import write
from triage.errors import UsageError
from triage.render import visible


def run(words: Sequence[str]) -> int:
    """Check the records of folders; 1 when something is wrong with them, 0 else.

    Raises:
        UsageError: a folder is none.
        RecordError: a folder has no records.
    """
    parser = Parser(prog="vllm-triage lint", description="Check record files: what is wrong, and how to mend it.")
    parser.add_argument("directories", metavar="DIR", nargs="+", type=folder, help="a folder of record files")
    arguments = parser.parse_args(words)
    errors = warnings = 0
    lines = []
    for directory in arguments.directories:
        if not directory.is_dir():
            raise UsageError(f"{directory} is no folder", "name a folder of record files")
        for problem in catalogue.lint(directory):
            errors += problem.severity == "error"
            warnings += problem.severity == "warning"
            where = ": ".join(part for part in (problem.file, problem.field) if part)
            lines.append(visible(f"{where}: {problem.severity}: {problem.message}", 1000))
            if problem.hint:
                lines.append(f"  mend: {visible(problem.hint, 1000)}")
    counts = ", ".join(part for part in (_counted(errors, "error"), _counted(warnings, "warning")) if part)
    lines.append(counts or "no problems")
    write("\n".join(lines) + "\n", None)
    return 1 if errors else 0


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}" if number else ""
