"""Rows of kind ``request``: one server for all rows that start it in the same way, then the servers of their fixes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import judge
import results
import runs
import table
from results import Result

if TYPE_CHECKING:
    from loop import Loop

SETTLE_S = 1.0
"""The server writes its line on a request after the answer has gone out."""


def server_of(row: table.Row) -> str:
    """Rows with the same text share a server."""
    return json.dumps([row.arguments, row.environment, row.model, row.before, row.cold], sort_keys=True)


def ask(row: table.Row, port: int, request: dict[str, Any] | None = None) -> tuple[int, str]:
    """Send the row's request (or another); the model is the first one served, unless the body names one."""
    asked = {**row.request, **(request or {})}
    body = asked["body"]
    if isinstance(body, dict) and "model" not in body:
        status, served = runs.send(port, "/v1/models", None, asked.get("headers"))
        body = {"model": json.loads(served)["data"][0]["id"] if status == 200 else "unnamed", **body}
    return runs.send(port, asked["path"], body, asked.get("headers"))


def ask_rows(loop: Loop, rows: list[table.Row], port: int) -> Iterator[Result]:
    """Provoke all rows on one server; fixes in the client are tried there, fixes of the server on a new one."""
    command = loop.command(rows[0], port)
    log = loop.logs / f"{rows[0].name}-{loop.release}.server.log"
    later: list[tuple[table.Row, judge.Verdict]] = []
    environment = loop.vllm.settings(rows[0].environment, rows[0].cold, None)
    with runs.Server(f"{rows[0].before}\n{command}", environment, log) as server:
        if not server.wait(runs.STARTED, 300):
            for row in rows:
                yield Result(row, loop.release, "", "", False, f"the server did not start: {server.last_line()}")
            return
        begin = log.read_bytes()
        for row in rows:
            outcome = provoke(loop, row, port, log, begin)
            if isinstance(outcome, Result):
                yield outcome
            elif row.by_hand.get("request"):
                status, reply = ask(row, port, row.by_hand["request"])
                seen = f"by hand: {row.by_hand['says']}; " + (
                    "the request is served" if status == 200 else f"{status} {reply[:160]}"
                )
                yield Result(row, loop.release, outcome.slug, outcome.printed, status == 200, seen)
            else:
                later.append((row, outcome))
    for row, verdict in later:
        yield on_new_server(loop, row, verdict, command, port)


def provoke(loop: Loop, row: table.Row, port: int, log: Path, begin: bytes) -> Result | judge.Verdict:
    """Send the request and triage what the server wrote; where that is nothing, what the client got."""
    offset = log.stat().st_size
    status, reply = ask(row, port)
    time.sleep(SETTLE_S)
    if status == 200:
        return Result(row, loop.release, "", "", False, "not provoked: the request is served")
    kept = loop.logs / f"{row.name}-{loop.release}.log"
    kept.write_bytes(begin + log.read_bytes()[offset:])
    answer = kept.with_suffix(".client.log")
    answer.write_text(reply + "\n")
    verdict = judge.triage(kept, loop.triage)
    if not verdict.slug:
        verdict = judge.triage(answer, loop.triage)
    if verdict.slug != row.expect:
        named = verdict.slug or f"none ({verdict.title})"
        return Result(
            row, loop.release, named, verdict.printed, False, f"wrong cause; the client got {status} {reply[:200]}"
        )
    return verdict


def on_new_server(loop: Loop, row: table.Row, verdict: judge.Verdict, failed: str, port: int) -> Result:
    """Start a server with the fix, and send the same request."""
    beside: list[str] = []
    how = ""
    if row.by_hand:
        row_again = loop.by_hand(row)
        fixed, how = loop.command(row_again, port), f"by hand: {row.by_hand['says']}; "
        environment = row_again.environment
    elif verdict.command and "vllm serve" in verdict.command:
        fixed, environment = verdict.command, row.environment
        if row.expect and "<" not in fixed:
            beside = judge.changed_beside_fix(failed, fixed, verdict.fix)
    elif verdict.fix.get("set"):
        words = [f"{flag} {value}" for flag, value in verdict.fix["set"].items()]
        fixed, environment = f"{failed} {' '.join(words)}", row.environment
        how = "flags of the fix added to the command; "
    else:
        return Result(
            row, loop.release, verdict.slug, verdict.printed, False, results.NOT_TRIED + "it has steps and no command"
        )
    log = loop.logs / f"{row.name}-{loop.release}.fixed.log"
    with runs.Server(f"{row.before}\n{fixed}", loop.vllm.settings(environment, row.cold, None), log) as server:
        if not server.wait(runs.STARTED, 300):
            seen = f"{how}the server of the fix did not start: {server.last_line()}"
            return Result(row, loop.release, verdict.slug, verdict.printed, False, seen)
        status, reply = ask(row, port)
    seen = f"{how}{'starts, the request is served' if status == 200 else f'{status} {reply[:160]}'}"
    if beside:
        seen += f"; changed: {'; '.join(beside)}"
    return Result(row, loop.release, verdict.slug, verdict.printed, status == 200 and not beside, seen)
