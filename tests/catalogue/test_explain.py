from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from triage.catalogue import as_json, as_page, as_text, bundled_patterns, load
from triage.catalogue.advice import fix_sections
from triage.catalogue.load import read_file
from triage.catalogue.page import read_page
from triage.catalogue.record import parse_record
from triage.model import Catalogue

SEEDS = Path(__file__).parent.parent / "data" / "seeds"


def leaves(value: Any) -> list[str]:
    """Every text and number in a JSON value, null texts aside."""
    if isinstance(value, dict):
        return [leaf for entry in value.values() for leaf in leaves(entry)]
    if isinstance(value, list):
        return [leaf for entry in value for leaf in leaves(entry)]
    return [] if value in (None, "null") or isinstance(value, bool) else [str(value)]


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("name", ["record.json", "page.txt"])
def test_everything_of_a_seed_is_shown(name: str) -> None:
    """The text has every field of the seed records that a user is to see, source code included."""
    cause = read_file(SEEDS / name, user=True)
    shown = squeezed(as_text(cause))
    hidden = {"messagePattern", "schemaVersion", "sourceCodeStart", "sourceCodeEnd"}
    for field, value in cause.record.items():
        if field not in hidden:
            for leaf in leaves(value):
                assert squeezed(leaf) in shown, field


def test_everything_of_our_record_is_shown(own: dict[str, Any]) -> None:
    """Conditions, captures, fixes and relations are shown too."""
    own["triage"] |= {
        "aliases": ["elsewhere-1"],
        "variants": ["no seat for {name}"],
        "when": {"present": ["Rows: 3"], "process": ["Usher"]},
        "levels": ["WARNING"],
        "captures": {
            "seats": {"type": "int", "unit": "pieces"},
            "size": {"type": "float", "source": "args", "key": "hall_size"},
        },
        "consequenceOf": ["hall-closed"],
        "outranks": ["rows-short"],
        "related": ["seats-wet"],
        "restartHelps": True,
        "fixedIn": "3.1",
        "sources": ["hall.py:3 in 2.0"],
        "sites": [{"file": "hall.py", "function": "Hall.seat", "lines": {"1.0": 3, "1.1": 3, "2.0": 5}}],
        "versions": ">=1,<4",
    }
    own["triage"]["fixes"][0] |= {
        "unset": ["--wide"],
        "env": {"ROWS": {"text": "many"}},
        "unsetEnv": ["LEGS"],
        "packages": ["hall<5"],
        "steps": ["count the {rows} rows"],
        "verify": "look",
        "tradeoff": "fewer guests",
        "estimate": True,
        "when": "rows > 0",
        "versions": ">=2",
    }
    own["novelty"] = {"a": "kept and shown"}
    shown = as_text(parse_record(own, "hall.json"))
    for part in (
        "seats-above-rows  (severity error, class ValueError, role root_cause, scope startup, owner config)",
        "or: no seat for {name}",
        "seats: int in pieces",
        "size: float, from args: hall_size",
        "hall.py in Hall.seat, 1.0 to 2.0: line 5 (2.0), 3 (1.0 to 1.1)",
        "at most {rows} seats  [safe; fewer guests; an estimate]",
        "set --seats <computed>",
        "drop --wide",
        "set ROWS=many in the environment",
        "unset LEGS in the environment",
        "install hall<5",
        "step: count the {rows} rows",
        "only if: rows > 0",
        "only for releases: >=2",
        "check: look",
        "also known as: elsewhere-1",
        "follows from: hall-closed",
        "takes precedence over: rows-short",
        "- seats-wet",
        "a restart helps: yes",
        "fixed in: 3.1",
        "releases: >=1,<4",
        "only with present: Rows: 3",
        "only with process: Usher",
        "counts at levels: WARNING",
        "- hall.py:3 in 2.0",
        'novelty: {"a":"kept and shown"}',
    ):
        assert part in shown


def test_code_starts_in_column_zero() -> None:
    """Code can be copied as it is."""
    shown = as_text(read_file(SEEDS / "page.txt"))
    assert "\nvllm serve model --max-num-batched-tokens 8192 \\\n  --speculative-config" in shown
    assert "\ntry:\n    LLM(**args)\n" in shown


def test_source_code_from_elsewhere(own: dict[str, Any]) -> None:
    """Source code handed in is shown where the record has none, and only there."""
    assert "raise here" in as_text(parse_record(own, "x"), source_code="raise here")
    assert "raise here" not in as_text(parse_record(own | {"sourceCode": "other"}, "x"), source_code="raise here")


def test_pattern_is_shown() -> None:
    """A record that is only a pattern shows it."""
    assert "pattern: rows (a|b)" in as_text(parse_record({"messagePattern": "rows (a|b)"}, "x"))


def test_control_characters_are_spelled_out() -> None:
    """A record cannot drive the terminal."""
    shown = as_text(parse_record({"errorMessage": "x", "documentation": "\x1b[31mred\x07"}, "x"))
    assert "\x1b" not in shown
    assert "\\x1b[31mred\\x07" in shown


def test_related_records_have_titles() -> None:
    """With a catalogue, related records are shown with slug and title."""
    catalogue = load()
    cause = next(cause for cause in catalogue.causes if cause.slug == "no-tokens-left-after-draft-slots")
    other = next(one for one in catalogue.causes if one.slug == cause.related[0])
    assert f"- {other.slug}: {other.title}" in as_text(cause, catalogue)


def test_solutions_are_not_shown_twice() -> None:
    """Fixes that were made of solutions do not appear beside them."""
    shown = as_text(read_file(SEEDS / "record.json"))
    assert shown.count("Scale both together") == 1
    assert "Fix 1" not in shown


def test_json_gives_the_record_back(seed_json: bytes) -> None:
    """The JSON form is the file's content, wrapper and all."""
    assert orjson.loads(as_json(read_file(SEEDS / "record.json"))) == orjson.loads(seed_json)


def test_page_gives_the_page_back(seed_page: str) -> None:
    """The page form of a page is the page."""
    cause = read_file(SEEDS / "page.txt")
    assert as_page(cause) == seed_page
    assert as_page(cause, Catalogue((cause,))) == seed_page


@pytest.mark.parametrize("path", sorted((bundled_patterns() / "causes").rglob("*.json")), ids=lambda path: path.stem)
def test_bundled_records_in_all_forms(path: Path) -> None:
    """Every bundled record comes back from JSON whole, and from its page but for what pages do not hold."""
    cause = read_file(path)
    assert orjson.loads(as_json(cause)) == orjson.loads(path.read_bytes())
    back = read_page(as_page(cause), "page.txt")
    kept = (
        "id",
        "slug",
        "errorMessage",
        "documentation",
        "triggerScenarios",
        "commonSituations",
        "solutions",
        "exampleFix",
    )
    for name in (*kept, "validationCode", "tryCatchPattern", "preventionTips", "tags", "handlingStrategy"):
        assert back[name] == (cause.record.get(name) or None), name
    assert as_text(cause).startswith(cause.slug)


def test_the_order_is_meaning_then_fixes_then_the_rest(own: dict[str, Any]) -> None:
    """A reader meets what it means, when it happens and what fixes it before code, places and facts."""
    own |= {"triggerScenarios": "Crowds.", "exampleFix": "--seats 3", "filePath": "hall.py", "lineNumber": 3}
    shown = as_text(parse_record(own, "hall.json"))
    headings = (
        "Error message",
        "What it means",
        "When it happens",
        "Fix 1",
        "Solutions",
        "Example fix",
        "Where",
        "Facts",
    )
    places = [shown.index(f"\n{heading}\n") for heading in headings]
    assert places == sorted(places)


def test_formulas_are_shown_as_computed(own: dict[str, Any]) -> None:
    """What is set is shown by its flag; a value of the log by its name, a constant as it is, a formula as <computed>."""
    fix = {
        "title": "take {8 + 8 * (rows > 8)} of {rows}, {{as is}}",
        "set": {
            "--seats": "min(seats, rows)",
            "--rows": "rows",
            "--legs": 4,
            "--kind": {"text": "a+b"},
            "--wide": {"text": ""},
        },
        "steps": ["count {max(rows, 2)} rows"],
        "when": "8 + rows * 2 > 3",
    }
    own["triage"]["fixes"] = [fix, fix | {"when": "rows > 3 and seats <= 4", "set": {"--x": 1}}]
    shown = as_text(parse_record(own, "hall.json"))
    for part in (
        "take <computed> of {rows}, {as is}  [",
        "set --seats <computed>\n",
        "set --rows {rows}\n",
        "set --legs 4\n",
        "set --kind a+b\n",
        "set --wide\n",
        "step: count <computed> rows\n",
        "only if: its numbers allow it",
        "only if: rows > 3 and seats <= 4",
    ):
        assert part in shown
    assert "min(" not in shown
    assert "8 +" not in shown


def test_releases_are_packed(own: dict[str, Any]) -> None:
    """A place is a line with its range of releases; of the newest one the newest three lines, the rest is in the JSON."""
    own["triage"]["sites"] = [
        {"file": "hall.py", "function": "old", "lines": {"0.9": 1, "0.10": 2}},
        {"file": "seats.py", "function": "new", "lines": {f"0.{n}": n // 2 for n in range(11, 31)}},
    ]
    lines = as_text(parse_record(own, "hall.json")).splitlines()
    at = lines.index("  seats.py in new, 0.11 to 0.30: line 15 (0.30), 14 (0.28 to 0.29), 13 (0.26 to 0.27)")
    assert lines[at + 1 : at + 3] == ["  hall.py in old, 0.9 to 0.10", "  (--format json has the line of each release)"]


def test_a_solution_that_a_fix_states_is_not_repeated(own: dict[str, Any]) -> None:
    """The same flag changed the same way, or the same words, is said once; another way is said too."""
    own["triage"]["fixes"] = [
        {"title": "lower --seats to {rows}", "set": {"--seats": "rows"}},
        {"title": "x", "steps": ["Bring more rows"]},
    ]
    own["solutions"] = ["Reduce --seats to the rows", "Raise --seats", "Bring more rows", "Close the hall"]
    shown = as_text(parse_record(own, "hall.json"))
    assert "Solutions\n  1. Raise --seats\n  2. Close the hall\n" in shown


def test_a_check_that_all_fixes_share_is_shown_once(own: dict[str, Any]) -> None:
    """It stands behind the last of them."""
    own["triage"]["fixes"] = [{"title": f"way {n}", "set": {"--n": n}, "verify": "look"} for n in range(3)]
    assert as_text(parse_record(own, "hall.json")).count("check: look") == 1


@pytest.mark.parametrize("path", sorted((bundled_patterns() / "causes").rglob("*.json")), ids=lambda path: path.stem)
def test_no_bundled_fix_shows_a_formula(path: Path) -> None:
    """Neither what is set nor a title of our records has arithmetic in it."""
    for section in fix_sections(read_file(path)):
        assert not re.search(r"\{[^{}\"']*[ (*+/-][^{}\"']*\}", section)
        assert not re.search(r"^  set --\S+ (?!.*<computed>).*[(*+]\w+", section, re.MULTILINE)
