"""``vllm-triage draft``: a record to be written on, or the text of a bug report, of what a log shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import orjson

from triage import catalogue
from triage.cli.options import Parser, add_patterns
from triage.cli.report import open_input, release
from triage.cli.streams import complain, say, write
from triage.errors import InputError, UsageError
from triage.model import Finding, Report
from triage.pipeline import Settings, Triage, present_issue, shareable

CONTEXT = 25
"""Lines of the log around the message in a bug report."""


def run(words: Sequence[str]) -> int:
    """Print a draft record of the first error that no record knows, or what to report.

    Raises:
        InputError: the log cannot be read.
        UsageError: the log shows no such error.
    """
    parser = Parser(
        prog="vllm-triage draft",
        usage="vllm-triage draft [FILE] [--issue | --wrong] [options]",
        description="Of an error that no record knows: a record to be written on (the default), or the text of a bug"
        " report. Secrets, addresses, hosts and user names are taken out.",
    )
    parser.add_argument("file", metavar="FILE", nargs="?", default="-", help="the log (default: standard input)")
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--issue", action="store_true", help="the text of a bug report, as Markdown")
    kinds.add_argument("--wrong", action="store_true", help="the same, to say that the verdict is wrong")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="write it there instead of to standard output; a draft also into a folder",
    )
    parser.add_argument("--vllm-version", metavar="V", type=release, help="the release, when the log does not show it")
    add_patterns(parser)
    arguments = parser.parse_args(words)
    report = _report(arguments.file, arguments.patterns, arguments.vllm_version)
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    unknown = [finding for finding in roots if finding.record is None]
    if arguments.wrong:
        write(_issue(report, roots[0] if roots else None, wrong=True), arguments.output)
        return 0
    if not unknown:
        known = f"what it shows is known: {roots[0].record.slug}" if roots and roots[0].record else "it shows no error"
        raise UsageError(f"there is nothing to draft: {known}", "--wrong writes a report of a verdict that is wrong")
    if arguments.issue:
        write(_issue(report, unknown[0], wrong=False), arguments.output)
        return 0
    record = catalogue.draft(unknown[0])
    output = _place_for(record["slug"], arguments.output)
    write(orjson.dumps(record, option=orjson.OPT_INDENT_2).decode() + "\n", output)
    if output is not None and output != arguments.output:
        say(f"written to {output}")
    folder = "its folder" if arguments.output else "a folder of records"
    say(f"title, documentation and fixes are to be written; vllm-triage lint and --patterns take {folder}")
    return 0


def _place_for(slug: str, output: str | None) -> str | None:
    """The file for a draft: in a folder it is called like its slug, as lint wants it. What is there is kept.

    Raises:
        UsageError: there is such a file, or the folder cannot be made.
    """
    if output is None or output == "-":
        return output
    place = Path(output, f"{slug}.json") if output.endswith(("/", "\\")) or Path(output).is_dir() else Path(output)
    if place.is_file():
        raise UsageError(f"{place} is there already, and may have been written on", "name another file, or remove it")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{place.parent} cannot be made: {error.strerror}", "name another folder") from error
    return str(place)


def _report(file: str, patterns: Sequence[Path], version: str | None) -> Report:
    known = catalogue.load(patterns, learned=catalogue.data_folder(), on_damaged=complain)
    triage = Triage(known, Settings(vllm_version=version, show_all=True, context=CONTEXT))
    for _ in triage.read(open_input(file)):
        pass
    if not triage.has_input:
        raise InputError(f"{file} holds nothing", "give a log")
    return shareable(triage.report())


def _issue(report: Report, finding: Finding | None, *, wrong: bool) -> str:
    from importlib.metadata import version

    return present_issue(report, finding, version("vllm-triage"), wrong=wrong)
