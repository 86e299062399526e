from __future__ import annotations

from typing import Any

import orjson
import pytest

from triage.catalogue.page import read_page
from triage.catalogue.record import derived_slug, parse_record, read_record, to_json
from triage.errors import RecordError
from triage.model import CaptureSpec, FixRecipe


def refused(record: Any) -> RecordError:
    with pytest.raises(RecordError) as caught:
        parse_record(record, "x.json", user=True)
    assert caught.value.file == "x.json"
    assert caught.value.hint
    return caught.value


def test_seed_record_loads_as_it_is(seed_json: bytes) -> None:
    """The seed file loads unedited, with its wrapper, and means what it says."""
    cause = parse_record(orjson.loads(seed_json), "record.json", user=True)
    assert cause.id == "3ca77c0599b73dfa"
    assert cause.slug == "max-num-batched-tokens-self-max-num-batched-toke-3ca77c"
    assert cause.exception_class == "ValueError"
    assert cause.severity == "error"
    assert [hole.name for hole in cause.templates[0].holes] == ["max_num_batched_tokens", "max_num_seqs"]
    assert cause.templates[0].holes[1].expression == "self.max_num_seqs"
    assert cause.pattern is None
    assert dict(cause.captures) == {name: CaptureSpec(name) for name in ("max_num_batched_tokens", "max_num_seqs")}
    assert cause.wrapper == {"datasetVersion": "2026-08-15T22:17:37.221Z"}
    assert cause.user
    assert cause.title.startswith("max_num_batched_tokens ({max_num_batched_tokens}) must be")
    assert [fix.safety for fix in cause.fixes] == ["needs_judgement"] * 3


def test_seed_record_is_given_back_byte_for_byte(seed_json: bytes) -> None:
    """Every field, the wrapper and the author's "null" texts come back."""
    assert to_json(parse_record(orjson.loads(seed_json), "x", user=True)) == seed_json.strip()
    bare = orjson.loads(seed_json)["record"]
    assert orjson.loads(to_json(parse_record(bare, "x"))) == bare


def test_seed_page_loads_as_it_is(seed_page: str) -> None:
    """The seed page becomes a cause like any other."""
    cause = parse_record(read_page(seed_page, "page.txt"), "page.txt", user=True)
    assert cause.id == "f5eb2fb0db7e5cea"
    assert [hole.name for hole in cause.templates[0].holes] == ["max_num_scheduled_tokens"]
    assert len(cause.fixes) == 3


def test_unknown_fields_are_kept(own: dict[str, Any]) -> None:
    """Fields that nobody knows yet come back, in the record and beside it."""
    data = {"record": {**own, "novelty": {"a": [1, None]}}, "datasetVersion": "1", "license": "x"}
    cause = parse_record(data, "x", user=True)
    assert orjson.loads(to_json(cause)) == data
    assert cause.wrapper == {"datasetVersion": "1", "license": "x"}


def test_own_record(own: dict[str, Any]) -> None:
    """The triage object fills the cause, captures are typed, braces in titles are left to the report."""
    own["triage"] |= {
        "aliases": ["feedfeedfeedfeed"],
        "variants": ["no seat", {"template": "seat {n} of {seats}", "class": "KeyError", "versions": ">=1"}],
        "when": {"present": ["a"], "absent": ["b"], "process": ["P"], "classes": ["ValueError"]},
        "levels": ["WARNING"],
        "captures": {
            "seats": {"type": "int", "unit": "GiB"},
            "size": {"source": "args"},
            "x": {"source": "near", "key": "(.)"},
        },
        "restartHelps": False,
        "consequenceOf": ["a"],
        "outranks": ["b"],
        "related": ["c"],
        "fixedIn": "1.2",
        "sources": ["engine.py:3 in 1.0"],
        "sites": [{"file": "engine.py", "function": "f", "class": "E", "template": "t", "lines": {"1.0": 3}}],
        "package": "engine",
        "versions": ">=1,<2",
    }
    cause = parse_record(own, "x.json", user=True)
    assert cause.slug == "seats-above-rows"
    assert cause.aliases == ("feedfeedfeedfeed",)
    assert [template.text for template in cause.templates[1:]] == ["no seat", "seat {n} of {seats}"]
    assert cause.captures["seats"] == CaptureSpec("seats", "int", "GiB")
    assert cause.captures["rows"] == CaptureSpec("rows")
    assert cause.captures["n"] == CaptureSpec("n")
    assert cause.captures["size"] == CaptureSpec("size", source="args", key="size")
    assert cause.captures["x"].key == "(.)"
    assert cause.when is not None
    assert cause.when.classes == ("ValueError",)
    assert cause.fixes[0].set == {"--seats": "min(seats, rows)"}
    assert (cause.role, cause.scope, cause.owner) == ("root_cause", "startup", "config")
    assert (cause.package, cause.versions, cause.fixed_in) == ("engine", ">=1,<2", "1.2")
    assert cause.sites[0].lines == {"1.0": 3}
    assert cause.restart_helps is False
    assert (cause.consequence_of, cause.outranks, cause.related) == (("a",), ("b",), ("c",))


def test_foreign_slug_becomes_an_alias(own: dict[str, Any]) -> None:
    """A record with both slugs goes by ours and answers to the other."""
    own["slug"] = "foreign-0123"
    assert parse_record(own, "x").aliases == ("foreign-0123",)


def test_solutions_become_fixes_without_commands(own: dict[str, Any]) -> None:
    """Without computed fixes the solutions are offered; their braces are not taken for captures."""
    del own["triage"]["fixes"]
    own["solutions"] = ['Pass {"method": 1}']
    assert parse_record(own, "x").fixes == (FixRecipe('Pass {{"method": 1}}', safety="needs_judgement"),)


@pytest.mark.parametrize(
    ("record", "slug", "identity"),
    [
        ({"errorMessage": "Seats gone"}, "seats-gone", "seats-gone"),
        ({"errorMessage": "Seats gone", "id": "0123456789"}, "seats-gone-012345", "0123456789"),
        ({"messagePattern": "Seats gone"}, "seats-gone", "seats-gone"),
        ({"errorMessage": "{x}", "slug": "s"}, "s", "s"),
        ({"errorMessage": "座席", "slug": "null"}, "unnamed", "unnamed"),
    ],
)
def test_smallest_records(record: dict[str, Any], slug: str, identity: str) -> None:
    """A message or a pattern is enough; names are derived as records elsewhere derive them."""
    cause = parse_record(record, "x", user=True)
    assert (cause.slug, cause.id) == (slug, identity)


def test_slug_is_derived_as_the_seeds(seed_record: dict[str, Any]) -> None:
    """The rule gives the seed's own slug."""
    assert derived_slug(seed_record["errorMessage"], seed_record["id"]) == seed_record["slug"]


def test_pattern_only_record() -> None:
    """A plain pattern becomes a template; any other stays a pattern, its groups the captures."""
    plain = parse_record({"messagePattern": r"rows \((.+?)\)\."}, "x", user=True)
    assert plain.pattern is None
    assert plain.templates[0].text == "rows ({value_1})."
    clever = parse_record({"messagePattern": r"rows (?P<n>\d+)|none"}, "x", user=True)
    assert clever.pattern == r"rows (?P<n>\d+)|none"
    assert list(clever.captures) == ["n"]
    assert clever.templates == ()


def test_logger_formats_are_understood() -> None:
    """A record whose message is a logger's format, as its pattern shows, gets holes for the conversions."""
    record = {"errorMessage": "rows (%d) exceed %s", "messagePattern": r"rows \((.+?)\) exceed (.+?)"}
    cause = parse_record(record, "x", user=True)
    assert [hole.name for hole in cause.templates[0].holes] == ["value", "value_2"]


@pytest.mark.parametrize(
    ("change", "field", "message"),
    [
        ({"errorMessage": None}, "errorMessage", "is missing"),
        ({"errorMessage": 5}, "errorMessage", "is an integer"),
        ({"messagePattern": "seats"}, "messagePattern", "errorMessage has"),
        ({"errorMessage": None, "messagePattern": "("}, "messagePattern", "no valid regular expression"),
        ({"lineNumber": "7"}, "lineNumber", "is a text, should be an integer"),
        ({"solutions": "one"}, "solutions", "is a text, should be a list of texts"),
        ({"tags": [1]}, "tags[0]", "is an integer"),
        ({"documentation": ["a"]}, "documentation", "is a list"),
        ({"triage": []}, "triage", "is a list, should be an object"),
        ({"triage": {"fixs": []}}, "triage.fixs", "did you mean 'fixes'?"),
        ({"triage": {"slug": "a b"}}, "triage.slug", "is no slug"),
        ({"triage": {"role": "root-cause"}}, "triage.role", "did you mean 'root_cause'?"),
        ({"triage": {"scope": "start"}}, "triage.scope", "unknown value"),
        ({"triage": {"owner": "me"}}, "triage.owner", "unknown value"),
        ({"triage": {"variants": [{"templat": "x"}]}}, "triage.variants[0].templat", "did you mean 'template'?"),
        ({"triage": {"variants": [5]}}, "triage.variants[0]", "holds no template"),
        ({"triage": {"when": {"presnt": []}}}, "triage.when.presnt", "did you mean 'present'?"),
        ({"triage": {"when": {"present": ["("]}}}, "triage.when.present[0]", "no valid regular expression"),
        ({"triage": {"captures": {"x": {"type": "integer"}}}}, "triage.captures.x.type", "unknown value"),
        ({"triage": {"captures": {"a b": {}}}}, "triage.captures.a b", "cannot name a capture"),
        ({"triage": {"captures": {"x": {"source": "near"}}}}, "triage.captures.x.key", "needs a key"),
        ({"triage": {"captures": {"x": {"source": "near", "key": "["}}}}, "triage.captures.x.key", "no valid regular"),
        ({"triage": {"fixes": [{}]}}, "triage.fixes[0].title", "a fix needs a title"),
        ({"triage": {"fixes": [{"title": "x", "sets": {}}]}}, "triage.fixes[0].sets", "did you mean 'set'?"),
        ({"triage": {"fixes": [{"title": "x", "set": {"seats": 1}}]}}, "triage.fixes[0].set.seats", "malformed"),
        ({"triage": {"fixes": [{"title": "x", "set": {"--s": None}}]}}, "triage.fixes[0].set.--s", "has no value"),
        (
            {"triage": {"fixes": [{"title": "x", "set": {"--s": {"txt": "a"}}}]}},
            "triage.fixes[0].set.--s.txt",
            "unknown",
        ),
        ({"triage": {"fixes": [{"title": "x", "unset": ["s"]}]}}, "triage.fixes[0].unset[0]", "malformed"),
        ({"triage": {"fixes": [{"title": "x", "env": {"A-B": 1}}]}}, "triage.fixes[0].env.A-B", "malformed"),
        ({"triage": {"fixes": [{"title": "x", "safety": "sure"}]}}, "triage.fixes[0].safety", "unknown value"),
        (
            {"triage": {"fixes": [{"title": "x", "versions": "1.x"}]}},
            "triage.fixes[0].versions",
            "no version specifier",
        ),
        ({"triage": {"versions": "since 0.9"}}, "triage.versions", "no version specifier"),
        ({"triage": {"restartHelps": "no"}}, "triage.restartHelps", "should be true or false"),
        ({"triage": {"sites": [{"lines": {"1": "3"}}]}}, "triage.sites[0].lines.1", "should be an integer"),
    ],
)
def test_wrong_records(own: dict[str, Any], change: dict[str, Any], field: str, message: str) -> None:
    """What is wrong is told with file, field, reason and mend."""
    own |= change
    error = refused(own)
    assert error.field == field
    assert message in error.message


@pytest.mark.parametrize("data", [[], "text", None, 5, [{"errorMessage": "x"}]])
def test_not_an_object(data: Any) -> None:
    """A file that holds anything but one object is refused."""
    assert "holds one object" in refused(data).message


def test_wrapper_around_nothing() -> None:
    """A wrapper whose record is no object is refused."""
    assert refused({"record": None}).field == "record"


def test_overlong_template_is_refused(own: dict[str, Any]) -> None:
    """A template is bounded."""
    own["errorMessage"] = "x" * 20_001
    assert refused(own).field == "errorMessage"


def test_all_flaws_are_found_at_once(own: dict[str, Any]) -> None:
    """The lenient reader goes on past the first flaw, for lint."""
    own |= {"lineNumber": "7", "documentation": 3}
    _, flaws = read_record(own, "x", user=True)
    assert {flaw.field for flaw in flaws} == {"lineNumber", "documentation"}


def test_captures_of_a_record_are_filled_into_its_solutions() -> None:
    """A solution names a value of the message in braces; braces around anything else are text."""
    solutions = ["Raise the quota of {team}", 'pass {"a": 1} and {other} to {{team}}']
    record = {"id": "x", "errorMessage": "quota of {team} is used up", "solutions": solutions}
    first, second = parse_record(record, "x.json", True).fixes
    assert first.title == "Raise the quota of {team}"
    assert second.title == 'pass {{"a": 1}} and {{other}} to {{{{team}}}}'
