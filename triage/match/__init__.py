"""From statements to causes: candidates by their words, verified by ordered literal search."""

from triage.match.matcher import Matcher, records_of
from triage.match.statements import is_error, message_of, statements

__all__ = ["Matcher", "is_error", "message_of", "records_of", "statements"]
