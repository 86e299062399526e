"""The report as one HTML file: nothing outside of it is loaded, nothing in it runs; for a browser, a phone, paper.

Everything foreign is escaped and made visible first. A click selects the whole of a command.
"""

from __future__ import annotations

import re
from html import escape

from triage.model import Finding, Fix, Report
from triage.render import trackers, where, words
from triage.render.options import Options
from triage.render.visible import excerpt, flat, phrase, visible

_QUOTE = 2000
_OTHERS = 200
_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_URL = re.compile(r"https://[A-Za-z0-9.-]+/[A-Za-z0-9._~/#%+=&?-]*")

# No scripts, no images, no fonts, no requests: what a log says could not load or send anything even unescaped.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_STYLE = """\
:root { color-scheme: light dark; --text: #1c1e21; --back: #fff; --soft: #57606a; --box: #f3f4f6; --line: #d0d7de;
  --bad: #b3261e; --good: #1a6f37; --link: #0a58ca }
@media (prefers-color-scheme: dark) {
  :root { --text: #e4e6eb; --back: #16181c; --soft: #9aa4af; --box: #22262c; --line: #3a414a;
    --bad: #ff8a80; --good: #7ddc9a; --link: #79b8ff } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
  color: var(--text); background: var(--back); overflow-wrap: anywhere }
h1, h2 { font-size: 1.25rem; line-height: 1.3; margin: 1.5rem 0 .5rem }
h2 .label { color: var(--bad) } h3 { font-size: 1rem; margin: 1.25rem 0 .25rem } h3 .label { color: var(--good) }
.soft, .tag { color: var(--soft) } .tag { font-weight: normal } a { color: var(--link) }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: .5rem 0 }
dt { color: var(--soft) } dd { margin: 0 }
code, pre { font: .875rem/1.45 ui-monospace, monospace }
pre { background: var(--box); border: 1px solid var(--line); border-radius: .375rem; padding: .6rem .8rem;
  margin: .5rem 0; white-space: pre-wrap; overflow-wrap: anywhere }
pre.command { border-left: .25rem solid var(--good); user-select: all; cursor: copy }
pre .number { color: var(--soft); user-select: none }
footer { margin-top: 2rem; border-top: 1px solid var(--line); padding-top: .5rem }
@media (max-width: 35rem) { dl { grid-template-columns: 1fr } dd { margin-bottom: .35rem } }
@media print { body { max-width: none; padding: 0; color: #000; background: #fff; font-size: 10pt }
  section { break-inside: avoid-page } pre { background: none } .screen { display: none } }"""


def render_html(report: Report, options: Options) -> str:
    """The report as an HTML document with all findings that the report holds.

    Args:
        report: what was found, with private data taken out by the caller.
        options: context, the lines to quote around the one that says it.
    """
    roots = [each for each in report.findings if each.role == "root_cause"]
    others = [each for each in report.findings if each.role != "root_cause"]
    headline = _headline(report, roots)
    body: list[str] = []
    if report.status in ("healthy", "insufficient_evidence"):
        body.append(f"<h1>{escape(headline)}</h1>")
    for finding in roots:
        body += _cause(report, finding, options.context)
    body += _listed("What would show more", [_prose(phrase(each, words.PROSE)) for each in report.missing])
    body += _listed("Other findings", [_other(each) for each in others[:_OTHERS]])
    if len(others) > _OTHERS:
        body.append(f"<p>and {len(others) - _OTHERS} more (the JSON report lists them)</p>")
    body += _listed("Files", [escape(line) for line in words.files_of(report, 500)])
    body += _listed("Limits", [escape(flat(each, words.TITLE)) for each in report.input.limits])
    if report.status != "healthy":
        body.append(f'<footer class="soft">{escape(words.tally(report))}</footer>')
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>vllm-triage: {escape(headline)}</title>",
            f"<style>\n{_STYLE}\n</style>",
            "</head>",
            "<body>",
            "<main>",
            *body,
            "</main>",
            "</body>",
            "</html>\n",
        ]
    )


def _headline(report: Report, roots: list[Finding]) -> str:
    if report.status == "healthy":
        return words.healthy(report)
    if report.status == "insufficient_evidence" or not roots:
        return words.insufficient(report)
    return words.title_of(roots[0])


def _cause(report: Report, finding: Finding, context: int) -> list[str]:
    label, title = escape(words.label_of(finding)), escape(words.title_of(finding))
    out = ["<section>", f'<h2><span class="label">{label}:</span> {title}</h2>', "<dl>"]
    out += [f"<dt>{name}</dt><dd>{shown}</dd>" for name, shown in _facts(report, finding) if shown]
    out += ["</dl>", _quoted(finding, context)]
    report_to = "" if finding.record is not None else trackers.report_of(finding)
    notes = words.joined(words.notes_of(finding))
    for name, text in (("Why", words.why_of(finding)), ("Note", notes), ("Report", report_to)):
        if text:
            out.append(f"<p><strong>{name}:</strong> {_prose(text)}</p>")
    if source := where.source_of(finding):
        lines = "\n".join(escape(f"{mark} {number} | {line}") for number, mark, line in source)
        out += [f"<p><strong>Source:</strong> {escape(where.source_title(finding))}</p>", f"<pre>{lines}</pre>"]
    out.append("</section>")
    for number, fix in enumerate(finding.fixes, 1):
        out += ["<section>", *_fix(number, fix), "</section>"]
    if any(map(words.runnable, finding.fixes)):
        out.append('<p class="soft screen">A click selects a whole command.</p>')
    return out


def _facts(report: Report, finding: Finding) -> list[tuple[str, str]]:
    run = words.run_of(report, finding)
    seen = words.joined([words.start_of(report, finding), words.seen_of(finding)], ", ")
    behind = words.joined([words.process_of(report, finding), seen], ", ")
    return [
        ("Record", _code(words.name_of(finding)) if finding.record else "none knows this message"),
        ("Log", _code(words.place_of(finding)) + (f", {escape(behind)}" if behind else "")),
        ("vLLM", escape(words.release_of(run).removeprefix("vLLM "))),
        ("Model", _code(visible(run.model, words.NAME)) if run and run.model else ""),
        ("Where", _where(finding)),
        ("Near", ", ".join(_code(flat(each, words.NAME)) for each in finding.near[:3])),
    ]


def _where(finding: Finding) -> str:
    place, text = finding.location, where.where_of(finding)
    if place is None:
        return escape(text)
    spot = where.at(place.file, place.line, None)
    shown = _code(spot)
    if place.url and _URL.fullmatch(place.url):
        shown = f'<a href="{escape(place.url)}" rel="noreferrer">{shown}</a>'
    return shown + escape(text.removeprefix(spot))


def _quoted(finding: Finding, context: int) -> str:
    """The log lines, the message's own with its number; of a message that no record knows, the rest of it too."""
    number = str(finding.line if finding.evidence_line is None else finding.evidence_line)
    quoted, own = words.quoted_of(finding, context)
    if finding.record is None and len(quoted) == 1:
        quoted += [line for line in finding.message.strip("\n").split("\n")[1:] if line.strip()][:20]
    lines = []
    for at, line in enumerate(quoted):
        gutter = number if at == own else " " * len(number)
        text = escape(excerpt(line.strip(), finding.message, _QUOTE))
        lines.append(f'<span class="number">{gutter} | </span>{text}')
    return "<pre>" + "\n".join(lines) + "</pre>"


def _fix(number: int, fix: Fix) -> list[str]:
    tag = f'<span class="tag">{escape(words.tag_of(fix))}</span>'
    label = f'<span class="label">Fix {number}:</span>'
    out = [f"<h3>{label} {_prose(phrase(fix.title, words.TITLE))} {tag}</h3>"]
    changes = words.unsaid_changes(fix)
    if changes and not words.repeated(fix):
        out.append(f"<p>{_code(changes)}</p>")
    if fix.steps:
        out += ["<ul>", *(f"<li>{_prose(phrase(step, words.PROSE))}</li>" for step in fix.steps), "</ul>"]
    if lacking := words.lacking_of(fix):
        out.append(f"<p>Missing: {escape('; '.join(lacking))}</p>")
    newline = "\n"
    out += [f'<pre class="command">{escape(command.strip(newline))}</pre>' for command in words.runnable(fix)]
    if fix.note:
        out.append(f'<p class="soft">({_prose(phrase(fix.note, words.PROSE))})</p>')
    if fix.verify:
        run = words.check_is_command(fix)
        check = _code(visible(fix.verify, words.COMMAND)) if run else _prose(phrase(fix.verify, words.PROSE))
        out.append(f"<p>Then check: {check}</p>")
    return out


def _other(finding: Finding) -> str:
    why = f" ({escape(flat(finding.why, words.TITLE))})" if finding.why else ""
    return f"{finding.role} at {_code(words.place_of(finding))}, {escape(words.title_of(finding))}{why}"


def _listed(title: str, items: list[str]) -> list[str]:
    """A heading and a list; nothing where the list is empty. The items are HTML."""
    return [f"<h2>{title}</h2>", "<ul>", *(f"<li>{item}</li>" for item in items), "</ul>"] if items else []


def _prose(text: str) -> str:
    """Prose made visible already; what stands between backticks is code."""
    parts = _CODE.split(text)
    return "".join(_code(part) if at % 2 else escape(part) for at, part in enumerate(parts))


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
