"""The same failure, wrapped, coloured, cut into chunks and interleaved in two hundred ways, gives the same verdict."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from triage import catalogue
from triage.model import Report
from triage.pipeline import Settings, Source, Triage

SAMPLES = Path(__file__).parent.parent / "samples"
FAILURE = (SAMPLES / "batched-tokens-below-num-seqs" / "positive.log").read_text(encoding="utf-8")
HEALTHY = [f'(APIServer pid=77) INFO:     192.0.2.9:{4000 + n} - "GET /metrics HTTP/1.1" 200 OK' for n in range(20)] + [
    "(APIServer pid=77) WARNING 11-30 14:15:02 [api_server.py:1213] LoRA dynamic loading & unloading is enabled in the API server."
]
KNOWN = catalogue.load()
Wrap = Callable[[int, str], str]
ENVELOPES: list[Wrap] = [
    lambda n, line: f"2026-11-30T14:15:{n % 60:02}.{n:09}Z {line}",
    lambda n, line: f"[2026-11-30T14:15:{n % 60:02}Z] {line}",
    lambda n, line: f"vllm-1  | {line}",
    lambda n, line: f"[pod/vllm-0/vllm] {line}",
    lambda n, line: f"2026-11-30T14:15:{n % 60:02}.{n:09}Z stderr F {line}",
    lambda n, line: f"Nov 30 14:15:{n % 60:02} host vllm[4242]: {line}",
    lambda n, line: f"[rank0]: {line}",
    lambda n, line: f"> {line}",
    lambda n, line: f"\x1b[36m(RayWorkerWrapper pid=9, ip=192.0.2.11)\x1b[0m {line}",
    lambda n, line: json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-30T14:15:02.1Z"}),
    lambda n, line: f"[2026/11/30 14:15:{n % 60:02}] [/bin/sh]: {line}",
]


def triaged(chunks: list[bytes]) -> Report:
    class Pieces(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            return chunks.pop(0) if chunks else b""

    triage = Triage(KNOWN, Settings())
    for _ in triage.read(Source("stdin", Pieces())):  # type: ignore[arg-type]
        pass
    return triage.report()


@pytest.mark.parametrize("seed", range(200))
def test_same_verdict(seed: int) -> None:
    """Envelopes nest, a terminal wraps, colours come and go, chunks end anywhere, a healthy process writes in between."""
    dice = random.Random(seed)
    lines = FAILURE.splitlines()
    if dice.random() < 0.5:  # a healthy process of another server in the same stream
        at = sorted(dice.sample(range(len(lines)), 8), reverse=True)
        for place in at:
            lines.insert(place, dice.choice(HEALTHY))
    for envelope in dice.sample(ENVELOPES, dice.choice([0, 1, 1, 2, 2, 3])):
        lines = [envelope(n, line) for n, line in enumerate(lines, 1)]
    if dice.random() < 0.3:
        width = dice.choice([100, 120, 140, 160, 200])
        if not any(line.startswith("{") for line in lines):  # nobody reads JSON off a terminal's wrap
            lines = [line[at : at + width] for line in lines for at in range(0, max(len(line), 1), width)]
    if dice.random() < 0.3:
        lines = [f"\x1b[31m{line}\x1b[0m" for line in lines]
    data = dice.choice(["\n", "\r\n"]).join(lines).encode() + b"\n"
    cuts = sorted(dice.sample(range(1, len(data)), dice.choice([0, 1, 5, 40])))
    chunks = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
    report = triaged(chunks)
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [root.record.slug for root in roots if root.record] == ["batched-tokens-below-num-seqs"]
    assert len(roots) == 1
    assert roots[0].captures == triaged([FAILURE.encode()]).findings[0].captures
    assert report.status == "cause_found"
