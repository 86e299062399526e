"""Ranked observations made into findings: captures, location, explanation, fixes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import regex

from triage.diagnose.captures import from_facts
from triage.diagnose.expressions import ExpressionError, fill
from triage.diagnose.fixes import release_of, work_out
from triage.diagnose.locations import candidates, locate
from triage.diagnose.observations import Observation, fingerprint
from triage.diagnose.ranking import Ranked
from triage.diagnose.relations import recipes
from triage.diagnose.runs import RunState
from triage.model import Catalogue, Cause, Finding, Idiom, Line, Placement, RecordRef, Scalar, SiteRef

EVIDENCE_LINES = 6
"""Input lines quoted of one message."""

MESSAGE_LIMIT = 4000
"""Characters kept of a message that no record knows."""

_HOLE = regex.compile(r"\{[^{}]*\}")


def finding(
    ranked: Ranked,
    run: RunState,
    catalogue: Catalogue,
    near: Callable[[str], tuple[str, ...]],
    placement: Placement | None,
    idiom: Idiom | None,
) -> Finding:
    """Make a finding of a ranked observation.

    Args:
        ranked: the observation and its role.
        run: the run that it belongs to.
        catalogue: for the flags of the run's release.
        near: gives the slugs of the entries nearest to a message that no record knows.
        placement: where the sources emit such a message, None where that is not known.
        idiom: the idiom asked for; None takes the run's own.
    """
    observation = ranked.observation
    match = observation.match
    cause = match.cause if match else None
    known = match or placement
    around = {**(from_facts(cause, run.facts) if cause else {}), **observation.context}
    captures: dict[str, Scalar] = {**(known.captures if known else {}), **around}
    releases = frozenset(release for group in catalogue.releases for release in group)
    location, vllm_frame = locate(observation, run.facts, placement, releases)
    is_root = ranked.role == "root_cause"
    copies = [observation, *observation.copies]
    site = next((s for s in cause.sites if location and s.file == location.file), None) if cause else None
    emitted = SiteRef(site.template, site.file, site.function, site.class_name) if site else None
    if placement is not None and match is None:
        at, text = placement.site, placement.site.template
        emitted = SiteRef(text.text if text else "", at.file, at.function, at.of if at.kind != "log" else None)
    fixed = cause if placement is None or match is not None else _from_check(placement, run, catalogue)
    first = observation.record
    evidence = _evidence(observation)
    return Finding(
        role=ranked.role,
        message=observation.message[:MESSAGE_LIMIT],
        source=first.first.source,
        line=first.first.number,
        confidence=known.confidence if known else "unrecognised",
        score=known.score if known else 0.0,
        scope=ranked.scope,
        owner=cause.owner if cause else None,
        severity=cause.severity if cause else "error",
        exception_class=observation.statement.class_name or (cause.exception_class if cause else None),
        record=RecordRef(cause.id, cause.slug, cause.title and fill_known(cause.title, captures)) if cause else None,
        site=emitted,
        title=fill_known(cause.title, captures) if cause and cause.title else None,
        cause=_explanation(cause, captures) if cause else None,
        captures=captures,
        location=location,
        vllm_frame=vllm_frame,
        candidates=candidates(placement, run.facts.vllm_version, releases) if location is None or match else (),
        fixes=work_out(fixed, captures, run.facts, catalogue, idiom) if fixed and is_root else (),
        restart_helps=cause.restart_helps if cause else None,
        run=observation.run,
        process=first.process,
        pid=first.pid,
        rank=first.rank,
        pod=first.pod,
        count=sum(copy.count for copy in copies),
        first_time=min((c.first_time for c in copies if c.first_time), default=None),
        last_time=max((c.last_time for c in copies if c.last_time), default=None),
        fingerprint=fingerprint(observation.statement.class_name, observation.slug, observation.message),
        evidence=evidence,
        evidence_line=first.first.number,
        near=near(observation.message) if match is None and is_root else (),
        why=ranked.why,
    )


def fill_known(text: str, captures: Mapping[str, Scalar]) -> str:
    """Fill a text's captures in; what the input lacks shows as "?"."""

    def value(found: regex.Match[str]) -> str:
        try:
            return fill(found[0], captures)
        except (LookupError, ExpressionError):
            return "?"

    return _HOLE.sub(value, text)


def _from_check(placement: Placement, run: RunState, catalogue: Catalogue) -> Cause | None:
    """The fixes that the check in the sources implies, as a cause of their own; None where it implies none."""
    flags = release_of(run.facts.vllm_version, catalogue).flags or frozenset().union(*catalogue.flags.values())
    found = recipes(placement, flags)
    return Cause({}, None, placement.site.file, "", "", fixes=found) if found else None


def _explanation(cause: Cause, captures: Mapping[str, Scalar]) -> str | None:
    text = cause.summary or str(cause.record.get("documentation") or "")
    return fill_known(text, captures) if cause.summary else text or None


def _evidence(observation: Observation) -> tuple[str, ...]:
    """The input lines that hold the message, colours left out (the reader has done that for the record)."""
    own = "".join(observation.message.split())
    taken: list[Line] = []
    said = ""
    for record in observation.records:
        taken += record.lines
        said += "".join(record.text.split())
        if len(taken) >= EVIDENCE_LINES or own[-20:] in said:
            break
    return tuple(line.text for line in taken[:EVIDENCE_LINES])
