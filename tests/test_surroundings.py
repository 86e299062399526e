"""--context: the input's own lines around a message, whatever process printed them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from triage.model import Line, Report
from triage.read import Surroundings, surroundings

SEED = "(EngineCore pid=9) ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256)."
LOG = f"""\
(APIServer pid=1) INFO 11-30 09:00:00 [a.py:1] one
(Worker pid=3) INFO 11-30 09:00:01 [b.py:2] two
(APIServer pid=1) INFO 11-30 09:00:02 [a.py:1] three
{SEED}
(Worker pid=3) INFO 11-30 09:00:03 [b.py:2] four
nothing of anybody
(APIServer pid=1) INFO 11-30 09:00:04 [a.py:1] six
"""


@pytest.mark.parametrize(("context", "start", "end"), [(1, 2, 5), (2, 1, 6), (10, 0, 7)])
def test_lines_of_other_processes_are_quoted(
    diagnose: Callable[..., Report], context: int, start: int, end: int
) -> None:
    """N lines on each side, as they stand in the input, fewer at its ends."""
    (finding,) = diagnose(LOG, context=context).findings
    assert finding.evidence == tuple(LOG.splitlines()[start:end])
    assert finding.evidence[finding.evidence_before or 0] == SEED
    assert finding.evidence_line == 4


def test_without_a_context_only_the_message_is_quoted(diagnose: Callable[..., Report]) -> None:
    """Nobody asked for the neighbours."""
    (finding,) = diagnose(LOG).findings
    assert (finding.evidence, finding.evidence_before) == ((SEED,), None)


def test_the_numbered_line_is_the_message_among_its_repetitions(diagnose: Callable[..., Report]) -> None:
    """A neighbour that says the same does not get the number."""
    from triage.render import Options, render

    report = diagnose(f"first\n{SEED}\n{SEED}\nlast\n", context=2)
    text = render(report, "text", Options(context=2))
    assert f"  | first\n2 | {SEED}\n  | {SEED}\n  | last\n" in text


def test_lines_near_errors_outlive_the_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a long input only the latest lines are kept, and those near an error."""
    monkeypatch.setattr(surroundings, "KEPT", 1000)
    around = Surroundings(2)
    lines = [Line("stdin", number, 0, f"line {number} " + "x" * 50) for number in range(1, 200)]
    for line in lines[:11]:
        around.add(line)
    around.keep(lines[9])
    for line in lines[11:]:
        around.add(line)
    before, after = around.of(lines[9], [lines[9].text])
    assert before == tuple(line.text for line in lines[7:9])
    assert after == tuple(line.text for line in lines[10:12])
    assert around.of(lines[60], [lines[60].text]) == ((), ())
    assert len(around._recent) < 30
