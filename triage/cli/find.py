"""``vllm-triage search`` and ``vllm-triage list``: what the catalogue holds."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import orjson
from rapidfuzz import fuzz, process

from triage import catalogue
from triage.cli.options import Parser, add_patterns
from triage.cli.streams import write
from triage.errors import UsageError
from triage.model import Cause

SEARCH_SCORE = 80.0
"""Similarity (0 to 100) from which a record is listed by search."""


def run_search(words: Sequence[str]) -> int:
    """List the records nearest to some words, the nearest first; titles, messages, flags and tags count."""
    parser = Parser(
        prog="vllm-triage search", description="Look for records by words of titles, messages, flags and tags."
    )
    parser.add_argument("words", metavar="WORDS", nargs="*")
    _add_common(parser)
    arguments, flags = parser.parse_known_args(words)  # flags are words too: vllm-triage search --max-num-seqs
    query = " ".join([*arguments.words, *flags]).lower()
    if not query.strip():
        raise UsageError("there is nothing to look for", "vllm-triage search WORDS, e.g. draft tokens")
    scored = [(_score(query, cause), cause) for cause in catalogue.load(arguments.patterns).causes]
    found = [
        cause for score, cause in sorted(scored, key=lambda pair: (-pair[0], pair[1].slug)) if score >= SEARCH_SCORE
    ]
    _print(found[:20], arguments.format, f"nothing like {query!r}")
    return 0


def run_list(words: Sequence[str]) -> int:
    """List the records, by area or tag where asked.

    Raises:
        UsageError: no record has that area, or that tag.
    """
    parser = Parser(prog="vllm-triage list", description="List the records.")
    parser.add_argument("--area", help="only this area (--areas lists them)")
    parser.add_argument("--tag", help="only records with this tag (--tags lists them)")
    parser.add_argument("--areas", action="store_true", help="the areas, and how many records each has")
    parser.add_argument("--tags", action="store_true", help="the tags, and how many records each has")
    _add_common(parser)
    arguments = parser.parse_args(words)
    causes = sorted(catalogue.load(arguments.patterns).causes, key=lambda cause: (area(cause), cause.slug))
    areas = Counter(area(cause) for cause in causes if area(cause))
    tags = Counter(tag for cause in causes for tag in set(_tags(cause)))
    if arguments.areas or arguments.tags:
        _print_counts(areas if arguments.areas else tags, arguments.format)
        return 0
    if arguments.area is not None and arguments.area not in areas:
        raise UsageError(f"there is no area {arguments.area}", f"the areas are: {', '.join(sorted(areas))}")
    if arguments.tag is not None and arguments.tag not in tags:
        near = [tag for tag, _, _ in process.extract(arguments.tag, sorted(tags), limit=5)]
        raise UsageError(f"no record has the tag {arguments.tag}", f"near it: {', '.join(near)}; --tags lists all")
    found = [
        cause
        for cause in causes
        if arguments.area in (None, area(cause)) and (arguments.tag is None or arguments.tag in _tags(cause))
    ]
    narrowed = arguments.area is not None or arguments.tag is not None
    ending = "" if narrowed else "; --area AREA and --tag TAG narrow the list, --areas and --tags show which there are"
    _print(found, arguments.format, f"no record has both{ending}", f"{_counted(len(found))}{ending}")
    return 0


def area(cause: Cause) -> str:
    """A record's area: the name of the folder that its file lies in."""
    parts = cause.origin.replace("\\", "/").split("/")
    return parts[-2] if len(parts) > 1 else ""


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=("text", "json"), default="text")
    add_patterns(parser)


def _tags(cause: Cause) -> list[str]:
    tags = cause.record.get("tags")
    return [str(tag) for tag in tags] if isinstance(tags, list) else []


def _score(query: str, cause: Cause) -> float:
    flags = " ".join(flag for fix in cause.fixes for flag in (*fix.set, *fix.unset, *fix.env))
    messages = " ".join(template.text for template in cause.templates)
    named = f"{cause.slug.replace('-', ' ')} {cause.title}".lower()
    text = f"{named} {messages} {flags} {' '.join(_tags(cause))}".lower()
    words = query.split()
    # Every word counts by its best place; one that stands in the name counts a little more.
    return sum(0.9 * fuzz.partial_ratio(word, text) + 0.1 * fuzz.partial_ratio(word, named) for word in words) / len(
        words
    )


def _counted(number: int) -> str:
    return f"{number} record{'' if number == 1 else 's'}"


def _print_counts(names: Mapping[str, int], format: str) -> None:
    if format == "json":
        write(orjson.dumps(dict(sorted(names.items())), option=orjson.OPT_INDENT_2).decode() + "\n", None)
        return
    width = max(map(len, names), default=0)
    write("".join(f"{name:<{width}}  {_counted(number)}\n" for name, number in sorted(names.items())), None)


def _print(causes: Iterable[Cause], format: str, nothing: str, tally: str | None = None) -> None:
    rows = [
        {"slug": c.slug, "id": c.id, "area": area(c), "role": c.role, "title": c.title, "tags": _tags(c)}
        for c in causes
    ]
    if format == "json":
        write(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n", None)
        return
    width = max((len(str(row["slug"])) for row in rows), default=0)
    lines = [f"{row['slug']:<{width}}  {row['title'] or ''}".rstrip() for row in rows]
    if lines and tally:
        lines += ["", tally]
    write("\n".join(lines or [nothing]) + "\n", None)
