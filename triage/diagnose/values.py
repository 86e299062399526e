"""The values that the expressions of fixes can use, with the defaults of arguments that the log does not name."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from triage.diagnose.launches import CUT
from triage.model import RunFacts, Scalar

# Arguments whose default has been the same in every release.
_ONE_BY_DEFAULT = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
# Others, with the releases that have each default.
_BY_DEFAULT: Mapping[str, tuple[tuple[str, Scalar], ...]] = {
    "gpu_memory_utilization": (("<0.20", 0.9), (">=0.20", 0.92))
}


def names_of(captures: Mapping[str, Scalar], facts: RunFacts) -> dict[str, Scalar]:
    """The names that an expression can use: captures first, then arguments, the engine's config, run facts.

    Keys inside an argument that is a dictionary (``num_speculative_tokens``) are names too, where nothing else is.
    """
    names: dict[str, Scalar] = {"world_size": facts.world_size, "gpus": facts.gpus}
    if facts.args and CUT not in facts.unusable:
        names.update((name, 1) for name in _ONE_BY_DEFAULT if name not in facts.unusable)
        names.update((name, value) for name, value in _defaults(facts).items() if name not in facts.unusable)
    for value in facts.args.values():
        if isinstance(value, Mapping):
            names.update(_scalars(value))
    names.update(model=facts.model, vllm_version=facts.vllm_version, platform=facts.platform)
    engine = dict(facts.engine)
    if "max_seq_len" in engine:
        engine.setdefault("max_model_len", engine["max_seq_len"])
    for known in (engine, facts.args):
        names.update(_scalars(known))
    names.update((name, value) for name, value in captures.items() if value is not None)
    return {name: value for name, value in names.items() if value is not None}


def _defaults(facts: RunFacts) -> dict[str, Scalar]:
    """The defaults of the run's release, of arguments that have had several."""
    version = parse_version(facts.vllm_version)
    if version is None:
        return {}
    found = {name: [value for spec, value in values if admits(spec, version)] for name, values in _BY_DEFAULT.items()}
    return {name: values[0] for name, values in found.items() if values}


def admits(versions: str | None, version: Version) -> bool:
    """Whether a specifier, or none at all, lets a release in."""
    if not versions:
        return True
    try:
        return SpecifierSet(versions).contains(version, prereleases=True)
    except InvalidSpecifier:
        return False


def parse_version(text: str | None) -> Version | None:
    """The release of a version: a pre-release or development build counts as the release that it leads to."""
    try:
        version = Version(text or "")
    except InvalidVersion:
        return None
    return Version(version.base_version if version.is_prerelease else version.public)


def _scalars(values: Mapping[str, object]) -> dict[str, Scalar]:
    return {name: value for name, value in values.items() if isinstance(value, (bool, int, float, str))}
