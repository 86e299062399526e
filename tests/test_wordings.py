"""Title and summary of a record read well in every wording of its message, not only in the one of its sample."""

from __future__ import annotations

import pytest
import regex

from triage import catalogue
from triage.diagnose.expressions import fill
from triage.model import Cause, Hole, Scalar, Template

CAUSES = catalogue.load().causes
WORDINGS = [
    pytest.param(cause, template, id=f"{cause.slug}-{number}")
    for cause in CAUSES
    for number, template in enumerate(cause.templates)
]


def values_in(cause: Cause, template: Template) -> dict[str, Scalar]:
    """What a message in these words gives: its holes, and the captures that are looked up in the message itself."""
    found: dict[str, Scalar] = {}
    text = ""
    for part in template.parts:
        if not isinstance(part, Hole):
            text += part
            continue
        spec = cause.captures.get(part.name)
        value: Scalar = "some-text" if spec is None or spec.type in ("str", "message") else 7
        found[part.name] = value
        text += str(value)
    for name, spec in cause.captures.items():
        if spec.source in ("chain", "near") and spec.key and (said := regex.search(spec.key, text)):
            found[name] = said[1] if said.re.groups else said[0]
    return found


@pytest.mark.parametrize(("cause", "template"), WORDINGS)
def test_texts_are_whole(cause: Cause, template: Template) -> None:
    """A value that one wording lacks is not needed by the texts, or they have words for it: given(pci, 'unknown')."""
    names = values_in(cause, template)
    for text in (cause.title, cause.summary):
        assert fill(text, names)
