"""From statements to causes: candidates by their words, verified by ordered literal search."""

from triage.match.matcher import Matcher, records_of
from triage.match.places import is_whole, place
from triage.match.said import said
from triage.match.statements import is_error, is_warning, message_of, statements, warned

__all__ = [
    "Matcher",
    "is_error",
    "is_warning",
    "is_whole",
    "message_of",
    "place",
    "records_of",
    "said",
    "statements",
    "warned",
]
