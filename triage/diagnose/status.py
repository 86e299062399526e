"""The verdict: cause found, unknown failure, not enough evidence, healthy; and what is missing."""

from __future__ import annotations

from collections.abc import Sequence

from triage.diagnose.ranking import ENDED, IGNORED, UNFINISHED, Ranked
from triage.diagnose.runs import RunState
from triage.model import InputFacts, Status

STALLS = 2
"""Lines, each a minute apart, that say that a process does not answer; a single one is usual while compiling."""

# How to get at more, by where vLLM runs; None where the log does not show it.
_BEFORE: dict[str | None, str] = {
    "kubernetes": "kubectl logs {pod}, or kubectl logs {pod} --previous after a restart",
    "compose": "docker compose logs --no-log-prefix SERVICE",
    "slurm": "the output files of all tasks of the job",
    None: "kubectl logs {pod} (--previous for a restarted container), docker logs NAME 2>&1",
}
# Arguments whose gibibytes are host memory.
_TAKES_HOST_MEMORY = ("cpu_offload_gb", "swap_space", "kv_offloading_size")
_KILLED: dict[str | None, str] = {
    "kubernetes": "kubectl describe pod {pod} (Last State, Events), on the node dmesg -T | grep -i 'killed process'",
    "compose": "docker inspect NAME --format '{{{{.State.ExitCode}}}} {{{{.State.OOMKilled}}}}', "
    "dmesg -T | grep -i 'killed process'",
    "slurm": "sacct -j JOB --format=JobID,State,ExitCode,MaxRSS, dmesg -T | grep -i 'killed process'",
    None: "dmesg -T | grep -i 'killed process', kubectl describe pod {pod} (Last State, Events)",
}
_HANGS = (
    "See where it hangs: py-spy dump --pid PID of the engine and of each worker; start again with NCCL_DEBUG=INFO and "
    "VLLM_LOGGING_LEVEL=DEBUG; look into dmesg and nvidia-smi for a GPU that fell off"
)


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
    ends = (_end_of(run) for run in _last_starts(runs))
    missing = _ignored(ranked) or _consequences(ranked, runs) or next((end for end in ends if end), ())
    if missing:
        return "insufficient_evidence", missing
    if not is_of_vllm:
        return "insufficient_evidence", (
            "a log of vLLM: nothing in this input looks like one. Check what the command in front of the pipe printed",
        )
    refused = sum(run.refused for run in runs)
    if refused:
        return "healthy", (
            f"{refused} requests were refused with status 400 or 422, which is no failure of the server; why may stand "
            "only in the answer to the client: pipe that in too, e.g. curl -s URL -d @request.json | vllm-triage",
        )
    return "healthy", ()


def _last_starts(runs: Sequence[RunState]) -> list[RunState]:
    return list({(run.source, run.pod): run for run in runs}.values())


def _ignored(ranked: Sequence[Ranked]) -> tuple[str, ...]:
    slugs = sorted({r.observation.slug or "" for r in ranked if r.why == IGNORED})
    if not slugs:
        return ()
    return (f"a cause was left out, as asked ({', '.join(slugs)}), and nothing else explains the failure",)


def _consequences(ranked: Sequence[Ranked], runs: Sequence[RunState]) -> tuple[str, ...]:
    """What to fetch where something only says that something else failed."""
    consequences = [r for r in ranked if r.role == "consequence"]
    if not consequences:
        return ()
    observation = consequences[0].observation
    run, said = runs[observation.run], _short(observation.message)
    if all(r.why == ENDED for r in consequences):
        when = f"while it was {run.stage}" if run.stage and not run.complete else "before it served"
        return (
            f'who stopped the process {when} ("{said}" is Ctrl-C or a SIGTERM from outside). A supervisor does that '
            f"after a failed startup or liveness probe, a timeout or an eviction: {_how(_KILLED, run)}",
        )
    if all(r.why == UNFINISHED for r in consequences):
        return (
            f'the lines after "{said}": the input ends, or goes on with something else, before it says what happened. '
            f"Give the whole log: {_how(_BEFORE, run)}",
        )
    missing = [
        f'the lines before "{said}": it only says that something failed before it. Give the whole log from the start: '
        f"{_how(_BEFORE, run)}"
    ]
    if consequences[-1].observation.stage in ("api", ""):
        missing.append("the log of the worker or engine process that failed, if it is kept in another file or pod")
    return tuple(missing)


def _host_memory(run: RunState) -> str:
    """The arguments of a run that take host memory, for a process that was ended without a word; empty for none."""
    taken = {name: run.facts.args.get(name) for name in _TAKES_HOST_MEMORY}
    given = [f"--{name.replace('_', '-')} {value}" for name, value in taken.items() if _is_above_zero(value)]
    return f"; this run takes host memory with {', '.join(given)}" if given else ""


def _is_above_zero(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value > 0


def _end_of(run: RunState) -> tuple[str, ...]:
    """What is missing about a run that ended, or does not go on, without a word why; nothing for one that is well."""
    while_doing = f" while {run.stage}" if run.stage and not run.complete else " while serving" if run.started else ""
    if run.stalls >= STALLS and not run.stopped:
        return (f"a process does not answer any more{while_doing}, and no line says why. {_HANGS}",)
    if run.ended:
        return (
            f'a process was ended{while_doing} ("{_short(run.ended)}") and no line says why. Exit code 137 and '
            '"Killed" are a kill from outside, mostly for want of host memory or by a failed probe'
            f"{_host_memory(run)}: "
            f"{_how(_KILLED, run)}; {_how(_BEFORE, run)}",
        )
    if run.started and not run.complete and not run.progress and not run.stopped:
        stage = f"the last stage that it shows is {run.stage}" if run.stage else "it shows no stage of it"
        return (
            f"start-up does not complete in this log, and no line says why: {stage}. Give what comes after it; if "
            "nothing does, look whether the process still runs (py-spy dump --pid PID) or was killed"
            f"{_host_memory(run)}: {_how(_KILLED, run)}",
        )
    if run.failed:
        return (
            "requests were answered with status 500, and no line says why. Give the server's log around such a line, "
            "the engine's and the workers' too",
        )
    return ()


def _how(ways: dict[str | None, str], run: RunState) -> str:
    pod = run.pod if run.facts.deployment == "kubernetes" and run.pod else "POD"
    return ways.get(run.facts.deployment, ways[None]).format(pod=pod)


def _short(message: str) -> str:
    first = " ".join(message.split())
    return first if len(first) <= 80 else f"{first[:77]}..."
