"""The place in the sources that emits a message."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import regex
from packaging.version import InvalidVersion, Version

from triage.match.covering import cover, folded_parts
from triage.match.folding import Folded, fold
from triage.match.literals import Fit, fit
from triage.model import Frame, Placement, Site, SiteIndex, Statement

TEXT_LIMIT = 4000
"""Characters of a message that are looked at."""

TELLING = 16
"""Letters of a template's own that tell a message by themselves; with fewer, class or place have to agree."""

LEAST = 3
"""Letters that a template must have at all, unless its line is shown."""

SEARCHED = 300
"""Sites that are searched for anywhere in the text, where none covers it."""

_CLASS = regex.compile(
    r"(?P<class>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Warning)): (?P<message>.+)", regex.DOTALL
)
_CONVERSION = regex.compile(r"%[-+ #0]*\d*(?:\.\d+)?[srdifgexXa]")
# What Python itself raises in the same words, wherever the code is wrong.
_INTERPRETERS = regex.compile(
    r"(?:\w+Error: )?(?:'[\w.]+' object has no attribute '\w+'.*|module '[\w.]+' has no attribute '\w+'.*"
    r"|'[\w.]+' object is not (?:callable|subscriptable|iterable)|No module named '[\w.]+'"
    r"|cannot import name '\w+' from .*|(?:list|tuple|string) index out of range|division by zero)"
)
_OF_VLLM = regex.compile(r"(?:^|[/\\])vllm[/\\]")
_STATUS = regex.compile(r"[1-5]\d\d: ")
# What an exception class of vLLM, pydantic, and Ray put behind a message.
_SUFFIX = regex.compile(
    r"\s*(?:\((?:parameter|value)=.*\)|\[type=\w+, input_value=.*|\[repeated \d+x across cluster\])\s*\Z", regex.DOTALL
)
_WARNED = regex.compile(r"(?P<file>\S+\.py):(?P<line>\d+): (?P<class>\w+): (?P<message>.+?)(?:\n  .*)?\Z", regex.DOTALL)


class _Said(NamedTuple):
    """What is looked for: a statement's text in one reading, with the class, and what the input says of its place."""

    text: Folded
    class_name: str | None
    frame: Frame | None
    file: str | None
    line: int | None
    level: str | None
    logged: bool


class _Fitting(NamedTuple):
    """A site that fits, and how well; the greater the better. site and found are not compared."""

    shown: bool
    known: bool
    covering: bool
    whole: bool
    placed: bool
    size: int
    agreeing: bool
    near: float
    site: Site
    found: Fit


def place(statement: Statement, index: SiteIndex, release: str | None) -> Placement | None:
    """Find the site that emits a statement's message.

    A line that the input shows (a traceback's last frame, the logger's) decides, then the template that the message is
    from its beginning to its end, then that with the most letters of its own.

    Args:
        statement: an exception, a log message or loose text.
        index: the index of sites.
        release: the run's release of the package, where it is known; sites that it has come first. One that the index
            lacks (a build, a pre-release, a development version) counts as the nearest that it has.

    Returns:
        The site with what its holes held; None where no template fits, or too little of one. "similar" is one with
        hardly a word of its own, of which only the class agrees.
    """
    if not statement.text.strip():
        return None
    release = nearest(release, index.releases)
    fitting: list[_Fitting] = []
    for said in _readings(statement):
        fitting += _fitting(said, statement, index, release)
    if _INTERPRETERS.fullmatch(statement.text.strip()):
        fitting = [each for each in fitting if each.placed]
    if not fitting:
        return None
    fitting.sort(key=lambda each: each[:8], reverse=True)
    best = fitting[0]
    others = [] if best.shown or best.near < 0 else [each.site for each in fitting[1:] if each[:7] == best[:7]]
    here = {_spot(best.site, release)}
    others = [site for site in others if (spot := _spot(site, release)) not in here and not here.add(spot)]  # type: ignore[func-returns-value]
    telling = best.shown or best.placed or folded_parts_size(best.site) >= TELLING
    return Placement(
        best.site,
        best.found.captures,
        ("exact" if telling else "similar") if best.found.whole else "truncated",
        round(100 * best.found.share, 1),
        tuple(others),
    )


def nearest(release: str | None, known: Iterable[str]) -> str | None:
    """The release of the index that a run's release counts as: itself, its base, else the newest before it.

    Args:
        release: as the log has it, ``0.32.0+cpu``, ``0.11.1rc2.dev3``; None where it is not known.
        known: the releases of the index.
    """
    if release is None:
        return None
    try:
        version = Version(release)
    except InvalidVersion:
        return None
    ordered = sorted(known, key=Version)
    for name in (release, version.public, version.base_version):
        if name in ordered:
            return name
    before = [name for name in ordered if Version(name) <= version]
    return before[-1] if before else next(iter(ordered), None)


def is_whole(statement: Statement, placement: Placement) -> bool:
    """Whether a statement is its site's message from the beginning to the end."""
    template = placement.site.template
    return template is not None and cover(template, fold(statement.text.strip()[:TEXT_LIMIT])) is not None


def folded_parts_size(site: Site) -> int:
    """Letters of a site's own."""
    return folded_parts(site.template)[2] if site.template is not None else 0


def _spot(site: Site, release: str | None) -> tuple[str, object]:
    """Where a site is, as far as it is told from others: its line in the release, else its function."""
    line = site.lines.get(release) if release is not None else None
    return site.file, line if line is not None else (site.function, tuple(site.lines.values()))


def _readings(statement: Statement) -> Iterator[_Said]:
    """A statement's text as it stands, and without what classes and loggers of exceptions put around a message."""
    record = statement.records[0] if statement.records else statement.event.first
    text, class_name = statement.text[:TEXT_LIMIT].strip(), statement.class_name
    logged = statement.index is None and statement.event.kind == "log"
    frame = _last_frame(statement)
    file = record.logger_file.rpartition("/")[2] if logged and record.logger_file else None
    line = record.logger_line if logged else None
    if (warned := _WARNED.match(text)) is not None and statement.index is None:
        yield _Said(
            fold(warned["message"]), warned["class"], None, warned["file"].rpartition("/")[2], int(warned["line"]),
            "WARNING", logged,
        )  # fmt: skip
        return
    yield _Said(fold(text), class_name, frame, file, line, record.level, logged)
    if class_name is None and statement.index is None and (found := _CLASS.match(text)) is not None:
        text, class_name = found["message"], found["class"]
        yield _Said(fold(text), class_name, None, None, None, None, False)
    for inner in _unwrapped(text):
        yield _Said(fold(inner), class_name, frame, file, line, record.level, logged)


def _unwrapped(text: str) -> Iterator[str]:
    if (found := _SUFFIX.search(text)) is not None and found.start():
        yield text[: found.start()]
    if (status := _STATUS.match(text)) is not None:
        yield text[status.end() :]
    if len(text) > 2 and text[0] + text[-1] in ("''", '""', "()"):
        try:
            inner = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner = text[1:-1]  # a KeyError's message that was cut or escaped on its way
        if isinstance(inner, tuple) and inner and isinstance(inner[0], str):
            first, *rest = inner  # several arguments, as they were meant
            holes = _CONVERSION.sub(lambda found: str(rest.pop(0)) if rest else found[0], first)
            inner = "".join(map(str, (holes, *rest)))
        if isinstance(inner, str):
            yield inner


def _fitting(said: _Said, statement: Statement, index: SiteIndex, release: str | None) -> Iterator[_Fitting]:
    shown = _shown(said, index, release)
    found_any = False
    offered = index.worded(said.text.original, release)
    for site in {id(site): site for site in (*shown, *offered)}.values():
        if site.template is None or (found := cover(site.template, said.text)) is None:
            continue
        fitting = _judged(said, site, found, release, shown=site in shown, covering=True)
        if fitting is not None:
            found_any = True
            yield fitting
    if found_any:
        return
    for site in shown:  # the line is enough where the message has no word of its own, or was cut or damaged
        if site.template is not None and _agrees(said, site):
            found = fit(site.template, {}, said.text)
            if found is not None or not folded_parts_size(site):
                yield _Fitting(
                    True, True, False, True, True, 0, True, 0.0, site, found or Fit(0, len(said.text.text), {}, {}, 1.0)
                )
    for site in offered[:SEARCHED]:
        if site.template is None or (found := fit(site.template, {}, said.text)) is None:
            continue
        fitting = _judged(said, site, found, release, shown=site in shown, covering=False)
        if fitting is not None:
            yield fitting


def _judged(
    said: _Said, site: Site, found: Fit, release: str | None, *, shown: bool, covering: bool
) -> _Fitting | None:
    letters = folded_parts_size(site)
    placed, agreeing = shown or _is_placed(said, site), _agrees(said, site)
    if not agreeing or (letters < LEAST and not shown) or (not placed and _is_raised_elsewhere(said, site, letters)):
        return None
    # An error body of the API names a class of its own, whatever made it.
    has_class = (bool(site.of) and site.kind != "log") or site.kind == "text"
    by_class = covering and said.frame is None and said.class_name is not None and has_class
    if not (placed or letters >= TELLING or by_class):
        return None
    if not found.whole and not (placed or letters * found.share >= 2 * TELLING):
        return None
    # A run's release is one of vLLM; packages that the user had read have numbers of their own.
    known = release is None or release in site.lines or not site.file.startswith("vllm/")
    size = round(letters * found.share)
    return _Fitting(shown, known, covering, found.whole, placed, size, True, _nearness(said, site), site, found)


def _shown(said: _Said, index: SiteIndex, release: str | None) -> list[Site]:
    """The sites of the very line that the input shows, of the kind that shows one in this way."""
    if said.frame is not None:
        file = said.frame.file.replace("\\", "/")
        at = max(file.rfind(f"/{package}/") for package in index.packages)
        return [site for site in index.at(file[at + 1 :], said.frame.line, release) if site.kind != "log"]
    if said.file is not None and said.line is not None:
        kinds = ("log",) if said.logged and said.class_name is None else ("warn",)
        return [site for site in index.at(said.file, said.line, release) if site.kind in kinds]
    return []


def _agrees(said: _Said, site: Site) -> bool:
    """Whether a statement can be what a site of this kind says: raised, logged or printed, as that class or level."""
    if site.kind == "log":
        return said.frame is None and said.class_name is None and said.level in (None, site.of)
    if site.kind == "warn":
        return said.class_name is None or said.class_name.rpartition(".")[2] == site.of
    if site.kind == "text" or said.class_name is None:
        return True
    return not site.of or said.class_name.rpartition(".")[2] == site.of


def _is_placed(said: _Said, site: Site) -> bool:
    """Whether the traceback's last frame, or the logger's file, is the site's."""
    if said.frame is not None:
        return said.frame.file.replace("\\", "/").endswith(site.file) and said.frame.function == _own_name(site)
    return site.kind in ("log", "warn") and said.file is not None and site.file.endswith(f"/{said.file}")


def _is_raised_elsewhere(said: _Said, site: Site, letters: int) -> bool:
    """Whether the traceback's last frame says that no raise statement of this file was it.

    In vllm a long text of the site's own says more: the last frames may be lost.
    """
    if said.frame is None or site.kind == "text":
        return False
    return letters < 2 * TELLING or _OF_VLLM.search(said.frame.file) is None


def _nearness(said: _Said, site: Site) -> float:
    """How near the line that the input shows is to one of the site; else how many releases have the site."""
    line = said.frame.line if said.frame is not None else said.line if site.kind in ("log", "warn") else None
    lines = list(site.lines.values())
    return -float(min(abs(line - each) for each in lines)) if line is not None and lines else float(len(lines))


def _last_frame(statement: Statement) -> Frame | None:
    raised = statement.event.raised[statement.index] if statement.index is not None else None
    # Pydantic leaves the wrapper's frames, not those of the validator that raised.
    return raised.frames[-1] if raised is not None and raised.frames and raised.wrapped is None else None


def _own_name(site: Site) -> str | None:
    return site.function.rpartition(".")[2] if site.function else "<module>"
