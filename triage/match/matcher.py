"""Statements matched to causes: candidates from words, then verified."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable

import regex
from rapidfuzz import fuzz, process

from triage.match.folding import Folded, fold, fold_literal
from triage.match.literals import TAIL, Fit, fit, on_one_line, plain_value
from triage.model import Catalogue, Cause, Hole, Match, Record, Scalar, Statement, Template

TEXT_LIMIT = 20_000
"""Characters of one statement that are looked at."""

PATTERN_SECONDS = 0.2
"""Time that one authored regular expression may take on one text."""

WORDS_KEPT = 6
"""Words that a template is found by: its rarest."""

FRAME_WIDTH = 200
"""Characters of a frame's path, its end, that a condition on frames looks at."""

NEAR_SCORE = 70.0
"""Similarity (0 to 100) from which an entry is named as a neighbour of an unrecognised message."""

REST_LIMIT = 400
"""Characters of a message before a template's text that are reported with it; four times as many behind it."""

_WORD = regex.compile(r"[A-Za-z_]{4,}")
# What stands before a message and is not part of it: another exception's class, a validator's or a wrapper's words.
_WRAPS = regex.compile(r"Traceback|(?:\w(?:Error|Exception)|Value error|Assertion failed|Message|Reason)[:,(] ?['\"]?$")


class Matcher:
    """The catalogue, indexed by words.

    limits: the patterns that took too long on a text, in words.

    Args:
        catalogue: the causes; their order does not matter.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        entries = [(cause, template) for cause in catalogue.causes for template in cause.templates]
        words = [_words(template) for _, template in entries]
        frequency = Counter(word for found in words for word in found)
        self._by_word: dict[str, list[int]] = defaultdict(list)
        self._always: list[int] = []
        for index, found in enumerate(words):
            rarest = sorted(found, key=lambda word: (frequency[word], -len(word), word))[:WORDS_KEPT]
            for word in rarest:
                self._by_word[word].append(index)
            if not rarest:
                self._always.append(index)
        self._entries = entries
        self._patterns = [
            (cause, regex.compile(cause.pattern, regex.DOTALL))
            for cause in catalogue.causes
            if cause.pattern and not cause.record.get("errorMessage")
        ]
        self.limits: set[str] = set()
        self._titles = {index: _skeleton(template) for index, (_, template) in enumerate(entries)}

    def matches(self, statement: Statement) -> list[Match]:
        """Find the causes that a statement's text can belong to.

        A whole match beats a cut one; among equals one that also names the place in the code, then the longer literal
        text, then the more of it, wins.

        Args:
            statement: what an event says; of its text ``TEXT_LIMIT`` characters are looked at.

        Returns:
            The matches, the best first, one for each cause; none where there is none. Behind the first cause that holds
            without conditions on its run (``when``) the others do not matter and are left out.
        """
        text = statement.text[:TEXT_LIMIT]
        folded: Folded | None = None
        found: dict[str, tuple[tuple[float, ...], Match]] = {}

        def add(rank: tuple[float, ...], match: Match) -> None:
            slug = match.cause.slug
            if slug not in found or rank > found[slug][0]:
                found[slug] = rank, match

        for index in self._candidates(text):
            cause, template = self._entries[index]
            if not _may(cause, statement):
                continue
            folded = folded or fold(text)
            fitting = fit(template, cause.captures, folded)
            if fitting is not None and (fitting.whole or _may_be_cut(cause, statement)):
                rank = (fitting.whole, _is_placed(cause), _size(template) * fitting.share, cause.user, -fitting.start)
                add(rank, _as_match(cause, template, fitting, folded, is_raised=statement.index is not None))
        for cause, pattern in self._patterns:
            if _may(cause, statement) and (matched := self._search(pattern, cause, text)) is not None:
                add((True, _is_placed(cause), len(matched.message) / 2, cause.user, 0), matched)
        ordered = [match for _, match in sorted(found.values(), key=lambda pair: pair[0], reverse=True)]
        settled = next((i for i, m in enumerate(ordered) if not _is_conditional(m.cause)), len(ordered))
        return ordered[: settled + 1]

    def near(self, text: str, limit: int = 3) -> tuple[str, ...]:
        """Name the entries whose wording is nearest to a text that nothing matched.

        Args:
            text: the message.
            limit: the most entries to name.

        Returns:
            Slugs of root causes, the nearest first, from ``NEAR_SCORE`` on.
        """
        found = process.extract(
            _plain(text[:500]), self._titles, scorer=fuzz.token_set_ratio, score_cutoff=NEAR_SCORE, limit=3 * limit
        )
        slugs = dict.fromkeys(
            self._entries[index][0].slug for _, _, index in found if self._entries[index][0].role == "root_cause"
        )
        return tuple(slugs)[:limit]

    def _search(self, pattern: regex.Pattern[str], cause: Cause, text: str) -> Match | None:
        try:
            found = pattern.search(text, timeout=PATTERN_SECONDS)
        except TimeoutError:
            name = cause.origin if cause.user else cause.slug
            self.limits.add(
                f"the messagePattern of {name} took more than {PATTERN_SECONDS:g} s on a text, left out there"
            )
            return None
        return None if found is None else _as_pattern_match(found, cause)

    def _candidates(self, text: str) -> Iterable[int]:
        found = dict.fromkeys(self._always)
        for word in _WORD.findall(text):
            for index in self._by_word.get(word.lower(), ()):
                found[index] = None
        return found


def _may(cause: Cause, statement: Statement) -> bool:
    """Whether a cause can be what a statement of this level, process and class says."""
    record = statement.records[0] if statement.records else statement.event.first
    if statement.index is None and record.level in ("DEBUG", "INFO", "WARNING") and record.level not in cause.levels:
        return False
    when = cause.when
    if statement.index is not None and cause.role == "harmless" and not _is_of_exceptions(cause):
        return False  # advice and warnings that stand in the text of an exception do not make it harmless
    if when is None:
        return True
    if when.classes and (statement.class_name or "").rpartition(".")[2] not in when.classes:
        return False
    if when.frames and not any(_passes(statement, pattern) for pattern in when.frames):
        return False
    return not when.process or any((record.process or "").startswith(name) for name in when.process)


def _is_of_exceptions(cause: Cause) -> bool:
    when = cause.when
    return cause.exception_class is not None or (when is not None and bool(when.classes or when.frames))


def _is_placed(cause: Cause) -> bool:
    return cause.when is not None and bool(cause.when.frames)


def _passes(statement: Statement, pattern: str) -> bool:
    """Whether a frame of the statement's event is of a place, written as ``file, in function``."""
    frames = (frame for raised in statement.event.raised for frame in raised.frames)
    return any(regex.search(pattern, f"{frame.file[-FRAME_WIDTH:]}, in {frame.function}") for frame in frames)


def _is_conditional(cause: Cause) -> bool:
    return cause.when is not None and bool(cause.when.present or cause.when.absent)


def _may_be_cut(cause: Cause, statement: Statement) -> bool:
    """A part of a message is enough where the place is right: an exception of the class, or text on its own."""
    if statement.class_name is None or cause.exception_class is None:
        return True
    return statement.class_name.rpartition(".")[2] == cause.exception_class.rpartition(".")[2]


def _as_match(cause: Cause, template: Template, found: Fit, folded: Folded, *, is_raised: bool) -> Match:
    captures = dict(found.captures)
    quoted = None
    for name, spec in cause.captures.items():
        if spec.type == "message" and isinstance(captures.get(name), str):
            quoted = str(captures[name])
            captures[name] = plain_value(quoted)
    if found.whole:
        before, after = ("", "") if quoted is not None else _rest(folded, found, is_raised=is_raised)
        message = before + _in_template_spacing(template, found) + after
    else:
        message = on_one_line(folded.span(found.start, found.end))
    return Match(
        cause=cause,
        template=template,
        message=message,
        captures=captures,
        confidence="exact" if found.whole else "truncated",
        score=round(100 * found.share, 1),
        quoted=quoted,
    )


def _rest(folded: Folded, found: Fit, *, is_raised: bool) -> tuple[str, str]:
    """What the software says before and behind a template's text on the same line of its message.

    Before a log line's and loose text's own words stand headlines and columns of tables: they are no part of it.
    """
    text, begin, end = folded.original, folded.offsets[found.start], folded.offsets[found.end - 1] + 1
    before = text[text.rfind("\n", 0, begin) + 1 : begin]
    after = text[end:].split("\n", 1)[0]
    if before.rstrip().endswith(("'", '"', "`")) or (before.strip() and not is_raised):
        return "", ""  # a quotation, or words in a sentence
    if (wrapper := TAIL.search(after)) is not None:
        after = after[: wrapper.start()]
    if after.lstrip()[:1] in ("[", "("):
        after = ""  # what a wrapper adds, cut by a line break
    if len(before) > REST_LIMIT or _WRAPS.search(before) or not _WORD.search(before):
        before = ""
    return before, after.rstrip() if len(after) <= 4 * REST_LIMIT and regex.search(r"\w", after) else ""


def _in_template_spacing(template: Template, found: Fit) -> str:
    """The message as the software emitted it: the template's own spacing, the input's values."""
    return "".join(
        part if isinstance(part, str) else regex.sub(r"\s*\n\s*", " ", found.raw.get(part.name, "")).strip()
        for part in template.parts
    )


def _as_pattern_match(found: regex.Match[str], cause: Cause) -> Match:
    captures: dict[str, Scalar] = {
        name: plain_value(value) if value is not None else None for name, value in found.groupdict().items()
    }
    for index, value in enumerate(found.groups(), 1):
        if not found.groupdict():
            captures[f"value_{index}"] = plain_value(value or "")
    return Match(cause, None, found[0], captures, "exact", 100.0)


def _words(template: Template) -> set[str]:
    """The words that a text of the template holds: the long ones, where there are any."""
    whole: set[str] = set()
    touching: set[str] = set()
    for place, part in enumerate(template.parts):
        if isinstance(part, Hole):
            continue
        for word in _WORD.finditer(part):
            # A word that touches a hole may go on in it, and be another word in the text.
            goes_on = (word.start() == 0 and place > 0) or (word.end() == len(part) and place + 1 < len(template.parts))
            (touching if goes_on else whole).add(word[0].lower())
    return {word for word in whole if len(word) >= 6} or whole or touching


def _size(template: Template) -> int:
    return sum(len(part) for part in template.parts if isinstance(part, str))


def _skeleton(template: Template) -> str:
    return _plain(" ".join(part for part in template.parts if isinstance(part, str)))


def _plain(text: str) -> str:
    return " ".join(regex.findall(r"[a-z_]{3,}", text.lower()))


def records_of(statement: Statement, message: str) -> tuple[Record, ...]:
    """The records of a statement from the one in which a message begins, for its line number and its evidence.

    Args:
        statement: the statement that the message was found in.
        message: the message as reported.
    """
    head = fold_literal(message)[:24]
    folded, starts = "", []
    for record in statement.records:
        starts.append(len(folded))
        folded += fold_literal(record.text)
    at = folded.find(head)
    if at < 0 or not head:
        return statement.records
    return statement.records[bisect_right(starts, at) - 1 :]
