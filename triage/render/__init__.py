"""A report in the form that its reader wants; every form is a function of the report alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from triage.errors import UsageError
from triage.model import Report
from triage.render.concise import render_concise
from triage.render.data import SCHEMA_ID, render_end, render_finding, render_json, render_jsonl
from triage.render.github import render_github
from triage.render.html import render_html
from triage.render.issue import render_issue
from triage.render.markdown import render_markdown
from triage.render.options import Options
from triage.render.schema import schema
from triage.render.text import render_text
from triage.render.visible import visible

_RENDERERS: Mapping[str, Callable[[Report, Options], str]] = MappingProxyType(
    {
        "text": render_text,
        "concise": render_concise,
        "json": render_json,
        "jsonl": render_jsonl,
        "markdown": render_markdown,
        "html": render_html,
        "github": render_github,
    }
)

FORMATS: tuple[str, ...] = tuple(_RENDERERS)
"""The names of the formats, the default one first."""

__all__ = [
    "FORMATS",
    "SCHEMA_ID",
    "Options",
    "render",
    "render_end",
    "render_finding",
    "render_issue",
    "schema",
    "visible",
]


def render(report: Report, format: str, options: Options | None = None) -> str:
    """The report in one of the formats, ending in a line feed.

    Args:
        report: what was found; it holds only what is to be shown, and counts the rest.
        format: one of ``FORMATS``.
        options: colour, width in columns, how much to show; for text, and how much for markdown.

    Raises:
        UsageError: there is no such format.
    """
    try:
        renderer = _RENDERERS[format]
    except KeyError:
        raise UsageError(f"no such format: {visible(format, 40)}", f"choose one of: {', '.join(FORMATS)}") from None
    return renderer(report, options or Options())
