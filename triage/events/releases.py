"""The release of vLLM that wrote a log without a version banner, from the lines that its logger and tracebacks name.

A line that a known release has speaks for it; a line that none has speaks against all of them: a fork's or a
nightly build's statements stand elsewhere, and such a build is not to be taken for a release.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from triage.events import shapes
from triage.model import Event, Record, ReleaseMark

_FRAME = '", line '

STATEMENT_WEIGHT = 2
"""What the line of a log statement counts: one number, and hardly ever the same in another release."""

FRAME_WEIGHT = 1
"""What the line of a frame counts: a function has many lines, so another release's may fit by chance."""

MIN_WEIGHT = 3
"""What must agree on a release: a statement and another place, or three frames. One place may be a fork's by chance."""

WEIGHT_FOR_EACH_OTHER = 16
"""What must agree for each place that does not: of eight statements one may be damaged, more is another build."""

PLACES_LIMIT = 400
"""Different places looked at in one run."""


class ReleaseGuess:
    """Collects the evidence of one run.

    Args:
        marks: the places whose lines are known in each release.
        releases: the known releases, in groups that hardly differ; oldest first.
    """

    def __init__(self, marks: Iterable[ReleaseMark] = (), releases: Sequence[Sequence[str]] = ()) -> None:
        self._groups = releases
        self._logged: dict[str, list[tuple[str, ReleaseMark]]] = {}
        self._passed: dict[tuple[str, str], ReleaseMark] = {}
        for mark in marks:
            if mark.text is not None:
                self._logged.setdefault(mark.file, []).append((mark.text, mark))
            elif mark.function is not None:
                self._passed[mark.file, mark.function] = mark
        for known in self._logged.values():
            known.sort(key=lambda pair: -len(pair[0]))
        self._places: dict[tuple[str, str, int], tuple[int, frozenset[str]]] = {}

    def next_run(self) -> ReleaseGuess:
        """A guess for another run, with no evidence yet; what is known of the releases is shared."""
        following = ReleaseGuess()
        following._groups, following._logged, following._passed = self._groups, self._logged, self._passed
        return following

    def observe(self, record: Record) -> None:
        """Take a record; most cost one look.

        Frames count as they come by: of a traceback whose head or end the input lacks no event is made.
        """
        if _FRAME in record.text and (frame := shapes.FRAME.fullmatch(record.text)) is not None:
            self._pass(frame["file"], frame["function"], int(frame["line"]))
        if record.logger_file is None or record.logger_line is None:
            return
        # At level DEBUG a path stands before the name, and Markdown turns "__init__" into "**init**".
        file = record.logger_file.rsplit("/", 1)[-1].replace("*", "_")
        for text, mark in self._logged.get(file, ()):
            if record.text.startswith(text):
                self._note(mark, text, record.logger_line, STATEMENT_WEIGHT)
                return

    def observe_event(self, event: Event) -> None:
        """Take the frames of an event's exceptions, however they were printed."""
        for raised in event.raised:
            for frame in raised.frames:
                self._pass(frame.file, frame.function, frame.line)

    def guess(self) -> str | None:
        """The release that the evidence settles on, None where it does not.

        Of releases that hardly differ, and not at all in what was seen, the newest.
        """
        votes: Counter[str] = Counter()
        agreeing: Counter[str] = Counter()
        for weight, releases in self._places.values():
            votes.update(dict.fromkeys(releases, weight))
            agreeing.update(releases)
        most = max(votes.values(), default=0)
        if most < MIN_WEIGHT:
            return None
        fitting = [[release for release in group if votes[release] == most] for group in self._groups]
        settled = [group for group in fitting if group]
        if len(settled) != 1:
            return None
        release = settled[0][-1]
        others = len(self._places) - agreeing[release]
        return release if others * WEIGHT_FOR_EACH_OTHER <= most else None

    def _pass(self, file: str, function: str | None, line: int) -> None:
        mark = self._passed.get((_package_relative(file), function or ""))
        if mark is not None:
            self._note(mark, function or "", line, FRAME_WEIGHT)

    def _note(self, mark: ReleaseMark, name: str, line: int, weight: int) -> None:
        place = (mark.file, name, line)
        if place not in self._places and len(self._places) < PLACES_LIMIT:
            self._places[place] = weight, mark.lines.get(line, frozenset())


def _package_relative(path: str) -> str:
    path = path.replace("\\", "/")
    return path[path.rfind("/vllm/") + 1 :]
