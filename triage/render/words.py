"""The phrases that the readable formats share, as plain text made visible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from triage.model import Finding, Fix, Report, Role, Run, Scalar
from triage.render.visible import flat, is_plain, phrase, visible

TITLE = 240
NAME = 160
PROSE = 420
COMMAND = 32_000

UNRECOGNISED = "unrecognised"
"""Packages that errors in logs of vLLM come from, and the repositories that keep their issues."""

_SAFETY = {"safe": "safe", "changes_behaviour": "changes behaviour", "needs_judgement": "needs judgement"}
_PROSE_STARTS = frozenset(
    {"a", "all", "an", "check", "each", "every", "it", "look", "no", "one", "see", "the", "there"}
)
_HIDDEN_ROLES: tuple[Role, ...] = ("consequence", "warning", "harmless")


def plural(number: int, one: str, many: str | None = None) -> str:
    """``1 fix``, ``2 fixes``: the number with the noun that it asks for."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def name_of(finding: Finding) -> str:
    """The record's slug, or that there is none."""
    return visible(finding.record.slug, NAME) if finding.record else UNRECOGNISED


def title_of(finding: Finding) -> str:
    """What failed, on one line: the title with the user's numbers, or the message as emitted."""
    if finding.title:
        return phrase(finding.title, TITLE)
    if finding.record and finding.record.title and "{" not in finding.record.title:
        return phrase(finding.record.title, TITLE)
    return flat(raw_of(finding).split("\n", 1)[0], TITLE)


def raw_of(finding: Finding) -> str:
    """The message with its class in front, as Python prints an exception; not made visible."""
    message = finding.message.strip("\n")
    name = finding.exception_class
    if not name or message == name or message.startswith(f"{name}:"):
        return message
    return f"{name}: {message}" if message.strip() else name


def place_of(finding: Finding) -> str:
    """``stdin:87``: the source and line that the finding stands in."""
    return f"{visible(finding.source, NAME)}:{finding.line}"


def process_of(report: Report, finding: Finding) -> str:
    """Process, pid, rank and pod, as far as known; what compose runs is a service, and no pod."""
    run = run_of(report, finding)
    inside = "pod" if run is not None and run.deployment == "kubernetes" else "in"
    parts = [
        visible(finding.process, 60) if finding.process else None,
        None if finding.pid is None else f"pid {finding.pid}",
        None if finding.rank is None else f"rank {finding.rank}",
        f"{inside} {visible(finding.pod, NAME)}" if finding.pod else None,
    ]
    return " ".join(part for part in parts if part)


def run_of(report: Report, finding: Finding) -> Run | None:
    """The run that the finding belongs to, if the report has it."""
    if finding.run is not None and 0 <= finding.run < len(report.runs):
        return report.runs[finding.run]
    return report.runs[-1] if len(report.runs) == 1 else None


def release_of(run: Run | None) -> str:
    """``vLLM 0.33.0``, how it is known where it is not the log that says so, or how to say it where it is unknown."""
    if run is None or not run.vllm_version:
        return "vLLM release unknown (--vllm-version V)"
    how = {"inferred": " (inferred)", "given": " (as given)"}.get(run.version_basis or "", "")
    return f"vLLM {visible(run.vllm_version, 60)}{how}"


def start_of(report: Report, finding: Finding) -> str:
    """``start 4 of 4`` where the input shows more than one start of this vLLM: in one file, of one pod."""
    if finding.run is None or not 0 <= finding.run < len(report.runs):
        return ""
    own = report.runs[finding.run]
    starts = [at for at, run in enumerate(report.runs) if (run.source, run.pod) == (own.source, own.pod)]
    return f"start {starts.index(finding.run) + 1} of {len(starts)}" if len(starts) > 1 else ""


def seen_of(finding: Finding) -> str:
    """How often it was seen, and from when to when; empty for once.

    One failure is printed by several processes at one time; that is no news.
    """
    if finding.count < 2 or (finding.first_time and finding.first_time == finding.last_time):
        return ""
    span = [visible(time, 40) for time in (finding.first_time, finding.last_time) if time]
    return f"seen {finding.count} times" + (f" ({' to '.join(span)})" if span else "")


def why_of(finding: Finding) -> str:
    """What the failure means; for an error without a record, that no record knows it."""
    if finding.cause:
        return sentences(finding.cause)
    if finding.record is not None:
        return ""
    if finding.site is not None:
        return "no record explains this message, so no cause is named; only its place in the sources is known"
    return "no record knows this message, so no cause is named"


def sentences(text: str, limit: int = PROSE) -> str:
    """Prose bounded at a full stop rather than in a word, where there is one to cut at."""
    line = flat(text, limit * 3)
    if len(line) <= limit:
        return line
    stop = line.rfind(". ", 0, limit)
    return line[: stop + 1] if stop > limit // 3 else phrase(text, limit)


def notes_of(finding: Finding) -> list[str]:
    """What else a reader must know before acting: how sure it is, what still runs, whose fault it is."""
    notes = []
    if finding.confidence == "similar":
        notes.append("a guess: the log's message is like this record's, not the same")
    elif finding.confidence == "truncated":
        notes.append("the message is cut short in the log; what is left of it fits this record")
    if finding.scope == "request":
        notes.append("a request was rejected; the server itself did not fail")
    elif finding.scope == "client":
        notes.append("the client failed; the server itself may be well")
    if finding.owner == "vllm":
        notes.append("a fault of vLLM itself, not of your settings")
    if finding.restart_helps is False:
        notes.append("a restart without a change fails the same way")
    elif finding.restart_helps is True:
        notes.append("a restart may be enough")
    return notes


def label_of(finding: Finding) -> str:
    """``error``, or ``error (guess)`` where the match is not certain."""
    label = visible(finding.severity, 20) if finding.severity else "error"
    return f"{label} (guess)" if finding.confidence == "similar" and finding.record else label


def quoted_of(finding: Finding, context: int) -> tuple[list[str], int]:
    """The input lines to quote, and which of them has the number ``evidence_line``.

    Args:
        finding: its evidence holds the message, over several lines where it was wrapped, with the
            lines around it when they were asked for.
        context: lines on each side that were asked for.
    """
    if finding.evidence_before is not None:
        start = max(0, finding.evidence_before - context)
        most = len(finding.evidence) - 2 * max(0, finding.evidence_before - context)
        return list(finding.evidence[start : start + most]), finding.evidence_before - start
    most = 6 if finding.record is None else 3
    quoted = list(finding.evidence[: most + 2 * context]) or [finding.message.split("\n", 1)[0]]
    return quoted, _own_line(quoted, finding.message, context) if context else 0


def _own_line(quoted: list[str], message: str, context: int) -> int:
    """Which of the quoted lines the message begins in: as many lines as asked for stand before it, or fewer."""
    start = "".join(message.split())[:20]
    folded = ["".join(line.split()) for line in quoted[: context + 1]] if start else []
    # A traceback shows the code that raises the message too, with the message in quotes; an error may relay it so.
    said = [at for at, line in enumerate(folded) if start in line]
    bare = [at for at in said if folded[at].partition(start)[0][-1:] not in ("'", '"')]
    if said:
        return bare[0] if bare else said[-1]
    # A terminal may have wrapped the line right behind where the message begins.
    ends = (at for at, line in enumerate(folded) if any(line.endswith(start[:size]) for size in range(8, len(start))))
    return next(ends, 0)


def value_of(value: Scalar) -> str:
    """A flag's value as it is typed."""
    return "" if value is None or value is True else visible(str(value), NAME)


def changes_of(fix: Fix) -> list[str]:
    """What the fix changes, a phrase each: ``--max-num-seqs 64``, ``drop --x``, ``VLLM_Y=1``.

    A variable that is set to itself (``HF_TOKEN=$HF_TOKEN``, its value kept out of the report) is no change.
    """
    changes = [f"{visible(flag, 80)} {value_of(value)}".rstrip() for flag, value in fix.set.items()]
    changes += [f"drop {visible(flag, 80)}" for flag in fix.unset]
    for name, value in fix.env.items():
        if value is not None and str(value).strip("\"'") in (f"${name}", f"${{{name}}}"):
            continue
        shown = visible(name, 80)
        changes.append(f"unset {shown}" if value is None else f"{shown}={visible(str(value), NAME)}")
    return changes


def unsaid_changes(fix: Fix) -> str:
    """The changes that the title does not name already; pods keep arguments in YAML, so flags are named."""
    words = fix.title.replace(":", " ").replace(",", " ").replace("=", " ").split()
    changes = changes_of(fix)
    said = all(word in words for change in changes for word in change.replace("=", " ").split() if word != "drop")
    return "" if said else ", ".join(changes)


def repeated(fix: Fix) -> bool:
    """Whether the command is the bare change, so that naming it above the command would say it twice."""
    return any(command.split() == " ".join(changes_of(fix)).split() for command in runnable(fix))


def check_is_command(fix: Fix) -> bool:
    """Whether what verifies the fix is to be run, not something to look for ("the log reaches `...`")."""
    check = fix.verify or ""
    return bool(check) and "`" not in check and check.split(" ", 1)[0].lower() not in _PROSE_STARTS


def tag_of(fix: Fix) -> str:
    """``[changes behaviour: slower prefill]``: how safe the fix is, and at what price."""
    tag = _SAFETY.get(fix.safety, fix.safety)
    if fix.estimate:
        tag += ", estimate"
    if fix.tradeoff:
        tag += f": {phrase(fix.tradeoff, NAME)}"
    return f"[{tag}]"


def runnable(fix: Fix) -> tuple[str, ...]:
    """The commands that can be shown and pasted: none that a terminal would act on while printing it."""
    return tuple(command for command in fix.commands if _pasteable(command))


def _pasteable(command: str) -> bool:
    return bool(command.strip()) and len(command) <= COMMAND and all(map(is_plain, command.split("\n")))


def lacking_of(fix: Fix) -> list[str]:
    """What keeps the fix from being printed whole."""
    lacking = [flat(each, NAME) for each in fix.missing]
    withheld = len(fix.commands) - len(runnable(fix))
    if withheld:
        lacking.append(plural(withheld, "command") + " withheld, holding characters that a terminal would act on")
    return lacking


def tally(report: Report) -> str:
    """The last line: what was found, and what is not shown."""
    roots = [each for each in report.findings if each.role == "root_cause"]
    known = [each for each in roots if each.record is not None]
    shown = {role: sum(each.role == role for each in report.findings) for role in _HIDDEN_ROLES}
    parts = []
    if report.status == "insufficient_evidence":
        parts.append("no root cause named")
    elif known:
        parts.append(plural(len(known), "root cause"))
        parts.append(plural(sum(len(each.fixes) for each in known), "fix", "fixes").replace("0 fixes", "no fix"))
    if len(roots) > len(known) and report.status != "insufficient_evidence":
        parts.append(plural(len(roots) - len(known), "error") + " that no record knows")
    sections = [", ".join(parts)]
    if any(shown.values()):
        sections.append(_others(shown, len(roots)))
    if any(report.hidden.get(role) for role in _HIDDEN_ROLES):
        sections.append(_hidden(report.hidden, len(roots)))
    if any(report.redacted.values()):
        sections.append("taken out: " + counts(report.redacted))
    return joined(sections)


def healthy(report: Report) -> str:
    """``no failure found in 120 lines``, and what a healthy log still shows with ``--all``."""
    line = f"no failure found in {plural(report.input.lines, 'line')}"
    if len(report.input.sources) > 1:
        line += f" of {plural(len(report.input.sources), 'source')}"
    if any(report.hidden.values()):
        line += f"; {_hidden(report.hidden, 0)}"
    return line


def files_of(report: Report, most: int) -> list[str]:
    """A line for each source where there are several, those with findings first: what was found in it.

    Args:
        report: what was found.
        most: lines at most; the last one counts the rest.
    """
    files = sorted(report.input.files, key=lambda each: not (each.causes or each.unknown))
    lines = []
    for each in files[: most if len(files) <= most else most - 1]:
        found = [", ".join(visible(slug, NAME) for slug in each.causes)]
        found.append(plural(each.unknown, "error") + " that no record knows" if each.unknown else "")
        found.append(plural(each.others, "other message") if each.others else "")
        said = joined(found) or "nothing found"
        lines.append(f"{visible(each.name, NAME)}: {plural(each.lines, 'line')}, {said}")
    if len(files) > most:
        lines.append(f"and {len(files) - most + 1} more (--format json lists them)")
    return lines


def insufficient(report: Report) -> str:
    """What an input without enough evidence is, on one line."""
    if not report.input.lines:
        return "not enough evidence: the input is empty"
    if report.findings or report.hidden.get("consequence"):
        return "not enough evidence: something failed, and the input does not show why"
    return f"not enough evidence: {plural(report.input.lines, 'line')} read, and no line shows what went wrong"


def counts(numbers: Mapping[str, int]) -> str:
    """``1 token, 2 prompts``: kinds are plural nouns; one of a kind loses its s."""
    named = ((visible(kind, 40), number) for kind, number in sorted(numbers.items()) if number)
    return ", ".join(f"{number} {_singular(kind) if number == 1 else kind}" for kind, number in named)


def _singular(kind: str) -> str:
    return kind[:-2] if kind.endswith("sses") else kind.removesuffix("s")


def _hidden(numbers: Mapping[Role, int], roots: int) -> str:
    total = sum(numbers.get(role, 0) for role in _HIDDEN_ROLES)
    return f"{_others(numbers, roots)} (--all shows {'it' if total == 1 else 'them'})"


def _others(numbers: Mapping[Role, int], roots: int) -> str:
    """``3 other errors follow from it, 2 warnings``."""
    follow = numbers.get("consequence", 0)
    parts = []
    if follow and roots:
        verb = "follows" if follow == 1 else "follow"
        parts.append(f"{plural(follow, 'other error')} {verb} from {'it' if roots == 1 else 'them'}")
    elif follow:
        parts.append(f"{plural(follow, 'error')} without {'its' if follow == 1 else 'their'} cause")
    if numbers.get("warning"):
        parts.append(plural(numbers["warning"], "warning"))
    if numbers.get("harmless"):
        parts.append(plural(numbers["harmless"], "harmless message"))
    return ", ".join(parts)


def joined(parts: Iterable[str], by: str = "; ") -> str:
    """The parts that say something, joined."""
    return by.join(part for part in parts if part)
