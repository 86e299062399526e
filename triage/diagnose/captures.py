"""Captures that a message does not hold: taken from run facts, the chain, or neighbouring lines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import regex

from triage.model import CaptureSpec, Cause, Event, RunFacts, Scalar

SECONDS = 0.1
"""Time that one pattern of a record may take on one text."""

# PyTorch gives each size in the unit that suits it: a number is in the unit of its capture, whatever the text has.
_SIZES = {"bytes": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40}
# A model is a folder or a repository of the Hub; a plain name may be either.
_REPOSITORY = regex.compile(r"[A-Za-z0-9][\w.-]{0,95}/[\w.-]{1,96}", regex.ASCII)
_FOLDER = regex.compile(r"(?:\.{0,2}/|~/|[A-Za-z]:[\\/])(?!/)")
_SIZE = regex.compile(r"(-?[\d.]{1,20}) ?(bytes|[KMGT]iB)")


def from_facts(cause: Cause, facts: RunFacts) -> dict[str, Scalar]:
    """The cause's captures that come from run facts (sources "args", "engine", "run").

    A value that is no plain number, text or truth value is left out; so is one that the log does not show.
    """
    found: dict[str, Scalar] = {}
    for name, spec in cause.captures.items():
        places: dict[str, Mapping[str, object]] = {
            "args": {**facts.engine, **facts.args},
            "engine": facts.engine,
            "run": {
                "model": facts.model,
                "hub_model": facts.model if facts.model and _REPOSITORY.fullmatch(facts.model) else None,
                "model_folder": facts.model if facts.model and _FOLDER.match(facts.model) else None,
                "platform": facts.platform,
                "version": facts.vllm_version,
                "world_size": facts.world_size,
                "gpus": facts.gpus,
            },
        }
        if spec.source in places:
            value = places[spec.source].get(spec.key or name)
            if isinstance(value, (int, float, str, bool)):
                found[name] = _typed(str(value), spec) if isinstance(value, str) else value
    return found


def from_text(cause: Cause, event: Event, near: Sequence[str]) -> dict[str, Scalar]:
    """The cause's captures that come from the event's own text ("chain") or from lines of its run ("near").

    Args:
        cause: the cause.
        event: the event that it was found in.
        near: texts of the run's last records, the event's own among them; the nearest to the end counts.
    """
    found: dict[str, Scalar] = {}
    for name, spec in cause.captures.items():
        if spec.source not in ("chain", "near") or not spec.key:
            continue
        texts = [event.text] if spec.source == "chain" else reversed(near)
        match = next((match for text in texts if (match := _search(spec.key, text)) is not None), None)
        if match is not None:
            found[name] = _typed(match[1] if match.re.groups else match[0], spec)
    return found


def lacks_near(cause: Cause, known: Mapping[str, Scalar]) -> bool:
    """Whether a value that neighbouring lines may hold has not been found yet."""
    return any(spec.source == "near" and spec.key and name not in known for name, spec in cause.captures.items())


def from_following(cause: Cause, known: Mapping[str, Scalar], text: str) -> dict[str, Scalar]:
    """The cause's "near" captures that a line behind its message holds, less those that are known."""
    found: dict[str, Scalar] = {}
    for name, spec in cause.captures.items():
        if spec.source != "near" or not spec.key or name in known:
            continue
        if (match := _search(spec.key, text)) is not None:
            found[name] = _typed(match[1] if match.re.groups else match[0], spec)
    return found


def _search(pattern: str, text: str) -> regex.Match[str] | None:
    try:
        return regex.search(pattern, text, timeout=SECONDS)
    except TimeoutError:
        return None  # a value that cannot be told in time is one that the log does not show


def _typed(text: str, spec: CaptureSpec) -> Scalar:
    try:
        if spec.type == "int":
            return int(float(text.replace(",", "")))
        if spec.type == "float":
            size = _SIZE.fullmatch(text) if spec.unit in _SIZES else None
            if size is not None and spec.unit is not None:
                return float(size[1]) * _SIZES[size[2]] / _SIZES[spec.unit]
            return float(text.replace(",", ""))
    except (ValueError, OverflowError):
        return None
    return text
