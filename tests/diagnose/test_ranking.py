"""Which line of a cascade is the cause."""

from __future__ import annotations

from collections.abc import Callable

from triage.model import Report

Diagnose = Callable[..., Report]

BANNER = "(APIServer pid=1) INFO 11-30 14:15:02 [api_server.py:1839] vLLM API server version 0.11.0\n"
UP = "(APIServer pid=1) INFO:     Application startup complete.\n"
SERVED = '(APIServer pid=1) INFO:     192.0.2.7:5 - "POST /v1/completions HTTP/1.1" 200 OK\n'
HEALTH = '(APIServer pid=1) INFO:     192.0.2.7:5 - "GET /health HTTP/1.1" 200 OK\n'
ENGINE = "(EngineCore_DP0 pid=41) ERROR 11-30 14:15:09 [core.py:708] "
WORKER = "(Worker_TP{rank} pid=5{rank}) ERROR 11-30 14:15:08 [multiproc_executor.py:597] "
CONSEQUENCE = (
    "(APIServer pid=1) RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n"
)
SEED = "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"


def logged(prefix: str, headline: str, exception: str) -> str:
    lines = [
        headline,
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "    g()",
        exception.rstrip(),
    ]
    return "".join(f"{prefix}{line}\n" for line in lines)


def roots(report: Report) -> list[str]:
    return [finding.message for finding in report.findings if finding.role == "root_cause"]


def test_worker_explains_engine_and_api_server(diagnose: Diagnose) -> None:
    """Three processes complain in turn; the worker's exception is the cause, whatever the others say."""
    text = (
        BANNER
        + logged(WORKER.format(rank=0), "WorkerProc failed to start.", "acme.Broken: the flux is low")
        + logged(ENGINE, "EngineCore failed to start.", "RuntimeError: something went wrong below")
        + CONSEQUENCE
    )
    report = diagnose(text, show_all=True)
    assert roots(report) == ["the flux is low"]
    assert {f.role for f in report.findings[1:]} == {"consequence"}
    assert all(f.why for f in report.findings)


def test_order_of_processes_does_not_matter(diagnose: Diagnose) -> None:
    """Separate processes write when they like: the cause may be printed last."""
    text = BANNER + CONSEQUENCE + logged(ENGINE, "EngineCore failed to start.", SEED)
    assert roots(diagnose(text)) == [SEED.removeprefix("ValueError: ").rstrip()]


def test_earliest_rank_explains_the_others(diagnose: Diagnose) -> None:
    """Ranks fail one after the other, in other words: one root cause, the first."""
    text = BANNER + "".join(
        logged(WORKER.format(rank=rank), "WorkerProc hit an exception.", f"acme.Broken: rank {'abcd'[rank]} is gone")
        for rank in range(4)
    )
    assert roots(diagnose(text)) == ["rank a is gone"]


def test_copies_are_counted_not_repeated(diagnose: Diagnose) -> None:
    """The logged traceback, its bare copy and another rank's are one finding, seen three times."""
    bare = f'Process EngineCore_DP0:\nTraceback (most recent call last):\n  File "x.py", line 1, in f\n    g()\n{SEED}'
    text = BANNER + logged(ENGINE, "EngineCore failed to start.", SEED) * 2 + bare + CONSEQUENCE
    (root,) = [f for f in diagnose(text).findings if f.role == "root_cause"]
    assert root.count == 2 + 1 or root.count == 2
    assert root.process == "EngineCore_DP0"


def test_relay_without_its_cause_quotes_it(diagnose: Diagnose) -> None:
    """Where only the relay is in the log, what it quotes is the root cause, in the quoted words."""
    text = f"{ENGINE}RuntimeError: Worker failed with error 'the flux is low', please check the stack trace above for the root cause\n"
    assert roots(diagnose(text)) == ["the flux is low"]


def test_only_consequences_is_not_enough(diagnose: Diagnose) -> None:
    """The end of a cascade says that something failed, not what: no root cause, and what to fetch."""
    report = diagnose(CONSEQUENCE)
    assert (report.status, roots(report)) == ("insufficient_evidence", [])
    assert "kubectl logs" in report.missing[0]


def test_start_up_that_went_on_was_no_failure(diagnose: Diagnose) -> None:
    """An error before start-up completes was not fatal; probes prove nothing, a served request does."""
    error = f"{ENGINE}something odd\n"
    assert diagnose(BANNER + error + UP).status == "healthy"
    assert diagnose(BANNER + UP + error + HEALTH).status == "unknown_failure"
    assert diagnose(BANNER + UP + error + SERVED).status == "healthy"


def test_nothing_cancels_a_rejected_request(diagnose: Diagnose) -> None:
    """An exception while handling a request stays one, whatever was served afterwards."""
    error = logged(
        "(APIServer pid=1) ERROR 11-30 15:00:00 [serving.py:1] ", "Error in preprocessing", "acme.Bad: no such thing"
    )
    assert diagnose(BANNER + UP + error + SERVED).status == "unknown_failure"


def test_restart_loop_counts_attempts_and_ranks_the_last(diagnose: Diagnose) -> None:
    """Two starts that fail alike are one finding of the last run; a third one that comes up makes it history."""
    attempt = BANNER + logged(ENGINE, "EngineCore failed to start.", SEED) + CONSEQUENCE
    report = diagnose(attempt + attempt)
    (root,) = report.findings
    assert (root.run, root.count, len(report.runs)) == (1, 2, 2)
    assert diagnose(attempt + BANNER + UP + SERVED).status == "healthy"


def test_prompts_and_dumps_are_no_errors(diagnose: Diagnose) -> None:
    """What a client wrote, and what the arguments hold, is quoted text."""
    prompt = f'(APIServer pid=1) INFO 11-30 15:00:00 [logger.py:40] Received request cmpl-1: prompt: "{SEED.rstrip()}", params: x\n'
    args = f"(APIServer pid=1) INFO 11-30 15:00:00 [utils.py:233] non-default args: {{'model': '{SEED.rstrip()}'}}\n"
    report = diagnose(BANNER + args + UP + prompt + SERVED)
    assert (report.status, report.findings) == ("healthy", ())


def test_ignored_cause_is_not_named(diagnose: Diagnose) -> None:
    """--ignore leaves a cause out and looks for another."""
    text = BANNER + logged(ENGINE, "EngineCore failed to start.", SEED)
    report = diagnose(text, ignore=frozenset({"batched-tokens-below-num-seqs"}))
    assert roots(report) == []


def test_unstarted_and_unfinished_runs(diagnose: Diagnose) -> None:
    """Empty input and a start that never completes are not enough; the last stage is named. Text of no vLLM is neither."""
    assert diagnose("").status == "insufficient_evidence"
    report = diagnose(BANNER + "(EngineCore_DP0 pid=4) INFO 11-30 14:15:02 [x.py:1] Starting to load model /m...\n")
    assert (report.status, "loading the model" in report.missing[0]) == ("insufficient_evidence", True)
    assert diagnose("(APIServer pid=1) INFO 11-30 14:15:02 [x.py:1] hello\n").status == "healthy"
    stranger = diagnose('Error from server (NotFound): pods "vllm-0" not found\n'.replace("vllm", "llm"))
    assert (stranger.status, "nothing in this input looks like one" in stranger.missing[0]) == (
        "insufficient_evidence",
        True,
    )
