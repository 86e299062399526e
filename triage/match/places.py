"""The place in the sources that emits a message, for messages that no record knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import regex
from packaging.version import InvalidVersion, Version

from triage.match.folding import Folded, fold, fold_literal
from triage.match.literals import Fit, fit
from triage.model import Frame, Hole, Placement, Site, SiteIndex, Statement

TEXT_LIMIT = 4000
"""Characters of a message that are looked at."""

TELLING = 16
"""Letters of a template's own that tell a message by themselves; with fewer, the place has to agree too."""

LEAST = 4
"""Letters that a template must have at all."""

_LETTER = regex.compile(r"\w")


class _Fitting(NamedTuple):
    """A site whose template fits, and how well; the greater the better. site and found are not compared."""

    whole: bool
    placed: bool
    size: int
    known: bool
    agreeing: bool
    near: float
    site: Site
    found: Fit


def place(statement: Statement, index: SiteIndex, release: str | None) -> Placement | None:
    """Find the site that emits a statement's message.

    Args:
        statement: an exception, a log message or loose text.
        index: the index of sites.
        release: the run's release of the package, where it is known; of sites with the same text one that it has comes
            first. A build of a release (``0.32.0+cpu``) counts as it.

    Returns:
        The site with what its holes held; None where no template fits, or too little of one.
    """
    text = statement.text[:TEXT_LIMIT]
    if not text.strip():
        return None
    folded = fold(text)
    fitting = sorted(_fitting(statement, folded, index, _names(release)), key=lambda each: each[:6], reverse=True)
    if not fitting:
        return None
    best = fitting[0]
    # Without a release all that it was in may be meant; the one that most releases have is shown then.
    others = [each.site for each in fitting[1:] if each[:5] == best[:5]]
    if best.placed and _shown_line(statement) is not None:
        others = []  # the nearest line decides
    here = (best.site.file, best.site.function)
    others = list({at: site for site in others if (at := (site.file, site.function)) != here}.values())
    return Placement(
        best.site,
        best.found.captures,
        "exact" if best.found.whole else "truncated",
        round(100 * best.found.share, 1),
        tuple(others),
    )


def _fitting(statement: Statement, folded: Folded, index: SiteIndex, releases: frozenset[str]) -> Iterator[_Fitting]:
    for site in index.worded(statement.text[:TEXT_LIMIT]):
        if site.template is None or (found := fit(site.template, {}, folded)) is None:
            continue
        literal = fold_literal(" ".join(part for part in site.template.parts if not isinstance(part, Hole)))
        letters = len(_LETTER.findall(literal))
        placed, agreeing = _is_placed(statement, site), _agrees(statement, site)
        if letters < LEAST or not (agreeing and (placed or letters >= TELLING)):
            continue
        if not found.whole and not (placed or letters * found.share >= 2 * TELLING):
            continue
        known = not releases or not releases.isdisjoint(site.lines)
        yield _Fitting(
            found.whole,
            placed,
            round(len(literal) * found.share),
            known,
            agreeing,
            _nearness(statement, site),
            site,
            found,
        )


def _names(release: str | None) -> frozenset[str]:
    """What a release may be called in the index; nothing where it is not known."""
    if release is None:
        return frozenset()
    try:
        version = Version(release)
    except InvalidVersion:
        return frozenset()
    return frozenset((release, version.public, version.base_version))


def _agrees(statement: Statement, site: Site) -> bool:
    """Whether a statement can be what a site of this kind says: raised, logged or printed, as that class or level."""
    record = statement.records[0] if statement.records else statement.event.first
    if site.kind == "log":
        return statement.index is None and (record.level in (None, site.of) or record.logger_file is None)
    if site.kind in ("text", "warn") or statement.class_name is None:
        return True
    return not site.of or statement.class_name.rpartition(".")[2] == site.of


def _is_placed(statement: Statement, site: Site) -> bool:
    """Whether the traceback's last frame, or the logger's file, is the site's."""
    frame = _last_frame(statement)
    if frame is not None:
        return frame.file.replace("\\", "/").endswith(site.file) and frame.function == _own_name(site)
    record = statement.records[0] if statement.records else statement.event.first
    return record.logger_file is not None and site.file.endswith(f"/{record.logger_file.rpartition('/')[2]}")


def _nearness(statement: Statement, site: Site) -> float:
    """How near the line that the input shows is to one of the site; else how many releases have the site."""
    line, lines = _shown_line(statement), list(site.lines.values())
    return -float(min(abs(line - each) for each in lines)) if line is not None and lines else float(len(lines))


def _shown_line(statement: Statement) -> int | None:
    """The line that the traceback's last frame, or the logger, names."""
    record = statement.records[0] if statement.records else statement.event.first
    frame = _last_frame(statement)
    return frame.line if frame is not None else record.logger_line


def _last_frame(statement: Statement) -> Frame | None:
    raised = statement.event.raised[statement.index] if statement.index is not None else None
    # Pydantic leaves the wrapper's frames, not those of the validator that raised.
    return raised.frames[-1] if raised is not None and raised.frames and raised.wrapped is None else None


def _own_name(site: Site) -> str | None:
    return site.function.rpartition(".")[2] if site.function else "<module>"
