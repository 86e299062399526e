"""The command-line flags of ``vllm serve``, read out of a release's sources.

Flags come from ``add_argument`` calls: those of the engine's arguments (``engine/arg_utils.py``), of the frontend's
(``cli_args.py``, which has lived in several folders of ``entrypoints``) and of the subcommand (``scripts.py``, later
``entrypoints/cli/serve.py``). Two kinds of flag stand nowhere as text and are worked out from the dataclasses that
they derive from: the frontend's, added in a loop over the fields of ``FrontendArgs``, and the ``--no-x`` forms of flags
whose field is a bool, which vLLM turns into ``argparse.BooleanOptionalAction``. From 0.33.0 on such switches also pair
``--enable-x`` with ``--disable-x``.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import orjson
from packaging.version import Version

from triage.errors import UsageError

_Report = Callable[[str, str], None]


def read_flags(root: Path, on_error: _Report | None = None) -> set[str]:
    """Read the long flags that ``vllm serve`` of a release knows.

    Args:
        root: the folder that holds the release's ``vllm`` folder.
        on_error: called with file and reason for a file that cannot be parsed, and for a call that adds flags in a way
            not understood here.

    Returns:
        Flags as typed, ``--no-...`` forms included; without those that argparse adds by itself (``--help``).

    Raises:
        UsageError: the folder holds no ``vllm/engine/arg_utils.py``.
    """
    package = root / "vllm"
    engine = package / "engine" / "arg_utils.py"
    if not engine.is_file():
        raise UsageError(f"{str(engine)!r} does not exist", "name the folder that holds the package's folder")
    report = on_error if on_error is not None else _ignore
    classes = _Classes.of(package, report)
    flags: set[str] = set()
    for path in (engine, *sorted((package / "entrypoints").rglob("cli_args.py"))):
        for node in ast.walk(_parse(path, report)):
            if isinstance(node, ast.FunctionDef) and node.name in ("add_cli_args", "make_arg_parser"):
                flags.update(_Adder(node, classes, partial(report, path.name)).flags())
    for path in (package / "scripts.py", package / "entrypoints" / "cli" / "serve.py"):
        tree = _parse(path, report) if path.is_file() else ast.Module([], [])
        for call in _add_calls(tree, "serve_parser"):
            flags.update(_literal_flags(call))
    inverse = _inverse_prefixes(package, report)
    return flags | {
        new + flag.removeprefix(old)
        for flag in flags
        for old, new in inverse.items()
        if flag.startswith(old) and f"--no-{flag[2:]}" in flags
    }


def dump_flags(package: str, known: Mapping[str, Iterable[str]]) -> bytes:
    """The flags of releases as a reviewable file: ranges of consecutive known releases for each flag.

    Args:
        package: the package's name.
        known: the flags of each release.
    """
    releases = sorted(known, key=Version)
    ranges: dict[str, list[list[str]]] = {}
    for position, release in enumerate(releases):
        for flag in known[release]:
            spans = ranges.setdefault(flag, [])
            if spans and position and spans[-1][1] == releases[position - 1]:
                spans[-1][1] = release
            else:
                spans.append([release, release])
    # One line a flag: orjson's own indenting would give each range four.
    lines = [
        f"    {orjson.dumps(flag).decode()}: {orjson.dumps(spans).decode()}" for flag, spans in sorted(ranges.items())
    ]
    head = f'{{\n  "package": {orjson.dumps(package).decode()},\n  "releases": {orjson.dumps(releases).decode()},\n'
    return (head + '  "flags": {\n' + ",\n".join(lines) + "\n  }\n}\n").encode()


@dataclass(slots=True)
class _Classes:
    """The dataclasses that flags derive from, by name."""

    nodes: dict[str, ast.ClassDef] = field(default_factory=dict)
    optional_values: bool = False
    """Whether a field of type ``bool | str | None`` is a flag with an optional value, without a ``--no-`` form."""

    @classmethod
    def of(cls, package: Path, report: _Report) -> _Classes:
        """Read the configuration classes, engine arguments and frontend arguments of a release."""
        out = cls()
        configs = [
            *sorted((package / "config").rglob("*.py")),
            package / "config.py",
            package / "engine" / "arg_utils.py",
        ]
        for path in (*configs, *sorted((package / "entrypoints").rglob("cli_args.py"))):
            tree = _parse(path, report) if path.is_file() else ast.Module([], [])
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    out.nodes.setdefault(node.name, node)
                elif isinstance(node, ast.Compare) and ast.unparse(node) == "type_hints == {bool, str, type(None)}":
                    out.optional_values = True
        return out

    def fields(self, name: str, depth: int = 0) -> dict[str, ast.expr]:
        """The fields of a class and its bases with their annotations, as `dataclasses.fields` gives them."""
        node = self.nodes.get(name)
        out: dict[str, ast.expr] = {}
        if node is None or depth > 8:
            return out
        for base in node.bases:
            out.update(self.fields(ast.unparse(base), depth + 1))
        for item in node.body:
            if not (isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)):
                continue
            if "ClassVar" not in ast.unparse(item.annotation):
                out[item.target.id] = item.annotation
        return out

    def is_switch(self, annotation: ast.expr) -> bool:
        """Whether vLLM gives a field of this type an ``--x`` and a ``--no-x`` flag."""
        leaves = set(_leaves(annotation))
        if self.optional_values and leaves == {"bool", "str", "None"}:
            return False
        return "bool" in leaves and not any(self._is_dataclass(leaf) for leaf in leaves)

    def _is_dataclass(self, name: str) -> bool:
        node = self.nodes.get(name)
        return node is not None and any(
            "dataclass" in ast.unparse(each) or "config" in ast.unparse(each) for each in node.decorator_list
        )


class _Adder:
    """Reads the flags that one function adds to a parser."""

    def __init__(self, function: ast.FunctionDef, classes: _Classes, report: Callable[[str], None]) -> None:
        self.function = function
        self.classes = classes
        self.report = report
        self.values: dict[str, ast.expr] = {}
        """What local variables are set to."""
        self.loops: dict[str, list[str]] = {}
        """The flags that a loop variable runs over, in ``for arg, type in [("--x", str), ...]``."""
        for node in ast.walk(function):
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.values.setdefault(node.targets[0].id, node.value)
            elif isinstance(node, ast.For):
                target = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
                texts = [each.value for each in ast.walk(node.iter) if isinstance(each, ast.Constant)]
                flags = [text for text in texts if isinstance(text, str) and text.startswith("--")]
                if isinstance(target, ast.Name) and flags:
                    self.loops[target.id] = flags

    def flags(self) -> Iterator[str]:
        """Yield the flags, switched-off forms included."""
        for call in _add_calls(self.function):
            first = call.args[0] if call.args else None
            names = _literal_flags(call)
            if isinstance(first, ast.Name):
                names.extend(self.loops.get(first.id, ()))
            if names:
                yield from names
                if self._is_switch(call):
                    yield from (f"--no-{name[2:]}" for name in names)
            elif any(isinstance(arg, ast.JoinedStr) and ast.unparse(arg.values[0]) == "'--'" for arg in call.args):
                yield from self._field_flags()
            elif not isinstance(first, ast.Constant):
                self.report(f"line {call.lineno}: cannot tell the flag of {ast.unparse(call)[:80]}")

    def _field_flags(self) -> Iterator[str]:
        """The flags added in a loop over the fields of a frontend's arguments."""
        # The function is inherited, and ``vllm serve`` calls it on the class below.
        for name, annotation in self.classes.fields("FrontendArgs").items():
            yield f"--{name.replace('_', '-')}"
            if self.classes.is_switch(annotation):
                yield f"--no-{name.replace('_', '-')}"

    def _is_switch(self, call: ast.Call) -> bool:
        for keyword in call.keywords:
            if keyword.arg == "action":
                return ast.unparse(keyword.value).endswith("BooleanOptionalAction")
            if keyword.arg is None:
                annotation = self._field_of(keyword.value)
                if annotation is not None:
                    return self.classes.is_switch(annotation)
                self.report(f"line {call.lineno}: cannot tell the type of {ast.unparse(keyword.value)[:80]}")
        return False

    def _field_of(self, node: ast.expr) -> ast.expr | None:
        """The annotation of the field that a ``**`` argument describes.

        Understood are ``cache_kwargs["swap_space"]``, a variable that holds it, and ``{**that, "default": None}``.
        """
        if isinstance(node, ast.Dict) and node.keys and node.keys[0] is None:
            node = node.values[0]
        if isinstance(node, ast.Name):
            node = self.values.get(node.id, node)
        if not (isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)):
            return None
        made = self.values.get(node.value.id) if isinstance(node.value, ast.Name) else node.value
        if not (isinstance(made, ast.Call) and ast.unparse(made.func) == "get_kwargs" and made.args):
            return None
        return self.classes.fields(ast.unparse(made.args[0])).get(str(node.slice.value))


def _inverse_prefixes(package: Path, report: _Report) -> dict[str, str]:
    """The prefixes that pair ``--enable-x`` with ``--disable-x`` for switches, in the releases that do so."""
    path = package / "utils" / "argparse_utils.py"
    for node in ast.walk(_parse(path, report)) if path.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_inverse_prefixes":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    return {}


def _add_calls(tree: ast.AST, receiver: str | None = None) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            continue
        if node.func.attr == "add_argument" and receiver in (None, ast.unparse(node.func.value)):
            yield node


def _literal_flags(call: ast.Call) -> list[str]:
    texts = [arg.value for arg in call.args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
    return [text for text in texts if text.startswith("--")]


def _leaves(annotation: ast.expr) -> Iterator[str]:
    """The names of the types that a union, optional or annotated type is made of."""
    if isinstance(annotation, ast.BinOp):
        yield from _leaves(annotation.left)
        yield from _leaves(annotation.right)
    elif isinstance(annotation, ast.Subscript):
        kind = ast.unparse(annotation.value).rsplit(".", 1)[-1]
        inner = annotation.slice
        items = inner.elts if isinstance(inner, ast.Tuple) else [inner]
        if kind in ("Union", "Optional"):
            for item in items:
                yield from _leaves(item)
            if kind == "Optional":
                yield "None"
        elif kind in ("Annotated", "SkipValidation", "InitVar"):
            yield from _leaves(items[0])
        else:
            yield kind
    elif isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        yield from _leaves(ast.parse(annotation.value, mode="eval").body)
    else:
        yield ast.unparse(annotation).rsplit(".", 1)[-1]


def _parse(path: Path, report: _Report) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        report(path.name, f"{type(error).__name__}: {error}")
        return ast.Module([], [])


def _ignore(file: str, reason: str) -> None:
    """Report to nobody."""
