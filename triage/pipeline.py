"""The order of the stages: bytes, lines, records, events, matches, diagnosis, report. The only module that knows it."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import regex

from triage import diagnose, events, match, read, redact, render
from triage.errors import InputError
from triage.model import (
    Catalogue,
    Cause,
    CommandBasis,
    Event,
    Finding,
    Idiom,
    InputFacts,
    Line,
    Match,
    Record,
    Report,
    Role,
    Run,
    RunFacts,
    SourceFacts,
    Statement,
)

OBSERVATIONS_LIMIT = 5000
"""Different failures kept of one input; later ones are not looked at."""

QUOTES_LIMIT = 3
"""How deep messages that quote messages are followed."""

NEAR_LINES, NEAR_WIDTH = 200, 2000
"""Records of a run, before a message and behind it, that "near" captures look at, and how many characters of each."""

_OF_VLLM = regex.compile(r"\bvllm(?:\.[a-z]\w+|[/\\]\w+[/\\.]\w+|::\w| serve \S+ -)|\bvLLM\b")

QUIET = 0.2
"""Seconds without a further line after which an event of an input that is followed counts as complete."""

POLL = 0.08
"""Seconds after which inputs that are followed are looked at again."""

WARNINGS_LIMIT = 500
"""Different warnings kept of one input, where everything is asked for."""

ALONE_LIMIT = 40
"""Lines of an input that may be one message and nothing else."""

RUNS_LIMIT = 200
"""Starts of servers told apart in one input."""

SHARED = frozenset({"markdown", "html", "github"})
"""Formats that are made to be shared: addresses, hosts and user names are redacted in them."""

FORMATS = render.FORMATS
Options = render.Options
Source = read.Source
open_source = read.open_source
files_below = read.files_below
schema = render.schema


@dataclass(frozen=True, slots=True)
class Settings:
    """What the user asked for.

    vllm_version: the release, for a log that does not show it; idiom: of the fixes, None as the log shows; ignore:
    slugs of causes to leave out; last_attempt: only the last start of each server; stream: give findings as they
    become known; follow: never wait for more input to tell a wrapped line.
    """

    vllm_version: str | None = None
    idiom: Idiom | None = None
    show_all: bool = False
    context: int = 0
    ignore: frozenset[str] = frozenset()
    last_attempt: bool = False
    follow: bool = False
    stream: bool = False


class _RunReader:
    """One run while its records go by."""

    def __init__(
        self,
        index: int,
        source: str,
        pod: str | None,
        line: int,
        facts: events.FactsCollector,
        release: events.ReleaseGuess,
    ) -> None:
        self.index = index
        self.facts = facts
        self.release = release
        self.state = diagnose.RunState(RunFacts(), line, source, pod)
        self.has_banner = False
        self.near: deque[str] = deque(maxlen=NEAR_LINES)


class Triage:
    """Reads inputs and comes to a report.

    Args:
        catalogue: the causes and flags.
        settings: what the user asked for.
    """

    def __init__(self, catalogue: Catalogue, settings: Settings | None = None) -> None:
        self._catalogue = catalogue
        self._settings = settings or Settings()
        self._matcher = match.Matcher(catalogue)
        self._release = events.ReleaseGuess(catalogue.marks, catalogue.releases)
        self._groups: dict[tuple[object, ...], diagnose.Observation] = {}
        self._awaiting: dict[tuple[object, ...], int] = {}  # groups whose values may still stand in the lines behind
        self._runs: list[_RunReader] = []
        self._of: dict[tuple[str, str | None], tuple[list[int], list[int]]] = {}
        self._evidence = diagnose.Evidence(catalogue)
        self._lines = self._bytes = self._order = 0
        self._is_of_vllm = False
        self._around = read.Surroundings(self._settings.context)
        self._lines_of = Counter[str]()
        self._sources: list[str] = []
        self._places: dict[str, int] = {}  # of each source, in the order of their beginning
        self._limits: set[str] = set()
        self._warnings: dict[tuple[object, ...], diagnose.Observation] = {}
        self._alone: list[Record] = []  # the input's records while they are loose text and few

    # --- reading ---

    def read(self, source: read.Source, stopped: Callable[[], bool] = lambda: False) -> Iterator[Finding]:
        """Read a source to its end; give each finding as it becomes known, unranked, every occurrence.

        Args:
            source: an open input.
            stopped: asked while reading; True ends the source here.

        Raises:
            InputError: the source cannot be read (what was read until then counts).
        """
        for finding in self._steps(source, read.read_chunks(source, stopped)):
            if finding is not None:
                yield finding

    def follow(
        self, sources: Sequence[Source], stopped: Callable[[], bool], failed: Callable[[InputError], None]
    ) -> Iterator[Finding]:
        """Read sources that go on growing, in turn; give each finding as it becomes known, as ``read`` does.

        An event that nothing follows for ``QUIET`` seconds counts as complete. Pipes and standard input are read to
        their end, files until stopped.

        Args:
            sources: open inputs.
            stopped: asked while reading and waiting; True ends all of them.
            failed: told of a source that cannot be read on; the others go on.
        """
        wait = max(POLL / max(len(sources), 1), 0.001)
        growing = [self._steps(source, read.follow_chunks(source, stopped, wait)) for source in sources]
        while growing:
            for steps in list(growing):
                try:
                    for finding in steps:
                        if finding is None:
                            break
                        yield finding
                    else:
                        growing.remove(steps)
                except InputError as failure:
                    growing.remove(steps)
                    failed(failure)

    def _steps(self, source: Source, chunks: Iterable[bytes | None]) -> Iterator[Finding | None]:
        """Read a source; give its findings, and None where nothing came for a while."""
        self._sources.append(source.name)
        self._places[source.name] = len(self._sources)
        assembler = events.Assembler()
        failures: list[InputError] = []
        lines = self._counted(read.split_lines(self._sized(chunks, failures), source.name))
        heard = time.monotonic()
        for record in read.unwrap(lines, window=0 if self._settings.follow else read.WINDOW):
            if record.first is read.PAUSE:
                if time.monotonic() - heard >= QUIET:
                    for event in assembler.pause():
                        yield from self._understand(event)
                yield None
                continue
            heard = time.monotonic() if self._settings.follow else heard
            self._observe(record)
            for event in assembler.feed(record):
                yield from self._understand(event)
        for event in assembler.end():
            yield from self._understand(event)
        self._limits |= assembler.limits | set(source.notes)
        if failures:
            raise failures[0]

    def _sized(self, chunks: Iterable[bytes | None], failures: list[InputError]) -> Iterator[bytes | None]:
        """Count the bytes; a failure to read on ends the source here and is kept, so that what came counts."""
        try:
            for chunk in chunks:
                self._bytes += len(chunk or b"")
                yield chunk
        except InputError as failure:
            failures.append(failure)

    @property
    def has_input(self) -> bool:
        """Whether anything was read."""
        return self._bytes > 0

    def _counted(self, lines: Iterable[Line]) -> Iterator[Line]:
        last = 0
        for line in lines:
            if line is read.PAUSE:
                yield line
                continue
            if line.cut:
                self._limits.add("a line longer than 256 KiB, its end left out")
            self._lines += line.number - last
            self._lines_of[line.source] += line.number - last
            if self._settings.context:
                self._around.add(line)
            last = line.number
            yield line

    def _observe(self, record: Record) -> None:
        """Let a record add to its run's facts and progress."""
        run = self._run_for(record)
        if len(self._alone) <= ALONE_LIMIT:
            self._alone.append(record)
        if not self._is_of_vllm:
            tagged = record.process is not None or record.logger_file is not None
            # A module, a path or a flagged command: the bare name stands in what kubectl says of a missing pod, too.
            self._is_of_vllm = tagged or _OF_VLLM.search(record.text[:NEAR_WIDTH]) is not None
        run.facts.observe(record)
        run.release.observe(record)
        run.near.append(record.text[:NEAR_WIDTH])
        for key in [key for key in self._awaiting if key[0] == run.index]:
            self._look_behind(key, record.text[:NEAR_WIDTH])
        self._evidence.observe(record, run.index)
        self._is_of_vllm |= run.state.observe(record)

    def _look_behind(self, key: tuple[object, ...], text: str) -> None:
        """Let a record behind a message add the values that neighbouring lines hold."""
        observation = self._groups[key]
        self._awaiting[key] -= 1
        for found in observation.matches:
            known = observation.contexts.setdefault(found.cause.slug, {})
            known.update(diagnose.from_following(found.cause, known, text))
        if self._awaiting[key] <= 0 or not _lacks_values(observation):
            del self._awaiting[key]

    def _run_for(self, record: Record) -> _RunReader:
        source, pod = record.first.source, record.pod
        starts, indexes = self._of.setdefault((source, pod), ([], []))
        banner = events.is_run_start(record)
        if len(self._runs) >= RUNS_LIMIT:
            self._limits.add(f"more than {RUNS_LIMIT} starts of servers, later ones taken for the last")
            if not indexes:
                starts.append(1)
                indexes.append(RUNS_LIMIT - 1)
            banner = False
        if not indexes or (banner and self._runs[indexes[-1]].has_banner):
            facts = self._runs[indexes[-1]].facts.next_run() if indexes else events.FactsCollector()
            starts.append(record.first.place if indexes else 1)
            indexes.append(len(self._runs))
            release = self._release.next_run()
            self._runs.append(_RunReader(len(self._runs), source, pod, record.first.number, facts, release))
        run = self._runs[indexes[-1]]
        run.has_banner = run.has_banner or banner
        return run

    # --- understanding ---

    def _understand(self, event: Event) -> Iterator[Finding]:
        self._runs[self._run_at(event.first)].release.observe_event(event)
        if self._settings.show_all and (warning := match.warned(event)) is not None:
            self._warned(warning)
        for statement, found in match.said(event, self._matcher):
            if found or match.is_error(statement):
                yield from self._take(statement, found, relayed=False)
            elif self._settings.show_all and match.is_warning(statement):
                self._warned(statement)
            for _ in range(QUOTES_LIMIT):
                if not found or not found[0].quoted:
                    break
                quoted = Statement(event, found[0].quoted, None, statement.index, statement.records)
                found = self._matcher.matches(quoted)
                yield from self._take(quoted, found, relayed=True)

    def _take(self, statement: Statement, found: list[Match], *, relayed: bool) -> Iterator[Finding]:
        best = found[0] if found else None
        plain = match.message_of(statement)
        message = best.message if best else plain
        records = match.records_of(statement, message)
        first = records[0] if records else statement.event.first
        index = self._run_at(first)
        self._order += 1
        if self._settings.context:
            self._around.keep(first.first)
        # Where it stands counts, not when its event was complete: a worker's last words close at the end of the input.
        order = (self._places[first.first.source], first.first.place, self._order)
        observation = diagnose.Observation(statement, best, message, records, index, order, relayed)
        observation.others, observation.plain_message = tuple(found[1:]), plain
        observation.is_error = relayed or match.is_error(statement)
        observation.count = first.repeats
        observation.last_line = first.first.place
        observation.first_time = observation.last_time = first.time
        for each in found:
            near = self._runs[index].near
            observation.contexts[each.cause.slug] = diagnose.from_text(each.cause, statement.event, near)
        key = (index, best.cause.slug) if best else (index, diagnose.fingerprint(statement.class_name, None, message))
        if _lacks_values(observation):
            self._awaiting[key] = NEAR_LINES
        held = self._groups.get(key)
        if held is not None:
            self._groups[key] = diagnose.merge(held, observation)
        elif len(self._groups) < OBSERVATIONS_LIMIT:
            self._groups[key] = observation
        else:
            self._awaiting.pop(key, None)
            self._limits.add(f"more than {OBSERVATIONS_LIMIT} different failures, later ones left out")
        role: Role = best.cause.role if best else "root_cause"
        if self._settings.stream and (role == "root_cause" or self._settings.show_all):
            run = self._run_state(index)
            ranked = diagnose.Ranked(observation, role, diagnose.scope_of(observation, run), "as it came")
            yield self._finding(ranked, run)

    def _warned(self, statement: Statement) -> None:
        """Keep a warning that no record knows, for who asks for everything: it is placed, and means no failure."""
        message = match.message_of(statement)
        first = statement.records[0] if statement.records else statement.event.first
        index = self._run_at(first)
        key = (index, diagnose.fingerprint("", None, message))
        if key in self._warnings:
            self._warnings[key].count += first.repeats
        elif len(self._warnings) < WARNINGS_LIMIT:
            order = (self._places[first.first.source], first.first.place, 0)
            held = diagnose.Observation(statement, None, message, statement.records, index, order, is_error=False)
            held.count, held.last_line = first.repeats, first.first.place
            held.first_time = held.last_time = first.time
            self._warnings[key] = held

    def _message_alone(self, states: Sequence[diagnose.RunState]) -> Iterator[diagnose.Ranked]:
        """What an input says that is one message and nothing else: the sources know it, though nothing marks it."""
        if self._catalogue.sites is None or not self._alone or len(self._alone) > ALONE_LIMIT:
            return
        records = tuple(self._alone)
        text = "\n".join(record.text for record in records).strip()
        statement = Statement(Event("text", records, text), text, None, None, records)
        index = self._run_at(records[0])
        placement = match.place(statement, self._catalogue.sites, states[index].facts.vllm_version)
        if placement is None or placement.confidence != "exact" or not match.is_whole(statement, placement):
            return
        levels = {site.of for site in (placement.site, *placement.others) if site.kind in ("log", "warn")}
        is_error = not levels - {"ERROR", "CRITICAL"}
        if not is_error and (levels & {"INFO", "DEBUG"} or not self._settings.show_all):
            return
        order = (self._places[records[0].first.source], records[0].first.place, 0)
        observation = diagnose.Observation(statement, None, text, records, index, order, is_error=is_error)
        role: Role = "root_cause" if is_error else "warning"
        scope = diagnose.scope_of(observation, states[index])
        yield diagnose.Ranked(observation, role, scope, "the input is this message")

    def _run_at(self, record: Record) -> int:
        starts, indexes = self._of[(record.first.source, record.pod)]
        return indexes[max(0, bisect_right(starts, record.first.place) - 1)]

    # --- concluding ---

    def report(self) -> Report:
        """Rank what was observed and conclude; may be called once, after the last source."""
        states = [self._run_state(index) for index in range(len(self._runs))]
        observations = sorted(self._groups.values(), key=lambda o: o.order)
        if self._settings.last_attempt:
            last = {indexes[-1] for _, indexes in self._of.values() if indexes}
            observations = [o for o in observations if o.run in last]
        ranked = diagnose.rank(observations, states, self._settings.ignore)
        if not ranked and not self._warnings:
            ranked = list(self._message_alone(states))
        ranked += [
            diagnose.Ranked(o, "warning", diagnose.scope_of(o, states[o.run]), "logged as a warning")
            for o in self._warnings.values()
        ]
        limits = tuple(sorted(self._limits | self._matcher.limits))
        files = self._files(ranked) if len(self._sources) > 1 else ()
        facts = InputFacts(self._lines, self._bytes, tuple(self._sources), limits, files)
        status, missing = diagnose.conclude(ranked, states, facts, is_of_vllm=self._is_of_vllm)
        shown = [r for r in ranked if r.role == "root_cause" or self._settings.show_all]
        hidden: dict[Role, int] = {}
        for r in ranked:
            if r not in shown:
                hidden[r.role] = hidden.get(r.role, 0) + r.observation.count
        # Lines of another pod or of the shell around the log are no start of vLLM.
        kept = [
            i
            for i, s in enumerate(states)
            if s.started or len(states) == 1 or any(r.observation.run == i for r in shown)
        ]
        number = {index: place for place, index in enumerate(kept)}
        findings = (self._finding(r, states[r.observation.run]) for r in shown)
        return Report(
            status=status,
            findings=tuple(replace(f, run=number[f.run]) if f.run is not None else f for f in findings),
            missing=missing,
            runs=tuple(self._run(states[index]) for index in kept) if facts.bytes else (),
            input=facts,
            hidden=hidden,
        )

    def _files(self, ranked: Sequence[diagnose.Ranked]) -> tuple[SourceFacts, ...]:
        """What each source holds; a failure counts in every source that says it, whichever of them is shown."""
        causes: dict[str, dict[str, None]] = {}
        unknown, others = Counter[str](), Counter[str]()
        for each in ranked:
            for said in (each.observation, *each.observation.copies):
                source = said.record.first.source
                if each.role != "root_cause":
                    others[source] += 1
                elif said.match is None:
                    unknown[source] += 1
                else:
                    causes.setdefault(source, {})[said.match.cause.slug] = None
        return tuple(
            SourceFacts(name, self._lines_of[name], tuple(causes.get(name, ())), unknown[name], others[name])
            for name in dict.fromkeys(self._sources)
        )

    def _run_state(self, index: int) -> diagnose.RunState:
        reader = self._runs[index]
        facts, given = reader.facts.facts(), self._settings.vllm_version
        if facts.version_basis != "log" and given:
            facts = replace(facts, vllm_version=given, version_basis="given")
        elif facts.vllm_version is None and (release := reader.release.guess()):
            facts = replace(facts, vllm_version=release, version_basis="inferred")
        return replace(reader.state, facts=facts, present=self._evidence.present(index))

    def _finding(self, ranked: diagnose.Ranked, run: diagnose.RunState) -> Finding:
        observation = ranked.observation
        placement = None
        # A record's message may stand at several places, one of which the index may tell.
        unplaced = not observation.frames or (observation.match is None and ranked.role == "root_cause")
        if self._catalogue.sites is not None and unplaced:
            placement = match.place(observation.statement, self._catalogue.sites, run.facts.vllm_version)
        found = diagnose.finding(ranked, run, self._catalogue, self._matcher.near, placement, self._settings.idiom)
        if self._settings.context:
            before, after = self._around.of(observation.record.first, found.evidence)
            found = replace(found, evidence=(*before, *found.evidence, *after), evidence_before=len(before))
        # Evidence quotes the input as it looked on a screen: a colour's escape sequence is no part of the line.
        return replace(found, evidence=tuple(map(read.strip_ansi, found.evidence)))

    def _run(self, state: diagnose.RunState) -> Run:
        facts = state.facts
        release = diagnose.release_of(facts.vllm_version, self._catalogue)
        command = diagnose.shown_command(facts) if facts.launch else diagnose.rebuilt_command(facts, release)
        basis: CommandBasis | None = None
        if command:
            basis = "log" if facts.launch else "rebuilt"
        return Run(
            vllm_version=facts.vllm_version,
            version_basis=facts.version_basis,
            model=facts.model,
            command=command,
            command_basis=basis,
            args=facts.args,
            platform=facts.platform,
            deployment=facts.deployment,
            source=state.source,
            pod=state.pod,
        )


def recognised(text: str, catalogue: Catalogue) -> list[Cause]:
    """The causes that a piece of a log is recognised as, the best first, whatever the rest of a log would show.

    Args:
        text: a message, or lines of a log.
        catalogue: the causes.
    """
    assembler, matcher = events.Assembler(), match.Matcher(catalogue)
    found: dict[str, Cause] = {}
    records = list(read.unwrap(read.split_lines([text.encode("utf-8", "backslashreplace")], "message")))
    for event in (*(event for record in records for event in assembler.feed(record)), *assembler.end()):
        for _, matches in match.said(event, matcher):
            found.update((each.cause.slug, each.cause) for each in matches if each.cause.slug not in found)
    return list(found.values())


def _lacks_values(observation: diagnose.Observation) -> bool:
    """Whether lines behind the message may still hold a value of a cause that fits it."""
    return any(
        diagnose.lacks_near(each.cause, observation.contexts.get(each.cause.slug, {})) for each in observation.matches
    )


def present(report: Report, format: str, options: render.Options, *, redacted: bool = True) -> str:
    """Put a report into a form, secrets out; and addresses, hosts and users too where the form is made to be shared.

    Args:
        report: the report.
        format: one of FORMATS.
        options: colour, width, how much.
        redacted: False leaves everything in.

    Raises:
        UsageError: there is no such format.
    """
    if redacted:
        report = redact.redact(report, private=format in SHARED)
    return render.render(report, format, options)


def shareable(report: Report) -> Report:
    """The report without secrets, addresses, hosts and user names."""
    return redact.redact(report, private=True)


def present_issue(report: Report, finding: Finding | None, program: str, *, wrong: bool) -> str:
    """The text of a bug report; see :func:`triage.render.issue.render_issue`. The report is made shareable before."""
    return render.render_issue(report, finding, program, wrong=wrong)


def present_finding(finding: Finding, *, redacted: bool = True) -> str:
    """One finding as a line of JSON, as it comes."""
    return render.render_finding(_alone(finding, redacted).findings[0]) + "\n"


def present_line(finding: Finding, *, redacted: bool = True) -> str:
    """One finding as a line of text, as it comes."""
    return render.render(_alone(finding, redacted), "concise", render.Options())


def present_end(report: Report, *, redacted: bool = True) -> str:
    """The closing line of a stream of findings: status, runs, input."""
    return render.render_end(redact.redact(report, private=False) if redacted else report) + "\n"


def _alone(finding: Finding, redacted: bool) -> Report:
    report = Report("cause_found", (finding,))
    return redact.redact(report, private=False) if redacted else report
