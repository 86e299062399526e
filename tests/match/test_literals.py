"""Templates are found in damaged texts, and not in texts that merely look alike."""

from __future__ import annotations

import time

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from triage.catalogue.templates import parse_template
from triage.match.folding import fold, fold_literal
from triage.match.literals import Fit, fit
from triage.model import CaptureSpec

TEXT = "budget ({self.budget}) must be greater than or equal to seqs ({self.seqs}). See `docs`"
TEMPLATE = parse_template(TEXT)
SPECS = {"budget": CaptureSpec("budget", "int"), "seqs": CaptureSpec("seqs", "int")}
MESSAGE = "budget (64) must be greater than or equal to seqs (256). See `docs`"


def found(text: str, template: str = TEXT, **types: str) -> Fit | None:
    parsed = parse_template(template)
    specs = {hole.name: CaptureSpec(hole.name, types.get(hole.name, "str")) for hole in parsed.holes}  # type: ignore[arg-type]
    return fit(parsed, specs, fold(text))


@given(st.integers(1, len(MESSAGE) - 1), st.sampled_from(["\n", " ", "\n  ", "\r\n", "\\", "\u00a0"]))
def test_a_break_anywhere_does_not_matter(place: int, gap: str) -> None:
    """A line break, blanks or a backslash at any place of the text leave message and numbers whole."""
    got = fit(TEMPLATE, SPECS, fold(MESSAGE[:place] + gap + MESSAGE[place:]))
    assert got is not None
    assert got.whole
    assert dict(got.captures) == {"budget": 64, "seqs": 256}


@given(st.text(max_size=60), st.text(max_size=60))
def test_text_around_does_not_matter(before: str, after: str) -> None:
    """Whatever stands around the message, it is found; nothing crashes."""
    got = fit(TEMPLATE, SPECS, fold(before + MESSAGE + after))
    assert got is not None
    assert got.captures["seqs"] == 256


@given(st.integers(33, len(MESSAGE) - 1))
def test_a_cut_end_is_known_as_cut(place: int) -> None:
    """A text that ends inside the template fits it in part; a value that was cut away is None."""
    got = fit(TEMPLATE, SPECS, fold(MESSAGE[:place]))
    if MESSAGE[:place].endswith("`docs"):
        return  # the closing backtick folds away
    assert got is not None
    assert not got.whole
    assert got.captures["budget"] == 64
    assert got.captures["seqs"] in (None, 256)


def test_a_cut_beginning_is_known_as_cut() -> None:
    """A paste that lost the line before still fits by its end."""
    got = fit(TEMPLATE, SPECS, fold(MESSAGE[20:]))
    assert got is not None
    assert (got.whole, dict(got.captures)) == (False, {"budget": None, "seqs": 256})


@pytest.mark.parametrize(
    "text",
    [
        "budget (64) must be greater than or equal to seqs (many). See `docs`",  # no number
        "budget (64) is greater than or equal to seqs (256). See `docs`",
        "must be greater",
        "too few of them: the whole thing needs a sane budget (64) must be greater than or eq",  # begins inside a sentence
        "budget",
        "",
    ],
)
def test_what_merely_looks_alike_does_not_fit(text: str) -> None:
    """Other words, a word where a number belongs, or a few words of the message are no match."""
    assert fit(TEMPLATE, SPECS, fold(text)) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("cannot load model a/b", "a/b"),
        ("cannot load model a/b [type=value_error, input_value=ArgsKwargs((), {}), input_type=X]", "a/b"),
        ("cannot load model a/b (parameter=model, value=a/b)", "a/b"),
        ("RuntimeError: Worker failed with error 'cannot load model a/b', please check the stack trace above", "a/b"),
        ("cannot load model a/b [repeated 3x across cluster]", "a/b"),
        ("cannot load model a\nb", "a b"),
    ],
)
def test_last_hole_ends_where_the_message_does(text: str, value: str) -> None:
    """A hole at the end takes the rest of the message, less what encloses it."""
    got = found(text, "cannot load model {model}")
    assert got is not None
    assert got.captures["model"] == value


def test_first_hole_begins_with_its_line() -> None:
    """A hole at the beginning takes what stands before it on its line."""
    got = found("noise\nQwenTokenizer has no attribute x_y.", "{name} has no attribute {key}.")
    assert got is not None
    assert dict(got.captures) == {"name": "QwenTokenizer", "key": "x_y"}


def test_numbers_of_every_form() -> None:
    """Integers with separators, floats, negative and scientific numbers; a full stop is no decimal point."""
    got = found(
        "free 1,024 of 2.5 GiB, -192 left at 1e-5.",
        "free {a} of {b} GiB, {c} left at {d}.",
        a="int",
        b="float",
        c="int",
        d="float",
    )
    assert got is not None
    assert dict(got.captures) == {"a": 1024, "b": 2.5, "c": -192, "d": 1e-05}


def test_time_is_linear_in_hostile_texts() -> None:
    """Several holes and a text that almost fits again and again: no backtracking."""
    hostile = "budget (" * 30_000
    start = time.perf_counter()
    assert found(hostile, "budget ({a}) budget ({b}) budget ({c}) of ({d}) nothing ({e}) to find") is None
    assert time.perf_counter() - start < 2


@given(st.text(max_size=200))
def test_folding_keeps_the_way_back(text: str) -> None:
    """Each folded character names the original character that it came from, and literals fold the same way."""
    folded = fold(text)
    assert len(folded.text) == len(folded.offsets)
    assert folded.text == fold_literal(text)
    assert list(folded.offsets) == sorted(set(folded.offsets))
    assert not regex.search(r"\s", folded.text)


@pytest.mark.parametrize(
    ("text", "model", "whole"),
    [
        (
            "no supported config format was found in meta-llama/Llama-3.3-70B-Instruct.",
            "meta-llama/Llama-3.3-70B-Instruct",
            True,
        ),
        ("no supported config format was found in org/a-1.5. Give another", "org/a-1.5", True),
        ("no supported config format was found in org/a-1.5.[type=value_error", "org/a-1.5", True),
        ("no supported config format was found in org/a-1.5", None, False),
    ],
)
def test_a_full_stop_inside_a_value_ends_nothing(text: str, model: str | None, whole: bool) -> None:
    """The stop that ends the sentence ends the value: a release's own is part of it; where it is lost, the value may be cut too."""
    got = found(text, "no supported config format was found in {model}.")
    assert got is not None
    assert (got.captures["model"], got.whole) == (model, whole)


def test_underscores_at_a_values_ends_belong_to_it() -> None:
    """Markdown's underscores are left out of comparisons, not out of values."""
    got = found("undefined symbol: _ZN3c10_ here", "undefined symbol: {symbol} here")
    assert got is not None
    assert got.captures["symbol"] == "_ZN3c10_"


def test_the_nearest_beginning_counts_where_a_value_ran_over_lines() -> None:
    """Lines above that begin in the template's first words are not taken for part of the first value."""
    text = "Container image is present\nContainer started\nContainer web failed its probe, will be restarted"
    got = found(text, "Container {name} failed its probe, will be restarted")
    assert got is not None
    assert dict(got.captures) == {"name": "web"}
    wrapped = found("Container we\nb failed its probe, will be restarted", "Container {name} failed its probe, will be")
    assert wrapped is not None
    assert wrapped.start == 0
