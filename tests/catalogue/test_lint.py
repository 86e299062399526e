from __future__ import annotations

import copy
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from triage.catalogue import Problem, bundled_patterns, lint
from triage.catalogue.lint import dangerous
from triage.errors import RecordError

SEEDS = Path(__file__).parent.parent / "data" / "seeds"
Folder = Callable[..., Path]


def changed(record: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a record with one field changed, ``triage.fixes.0.title`` style; ... takes the field out."""
    copied = copy.deepcopy(record)
    *parents, last = path.split(".")
    target: Any = copied
    for name in parents:
        target = target[int(name) if name.isdecimal() else name]
    if value is ...:
        del target[last]
    else:
        target[int(last) if last.isdecimal() else last] = value
    return copied


def problems(folder: Folder, record: Any, name: str = "seats-above-rows") -> list[Problem]:
    """What lint says of a record file."""
    return lint(folder(**{name: record}))


def test_good_record_has_no_problems(folder: Folder, own: dict[str, Any]) -> None:
    """A record that is right is not complained about."""
    assert problems(folder, own) == []


def test_seeds_have_no_problems() -> None:
    """The seed documents are fine as they are, with the bundled records beside them."""
    assert lint(SEEDS) == []


def test_bundled_records_have_no_errors() -> None:
    """Every bundled record passes."""
    assert [problem for problem in lint(bundled_patterns()) if problem.severity == "error"] == []


# One line for each way in which a definition can be wrong: what is changed, the field that is named, the reason.
MISTAKES = {
    "no-id": ("id", ..., "id", "is missing"),
    "no-documentation": ("documentation", "", "documentation", "is empty"),
    "null-documentation": ("documentation", "null", "documentation", "is empty"),
    "no-message": ("errorMessage", None, "errorMessage", "is missing"),
    "message-of-another-type": ("errorMessage", 3, "errorMessage", "should be a text"),
    "line-as-text": ("lineNumber", "7", "lineNumber", "should be an integer"),
    "solutions-as-text": ("solutions", "x", "solutions", "should be a list"),
    "pattern-of-another-message": ("messagePattern", "rows", "messagePattern", "errorMessage has"),
    "pattern-broken": ("messagePattern", "((", "messagePattern", "no valid regular expression"),
    "message-that-fits-anything": ("errorMessage", "{a}: {b}", "errorMessage", "any line fits it"),
    "holes-side-by-side": ("errorMessage", "seats and rows {a}{b}", "errorMessage", "side by side"),
    "slug-names-a-cure": ("triage.slug", "raise-the-rows", "triage.slug", "names a cure"),
    "slug-is-a-cure": ("triage.slug", "fix", "triage.slug", "names a cure"),
    "slug-with-capitals": ("triage.slug", "Seats-above", "triage.slug", "lower-case"),
    "slug-is-not-the-file": ("triage.slug", "rows-below-seats", "triage.slug", "but the file is"),
    "unknown-extension-field": ("triage.titel", "x", "triage.titel", "did you mean 'title'?"),
    "unknown-record-field": ("documentatoin", "x", "documentatoin", "did you mean 'documentation'?"),
    "unknown-role": ("triage.role", "cause", "triage.role", "unknown value"),
    "unknown-scope": ("triage.scope", "boot", "triage.scope", "unknown value"),
    "unknown-owner": ("triage.owner", "user", "triage.owner", "unknown value"),
    "unknown-capture-in-title": ("triage.title", "{seat} seats", "triage.title", "did you mean 'seats'?"),
    "unknown-capture-in-summary": ("triage.summary", "{legs}", "triage.summary", "unknown capture 'legs'"),
    "single-braces-in-title": ("triage.title", 'set {"a": 1}', "triage.title", "'a' is no number"),
    "capture-without-hole": ("triage.captures.seat", {"type": "int"}, "triage.captures.seat", "no template has a hole"),
    "unknown-capture-type": ("triage.captures.seats.type", "number", "triage.captures.seats.type", "unknown value"),
    "runaway-condition": ("triage.when", {"present": ["(a+)+b"]}, "triage.when.present[0]", "repeats a repetition"),
    "broken-condition": ("triage.when", {"absent": ["["]}, "triage.when.absent[0]", "no valid regular expression"),
    "runaway-capture": (
        "triage.captures.legs",
        {"source": "near", "key": ".*a.*b.*c.*d.*(e)"},
        "triage.captures.legs.key",
        "unbounded wildcards",
    ),
    "bad-specifier": ("triage.versions", ">= 0.9 and up", "triage.versions", "no version specifier"),
    "bad-variant-specifier": (
        "triage.variants",
        [{"template": "seats are gone", "versions": "new"}],
        "triage.variants[0].versions",
        "no version specifier",
    ),
    "variant-twice": (
        "triage.variants",
        ["seats ({self.a}) must not exceed  rows ({self.b})."],
        "triage.variants[0]",
        "says the same",
    ),
    "unknown-related": ("triage.related", ["seats-gone"], "triage.related[0]", "no record 'seats-gone'"),
    "unknown-outranked": ("triage.outranks", ["nothing"], "triage.outranks[0]", "no record 'nothing'"),
    "unknown-cause": ("triage.consequenceOf", ["nothing"], "triage.consequenceOf[0]", "no record 'nothing'"),
    "any-related": ("triage.related", ["*"], "triage.related[0]", "no record '*'"),
    "related-to-itself": ("triage.related", ["seats-above-rows"], "triage.related[0]", "names the record itself"),
    "fix-without-title": ("triage.fixes.0.title", ..., "triage.fixes[0].title", "needs a title"),
    "fix-changes-nothing": ("triage.fixes.0.set", {}, "triage.fixes[0]", "changes nothing"),
    "fix-sets-and-unsets": ("triage.fixes.0.unset", ["--seats"], "triage.fixes[0]", "sets and unsets --seats"),
    "fix-with-malformed-flag": ("triage.fixes.0.set", {"-seats": 1}, "triage.fixes[0].set.-seats", "malformed"),
    "fix-with-unknown-capture": (
        "triage.fixes.0.set",
        {"--seats": "row"},
        "triage.fixes[0].set.--seats",
        "did you mean 'rows'?",
    ),
    "fix-with-text-for-expression": (
        "triage.fixes.0.set",
        {"--seats": "first class"},
        "triage.fixes[0].set.--seats",
        "is no expression",
    ),
    "fix-with-power": (
        "triage.fixes.0.set",
        {"--seats": "rows**9"},
        "triage.fixes[0].set.--seats",
        "only the operators",
    ),
    "fix-with-unknown-function": ("triage.fixes.0.when", "sum(rows)", "triage.fixes[0].when", "no function 'sum'"),
    "fix-with-broken-step": (
        "triage.fixes.0.steps",
        ["sit {down}"],
        "triage.fixes[0].steps[0]",
        "unknown capture 'down'",
    ),
    "fix-with-unknown-safety": ("triage.fixes.0.safety", "ok", "triage.fixes[0].safety", "unknown value"),
    "fix-with-bad-specifier": ("triage.fixes.0.versions", "latest", "triage.fixes[0].versions", "no version specifier"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake(folder: Folder, own: dict[str, Any], mistake: str) -> None:
    """Each mistake is found, with file, field, reason and mend."""
    path, value, field, reason = MISTAKES[mistake]
    found = problems(folder, changed(own, path, value))
    named = [problem for problem in found if problem.field == field and reason in problem.message]
    assert named, found
    assert named[0].file.endswith("seats-above-rows.json")
    assert named[0].hint


@pytest.mark.parametrize(
    ("content", "reason"),
    [("{", "line 1, column"), ('{"a": 1,}', "no valid JSON"), ("[]", "holds one object"), ('{"record": 1}', "object")],
)
def test_broken_file(folder: Folder, own: dict[str, Any], content: str, reason: str) -> None:
    """A file that cannot be read is told, and the others are checked all the same."""
    found = lint(folder(broken=content, **{"seats-above-rows": changed(own, "documentation", "")}))
    assert [(Path(problem.file).name, problem.field) for problem in found if problem.severity == "error"][-1] == (
        "seats-above-rows.json",
        "documentation",
    )
    assert reason in found[0].message
    assert found[0].hint


def test_key_given_twice(folder: Folder, own: dict[str, Any]) -> None:
    """A key that stands twice in an object is told: one of its values would be lost."""
    text = orjson.dumps(own).decode().replace('"title":', '"title":"lost","title":', 1)
    assert [(problem.field, "twice" in problem.message) for problem in problems(folder, text)] == [("title", True)]


def test_all_mistakes_of_a_file_are_told(folder: Folder, own: dict[str, Any]) -> None:
    """Lint does not stop at the first problem."""
    record = changed(changed(changed(own, "documentation", ""), "lineNumber", "x"), "triage.role", "y")
    assert {problem.field for problem in problems(folder, record)} == {"documentation", "lineNumber", "triage.role"}


def test_doubles(folder: Folder, own: dict[str, Any]) -> None:
    """The same id, slug, alias or message in two files is told once per kind."""
    second = changed(own, "triage.slug", "rows-below-seats")
    found = lint(folder(**{"seats-above-rows": own, "rows-below-seats": second}))
    assert {(problem.field, "also that of" in problem.message) for problem in found} == {
        ("id", True),
        ("errorMessage", False),
        ("slug", True),
    }


def test_same_message_told_apart(folder: Folder, own: dict[str, Any]) -> None:
    """Two causes of one message are fine where a condition or an order tells them apart."""
    second = changed(own, "triage.slug", "rows-below-seats") | {"id": "f" * 16, "slug": "rows-below-seats"}
    files = {"seats-above-rows": own, "rows-below-seats": second}
    assert [problem.field for problem in lint(folder(**files))] == ["errorMessage"]
    second["triage"]["when"] = {"present": ["rows"]}
    assert lint(folder(**files)) == []


def test_references_may_be_bundled(folder: Folder, own: dict[str, Any]) -> None:
    """A user's record may name bundled records, and any other as a cause."""
    slug = next(iter(sorted((bundled_patterns() / "causes").rglob("*.json")))).stem
    record = changed(changed(own, "triage.related", [slug]), "triage.consequenceOf", ["*"])
    assert problems(folder, record) == []


def test_captures_may_be_inherited(folder: Folder, own: dict[str, Any]) -> None:
    """A record that replaces a bundled one may use the captures that it inherits."""
    bundled = orjson.loads(
        next((bundled_patterns() / "causes").rglob("batched-tokens-below-num-seqs.json")).read_bytes()
    )
    own |= {"id": bundled["id"]}
    own["triage"]["fixes"] = [{"title": "x", "set": {"--max-num-seqs": "max_num_batched_tokens"}}]
    assert problems(folder, own) == []


def test_foreign_records_are_judged_mildly(folder: Folder) -> None:
    """A record from elsewhere need not have our slug, file name or prose: those are warnings or nothing."""
    found = problems(folder, {"errorMessage": "something went wrong"}, "download")
    assert {problem.severity for problem in found} == {"warning"}


def test_missing_folder() -> None:
    """A folder that is not there is an error, not a clean bill."""
    with pytest.raises(RecordError):
        lint(Path("no/such/folder"))


def test_lint_from_a_copy(tmp_path: Path) -> None:
    """A copy of a bundled record in a user's folder is fine: it replaces the bundled one."""
    path = next((bundled_patterns() / "causes").rglob("batched-tokens-below-num-seqs.json"))
    shutil.copy(path, tmp_path)
    assert lint(tmp_path) == []


@pytest.mark.parametrize("pattern", [r"(a+)+", r"(?:\w*\s)*x", r"(.*a){10}", r".*a.*b.*c.*d.*e", r"x\w*\w*\w*y"])
def test_dangerous_patterns(pattern: str) -> None:
    """Patterns that can take exponential or high polynomial time are recognised, and quickly."""
    start = time.monotonic()
    assert dangerous(pattern)
    assert time.monotonic() - start < 5


@pytest.mark.parametrize("pattern", [r"rows \((\d+)\)", r"free: ([\d.]+) GiB", r"a.*b", r"\(a\+\)\+", "(", r"^x+$"])
def test_harmless_patterns(pattern: str) -> None:
    """Ordinary patterns, and invalid ones (told elsewhere), are not called dangerous."""
    assert dangerous(pattern) is None


def test_folder_without_records(tmp_path: Path) -> None:
    """Nothing was checked, so nothing is said to be well."""
    (tmp_path / "README.md").write_text("notes")
    with pytest.raises(RecordError, match="no records found"):
        lint(tmp_path)


def test_a_field_of_ours_at_the_top_is_told_its_place(folder: Folder, own: dict[str, Any]) -> None:
    """A title beside the message belongs into the object that has the rest of ours; no other name is guessed."""
    found = lint(folder(**{"seats-above-rows": own | {"title": "x"}}))
    assert [(problem.field, problem.message, problem.severity) for problem in found] == [
        ("title", "unknown field 'title'; it belongs under 'triage'", "warning")
    ]
    assert found[0].hint == 'write "triage": {"title": ...}'


def test_a_slip_in_a_field_is_told_and_a_strange_name_is_not_guessed_at(folder: Folder, own: dict[str, Any]) -> None:
    """A name that is like none of ours is kept and ignored."""
    found = lint(folder(**{"seats-above-rows": own | {"errorClas": "x", "novelty": 1, "tiles": 2}}))
    assert [problem.message for problem in found] == ["unknown field 'errorClas'; did you mean 'errorClass'?"]
