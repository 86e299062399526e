#!/usr/bin/env python3
"""Provoke failures on a real vLLM, ask vllm-triage, apply its first fix as printed, and see whether it works.

    python tests/real/loop.py ENV --model DIR [--only NAME] [--table FILE]

ENV is a virtual environment with vLLM, DIR a small model folder without weights. README.md beside this file says what
is proven and how a row is added; the outcome of every row goes into RESULTS.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import asking
import judge
import results
import runs
import table
from results import Result


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Loop:
    """The rows of a table against one vLLM."""

    def __init__(self, vllm: runs.Vllm, model: Path, triage: str, logs: Path, scratch: Path) -> None:
        """Name what is used.

        Args:
            vllm: the vLLM.
            model: the model folder.
            triage: the vllm-triage to ask.
            logs: where logs are kept.
            scratch: a folder for model copies.
        """
        self.vllm = vllm
        self.release = vllm.release()
        self.model = model
        self.triage = triage
        self.logs = logs
        self.scratch = scratch

    def command(self, row: table.Row, port: int) -> str:
        """The shell command of a row."""
        model = table.make_model(self.model, row.model, self.scratch / "models" / row.name)
        text = row.raw or f"vllm serve {model}"
        if not row.raw:
            text += "" if "--load-format" in row.arguments else " --load-format dummy"
            text += f" --enforce-eager --port {port} {row.arguments}"
        for name, value in (("model", model), ("port", port), ("folder", self.scratch / "models" / row.name)):
            text = text.replace(f"{{{name}}}", str(value))
        return text.strip()

    def attempt(self, row: table.Row, command: str, port: int, log: Path) -> runs.Outcome:
        """Run a command in the way of a row's kind."""
        text = f"{row.before.replace('{port}', str(port))}\n{command}"
        if row.kind == "config" and not row.cold:
            return self.vllm.try_config(text, row.environment, log)
        return self.vllm.try_start(text, row.environment, log, row.cold, port)

    def by_hand(self, row: table.Row) -> table.Row:
        """The row with the step of a fix carried out."""
        changes = {key: value for key, value in row.by_hand.items() if key not in ("says", "without")}
        kept = row.arguments
        for words in row.by_hand.get("without", []):
            kept = kept.replace(words, "")
        changes["arguments"] = f"{kept} {changes.get('arguments', '')}".strip()
        changes["environment"] = {**row.environment, **changes.get("environment", {})}
        return dataclasses.replace(row, **changes)

    def start_row(self, row: table.Row) -> Result:
        """Provoke, triage, fix and try again, for a row of kind ``config`` or ``start``."""
        port = free_port()
        failed = self.command(row, port)
        log = self.logs / f"{row.name}-{self.release}.log"
        first = self.attempt(row, failed, port, log)
        if first.passed:
            return Result(row, self.release, "", "", False, f"not provoked: {first.seen}")
        verdict = judge.triage(log, self.triage)
        if verdict.slug != row.expect:
            named = verdict.slug or f"none ({verdict.title})"
            return Result(row, self.release, named, verdict.printed, False, f"wrong cause; the log ends: {first.seen}")
        fixed_log = log.with_suffix(".fixed.log")
        beside: list[str] = []
        if verdict.command.startswith("--"):
            second = self.attempt(row, judge.with_flags(failed, verdict.fix), port, fixed_log)
            how = "put into the command, which the log does not show: "
        elif verdict.installs and not row.by_hand:
            return Result(
                row, self.release, verdict.slug, verdict.printed, False, results.NOT_TRIED + "it installs packages"
            )
        elif verdict.command and not row.by_hand:
            beside = judge.changed_beside_fix(failed, verdict.command, verdict.fix)
            second = self.attempt(row, verdict.command, port, fixed_log)
            how = ""
        elif row.by_hand:
            mended = self.by_hand(row)
            second = self.attempt(mended, self.command(mended, port), port, fixed_log)
            how = f"by hand: {row.by_hand['says']}; "
        else:
            return Result(
                row,
                self.release,
                verdict.slug,
                verdict.printed,
                False,
                results.NOT_TRIED + "it has steps and no command",
            )
        if beside:
            return Result(
                row, self.release, verdict.slug, verdict.printed, False, f"{second.seen}; changed: {'; '.join(beside)}"
            )
        return Result(row, self.release, verdict.slug, verdict.printed, second.passed, how + second.seen)

    def run(self, rows: list[table.Row]) -> Iterator[Result]:
        """Run rows, one command at a time, and give each result as it comes."""
        for row in rows:
            if row.kind != "request":
                yield self.start_row(row)
        requests = sorted((row for row in rows if row.kind == "request"), key=asking.server_of)
        for _server, group in groupby(requests, key=asking.server_of):
            yield from asking.ask_rows(self, list(group), free_port())


def main() -> int:
    """Run the loop; 0 when every row passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("environment", type=Path, metavar="ENV", help="virtual environment with vLLM")
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help="model folder to copy from")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this row, or all rows of this kind")
    parser.add_argument("--table", type=Path, action="append", metavar="FILE", help="rows (default: all tables)")
    parser.add_argument("--logs", type=Path, help="keep the logs in this folder")
    parser.add_argument("--results", type=Path, default=results.KEPT, help="where outcomes are kept")
    parser.add_argument(
        "--triage", default=str(Path(sys.executable).with_name("vllm-triage")), help="the vllm-triage to ask"
    )
    options = parser.parse_args()
    # Ended by a signal, the run still stops the servers that it has started.
    signal.signal(signal.SIGTERM, lambda *_signal: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="real-") as name:
        scratch = Path(name)
        logs = (options.logs or scratch / "logs").absolute()
        logs.mkdir(parents=True, exist_ok=True)
        with runs.Vllm(options.environment.absolute(), scratch) as vllm:
            loop = Loop(vllm, options.model.absolute(), options.triage, logs, scratch)
            rows = [row for row in table.read(options.table) if row.fits(loop.release)]
            if options.only:
                rows = [row for row in rows if row.name in options.only or row.kind in options.only]
            done: list[Result] = []
            begun = time.monotonic()
            for result in loop.run(rows):
                seconds, begun = time.monotonic() - begun, time.monotonic()
                print(f"{result.word():9} {seconds:4.0f} s  {result.line()}", flush=True)
                done.append(result)
                results.keep(options.results, done, known=table.read())
    print(f"{sum(result.passed for result in done)} of {len(done)} passed on {loop.release}")
    return 0 if done and all(result.passed for result in done) else 1


if __name__ == "__main__":
    sys.exit(main())
