"""Lines that stand on one line: breaks that a form dropped where each line began with the same process tag."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from triage.model import Report
from triage.read.glued import unbroken

FAILURE = """\
Traceback (most recent call last):
  File "/opt/venv/lib/python3.12/site-packages/vllm/entrypoints/cli/main.py", line 73, in main
    args.dispatch_function(args)

ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).
"""


def tagged(tag: str, end: str) -> str:
    return "".join(f"{tag} {line}".rstrip() + end for line in FAILURE.splitlines())


@pytest.mark.parametrize(
    "tag", ["(APIServer pid=3122)", "(Worker_TP0 pid=41)", "(RayWorkerWrapper pid=9, ip=192.0.2.1)"]
)
@pytest.mark.parametrize("carrier", ["", "vllm-1  | "])
def test_dropped_breaks_are_put_back_at_the_tags(tag: str, carrier: str) -> None:
    """Each line gets its tag, and what the carrier put before the first; an empty line stays one."""
    lines = unbroken(carrier + tagged(tag, ""))
    assert lines == [carrier + line for line in tagged(tag, "\n").splitlines()]


@pytest.mark.parametrize(
    "text",
    [
        "(APIServer pid=1) (APIServer pid=1) (APIServer pid=1) twice relayed",
        "(APIServer pid=1) started (Worker pid=2) and (Worker pid=3)",
        "no tag at all pid=1 pid=2 pid=3",
    ],
)
def test_other_lines_stay_whole(text: str) -> None:
    """Tags around each other, of several processes, or none."""
    assert unbroken(text) == [text]


def test_the_failure_is_read_from_one_line(diagnose: Callable[..., Report]) -> None:
    """What the log says with its line ends, it says without them."""
    report = diagnose(tagged("(APIServer pid=3122)", ""))
    assert [finding.record and finding.record.slug for finding in report.findings] == ["batched-tokens-below-num-seqs"]
    assert report.findings[0].captures["max_num_seqs"] == 256
