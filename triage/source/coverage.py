"""How much of each release is known: a table of the index and the causes, for the README."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from packaging.version import Version

from triage.errors import UsageError
from triage.source.index import Key

BEGIN, END = "<!-- coverage -->\n", "<!-- end of coverage -->\n"
"""What the table stands between in a Markdown file."""

FAILURES = frozenset({"WARNING", "ERROR", "CRITICAL"})
"""Levels of log calls that are counted as messages; the others tell releases apart and are no failures."""


def table(
    releases: Sequence[str], known: Mapping[Key, Mapping[str, int]], causes: Iterable[Mapping[str, object]]
) -> str:
    """A Markdown table with a line for the last release of each minor release.

    Args:
        releases: those of the index.
        known: its sites, each with its line in each release.
        causes: each record's place of each message in the releases, ``{"file", "function", "template", "lines"}``.
    """
    shown: dict[tuple[int, ...], str] = {}
    for release in sorted(releases, key=Version):
        shown[Version(release).release[:2]] = release
    messages: dict[str, set[str]] = {release: set() for release in shown.values()}
    texts, silent = Counter[str](), Counter[str]()
    for key, lines in known.items():
        if key.kind == "log" and key.of not in FAILURES:
            continue
        for release in messages.keys() & lines.keys():
            if key.template:
                messages[release].add(key.template)
                texts[release] += 1
            else:
                silent[release] += 1
    explained = Counter(release for cause in causes for release in _releases(cause))
    rows = [
        f"| {r} | {len(messages[r]):,} | {texts[r]:,} | {silent[r]:,} | {explained[r]:,} |"
        for r in reversed(shown.values())
    ]
    head = "| release | messages | places of them | places without a text | causes that it can raise |"
    return "\n".join((head, "| --- | ---: | ---: | ---: | ---: |", *rows, ""))


def _releases(cause: Mapping[str, object]) -> set[str]:
    sites = cause.get("sites")
    return {release for site in (sites if isinstance(sites, list) else ()) for release in site["lines"]}


def put(text: str, made: str) -> str:
    """A Markdown file's text with the table in its place.

    Raises:
        UsageError: it marks no place for it.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UsageError("the file marks no place for the table", f"write {BEGIN.strip()} and {END.strip()} into it")
    return f"{before}{BEGIN}{made}{END}{after}"
