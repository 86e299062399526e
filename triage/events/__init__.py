"""From records to events: tracebacks with their chains, log messages, loose text; and run facts."""

from triage.events.assemble import Assembler
from triage.events.facts import FactsCollector, is_run_start

__all__ = ["Assembler", "FactsCollector", "is_run_start"]
