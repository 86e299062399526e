"""Prefixes that are told by their regularity only: the same shape in front of line after line.

Some are known by their form but would be text in a single line (a line number, a task's number, a bare clock, stern's
pod and container); others nobody knows (a service name, a script's tag). Both are taken off only where at least five
neighbouring lines agree, half of the lines have it, and what it covers is plainly a log: behind it, some line begins
like a traceback, a frame or a prefix of vLLM's. Its width is fixed by its last delimiter, so indentation survives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import regex

from triage.read.prefix import CLOCK

AGREEING = 5
"""Neighbouring lines that have to agree."""

LONGEST = 120
"""Characters that such a prefix may have."""

DEEPEST = 3
"""Prefixes, one inside the other, that are looked for."""

Peel = Callable[[str], tuple[str, bool]]
"""Takes the known carriers off a text; also says whether what is left begins with a prefix of vLLM's own."""


class Agreed(NamedTuple):
    """A prefix where neighbours agree; n: a group that has to count upwards; key: one that has to repeat."""

    name: str
    pattern: regex.Pattern[str]
    examples: tuple[str, ...]


def _agreed(name: str, pattern: str, *examples: str) -> Agreed:
    return Agreed(name, regex.compile(pattern), examples)


_POD = r"(?P<pod>[a-z0-9][a-z0-9.]*-[a-z0-9.-]*)"
# Where the blank behind a colon belongs to the prefix, all lines have it; so that form is tried first.
AGREED: tuple[Agreed, ...] = (
    _agreed("cat -n and nl", r" *(?P<n>\d{1,7})\t", "     {n}\tTEXT"),
    _agreed("a tab", r"\t", "\tTEXT"),
    _agreed("an editor's gutter", r" *(?P<n>\d{1,7}) ?[|│](?: |$)", "  {n} | TEXT", " {n} │ TEXT"),
    _agreed("a number and a colon", r" *(?P<n>\d{1,7}):(?: |$)", "{n}: TEXT"),
    _agreed("grep -n", r"(?P<n>\d{1,7})[:-]", "{n}:TEXT", "{n}-TEXT"),
    _agreed("less -N", r" *(?P<n>\d{1,7})(?: |$)", "      {n} TEXT"),
    _agreed("srun --label", r" *(?P<rank>\d{1,5}): ?", "0: TEXT", " 3: TEXT"),
    _agreed(
        "stern, all namespaces", rf"[a-z][a-z0-9-]* {_POD} (?P<key>[a-z][a-z0-9-]*)(?: |$)", "prod vllm-0 vllm TEXT"
    ),
    _agreed(
        "stern", rf"{_POD} (?:› )?(?P<key>[a-z][a-z0-9-]*)(?: |$)", "vllm-7d9f-x2k vllm TEXT", "vllm-0 › server TEXT"
    ),
    _agreed(
        "a clock",
        rf"\[?(?P<time>{CLOCK})\]?(?: [|-])?(?: |\t|$)",
        "2026-11-30 14:15:0{n} TEXT",
        "2026-11-30 14:15:02,12{n} - TEXT",
        "[2026-11-30T14:15:02.12{n}] TEXT",
        "30/Nov/2026:14:15:02 +0000 TEXT",
        "11/30/2026 02:15:02 PM TEXT",
        "1764512102.12{n} TEXT",
        "1764512102123 TEXT",
    ),
    _agreed("BuildKit, its seconds alone", r"\d{1,5}\.\d{1,3} ", "7.91{n} TEXT"),
    _agreed("pdsh and DeepSpeed", r"(?P<pod>(?=[\w.-]*\d)[a-z0-9][\w.-]*): ", "gpu-node-3: TEXT", "192.0.2.7: TEXT"),
)

_DELIMITER = regex.compile(r"(?:\]:|\]|\)|\||:|>>|>| -|,|\t) ?(?=\S| |$)|(?<=\d) ")
_DIGITS = regex.compile(r"\d+")
_PROOF = regex.compile(r"Traceback \(most recent call last\):|  File \"[^\"]+\", line \d+")
_RAISED = regex.compile(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): \S")


def learn(texts: Sequence[str], peel: Peel) -> tuple[regex.Pattern[str], ...]:
    """Find the prefixes of a stretch of log that only its regularity tells.

    Args:
        texts: lines, escape sequences off.
        peel: takes known prefixes off.

    Returns:
        Patterns, the outermost first; empty in most cases.
    """
    found: list[regex.Pattern[str]] = []
    rest = [text for text in texts if text.strip()]
    if len(rest) < AGREEING:
        return ()
    for _ in range(DEEPEST):
        peeled = [peel(text) for text in rest]
        if 2 * sum(proven for _, proven in peeled) > len(peeled):
            break
        pattern = _agreed_pattern(peeled, peel) or _unknown_pattern(peeled, peel)
        if pattern is None:
            break
        found.append(pattern)
        rest = [text[match.end() :] if (match := pattern.match(text)) else text for text, _ in peeled]
        rest = [text for text in rest if text.strip()]
    return tuple(found)


def is_log(text: str, peel: Peel) -> bool:
    """Whether a text is plainly a line of a log: a traceback, a frame, or a prefix of vLLM's own at its beginning."""
    return _PROOF.match(text) is not None or peel(text)[1]


def _agreed_pattern(peeled: Sequence[tuple[str, bool]], peel: Peel) -> regex.Pattern[str] | None:
    for row in AGREED:
        matches = [None if proven else row.pattern.match(text) for text, proven in peeled]
        hits = [(match, match.string[match.end() :]) for match in matches if match is not None]
        if 2 * len(hits) < len(peeled) or not _agree(matches, row.pattern):
            continue
        if not any(is_log(rest, peel) or _RAISED.match(rest) for _, rest in hits):
            continue
        if "key" not in row.pattern.groupindex:
            return row.pattern
        keys = sorted(key for key, count in Counter(match["key"] for match, _ in hits).items() if count >= AGREEING)
        return regex.compile(row.pattern.pattern.replace("[a-z][a-z0-9-]*)(?: |$)", f"{'|'.join(keys)})(?: |$)"))
    return None


def _agree(matches: Sequence[regex.Match[str] | None], pattern: regex.Pattern[str]) -> bool:
    """Whether at least five neighbours have a prefix, counting upwards or repeating a word where it is to."""
    counts, repeats = "n" in pattern.groupindex, "key" in pattern.groupindex
    longest = run = 0
    before: regex.Match[str] | None = None
    for match in matches:
        if match is None:
            run = 0
        elif before is None or not run:
            run = 1
        else:
            agrees = (not counts or int(match["n"]) > int(before["n"])) and (
                not repeats or match["key"] == before["key"]
            )
            run = run + 1 if agrees else 1
        longest, before = max(longest, run), match
    return longest >= AGREEING


def _unknown_pattern(peeled: Sequence[tuple[str, bool]], peel: Peel) -> regex.Pattern[str] | None:
    counts: Counter[str] = Counter()
    neighbours: Counter[str] = Counter()
    proven: set[str] = set()
    before: set[str] = set()
    for text, known in peeled:
        shapes = set()
        if not known and not _PROOF.match(text):
            for delimiter in _DELIMITER.finditer(text[:LONGEST]):
                shape = _DIGITS.sub("0", text[: delimiter.end()])
                if "0" not in shape and not shape.startswith("["):
                    continue  # words with a colon behind them are text; a prefix counts or is bracketed
                shapes.add(shape)
                if shape not in proven and is_log(text[delimiter.end() :], peel):
                    proven.add(shape)
        for shape in shapes:
            counts[shape] += 1
            if shape in before:
                neighbours[shape] += 1
        before = shapes
    good = [s for s in proven if neighbours[s] >= AGREEING - 1 and counts[s] * 2 >= len(peeled)]
    if not good:
        return None
    shape = max(good, key=lambda s: (counts[s], len(s)))
    body = _DIGITS.sub(r"\\d+", regex.escape(shape.rstrip(" "), special_only=True, literal_spaces=True))
    # A line without text keeps the prefix and loses the blank behind it.
    return regex.compile(body + ("(?: |$)" if shape.endswith(" ") else ""))
