"""The shapes of lines that make up tracebacks and messages: one place for the regular expressions."""

from __future__ import annotations

import regex

TRACEBACK = "Traceback (most recent call last):"

# Rich draws a box around its traceback; IPython prints the class before the words, and no colon behind them.
_DRAWN = regex.compile(r"\s*╭─+ Traceback \(most recent call last\) ─+╮|[A-Za-z_]\w*\s{2,}Traceback \(most recent call")

FRAME = regex.compile(
    r'(?P<indent>\s*)File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:,? in (?P<function>.{1,300}))?$'
)

# Python 3.11 to 3.14 underline the failing expression; 3.13 shortens long statements.
CARETS = regex.compile(
    r"\s*(?:[\^~]+\s*)+$|\s*\.\.\.<\d+ lines?>\.\.\.$|\s*\[Previous line repeated \d+ more times?\]$"
)

_NAME = r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*"
# A name that ends in what exception classes end in, or a dotted one with a capital: "acme.quota.QuotaExceeded".
_CLASS = (
    rf"(?:{_NAME}(?:Error|Exception|Exit|Interrupt|Warning|Timeout|Failure|Iteration|Group|Abort|Fault|Rejected)"
    r"|(?:[A-Za-z_]\w*\.)+[A-Z]\w*"
    r"|Exception|StopIteration|StopAsyncIteration|KeyboardInterrupt)"
)
RAISED = regex.compile(rf"(?P<class>{_CLASS})(?:\((?P<of>[\w.]+)\))?(?::(?: (?P<message>.*)|)|)$", regex.DOTALL)
"""The last line of a traceback, where a traceback is open."""

# "QuotaExceeded", "struct.error", "queue.Empty"; what other programs print ("nanobind: leaked") has no such name.
_ANY_CLASS = r"(?:(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*|[A-Z]\w*|\w*error)"
RAISED_IN_TRACEBACK = regex.compile(
    rf"(?P<class>{_ANY_CLASS})(?:\((?P<of>[\w.]+)\))?: (?P<message>.*)$|(?P<class>{_ANY_CLASS})$", regex.DOTALL
)
"""The same, where frames came before: any name that a class may have."""

BARE_RAISED = regex.compile(
    rf"(?P<class>{_NAME}(?:Error|Exception)|Exception|KeyboardInterrupt|SystemExit): (?P<message>.+)$", regex.DOTALL
)
"""An exception line with no traceback before it."""

GUTTER = regex.compile(r" {2,}(?:\| ?|\+-?\+?-{3,}[ \d-]*$|\+ (?=Exception Group Traceback))|E {3,}(?=\S)")
"""What is drawn before an exception's lines: groups ("    | ", "  +-+---------------- 1 ----"), pytest ("E   ")."""

NATIVE_FRAME = regex.compile(
    r"frame #\d+: |\s+at [\w.$<>/]+\(.*\)$|\s*\.\.\. \d+ more$|Exception raised from .+ \(most recent call first\):$"
)
"""Frames of C++ and Java inside a message or behind it: no part of what it says."""

DIRECT_CAUSE = "The above exception was the direct cause of the following exception:"
DURING_HANDLING = "During handling of the above exception, another exception occurred:"

USAGE = regex.compile(r"usage: \S")
USAGE_ERROR = regex.compile(r"(?P<program>[\w./-]+(?: [\w.-]+)*): error: (?P<message>.+)$", regex.DOTALL)
USAGE_ERROR_ALONE = regex.compile(r"(?:vllm(?: [\w-]+)*|[\w./-]+\.py|[\w./-]+ -m [\w.]+): error: \S")
"""The same without its usage before it: only of programs that argparse speaks for."""

LOGGING_ERROR = "--- Logging error ---"

HEADLINE = regex.compile(r".*:\s*$|Exception ignored (?:in|on|while)\b")
"""A line of loose text that announces the traceback below it; the paste of a terminal may have padded it."""

NOISE = regex.compile(
    r"nanobind: |\S*resource_tracker\.py:\d+|/\S+\.py:\d+: \w+Warning|\[W\d{4} |objc\[\d+\]: |OMP: |WARNING: "
)
"""A line that another part of the process may print in the middle of a traceback."""

CRASH = regex.compile(
    r"Fatal Python error: |!{3,} ?Segfault|\*{3} (?:SIG\w+ received|Aborted) at|terminate called "
    r"|thread '[^'\n]{0,200}' (?:\(\d+\) )?panicked at |panic: \S"
)
"""The first line of what a dying process prints from below Python."""

START = regex.compile(
    rf"(?:{NOISE.pattern}|{CRASH.pattern})"
    r"|Process \S+:\s*$|==> .* <==$|```|Exception ignored in"
    r"|\*{3} |Killed$|Aborted|Segmentation fault|Illegal instruction|Bus error|\S+ exited with code \d+"
    rf"|{LOGGING_ERROR}$|/?[\w./-]+\.(?:cu|cuh|cc|cpp|h|hpp):\d+: "
    r"|[\w.@~:/\\-]*(?:\$|#|>) \S|\([\w-]+\) \S+@\S+|\[\w+@[^\]]+\]\s?[$#]|\+-{5,}|={5,}|-{5,}|<details|</"
    r"|(?:In|Out) ?\[\d+\]: "
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\w.-]+:\d+:\d+ \[\d+\] |NCCL (?:WARN|INFO) "
)
"""A line of loose text that begins something new: it ends a message that is still open."""

PYDANTIC = regex.compile(r"(?P<count>\d+) validation errors? for (?P<title>\S.*)")
PYDANTIC_TAIL = regex.compile(
    r"\s*\[type=(?P<type>\w+)(?:, input_value=|\b)|\s*\(type=(?P<type>[\w.]+)(?:; [^()\n]{0,400})?\)$"
)
PYDANTIC_URL = regex.compile(r"\s*For further information visit\s+https?://\S+")


def before_traceback(text: str) -> str | None:
    """What stands before the words that open a traceback, on the same line; None where a line opens none."""
    if "Traceback (most recent call" not in text:
        return None
    if (found := text.find(TRACEBACK)) >= 0:
        return text[:found]
    return "" if _DRAWN.match(text) else None
