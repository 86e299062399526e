"""Where a message is raised, as text: the place and how it is known, the installed source around it."""

from __future__ import annotations

from triage.model import Finding, Location
from triage.render.visible import visible
from triage.render.words import NAME

SOURCE_WIDTH = 160
"""Characters of a source line that are shown."""


def where_of(finding: Finding) -> str:
    """Where the message is raised and how that is known; empty where nothing is known."""
    place, frame = finding.location, finding.vllm_frame
    called = ""
    if frame is not None and (place is None or (frame.file, frame.line) != (place.file, place.line)):
        called = at(frame.file, frame.line, frame.function)
    if place is not None:
        own = f"{at(place.file, place.line, place.function)} ({basis_of(place)})"
        return f"{own}, reached from {called}" if called else own
    if called:
        return f"{called} (from the log; the innermost place in vLLM)"
    if finding.candidates:
        some = ", ".join(visible(each, NAME) for each in finding.candidates[:4])
        more = f" and {len(finding.candidates) - 4} more" if len(finding.candidates) > 4 else ""
        return f"one of {some}{more} (catalogue; release unknown)"
    return ""


def at(file: str, line: int, function: str | None) -> str:
    """``vllm/config/scheduler.py:332 in SchedulerConfig.verify``."""
    return f"{visible(file, NAME)}:{line}" + (f" in {visible(function, NAME)}" if function else "")


def basis_of(location: Location) -> str:
    """Where the place is from: the log (a traceback, a logger's prefix), or the catalogue for which release."""
    if location.basis == "traceback":
        return "from the log"
    return f"catalogue for {visible(location.version, 60)}" if location.version else "catalogue; release unknown"


def source_of(finding: Finding) -> list[tuple[str, str, str]]:
    """The installed source around the place: for each line its number, ``>`` where it raises, else a blank, its text.

    Empty where the source was not asked for, or is not installed.
    """
    part = finding.excerpt
    if part is None:
        return []
    width = len(str(part.first + len(part.lines) - 1))
    return [
        (str(number).rjust(width), ">" if number == part.line else " ", visible(text, SOURCE_WIDTH))
        for number, text in enumerate(part.lines, part.first)
    ]


def source_title(finding: Finding) -> str:
    """Which file, of which installed release, the excerpt is of."""
    part = finding.excerpt
    if part is None:
        return ""
    release = f" {visible(part.version, NAME)}" if part.version else ""
    return f"{visible(part.file, NAME)}, as installed{release}"
