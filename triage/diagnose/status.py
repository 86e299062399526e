"""The verdict: cause found, unknown failure, not enough evidence, healthy; and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from triage.diagnose.observations import RunState
from triage.diagnose.ranking import IGNORED, Ranked
from triage.model import InputFacts, Status

STALLS = 2
"""Lines, each a minute apart, that say that a process does not answer; a single one is usual while compiling."""


def conclude(
    ranked: Sequence[Ranked], runs: Sequence[RunState], read: InputFacts, *, is_of_vllm: bool = True
) -> tuple[Status, tuple[str, ...]]:
    """Say what the findings amount to.

    Args:
        ranked: every observation with its role, root causes first.
        runs: the runs of the input.
        read: what was read.
        is_of_vllm: whether anything of the input looks like a log of vLLM.

    Returns:
        The status, and what would be needed to know more, each with how to get it.
    """
    roots = [r for r in ranked if r.role == "root_cause"]
    if roots:
        if roots[0].observation.match is not None:
            return "cause_found", ()
        return "unknown_failure", ()
    if not read.bytes:
        return "insufficient_evidence", ("the input is empty: pipe the log in, e.g. kubectl logs POD | vllm-triage",)
    ignored = sorted({r.observation.slug or "" for r in ranked if r.why == IGNORED})
    if ignored:
        return "insufficient_evidence", (
            f"a cause was left out, as asked ({', '.join(ignored)}), and nothing else explains the failure",
        )
    consequences = [r for r in ranked if r.role == "consequence"]
    if consequences:
        first = _short(consequences[0].observation.message)
        missing = [
            f'the lines before "{first}": it only says that something failed before it. Give the whole log from the '
            "start: kubectl logs POD (--previous for a restarted container), docker logs NAME 2>&1"
        ]
        if consequences[-1].observation.stage in ("api", ""):
            missing.append("the log of the worker or engine process that failed, if it is kept in another file or pod")
        return "insufficient_evidence", tuple(missing)
    for run in runs:
        if run.stalls >= STALLS and not run.stopped:
            after = f"after {run.stage}" if run.stage and not run.complete else "while serving"
            return "insufficient_evidence", (
                f"a process does not answer any more, {after}, and no line says why. See where it hangs: py-spy dump "
                "--pid PID of the engine and of each worker; start again with NCCL_DEBUG=INFO and "
                "VLLM_LOGGING_LEVEL=DEBUG; look into dmesg and nvidia-smi for a GPU that fell off",
            )
    for run in {(run.source, run.pod): run for run in runs}.values():  # the last start of each server
        if run.started and not run.complete and not run.progress and not run.stopped:
            stage = f"the last stage that it shows is {run.stage}" if run.stage else "it shows no stage of it"
            return "insufficient_evidence", (
                f"start-up does not complete in this log, and no line says why: {stage}. Give what comes after it; if "
                "nothing does, look whether the process still runs (py-spy dump --pid PID) or was killed (kubectl "
                "describe pod POD, dmesg)",
            )
    if ended := next((run.ended for run in runs if run.ended), None):
        return "insufficient_evidence", (
            f'a process was ended ("{_short(ended)}") and no line says why. Exit code 137 and "Killed" are a kill '
            "from outside, mostly for want of host memory or by a failed probe: dmesg -T | grep -i 'killed process', "
            "kubectl describe pod POD (Last State, Events), kubectl logs POD --previous",
        )
    if any(run.failed and run.failed >= 1 and not run.progress for run in runs):
        return "insufficient_evidence", (
            "requests were answered with status 500, and no line says why. Give the server's log around such a line, "
            "the engine's and the workers' too",
        )
    if not is_of_vllm:
        return "insufficient_evidence", (
            "a log of vLLM: nothing in this input looks like one. Check what the command in front of the pipe printed",
        )
    return "healthy", ()


def _short(message: str) -> str:
    first = " ".join(message.split())
    return first if len(first) <= 80 else f"{first[:77]}..."
