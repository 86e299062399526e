"""Which sites belong to a cause's message, and how a record file is brought up to date."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from triage.errors import RecordError
from triage.source.locate import RecordFile, Wanted, collect, locate, locate_release
from triage.source.sites import Site

BUDGET = "batched tokens ({self.max_num_batched_tokens}) must be greater than or equal to seqs ({self.max_num_seqs})."


def _site(template: str, line: int = 1, file: str = "vllm/a.py", function: str | None = "f") -> Site:
    return Site(template, "ValueError", None, file, line, function, "raise")


def _causes(template: str, **wanted: str) -> list[str]:
    pairs = locate([Wanted(cause, text) for cause, text in wanted.items()], [_site(template)])
    return [cause for cause, _ in pairs]


def test_white_space_and_names_of_holes_do_not_matter() -> None:
    """A record's own names for captures, and a source's line breaks, fit all the same."""
    assert _causes(
        "Free memory ({gib(free)}/{total!r} GiB) is less\nthan  desired",
        a="Free memory ({free}/{total} GiB) is less than desired",
    ) == ["a"]


def test_another_wording_does_not_fit() -> None:
    """A changed word is another message."""
    assert _causes("KV cache needs {x} GiB, more than there is", a="KV cache needs {x} GiB, less than there is") == []


def test_both_causes_of_one_text_have_it() -> None:
    """Two records with the same message are both given the site."""
    assert _causes("the engine died of {x}", a="the engine died of {e}", b="the engine died of {y}") == ["a", "b"]


def test_the_exact_text_goes_before_a_more_general_one() -> None:
    """A cause whose text is a part of another's is not given the other's site."""
    wanted = {"short": "CUDA out of memory", "long": "CUDA out of memory occurred when warming up with {n} requests"}
    assert _causes("CUDA out of memory occurred when warming up with {n} requests", **wanted) == ["long"]


def test_a_more_general_cause_fits_where_no_other_does() -> None:
    """A hole where the source has text, or an end left out, still leads to the site; a small part does not."""
    site = "Unknown method {m}. Must be one of the registered quantization methods."
    assert _causes(site, a="Unknown method {m}. Must be one of the {x}.", b="something else altogether") == ["a"]
    assert _causes(site, a="Unknown method {m}.") == []
    assert _causes(site.replace("method", "quantization method"), a="Unknown quantization method {m}. {hint}") == ["a"]


def test_a_more_general_source_fits_too() -> None:
    """The source may put together what the record spells out."""
    assert _causes(
        "{msg} To allow overriding this maximum, set {var}", a="Too long. To allow overriding this maximum, set X=1"
    ) == ["a"]


def test_a_text_that_says_next_to_nothing_is_not_looked_up() -> None:
    """A template of holes and punctuation would fit everything."""
    assert _causes("{e}", a="{error}") == []
    assert _causes("{a}: {b}", a="{x}: {y}") == []


def test_of_the_texts_of_one_statement_the_nearest_counts() -> None:
    """A statement that may say several things is given with the one that the cause has."""
    sites = [_site("limit of sliding_window={x} was passed", 3), _site("limit of {key}={x} was passed", 3)]
    found = locate([Wanted("a", "limit of {k}={v} was passed")], sites)
    assert [site.template for _, site in found] == ["limit of {key}={x} was passed"]


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_a_release_is_searched_and_odd_files_are_reported(tmp_path: Path) -> None:
    """Lines come per release; a file that is the same in the next release is found again from memory."""
    statement = "raise ValueError(f'the budget ({self.a}) must ' 'be greater than zero')\n"
    for release, first in (("1", ""), ("2", ""), ("3", "\n\n")):
        _write(tmp_path / release / "vllm" / "b.py", first + statement)
        _write(tmp_path / release / "vllm" / "other.py", "raise ValueError('nothing of this kind')\n")
        _write(tmp_path / release / "vllm" / "broken.py", "def (: the budget must be greater than zero")
    wanted, seen = [Wanted("x", "the budget ({budget}) must be greater than zero")], {}
    reported: list[str] = []
    found = {
        release: locate_release(wanted, tmp_path / release, lambda file, reason: reported.append(file), seen)
        for release in ("1", "2", "3")
    }
    template = "the budget ({self.a}) must be greater than zero"
    assert collect(found) == {"x": {("vllm/b.py", "", "ValueError", template): {"1": 1, "2": 1, "3": 3}}}
    assert reported == ["vllm/broken.py"] * 3


@pytest.fixture
def record(tmp_path: Path) -> Path:
    path = tmp_path / "cause.json"
    document = {
        "zeta": 1,
        "errorMessage": BUDGET,
        "filePath": None,
        "lineNumber": None,
        "triage": {
            "variants": [{"template": "an older wording of it"}, "a third"],
            "sites": [
                {
                    "file": "vllm/b.py",
                    "function": None,
                    "class": None,
                    "template": "t",
                    "lines": {"0.9.0": 5, "0.8.5": 4},
                },
                {"file": "vllm/gone.py", "function": "g", "class": "E", "template": "t", "lines": {"0.10.0": 9}},
            ],
            "after": "x",
        },
        "alpha": "ä",
    }
    path.write_bytes(orjson.dumps(document))
    return path


def test_templates_are_the_message_and_its_variants(record: Path) -> None:
    """Both forms of a variant count; a record of another package has nothing to look up here."""
    assert RecordFile(record).templates() == (BUDGET, "an older wording of it", "a third")
    document = orjson.loads(record.read_bytes())
    document["triage"]["package"] = "torch"
    record.write_bytes(orjson.dumps({"record": document}))
    assert RecordFile(record).templates() == ()


def test_lines_are_merged_and_the_rest_is_kept(record: Path) -> None:
    """Lines of the releases looked at are replaced, others stay; the place is that of the newest release."""
    found = {
        ("vllm/c.py", "C.f", "ValueError", BUDGET): {"0.10.0": 7, "0.9.0": 6},
        ("vllm/a.py", "g", "ValueError", "an older wording of it"): {"0.10.0": 2},
    }
    assert RecordFile(record).update(found, ["0.10.0", "0.9.0"])
    text = record.read_bytes()
    document = orjson.loads(text)
    assert [(site["file"], site["function"], site["lines"]) for site in document["triage"]["sites"]] == [
        ("vllm/a.py", "g", {"0.10.0": 2}),
        ("vllm/b.py", None, {"0.8.5": 4}),
        ("vllm/c.py", "C.f", {"0.9.0": 6, "0.10.0": 7}),
    ]
    assert list(document["triage"]["sites"][2]["lines"]) == ["0.9.0", "0.10.0"]
    assert (document["filePath"], document["lineNumber"]) == ("vllm/c.py", 7)
    assert document["githubUrl"].endswith("/v0.10.0/vllm/c.py#L7")
    assert list(document)[:5] == ["zeta", "errorMessage", "filePath", "lineNumber", "triage"]
    assert list(document["triage"]) == ["variants", "sites", "after"]
    assert text.endswith(b"}\n")
    assert "ä".encode() in text


def test_the_place_is_that_of_the_message_rather_than_of_a_variant(record: Path) -> None:
    """Where the newest release has the message with a longer end, its place still goes before a variant's."""
    found = {
        ("vllm/a.py", "", "ValueError", "an older wording of it"): {"0.10.0": 2},
        ("vllm/z.py", "", "ValueError", BUDGET + " Raise it."): {"0.10.0": 7},
    }
    RecordFile(record).update(found, ["0.10.0"])
    assert orjson.loads(record.read_bytes())["filePath"] == "vllm/z.py"


def test_a_second_run_changes_nothing(record: Path) -> None:
    """The same facts give the same bytes, and the file is not written again."""
    found = {("vllm/c.py", "", "ValueError", BUDGET): {"0.10.0": 7}}
    RecordFile(record).update(found, ["0.10.0"])
    before = record.read_bytes()
    assert not RecordFile(record).update(found, ["0.10.0"])
    assert record.read_bytes() == before


def test_a_record_in_a_wrapper_keeps_it(tmp_path: Path) -> None:
    """The wrapper's own fields stay beside the record."""
    path = tmp_path / "w.json"
    path.write_bytes(orjson.dumps({"record": {"errorMessage": BUDGET}, "datasetVersion": "1"}))
    RecordFile(path).update({("vllm/c.py", "", "", BUDGET): {"0.9.0": 7}}, ["0.9.0"])
    document = orjson.loads(path.read_bytes())
    assert document["datasetVersion"] == "1"
    assert document["record"]["lineNumber"] == 7


@pytest.mark.parametrize("content", [b"[1]", b"{", b'{"record": 3}'])
def test_what_is_no_record_is_an_error_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    """A broken file stops the command instead of being passed over."""
    path = tmp_path / "bad.json"
    path.write_bytes(content)
    with pytest.raises(RecordError) as caught:
        RecordFile(path)
    assert caught.value.file == str(path)
