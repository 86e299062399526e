"""What pydantic wraps comes out: each error by itself, as what it was raised, in its own records."""

from __future__ import annotations

import pytest

from triage.events.pydantic import unwrap
from triage.model import Line, Raised, Record

WRAPPER = "pydantic_core._pydantic_core.ValidationError"
URL = "    For further information visit https://errors.pydantic.dev/2.12/v/x"


def raised(message: str) -> Raised:
    """An exception whose message's lines have a record each, the first behind its class."""
    texts = message.split("\n")
    texts[0] = f"{WRAPPER}: {texts[0]}"
    records = tuple(Record(text, (Line("stdin", number, 0, text),)) for number, text in enumerate(texts, 1))
    return Raised(WRAPPER, message, (), records)


@pytest.mark.parametrize(
    ("line", "class_name", "message"),
    [
        ("  Value error, too long [type=value_error, input_value={}, input_type=dict]", "ValueError", "too long"),
        ("  Assertion failed, no [type=assertion_error, input_value={}]", "AssertionError", "no"),
        ("  Value error, too long [type=val", "ValueError", "too long"),
        ("  Value error, cut he", "ValueError", "cut he"),
        ("  Value error, got [1, 2] (x) [type=value_error, input_value={}]", "ValueError", "got [1, 2] (x)"),
        ("  pydantic one (type=value_error)", "ValueError", "pydantic one"),
    ],
)
def test_one_error(line: str, class_name: str, message: str) -> None:
    """Lead and tail of either pydantic come off, a cut tail too."""
    (got,) = unwrap(raised(f"1 validation error for ModelConfig\n{line}"))
    assert (got.class_name, got.message, got.wrapped) == (class_name, message, WRAPPER)


def test_each_of_several_errors_has_its_own_records() -> None:
    """Evidence of one error does not quote the other's lines."""
    text = "\n".join(
        [
            "2 validation errors for ModelConfig",
            "  Value error, first",
            "in two lines [type=value_error, input_value={}]",
            URL,
            "size",
            "  Input should be 8 or 16 [type=literal_error, input_value=7, input_type=int]",
            URL,
        ]
    )
    first, second = unwrap(raised(text))
    assert [record.first.number for record in first.records] == [2, 3]
    assert first.message == "first\nin two lines"
    assert [record.first.number for record in second.records] == [6]
    assert second.message == "1 validation error for ModelConfig\nsize\n  Input should be 8 or 16"


def test_pydantic_1_keeps_the_field_of_its_own_checks() -> None:
    """``(type=value_error.missing)`` is pydantic's own check."""
    (got,) = unwrap(
        raised("1 validation error for Request\nbody -> model\n  field required (type=value_error.missing)")
    )
    assert (got.class_name, got.message) == (
        WRAPPER,
        "1 validation error for Request\nbody -> model\n  field required",
    )


@pytest.mark.parametrize("message", ["plain", "1 validation error for ModelConfig"])
def test_others_stay_as_they_are(message: str) -> None:
    """What is no wrapper, or one with nothing in it."""
    given = raised(message)
    assert unwrap(given) == (given,)
