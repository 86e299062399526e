"""How many messages of a release are found where they are emitted: ``python -m tests.source.evaluate``.

``--release 0.33.0 --sources DIR`` evaluates each message of the release unpacked in DIR (see `tests.source.messages`)
and runs it through the whole program in several dresses: as the last line of a traceback whose frames are lost ("bare"),
as vLLM's logger prints it ("logged"), in a traceback ("framed"). ``--negatives`` runs the INFO, DEBUG and WARNING messages
instead, which must not be taken for a failure. ``--sample N`` takes N of them, chosen by ``--seed``; ``--show N`` prints
N that were missed.
"""

from __future__ import annotations

import argparse
import gc
import io
import json
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from unittest import mock

from tests.source.messages import Said, messages
from triage import catalogue, match
from triage.model import Catalogue, Report
from triage.pipeline import Settings, Triage
from triage.read import Source

Outcome: TypeAlias = Literal["exact", "among", "none", "wrong", "untold"]
"""Where a message was found: at its place alone; among the places that its text stands at; nowhere; at wrong places
only. "untold": it has no letter of its own, and nothing but its text was given."""

QUIET = ("INFO", "DEBUG", "WARNING")
FORMS = ("bare", "logged", "framed")
_TAG = "(EngineCore_DP0 pid=4711) "


def dressed(said: Said, form: str) -> str:
    """A message as a log shows it.

    Args:
        said: the message.
        form: one of FORMS.
    """
    base = said.file.rpartition("/")[2]
    if said.kind == "log":
        head = "" if form == "bare" else f"{_TAG}{said.of} 05-01 10:00:00 [{base}:{said.line}] "
        return "".join(f"{head}{line}\n" for line in said.text.split("\n"))
    if said.kind == "response":
        if form == "bare":
            return f"{said.text}\n"
        body = {"error": {"message": said.text, "type": "BadRequestError", "param": None, "code": 400}}
        return f"{json.dumps(body)}\n"
    if said.kind == "warn":
        if form == "bare":
            return f"{said.text}\n"
        return f"/usr/lib/python3/site-packages/{said.file}:{said.line}: {said.of}: {said.text}\n  warnings.warn(\n"
    raised = f"{said.of}: {said.text}"
    if form == "bare":
        return f"{raised}\n"
    function = said.function.rpartition(".")[2] or "<module>"
    frames = [
        "Traceback (most recent call last):",
        '  File "/usr/lib/python3/site-packages/vllm/v1/engine/core.py", line 3, in run_engine_core',
        "    engine_core = EngineCoreProc(*args, **kwargs)",
    ]
    if form == "framed":
        frames += [f'  File "/usr/lib/python3/site-packages/{said.file}", line {said.line}, in {function}', "    raise"]
        return "\n".join([*frames, raised]) + "\n"
    head = f"{_TAG}ERROR 05-01 10:00:00 [core.py:1129] "
    return "".join(f"{head}{line}\n" for line in raised.split("\n"))


class Judge:
    """Runs messages through the program.

    Args:
        known: the catalogue.
        release: given as ``--vllm-version``.
    """

    def __init__(self, known: Catalogue, release: str) -> None:
        self._known = known
        self._matcher = match.Matcher(known)
        self._settings = Settings(vllm_version=release, show_all=True)

    def report(self, text: str) -> Report:
        """What the program says of a text."""
        # Indexing the catalogue takes longer than a message; one index serves them all.
        with mock.patch.object(match, "Matcher", return_value=self._matcher):
            triage = Triage(self._known, self._settings)
        for _ in triage.read(Source("stdin", io.BytesIO(text.encode("utf-8", "backslashreplace")))):
            pass
        return triage.report()

    def outcome(self, said: Said, form: str) -> tuple[Outcome, Report]:
        """Where a message is found."""
        report = self.report(dressed(said, form))
        place = f"{said.file}:{said.line}"
        located = [f"{f.location.file}:{f.location.line}" for f in report.findings if f.location is not None]
        among = [re.split(r"[ ,]", each)[0] for f in report.findings for each in f.candidates]
        own = said.kind == "own" and form != "framed"  # only the class's own line is told by its words
        if place in located or (
            own and f"{said.of}.__init__" in {f.location.function for f in report.findings if f.location}
        ):
            return "exact", report
        if place in among:
            return "among", report
        if not said.letters and form != "framed" and said.kind not in ("log", "warn"):
            return "untold", report
        return ("wrong" if located or among else "none"), report


def chosen(all_said: Sequence[Said], sample: int | None, seed: int) -> Sequence[Said]:
    """All messages, or a sample of them."""
    return all_said if sample is None or sample >= len(all_said) else random.Random(seed).sample(list(all_said), sample)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.source.evaluate")
    parser.add_argument("--release", required=True)
    parser.add_argument("--sources", type=Path, required=True, help="the folder that holds the release's vllm folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sample", type=int)
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--negatives", action="store_true")
    parser.add_argument("--show", type=int, default=0)
    args = parser.parse_args(argv)
    gc.disable()  # the trees of a thousand files, looked through again and again, take most of the time otherwise
    evaluated = list(messages(args.sources, args.seed))
    gc.enable()
    gc.freeze()
    if args.negatives:
        return negatives(evaluated, args)
    return positives(evaluated, args)


def positives(evaluated: Sequence[Said], args: argparse.Namespace) -> int:
    """Count where the messages at WARNING and above are found."""
    wanted = chosen(
        [s for s in evaluated if not (s.kind == "log" and s.of in ("INFO", "DEBUG"))], args.sample, args.seed
    )
    shared = Counter(_sound(each) for each in {(s.file, s.line): s for s in evaluated}.values())
    judging = Judge(catalogue.load(), args.release)
    for form in args.forms.split(","):
        found: Counter[str] = Counter()
        alone = 0
        kinds: dict[str, Counter[str]] = {}
        missed = []
        for said in wanted:
            outcome, report = judging.outcome(said, form)
            found[outcome] += 1
            alone += outcome == "exact" or (outcome == "among" and shared[_sound(said)] > 1)
            kinds.setdefault(f"{said.kind} {said.of if said.kind == 'log' else ''}", Counter())[outcome] += 1
            if outcome in ("none", "wrong"):
                missed.append((outcome, said, report))
        total = sum(found.values())
        shares = ", ".join(f"{name} {count} ({100 * count / total:.2f} %)" for name, count in found.most_common())
        told = total - found["untold"]
        print(f"{args.release} {form}: {total} messages: {shares}", flush=True)
        print(f"    found {100 * (found['exact'] + found['among']) / told:.2f} % of those with a text of their own,")
        print(f"    alone or among places with the very same text {100 * alone / told:.2f} %")
        for kind, counts in sorted(kinds.items()):
            print(f"    {kind}: {dict(counts)}")
        for line in _shown(missed, args):
            print(line)
    return 0


def _sound(said: Said) -> tuple[str, str]:
    """What a message has in common with those of the same text: class or level, and its own letters."""
    return said.of if said.kind != "log" else "log", re.sub(r"[\W_]+", "", said.own).lower()


def _shown(missed: list[tuple[str, Said, Report]], args: argparse.Namespace) -> Iterator[str]:
    for outcome, said, report in random.Random(args.seed).sample(missed, min(args.show, len(missed))):
        got = [
            (
                f"{f.location.file}:{f.location.line}" if f.location else None,
                f.record and f.record.slug,
                f.site and f.site.template[:80],
                f.candidates[:3],
                f.role,
            )
            for f in report.findings[:3]
        ]
        yield f"  {outcome} {said.kind} {said.of} {said.file}:{said.line} ({said.letters}) {said.text[:160]!r}\n      {str(got)[:260]}"


def negatives(evaluated: Sequence[Said], args: argparse.Namespace) -> int:
    """Count the quiet messages that are taken for a failure although no record says so."""
    wanted = chosen([s for s in evaluated if s.kind == "log" and s.of in QUIET], args.sample, args.seed)
    judging = Judge(catalogue.load(), args.release)
    taken = 0
    for said in wanted:
        report = judging.report(dressed(said, "logged"))
        roots = [f for f in report.findings if f.role == "root_cause" and f.record is None]
        taken += bool(roots)
        if roots and args.show:
            print(f"  {said.file}:{said.line} {said.text[:200]!r} -> {roots[0].message[:200]!r}")
    print(f"{args.release} quiet: {len(wanted)} messages, {taken} taken for a failure")
    return int(bool(taken))


if __name__ == "__main__":
    sys.exit(main())
