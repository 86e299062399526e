"""What an event says: each exception of its chain, its headline, its loose text."""

from __future__ import annotations

from collections.abc import Iterator

import regex

from triage.model import Event, Statement

# The traceback's first words on a log message's own line, and an exception's repr printed before its traceback.
_REPR = regex.compile(
    r"^(?P<class>[A-Za-z_]\w*(?:Error|Exception))\((?P<quote>['\"])(?P<message>.*)(?P=quote)\)?,?\)?$", regex.DOTALL
)


# Lines of loose text that quote a message rather than say it: source code, listings of sources, shell commands, tests.
_QUOTES = regex.compile(
    r"\braise \w+\("
    r"|^\s*[\w./-]+\.(?:py|md|rst|txt|yaml):\d+[:-]"
    r"|^\s*(?:[-+]{1,3} ?[ab]?/|echo |print\(|logger\.|curl |git |grep |rg )"
    r"|^[\w.@~:/\\ -]*[$#>] *(?:echo|printf|git|grep|rg|curl|cat) "
    r"|::test_\w+|^[0-9a-f]{7,40} "
)


def statements(event: Event) -> Iterator[Statement]:
    """Give what an event says, the innermost exception first, its headline last.

    A headline that only repeats one of the exceptions (``ValueError('...')`` before its own traceback) is
    left out: it would count as a second failure.
    """
    for index, raised in enumerate(event.raised):
        yield Statement(event, raised.message, raised.class_name, index, raised.records or event.records[:1])
    headline = event.headline.strip()
    if event.kind == "text":
        headline = "\n".join("" if _QUOTES.search(line[:500]) else line for line in event.headline.split("\n")).strip(
            "\n"
        )
    if not headline:
        return
    class_name = None
    if (found := _REPR.match(headline)) is not None:
        class_name, headline = found["class"], found["message"].replace("\\n", "\n").replace("\\'", "'")
    if event.raised and any(_says(raised.message, headline) for raised in event.raised):
        return
    yield Statement(event, headline, class_name, None, event.records)


def _says(message: str, headline: str) -> bool:
    first = message.split("\n", 1)[0].strip()
    return len(first) >= 3 and (first in headline or headline[:200] in message)


# What begins or holds an error where no logger says so: tools around vLLM, C++ checks, native crashes.
_MARK = regex.compile(
    r"^(?:[\w./-]{1,40}: )?(?i:fatal |internal )?(?i:error)\b ?[:\[]|^ERRO\[|requirement error:|NCCL WARN"
    r"|Segfault encountered"
    r"|^terminate called after|^Segmentation fault|^Fatal Python error|Assertion [`'].{1,400} failed|\bCUDA error:"
    r"|Out of memory: Killed process|Memory access fault by GPU|probe, will be restarted|Reason: +OOMKilled"
    r"|OCI runtime create failed|^docker: Error|^panic: |Check failed:"
)


def is_error(statement: Statement) -> bool:
    """Whether a statement that no record knows speaks of a failure: raised, logged as an error, or marked as one."""
    event = statement.event
    if statement.index is not None or event.kind == "usage":
        return event.first.level != "DEBUG"
    level = statement.records[0].level if statement.records else None
    if level in ("ERROR", "CRITICAL"):
        return True
    return (
        level is None and event.kind == "text" and any(_MARK.search(line[:1000]) for line in statement.text.split("\n"))
    )


def message_of(statement: Statement) -> str:
    """The message of a statement that no record knows: its first paragraph, for loose text the line with the mark."""
    if statement.event.kind == "text":
        marked = (line for line in statement.text.split("\n") if _MARK.search(line[:1000]))
        return next(marked, statement.text.split("\n", 1)[0]).strip()
    message = statement.text.strip().split("\n\n", 1)[0].strip()
    if message or statement.index is None:
        return message
    frames = statement.event.raised[statement.index].frames  # cut before its exception line: where it was
    return statement.event.headline or (f"{frames[-1].file}:{frames[-1].line}" if frames else "")
