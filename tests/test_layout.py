"""The structure holds: stages know only the model, one module knows their order, one room touches the streams."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "triage"
STAGES = ("read", "events", "match", "diagnose", "render", "catalogue", "source")
MODULES = sorted(PACKAGE.rglob("*.py"))


def imports(path: Path) -> set[str]:
    """The names of our own modules that a module imports, at any depth of its code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            if node.module == "triage":
                found.update(f"triage.{alias.name}" for alias in node.names)
    return {name for name in found if name.split(".")[0] == "triage"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_stage_imports_no_other_stage(path: Path) -> None:
    """A module of a stage imports the model, the errors, the values' reader and its own room, nothing else of ours."""
    room = path.relative_to(PACKAGE).parts[0]
    if room not in STAGES:
        pytest.skip("no stage")
    allowed = ("triage.model", "triage.errors", "triage.values", f"triage.{room}")
    assert all(name.startswith(allowed) for name in imports(path)), imports(path)


@pytest.mark.parametrize("name", ["model", "errors", "values"])
def test_foundation_imports_nothing_of_ours(name: str) -> None:
    """The model, the errors and the reader of values stand by themselves."""
    assert imports(PACKAGE / f"{name}.py") == set()


def test_only_the_pipeline_knows_the_stages_order() -> None:
    """No module but the pipeline imports two stages of the data flow; the command may open sources and load records."""
    flow = {"triage.read", "triage.events", "triage.match", "triage.diagnose"}
    for path in MODULES:
        used = {stage for stage in flow if any(name == stage or name.startswith(f"{stage}.") for name in imports(path))}
        if path.name != "pipeline.py":
            assert len(used) <= 1, f"{path}: {used}"


def test_streams_belong_to_the_command() -> None:
    """Only the command touches sys.argv, standard streams and exit codes (a developer's module command aside)."""
    for path in MODULES:
        if path.relative_to(PACKAGE).parts[0] in ("cli", "__main__.py") or path.name == "__main__.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "sys":
                assert node.attr not in ("argv", "exit", "stdout", "stderr"), path
            assert not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"), (
                path
            )
