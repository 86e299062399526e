"""One start of vLLM in the input: how far it came, how it ended."""

from __future__ import annotations

from dataclasses import dataclass

from triage.diagnose.progress import SERVING, read_progress
from triage.model import Record, RunFacts


@dataclass(slots=True)
class RunState:
    """One start of vLLM in the input, while it is being read.

    started: a line of its progress was seen; of_vllm: one that no other program writes; complete: line at which it
    went on to serve; progress: the last line that shows that it was well; stage: the last stage of start-up
    reached; stopped: it was shut down in order; stalls: lines since the last progress that say that it waits for a
    process that does not answer; ended: what says that its process ended by no will of its own; failed: requests
    answered with status 500 since one was served; refused: requests answered with status 400 or 422; unready: the
    API server failed while it was made ready; present: patterns of the catalogue's conditions that it meets.
    """

    facts: RunFacts
    first_line: int = 1
    source: str = "stdin"
    pod: str | None = None
    started: bool = False
    of_vllm: bool = False
    complete: int = 0
    progress: int = 0
    stage: str | None = None
    stopped: bool = False
    stalls: int = 0
    ended: str | None = None
    failed: int = 0
    refused: int = 0
    unready: bool = False
    present: frozenset[str] = frozenset()

    def observe(self, record: Record) -> bool:
        """Let a record add to what is known; True where it speaks of vLLM's progress."""
        self.of_vllm = self.of_vllm or record.process is not None or record.logger_file is not None
        said = read_progress(record)
        if said is None:
            return False
        name, detail = said
        self.of_vllm = self.of_vllm or name == "started" or (name == "stage" and detail != SERVING)
        line = record.first.place
        self.started = self.started or name not in ("ended", "failed", "refused")
        match name:
            case "stage":
                self.stage = detail
            case "complete":
                self.complete = self.progress = line
            case "served":
                self.progress, self.failed = line, 0
            case "stopped":
                self.stopped = True
            case "stalled":
                self.stalls += 1
            case "ended":
                self.ended = detail
            case "failed":
                self.failed += 1
            case "refused":
                self.refused += 1
            case "unready":
                self.unready = True
        if name in ("stage", "complete", "served"):
            self.stalls = 0
        return True
