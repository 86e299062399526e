from __future__ import annotations

from typing import Any

import pytest

from triage.catalogue.fields import Fields, Flaw, is_absent, kind, similar


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (lambda fields: fields.text("x"), 5, "is an integer, should be a text"),
        (lambda fields: fields.texts("x"), "word", "is a text, should be a list of texts"),
        (lambda fields: fields.texts("x"), ["a", 1], "is an integer, should be a text"),
        (lambda fields: fields.whole("x"), "264", "is a text, should be an integer"),
        (lambda fields: fields.whole("x"), True, "is true or false, should be an integer"),
        (lambda fields: fields.code("x"), [], "is a list, should be an integer"),
        (lambda fields: fields.flag("x"), 1, "is an integer, should be true or false"),
        (lambda fields: fields.choice("x", ("safe", "risky")), "saf", "unknown value 'saf'; did you mean 'safe'?"),
        (lambda fields: fields.mapping("x"), [], "is a list, should be an object"),
        (lambda fields: fields.objects("x"), {}, "is an object, should be a list of objects"),
        (lambda fields: fields.objects("x"), [None], "is null, should be an object"),
        (lambda fields: fields.below("x"), 1.5, "is a number, should be an object"),
    ],
)
def test_wrong_types_are_flaws(read: Any, value: Any, message: str) -> None:
    """A value of the wrong type is noted with its path, what it is and what it should be, and how to mend it."""
    flaws: list[Flaw] = []
    read(Fields({"x": value}, "triage", flaws))
    assert [flaw.message for flaw in flaws] == [message]
    assert flaws[0].field is not None
    assert flaws[0].field.startswith("triage.x")
    assert flaws[0].hint


@pytest.mark.parametrize("value", [None, "null", "", "  "])
def test_absent_values(value: object) -> None:
    """Null, the text "null" and empty texts are absent for every type."""
    flaws: list[Flaw] = []
    fields = Fields({"x": value}, "", flaws)  # type: ignore[dict-item]
    assert is_absent(value)
    assert fields.text("x") is fields.whole("x") is fields.flag("x") is fields.code("x") is None
    assert fields.choice("x", ("a",)) is None
    assert fields.texts("x") == fields.objects("x") == ()
    assert fields.mapping("x") == {}
    assert not flaws


def test_unknown_fields() -> None:
    """A field that is not allowed is noted with the name that was probably meant."""
    flaws: list[Flaw] = []
    Fields({"tittle": "x"}, "triage", flaws).only(("title", "slug"))
    assert flaws[0].field == "triage.tittle"
    assert "did you mean 'title'?" in flaws[0].message
    assert "slug, title" in flaws[0].hint


def test_similar_needs_likeness() -> None:
    """Nothing is suggested for a name that is like none."""
    assert similar("zzz", ["title"]) == ""
    assert similar("zzz", []) == ""


def test_kind_of_anything() -> None:
    """Values that JSON does not have are called by their type."""
    assert kind(b"") == "bytes"
