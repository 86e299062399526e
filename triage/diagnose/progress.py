"""How far a run came: stages of start-up, serving, an orderly stop."""

from __future__ import annotations

import regex

from triage.model import Record

SERVING = "starting the HTTP server"
"""The stage that any server on uvicorn shows in the same words."""

# The stages of start-up in the words of the log lines that show them, in order.
_STAGES: tuple[tuple[str, regex.Pattern[str]], ...] = tuple(
    (stage, regex.compile(pattern))
    for stage, pattern in (
        ("reading the arguments", r"non-default args|args: Namespace\("),
        ("resolving the model's configuration", r"Resolved architecture|This model supports multiple tasks"),
        ("starting the engine", r"Initializing an? (?:V[01] )?(?:LLM )?(?:LLM )?engine|Started engine process"),
        ("connecting to Ray", r"Connecting to existing Ray cluster|Connected to Ray cluster"),
        ("waiting for Ray's placement group", r"Waiting for creating a placement group"),
        ("connecting the workers", r"vLLM is using nccl|is assigned as DP rank|world_size=\d+ rank=\d+"),
        ("loading the model", r"Starting to load model|Loading weights|Loading safetensors|Loading checkpoint"),
        ("compiling and profiling", r"torch\.compile|Using cache directory|Dynamo bytecode|[Mm]emory profiling"),
        ("reserving the KV cache", r"KV cache size|# GPU blocks|Available KV cache memory"),
        ("capturing CUDA graphs", r"Capturing (?:the model|CUDA graph)|Graph capturing finished"),
        (SERVING, r"Starting vLLM (?:API )?server|Started server process|init engine \(profile"),
    )
)
_STALLED = regex.compile(r"No available shared memory broadcast block found|RPC call to \w+ timed out")
_ENDED = regex.compile(
    r"\bexited with code (?!0\b)\d+|terminated with exit code (?!0\b)\d+|^(?:\S+: line \d+: +\d+ )?Killed\b[^:]*$"
    r"|Exit Code: +(?!0\b)\d+|Reason: +(?:OOMKilled|Error|ContainerCannotRun)|CrashLoopBackOff"
)
_FAILED = regex.compile(r'"POST /\S+ HTTP/[\d.]+" 500')
_REFUSED = regex.compile(r'"POST /\S+ HTTP/[\d.]+" (?:400|422)')
_COMPLETE = regex.compile(r"Application startup complete|Uvicorn running on")
# A served request or a step of the engine; probes and metrics say nothing of the engine.
_SERVED = regex.compile(
    r'"POST /\S+ HTTP/[\d.]+" 2\d\d|generation throughput: (?!0\.0 )[\d.]+ tokens/s|Processed prompts: 100%'
)
_STOPPED = regex.compile(
    r"Application shutdown complete|Finished server process|Shutting down FastAPI HTTP server|Shutting down Ray"
)
# What makes the API server ready also loads the adapters that are named at start: no client asked for them.
_MADE_READY = regex.compile(r", in init_(?:app_state|static_loras)$")
_STARTED = regex.compile(
    r"vLLM (?:API )?server version|Initializing an? (?:V[01] )?LLM engine|non-default args|args: Namespace\("
    r"|Automatically detected platform"
)
_ANY = regex.compile(
    "|".join(
        [pattern.pattern for _, pattern in _STAGES]
        + [
            p.pattern
            for p in (_COMPLETE, _SERVED, _STOPPED, _STARTED, _STALLED, _ENDED, _FAILED, _REFUSED, _MADE_READY)
        ]
    )
)


def read_progress(record: Record) -> tuple[str, str | None] | None:
    """Say what a record shows of its run's progress.

    Returns:
        ("stage", its name), ("complete", None), ("served", None), ("stopped", None), ("stalled", None), ("ended",
        its text), ("failed", None), ("unready", None) or ("started", None); None for nothing. Errors are never
        progress.
    """
    if record.level in ("ERROR", "CRITICAL"):
        return None
    text = record.text[:400]
    if not _ANY.search(text):
        return None
    for name, pattern in (
        ("complete", _COMPLETE),
        ("served", _SERVED),
        ("stopped", _STOPPED),
        ("stalled", _STALLED),
        ("ended", _ENDED),
        ("failed", _FAILED),
        ("refused", _REFUSED),
        ("unready", _MADE_READY),
    ):
        if pattern.search(text):
            return name, text[:100] if name == "ended" else None
    for stage, pattern in _STAGES:
        if pattern.search(text):
            return "stage", stage
    return "started", None
