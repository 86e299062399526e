"""Where a message is raised: from the traceback, else from the catalogue for the run's release."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

import regex
from packaging.version import InvalidVersion, Version
from rapidfuzz import fuzz

from triage.diagnose.observations import Observation
from triage.model import CauseSite, Frame, Location, Placement, RunFacts

SAME_WORDING = 70.0
"""Similarity (0 to 100) from which a site's template counts as the wording that was met."""

_HOLE = regex.compile(r"\{[^{}]*\}")
_PACKAGE = regex.compile(r"(?:^|/)(?:site|dist)-packages/(.+)$")
_PACKAGES = regex.compile(
    r"(?:^|/)((?:vllm|torch|transformers|huggingface_hub|ray|pydantic|lmcache|vllm_\w+|verl|trl|dynamo)/.+\.py)$"
)
# Other packages keep what they do for vLLM in a folder of that name.
_INTEGRATION = regex.compile(r"(?!vllm/)\w+/(?:\w+/)+vllm/[^/]+\.py$")


def package_relative(path: str) -> str:
    """A source path from its package on: ``vllm/config/scheduler.py``; other paths stay as they are.

    Windows paths and checkouts (``/opt/src/vllm/v1/...``) count as well as site-packages.
    """
    path = path.replace("\\", "/")
    if found := _PACKAGE.search(path):
        return found[1]
    # "/home/u/vllm/.venv/..." is settled above; of "/srv/vllm/vllm/config.py" the inner folder is the package.
    best, rest = path, path
    while found := _PACKAGES.search(rest):
        if _INTEGRATION.match(best) and found[1].startswith("vllm/"):
            break
        best, rest = found[1], found[1][1:]
    return best


def locate(
    observation: Observation, facts: RunFacts, placement: Placement | None = None, releases: Collection[str] = ()
) -> tuple[Location | None, Frame | None]:
    """Find where an observation's message is raised, and vLLM's innermost frame where that is elsewhere.

    Pydantic drops the frames of the validator that raised, so such an exception is located by the
    catalogue, as are messages without a traceback.

    Args:
        observation: what was said.
        facts: of its run.
        placement: where the index of sites has a message that no record knows.
        releases: those that the catalogue was made from.
    """
    index = observation.statement.index
    raised = observation.statement.event.raised[index] if index is not None else None
    frames = [Frame(package_relative(f.file), f.line, f.function, f.source) for f in observation.frames]
    vllm_frame = next((frame for frame in reversed(frames) if frame.file.startswith("vllm/")), None)
    sites = _sites(observation) if observation.match is not None else _placed(placement)
    all_sites = observation.match.cause.sites if observation.match is not None else tuple(sites)
    if observation.match is not None and placement is not None and not placement.others:
        # Of the cause's places the one whose own text the message is.
        sites = [site for site in sites if _is_of(site, placement)] or (
            _placed(placement) if _says_more(placement, observation) else sites
        )
    if raised is not None and frames and raised.wrapped is None and not observation.relayed:
        last = frames[-1]
        version = facts.vllm_version if last.file.startswith("vllm/") else None
        function = next((s.function for s in sites if _is_in(s, last)), last.function)
        location = Location(last.file, last.line, function, version, "traceback", _url(last.file, last.line, version))
        return location, (vllm_frame if vllm_frame != last else None)
    record = observation.record
    is_logged = placement is None or placement.site.kind in ("log", "warn")  # else the logger only passed it on
    if record.logger_line is not None and index is None and is_logged:
        for site in all_sites:
            if site.file.endswith(f"/{record.logger_file}"):
                line, version = record.logger_line, facts.vllm_version
                return Location(
                    site.file, line, site.function, version, "traceback", _url(site.file, line, version)
                ), None
    found = _in_release(sites, facts.vllm_version, releases)
    if not found and sites:  # the wording of another release: the place is that of the fault
        found = _in_release(all_sites, facts.vllm_version, releases)
    if not found:
        found = _in_release(_placed(placement), facts.vllm_version, releases)
    if not found:
        return None, vllm_frame
    # A record's hole may be spelled out by each site; one text may be both logged and raised, and the raise statement
    # is the one that an exception came from.
    raised_as = (observation.statement.class_name or "").rpartition(".")[2]
    said = "".join(observation.message.split())
    (version, line), site = max(
        found, key=lambda pair: (Version(pair[0][0]), _spelled(pair[1], said), pair[1].class_name == raised_as)
    )
    return Location(site.file, line, site.function, version, "catalogue", _url(site.file, line, version)), vllm_frame


def line_in(lines: Mapping[str, int], version: str | None, releases: Collection[str] = ()) -> tuple[str, int] | None:
    """A site's line in a release.

    Args:
        lines: release to line.
        version: the run's release; a build of it (``0.32.0+cpu``, ``0.11.0.post2``) counts as it. None: not known; the
            newest release's line is given then, and that release with it.
        releases: the releases that the catalogue was made from: one that is not among them (a development version, one
            that came out later) takes the line of the nearest release before it.

    Returns:
        The release that the line is of, and the line; None where the release is known and not in lines.
    """
    known = sorted((Version(release), release) for release in lines)
    if not known:
        return None
    if version is None:
        return known[-1][1], lines[known[-1][1]]
    try:
        wanted = Version(version)
    except InvalidVersion:
        return None
    for exact in (version, str(wanted), wanted.public, wanted.base_version):
        if exact in lines:
            return exact, lines[exact]
    if not releases or wanted.base_version in releases:
        return None
    before = [release for version_of, release in known if version_of < wanted]
    nearest_known = max((Version(release) for release in releases if Version(release) < wanted), default=None)
    # Where the release before it lacks the site, so does this one.
    return (before[-1], lines[before[-1]]) if before and Version(before[-1]) == nearest_known else None


def _sites(observation: Observation) -> list[CauseSite]:
    """The cause's sites that emit the template that was met; none where it is not vLLM's own text."""
    match = observation.match
    if match is None:
        return []
    if match.template is None:
        return list(match.cause.sites)
    wanted = _words(match.template.text)
    return [site for site in match.cause.sites if fuzz.ratio(_words(site.template), wanted) >= SAME_WORDING]


def _spelled(site: CauseSite, said: str) -> int:
    """Letters of a site's own text, where all of it stands in a message (without white space); else none."""
    own = ["".join(part.split()) for part in _HOLE.split(site.template)]
    return sum(map(len, own)) if all(part in said for part in own) else 0


def _words(template: str) -> str:
    """A template's own words: the sources and the record may name its holes differently."""
    return " ".join(_HOLE.sub(" ", template).split()).lower()


def _is_in(site: CauseSite, frame: Frame) -> bool:
    """Whether a frame is in a site's function: the catalogue has its class, the traceback only its own name."""
    return site.file == frame.file and (site.function or "").rpartition(".")[2] == frame.function


def candidates(placement: Placement | None, version: str | None, releases: Collection[str] = ()) -> tuple[str, ...]:
    """Places that a text may come from just as well, the likeliest first: ``vllm/a.py:12 in f``; none if it is one.

    Args:
        placement: where the index has the text.
        version: the run's release, None where it is not known: lines are those of the newest release then.
        releases: those that the catalogue was made from.
    """
    if placement is None or not placement.others:
        return ()
    found: dict[str, None] = {}
    for site in (placement.site, *placement.others):
        at = line_in(site.lines, version if site.file.startswith("vllm/") else None, releases)
        line = f":{at[1]}" if at is not None else ""
        found[f"{site.file}{line}{f' in {site.function}' if site.function else ''}"] = None
    return tuple(found) if len(found) > 1 else ()


def _placed(placement: Placement | None) -> list[CauseSite]:
    """The placement's site; none where it may be several, of which nothing tells the right one."""
    if placement is None or placement.others:
        return []
    site, template = placement.site, placement.site.template
    class_name = (site.of or "Exception") if site.kind not in ("log", "warn") else None
    return [CauseSite(site.file, site.function, class_name, template.text if template else "", site.lines)]


def _says_more(placement: Placement, observation: Observation) -> bool:
    """Whether the index's template, which is the whole message, has more words of its own than the record's."""
    match, template = observation.match, placement.site.template
    if match is None or match.template is None or template is None or placement.confidence != "exact":
        return False
    return len(_words(template.text).replace(" ", "")) >= len(_words(match.template.text).replace(" ", ""))


def _is_of(site: CauseSite, placement: Placement) -> bool:
    """Whether a cause's site is the one that the index has."""
    return site.file == placement.site.file and dict(site.lines).items() <= dict(placement.site.lines).items()


def _in_release(
    sites: Iterable[CauseSite], version: str | None, releases: Collection[str]
) -> list[tuple[tuple[str, int], CauseSite]]:
    found = []
    for site in sites:
        # Other packages have numbers of their own, which the log does not show.
        own = version if site.file.startswith("vllm/") else None
        if (place := line_in(site.lines, own, releases)) is not None:
            found.append((place, site))
    return found


def _url(file: str, line: int, version: str | None) -> str | None:
    if version is None or not file.startswith("vllm/"):
        return None
    try:
        base = Version(version).base_version
    except InvalidVersion:
        return None
    return f"https://github.com/vllm-project/vllm/blob/v{base}/{file}#L{line}"
