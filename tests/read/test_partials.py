"""What a runtime or a collector cut to pieces is put together, stream by stream, and nothing else is."""

from __future__ import annotations

import json

import pytest

from triage.read import split_lines, unwrap
from triage.read.partials import LONGEST, STREAMS, join_partials

CLOCK = "2026-03-09T07:11:41.1Z"


def joined(*lines: str) -> list[tuple[str, list[int]]]:
    text = "".join(f"{line}\n" for line in lines)
    records = unwrap(split_lines([text.encode()], "stdin"))
    return [(record.text, [line.number for line in record.lines]) for record in records]


def test_cri_parts_by_stream_and_pod() -> None:
    """Parts run up to the one marked F; the other stream and another pod may stand in between."""
    got = joined(
        f"{CLOCK} stderr P ValueError: max_num_ba",
        f"{CLOCK} stdout F hello",
        f"[pod/b/c] {CLOCK} stderr P other ",
        f"{CLOCK} stderr F tched_tokens (1",
        f"[pod/b/c] {CLOCK} stderr F pod",
    )
    assert got == [("hello", [2]), ("ValueError: max_num_batched_tokens (1", [1, 4]), ("other pod", [3, 5])]


def test_docker_entries_without_a_line_feed_go_on() -> None:
    """Where a stream's entries end in line feeds, one that does not is a piece."""
    entries = ["one\n", "two ", "three\n", "four\n"]
    lines = [json.dumps({"log": log, "stream": "stderr", "time": CLOCK}) for log in entries]
    assert joined(*lines) == [("one", [1]), ("two three", [2, 3]), ("four", [4])]


def test_collector_without_line_feeds() -> None:
    """Where no entry ends in a line feed, each is a line."""
    lines = [json.dumps({"log": log, "stream": "stderr"}) for log in ("one", "two", "three")]
    assert [text for text, _ in joined(*lines)] == ["one", "two", "three"]


@pytest.mark.parametrize("mark", [{"partial_message": "true", "partial_last": "false"}, {"logtag": "P"}, {"_p": "P"}])
def test_marked_entries_go_on(mark: dict[str, str]) -> None:
    """fluentd and fluent-bit say which entries are pieces."""
    last = {"partial_message": "true", "partial_last": "true"} if "partial_last" in mark else {}
    lines = [
        json.dumps({"log": log, "stream": "stderr", **more})
        for log, more in (("one ", mark), ("two", last), ("three", {}))
    ]
    assert joined(*lines) == [("one two", [1, 2]), ("three", [3])]


def test_parts_without_an_end_are_given() -> None:
    """The input may end before the last part."""
    assert joined(f"{CLOCK} stderr P half") == [("half", [1])]


def test_joining_is_bounded() -> None:
    """Neither an endless line nor endlessly many streams are held."""
    lines = [f"{CLOCK} stderr P " + "x" * 10_000 for _ in range(100)]
    lines += [f"[pod/p{n}/c] {CLOCK} stderr P x" for n in range(3 * STREAMS)]
    text = "\n".join(lines).encode()
    pieces = list(join_partials(split_lines([text], "stdin")))
    assert max(len(piece.text) for piece in pieces) <= LONGEST + 10_100
    assert sum(len(piece.lines) for piece in pieces) == len(lines)
