"""Expressions of a package's sources worked out: constants, names, calls of a few functions.

What cannot be told is `UNKNOWN`, and so is all that is made of it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from pathlib import Path

from triage.source.modules import (
    DEPTH,
    UNKNOWN,
    ClassRef,
    Function,
    Member,
    Module,
    Package,
    Report,
    TypeRef,
    bound_names,
)


def open_package(root: Path, report: Report) -> Package:
    """The package in a folder, whose expressions are worked out as this module does it."""
    return Package(root, report, evaluate)


def evaluate(node: ast.expr, env: Mapping[str, object], module: Module, depth: int = 0) -> object:
    """The value of an expression, as far as the sources tell it.

    Args:
        node: the expression.
        env: local names.
        module: the module that it stands in.
        depth: how deep it is inside others; past `DEPTH` nothing is known.

    Returns:
        A plain value, a `TypeRef`, `ClassRef`, `Member` or `Function`, or `UNKNOWN`.
    """
    if depth > DEPTH:
        return UNKNOWN
    handler = _HANDLERS.get(type(node))
    return handler(node, env, module, depth + 1) if handler is not None else UNKNOWN


def _constant(node: ast.Constant, *_: object) -> object:
    return node.value


def _name(node: ast.Name, env: Mapping[str, object], module: Module, depth: int) -> object:
    if node.id in env:
        return env[node.id]
    if node.id in module.names or module.imports.get(node.id, ("", ""))[0].startswith("vllm"):
        return _FUNCTIONS.get(node.id) or module.lookup(node.id, depth)
    return _FUNCTIONS.get(node.id, TypeRef(node.id))


def _attribute(node: ast.Attribute, env: Mapping[str, object], module: Module, depth: int) -> object:
    whole = ast.unparse(node)
    if whole in _STANDARD:
        return _STANDARD[whole]
    owner = evaluate(node.value, env, module, depth)
    if isinstance(owner, Member):
        return owner.value if node.attr == "value" else owner.name if node.attr == "name" else UNKNOWN
    if isinstance(owner, ClassRef):
        if node.attr in ("__name__", "__doc__"):
            return owner.node.name if node.attr == "__name__" else UNKNOWN
        found = owner.function(node.attr)
        return Function(found[0].module, found[1], owner, found[0]) if found else owner.attribute(node.attr)
    if isinstance(owner, (str, list, dict)):
        return getattr(owner, node.attr, UNKNOWN) if node.attr in _METHODS else UNKNOWN
    return TypeRef(node.attr) if isinstance(owner, TypeRef) else UNKNOWN


def _sequence(node: ast.List | ast.Tuple | ast.Set, env: Mapping[str, object], module: Module, depth: int) -> object:
    out: list[object] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            found = iterated(evaluate(item.value, env, module, depth))
            if found is None:
                return UNKNOWN
            out.extend(found)
        else:
            out.append(evaluate(item, env, module, depth))
    return tuple(out) if isinstance(node, ast.Tuple) else out


def _dict(node: ast.Dict, env: Mapping[str, object], module: Module, depth: int) -> object:
    out: dict[object, object] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        found = evaluate(value, env, module, depth)
        if key is not None:
            name = evaluate(key, env, module, depth)
            out[name.name if isinstance(name, Member) else name if isinstance(name, (str, int)) else repr(name)] = found
        elif isinstance(found, dict):
            out.update(found)
        else:
            return UNKNOWN
    return out


def _subscript(node: ast.Subscript, env: Mapping[str, object], module: Module, depth: int) -> object:
    owner = evaluate(node.value, env, module, depth)
    if isinstance(owner, TypeRef):
        inner = evaluate(node.slice, env, module, depth)
        args = inner if isinstance(inner, tuple) else (inner,)
        return TypeRef(owner.name, tuple(tuple(each) if isinstance(each, list) else each for each in args))
    key = evaluate(node.slice, env, module, depth)
    if isinstance(owner, dict) and isinstance(key, (str, int)):
        return owner.get(key, UNKNOWN)
    if isinstance(owner, (list, tuple)) and isinstance(key, int) and -len(owner) <= key < len(owner):
        return owner[key]
    return UNKNOWN


def _binary(node: ast.BinOp, env: Mapping[str, object], module: Module, depth: int) -> object:
    left, right = evaluate(node.left, env, module, depth), evaluate(node.right, env, module, depth)
    if isinstance(node.op, ast.BitOr):
        typed = all(each is None or isinstance(each, (TypeRef, ClassRef, str)) for each in (left, right))
        return TypeRef("Union", (left, right)) if typed else TypeRef("object")
    if isinstance(node.op, ast.Add) and isinstance(left, list) and isinstance(right, list):
        return left + right
    if isinstance(node.op, ast.Add) and isinstance(left, str) and isinstance(right, str):
        return left + right
    if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return UNKNOWN
    if isinstance(node.op, (ast.Mult, ast.Add, ast.Sub)):
        return (
            left * right
            if isinstance(node.op, ast.Mult)
            else left + right
            if isinstance(node.op, ast.Add)
            else left - right
        )
    small = isinstance(left, int) and isinstance(right, int) and 0 <= right <= 64 and abs(left) <= 1 << 16
    if isinstance(node.op, (ast.Pow, ast.LShift)) and small:
        return left**right if isinstance(node.op, ast.Pow) else int(left) << int(right)
    return UNKNOWN


def _unary(node: ast.UnaryOp, env: Mapping[str, object], module: Module, depth: int) -> object:
    value = evaluate(node.operand, env, module, depth)
    if isinstance(node.op, ast.Not):
        return UNKNOWN if value is UNKNOWN or isinstance(value, (TypeRef, ClassRef)) else not value
    return -value if isinstance(node.op, ast.USub) and isinstance(value, (int, float)) else UNKNOWN


def _compare(node: ast.Compare, env: Mapping[str, object], module: Module, depth: int) -> object:
    left, right = evaluate(node.left, env, module, depth), evaluate(node.comparators[0], env, module, depth)
    if len(node.ops) == 1 and isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(right, (dict, list, tuple)):
        if left is UNKNOWN:
            return UNKNOWN
        return (left in right) is isinstance(node.ops[0], ast.In)
    return UNKNOWN


def _joined(node: ast.JoinedStr, env: Mapping[str, object], module: Module, depth: int) -> object:
    out = ""
    for part in node.values:
        inner = part.value if isinstance(part, ast.FormattedValue) else part
        value = evaluate(inner, env, module, depth)
        if not isinstance(value, (str, int)):
            return UNKNOWN
        out += str(value)
    return out


def _comprehension(
    node: ast.ListComp | ast.GeneratorExp | ast.SetComp, env: Mapping[str, object], module: Module, depth: int
) -> object:
    generator = node.generators[0]
    over = iterated(evaluate(generator.iter, env, module, depth))
    if over is None or len(node.generators) > 1 or generator.ifs or not isinstance(generator.target, ast.Name):
        return UNKNOWN
    return [evaluate(node.elt, {**env, generator.target.id: each}, module, depth) for each in over]


def _lambda(node: ast.Lambda, env: Mapping[str, object], module: Module, depth: int) -> object:
    return TypeRef("lambda", (node.body,))


def _call(node: ast.Call, env: Mapping[str, object], module: Module, depth: int) -> object:
    called = evaluate(node.func, env, module, depth)
    args = [evaluate(arg, env, module, depth) for arg in node.args if not isinstance(arg, ast.Starred)]
    keywords = {word.arg: evaluate(word.value, env, module, depth) for word in node.keywords if word.arg}
    if callable(called) and not isinstance(called, (TypeRef, ClassRef, Function)):
        try:
            result: object = called(*args, **keywords)
        except (TypeError, ValueError, KeyError, IndexError, AttributeError):
            return UNKNOWN
        return list(result) if isinstance(result, type({}.items()) | type({}.keys()) | type({}.values())) else result
    return UNKNOWN


def iterated(value: object) -> list[object] | None:
    """What a loop over a value gives; None where it cannot be told."""
    if isinstance(value, (list, tuple, dict)):
        return list(value)
    if isinstance(value, ClassRef) and value.is_enum():
        return [
            value.attribute(name)
            for node in value.node.body
            if isinstance(node, (ast.Assign, ast.AnnAssign))
            for name in bound_names(node)
        ]
    return None


def _get_args(value: object) -> object:
    return list(value.args) if isinstance(value, TypeRef) and UNKNOWN not in value.args else UNKNOWN


def _listed(value: object = ()) -> object:
    found = iterated(value)
    return UNKNOWN if found is None else found


def _sorted(value: object) -> object:
    found = iterated(value)
    return UNKNOWN if found is None or UNKNOWN in found else sorted(found, key=str)


def _converted(value: object) -> object:
    return value


def _plain_int(value: object) -> object:
    return int(value) if isinstance(value, (int, float)) else UNKNOWN


def _get_field(owner: object, name: object) -> object:
    return owner.attribute(name) if isinstance(owner, ClassRef) and isinstance(name, str) else UNKNOWN


def _made(default: object = UNKNOWN, **given: object) -> object:
    """The default that ``field(...)`` or ``Field(...)`` gives."""
    if "default" in given:
        return given["default"]
    factory = given.get("default_factory")
    if isinstance(factory, TypeRef):
        if factory.name == "lambda" and isinstance(factory.args[0], ast.expr):
            body = factory.args[0]
            return evaluate(body, {}, Module("", open_package(Path(), lambda *_: None)))
        return {"list": [], "dict": {}, "set": [], "tuple": ()}.get(factory.name, UNKNOWN)
    if factory is _listed:
        return []
    return UNKNOWN if default is ... else default


_FUNCTIONS: Mapping[str, Callable[..., object]] = {
    "get_args": _get_args,
    "optional_type": _converted,
    "parse_type": _converted,
    "sorted": _sorted,
    "get_field": _get_field,
    "field": _made,
    "Field": _made,
    "cast": lambda kind, value: value,
}
_STANDARD: Mapping[str, object] = {
    "json.loads": TypeRef("json"),
    "ssl.CERT_NONE": 0,
    "argparse.SUPPRESS": UNKNOWN,
    "dataclasses.field": _made,
}
_METHODS = frozenset(
    {"replace", "removeprefix", "lower", "items", "keys", "values", "pop", "remove", "append", "update", "get", "join"}
)
# Plain types stand for themselves where they are named, and convert where they are called.
_CALLED: Mapping[str, Callable[..., object]] = {"list": _listed, "tuple": _listed, "int": _plain_int}


def _call_or_type(node: ast.Call, env: Mapping[str, object], module: Module, depth: int) -> object:
    if isinstance(node.func, ast.Name) and node.func.id in _CALLED and node.func.id not in env:
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            return UNKNOWN
        try:
            return _CALLED[node.func.id](*(evaluate(arg, env, module, depth) for arg in node.args))
        except TypeError:
            return UNKNOWN
    return _call(node, env, module, depth)


_HANDLERS: Mapping[type[ast.expr], Callable[..., object]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Subscript: _subscript,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.JoinedStr: _joined,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.SetComp: _comprehension,
    ast.Lambda: _lambda,
    ast.Call: _call_or_type,
}
