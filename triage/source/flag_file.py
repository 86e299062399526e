"""The generated file of flags: every release's flags, fields of configuration classes, and variables, packed.

A line is one name with its facts in each range of consecutive known releases:
``"--seed": [["0.6.0","0.8.5",{...}],["0.9.0","0.33.0",{...}]]``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import orjson
from packaging.version import Version

from triage.errors import UsageError
from triage.model import Json
from triage.source.evaluate import evaluate, open_package
from triage.source.flags import fields_of_configs, read_flags
from triage.source.modules import UNKNOWN, Report, parse

Facts: TypeAlias = "dict[str, Json]"

SECTIONS = ("flags", "fields", "variables")
"""Flags by name, fields as ``Class.field``, environment variables by name."""


@dataclass(slots=True)
class Known:
    """What is known of releases: section to name to release to facts."""

    releases: set[str] = field(default_factory=set)
    facts: dict[str, dict[str, dict[str, Facts]]] = field(default_factory=lambda: {name: {} for name in SECTIONS})

    def add(self, release: str, section: str, found: Mapping[str, Facts]) -> None:
        """Note what one section holds in a release, in place of what was known of it."""
        held = self.facts[section]
        for of_releases in held.values():
            of_releases.pop(release, None)
        for name, facts in found.items():
            held.setdefault(name, {})[release] = facts
        self.releases.add(release)


def read_release(known: Known, release: str, root: Path, report: Report) -> int:
    """Read a release's flags, fields and variables into what is known; give the number of its flags.

    Raises:
        UsageError: the folder holds no ``vllm/engine/arg_utils.py``.
    """
    flags = read_flags(root, report)
    known.add(release, "flags", {name: flag.data() for name, flag in flags.items()})
    configs = fields_of_configs(root, report)
    fields = {f"{owner}.{name}": facts for owner, each in configs.items() for name, facts in each.items()}
    # The owner stands in the name.
    known.add(
        release, "fields", {name: {k: v for k, v in facts.items() if k != "owner"} for name, facts in fields.items()}
    )
    known.add(release, "variables", dict(read_variables(root, report)))
    return len(flags)


def read_variables(root: Path, report: Report) -> Iterator[tuple[str, Facts]]:
    """The environment variables that a release's ``envs.py`` declares, with type and default."""
    path = root / "vllm" / "envs.py"
    module = open_package(root, report).module("vllm.envs")
    if not path.is_file() or module is None:
        return
    for block in parse(path, report).body:
        if not (isinstance(block, ast.If) and "TYPE_CHECKING" in ast.unparse(block.test)):
            continue
        for node in block.body:
            if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
                default = evaluate(node.value, {}, module) if node.value is not None else UNKNOWN
                facts: Facts = {"type": ast.unparse(node.annotation)}
                if default is None or isinstance(default, (bool, int, float, str)):
                    facts["default"] = default
                yield node.target.id, facts


def load_known(content: bytes) -> Known:
    """Read such a file back.

    Raises:
        UsageError: it is none.
    """
    try:
        data = orjson.loads(content)
        releases = sorted(data["releases"], key=Version)
        known = Known(set(releases))
        place = {release: number for number, release in enumerate(releases)}
        for section in SECTIONS:
            for name, spans in data[section].items():
                for first, last, facts in spans:
                    for release in releases[place[first] : place[last] + 1]:
                        known.facts[section].setdefault(name, {})[release] = facts
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise UsageError("the file of flags is damaged", "delete it, and write it anew from all releases") from error
    return known


def dump_known(package: str, known: Known) -> bytes:
    """What is known as a reviewable file, sorted; consecutive releases with the same facts are one item."""
    releases = sorted(known.releases, key=Version)
    head = f'{{\n  "package": {orjson.dumps(package).decode()},\n  "releases": {orjson.dumps(releases).decode()}'
    # One line a name: orjson's own indenting would give each range four.
    parts = [head]
    for section in SECTIONS:
        lines = []
        for name, of_releases in sorted(known.facts[section].items()):
            if spans := _spans(releases, of_releases):
                lines.append(f"    {orjson.dumps(name).decode()}: {orjson.dumps(spans).decode()}")
        parts.append(f'  "{section}": {{\n' + ",\n".join(lines) + "\n  }")
    return (",\n".join(parts) + "\n}\n").encode()


def _spans(releases: list[str], of_releases: Mapping[str, Facts]) -> list[list[Json]]:
    spans: list[list[Json]] = []
    for position, release in enumerate(releases):
        facts = of_releases.get(release)
        if facts is None:
            continue
        before = spans[-1] if spans else None
        if before is not None and position and before[1] == releases[position - 1] and before[2] == facts:
            before[1] = release
        else:
            spans.append([release, release, facts])
    return spans
