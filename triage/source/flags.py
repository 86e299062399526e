"""The command-line flags of ``vllm serve``, read out of a release's sources.

The functions that build the parser (``make_arg_parser`` and ``add_cli_args``, in files that have moved about) are
followed statement by statement, without importing anything: old releases spell out every ``add_argument``, newer ones
work its arguments out of the fields of configuration classes, and change some of them on the way. Two kinds of flag
stand nowhere as text: the frontend's, added in a loop over the fields of a class, and the ``--no-x`` forms of switches
that are an ``argparse.BooleanOptionalAction``. From 0.33.0 on such switches also pair ``--enable-x`` with
``--disable-x``.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from triage.errors import UsageError
from triage.model import Json
from triage.source.evaluate import evaluate, iterated, open_package
from triage.source.fields import Rules, fields_of, hints, kwargs_of
from triage.source.flag_facts import FlagFacts, facts_of, name_of
from triage.source.modules import (
    UNKNOWN,
    ClassRef,
    Function,
    Module,
    Package,
    Report,
    TypeRef,
    parse,
)


def read_flags(root: Path, on_error: Report | None = None) -> dict[str, FlagFacts]:
    """Read the long flags that ``vllm serve`` of a release knows, by name.

    Args:
        root: the folder that holds the release's ``vllm`` folder.
        on_error: called with file and reason for a file that cannot be parsed, and for a call that adds flags in a way
            not understood here.

    Returns:
        Flags as typed; their ``--no-...`` forms are among their facts. Those that argparse adds by itself (``--help``)
        are not there.

    Raises:
        UsageError: the folder holds no ``vllm/engine/arg_utils.py``.
    """
    engine = root / "vllm" / "engine" / "arg_utils.py"
    if not engine.is_file():
        raise UsageError(f"{str(engine)!r} does not exist", "name the folder that holds the package's folder")
    report: Report = on_error if on_error is not None else _ignore
    package = open_package(root, report)
    source = engine.read_text(encoding="utf-8")
    reader = _Reader(package, Rules.of(source), _pairs(root, report))
    for module in ("vllm.scripts", "vllm.entrypoints.cli.serve"):
        path = package.path(module)
        for node in ast.walk(parse(path, report)) if path is not None else ():
            own = isinstance(node, ast.Call) and ast.unparse(node.func) == "serve_parser.add_argument"
            if own and isinstance(node, ast.Call) and (found := package.module(module)):
                reader.add(node, {}, found, None)
    for path in sorted((root / "vllm" / "entrypoints").rglob("cli_args.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        made = package.module(module)
        function = made.names.get("make_arg_parser") if made else None
        if made is not None and isinstance(function, ast.FunctionDef):
            reader.run(Function(made, function, None), [_PARSER], 0)
    return dict(sorted(reader.found.items()))


def fields_of_configs(root: Path, on_error: Report | None = None) -> dict[str, dict[str, dict[str, Json]]]:
    """The fields of a release's configuration classes: class to field to type, default, choices and limits."""
    report: Report = on_error if on_error is not None else _ignore
    package = open_package(root, report)
    folder = root / "vllm" / "config"
    paths = sorted(folder.glob("*.py")) if folder.is_dir() else [root / "vllm" / "config.py"]
    engine = root / "vllm" / "engine" / "arg_utils.py"
    rules = Rules.of(engine.read_text(encoding="utf-8"))
    out: dict[str, dict[str, dict[str, Json]]] = {}
    for path in (path for path in paths if path.is_file()):
        parts = path.relative_to(root).with_suffix("").parts
        module = package.module(".".join(part for part in parts if part != "__init__"))
        for node in module.names.values() if module is not None else ():
            if not (isinstance(node, ast.ClassDef) and module is not None):
                continue
            owner = ClassRef(module, node)
            if not owner.is_dataclass():
                continue
            out[node.name] = {
                str(name): {**facts_of(str(name), kwargs).data(), **fields_of(owner)[str(name)].limits}
                for name, kwargs in kwargs_of(owner, rules).items()
                if isinstance(kwargs, dict) and not str(name).startswith("_")
            }
    return {name: fields for name, fields in sorted(out.items()) if fields}


@dataclass(frozen=True, slots=True)
class _Group:
    """A parser, or a group of its arguments."""

    title: str | None = None


_PARSER = _Group()


@dataclass(slots=True)
class _Reader:
    """Follows the functions that build a parser."""

    package: Package
    rules: Rules
    pairs: Mapping[str, str]
    found: dict[str, FlagFacts] = field(default_factory=dict)

    def run(self, function: Function, args: list[object], depth: int) -> object:
        """Follow a function; args: its positional arguments, without the class."""
        if depth > 8:
            return UNKNOWN
        names = [each.arg for each in function.node.args.args]
        decorators = [ast.unparse(each) for each in function.node.decorator_list]
        values = [function.bound, *args] if "classmethod" in decorators else args
        usual = [evaluate(each, {}, function.module) for each in function.node.args.defaults]
        env: dict[str, object] = dict(zip(names[len(names) - len(usual) :], usual, strict=True))
        env.update(zip(names, values, strict=False))
        if function.defined is not None:
            env["super"] = _Super(function.defined, function.bound or function.defined)
        env["get_kwargs"] = self._get_kwargs
        return self._block(function.node.body, env, function.module, depth)

    def add(self, call: ast.Call, env: Mapping[str, object], module: Module, group: str | None) -> None:
        """Note the flag that an ``add_argument`` call adds."""
        names: list[str] = []
        for arg in call.args:
            starred = isinstance(arg, ast.Starred)
            value = evaluate(arg.value if isinstance(arg, ast.Starred) else arg, env, module)
            given = iterated(value) or [] if starred else [value]
            names += [each for each in given if isinstance(each, str)]
            if not starred and not isinstance(value, str):
                self._report(module, f"line {call.lineno}: cannot tell the flag of {ast.unparse(call)[:80]}")
        kwargs: dict[object, object] = {}
        for word in call.keywords:
            value = evaluate(word.value, env, module)
            if word.arg is not None:
                kwargs[word.arg] = value
            elif isinstance(value, dict):
                kwargs.update(value)
            else:
                self._report(module, f"line {call.lineno}: cannot tell the type of {ast.unparse(word.value)[:80]}")
        long = [name for name in names if name.startswith("--")]
        if not long:
            return
        if kwargs.get("type") is UNKNOWN:
            kwargs["type"] = TypeRef("str")
        facts = facts_of(long[0], kwargs)
        owner, of = self._owner(facts)
        action = kwargs.get("action")
        switch = isinstance(action, (TypeRef, ClassRef)) and name_of(action).endswith(
            ("OptionalAction", "EnableDisableAction")
        )
        self.found[long[0]] = FlagFacts(
            name=long[0],
            field=facts.field,
            owner=owner,
            kind=facts.kind,
            type=facts.type,
            default=facts.default,
            of=of if facts.type == "json" else None,
            choices=facts.choices,
            short=tuple(name for name in names if name != long[0]),
            off=self._off(long) if switch else (),
            group=group,
        )

    def _off(self, long: list[str]) -> tuple[str, ...]:
        inverse = [
            new + flag.removeprefix(old) for flag in long for old, new in self.pairs.items() if flag.startswith(old)
        ]
        return (*(f"--no-{flag[2:]}" for flag in long), *inverse)

    def _owner(self, facts: FlagFacts) -> tuple[str | None, str | None]:
        """The class whose field an argument is, and the one that its JSON value becomes."""
        arguments = self._class("vllm.engine.arg_utils", "EngineArgs")
        of = facts.of
        whole = self._class("vllm.config", "VllmConfig")
        for owner in (whole, arguments):
            held = fields_of(owner).get(facts.field) if owner is not None and of is None else None
            if held is not None:
                inner = [each for each in hints(held.annotation, held.owner.module) if isinstance(each, ClassRef)]
                of = next((each.node.name for each in inner if each.is_dataclass()), None)
        if facts.owner is not None or arguments is None:
            return facts.owner, of
        held = fields_of(arguments).get(facts.field)
        if held is None:
            return None, of
        value = next(
            (
                node.value
                for node in held.owner.node.body
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == facts.field
            ),
            None,
        )
        owners = [ast.unparse(node) for node in ast.walk(value) if isinstance(node, ast.Name)] if value else []
        return next((name for name in owners if name.endswith("Config")), "EngineArgs"), of

    def _class(self, module: str, name: str) -> ClassRef | None:
        made = self.package.module(module)
        found = made.lookup(name) if made is not None else None
        return found if isinstance(found, ClassRef) else None

    def _get_kwargs(self, owner: object) -> object:
        return kwargs_of(owner, self.rules) if isinstance(owner, ClassRef) else UNKNOWN

    def _report(self, module: Module, reason: str) -> None:
        path = self.package.path(module.name)
        self.package.report(path.name if path else module.name, reason)

    # --- statements ---

    def _block(self, body: list[ast.stmt], env: dict[str, object], module: Module, depth: int) -> object:
        for node in body:
            returned = self._statement(node, env, module, depth)
            if returned is not None:
                return returned
        return None

    def _statement(self, node: ast.stmt, env: dict[str, object], module: Module, depth: int) -> object:
        if isinstance(node, ast.Return):
            return self._value(node.value, env, module, depth) if node.value else UNKNOWN
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            value = self._value(node.value, env, module, depth)
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                _assign(target, value, env, module)
        elif isinstance(node, ast.Expr):
            self._value(node.value, env, module, depth)
        elif isinstance(node, ast.Delete):
            for target in node.targets:
                _delete(target, env, module)
        elif isinstance(node, ast.If):
            test = evaluate(node.test, env, module)
            for known, branch in ((True, node.body), (False, node.orelse)):
                # Which branch runs depends on the machine: what either adds is there on some.
                if test is UNKNOWN or bool(test) is known or isinstance(test, TypeRef):
                    returned = self._block(branch, env, module, depth)
                    if returned is not None:
                        return returned
        elif isinstance(node, ast.For):
            for each in iterated(evaluate(node.iter, env, module)) or []:
                _assign(node.target, each, env, module)
                self._block(node.body, env, module, depth)
        elif isinstance(node, (ast.With, ast.Try)):
            return self._block(node.body, env, module, depth)
        return None

    def _value(self, node: ast.expr, env: dict[str, object], module: Module, depth: int) -> object:
        """The value of an expression that may add arguments, or call a function that does."""
        if not isinstance(node, ast.Call):
            return evaluate(node, env, module)
        function = node.func
        if isinstance(function, ast.Attribute):
            holder = evaluate(function.value, env, module)
            if isinstance(holder, _Group):
                if function.attr == "add_argument":
                    self.add(node, env, module, holder.title)
                elif function.attr == "add_argument_group":
                    titles = [evaluate(word.value, env, module) for word in node.keywords if word.arg == "title"]
                    titles += [evaluate(arg, env, module) for arg in node.args[:1]]
                    return _Group(titles[0] if titles and isinstance(titles[0], str) else None)
                return UNKNOWN
            if ast.unparse(function.value) == "super()" and isinstance(env.get("super"), _Super):
                above: object = env["super"]
                inherited = above.method(function.attr) if isinstance(above, _Super) else None
                args = [evaluate(arg, env, module) for arg in node.args]
                return self.run(inherited, args, depth + 1) if inherited else UNKNOWN
        called = evaluate(function, env, module)
        if isinstance(called, Function):
            args = [evaluate(arg, env, module) for arg in node.args]
            # Only functions that build parsers matter; what others do is not followed.
            if any(isinstance(arg, (_Group, dict)) for arg in args):
                return self.run(called, args, depth + 1)
        return evaluate(node, env, module)


@dataclass(frozen=True, slots=True)
class _Super:
    defined: ClassRef
    bound: ClassRef

    def method(self, name: str) -> Function | None:
        for base in self.defined.bases:
            if found := base.function(name):
                return Function(found[0].module, found[1], self.bound, found[0])
        return None


def _assign(target: ast.expr, value: object, env: dict[str, object], module: Module) -> None:
    if isinstance(target, ast.Name):
        env[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts = value if isinstance(value, (tuple, list)) else ()
        for place, each in enumerate(target.elts):
            _assign(each, parts[place] if place < len(parts) else UNKNOWN, env, module)
    elif isinstance(target, ast.Subscript):
        owner, key = evaluate(target.value, env, module), evaluate(target.slice, env, module)
        if isinstance(owner, dict) and isinstance(key, str):
            owner[key] = value


def _delete(target: ast.expr, env: dict[str, object], module: Module) -> None:
    if isinstance(target, ast.Subscript):
        owner, key = evaluate(target.value, env, module), evaluate(target.slice, env, module)
        if isinstance(owner, dict):
            owner.pop(key, None)


def _pairs(root: Path, report: Report) -> dict[str, str]:
    """The prefixes that pair ``--enable-x`` with ``--disable-x`` for switches, in the releases that do so."""
    path = root / "vllm" / "utils" / "argparse_utils.py"
    for node in ast.walk(parse(path, report)) if path.is_file() else ():
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "_inverse_prefixes":
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    return {}


def _ignore(file: str, reason: str) -> None:
    """Report to nobody."""
