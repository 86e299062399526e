"""A draft record of an error that no record knows: what the log and the index of sites say, ready to be written on."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from triage.catalogue.record import derived_slug
from triage.model import Finding

MESSAGE_LIMIT = 600
"""Characters of a message that a template is made of."""

WORDS = 12
"""Letters outside of holes that a template must keep; with fewer, the message is taken as it stands."""

SLUG_WORDS = 6
"""Words of a message that name its draft."""

# What stands for a value in a message: the quoted, paths, addresses, numbers with what belongs to them.
_VALUES = re.compile(
    r"""(?P<quote>['"`])(?P<quoted>[^'"`\n]{1,200})(?P=quote)(?!\w)"""
    r"|(?P<gone><redacted:[\w -]+>)|\b(?P<ip>(?:\d{1,3}\.){3}\d{1,3})\b"
    r"|(?<![\w.])(?P<path>(?:[A-Za-z]:)?(?:[/\\][\w.@+-]+){2,})"
    r"|\b(?P<address>0x[0-9a-fA-F]+)\b"
    r"|(?<![\w.])(?P<number>-?\d+(?:[.,]\d+)*)(?![\w.]*\w)"
)


def draft(finding: Finding) -> dict[str, Any]:
    """Make a record of a finding, with what is known filled in and the rest empty.

    The template is the one of the sources where the index has the message, else the message with its quoted texts,
    paths and numbers as holes.

    Args:
        finding: a root cause without a record.

    Returns:
        The record, as a value of dicts, lists and texts; ``vllm-triage lint`` says what is still to be written.
    """
    site, place = finding.site, finding.location
    template = site.template if site is not None and site.template.strip() else template_of(finding.message)
    package = (site.file if site else place.file if place else "vllm/").partition("/")[0]
    slug = "-".join(derived_slug(re.sub(r"\{[^{}]*\}", " ", template), None).split("-")[:SLUG_WORDS])
    numbers = {name for name, value in finding.captures.items() if isinstance(value, (int, float))}
    return {
        "id": hashlib.sha256(f"{package}\n{template}".encode()).hexdigest()[:16],
        "slug": slug,
        "errorMessage": template,
        "errorType": "exception" if finding.exception_class else "log",
        "errorClass": (finding.exception_class or "").rpartition(".")[2] or None,
        "severity": "error",
        "filePath": place.file if place else site.file if site else None,
        "lineNumber": place.line if place else None,
        "githubUrl": place.url if place else None,
        "documentation": None,
        "triggerScenarios": None,
        "solutions": [],
        "tags": [],
        "schemaVersion": 2,
        "triage": {
            "slug": slug,
            "title": None,
            "summary": None,
            "package": package,
            "role": "root_cause",
            "scope": finding.scope,
            "owner": finding.owner,
            "captures": {
                name: {"type": "float" if isinstance(finding.captures[name], float) else "int"}
                for name in sorted(numbers)
            },
            "fixes": [],
            "sources": [place.url] if place and place.url else [],
        },
    }


def template_of(message: str) -> str:
    """A message as a template: its values as holes, its own braces doubled.

    Args:
        message: what the software said.
    """
    text = message.strip()[:MESSAGE_LIMIT]
    text = text.split("\n\n")[0]
    parts: list[str] = []
    at = 0
    for found in _VALUES.finditer(text):
        parts.append(_doubled(text[at : found.start()]))
        quote = found["quote"] or ""
        parts.append(f"{quote}{{value}}{quote}")
        at = found.end()
    parts.append(_doubled(text[at:]))
    literal = "".join(part for part in parts if "{value}" not in part)
    return "".join(parts) if sum(map(str.isalpha, literal)) >= WORDS else _doubled(text)


def _doubled(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
