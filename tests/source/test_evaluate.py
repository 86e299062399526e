"""Messages that a second, independent reader of sources evaluates are found where they are emitted."""

from __future__ import annotations

import dataclasses
import json
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path

import pytest

from tests.source.evaluate import FORMS, QUIET, Judge, dressed
from tests.source.messages import Said, messages
from triage import catalogue
from triage.catalogue.sites import SiteFile
from triage.source.index import SiteReader, dump_index, merge

ROOT = Path(__file__).parents[1] / "data" / "speaking"
SEEDS = 8
ORIGIN = "https://pypi.org/pypi/vllm/json"


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Judge:
    """The program with the index of the small tree instead of vLLM's."""
    path = tmp_path_factory.mktemp("sites") / "vllm.jsonl"
    path.write_bytes(dump_index("vllm", ["1.0"], merge({}, "1.0", SiteReader().read(ROOT))))
    known = dataclasses.replace(catalogue.load(), sites=SiteFile(path))
    return Judge(known, "1.0")


def spoken() -> list[Said]:
    """Every message of the small tree, several times with other values and on other ways."""
    return list(dict.fromkeys(said for seed in range(SEEDS) for said in messages(ROOT, seed)))


def test_second_reader_sees_every_kind() -> None:
    """Nothing of the tree is left out of the measure."""
    assert {(said.kind, said.of) for said in spoken()} == {
        *(("raise", name) for name in ("RequestError", "ValueError", "PermissionError", "RuntimeError")),
        *(
            ("raise", name)
            for name in ("KeyError", "TimeoutError", "TypeError", "HTTPException", "IndexError", "OSError")
        ),
        *(("log", level) for level in ("ERROR", "WARNING", "CRITICAL", "INFO", "DEBUG")),
        ("own", "GoneError"),
        ("assert", "AssertionError"),
        ("warn", "DeprecationWarning"),
        ("response", ""),
    }


@pytest.mark.parametrize("form", FORMS)
def test_messages_are_found_where_they_are_emitted(judge: Judge, form: str) -> None:
    """Each at its own line alone; where the very same text stands at two lines, both are named unless a frame decides."""
    twice = {("vllm/twice.py", 6), ("vllm/twice.py", 10)}
    missed = []
    for said in spoken():
        if said.kind == "log" and said.of in ("INFO", "DEBUG"):
            continue
        wanted = "among" if (said.file, said.line) in twice and form != "framed" else "exact"
        outcome, _ = judge.outcome(said, form)
        if outcome != wanted:
            missed.append((outcome, said))
    assert missed == []


def test_quiet_messages_are_no_failure(judge: Judge) -> None:
    """What is logged at INFO, DEBUG or WARNING names no root cause, whatever words and values it holds."""
    quiet = [said for said in spoken() if said.kind == "log" and said.of in QUIET]
    assert Counter(said.of for said in quiet).keys() == set(QUIET)
    for said in quiet:
        roots = [f for f in judge.report(dressed(said, "logged")).findings if f.role == "root_cause"]
        assert roots == [], said


def test_newest_release_is_in_the_index() -> None:
    """A release that came out since has to be added, see ARCHITECTURE.md."""
    try:
        with urllib.request.urlopen(ORIGIN, timeout=5) as answer:
            newest = json.load(answer)["info"]["version"]
    except (urllib.error.URLError, TimeoutError, OSError, ValueError):
        pytest.skip("the package registry cannot be reached")
    sites = catalogue.load().sites
    assert sites is not None
    assert newest in sites.releases
