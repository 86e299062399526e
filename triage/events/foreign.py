"""Frames as other tools than Python's own print them: IPython, Rich, pytest.

Each row of the table is one form of a frame's line; the line of code below it is marked with an arrow by IPython
(``--> 722 raise``) and Rich (``❱ 722 │ raise``).
"""

from __future__ import annotations

from dataclasses import replace

import regex

from triage.events.shapes import FRAME
from triage.model import Frame, Record

_PATH = r"(?:~|\.{1,2}|/|[A-Za-z]:\\)[^\s:]{1,400}|[\w./-]{1,200}\.pyx?"
_FRAMES = (
    FRAME,
    # IPython 8: "File ~/env/vllm/config.py:722, in ModelConfig.verify(self)", "Cell In[3], line 1"
    regex.compile(rf"File (?P<file>{_PATH}):(?P<line>\d{{1,9}})(?:, in (?P<function>[\w.<>]{{1,200}})(?:\(.*)?)?$"),
    regex.compile(r"(?:Input |Cell )(?P<file>In ?\[\d+\]), (?:in )?line (?P<line>\d{1,9})$"),
    # IPython 7: "/opt/vllm/config.py in verify(self)", whose line number stands at the arrow
    regex.compile(r"(?P<file>(?:~|/)\S{1,400}\.py|<ipython-input-[\w-]+>) in (?P<function>[\w.<>]{1,200}|<.+>)\(.*\)$"),
    # pytest: "/opt/vllm/config.py:88: in check"
    regex.compile(rf"(?P<file>{_PATH}):(?P<line>\d{{1,9}}): in (?P<function>[\w.<>]{{1,200}})$"),
    # Rich: "/opt/vllm/config.py:426 in verify", padded to the box
    regex.compile(rf"(?P<file>{_PATH}):(?P<line>\d{{1,9}}) in (?P<function>[\w.<>]{{1,200}})\s*$"),
)
_ARROW = regex.compile(r"\s*(?:-+>|❱) *(?P<line>\d{1,9})(?: │)?(?P<source>.*)$")
_PLACE = regex.compile(rf"(?P<file>{_PATH}):(?P<line>\d{{1,9}}): [A-Z]\w*$")
_BOX = regex.compile(r"[│╭╰┃❱]")


def frame_of(text: str) -> Frame | None:
    """Read a frame's line in any of the forms; line 0 where the form has none."""
    if not text or (text[0] in " \t" and "File" not in text):
        return None
    for form in _FRAMES:
        if (found := form.match(text)) is not None:
            groups = found.groupdict()
            function = groups.get("function")
            # IPython qualifies a function by its class, Python's own tracebacks do not.
            name = function.rpartition(".")[2] if function and form is not FRAME else function
            return Frame(groups["file"], int(groups.get("line") or 0), name)
    return None


def at_arrow(frame: Frame, text: str) -> Frame | None:
    """The frame with the line of code that an arrow points at; None where a line has no arrow."""
    found = _ARROW.match(text)
    if found is None:
        return None
    source = found["source"].replace("│", " ").strip()
    return replace(frame, line=int(found["line"]), source=source[:500] or None)


def place_of(text: str) -> Frame | None:
    """Where pytest says an exception was raised, behind its message: ``/opt/vllm/config.py:88: ValueError``."""
    found = _PLACE.match(text)
    return Frame(found["file"], int(found["line"])) if found else None


def is_drawn(record: Record) -> bool:
    """Whether a line is part of a box that Rich draws."""
    return _BOX.search(record.first.text) is not None
