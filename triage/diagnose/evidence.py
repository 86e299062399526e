"""Which of the catalogue's conditions (a cause's ``when``) each run's records meet."""

from __future__ import annotations

from collections import defaultdict

import regex

from triage.model import Catalogue, Record

SECONDS = 0.05
"""Time that one pattern may take on one line."""

TEXT_LIMIT = 2000
"""Characters of a line that are looked at."""


class Evidence:
    """Looks for the patterns of all causes' ``when`` conditions as the records go by.

    Args:
        catalogue: the causes.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        whens = [cause.when for cause in catalogue.causes if cause.when]
        self._patterns = {
            pattern: regex.compile(pattern) for when in whens for pattern in (*when.present, *when.absent)
        }
        self._absent = frozenset(pattern for when in whens for pattern in when.absent)
        self._present: defaultdict[int, set[str]] = defaultdict(set)

    def observe(self, record: Record, run: int) -> None:
        """Look at a record of a run."""
        found = self._present[run]
        for text, pattern in self._patterns.items():
            if text not in found:
                try:
                    if pattern.search(record.text[:TEXT_LIMIT], timeout=SECONDS):
                        found.add(text)
                except TimeoutError:
                    if text in self._absent:
                        found.add(text)  # not proven absent

    def present(self, run: int) -> frozenset[str]:
        """The patterns that some record of the run has matched."""
        return frozenset(self._present[run])
