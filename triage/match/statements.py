"""What an event says: each exception of its chain, its headline, its loose text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import regex

from triage.match.quoted import bodies
from triage.model import Event, Raised, Statement

# What a dying process prints around its message: the C++ runtime, Rust, and Rust before 1.73.
_CRASHES = (
    regex.compile(
        r"terminate called after throwing an instance of '(?P<class>[^'\n]{1,200})'\s+what\(\): +(?P<message>.+)",
        regex.DOTALL,
    ),
    regex.compile(r"thread '[^'\n]*' (?:\(\d+\) )?panicked at '(?P<message>.+)', \S+:\d+:\d+$", regex.DOTALL),
    regex.compile(r"thread '[^'\n]*' (?:\(\d+\) )?panicked at \S+:\d+:\d+:\n(?P<message>.+)", regex.DOTALL),
)

# The traceback's first words on a log message's own line, and an exception's repr printed before its traceback.
_REPR = regex.compile(
    r"^(?P<class>[A-Za-z_]\w*(?:Error|Exception))\((?P<quote>['\"])(?P<message>.*)(?P=quote)\)?,?\)?$", regex.DOTALL
)


# Lines of loose text that quote a message rather than say it: source code, listings of sources, shell commands, tests.
_QUOTES = regex.compile(
    r"\braise \w+\("
    r"|^\s*[\w./-]+\.(?:py|md|rst|txt|yaml):\d+[:-](?! [\w<>:]+: block: \[)"  # a kernel's check begins like grep's
    r"|^\s*(?:[-+]{1,3} ?[ab]?/|echo |print\(|logger\.|curl |git |grep |rg )"
    r"|^[\w.@~:/\\ -]*[$#>] *(?:echo|printf|git|grep|rg|curl|cat) "
    r"|::test_\w+|^[0-9a-f]{7,40} "
)


# An error that a warning gives as an example of what may come; the paste may have broken its lines anywhere in it.
_EXAMPLE = regex.compile(r"\b(?:errors?|exceptions?)\s+(?:like|such\s+as)\s+`[^`]{1,300}`")


def statements(event: Event) -> Iterator[Statement]:
    """Give what an event says, the innermost exception first, its headline last.

    A headline that only repeats one of the exceptions (``ValueError('...')`` before its own traceback) is
    left out: it would count as a second failure.
    """
    answered = tuple(map(_answered, event.raised))
    if answered != event.raised:  # else all that is said of the event stays with the event itself
        event = replace(event, raised=answered)
    for index, raised in enumerate(event.raised):
        yield Statement(event, raised.message, raised.class_name, index, raised.records or event.records[:1])
    headline = event.headline.strip()
    if event.kind == "text":
        headline = _EXAMPLE.sub("", event.headline)
        headline = "\n".join("" if _QUOTES.search(line[:500]) else line for line in headline.split("\n")).strip("\n")
    if not headline:
        return
    class_name = None
    for crash in _CRASHES if event.kind == "text" else ():
        if (found := crash.match(headline)) is not None:
            yield Statement(event, found["message"].strip(), found.groupdict().get("class"), None, event.records)
            return
    if (body := next(bodies(headline), None)) is not None:
        if not any(_says(raised.message, body.message) for raised in event.raised):
            yield Statement(event, body.message, body.kind or "APIError", None, event.records)
        return
    if (found := _REPR.match(headline)) is not None:
        class_name, headline = found["class"], found["message"].replace("\\n", "\n").replace("\\'", "'")
    if event.raised and any(_says(raised.message, headline) for raised in event.raised):
        return
    yield Statement(event, headline, class_name, None, event.records)


def _answered(raised: Raised) -> Raised:
    """A client's exception that shows the server's answer as that answer; where the client noticed it says nothing."""
    body = next(bodies(raised.message), None)
    if body is None:
        return raised
    return replace(raised, class_name=body.kind or raised.class_name, message=body.message, frames=())


def _says(message: str, headline: str) -> bool:
    first = message.split("\n", 1)[0].strip()
    return len(first) >= 3 and (first in headline or headline[:200] in message)


# What begins or holds an error where no logger says so: tools around vLLM, C++ checks, native crashes.
_MARK = regex.compile(
    r"^(?:[\w./-]{1,40}: )?(?i:fatal |internal )?(?i:error)\b ?[:\[]|^ERRO\[|requirement error:|NCCL WARN"
    r"|Segfault encountered|^\*{3} (?:SIG(?:SEGV|ABRT|BUS|FPE|ILL) received|Aborted) at"
    r"|^thread '.{0,200}' (?:\(\d+\) )?panicked at |^terminate called |^Fatal Python error"
    r"|^(?:Segmentation fault|Illegal instruction|Bus error|Aborted \(core)"
    r"|Assertion [`'].{1,400} failed|\bCUDA error:"
    r"|Out of memory: Killed process|Memory access fault by GPU|probe, will be restarted|Reason: +OOMKilled"
    r"|OCI runtime create failed|^docker: Error|^panic: |Check failed:"
)

_WARNED = regex.compile(r"\S+\.py:\d+: \w+Warning: \S")

# abseil's and Ray's signal handlers report a signal to stop like a crash, at level ERROR too.
_STOPPED = regex.compile(r"\*{3} SIG(?:TERM|INT|HUP) received at")


def is_error(statement: Statement) -> bool:
    """Whether a statement that no record knows speaks of a failure: raised, logged as an error, or marked as one."""
    event = statement.event
    if statement.index is not None or event.kind == "usage":
        return event.first.level != "DEBUG"
    if _STOPPED.match(statement.text):
        return False
    level = statement.records[0].level if statement.records else None
    if level in ("ERROR", "CRITICAL"):
        return True
    if level is not None:
        return False
    if statement.class_name is not None:
        return True  # a quoted error
    return event.kind == "text" and any(_MARK.search(line[:1000]) for line in event.headline.split("\n"))


def warned(event: Event) -> Statement | None:
    """What Python's ``warnings`` printed in loose text: ``/x/a.py:12: UserWarning: ...``; None where nothing."""
    if event.kind != "text" or _WARNED.match(event.headline) is None:
        return None
    return Statement(event, event.headline, None, None, event.records)


def is_warning(statement: Statement) -> bool:
    """Whether a statement is a logger's warning."""
    return statement.index is None and bool(statement.records) and statement.records[0].level == "WARNING"


def message_of(statement: Statement) -> str:
    """The message of a statement that no record knows: its first paragraph, for loose text the line with the mark."""
    if statement.event.kind == "text" and statement.class_name is None:
        marked = (line for line in statement.text.split("\n") if _MARK.search(line[:1000]))
        return next(marked, statement.text.split("\n", 1)[0]).strip()
    message = statement.text.strip().split("\n\n", 1)[0].strip()
    if message or statement.index is None:
        return message
    frames = statement.event.raised[statement.index].frames  # cut before its exception line: where it was
    return statement.event.headline or (f"{frames[-1].file}:{frames[-1].line}" if frames else "")
