"""From records to events: tracebacks with their chains, log messages, loose text; and run facts."""

from triage.events.assemble import Assembler
from triage.events.facts import FactsCollector, is_run_start
from triage.events.releases import ReleaseGuess

__all__ = ["Assembler", "FactsCollector", "ReleaseGuess", "is_run_start"]
