"""The shapes of lines that make up tracebacks and messages: one place for the regular expressions."""

from __future__ import annotations

import regex

TRACEBACK = "Traceback (most recent call last):"

FRAME = regex.compile(r'\s*File "(?P<file>[^"\n]{1,1000})", line (?P<line>\d{1,9})(?:, in (?P<function>.{1,300}))?$')

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

RAISED_IN_TRACEBACK = regex.compile(
    rf"(?P<class>{_NAME})(?:\((?P<of>[\w.]+)\))?: (?P<message>.*)$|(?P<class>{_NAME})$", regex.DOTALL
)
"""The same, where frames came before: any name will do."""

BARE_RAISED = regex.compile(
    rf"(?P<class>{_NAME}(?:Error|Exception)|Exception|KeyboardInterrupt|SystemExit): (?P<message>.+)$", regex.DOTALL
)
"""An exception line with no traceback before it."""

GUTTER = regex.compile(r" {2,}(?:\| ?|\+-?\+?-{3,}[ \d-]*$|\+ (?=Exception Group Traceback))")
"""What exception groups draw before their tracebacks: "    | ", "  +-+---------------- 1 ----"."""

DIRECT_CAUSE = "The above exception was the direct cause of the following exception:"
DURING_HANDLING = "During handling of the above exception, another exception occurred:"

USAGE = regex.compile(r"usage: \S")
USAGE_ERROR = regex.compile(r"(?P<program>[\w.-]+(?: \w+)*): error: (?P<message>.+)$", regex.DOTALL)

START = regex.compile(
    r"Process \S+:$|==> .* <==$|```|nanobind: |Exception ignored in|!{3,} ?Segfault|Fatal Python error|terminate called"
    r"|\*{3} |Killed$|Aborted|Segmentation fault|\S+ exited with code \d+|\S*resource_tracker\.py:\d+"
    r"|/\S+\.py:\d+: \w+Warning"
    r"|[\w.@~:/\\-]*(?:\$|#|>) \S|\([\w-]+\) \S+@\S+|\[\w+@[^\]]+\]\s?[$#]|\+-{5,}|={5,}|-{5,}|<details|</"
    r"|\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\w.-]+:\d+:\d+ \[\d+\] "
)
"""A line of loose text that begins something new: it ends a message that is still open."""

PYDANTIC = regex.compile(r"(?P<count>\d+) validation errors? for (?P<title>\S.*)")
PYDANTIC_TAIL = regex.compile(r"\s*\[type=(?P<type>\w+)(?:, input_value=|\b)")
PYDANTIC_URL = regex.compile(r"\s*For further information visit\s+https?://\S+")

PROMPT = regex.compile(r"\b(?:[Pp]rompt|output|messages): (?P<quote>['\"])")
"""Where a log line begins to quote what a client sent, or was answered."""
