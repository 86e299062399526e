"""Finding records by what a user has in hand: a slug, an id, a title, a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from triage.model import Catalogue, Cause, Json

CANDIDATES = 5
"""How many records are offered where none is meant for certain."""

_MIN_PREFIX = 4
_SIMILAR = 50
_HOLE = re.compile(r"\{[^{}]*(?:\}|\Z)")
_CUT = re.compile(r"(?:\.\.\.|…)\s*\Z")


def find(catalogue: Catalogue, query: str, recognised: Callable[[str], Sequence[Cause]]) -> Cause | list[Cause]:
    """Find the record that a slug, id, alias, title, cut title or message text means.

    Args:
        catalogue: the causes.
        query: what the user gave.
        recognised: gives the causes that a text of a log is recognised as, the best first.

    Returns:
        The cause, or where none is meant for certain the candidates, the best first; none at all is an
        empty list.
    """
    query = query.strip()
    for cause in catalogue.causes:
        if query in (cause.slug, cause.id, *cause.aliases):
            return cause
    words = "-".join(re.findall(r"[a-z0-9]+", query.lower()))
    worded = [cause for cause in catalogue.causes if words in (cause.slug, *cause.aliases)]
    titled = with_title(catalogue.causes, query)
    whole = [cause for cause in titled if _plain(query) in map(_plain, _titles(cause))]
    for named in (worded, whole, [cause for cause in whole if cause.when is None], titled):
        if len(named) == 1:
            return named[0]
    if said := recognised(query):
        # Of records with one message the one without conditions is meant: the text alone meets none.
        return next((cause for cause in said if cause.when is None), said[0])
    offered = dict.fromkeys(cause.slug for cause in (*titled, *_near(catalogue.causes, query)))
    by_slug = {cause.slug: cause for cause in catalogue.causes}
    return [by_slug[slug] for slug in offered][:CANDIDATES]


def with_title(causes: Iterable[Cause], title: str) -> list[Cause]:
    """The causes whose title or message starts with a title, which may be cut anywhere, in a hole too.

    Args:
        causes: the causes to look through.
        title: the title as a page lists it.
    """
    wanted = _plain(_CUT.sub("", title))
    if len(wanted) < _MIN_PREFIX:
        return []
    return [cause for cause in causes if any(_plain(text).startswith(wanted) for text in _titles(cause))]


def related(cause: Cause, catalogue: Catalogue) -> list[tuple[str, Cause | None]]:
    """The related records: by slug, and those that the record names by a title that may be cut.

    Args:
        cause: whose relations are asked for.
        catalogue: where they are looked up.

    Returns:
        Each as given, with its cause, or None where there is no such record or not just one.
    """
    by_name = {name: one for one in catalogue.causes for name in (*one.aliases, one.id, one.slug)}
    found: dict[str, Cause | None] = {slug: by_name.get(slug) for slug in cause.related}
    for title in _list(cause.record, "relatedErrors"):
        titled = [one for one in with_title(catalogue.causes, title) if one.slug != cause.slug]
        match = titled[0] if len(titled) == 1 else None
        if match is None or match not in found.values():
            found[title] = match
    return list(found.items())


def _titles(cause: Cause) -> tuple[str, ...]:
    return (cause.title, *(one.text for one in cause.templates))


def _plain(text: str) -> str:
    """Without white space, case and the inside of holes, to compare titles by."""
    return "".join(_HOLE.sub("{}", text).split()).casefold().rstrip("{}")


def _near(causes: Sequence[Cause], query: str) -> list[Cause]:
    # Needed only where nothing else found a record.
    from rapidfuzz import fuzz, utils

    wanted = utils.default_process(query)
    scored = []
    for cause in causes:
        slug = utils.default_process(cause.slug)
        words = fuzz.token_set_ratio(wanted, f"{slug} {utils.default_process(cause.title)}")
        # A slug with a typo is nearer than one that merely shares words.
        scored.append((max(fuzz.ratio(wanted, slug), 0.9 * words), cause.slug, cause))
    scored.sort(key=lambda entry: (-entry[0], entry[1]))
    return [cause for score, _, cause in scored[:CANDIDATES] if score >= _SIMILAR]


def _list(record: Mapping[str, Json], name: str) -> tuple[str, ...]:
    value = record.get(name)
    return tuple(entry for entry in value if isinstance(entry, str)) if isinstance(value, list) else ()
