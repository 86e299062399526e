"""Texts are compared without what Markdown, word processors and wraps change, with a way back to the original."""

from __future__ import annotations

import pytest

from triage.match.folding import fold, fold_literal

MESSAGE = '`--max-num-seqs` can\'t exceed "max_num_batched_tokens" (64)'


@pytest.mark.parametrize(
    "text",
    [
        MESSAGE.upper(),
        MESSAGE.replace("`", ""),
        MESSAGE.replace("_", "\\_"),
        MESSAGE.replace("_", "*"),
        MESSAGE.replace("_", ""),
        MESSAGE.replace("'", "\u2019").replace('"', "\u201c"),
        MESSAGE.replace(" ", "\n"),
        MESSAGE.replace(" ", "\u00a0"),
        MESSAGE.replace("(", "\uff08").replace(")", "\uff09"),
        MESSAGE.replace("max", "ma\u200bx\u00ad"),
        MESSAGE.replace("-max", "\u2010max"),
    ],
)
def test_damage_folds_away(text: str) -> None:
    """Each kind of damage leaves the folded text as it is."""
    assert fold(text).text == fold_literal(MESSAGE)


def test_way_back() -> None:
    """A span of the folded text gives the original's characters, damage and all."""
    folded = fold("max\\_num seqs (2\n56)")
    at = folded.text.index("256")
    assert folded.span(at, at + 3) == "2\n56"
    assert folded.span(0, 3) == "max"
    assert folded.span(3, 3) == ""


def test_numbers_and_words_stay_apart() -> None:
    """What tells messages apart survives."""
    assert fold("a-1").text != fold("a1").text
    assert fold("1.5").text != fold("15").text
