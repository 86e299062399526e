"""Roles: which observation is the root cause, which follow from it, which mean nothing.

The default: the innermost exception of a chain explains the outer ones; a relay quotes its cause; a
worker explains its engine, the engine its API server; the earliest of several ranks explains the
others. A record's role, outranks and consequenceOf decide against it. Progress afterwards
means that a failure was not fatal, but nothing cancels a rejected request.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from triage.diagnose.observations import ANY, Observation
from triage.diagnose.runs import RunState
from triage.model import Role, Scope

IGNORED = "ignored, as asked"
"""Why a cause that --ignore names is not one."""

ENDED = "somebody stopped the process"
"""Why an interrupt during a start is no cause: it was sent from outside."""

UNFINISHED = "its end, which says what happened, is not in the input"
"""Why half an exception is no cause."""

_NEVER = (math.inf,)
_INTERRUPTED = ("KeyboardInterrupt", "CancelledError")
_ENDED_BY_OTHERS = (*_INTERRUPTED, "SystemExit")
"""Exceptions that say that somebody else ended the process: the cause only where nothing else is there."""


@dataclass(frozen=True, slots=True)
class Ranked:
    """An observation with its role, its scope, and how the role came about."""

    observation: Observation
    role: Role
    scope: Scope | None
    why: str


def rank(
    observations: Sequence[Observation], runs: Sequence[RunState], ignored: frozenset[str] = frozenset()
) -> list[Ranked]:
    """Give every observation its role.

    Args:
        observations: all of the input, copies already counted together.
        runs: the runs that they belong to, by index.
        ignored: slugs of causes that are not to be taken for one.

    Returns:
        Root causes first, those of each server's last start before those of earlier ones, then the rest in the order
        of the input.
    """
    ranked: list[Ranked] = []
    by_run: defaultdict[int, list[Observation]] = defaultdict(list)
    for observation in observations:
        by_run[observation.run].append(observation)
    for index, members in sorted(by_run.items()):
        ranked.extend(_rank_run(members, runs[index], ignored))
    ranked = _recovered(_foreign_explained(ranked, runs), runs)
    roots = [r for r in ranked if r.role == "root_cause"]
    rest = sorted((r for r in ranked if r.role != "root_cause"), key=lambda r: r.observation.order)
    last = {(run.source, run.pod): index for index, run in enumerate(runs)}
    # The last attempts of all servers come first, of these the known causes, then earlier attempts.
    attempts = {index: last[run.source, run.pod] - index for index, run in enumerate(runs)}
    roots = _one_per_failure(sorted(roots, key=lambda r: _probability(r.observation, attempts)))
    return roots + rest


def _probability(observation: Observation, attempts: Mapping[int, int]) -> tuple[int, bool, int]:
    earlier = attempts[observation.run]
    return earlier, not observation.known, observation.run if not earlier else -observation.run


def _foreign_explained(ranked: list[Ranked], runs: Sequence[RunState]) -> list[Ranked]:
    """A service beside vLLM (a web UI, a gateway) complains because vLLM fails: its errors follow from vLLM's."""
    if not any(r.role == "root_cause" and runs[r.observation.run].of_vllm for r in ranked):
        return ranked
    return [
        Ranked(r.observation, "consequence", r.scope, "another service's error while vLLM fails")
        if r.role == "root_cause"
        and not r.observation.known
        and not runs[r.observation.run].of_vllm
        and not r.observation.is_in_vllm
        else r
        for r in ranked
    ]


def _recovered(ranked: list[Ranked], runs: Sequence[RunState]) -> list[Ranked]:
    """A restart loop that came up in the end: what failed in its earlier starts is history."""
    up = {(run.source, run.pod): index for index, run in enumerate(runs) if run.complete}
    return [
        Ranked(r.observation, "warning", r.scope, "a later start of the same server succeeded")
        if r.role in ("root_cause", "consequence")
        and r.scope not in ("request", "client")
        and r.observation.run < up.get((runs[r.observation.run].source, runs[r.observation.run].pod), -1)
        else r
        for r in ranked
    ]


def _rank_run(observations: list[Observation], run: RunState, ignored: frozenset[str]) -> list[Ranked]:
    ranked: list[Ranked] = []
    candidates: list[Observation] = []
    held = [observation for observation in observations if _holds(observation, run)]
    named = {text for o in held if o.match for text in (o.statement.text, *(c.statement.text for c in o.copies))}
    for observation in held:
        if observation.slug in ignored:
            ranked.append(Ranked(observation, "harmless", scope_of(observation, run), IGNORED))
        elif (settled := _settled(observation, run)) is not None:
            ranked.append(settled)
        elif observation.match is None and observation.is_wordless and _is_named_above(observation, named):
            scope = scope_of(observation, run)
            ranked.append(Ranked(observation, "consequence", scope, "what it led to says what it is"))
        else:
            candidates.append(observation)
    field = _Field.of(candidates)
    roots: list[Observation] = []
    for candidate in sorted(candidates, key=lambda o: _priority(o, field, run)):
        reason = next((why for root in roots if (why := _explained(candidate, root, run))), None)
        if reason is None:
            roots.append(candidate)
            ranked.append(Ranked(candidate, "root_cause", scope_of(candidate, run), _why_root(candidate)))
        else:
            ranked.append(Ranked(candidate, "consequence", scope_of(candidate, run), reason))
    return ranked


@dataclass(frozen=True, slots=True)
class _Field:
    """What the candidates of a run have in common, worked out once: there may be thousands.

    known: one candidate for each cause; named: the texts of exceptions that records name; first_raised: the place of
    the first exception; first_below: the place of the first exception of a worker or an engine that no record knows.
    """

    known: tuple[Observation, ...]
    named: frozenset[str]
    first_raised: tuple[float, ...]
    first_below: tuple[float, ...]

    @classmethod
    def of(cls, candidates: Sequence[Observation]) -> _Field:
        known = {c.slug: c for c in candidates if c.known and not c.is_last_resort}
        raised = [c for c in candidates if c.is_exception]
        below = [c.order for c in raised if not c.known and c.depth >= 2 and not _is_ended_by_others(c)]
        return cls(
            tuple(known.values()),
            frozenset(c.statement.text for c in candidates if c.known and c.is_exception),
            min((c.order for c in raised), default=_NEVER),
            min(below, default=_NEVER),
        )


def _is_ended_by_others(observation: Observation) -> bool:
    return (observation.statement.class_name or "").endswith(_ENDED_BY_OTHERS)


def _holds(observation: Observation, run: RunState) -> bool:
    """Settle on the first cause whose conditions hold in the run; False where none does and it is no error itself."""
    for match in (observation.match, *observation.others):
        if match is None:
            break
        when = match.cause.when
        if when is None or (run.present.issuperset(when.present) and run.present.isdisjoint(when.absent)):
            observation.match, observation.message = match, match.message
            return True
    observation.match, observation.message = None, observation.plain_message
    return observation.is_error


def _settled(observation: Observation, run: RunState) -> Ranked | None:
    """Roles that need no comparison."""
    scope = scope_of(observation, run)
    match = observation.match
    if match is not None and match.cause.role in ("harmless", "warning"):
        return Ranked(observation, match.cause.role, scope, f"its record says {match.cause.role}")
    level = observation.record.level
    if level in ("INFO", "DEBUG") and (match is None or level not in match.cause.levels):
        return Ranked(observation, "warning", scope, f"logged at level {level}")
    if match is None and level == "WARNING":
        return Ranked(observation, "warning", scope, f"logged at level {level}")
    is_unfinished = observation.is_exception and observation.statement.class_name is None and not observation.relayed
    if match is None and is_unfinished:
        return Ranked(observation, "consequence", scope, UNFINISHED)
    if match is None and observation.statement.event.kind == "usage" and "error:" not in observation.message:
        return Ranked(observation, "consequence", scope, UNFINISHED)
    if match is None and (observation.statement.class_name or "").endswith(_INTERRUPTED):
        return Ranked(observation, "harmless" if run.complete else "consequence", scope, ENDED)
    if match is None and _is_ended_by_others(observation) and run.complete:
        return Ranked(observation, "harmless", scope, ENDED)
    quoted = run.progress > observation.last_line or not _is_raised_in_vllm(observation)
    if scope == "startup" and run.complete and run.complete < observation.place and quoted:
        return Ranked(observation, "warning", scope, "speaks of a start, but this one was complete")
    if scope in ("startup", "engine") and run.complete > observation.last_line:
        return Ranked(observation, "warning", scope, "start-up went on and completed")
    if scope == "engine" and run.progress > observation.last_line:
        return Ranked(observation, "warning", scope, "requests were served afterwards")
    if match is None and not observation.is_exception and run.progress > observation.last_line:
        return Ranked(observation, "warning", scope, "requests were served afterwards")
    if match is not None and match.cause.role != "root_cause":
        return Ranked(observation, match.cause.role, scope, f"its record says {match.cause.role}")
    return None


def _is_named_above(observation: Observation, named: Collection[str]) -> bool:
    """Whether an outer exception of the observation's chain is among some texts."""
    index = observation.statement.index
    if index is None:
        return False
    return any(raised.message in named for raised in observation.statement.event.raised[index + 1 :])


def _is_raised_in_vllm(observation: Observation) -> bool:
    return observation.record.level in ("ERROR", "CRITICAL") or bool(observation.frames)


def scope_of(observation: Observation, run: RunState) -> Scope | None:
    """What failed: the record's word, else by the process and by whether start-up was complete."""
    if observation.match is not None and (scope := observation.match.cause.scope) is not None:
        # The start makes requests too: it loads the adapters that are given with --lora-modules.
        return "startup" if scope == "request" and run.unready and not run.complete else scope
    if not run.complete or observation.place < run.complete:
        return "startup" if run.started or observation.stage else None
    if observation.stage == "":
        return "engine" if observation.is_native else "request"
    return "request" if observation.stage == "api" else "engine"


def _priority(observation: Observation, field: _Field, run: RunState) -> tuple[float, ...]:
    """The smaller the nearer to the cause."""
    outranked = any(other is not observation and _beats(other, observation) for other in field.known)
    # A record's exception is the one to name in its chain, even where an unknown one lies deeper.
    outranked = outranked or (observation.match is None and _is_named_above(observation, field.named))
    # What native code says before Python notices is what Python's exception follows from.
    native = observation.is_native and observation.order < field.first_raised
    if observation.is_last_resort:
        strength = 4
    elif observation.known:
        # A known error of the API server that comes after a worker's or engine's own exception follows from that.
        strength = 2 if observation.stage == "api" and field.first_below < observation.order else 0
    elif _is_ended_by_others(observation):
        strength = 5
    elif observation.is_exception or native:
        strength = 1
    else:  # an ERROR line is stronger than text that is merely marked as an error
        strength = 2 if observation.record.level else 3
    # A dead server comes before a rejected request; an unknown line of no known scope does not count as a dead server.
    scope = scope_of(observation, run)
    fatal = scope in ("startup", "engine", "host") or (observation.known and scope is None)
    return (
        outranked,
        not fatal,
        strength,
        not native,
        observation.statement.index or 0,
        -observation.depth,
        *observation.order,
    )


def _beats(one: Observation, other: Observation) -> bool:
    """Whether a record says that it explains the other's."""
    if one.match is None or other.match is None or one.slug == other.slug:
        return False
    if other.slug in one.match.cause.outranks:
        return True
    return one.slug in other.match.cause.consequence_of or ANY in other.match.cause.consequence_of


def _explained(other: Observation, root: Observation, run: RunState) -> str | None:
    """Why an observation follows from a root cause; None where it stands by itself."""
    if other.statement.event is root.statement.event:
        return "of the same chain, and further from its beginning"
    if _beats(root, other):
        return f"its record says that it follows from {root.slug}"
    if root.message and len(root.message) > 8 and root.message[:120] in other.statement.text:
        return "it quotes the root cause"
    if other.known and scope_of(other, run) in ("request", "client"):
        return None  # a rejected request stands by itself, whatever else failed
    if scope_of(root, run) in ("request", "client"):
        return "an error that no record knows, beside a rejected request"
    return "another process or a later line of the same failure"


def _why_root(observation: Observation) -> str:
    where = f"in the {observation.stage} process" if observation.stage else "in the log"
    if observation.known:
        return f"the first known cause {where}"
    return f"the first and innermost error {where}; no record knows it"


def _one_per_failure(roots: list[Ranked]) -> list[Ranked]:
    """Count the same failure in several runs (a restart loop) as one, the last attempt's."""
    kept: dict[tuple[str | None, str], Ranked] = {}
    for ranked in roots:
        observation = ranked.observation
        key = (observation.slug, observation.message if observation.slug is None else "")
        if observation.slug is not None and observation.match is not None:
            key = (observation.slug, repr(sorted(observation.match.captures.items())))
        if key in kept:
            kept[key].observation.copies.append(observation)
        else:
            kept[key] = ranked
    return list(kept.values())
