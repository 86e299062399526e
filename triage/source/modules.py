"""A package's modules, classes and functions as its sources define them, read without importing anything.

Names are looked up in the module, and through its imports in the package's other modules. Of ``if TYPE_CHECKING`` the
other branch counts, as it does when the program runs. How an expression is worked out is handed in: see
`triage.source.evaluate`.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

Report: TypeAlias = "Callable[[str, str], None]"
"""Takes a file and a reason."""

Evaluate: TypeAlias = "Callable[[ast.expr, Mapping[str, object], Module, int], object]"
"""Gives the value of an expression with local names, in a module, at a depth."""

DEPTH = 40
"""Expressions, names and calls inside one another that are followed."""


class _Unknown:
    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = _Unknown()
"""The value of what cannot be told."""


@dataclass(frozen=True, slots=True)
class TypeRef:
    """What a word is converted with: ``int``, ``json`` (a function that reads JSON), ``Literal``, ..."""

    name: str
    args: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class ClassRef:
    """A class of the package, with the module that defines it."""

    module: Module
    node: ast.ClassDef

    @property
    def bases(self) -> list[ClassRef]:
        """Its base classes that are the package's own."""
        found = [self.module.evaluate(base, {}) for base in self.node.bases]
        return [each for each in found if isinstance(each, ClassRef)]

    def mro(self, depth: int = 0) -> list[ClassRef]:
        """The class and its bases, itself first."""
        above = [each for base in self.bases for each in base.mro(depth + 1)] if depth < 8 else []
        return [self, *above]

    def is_enum(self) -> bool:
        """Whether it is an enumeration."""
        names = [ast.unparse(base) for each in self.mro() for base in each.node.bases]
        return any(name.rsplit(".", 1)[-1].endswith("Enum") for name in names)

    def is_dataclass(self) -> bool:
        """Whether fields make its constructor."""
        decorators = [ast.unparse(each) for each in self.node.decorator_list]
        return any("dataclass" in each or "config" in each.lower() for each in decorators)

    def is_dict(self) -> bool:
        """Whether it is a dictionary with more to it."""
        return any(
            ast.unparse(base).startswith(("dict", "UserDict")) for each in self.mro() for base in each.node.bases
        )

    def function(self, name: str) -> tuple[ClassRef, ast.FunctionDef] | None:
        """A method by name, with the class that defines it."""
        for each in self.mro():
            for node in each.node.body:
                if isinstance(node, ast.FunctionDef) and node.name == name:
                    return each, node
        return None

    def _beside(self, value: ast.expr) -> dict[str, object]:
        """The names of the class's own body that an expression in it uses."""
        used = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        out: dict[str, object] = {}
        for node in self.node.body:
            for name in bound_names(node) if isinstance(node, (ast.Assign, ast.AnnAssign)) else ():
                inner = _value_of(node, name)
                if name in used and inner is not None and inner is not value:
                    out[name] = self.module.evaluate(inner, out)
        return out

    def attribute(self, name: str) -> object:
        """The value that the class gives an attribute: a default, or an enumeration's member."""
        for each in self.mro():
            for node in each.node.body:
                value = _value_of(node, name)
                if value is not None:
                    found = each.module.evaluate(value, each._beside(value))
                    return found if not each.is_enum() else Member(name, found)
        return UNKNOWN


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration."""

    name: str
    value: object


@dataclass(slots=True, eq=False)
class Module:
    """A module of the package: what its top level binds."""

    name: str
    package: Package
    names: dict[str, ast.stmt] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Name to the module it is imported from, and its name there (None: the module itself)."""
    known: dict[str, object] = field(default_factory=dict)
    """What names were found to stand for."""

    def evaluate(self, node: ast.expr, env: Mapping[str, object], depth: int = 0) -> object:
        """The value of an expression that stands in the module; env: local names."""
        return self.package.evaluate(node, env, self, depth)

    def lookup(self, name: str, depth: int = 0) -> object:
        """What a name stands for at the module's top level."""
        if name not in self.known:
            # A name that is being looked up already is made of itself.
            self.known[name] = UNKNOWN
            self.known[name] = self._found(name, depth)
        return self.known[name]

    def _found(self, name: str, depth: int) -> object:
        if depth > DEPTH:
            return UNKNOWN
        node = self.names.get(name)
        if isinstance(node, ast.ClassDef):
            return ClassRef(self, node)
        if isinstance(node, ast.FunctionDef):
            return Function(self, node, None)
        if node is not None:
            value = _value_of(node, name)
            return self.evaluate(value, {}, depth + 1) if value is not None else UNKNOWN
        if name in self.imports:
            origin, original = self.imports[name]
            if original is None:
                return UNKNOWN
            module = self.package.module(origin)
            if module is None:
                return UNKNOWN
            return module.lookup(original, depth + 1)
        return UNKNOWN


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function or method of the package; bound: the class that it is called on; defined: the class that has it."""

    module: Module
    node: ast.FunctionDef
    bound: ClassRef | None
    defined: ClassRef | None = None


@dataclass(slots=True)
class Package:
    """A package's folder, its modules read when asked for."""

    root: Path
    report: Report
    evaluate: Evaluate
    read: dict[str, Module | None] = field(default_factory=dict)
    memory: dict[ast.AST, object] = field(default_factory=dict)
    """What was worked out of a class before: there are few of them, and they are asked for again and again."""

    def path(self, name: str) -> Path | None:
        """The file of a module, by dotted name."""
        base = self.root.joinpath(*name.split("."))
        for path in (base.with_suffix(".py"), base / "__init__.py"):
            if path.is_file():
                return path
        return None

    def module(self, name: str) -> Module | None:
        """A module by dotted name; None where the package has none of that name."""
        if name not in self.read:
            path = self.path(name)
            self.read[name] = None if path is None else self._load(name, path)
        return self.read[name]

    def _load(self, name: str, path: Path) -> Module:
        module = Module(name, self)
        parent = name if path.name == "__init__.py" else name.rpartition(".")[0]
        for node in _executed(parse(path, self.report).body):
            if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                module.names[node.name] = node
            elif isinstance(node, (ast.Assign, ast.AnnAssign)):
                for target in bound_names(node):
                    module.names[target] = node
            elif isinstance(node, ast.ImportFrom):
                above = parent.split(".")[: len(parent.split(".")) - node.level + 1] if node.level else []
                origin = ".".join([*above, *([node.module] if node.module else [])])
                for alias in node.names:
                    module.imports[alias.asname or alias.name] = (origin, alias.name)
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    module.imports[alias.asname or alias.name.split(".")[0]] = (alias.name, None)
        return module


def parse(path: Path, report: Report) -> ast.Module:
    """Parse a file; one that cannot be parsed is reported and empty."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report(path.name, f"{type(error).__name__}: {error}")
        return ast.Module([], [])


def bound_names(node: ast.stmt) -> list[str]:
    """The names that an assignment binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _value_of(node: ast.stmt, name: str) -> ast.expr | None:
    return node.value if isinstance(node, (ast.Assign, ast.AnnAssign)) and name in bound_names(node) else None


def _executed(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module's top level that run, those of conditions included."""
    for node in body:
        if isinstance(node, ast.If):
            typing = "TYPE_CHECKING" in ast.unparse(node.test)
            yield from _executed([*([] if typing and node.orelse else node.body), *node.orelse])
        elif isinstance(node, ast.Try):
            yield from _executed([*node.body, *node.orelse])
        else:
            yield node
