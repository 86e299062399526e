"""``vllm-triage explain``: the whole record of a cause."""

from __future__ import annotations

from collections.abc import Sequence

from triage import catalogue
from triage.cli.options import Parser, add_patterns
from triage.cli.streams import write
from triage.errors import UsageError
from triage.model import Cause
from triage.pipeline import recognised


def run(words: Sequence[str]) -> int:
    """Print the record that a slug, an id or a message names.

    Raises:
        UsageError: no record is meant, or several are.
    """
    parser = Parser(prog="vllm-triage explain", description="Print the whole record of a cause.")
    parser.add_argument(
        "query", metavar="SLUG|ID|MESSAGE", nargs="+", help="a cause's name or id, or a message from a log"
    )
    parser.add_argument(
        "--format",
        choices=("text", "json", "page"),
        default="text",
        help="text to read, the record as JSON, or as a page",
    )
    add_patterns(parser)
    arguments = parser.parse_args(words)
    query = " ".join(arguments.query)
    known = catalogue.load(arguments.patterns)
    found = catalogue.find(known, query, lambda text: recognised(text, known))
    if not isinstance(found, Cause):
        near = ", ".join(cause.slug for cause in found)
        raise UsageError(
            f"no record is called {query!r}" + (f"; near it: {near}" if near else ""),
            "vllm-triage list shows the names; vllm-triage search WORDS looks for one",
        )
    forms = {"text": catalogue.as_text, "json": catalogue.as_json, "page": catalogue.as_page}
    text = forms[arguments.format](found)
    write(text if text.endswith("\n") else f"{text}\n", None)
    return 0
