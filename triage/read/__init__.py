"""From bytes to records: sources, lines, hard wraps undone, envelopes taken off."""

from triage.read.ansi import strip_ansi
from triage.read.envelopes import to_record
from triage.read.lines import split_lines
from triage.read.sections import unwrap
from triage.read.sources import Source, files_below, open_source, read_chunks
from triage.read.wraps import WINDOW

__all__ = [
    "WINDOW",
    "Source",
    "files_below",
    "open_source",
    "read_chunks",
    "split_lines",
    "strip_ansi",
    "to_record",
    "unwrap",
]
