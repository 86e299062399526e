"""The report as Markdown, to attach to a failed job, an issue or a chat message.

Log text is foreign: outside code it is escaped, and mentions, references and links are taken apart,
so that a log line can neither call a person nor lead a reader anywhere.
"""

from __future__ import annotations

import re

from triage.model import Finding, Fix, Report
from triage.render import where, words
from triage.render.options import Options
from triage.render.visible import excerpt, flat, phrase, visible

_MOST_LINES = 80
_QUOTE = 320
# How many causes in full, and how many fixes of each in full: the first plan that fits is taken.
_PLANS = ((3, 99), (3, 3), (3, 2), (2, 99), (2, 2), (1, 99), (3, 1), (2, 1), (1, 3), (1, 2), (1, 1))

# A zero-width blank behind these keeps Markdown and the sites that show it from making a link, a
# mention or an emoji of them. Entities alone would not: sites look for mentions in the finished page.
_LINKS = re.compile(
    r"[@#](?=\w)|:(?=//|[A-Za-z_+-][\w+-]*:)|(?<![A-Za-z0-9])(?:www|WWW)(?=\.)|(?<![A-Za-z0-9])GH(?=-\d)"
)
# What Markdown reads anywhere in a line (an underscore inside a word means nothing to it, and a bar only above a line
# of dashes, which no text of ours is), and what it reads only where a block begins.
_SPECIAL = re.compile(r"[\\`*{}\[\]~$]|(?<!\w)_|_(?!\w)")
_OPENING = re.compile(r"( *\d{0,9})([#+.)=-])(?=[\s#=-]*(?:\s|$))")
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_URL = re.compile(r"https://[A-Za-z0-9.-]+/[A-Za-z0-9._~/#%+=&?-]*")


def escaped(text: str) -> str:
    """Foreign text as Markdown that shows it and does nothing else.

    Args:
        text: one line, made visible already.
    """
    parts: list[str] = []
    opening = _OPENING.match(text)
    at = 0
    if opening:
        parts.append(f"{opening[1]}\\{opening[2]}")
        at = opening.end()
    for match in _LINKS.finditer(text):
        if match.start() >= at:
            parts += [_quiet(text, at, match.end()), "&#8203;"]
            at = match.end()
        elif match.end() == at:
            parts.append("&#8203;")
    parts.append(_quiet(text, at, len(text)))
    return "".join(parts)


def _quiet(text: str, start: int, end: int) -> str:
    out = []
    for at in range(start, end):
        char = text[at]
        out.append(_ENTITIES.get(char) or ("\\" + char if _SPECIAL.match(text, at) else char))
    return "".join(out)


def prose(text: str) -> str:
    """Foreign prose as Markdown; what stands between backticks in it is code there too.

    Args:
        text: one line, made visible already.
    """
    parts = _CODE.split(text)
    return "".join(code(part) if at % 2 else escaped(part) for at, part in enumerate(parts) if part)


def code(text: str) -> str:
    """Foreign text as inline code, whatever backticks it holds.

    Args:
        text: one line, made visible already.
    """
    ticks = "`" * (_longest_run(text) + 1)
    pad = " " if text[:1] in ("`", " ") or text[-1:] in ("`", " ") else ""
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def fenced(lines: list[str], language: str) -> list[str]:
    """Lines of foreign text in a fence longer than any run of backticks in them."""
    fence = "`" * max(3, _longest_run("\n".join(lines)) + 1)
    return [fence + language, *lines, fence]


def _longest_run(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def language_of(command: str) -> str:
    """The name of the language that a command is in, for its fence."""
    first = command.lstrip().split("\n", 1)[0]
    if re.match(r"- |[\w.-]+:(\s|$)", first):
        return "yaml"
    if re.match(r"(from|import) \w|\w+ = \w|LLM\(", first):
        return "python"
    return "sh"


def render_markdown(report: Report, options: Options) -> str:
    """The report as Markdown, at most 80 lines unless a command alone is longer.

    Args:
        report: what was found, with private data taken out by the caller.
        options: show_all for every cause and fix in full, without the bound; context.
    """
    if options.show_all:
        lines = _page(report, len(report.findings), 10_000, options.context)
    else:
        for causes, fixes in _PLANS:
            lines = _page(report, causes, fixes, options.context)
            if len(lines) <= _MOST_LINES:
                break
    return "\n".join(lines) + "\n"


def _page(report: Report, causes: int, fixes: int, context: int) -> list[str]:
    roots = [each for each in report.findings if each.role == "root_cause"]
    others = [each for each in report.findings if each.role != "root_cause"]
    lines: list[str] = []
    if report.status == "healthy":
        lines = [f"## {_first_up(words.healthy(report))}"]
    elif report.status == "insufficient_evidence":
        lines = [f"## {_first_up(words.insufficient(report))}"]
    for finding in roots[:causes]:
        lines += ["", *_cause(report, finding, fixes, context)] if lines else _cause(report, finding, fixes, context)
    if roots[causes:]:
        lines += ["", "**Further root causes**", "", *_listed(roots[causes:], 10)]
    if report.missing:
        lines += ["", "**What would show more**", ""]
        lines += [f"- {prose(phrase(each, words.PROSE))}" for each in report.missing[:6]]
    if others:
        lines += ["", "**Other findings**", "", *_listed(others, 20 if causes > 3 else 8)]
    if files := words.files_of(report, 500 if causes > 3 else 12):
        lines += ["", "**Files**", "", *(f"- {escaped(line)}" for line in files)]
    if report.input.limits:
        lines += ["", *(f"- Limit: {escaped(flat(each, words.TITLE))}" for each in report.input.limits[:4])]
    if report.status != "healthy":
        lines += ["", escaped(words.tally(report))]
    return lines


def _cause(report: Report, finding: Finding, fixes: int, context: int) -> list[str]:
    lines = [f"## {escaped(words.label_of(finding))}: {escaped(words.title_of(finding))}", ""]
    lines += [f"- **{label}:** {text}" for label, text in _facts(report, finding) if text]
    lines += ["", *fenced(_quoted(finding, context), "text")]
    why = words.why_of(finding)
    if why:
        lines += ["", f"**Why:** {prose(why)}"]
    notes = words.joined(words.notes_of(finding))
    if notes:
        lines += ["", f"**Note:** {prose(notes)}"]
    if source := where.source_of(finding):
        shown = [f"{mark} {number} | {line}" for number, mark, line in source]
        lines += ["", f"**Source:** {escaped(where.source_title(finding))}", "", *fenced(shown, "text")]
    for number, fix in enumerate(finding.fixes[:fixes], 1):
        lines += ["", *_fix(number, fix)]
    rest = finding.fixes[fixes:]
    if rest:
        lines.append("")
        lines += [f"{_fix_title(number, fix)}  " for number, fix in enumerate(rest[:6], fixes + 1)]
        lines.append(f"({code('vllm-triage --all')} shows {'it' if len(rest) == 1 else 'them'} in full)")
    return lines


def _facts(report: Report, finding: Finding) -> list[tuple[str, str]]:
    run = words.run_of(report, finding)
    seen = words.joined([words.start_of(report, finding), words.seen_of(finding)], ", ")
    process = words.process_of(report, finding)
    log = code(words.place_of(finding)) + (f", {escaped(process)}" if process else "")
    return [
        ("Record", code(words.name_of(finding)) if finding.record else "none knows this message"),
        ("Log", log + (f", {escaped(seen)}" if seen else "")),
        ("vLLM", escaped(words.release_of(run).removeprefix("vLLM "))),
        ("Model", code(visible(run.model, words.NAME)) if run and run.model else ""),
        ("Where", _where(finding)),
        ("Near", ", ".join(code(flat(each, words.NAME)) for each in finding.near[:3])),
    ]


def _where(finding: Finding) -> str:
    place = finding.location
    text = where.where_of(finding)
    if place is None:
        return escaped(text)
    spot = where.at(place.file, place.line, None)
    shown = code(spot)
    if place.url and _URL.fullmatch(place.url):
        shown = f"[{shown}]({place.url})"
    return shown + escaped(text.removeprefix(spot))


def _quoted(finding: Finding, context: int) -> list[str]:
    """The log line with its number; of a message that no record knows, the rest of it too."""
    number = str(finding.line if finding.evidence_line is None else finding.evidence_line)
    quoted, own = words.quoted_of(finding, min(context, 5))
    if finding.record is None and len(quoted) == 1:
        quoted += [line for line in finding.message.strip("\n").split("\n")[1:] if line.strip()][:5]
    shown = [excerpt(line.strip(), finding.message, _QUOTE) for line in quoted]
    return [f"{number if at == own else ' ' * len(number)} | {line}" for at, line in enumerate(shown)]


def _fix_title(number: int, fix: Fix, *, named: bool = True) -> str:
    changes = words.unsaid_changes(fix)
    tag = words.tag_of(fix)[1:-1]
    title = f"**Fix {number}: {prose(phrase(fix.title, words.TITLE))}**"
    return title + (f" {code(changes)}" if changes and named else "") + f" ({prose(tag)})"


def _fix(number: int, fix: Fix) -> list[str]:
    lines = [_fix_title(number, fix, named=not words.repeated(fix))]
    if fix.steps:
        lines += ["", *(f"- {prose(phrase(step, words.PROSE))}" for step in fix.steps[:8])]
    lacking = words.lacking_of(fix)
    if lacking:
        lines += ["", f"Missing: {escaped('; '.join(lacking))}"]
    for command in words.runnable(fix):
        body = command.strip("\n")
        lines += ["", *fenced(body.split("\n"), language_of(body))]
    if fix.note:
        lines += ["", f"({prose(phrase(fix.note, words.PROSE))})"]
    if fix.verify:
        run = words.check_is_command(fix)
        check = code(visible(fix.verify, words.COMMAND)) if run else prose(phrase(fix.verify, words.PROSE))
        lines += ["", f"Then check: {check}"]
    return lines


def _listed(findings: list[Finding], most: int) -> list[str]:
    lines = []
    for finding in findings[:most]:
        label = "" if finding.role == "root_cause" else f"{finding.role} at "
        why = f" ({escaped(flat(finding.why, words.TITLE))})" if finding.why else ""
        lines.append(f"- {label}{code(words.place_of(finding))}, {escaped(words.title_of(finding))}{why}")
    if len(findings) > most:
        lines.append(f"- and {len(findings) - most} more")
    return lines


def _first_up(text: str) -> str:
    return escaped(text[:1].upper() + text[1:])
