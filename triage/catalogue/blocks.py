"""The code blocks under a page's "Example fix": the fix, its validation, the try/catch.

Pages have them one after the other, unlabelled, with one blank line between; blank lines stand
inside them too. What tells them apart: the fix runs up to its last part marked ``# after`` (or
"good", "fixed", ...), an indented part goes on with the block before it, the try/catch starts with
``try``. Blocks that this would not split as they were are written in labelled fences.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Blocks(NamedTuple):
    """The blocks of a record, None for one that it lacks."""

    fix: str | None = None
    validation: str | None = None
    try_catch: str | None = None
    type_guard: str | None = None


_LABELS = ("fix", "validation", "try-catch", "type-guard")
_MARKER = re.compile(
    r"\s*(?:#|//|--|<!--|/\*)\s*(?:\w+:\s*)?"
    r"(?:before|after|bad|good|wrong|right|broken|fixed|correct(?:ed)?|incorrect|or|option|alternative)\b",
    re.IGNORECASE,
)
_TRY = re.compile(r"(?:try\s*[:{]|async\s+try\b)", re.MULTILINE)
_TRY_LEAD = re.compile(r"(?:#|//|import\b|from\b)")
_FENCE = re.compile(r"(`{3,})([\w-]*)\s*")


def split_blocks(text: str) -> Blocks:
    """Tell the blocks of a section apart.

    Args:
        text: the section, without the blank lines around it.

    Returns:
        The blocks as they stand, blank lines inside them kept.
    """
    if _FENCE.match(text):
        return _fenced(text)
    parts = _parts(text)
    if not parts:
        return Blocks()
    # The first block is the fix even where it is a try statement itself.
    catch = next((i for i, part in enumerate(parts) if i and _starts_try(part)), len(parts))
    marked = [index for index, part in enumerate(parts[:catch]) if _MARKER.match(part)]
    end = (marked[-1] if marked else 0) + 1
    return Blocks(_joined(parts[:end]), _joined(parts[end:catch]), _joined(parts[catch:]))


def join_blocks(blocks: Blocks) -> str:
    """Write blocks one after the other, in fences where they could not be told apart again.

    Args:
        blocks: the blocks.

    Returns:
        The section's text, empty where there are none.
    """
    plain = "\n\n".join(block for block in blocks if block is not None)
    if split_blocks(plain) == blocks and _FENCE.match(plain) is None:
        return plain
    longest = max((len(run) for run in re.findall(r"`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n\n".join(
        f"{fence}{label}\n{block}\n{fence}" for label, block in zip(_LABELS, blocks, strict=True) if block is not None
    )


def _parts(text: str) -> list[str]:
    """Cut at single blank lines before a line that is not indented; two blank lines are inside a block."""
    if not text:
        return []
    parts: list[str] = []
    start = 0
    for found in re.finditer(r"(?<!\n)\n\n(?=\S)", text):
        if text[start : found.start()].strip():
            parts.append(text[start : found.start()])
            start = found.end()
    parts.append(text[start:])
    return parts


def _starts_try(part: str) -> bool:
    """Whether a part opens with a try statement, comments and imports before it aside."""
    for line in part.split("\n"):
        if _TRY.match(line):
            return True
        if not _TRY_LEAD.match(line) or _MARKER.match(line):
            return False
    return False


def _joined(parts: list[str]) -> str | None:
    return "\n\n".join(parts) if parts else None


def _fenced(text: str) -> Blocks:
    """Fenced blocks by label; those with another label (a language) in order."""
    labelled: dict[str, str] = {}
    others: list[str] = []
    lines = text.split("\n")
    index = 0
    while index < len(lines):
        opening = _FENCE.fullmatch(lines[index])
        index += 1
        if opening is None:
            continue
        start = index
        while index < len(lines) and lines[index].rstrip() != opening[1]:
            index += 1
        block = "\n".join(lines[start:index])
        index += 1
        if opening[2] in _LABELS:
            labelled[opening[2]] = block
        else:
            others.append(block)
    for block in others:
        free = [label for label in _LABELS if label not in labelled]
        wanted = "try-catch" if labelled and _starts_try(block) else free[0] if free else "fix"
        labelled[wanted] = f"{labelled[wanted]}\n\n{block}" if wanted in labelled else block
    return Blocks(*(labelled.get(label) for label in _LABELS))
