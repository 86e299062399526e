"""From statements to causes: candidates by their words, verified by ordered literal search."""

from triage.match.matcher import Matcher, records_of
from triage.match.places import place
from triage.match.said import said
from triage.match.statements import is_error, message_of, statements

__all__ = ["Matcher", "is_error", "message_of", "place", "records_of", "said", "statements"]
