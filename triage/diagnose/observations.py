"""What was observed: a statement of an event, with the cause that it was matched to or none, and its copies."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import regex

from triage.model import Frame, Match, Record, Scalar, Statement

Stage = str
"""The part of vLLM that a process is: "worker", "engine", "api", or "" where it cannot be told."""

_STAGES: tuple[tuple[Stage, regex.Pattern[str]], ...] = (
    ("worker", regex.compile(r"(?:Vllm)?Worker|RayWorker|ray::RayWorker")),
    ("engine", regex.compile(r"EngineCore|SpawnProcess|MQLLMEngine|LLMRayActor")),
    ("api", regex.compile(r"APIServer|MainProcess|ApiServer")),
)
_FRAMES: tuple[tuple[Stage, regex.Pattern[str]], ...] = (
    ("worker", regex.compile(r"worker_main|worker_busy_loop|_run_worker_process")),
    ("engine", regex.compile(r"run_engine_core|run_mp_engine|run_rpc_server|run_busy_loop")),
    ("api", regex.compile(r"run_server|api_server|wrapped_app|build_async_engine_client|serve\.py")),
)
_HEADLINE_PROCESS = regex.compile(r"Process (\S+):")
DEPTH = {"worker": 3, "engine": 2, "api": 1, "": 1.5}
"""How near a process is to where things break: a worker explains its engine, and that the API server."""

ANY = "*"
"""In consequenceOf: the record's message follows from any other root cause of its run."""

_DIGIT = regex.compile(r"\d")
_VARIABLE = regex.compile(r"0x[0-9a-fA-F]+|\d+(?:\.\d+)?|[0-9a-f]{12,}")


@dataclass(slots=True)
class Observation:
    """A statement and its copies.

    message: as it will be reported; records: where it stands, first record first; relayed: whether another
    message quoted it; order: its place in the input (source, line, statement of that line); last_line: line of its
    last copy; contexts: for each cause that fits, the values that the lines around give; others: further causes that
    fit, for when the first one's conditions do not hold; plain_message, is_error: what it is where none does.
    """

    statement: Statement
    match: Match | None
    message: str
    records: tuple[Record, ...]
    run: int
    order: tuple[int, int, int]
    relayed: bool = False
    count: int = 1
    last_line: int = 0
    first_time: str | None = None
    last_time: str | None = None
    contexts: dict[str, dict[str, Scalar]] = field(default_factory=dict)
    copies: list[Observation] = field(default_factory=list)
    others: tuple[Match, ...] = ()
    plain_message: str = ""
    is_error: bool = True
    _stage: Stage | None = None

    @property
    def record(self) -> Record:
        """The record in which the message begins."""
        return self.records[0] if self.records else self.statement.event.first

    @property
    def line(self) -> int:
        """The input line in which the message begins."""
        return self.record.first.number

    @property
    def place(self) -> int:
        """What tells earlier from later in its source, see Line."""
        return self.record.first.place

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frames of the exception, none for a log message."""
        index = self.statement.index
        return self.statement.event.raised[index].frames if index is not None else ()

    @property
    def is_in_vllm(self) -> bool:
        """Whether the frames of the exception reach into vLLM."""
        return any("vllm/" in frame.file or "vllm\\" in frame.file for frame in self.frames)

    @property
    def is_exception(self) -> bool:
        """Whether it was raised, as far as the input shows."""
        return self.statement.index is not None

    @property
    def is_primary(self) -> bool:
        """Whether it has the wording that its record begins with."""
        return self.match is not None and self.match.template in self.match.cause.templates[:1]

    @property
    def is_wordless(self) -> bool:
        """Whether it is an exception without a text: the failing source line stands for one."""
        frames = self.frames
        return bool(frames) and frames[-1].source is not None and self.statement.text == frames[-1].source

    @property
    def is_native(self) -> bool:
        """Whether C++ or CUDA code says it, below Python: a check, an assertion, NCCL, a crash."""
        if self.is_exception:
            return False
        file = self.record.logger_file or ""
        return file.endswith((".cpp", ".cc", ".cu", ".cuh")) or self.statement.event.kind == "text"

    @property
    def is_last_resort(self) -> bool:
        """Whether its record is a root cause only where nothing better is there (a supervisor's own line)."""
        return self.match is not None and ANY in self.match.cause.consequence_of

    @property
    def slug(self) -> str | None:
        """The matched cause's slug."""
        return self.match.cause.slug if self.match else None

    @property
    def matches(self) -> tuple[Match, ...]:
        """All causes that fit, the first one first."""
        return (self.match, *self.others) if self.match is not None else ()

    @property
    def context(self) -> dict[str, Scalar]:
        """The values that the lines around give for the matched cause."""
        return self.contexts.get(self.slug or "", {})

    @property
    def known(self) -> bool:
        """Whether a record names it as a root cause."""
        return self.match is not None and self.match.cause.role == "root_cause"

    @property
    def stage(self) -> Stage:
        """The part of vLLM that said it: by process tag, the multiprocessing headline, or the frames."""
        if self._stage is None:
            self._stage = self._find_stage()
        return self._stage

    def _find_stage(self) -> Stage:
        name = self.record.process or self.statement.event.first.process or ""
        if found := _HEADLINE_PROCESS.search(self.statement.event.headline[:200]):
            name = name or found[1]
        for stage, pattern in _STAGES:
            if pattern.match(name):
                return stage
        functions = " ".join(f"{frame.function} {frame.file.rpartition('/')[2]}" for frame in self.frames[:40])
        return next((stage for stage, pattern in _FRAMES if pattern.search(functions)), "")

    @property
    def depth(self) -> float:
        """See DEPTH; an exception without frames may be what the program around vLLM says of it."""
        return DEPTH["api"] if self.stage == "" and self.is_exception and not self.frames else DEPTH[self.stage]


def fingerprint(class_name: str | None, slug: str | None, message: str) -> str:
    """A short name for the same failure wherever it occurs: 16 hexadecimal digits, numbers left out.

    Args:
        class_name: the exception's class, dotted or not.
        slug: the cause's slug; where there is one, the message does not count.
        message: the message.
    """
    last = (class_name or "").rpartition(".")[2]
    text = slug or f"{last}: {' '.join(_VARIABLE.sub('#', message).split())[:500]}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def merge(held: Observation, copy: Observation) -> Observation:
    """Count a copy of an observation in; the one that says more stands for both.

    A traceback says more than a bare message, one that reaches into vLLM more than one cut short, the whole message
    more than a part, the message itself more than its quotation, the process where it broke more than the one that
    passed it on; else the first one.
    """

    def worth(observation: Observation) -> tuple[bool, bool, bool, bool, bool, float]:
        whole = observation.match is None or observation.match.confidence == "exact"
        loud = observation.record.level not in ("DEBUG", "INFO")
        return not observation.relayed, loud, whole, observation.is_in_vllm, bool(observation.frames), observation.depth

    # Of one chain the wording that the record begins with stands, else the innermost, if it is there in whole: what
    # wraps it says the same in other words.
    is_chain = held.statement.event is copy.statement.event and held.is_exception and copy.is_exception
    inner = is_chain and worth(held)[:3] >= worth(copy)[:3] and (held.is_primary or not copy.is_primary)
    best = copy if worth(copy) > worth(held) and not inner else held
    best.count = held.count + copy.count
    best.order = min(held.order, copy.order)
    best.last_line = max(held.last_line, copy.last_line)
    times = [time for time in (held.first_time, held.last_time, copy.first_time, copy.last_time) if time]
    # Copies may carry different clocks (vLLM's own, the container's): only times of one form can be compared.
    same = [time for time in times if _DIGIT.sub("0", time) == _DIGIT.sub("0", times[0])]
    best.first_time, best.last_time = (min(same), max(same)) if same else (None, None)
    slugs = {**copy.contexts, **held.contexts}
    best.contexts = {slug: {**copy.contexts.get(slug, {}), **held.contexts.get(slug, {})} for slug in slugs}
    return best
