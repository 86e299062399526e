"""The table of provocations: what is done to vLLM, and which cause must be named for it.

Rows are data (``provocations/*.json``, a list of objects with the fields of `Row`); README.md says what they mean.
Nothing here imports vLLM, so that the table's shape can be tested anywhere.
"""

from __future__ import annotations

import json
import math
import shutil
import struct
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

TABLES = Path(__file__).with_name("provocations")
KINDS = ("config", "start", "request")
CLIENT_KEYS = {"path", "body", "headers"}
HAND_KEYS = {"says", "without", "arguments", "environment", "model", "before", "raw", "request"}


@dataclass(frozen=True)
class Row:
    """One provocation.

    Attributes:
        name: names the row and its log.
        kind: ``config`` ends where the configuration is accepted, ``start`` where a server answers a completion
            request, ``request`` where the request is served.
        expect: slug of the root cause.
        releases: releases of vLLM that it is for, as a PEP 440 specifier.
        arguments: shell words behind ``vllm serve MODEL``; ``{model}``, ``{port}`` and ``{folder}`` are replaced.
        environment: variables of the start.
        model: changes to the copy of the model folder: ``config`` (keys to set; null drops one), ``remove``, ``files``,
            ``tokenizer_config`` (as config), ``weights`` (tensor names to shapes, written as zeros into
            ``weights_file``); ``name`` puts a text in place of the folder.
        before: shell text that is run before the command, in the same shell.
        cold: run ENV/bin/vllm itself, not a fork of an imported one.
        raw: the whole command, where it is not ``vllm serve MODEL``.
        request: ``path`` and ``body`` of what is sent.
        by_hand: how a first fix that has steps and no command is carried out: ``says`` quotes the step, the rest
            overrides the fields of the row (``without`` takes flags away).
        note: what is special, for the results.
    """

    name: str
    kind: str
    expect: str
    releases: str = ""
    arguments: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    model: dict[str, Any] = field(default_factory=dict)
    before: str = ""
    cold: bool = False
    raw: str = ""
    request: dict[str, Any] = field(default_factory=dict)
    by_hand: dict[str, Any] = field(default_factory=dict)
    note: str = ""

    def fits(self, release: str) -> bool:
        """Whether the row is for this release."""
        return SpecifierSet(self.releases).contains(release, prereleases=True)


def read(paths: list[Path] | None = None) -> list[Row]:
    """Read tables.

    Args:
        paths: files; all files of ``provocations`` where None.

    Raises:
        ValueError: a row has a field that there is not, lacks one, or bears the name of another.
    """
    known = {each.name for each in fields(Row)}
    rows: dict[str, Row] = {}
    for path in paths or sorted(TABLES.glob("*.json")):
        for entry in json.loads(path.read_text()):
            if unknown := entry.keys() - known:
                raise ValueError(f"{path.name}: {entry.get('name')}: no such field: {', '.join(sorted(unknown))}")
            try:
                row = Row(**entry)
            except TypeError as error:
                raise ValueError(f"{path.name}: {entry.get('name')}: {error}") from error
            if row.name in rows:
                raise ValueError(f"{path.name}: {row.name}: there is a row of that name already")
            rows[row.name] = row
    return list(rows.values())


def make_model(source: Path, changes: dict[str, Any], target: Path) -> str:
    """Copy the model folder with changes.

    Args:
        source: the model folder as given.
        changes: as in `Row.model`.
        target: where the copy is made; what is there is replaced.

    Returns:
        What stands for the model on the command line.
    """
    if "name" in changes:
        return str(changes["name"])
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    for key, file in (("config", "config.json"), ("tokenizer_config", "tokenizer_config.json")):
        if key in changes:
            merged = {**json.loads((target / file).read_text()), **changes[key]}
            kept = {name: value for name, value in merged.items() if value is not None}
            (target / file).write_text(json.dumps(kept))
    for name in changes.get("remove", []):
        (target / name).unlink()
    for name, content in changes.get("files", {}).items():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        text = content if isinstance(content, str) else json.dumps(content)
        (target / name).write_text(text.replace("{folder}", str(target)))
    if "weights" in changes:
        write_weights(target / changes.get("weights_file", "model.safetensors"), changes["weights"])
    return str(target)


def write_weights(path: Path, shapes: dict[str, list[int]]) -> None:
    """Write a safetensors file of bfloat16 zeros: the length of the header, the header, the data."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    end = 0
    for name, shape in shapes.items():
        begin, end = end, end + 2 * math.prod(shape)
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + bytes(end))
