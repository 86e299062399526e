"""The report for a person at a terminal: the cause, where it was raised, what to run."""

from __future__ import annotations

from rich.cells import cell_len
from rich.text import Text

from triage.model import Finding, Fix, Report
from triage.render import trackers, where, words
from triage.render.concise import concise_line
from triage.render.options import Options
from triage.render.page import Page
from triage.render.visible import excerpt, flat, middle_cut, phrase, visible

_COLUMN = 7
_INDENT = 6
_OTHERS = 40
_FILES = 20
_QUOTE = 320
# How many causes in full, with how many lines for the first, the most probable, and for a further one: the
# first plan is taken that keeps the report to so many lines, or the last.
_MOST_LINES = 45
_PLANS = ((3, 25, 16), (3, 15, 10), (2, 25, 16), (2, 15, 10), (1, 25, 0))


def render_text(report: Report, options: Options) -> str:
    """The report as text, ending in a line feed.

    Args:
        report: what was found.
        options: colour, the terminal's width, how much to show.
    """
    if report.status == "healthy":
        page = Page(options.width)
        page.prose(Text(words.healthy(report), style="bold green"))
        _others(page, report)
        _files(page, report, options)
        _limits(page, report)
        return page.render(options.color)
    # The same text takes more lines where they are short.
    columns = min(80, max(40, options.width or 80))
    for causes, first, further in _PLANS:
        page = _report(report, options, causes, first * 80 // columns, further * 80 // columns)
        listed = min(len(report.input.files), _FILES)
        if options.show_all or len(page.lines) - listed <= _MOST_LINES * 80 // columns:
            break
    return page.render(options.color)


def _report(report: Report, options: Options, causes: int, first: int, further: int) -> Page:
    """Everything, so many causes in full, with so many lines for the first and for a further one."""
    page = Page(options.width)
    if report.status == "insufficient_evidence":
        page.prose(Text(words.insufficient(report), style="bold yellow"), 2)
    roots = [each for each in report.findings if each.role == "root_cause"]
    full = roots if options.show_all else roots[:causes]
    for number, finding in enumerate(full):
        page.blank()
        page.extend(_cause(report, finding, options, further if number else first))
    if roots[len(full) :]:
        page.blank()
    for finding in roots[len(full) :]:
        page.verbatim(concise_line(finding))
    if report.missing:
        page.blank()
    for each in report.missing:
        label = "note" if report.status == "healthy" else "needs"
        _labelled(page, label, flat(each, words.PROSE), style="bold")
    _others(page, report)
    _files(page, report, options)
    _limits(page, report)
    page.prose(Text(words.tally(report)), 2)
    return page


def _cause(report: Report, finding: Finding, options: Options, budget: int) -> Page:
    """One root cause in full, with as many of its fixes in full as the budget of lines allows."""
    page = Page(options.width)
    _head(page, report, finding)
    page.blank()
    _quote(page, finding, options)
    page.blank()
    for label, text in (
        ("why", words.why_of(finding)),
        ("where", where.where_of(finding)),
        ("note", words.joined(words.notes_of(finding))),
    ):
        if text:
            _labelled(page, label, text)
    _source(page, finding)
    page.blank()
    ending = _ending(finding, options)
    page.extend(_fixes(finding, options, budget - len(page.lines) - len(ending.lines)))
    if finding.fixes:
        page.blank()
    page.extend(ending)
    return page


def _fixes(finding: Finding, options: Options, room: int) -> Page:
    """The fixes, the first one in full, the further ones as long as there is room for the lines."""
    page = Page(options.width)
    numbered = list(enumerate(finding.fixes, 1))
    with_checks = [_fix(number, fix, options.width, check=True) for number, fix in numbered]
    if options.show_all or sum(len(whole.lines) for whole in with_checks) <= room:
        for whole in with_checks:
            page.extend(whole)
        return page
    brief: list[int] = []
    for number, fix in numbered:
        whole = _fix(number, fix, options.width, check=False)
        # The fixes still to come keep a line each.
        if number == 1 or (not brief and len(page.lines) + len(whole.lines) + len(numbered) - number <= room):
            page.extend(whole)
        else:
            page.extend(_brief(number, fix, options.width))
            brief.append(number)
    if brief:
        these = f"fix {brief[0]}" if len(brief) == 1 else f"fixes {', '.join(map(str, brief))}"
        page.prose(Text(" " * _COLUMN + f"(--all shows {these} in full)"), _COLUMN)
    return page


def _head(page: Page, report: Report, finding: Finding) -> None:
    """The cause with the user's numbers, then where in the input, of which process, release and model."""
    head = Text()
    head.append(words.label_of(finding) + ":", style="bold red")
    head.append(" " + words.title_of(finding), style="bold")
    whole = page.width is None or cell_len(head.plain) <= page.width
    head.append("   ")
    head.append(f"[{words.name_of(finding)}]", style="cyan")
    if whole:
        page.groups(head, 4)
    else:
        page.prose(head, 4, full=True)
    run = words.run_of(report, finding)
    groups = [
        words.place_of(finding),
        words.process_of(report, finding),
        words.release_of(run),
        visible(run.model, words.NAME) if run and run.model else "",
        words.start_of(report, finding),
        words.seen_of(finding),
    ]
    if page.width is not None:
        groups = [middle_cut(group, page.width - _INDENT) for group in groups]
    place = Text("  ")
    place.append("-->", style="blue")
    place.append(" " + words.joined(groups, "   "))
    page.groups(place, _INDENT)


def _quote(page: Page, finding: Finding, options: Options) -> None:
    """The log line with its number; further ones with --context, and of a message that no record knows."""
    quoted, own = words.quoted_of(finding, options.context)
    number = str(finding.line if finding.evidence_line is None else finding.evidence_line)
    numbers = [number if at == own else "" for at in range(len(quoted))]
    if finding.record is None and len(quoted) == 1:
        # The rest of the raw error, which the title has only the first line of.
        rest = [line for line in finding.message.strip("\n").split("\n")[1:] if line.strip()]
        quoted += rest[:5] + [f"[... {len(rest) - 5} more lines]"] * (len(rest) > 5)
        numbers += [""] * (len(quoted) - 1)
    limit = _QUOTE if options.width is None else max(160, min(_QUOTE, 4 * options.width))
    for shown, line in zip(numbers, quoted, strict=True):
        page.quote(shown, excerpt(line.strip(), finding.message, limit), len(number))


def _source(page: Page, finding: Finding) -> None:
    """The installed source around the place, the line that raises marked."""
    lines = where.source_of(finding)
    if not lines:
        return
    _labelled(page, "source", where.source_title(finding))
    for number, mark, line in lines:
        page.verbatim(f"{' ' * _COLUMN}{mark} {number} | {line}", style="bold" if mark.strip() else "dim")


def _labelled(page: Page, label: str, text: str, style: str = "bold blue") -> None:
    line = Text()
    line.append(label.ljust(_COLUMN), style=style)
    line.append(text)
    page.prose(line, _COLUMN)


def _fix(number: int, fix: Fix, width: int | None, check: bool) -> Page:
    """A fix in full; each command alone in column 0, so that a triple click takes the whole of it."""
    page = Page(width)
    _fix_title(page, number, fix)
    changes = words.unsaid_changes(fix)
    if changes and not words.repeated(fix):
        page.prose(Text(" " * _COLUMN + changes), _COLUMN)
    for step in fix.steps:
        page.prose(Text(" " * _COLUMN + "- " + phrase(step, words.PROSE)), _COLUMN + 2)
    lacking = words.lacking_of(fix)
    if lacking:
        page.prose(Text(" " * _COLUMN + "missing: " + "; ".join(lacking)), _COLUMN)
    if fix.note:
        page.prose(Text(" " * _COLUMN + f"({flat(fix.note, words.PROSE)})"), _COLUMN)
    for command in words.runnable(fix):
        page.blank()
        for line in command.strip("\n").split("\n"):
            page.verbatim(line, style="bold green")
    if fix.verify and check:
        page.blank()
        _check(page, fix.verify, words.check_is_command(fix))
    if words.runnable(fix) or (fix.verify and check):
        page.blank()
    return page


def _check(page: Page, check: str, is_command: bool) -> None:
    """How to see that the fix worked, behind its label: column 0 and its colour are for what repairs."""
    label = " " * _COLUMN + "then check: "
    if is_command:
        page.verbatim(label + visible(check, words.COMMAND))
    else:
        page.prose(Text(label + phrase(check, words.PROSE)), _COLUMN)


def _brief(number: int, fix: Fix, width: int | None) -> Page:
    """A fix on one line, where there is no room for more."""
    page = Page(width)
    changes = words.unsaid_changes(fix)
    _fix_title(page, number, fix, f": {changes}" if changes else "")
    return page


def _fix_title(page: Page, number: int, fix: Fix, more: str = "") -> None:
    label = f"fix {number}".ljust(_COLUMN)
    title = phrase(fix.title, words.TITLE) + more
    tag = words.tag_of(fix)
    line = Text()
    line.append(label, style="bold green")
    line.append(title)
    page.prose(line, _COLUMN)
    last = page.lines[-1]
    if page.fits(last.plain, "  ", tag):
        last.append("  ")
        last.append(tag, style="cyan")
    else:
        page.prose(Text(" " * _COLUMN + tag, style="cyan"), _COLUMN + 1)


def _ending(finding: Finding, options: Options) -> Page:
    """Where to read more; for an error without a record, what comes near and how to report it."""
    page = Page(options.width)
    if finding.record is not None:
        _labelled(page, "more", f"vllm-triage explain {words.name_of(finding)}")
        return page
    for number, near in enumerate(finding.near[:3]):
        _labelled(page, "" if number else "near", flat(near, words.TITLE))
    _labelled(page, "report", trackers.report_of(finding))
    return page


def _others(page: Page, report: Report) -> None:
    """Consequences, warnings and harmless findings, a line each, with why they are that."""
    others = [each for each in report.findings if each.role != "root_cause"]
    if not others:
        return
    page.blank()
    for finding in others[:_OTHERS]:
        line = Text()
        line.append(f"{finding.role}: ", style="bold")
        line.append(f"{words.place_of(finding)}  {words.title_of(finding)}")
        if finding.record:
            line.append(f"  [{words.name_of(finding)}]", style="cyan")
        tail = words.joined([words.seen_of(finding), flat(finding.why or "", words.PROSE)])
        line.append(f"  ({tail})" if tail else "")
        page.prose(line, _COLUMN)
    if len(others) > _OTHERS:
        page.prose(Text(f"and {len(others) - _OTHERS} more (--format json lists them)"), _COLUMN)
    page.blank()


def _limits(page: Page, report: Report) -> None:
    for each in report.input.limits:
        _labelled(page, "limit", flat(each, words.TITLE), style="bold yellow")


def _files(page: Page, report: Report, options: Options) -> None:
    """A line for each of several inputs."""
    lines = words.files_of(report, len(report.input.files) if options.show_all else _FILES)
    if not lines:
        return
    page.blank()
    for number, line in enumerate(lines):
        _labelled(page, "" if number else "files", line)
    page.blank()
