"""Which cause a statement belongs to, of several that could be meant."""

from __future__ import annotations

import pytest

from triage.catalogue.record import parse_record
from triage.match import Matcher
from triage.model import Catalogue, Cause, Event, Json, Line, Raised, Record, Statement


def cause(slug: str, message: str, **extension: Json) -> Cause:
    return parse_record(
        {"id": slug, "slug": slug, "errorMessage": message, "triage": {"slug": slug, **extension}}, slug
    )


def statement(
    text: str, class_name: str | None = None, level: str | None = "ERROR", process: str | None = None
) -> Statement:
    record = Record(text, (Line("stdin", 1, 0, text),), level=level, process=process)
    if class_name is None:
        return Statement(Event("log", (record,), text), text, None, None, (record,))
    event = Event("exception", (record,), raised=(Raised(class_name, text, (), (record,)),))
    return Statement(event, text, class_name, 0, (record,))


def slugs(causes: list[Cause], said: Statement) -> list[str]:
    return [match.cause.slug for match in Matcher(Catalogue(tuple(causes))).matches(said)]


GENERAL = cause("general", "loading {name} failed")
SPECIAL = cause("special", "loading {name} failed: no adapter at {path}")


def test_the_longer_literal_text_wins() -> None:
    """A special message beats the general one that its beginning is."""
    for causes in ([GENERAL, SPECIAL], [SPECIAL, GENERAL]):
        assert slugs(causes, statement("loading zeta failed: no adapter at /x"))[0] == "special"
    assert slugs([GENERAL, SPECIAL], statement("loading zeta failed")) == ["general"]


def test_a_whole_message_beats_a_cut_one() -> None:
    """A short message that is there in whole is meant, not the beginning of a longer one."""
    longer = cause("longer", "the seat {n} is taken by somebody else who came before {who}")
    shorter = cause("shorter", "the seat {n} is taken by somebody")
    assert slugs([longer, shorter], statement("the seat 4 is taken by somebody"))[0] == "shorter"


@pytest.mark.parametrize(
    ("level", "found"), [("ERROR", True), ("CRITICAL", True), (None, True), ("WARNING", False), ("INFO", True)]
)
def test_levels_at_which_a_message_counts(level: str | None, found: bool) -> None:
    """A log line below ERROR counts only at the levels that the record names."""
    listed = cause("listed", "the flux capacitor is empty", levels=["INFO"])
    assert bool(slugs([listed], statement("the flux capacitor is empty", level=level))) is found


def test_class_and_process_must_agree() -> None:
    """Conditions on the exception's class and on the process are part of recognising."""
    bound = cause("bound", "no room left", when={"classes": ["CapacityError"], "process": ["Worker"]})
    assert slugs([bound], statement("no room left", "acme.CapacityError", process="Worker_TP0")) == ["bound"]
    assert slugs([bound], statement("no room left", "acme.OtherError", process="Worker_TP0")) == []
    assert slugs([bound], statement("no room left", "acme.CapacityError", process="APIServer")) == []


def test_causes_with_conditions_on_the_run_leave_the_next_one_open() -> None:
    """Whether other evidence is there is settled later: the causes behind a conditional one are kept."""
    bound = cause("bound", "could not open the device at all", when={"present": ["WSL"]})
    free = cause("free", "could not open the device")
    more = cause("more", "could not open")
    assert slugs([more, free, bound], statement("could not open the device at all")) == ["bound", "free"]


def test_a_quoted_message_is_given_on() -> None:
    """A relay's capture of type message is the text to be diagnosed in its place."""
    relay = cause(
        "relay", "worker failed with '{inner}', see above", captures={"inner": {"type": "message"}}, role="consequence"
    )
    (match,) = Matcher(Catalogue((relay,))).matches(statement("worker failed with 'no room:\nleft', see above"))
    assert match.quoted == "no room:\nleft"


def test_neighbours_of_an_unknown_message() -> None:
    """A message that nothing matches names what is worded alike; one that is like nothing names nothing."""
    matcher = Matcher(Catalogue((GENERAL, cause("other", "the flux capacitor of {car} is empty"))))
    assert matcher.near("the flux capacitors are all empty") == ("other",)
    assert matcher.near("completely different words here") == ()


def test_a_pattern_that_takes_too_long_is_said() -> None:
    """A user's regular expression that backtracks for ever finds nothing, and the report's limits name its file."""
    record: dict[str, Json] = {"id": "x", "messagePattern": "(?:a|aa|aaa)+(?:a|aa)+(?:aa|a)+b{2}c", "slug": "slow"}
    matcher = Matcher(Catalogue((parse_record(record, "records/slow.json", True),)))
    line = Line("stdin", 1, 0, "a" * 5000)
    event = Event("text", (Record(line.text, (line,)),), line.text)
    assert matcher.matches(Statement(event, line.text, None, None, event.records)) == []
    (limit,) = matcher.limits
    assert limit.startswith("the messagePattern of records/slow.json took more than 0.2 s")


def test_a_word_that_goes_on_in_a_hole_is_no_key() -> None:
    """Where the template's long word is part of a longer one in the text, its other words find it."""
    grown = cause("grown", "{operator}GetWorkspaceSize not in {library}, or {other}not found.")
    assert slugs(
        [grown, GENERAL], statement("aclnnAddGetWorkspaceSize not in libopapi.so, or libopapi.sonot found.")
    ) == ["grown"]
