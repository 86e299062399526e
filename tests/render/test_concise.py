"""One line for each finding."""

from __future__ import annotations

from dataclasses import replace

from report_examples import HOSTILE, SEED, SEED_REPORT, TAIL_ONLY

from triage.model import Fix
from triage.render import render


def test_a_line_is_place_label_title_slug_and_fix():
    """The form stays, for grep and for editors that jump to file:line."""
    fix = Fix("x", set={"--max-num-batched-tokens": 2048}, unset=("--y",), env={"A": 1, "B": None})
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),))
    assert render(report, "concise") == (
        "stdin:87: error: --max-num-batched-tokens (64) is lower than --max-num-seqs (256) "
        "[batched-tokens-below-num-seqs] fix: --max-num-batched-tokens 2048, drop --y, A=1, unset B\n"
    )


def test_a_variable_set_to_itself_is_no_change():
    """HF_TOKEN=$HF_TOKEN only carries a value that was taken out of the report: it changes nothing."""
    fix = Fix("log in", set={"--x": 1}, env={"HF_TOKEN": "$HF_TOKEN", "A": "${A}", "B": "$A"})
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),))
    assert render(report, "concise").endswith("fix: --x 1, B=$A\n")
    assert "HF_TOKEN" not in render(report, "text")


def test_a_fix_without_a_change_gives_its_title():
    """Host actions have no flags; the title stands in."""
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=(Fix("buy a GPU"),)),))
    assert render(report, "concise").endswith("fix: buy a GPU\n")


def test_a_finding_is_one_line_whatever_it_holds():
    """A line feed in a title or a source's name does not make a second line."""
    assert render(HOSTILE, "concise").count("\n") == 1


def test_insufficient_evidence_is_a_line_of_its_own():
    """What is missing comes first, then what there is."""
    lines = render(TAIL_ONLY, "concise").splitlines()
    assert lines[0].startswith("stdin: insufficient: not enough evidence")
    assert lines[1].startswith("stdin:2: error: ")
