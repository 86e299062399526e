"""The release inferred from the lines that a log names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import regex
from packaging.version import Version

from triage import catalogue, read
from triage.events import Assembler, FactsCollector, ReleaseGuess
from triage.model import Catalogue, Line, Record, ReleaseMark, Report

ROOT = Path(__file__).parent.parent.parent
LOGS = sorted([*ROOT.glob("samples/real/*/input.log"), *ROOT.glob("samples/healthy/*/input.log")])

VERSION_LINE = regex.compile(
    r"\s*(?:vLLM (?:API server|batch processing API) version|vLLM server version|[▀▄█ ]*[▀▄█]"
    r"|Initializing an? (?:V\d )?LLM engine)"
)
"""What a log states its version in."""

RIGHT_SHARE = 0.95
"""The share of genuine logs with two statements or more whose release must be told without their banner."""

RELEASES = (("0.10.2",), ("0.11.0",), ("0.11.1", "0.11.2"), ("0.12.0",))
MARKS = (
    ReleaseMark("utils.py", "args: ", None, {233: frozenset({"0.10.2", "0.11.0"}), 240: frozenset({"0.12.0"})}),
    ReleaseMark("model.py", "Resolved ", None, {547: frozenset({"0.11.0"}), 600: frozenset({"0.11.1", "0.11.2"})}),
    ReleaseMark("core.py", "failed", None, {708: frozenset({"0.11.0"}), 800: frozenset({"0.11.1", "0.11.2"})}),
    ReleaseMark("core.py", "failed to start", None, {710: frozenset({"0.11.0"}), 801: frozenset({"0.11.1"})}),
    ReleaseMark(
        "vllm/v1/engine/core.py", None, "run", {20: frozenset({"0.11.0", "0.12.0"}), 21: frozenset({"0.11.0"})}
    ),
)

Read = Callable[[str], list[Record]]


def guess(log: list[Record], marks: tuple[ReleaseMark, ...] = MARKS) -> str | None:
    """What is inferred from records and the events in them."""
    release, assembler = ReleaseGuess(marks, RELEASES), Assembler()
    for record in log:
        release.observe(record)
        for event in assembler.feed(record):
            release.observe_event(event)
    for event in assembler.end():
        release.observe_event(event)
    return release.guess()


def said(*places: str) -> list[Record]:
    """Records of the logger, each given as "file.py:123 text"."""
    records = []
    for place in places:
        where, _, text = place.partition(" ")
        file, _, line = where.rpartition(":")
        records.append(
            Record(text, (Line("stdin", 1, 0, text),), level="INFO", logger_file=file, logger_line=int(line))
        )
    return records


def traceback(*lines: int, file: str = "/opt/venv/site-packages/vllm/v1/engine/core.py") -> str:
    frames = "".join(f'  File "{file}", line {line}, in run\n    call()\n' for line in lines)
    return f"Traceback (most recent call last):\n{frames}ValueError: wrong\n"


def test_statements_that_agree_settle_a_release() -> None:
    """What fits several releases by itself fits one together."""
    assert guess(said("utils.py:233 args: {}", "model.py:547 Resolved x")) == "0.11.0"


def test_nothing_is_inferred_from_nothing() -> None:
    """An empty log, and one whose statements are unknown, leave the release unknown."""
    assert guess([]) is None
    assert guess(said("other.py:1 args: {}", "utils.py:233 something else")) is None
    assert ReleaseGuess().guess() is None


def test_one_statement_is_not_enough() -> None:
    """However often it is logged, and though it fits one release only."""
    assert guess(said("model.py:547 Resolved x", "model.py:547 Resolved y")) is None


def test_statements_that_fit_several_releases_settle_none() -> None:
    """Two minor releases with the same lines cannot be told apart."""
    marks = (
        ReleaseMark("a.py", "one", None, {1: frozenset({"0.10.2", "0.11.0"})}),
        ReleaseMark("b.py", "two", None, {2: frozenset({"0.10.2", "0.11.0"})}),
    )
    assert guess(said("a.py:1 one", "b.py:2 two"), marks) is None


def test_newest_of_releases_that_hardly_differ() -> None:
    """Patch releases that are the same in what was seen are as good as one; where one of them fits better, it is it."""
    assert guess(said("model.py:600 Resolved x", "core.py:800 failed")) == "0.11.2"
    assert guess(said("model.py:600 Resolved x", "core.py:801 failed to start")) == "0.11.1"


def test_line_of_no_release_speaks_against_all() -> None:
    """A fork keeps some lines and moves others; it is not taken for the release that it was made from."""
    assert guess(said("utils.py:233 args: {}", "model.py:547 Resolved x", "core.py:999 failed")) is None


def test_lines_of_different_releases_settle_none() -> None:
    """Two logs in one, or a build between two releases."""
    assert guess(said("model.py:547 Resolved x", "core.py:800 failed")) is None


def test_one_damaged_line_among_many_is_borne() -> None:
    """Eight statements agree, one has a digit wrong."""
    marks = tuple(ReleaseMark(f"f{n}.py", "text", None, {n: frozenset({"0.12.0"})}) for n in range(8))
    places = [f"f{n}.py:{n} text" for n in range(8)]
    damaged = (*marks, ReleaseMark("g.py", "text", None, {5: frozenset({"0.12.0"})}))
    assert guess(said(*places, "g.py:6 text"), damaged) == "0.12.0"
    assert guess(said(*places[1:], "g.py:6 text"), damaged) is None


def test_longest_text_counts() -> None:
    """A statement whose text begins with another's is itself, not the other at a wrong line."""
    assert guess(said("core.py:710 failed to start", "model.py:547 Resolved x")) == "0.11.0"


def test_file_name_as_logs_have_it() -> None:
    """At level DEBUG a path stands before it; Markdown takes its underscores for emphasis."""
    marks = (
        ReleaseMark("__init__.py", "Automatically", None, {216: frozenset({"0.11.0"})}),
        ReleaseMark("core.py", "failed", None, {708: frozenset({"0.11.0"})}),
    )
    assert guess(said("**init**.py:216 Automatically", "v1/engine/core.py:708 failed"), marks) == "0.11.0"


@pytest.mark.parametrize(
    "file",
    [
        "/opt/venv/lib/python3.12/site-packages/vllm/v1/engine/core.py",
        "C:\\venv\\Lib\\site-packages\\vllm\\v1\\engine\\core.py",
        "/src/vllm/vllm/v1/engine/core.py",
        "vllm/v1/engine/core.py",
    ],
)
def test_frames_count_from_any_installation(records: Read, file: str) -> None:
    """Two frames and a statement settle a release, wherever vLLM is installed."""
    log = said("model.py:547 Resolved x")
    assert guess([*log, *records(traceback(20, 21, file=file))]) == "0.11.0"


def test_frames_count_less_than_statements(records: Read) -> None:
    """A function has many lines, so that a line of another release fits easily: two frames settle nothing, a frame
    beside a statement does."""
    assert guess(records(traceback(20, 21))) is None
    assert guess([*said("model.py:547 Resolved x"), *records(traceback(20))]) == "0.11.0"


def test_frames_count_without_head_or_end_of_their_traceback(records: Read) -> None:
    """A log that begins or stops inside a traceback shows frames, though no exception."""
    frames = "".join(traceback(20, 21).splitlines(keepends=True)[1:-1])
    assert guess([*said("model.py:547 Resolved x"), *records(frames)]) == "0.11.0"


def test_frame_elsewhere_speaks_against_the_release(records: Read) -> None:
    """A line where the function calls nothing is a fork's."""
    assert guess([*said("model.py:547 Resolved x", "utils.py:233 args: {}"), *records(traceback(99))]) is None


def test_next_run_begins_without_evidence() -> None:
    """A restart may be of another release; the run before keeps what it has."""
    release = ReleaseGuess(MARKS, RELEASES)
    for record in said("utils.py:233 args: {}", "model.py:547 Resolved x"):
        release.observe(record)
    following = release.next_run()
    for record in said("model.py:600 Resolved x", "core.py:800 failed"):
        following.observe(record)
    assert (release.guess(), following.guess()) == ("0.11.0", "0.11.2")


def test_places_are_bounded() -> None:
    """A log that names a new line each time fills no memory, and settles nothing."""
    release = ReleaseGuess(MARKS, RELEASES)
    for record in said(*(f"utils.py:{line} args: {{}}" for line in range(5000, 9000))):
        release.observe(record)
    assert len(release._places) <= 400
    assert release.guess() is None


def without_version(path: Path) -> list[Record]:
    with path.open("rb") as stream:
        lines = read.split_lines(read.read_chunks(read.Source(path.name, stream)), path.name)
        return [record for record in read.unwrap(lines, window=read.WINDOW) if not VERSION_LINE.match(record.text)]


def inferred(known: Catalogue, log: list[Record]) -> tuple[str | None, int]:
    """What the bundled marks infer, and from how many statements."""
    release, assembler = ReleaseGuess(known.marks, known.releases), Assembler()
    for record in log:
        release.observe(record)
    statements = len(release._places)
    for record in log:
        for event in assembler.feed(record):
            release.observe_event(event)
    for event in assembler.end():
        release.observe_event(event)
    return release.guess(), statements


def test_genuine_logs_tell_their_release() -> None:
    """Without the lines that state the version, no genuine log is taken for another release's, and most are told."""
    known = catalogue.load()
    right = telling = 0
    for path in LOGS:
        facts = FactsCollector()
        with path.open("rb") as stream:
            for record in read.unwrap(read.split_lines(read.read_chunks(read.Source("log", stream)), "log")):
                facts.observe(record)
        stated = facts.facts().vllm_version
        if stated is None:
            continue
        log = without_version(path)
        release, statements = inferred(known, log)
        assert release is None or Version(release).base_version == Version(stated).base_version, path
        if statements >= 2:
            telling += 1
            right += release is not None
    assert telling >= 30
    assert right >= RIGHT_SHARE * telling


def test_report_says_that_the_release_is_inferred(diagnose: Callable[..., Report]) -> None:
    """A log without a banner is located in the release that its lines tell."""
    report = diagnose((ROOT / "samples/real/0.11.0-batched-tokens-below-num-seqs-python/input.log").read_bytes())
    assert [(run.vllm_version, run.version_basis) for run in report.runs] == [("0.11.0", "inferred")]
    location = report.findings[0].location
    assert location is not None
    assert (location.file, location.line, location.version) == ("vllm/config/scheduler.py", 246, "0.11.0")


def test_banner_and_user_know_better_than_lines(diagnose: Callable[..., Report]) -> None:
    """What the user gives stands before what is inferred, and what the log states before both."""
    log = (ROOT / "samples/real/0.11.0-batched-tokens-below-num-seqs-python/input.log").read_text()
    given = diagnose(log, vllm_version="0.12.0").runs[0]
    assert (given.vllm_version, given.version_basis) == ("0.12.0", "given")
    banner = "INFO 11-30 16:37:30 [api_server.py:1] vLLM API server version 0.10.2\n"
    stated = diagnose(banner + log, vllm_version="0.12.0").runs[0]
    assert (stated.vllm_version, stated.version_basis) == ("0.10.2", "log")
