from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.catalogue.page import read_page, write_page
from triage.catalogue.record import parse_record
from triage.errors import RecordError

PAGE = """example/engine · error · ValueError

seats ({self.seats}) must not exceed rows

Error message

seats ({self.seats}) must not exceed rows

Data as JSON: /api/errors/0123456789abcdef. Report an issue: GitHub."""


def test_every_part_of_the_seed_page_is_read(seed_page: str) -> None:
    """Every section of the seed page ends up in the field that records have for it."""
    record = read_page(seed_page, "page.txt")
    assert record["repo"] == "vllm-project/vllm"
    assert record["severity"] == "error"
    assert record["errorClass"] == "ValueError"
    assert str(record["errorMessage"]).startswith("max_num_scheduled_tokens is set to {self.scheduler_config.max_num")
    assert str(record["errorMessage"]).endswith("or decrease num_speculative_tokens.")
    assert str(record["documentation"]).startswith("With speculative decoding, vLLM reserves")
    assert str(record["documentation"]).endswith("in vllm/config/vllm.py:1840.")
    assert (record["filePath"], record["lineNumber"]) == ("vllm/config/vllm.py", 1854)
    code = str(record["sourceCode"])
    assert code.startswith("            for size in possible_sizes\n")
    assert code.endswith("            if max_num_batched_tokens <= scheduled_token_delta:")
    assert code.count("\n\n") == 3
    assert record["githubUrl"] == "https://github.com/vllm-project/vllm/blob/c794754062/vllm/config/vllm.py#L1854"
    assert isinstance(record["solutions"], list)
    assert [len(str(solution)) for solution in record["solutions"]] == [108, 63, 93]
    assert str(record["exampleFix"]).count("vllm serve model") == 2
    assert str(record["validationCode"]).startswith("from vllm.config.vllm import VllmConfig")
    assert str(record["validationCode"]).count("\n") == 3
    assert str(record["tryCatchPattern"]).startswith("try:\n    LLM(**args)\n")
    assert str(record["tryCatchPattern"]).endswith("    else:\n        raise")
    assert str(record["triggerScenarios"]).startswith("Launching with a small")
    assert str(record["commonSituations"]).startswith("Tuning batched tokens down")
    assert isinstance(record["relatedErrors"], list)
    assert len(record["relatedErrors"]) == 5
    assert record["relatedErrors"][2] == "max_num_batched_tokens ({self.max_num_batched_tokens}) must"
    assert record["id"] == "f5eb2fb0db7e5cea"
    assert (record["analyzedSha"], record["analyzedAt"]) == ("c794754062", "2026-08-14")
    assert record["slug"] == "max-num-scheduled-tokens-is-set-to-self-schedule-f5eb2f"
    assert record["preventionTips"] is None


def test_seed_page_is_written_as_it_was(seed_page: str) -> None:
    """Reading the seed page and writing it gives the very same text."""
    assert write_page(parse_record(read_page(seed_page, "page.txt"), "page.txt", user=True)) == seed_page


def test_line_ends_and_marks_do_not_matter(seed_page: str) -> None:
    """A page saved with CR LF, a byte order mark, a final line feed or Markdown headings reads the same."""
    expected = read_page(seed_page, "page.txt")
    assert read_page("\ufeff" + seed_page.replace("\n", "\r\n") + "\r\n", "page.txt") == expected
    for heading in ("Error message", "Solutions", "Related errors"):
        seed_page = seed_page.replace(f"\n{heading}\n", f"\n## {heading}\n")
    assert read_page(seed_page, "page.md") == expected


def test_json_record_survives_as_a_page(seed_record: dict[str, Any]) -> None:
    """What a page can hold comes back from it unchanged; links and dates come back as far as a page shows them."""
    cause = parse_record(seed_record, "record.json")
    back = read_page(write_page(cause), "page.txt")
    not_on_a_page = {"errorType", "sourceCodeStart", "sourceCodeEnd", "schemaVersion", "backgroundTag"}
    shortened = {"githubUrl", "analyzedSha", "analyzedAt"}
    absent = {name for name, value in seed_record.items() if value in (None, "null")}
    for name in set(seed_record) - not_on_a_page - shortened - absent:
        assert back[name] == seed_record[name], name
    assert all(back[name] is None for name in absent)
    assert seed_record["analyzedSha"].startswith(back["analyzedSha"])
    assert seed_record["analyzedAt"].startswith(back["analyzedAt"])


def test_page_of_our_record(own: dict[str, Any]) -> None:
    """A record with everything comes back from its page, but for the triage object."""
    own |= {
        "errorCode": "E42",
        "httpStatus": 400,
        "filePath": "engine/seats.py",
        "lineNumber": 7,
        "solutions": ["One\nin two lines", "Two"],
        "exampleFix": "a\n\nb",
        "typeGuard": "def is_seat(x): ...",
        "preventionTips": ["Count first"],
        "tags": ["seats"],
        "handlingStrategy": "retry",
        "triggerScenarios": "More seats than rows.\n\nMany more.",
        "relatedErrors": ["rows ({self.ro"],
    }
    back = read_page(write_page(parse_record(own, "x"), ["other title"]), "x.txt")
    for name in set(own) - {"triage", "schemaVersion", "messagePattern", "relatedErrors"}:
        assert back[name] == own[name], name
    assert back["relatedErrors"] == ["rows ({self.ro", "other title"]


def test_small_page() -> None:
    """Sections that a page lacks are null."""
    record = read_page(PAGE, "x.txt")
    assert record["errorMessage"] == "seats ({self.seats}) must not exceed rows"
    assert record["documentation"] is None
    assert record["solutions"] is None
    assert write_page(parse_record(record, "x.txt")) == PAGE


def test_title_stands_in_for_a_short_message() -> None:
    """A page without its message section has the title's message, if the title is not cut."""
    short = "example/engine · error\n\nseats gone"
    assert read_page(short, "x")["errorMessage"] == "seats gone"
    with pytest.raises(RecordError) as caught:
        read_page("example/engine · error\n\nseats gone ...", "x")
    assert caught.value.field == "Error message"
    with pytest.raises(RecordError):
        read_page("example/engine · error\n\n" + "x" * 60, "x")


def test_cut_title_is_kept() -> None:
    """A title that is not the start of the message, such as one cut with dots, is given back."""
    page = PAGE.replace("exceed rows\n\nError", "ex...\n\nError")
    record = read_page(page, "x.txt")
    assert record["title"] == "seats ({self.seats}) must not ex..."
    assert write_page(parse_record(record, "x.txt")) == page


def test_text_around_the_page_is_kept() -> None:
    """What a browser copied along before and behind the page is not lost, and does no harm."""
    page = f"Errors\nLog in\n\n{PAGE}\n\nAll rights reserved"
    record = read_page(page, "x.txt")
    assert record["leadingText"] == "Errors\nLog in"
    assert record["trailingText"] == "All rights reserved"
    assert write_page(parse_record(record, "x.txt")) == page


@pytest.mark.parametrize("text", ["", "no page", "# README\n\nsome text"])
def test_other_text_is_refused(text: str) -> None:
    """A text that is no page is an error that names the file."""
    with pytest.raises(RecordError) as caught:
        read_page(text, "notes.txt")
    assert caught.value.file == "notes.txt"
    assert "no page" in caught.value.message


PROSE = st.text(alphabet="ab c.,:-1`{}\n", min_size=1, max_size=60).map(str.strip).filter(bool)


@given(PROSE, st.one_of(st.none(), PROSE), st.one_of(st.none(), PROSE), st.lists(PROSE, min_size=1, max_size=3))
def test_prose_comes_back(
    documentation: str, trigger: str | None, situations: str | None, solutions: list[str]
) -> None:
    """Prose of several lines and paragraphs comes back from a page as it was."""
    record: dict[str, Any] = {
        "id": "0123456789abcdef",
        "errorMessage": "seats ({self.seats}) must not exceed rows",
        "documentation": documentation,
        "triggerScenarios": trigger,
        "commonSituations": situations,
        "repo": "example/engine",
        "solutions": solutions,
    }
    back = read_page(write_page(parse_record(record, "x")), "x")
    for name in ("documentation", "triggerScenarios", "commonSituations", "solutions"):
        assert back[name] == record[name]


def test_record_that_is_a_pattern() -> None:
    """A record without a message has its pattern on the page, and comes back without a message."""
    record = {"id": "0123456789abcdef", "repo": "example/engine", "messagePattern": r"rows (?:\d+|none)"}
    page = write_page(parse_record(record, "x"))
    back = read_page(page, "x.txt")
    assert (back["errorMessage"], back["messagePattern"]) == (None, record["messagePattern"])
    cause = parse_record(back, "x.txt", user=True)
    assert cause.pattern == record["messagePattern"]
    assert write_page(cause) == page


def test_pattern_of_its_own_is_kept() -> None:
    """A pattern that is not the one derived from the message is on the page too."""
    record = {"repo": "example/engine", "errorMessage": "rows {n} gone", "messagePattern": r"rows (\d+) gone"}
    back = read_page(write_page(parse_record(record, "x")), "x.txt")
    assert (back["errorMessage"], back["messagePattern"]) == ("rows {n} gone", r"rows (\d+) gone")
