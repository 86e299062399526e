"""From matches to a diagnosis: roles and ranking, locations, captures from context, fixes, status."""

from triage.diagnose.captures import from_following, from_text, lacks_near
from triage.diagnose.commands import rebuilt_command, shown_command
from triage.diagnose.evidence import Evidence
from triage.diagnose.findings import finding
from triage.diagnose.fixes import release_of
from triage.diagnose.observations import Observation, fingerprint, merge
from triage.diagnose.ranking import Ranked, rank, scope_of
from triage.diagnose.runs import RunState
from triage.diagnose.status import conclude

__all__ = [
    "Evidence",
    "Observation",
    "Ranked",
    "RunState",
    "conclude",
    "finding",
    "fingerprint",
    "from_following",
    "from_text",
    "lacks_near",
    "merge",
    "rank",
    "rebuilt_command",
    "release_of",
    "scope_of",
    "shown_command",
]
