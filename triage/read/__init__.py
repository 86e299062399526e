"""From bytes to records: sources, lines, hard wraps undone, envelopes taken off."""

from triage.read.ansi import strip_ansi
from triage.read.envelopes import to_record
from triage.read.following import follow_chunks
from triage.read.lines import PAUSE, split_lines
from triage.read.sections import unwrap
from triage.read.sources import Source, files_below, open_source, read_chunks
from triage.read.surroundings import Surroundings
from triage.read.wraps import WINDOW

__all__ = [
    "PAUSE",
    "WINDOW",
    "Source",
    "Surroundings",
    "files_below",
    "follow_chunks",
    "open_source",
    "read_chunks",
    "split_lines",
    "strip_ansi",
    "to_record",
    "unwrap",
]
