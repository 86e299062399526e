"""What a dying process prints from below Python: the C++ runtime, faulthandler, signal handlers, Rust, Go.

The first line opens a dump (``shapes.CRASH``); the lines right behind it may go on with its message (``what():``, the
line below Rust's ``panicked at``); frames and thread states follow, which say nothing that a record could know.
"""

from __future__ import annotations

import regex

HEAD_LIMIT = 12
"""Lines kept of what a crash says."""

_DUMP = regex.compile(
    r"$|\s+(?!what\(\))\S|Current thread |Thread 0x|Extension modules: |File \"|<no Python frame>"
    r"|frame #\d+: |#\d+ |PC: @|@ |Exception raised from |\[[\w.-]+:\d+\] |\d+: "
    r"|goroutine \d+|created by |[\w./*()\[\]-]{1,200}\(.*\)$|exit status \d+|\[signal "
    r"|note: run with|stack backtrace:|Python runtime state: "
)


class Crash:
    """What one crash says, and the dump behind it."""

    def __init__(self, first: str) -> None:
        self.head = [first]
        self._speaks = True

    def add(self, text: str) -> bool:
        """Take a further line; False when it is none of the crash's."""
        if _DUMP.match(text):
            self._speaks = False
            return True
        if not self._speaks or len(self.head) >= HEAD_LIMIT:
            return False
        self.head.append(text)
        return True
