"""What the log shows of a run's flags and variables: there, not there, or not to be known."""

from __future__ import annotations

from collections.abc import Mapping

from triage.diagnose.flags import flag_name, name_of
from triage.diagnose.launches import CUT
from triage.model import RunFacts


def may_be_given(flag: str, facts: RunFacts) -> bool:
    """Whether a flag may stand on the user's command line: not where all arguments are known without it."""
    base, dot, path = flag.partition(".")
    name = name_of(base)
    if _is_unsure(flag, facts) or name in facts.unusable:
        return True
    if any(flag_name(word) == flag for word in facts.launch or () if word.startswith("-")):
        return True
    if dot:
        value = facts.args.get(name)
        return isinstance(value, Mapping) and path.split(".")[0] in value
    if name.startswith("no_"):
        return facts.args.get(name.removeprefix("no_")) is False
    return name in facts.args


def is_given(flag: str, facts: RunFacts) -> bool:
    """Whether the log shows that a flag is given."""
    if any(flag_name(word) == flag for word in facts.launch or () if word.startswith("-")):
        return True
    return bool(facts.args or facts.unusable) and may_be_given(flag, facts) and not _is_unsure(flag, facts)


def is_variable_shown(name: str, facts: RunFacts) -> bool:
    """Whether the launch command sets a variable, or takes it away."""
    return any(word.removeprefix("-e").removeprefix("--env=").partition("=")[0] == name for word in facts.launch or ())


def _is_unsure(flag: str, facts: RunFacts) -> bool:
    """Whether the arguments that the log shows are not all of them."""
    # A command's own flags are not all where a file has more of them.
    cut = not facts.args or CUT in facts.unusable or ("config" in facts.args and facts.launch is not None)
    return cut and name_of(flag.partition(".")[0]).removeprefix("no_") not in (*facts.args, *facts.unusable)
