"""The values that pass between the stages: what was read, what it says, what it means.

Every class is a frozen, slotted dataclass. The words are those of ARCHITECTURE.md, "Words":
bytes become lines, lines records, records events; an event's statements are matched to causes,
and what comes out of the diagnosis is a report of findings. This module imports nothing of ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

Scalar: TypeAlias = "int | float | str | bool | None"
"""A captured value or a constant of a fix."""

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""What orjson gives back for a record file."""

Role = Literal["root_cause", "consequence", "warning", "harmless"]
Scope = Literal["startup", "engine", "request", "client", "host"]
Owner = Literal["config", "model", "platform", "client", "vllm"]
Confidence = Literal["exact", "truncated", "similar", "unrecognised"]
Status = Literal["cause_found", "unknown_failure", "insufficient_evidence", "healthy"]
Safety = Literal["safe", "changes_behaviour", "needs_judgement"]
Basis = Literal["log", "inferred", "given"]
CommandBasis = Literal["log", "rebuilt"]
LocationBasis = Literal["traceback", "catalogue"]
Idiom = Literal["cli", "docker", "compose", "k8s", "python"]
EventKind = Literal["exception", "log", "usage", "text"]
Link = Literal["direct_cause", "during_handling"]


# --- what was read -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Line:
    """One line of input as read.

    source: "stdin" or the path as given; number: 1-based; offset: bytes from the start of the
    source; text: decoded, without its line end, undecodable bytes kept visible as ``\\xNN``;
    cut: whether a bound on line length was hit; turned: its number counted from the end, where the input has the newest
    line first.
    """

    source: str
    number: int
    offset: int
    text: str
    cut: bool = False
    turned: int | None = None

    @property
    def place(self) -> int:
        """What tells earlier from later: its number, from whichever end the input begins."""
        return self.number if self.turned is None else self.turned


@dataclass(frozen=True, slots=True)
class Record:
    """A line without its envelopes: the text, and what the envelopes said.

    lines: the input lines it stands for (several where a hard wrap was undone); time: the
    innermost clock as written; repeats: how often Ray says that it saw the line.
    """

    text: str
    lines: tuple[Line, ...]
    process: str | None = None
    pid: int | None = None
    rank: int | None = None
    pod: str | None = None
    time: str | None = None
    level: str | None = None
    logger_file: str | None = None
    logger_line: int | None = None
    repeats: int = 1

    @property
    def first(self) -> Line:
        """The first input line of the record."""
        return self.lines[0]


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a traceback; source is the line of code that Python printed below it."""

    file: str
    line: int
    function: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Raised:
    """One exception of a chain, in the order printed (the innermost first).

    class_name: as printed, dotted; message: its text, lines joined with a line feed; records: the
    records that hold the message; link: how the next exception of the chain came of this one, None
    for the last; wrapped: the class that wrapped it (pydantic), where the text names one.
    """

    class_name: str | None
    message: str
    frames: tuple[Frame, ...] = ()
    records: tuple[Record, ...] = ()
    link: Link | None = None
    wrapped: str | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Records that belong together: an exception with its chain, a log message, or loose text.

    headline: the log message before the traceback ("EngineCore failed to start."), or the message
    of a log event; text: all of it, lines joined with a line feed.
    """

    kind: EventKind
    records: tuple[Record, ...]
    headline: str = ""
    raised: tuple[Raised, ...] = ()
    cut: bool = False

    @property
    def first(self) -> Record:
        """The record that the event starts with."""
        return self.records[0]

    @property
    def text(self) -> str:
        """The text of all its records."""
        return "\n".join(record.text for record in self.records)


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What the log says of one run of vLLM.

    args: non-default arguments under vLLM's own names (``max_num_seqs``), values as Python values;
    a value that cannot be turned back (an object's repr, a cut or redacted text) stands in
    unusable. engine: the engine's config line, where its values are plain. launch: the words of
    the launch command, where the log shows it.
    """

    vllm_version: str | None = None
    version_basis: Basis | None = None
    model: str | None = None
    args: Mapping[str, object] = field(default_factory=dict)
    unusable: tuple[str, ...] = ()
    engine: Mapping[str, object] = field(default_factory=dict)
    launch: tuple[str, ...] | None = None
    launch_idiom: Idiom | None = None
    platform: str | None = None
    deployment: str | None = None
    world_size: int | None = None
    gpus: int | None = None


# --- the catalogue -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole of a template: the capture's name, and the expression as the template has it."""

    name: str
    expression: str


@dataclass(frozen=True, slots=True)
class Template:
    """An f-string-shaped message: literals and holes in turn, as written in text."""

    text: str
    parts: tuple[str | Hole, ...]

    @property
    def holes(self) -> tuple[Hole, ...]:
        """Its holes, in order."""
        return tuple(part for part in self.parts if isinstance(part, Hole))


@dataclass(frozen=True, slots=True)
class CaptureSpec:
    """How one capture of a cause is read.

    type: "int", "float", "str", "message" (the text quotes another message, which is diagnosed in its
    place), or "auto" (undeclared: a number where the text is one); unit: as shown behind the number
    ("GiB"); source: where a capture that is not a hole comes from: "args", "engine", "run" (a run
    fact), "chain" or "near" (a pattern over the event's chain, or over neighbouring lines); key: the
    argument or fact, or the regular expression whose first group is the value.
    """

    name: str
    type: Literal["int", "float", "str", "message", "auto"] = "auto"
    unit: str | None = None
    source: Literal["hole", "args", "engine", "run", "chain", "near"] = "hole"
    key: str | None = None


@dataclass(frozen=True, slots=True)
class FixRecipe:
    """A fix as data: what to set and unset, with values still to be computed.

    set, env: flag or variable to a value: a number, ``{"text": ...}`` for a constant text, or a string
    that is an expression of the closed little language (``max(max_num_seqs, 2048)``). title,
    tradeoff, steps and verify may hold ``{captures}`` and ``{expressions}``. when: an expression that must
    be true; versions: PEP 440 specifier of the releases that it is for.
    """

    title: str
    set: Mapping[str, object] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    env: Mapping[str, object] = field(default_factory=dict)
    unset_env: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    verify: str | None = None
    safety: Safety = "needs_judgement"
    tradeoff: str = ""
    estimate: bool = False
    when: str | None = None
    versions: str | None = None


@dataclass(frozen=True, slots=True)
class CauseSite:
    """A place in a package's sources that emits a cause's message, with its line per release."""

    file: str
    function: str | None
    class_name: str | None
    template: str
    lines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class When:
    """Conditions on a cause, as data: all given ones must hold.

    present, absent: regular expressions over the records of the run; process: names of processes
    (prefixes); classes: exception classes (last component); frames: regular expressions, one of which is
    found in a frame of the event's tracebacks, written ``file, in function``.
    """

    present: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    process: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Mistake:
    """What a message complains of in the command line, so that its fix can be worked out of the release's flags.

    problem: "unknown_flag", "choice" (a value that is none of those allowed), "number", "json" (a value that is none),
    "limit" (a value outside its limits), or "unknown_key" (of a JSON value, whose class flag names); flag, field,
    value, choices: the captures that hold them. Where the message names a field, flag holds its class.
    """

    problem: Literal["unknown_flag", "choice", "number", "json", "limit", "unknown_key"]
    flag: str
    field: str | None = None
    value: str | None = None
    choices: str | None = None


@dataclass(frozen=True, slots=True)
class Cause:
    """A curated entry of the catalogue.

    record: the record object as read, fields not known to us and all; wrapper: the fields beside
    it (``datasetVersion``), None where the file had no wrapper; origin: the file it came from.
    templates: ``errorMessage`` first, then the variants; pattern: ``messagePattern`` where it cannot be
    had from a template. levels: log levels besides ERROR and CRITICAL at which the message counts.
    """

    record: Mapping[str, Json]
    wrapper: Mapping[str, Json] | None
    origin: str
    id: str
    slug: str
    aliases: tuple[str, ...] = ()
    title: str = ""
    summary: str = ""
    package: str = "vllm"
    versions: str | None = None
    templates: tuple[Template, ...] = ()
    pattern: str | None = None
    exception_class: str | None = None
    severity: str = "error"
    role: Role = "root_cause"
    scope: Scope | None = None
    owner: Owner | None = None
    when: When | None = None
    levels: tuple[str, ...] = ()
    captures: Mapping[str, CaptureSpec] = field(default_factory=dict)
    fixes: tuple[FixRecipe, ...] = ()
    restart_helps: bool | None = None
    mistake: Mistake | None = None
    consequence_of: tuple[str, ...] = ()
    outranks: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    fixed_in: str | None = None
    sources: tuple[str, ...] = ()
    sites: tuple[CauseSite, ...] = ()
    user: bool = False


@dataclass(frozen=True, slots=True)
class ReleaseMark:
    """A place in vLLM's sources whose line tells releases apart: a log statement, or a function in tracebacks.

    file: of a log statement its base name, as the logger prints it, of a function package-relative; text: what
    the message begins with, None for a function; function: its name as tracebacks have it, None for a log
    statement; lines: each line that the place has had, with the releases that have it there.
    """

    file: str
    text: str | None
    function: str | None
    lines: Mapping[int, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Site:
    """One place in a package's sources that emits a message, as the generated index has it.

    kind: "raise", "exception" (built, not raised here), "assert", "check" (an assert without a text), "bare" (an
    exception without one), "log", "warn" or "text" (made here, emitted elsewhere); of: the exception's class, or the
    level of a log message, in capitals; template: None where it has no text of its own; lines: release to line.
    guard: what holds where the message comes out, where that is one comparison or modulus.
    """

    kind: str
    of: str
    file: str
    function: str | None
    template: Template | None
    lines: Mapping[str, int]
    guard: str | None = None


class SiteIndex(Protocol):
    """The index of sites, looked up when an error that no record knows has to be placed."""

    @property
    def releases(self) -> Sequence[str]:
        """The releases of vLLM that it knows, oldest first."""

    @property
    def packages(self) -> Sequence[str]:
        """The packages that it knows, by their folders' names (``vllm``, ``vllm_ascend``)."""

    def worded(self, text: str, release: str | None = None) -> Sequence[Site]:
        """The sites whose templates share the most telling words with a text, those that a release has first."""

    def at(self, file: str, line: int, release: str | None = None) -> Sequence[Site]:
        """The sites of a line; file may be the end of a path; in any release where none is given, or is known."""

    def inside(self, file: str) -> Sequence[Site]:
        """The sites of a source file, package-relative."""


@dataclass(frozen=True, slots=True)
class Flag:
    """What one release makes of a flag of ``vllm serve``, or of a field of a configuration class.

    field: the argument's name; owner: the class whose field it is; kind: "value", "switch", "several" (words),
    "optional" (a word or none), "repeated"; type: "int", "float", "str", "json", "count" (``4k``), "pairs" (``a=2``),
    "text_or_json", "bool"; choices: the values it takes, empty for any; short: other spellings; off: the flags that
    switch it off; of: the class that a JSON value becomes; group: the help topic.
    """

    name: str
    field: str
    owner: str | None = None
    kind: str = "value"
    type: str = "str"
    choices: tuple[str | int | float, ...] = ()
    short: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    of: str | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Rename:
    """What a flag became.

    old, new: flags; new may name a key of a JSON value (``--speculative-config.model``), and is None where the flag
    went without one in its place; same: whether the value stays as it is; value: the one that stands for an old switch;
    note: what to know, in a few words.
    """

    old: str
    new: str | None
    same: bool = True
    value: Scalar = None
    note: str = ""


class FlagBook(Protocol):
    """What each release makes of its flags."""

    @property
    def newest(self) -> str:
        """The newest release that is known."""

    def options(self, release: str) -> Mapping[str, Flag]:
        """The flags of a release, by name; KeyError where it is not known."""

    def fields(self, release: str, owner: str) -> Mapping[str, Flag]:
        """The fields of a configuration class in a release, by name; KeyError where the release is not known."""

    def spans(self, flag: str) -> Sequence[tuple[str, str]]:
        """The ranges of releases that have a flag, each as first and last."""

    def renamed(self, flag: str) -> Sequence[Rename]:
        """The renames that a flag takes part in, under its old or its new name."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The causes, the flags that each release has (release to ``--flag`` names), and what tells releases apart.

    releases: those that marks know, oldest first; such as hardly differ (0.25.0 and 0.25.1) stand in one group. sites:
    the index of all messages, None where there is none. options: what each release makes of its flags, None where that
    is not known.
    """

    causes: tuple[Cause, ...]
    flags: Mapping[str, frozenset[str]] = field(default_factory=dict)
    marks: tuple[ReleaseMark, ...] = ()
    releases: tuple[tuple[str, ...], ...] = ()
    sites: SiteIndex | None = None
    options: FlagBook | None = None


# --- matching and diagnosis ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Statement:
    """One thing that an event says: an exception of its chain, its headline, or a quoted message.

    index: the place of the exception in ``event.raised``, None for anything else.
    """

    event: Event
    text: str
    class_name: str | None = None
    index: int | None = None
    records: tuple[Record, ...] = ()


@dataclass(frozen=True, slots=True)
class Match:
    """A statement recognised: the cause, the template that fitted, and what its holes held.

    message: the recognised part of the text, in its template's spacing; captures: None for a value
    that was cut away; score: 100 for a whole match, less for a part.
    """

    cause: Cause
    template: Template | None
    message: str
    captures: Mapping[str, Scalar]
    confidence: Confidence
    score: float
    quoted: str | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where the sources emit a message that no record knows, and what its template's holes held.

    others: further sites that it may come from just as well; score: 100 for a whole match, less for a part.
    """

    site: Site
    captures: Mapping[str, Scalar]
    confidence: Confidence
    score: float
    others: tuple[Site, ...] = ()


# --- the report ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Location:
    """Where a message is raised: package-relative file, line, function, and how we know."""

    file: str
    line: int
    function: str | None
    version: str | None
    basis: LocationBasis
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Lines of the source that raises a message, as it is installed where the report is made.

    file: package-relative; version: the installed package's, None where it says none; first: the number of the first
    line, 1-based; line: that of the line that raises; lines: the text.
    """

    file: str
    version: str | None
    first: int
    line: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Fix:
    """A change that resolves a cause, with its numbers worked out.

    set: flag to value; env: variable to value (None: unset it); commands: each complete, to be
    pasted as it is; missing: what the log lacks to work the fix out or to print its command;
    note: how the command came about ("rebuilt from non-default args").
    """

    title: str
    set: Mapping[str, Scalar] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    env: Mapping[str, Scalar] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    verify: str | None = None
    safety: Safety = "needs_judgement"
    tradeoff: str = ""
    estimate: bool = False
    missing: tuple[str, ...] = ()
    note: str | None = None


@dataclass(frozen=True, slots=True)
class RecordRef:
    """The record that a finding names."""

    id: str
    slug: str
    title: str


@dataclass(frozen=True, slots=True)
class SiteRef:
    """The place in the sources that emits a finding's message, as the catalogue has it."""

    template: str
    file: str
    function: str | None
    class_name: str | None


@dataclass(frozen=True, slots=True)
class Finding:
    """An event matched to a cause, or an error that no record knows; see ARCHITECTURE.md, "Report".

    evidence: input lines, quoted; evidence_before: how many of them stand before the message's own, None where nobody
    asked for lines around; near: neighbours of an unrecognised message; excerpt: the source around its place, where
    asked for and installed; why: how its role came about, shown with ``--all``.
    """

    role: Role
    message: str
    source: str
    line: int
    confidence: Confidence = "unrecognised"
    score: float = 0.0
    scope: Scope | None = None
    owner: Owner | None = None
    severity: str = "error"
    exception_class: str | None = None
    record: RecordRef | None = None
    site: SiteRef | None = None
    title: str | None = None
    cause: str | None = None
    captures: Mapping[str, Scalar] = field(default_factory=dict)
    location: Location | None = None
    vllm_frame: Frame | None = None
    candidates: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = ()
    restart_helps: bool | None = None
    run: int | None = None
    process: str | None = None
    pid: int | None = None
    rank: int | None = None
    pod: str | None = None
    count: int = 1
    first_time: str | None = None
    last_time: str | None = None
    fingerprint: str = ""
    evidence: tuple[str, ...] = ()
    evidence_line: int | None = None
    evidence_before: int | None = None
    near: tuple[str, ...] = ()
    excerpt: Excerpt | None = None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class Run:
    """One start of vLLM in the input, as the report shows it; source and pod: the log that it stands in."""

    vllm_version: str | None = None
    version_basis: Basis | None = None
    model: str | None = None
    command: str | None = None
    command_basis: CommandBasis | None = None
    args: Mapping[str, object] = field(default_factory=dict)
    platform: str | None = None
    deployment: str | None = None
    source: str | None = None
    pod: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFacts:
    """What one of several sources holds: its lines, the causes found in it (slugs), how many errors no record knows.

    others: consequences, warnings and harmless messages in it.
    """

    name: str
    lines: int = 0
    causes: tuple[str, ...] = ()
    unknown: int = 0
    others: int = 0


@dataclass(frozen=True, slots=True)
class InputFacts:
    """What was read: counts, the sources' names, each bound that was hit, and each source where there are several."""

    lines: int = 0
    bytes: int = 0
    sources: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    files: tuple[SourceFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class Report:
    """Findings in order, runs, status. hidden: findings that only ``--all`` shows, by role."""

    status: Status
    findings: tuple[Finding, ...] = ()
    missing: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    input: InputFacts = field(default_factory=InputFacts)
    hidden: Mapping[Role, int] = field(default_factory=dict)
    redacted: Mapping[str, int] = field(default_factory=dict)
