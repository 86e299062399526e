"""``vllm-triage search`` and ``vllm-triage list``: what the catalogue holds."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence

import orjson
from rapidfuzz import fuzz

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
    """List the records, by area or tag where asked."""
    parser = Parser(prog="vllm-triage list", description="List the records.")
    parser.add_argument("--area", help="only this area: the folder in patterns/causes, scheduler or memory")
    parser.add_argument("--tag", help="only records with this tag")
    _add_common(parser)
    arguments = parser.parse_args(words)
    found = [
        cause
        for cause in sorted(catalogue.load(arguments.patterns).causes, key=lambda cause: (area(cause), cause.slug))
        if (arguments.area is None or area(cause) == arguments.area)
        and (arguments.tag is None or arguments.tag in _tags(cause))
    ]
    _print(found, arguments.format, "no record of that area and tag")
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


def _print(causes: Iterable[Cause], format: str, nothing: str) -> None:
    rows = [
        {"slug": c.slug, "id": c.id, "area": area(c), "role": c.role, "title": c.title, "tags": _tags(c)}
        for c in causes
    ]
    if format == "json":
        write(orjson.dumps(rows, option=orjson.OPT_INDENT_2).decode() + "\n", None)
        return
    width = max((len(str(row["slug"])) for row in rows), default=0)
    lines = [f"{row['slug']:<{width}}  {row['title'] or ''}".rstrip() for row in rows]
    write("\n".join(lines or [nothing]) + "\n", None)
