"""The same failure, enveloped, wrapped, coloured, cut into chunks and interleaved in two hundred ways, gives one verdict."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from triage import catalogue
from triage.model import Finding, Report
from triage.pipeline import Settings, Source, Triage
from triage.read import strip_ansi
from triage.read.prefixes import PREFIXES

SAMPLES = Path(__file__).parent.parent / "samples"
FAILURES = ("batched-tokens-below-num-seqs", "kv-cache-smaller-than-one-request", "request-longer-than-context")
HEALTHY = [f'(APIServer pid=77) INFO:     192.0.2.9:{4000 + n} - "GET /metrics HTTP/1.1" 200 OK' for n in range(20)] + [
    "(APIServer pid=77) WARNING 11-30 14:15:02 [api_server.py:1213] LoRA dynamic loading & unloading is enabled in the API server."
]
KNOWN = catalogue.load()
Wrap = Callable[[int, str], str]

# Envelopes that say what a program printed (its level, process, place) stand inside those of containers and hosts, and
# change what is said: the composition takes those that only carry.
_SAYS = {"level", "process", "rank", "glog", "file", "line", "ends"}
CARRIERS = [
    (prefix.name, example)
    for prefix in PREFIXES
    if not _SAYS & set(prefix.pattern.groupindex)
    for example in prefix.examples
    if example.endswith("TEXT") and "pid=" not in example.replace("(pid=", "") and " P TEXT" not in example
]


def enveloped(example: str) -> Wrap:
    return lambda n, line: example.replace("TEXT", line)


def as_json(n: int, line: str) -> str:
    return json.dumps({"log": f"{line}\n", "stream": "stderr", "time": f"2026-11-30T14:15:{n % 60:02}.1Z"})


def of_a_script(n: int, line: str) -> str:
    """A prefix that is in no table."""
    return f"[2026/11/30 14:15:{n % 60:02}] [/bin/sh]: {line}"


def of_ray(n: int, line: str) -> str:
    return f"\x1b[36m(RayWorkerWrapper pid=9, ip=192.0.2.11)\x1b[0m {line}"


ENVELOPES: list[tuple[str, Wrap]] = [
    *((name, enveloped(example)) for name, example in CARRIERS),
    ("JSON", as_json),
    ("a script's own", of_a_script),
    ("Ray", of_ray),
]


@cache
def failure(slug: str) -> str:
    return (SAMPLES / slug / "positive.log").read_text(encoding="utf-8")


def triaged(chunks: list[bytes]) -> Report:
    class Pieces(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return chunks.pop(0) if chunks else b""

    triage = Triage(KNOWN, Settings())
    for _ in triage.read(Source("stdin", Pieces())):  # type: ignore[arg-type]
        pass
    return triage.report()


@cache
def untouched(slug: str) -> Finding:
    return triaged([failure(slug).encode()]).findings[0]


def squeezed(captures: object) -> str:
    """Captures without the blanks that wraps between words take or leave in texts."""
    return re.sub(r"\s", "", str(captures))


def composed(slug: str, dice: random.Random) -> tuple[list[str], list[str]]:
    """The failure's lines in random clothes, and what was done."""
    lines, done = failure(slug).splitlines(), []
    if dice.random() < 0.5:
        done.append("a healthy process in between")
        for place in sorted(dice.sample(range(len(lines)), 6), reverse=True):
            lines.insert(place, dice.choice(HEALTHY))
    is_wrapped = dice.random() < 0.3
    width = dice.choice([80, 90, 100, 117, 120, 132, 140, 160, 200, 250])
    if is_wrapped and dice.random() < 0.4:  # a viewer wraps, then puts its envelope before each piece
        done.append(f"wrapped at {width} inside")
        lines = wrapped(lines, width)
        is_wrapped = False
    for name, envelope in dice.sample(ENVELOPES, dice.choice([0, 1, 1, 2, 2, 3])):
        if name == "JSON" and any(step.startswith("wrapped") for step in done):
            continue  # no viewer makes JSON
        done.append(name)
        lines = [envelope(n, line) for n, line in enumerate(lines, 1)]
    if is_wrapped and "JSON" not in done:  # nobody reads JSON off a terminal's wrap
        done.append(f"wrapped at {width}")
        lines = wrapped(lines, width)
    # What folds text that has colours counts them as columns; nobody colours the pieces once more.
    if dice.random() < 0.3 and not ("Ray" in done and f"wrapped at {width}" in done):
        done.append("coloured")
        lines = [f"\x1b[31m{line}\x1b[0m" for line in lines]
    return lines, done


def wrapped(lines: list[str], width: int) -> list[str]:
    return [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]


@pytest.mark.parametrize("seed", range(200))
def test_same_verdict(seed: int) -> None:
    """Envelopes nest, a terminal wraps, colours come and go, chunks end anywhere, a healthy process writes in between."""
    dice = random.Random(seed)
    slug = FAILURES[seed % len(FAILURES)]
    lines, done = composed(slug, dice)
    data = dice.choice(["\n", "\r\n"]).join(lines).encode() + b"\n"
    cuts = sorted(dice.sample(range(1, len(data)), dice.choice([0, 1, 5, 40])))
    report = triaged([data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)])
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [root.record.slug if root.record else root.message for root in roots] == [slug], done
    assert squeezed(roots[0].captures) == squeezed(untouched(slug).captures), done
    assert report.status == "cause_found", done
    shown = {strip_ansi(line) for line in lines}
    assert roots[0].evidence
    assert [line for line in roots[0].evidence if line not in shown] == [], done


def test_all_carriers_are_taken() -> None:
    """The composition draws on the table of envelopes: what is added there takes part."""
    assert len({name for name, _ in CARRIERS}) >= 15
