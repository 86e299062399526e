"""The main job: read logs, print the report."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from packaging.version import InvalidVersion, Version

from triage import catalogue
from triage.cli.options import Parser, add_color, add_patterns, folder
from triage.cli.streams import (
    EXIT_CANNOT,
    EXIT_STOPPED,
    Stopper,
    complain,
    is_collected,
    is_watched,
    open_output,
    say,
    terminal_width,
    use_color,
    write,
)
from triage.errors import InputError, UsageError
from triage.model import Catalogue, Cause, Finding, Location, Report
from triage.pipeline import (
    FORMATS,
    Options,
    Settings,
    Source,
    Triage,
    files_below,
    open_source,
    present,
    present_end,
    present_finding,
    present_line,
)

EXIT_BY_STATUS = {"healthy": 0, "cause_found": 1, "unknown_failure": 3, "insufficient_evidence": 3}
"""Exit status with ``--exit-code``."""


def run(words: Sequence[str]) -> int:
    """Read the inputs and print the report.

    Args:
        words: the command's arguments.

    Returns:
        The exit status.
    """
    arguments = _parser().parse_args(words)
    outputs = _outputs(arguments)
    known = catalogue.load(arguments.patterns, learned=catalogue.data_folder(), on_damaged=complain)
    settings = _settings(arguments, _slugs(arguments.ignore, known.causes))
    triage = Triage(known, settings)
    stopper = Stopper()
    failures: list[InputError] = []
    live = _live(outputs, arguments)
    with stopper.listening():
        if arguments.follow:
            _follow(triage, _paths(arguments.files, failures), stopper, live, failures)
        else:
            _read(triage, _paths(arguments.files, failures), stopper, live, failures)
    for unreadable in () if arguments.follow else failures:
        complain(unreadable)
    if failures and not triage.has_input:
        return EXIT_CANNOT
    report = triage.report()
    if arguments.source or arguments.source_from:
        report = _with_sources(report, known, arguments.source_from)
    for format, file in outputs:
        if not (arguments.follow and format == "concise" and file is None):  # said already, line by line
            _write_report(report, format, file, arguments)
    if stopper.stopped:
        return EXIT_STOPPED
    if failures:
        return EXIT_CANNOT
    return EXIT_BY_STATUS[report.status] if arguments.exit_code else 0


def _with_sources(report: Report, known: Catalogue, folders: Sequence[Path]) -> Report:
    """The report with the installed source around each place."""
    from triage.source.excerpts import excerpt, search_folders

    def lines_of(place: Location) -> list[Mapping[str, int]]:
        sites = known.sites.inside(place.file) if known.sites is not None else ()
        return [site.lines for site in sites if site.lines.get(place.version or "") == place.line]

    searched = [*folders, *search_folders()]
    findings = tuple(
        replace(finding, excerpt=excerpt(finding.location, searched, lines_of)) if finding.location else finding
        for finding in report.findings
    )
    if any(each.location and not each.excerpt for each in findings if each.role == "root_cause"):
        say("the source of a place is not installed here in a release that has it: --source-from DIR names where it is")
    return replace(report, findings=findings)


def _read(
    triage: Triage,
    paths: Iterable[str],
    stopper: Stopper,
    live: Callable[[Finding], None],
    failures: list[InputError],
) -> None:
    """Read the inputs one after the other; what cannot be read is kept aside."""
    for path in paths:
        if stopper.stopped:
            break
        try:
            for finding in triage.read(open_input(path), stopper):
                live(finding)
        except InputError as failure:
            failures.append(failure)


def _follow(
    triage: Triage,
    paths: Iterable[str],
    stopper: Stopper,
    live: Callable[[Finding], None],
    failures: list[InputError],
) -> None:
    """Read inputs that go on growing; one that cannot be read is said at once, since the end may be far."""

    def failed(failure: InputError) -> None:
        complain(failure)
        failures.append(failure)

    sources: list[Source] = []
    for path in paths:
        try:
            sources.append(open_input(path))
        except InputError as failure:
            failures.append(failure)
    for unreadable in failures:
        complain(unreadable)
    if any(source.name != "stdin" for source in sources) and is_watched():
        say("following until Ctrl-C, which prints the report")
    for finding in triage.follow(sources, stopper, failed):
        live(finding)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        prog="vllm-triage",
        usage="vllm-triage [FILE|DIR|- ...] [options]\n       vllm-triage explain|search|list|lint|learn|draft --help",
        description="Read a vLLM log and print the root cause, where it was raised, and commands that fix it.",
        epilog="""\
With no FILE the log is read from standard input: kubectl logs POD | vllm-triage

further commands (each has a --help):
  vllm-triage explain SLUG|ID|MESSAGE  what a cause means, when it happens, what fixes it
  vllm-triage search WORDS             look for causes by words, flags or tags
  vllm-triage list                     all causes, or those of an area or tag
  vllm-triage lint DIR                 check records of your own
  vllm-triage learn PACKAGE            read the messages of a package: a plugin, a nightly, torch
  vllm-triage draft [FILE]             a record, or a bug report, of an error that no record knows""",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "files",
        metavar="FILE",
        nargs="*",
        help="logs to read, also compressed ones and folders of them; - is standard input",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT[:FILE]",
        action="append",
        default=[],
        help=f"{', '.join(FORMATS)}; repeatable, each to a file of its own (default: text)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the report there instead of to standard output")
    parser.add_argument(
        "--as",
        dest="idiom",
        choices=("cli", "docker", "compose", "k8s", "python"),
        help="idiom of the fixes' commands (default: as the log shows)",
    )
    parser.add_argument(
        "--all", action="store_true", dest="show_all", help="consequences, warnings and harmless findings too"
    )
    parser.add_argument(
        "--context", metavar="N", type=_count, default=0, help="lines to quote around the one that says it"
    )
    parser.add_argument(
        "--source", action="store_true", help="show the source around each place, from what is installed here"
    )
    parser.add_argument(
        "--source-from",
        metavar="DIR",
        action="append",
        default=[],
        type=folder,
        help="the same, from packages in this folder first (site-packages, a checkout); repeatable",
    )
    parser.add_argument("--ignore", metavar="SLUG", action="append", default=[], help="leave a cause out; repeatable")
    parser.add_argument("--last-attempt", action="store_true", help="only the last start of a restart loop")
    add_patterns(parser)
    parser.add_argument("--vllm-version", metavar="V", type=release, help="the release, when the log does not show it")
    parser.add_argument("--follow", action="store_true", help="report findings as they come")
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help="exit with 0 healthy, 1 cause found, 3 unknown failure or not enough evidence (default: 0)",
    )
    parser.add_argument("--no-redact", action="store_true", help="leave secrets and prompts in")
    add_color(parser)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version and exit")
    return parser


class _Version(argparse.Action):
    """Looks the version up when asked for it, not at every start."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and exit."""
        from importlib.metadata import version

        write(f"vllm-triage {version('vllm-triage')}\n", None)
        parser.exit()


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) > 1000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of lines (0 to 1000)")
    return int(text)


def release(text: str) -> str:
    """A release named on the command line, as it is written in the catalogue.

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    try:
        return str(Version(text.removeprefix("v")))
    except InvalidVersion:
        raise argparse.ArgumentTypeError(f"{text!r} is no release of vLLM (0.11.0 is one)") from None


def _settings(arguments: argparse.Namespace, ignore: frozenset[str]) -> Settings:
    return Settings(
        vllm_version=arguments.vllm_version,
        idiom=arguments.idiom,
        show_all=arguments.show_all,
        context=arguments.context,
        ignore=ignore,
        last_attempt=arguments.last_attempt,
        follow=arguments.follow,
        stream=arguments.follow or any(format == "jsonl" for format, _ in _outputs(arguments)),
    )


def _outputs(arguments: argparse.Namespace) -> list[tuple[str, str | None]]:
    """Which format goes where; the first one without a file of its own takes ``-o``."""
    outputs: list[tuple[str, str | None]] = []
    for wanted in arguments.format or ["text"]:
        format, _, path = wanted.partition(":")
        if format not in FORMATS:
            raise UsageError(f"no such format: {format}", f"choose one of: {', '.join(FORMATS)}")
        outputs.append((format, path or None))
    if arguments.output:
        bare = next((place for place, (_, path) in enumerate(outputs) if path is None), None)
        if bare is None:
            raise UsageError("-o names a file, but every --format has one", "leave -o out, or one FILE")
        outputs[bare] = (outputs[bare][0], arguments.output)
    named = [path for _, path in outputs if path is not None]
    for path in named:
        if named.count(path) > 1:
            raise UsageError(f"two formats would go to {path}", "give each a file of its own")
        if any(_is_same_file(path, source) for source in arguments.files):
            raise UsageError(f"{path} is an input: the report would overwrite it", "name another file for the report")
    if sum(path is None for _, path in outputs) > 1:
        raise UsageError(
            "two formats would go to standard output", "give all but one a file: --format json:report.json"
        )
    return outputs


def _is_same_file(one: str, other: str) -> bool:
    try:
        return other != "-" and os.path.samefile(one, other)
    except OSError:
        return False


def _slugs(names: Iterable[str], causes: Sequence[Cause]) -> frozenset[str]:
    """The slugs of causes that are named by slug, id or alias."""
    known = {name: cause.slug for cause in causes for name in (*cause.aliases, cause.id, cause.slug)}
    for name in names:
        if name not in known:
            raise UsageError(f"no cause is called {name}", "vllm-triage list shows the names")
    return frozenset(known[name] for name in names)


def _paths(names: Sequence[str], failures: list[InputError]) -> Iterator[str]:
    """The files that the arguments name, folders opened out; standard input where there are none."""
    for name in names or ["-"]:
        try:
            yield from [name] if name == "-" else files_below(name)
        except InputError as failure:
            failures.append(failure)


def open_input(path: str) -> Source:
    """Open an input; ``-`` is standard input.

    Raises:
        InputError: it cannot be read.
    """
    if path != "-":
        return open_source(path)
    if sys.stdin is None or sys.stdin.closed:
        raise InputError("there is no standard input", "name a file")
    if sys.stdin.isatty():
        say("waiting for a log: paste it, then press Enter and Ctrl-D (Ctrl-C reports what came so far)")
    return Source("stdin", sys.stdin.buffer)


def _live(outputs: Sequence[tuple[str, str | None]], arguments: argparse.Namespace) -> Callable[[Finding], None]:
    """What is written as findings come: every jsonl output, and with ``--follow`` a line each on standard output."""
    redacted = not arguments.no_redact
    forms: list[tuple[Callable[[str], None], Callable[[Finding], str]]] = []
    for format, path in outputs:
        if format == "jsonl":
            forms.append((open_output(path), lambda finding: present_finding(finding, redacted=redacted)))
        elif arguments.follow and path is None and format in ("text", "concise"):
            forms.append((open_output(None), lambda finding: present_line(finding, redacted=redacted)))

    def to_all(finding: Finding) -> None:
        for output, form in forms:
            output(form(finding))

    return to_all


def _write_report(report: Report, format: str, path: str | None, arguments: argparse.Namespace) -> None:
    options = Options(
        color=path is None and use_color(arguments.color),
        width=terminal_width() if path is None else None,
        show_all=arguments.show_all,
        context=arguments.context,
    )
    if format == "jsonl":
        write(present_end(report, redacted=not arguments.no_redact), path, append=True)
    else:
        text = present(report, format, options, redacted=not arguments.no_redact)
        write(text, path, append=is_collected(path))
