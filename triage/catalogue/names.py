"""What a hole's capture is called.

The rules, in order of what the expression is:

- ``a.b.c``: the last attribute, ``c``; ``x.__name__`` and ``x.__qualname__``: the name of ``x``;
  ``x.__class__`` and ``type(x)``: ``class_x``, and ``class_name`` of ``self``.
- ``len(x)``: ``len_x``; so for every function, with the last component of its name. Functions that only
  show their argument (``str``, ``repr``, ``int``, ``list``, ``sorted``, ``format_...``) leave its name: ``x``.
  A method is named after itself (``self.get_limit()``: ``get_limit``), but ``d.get("k")`` after the key and
  ``", ".join(xs)`` after what is joined.
- ``d["key"]``: ``key``; ``shape[0]``: ``shape_0``; ``sizes[i]``: ``sizes``.
- ``a - b``: ``a_minus_b`` (plus, times, over, mod); a number or a unit (``GiB_bytes``, ``1024``) beside an
  operator leaves no trace. ``a or b``, ``a if c else b``: ``a``. Comprehensions: what they run over.
- anything else: its last identifier, else ``value``.

A name that Python reserves gets an underscore behind it.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings

_DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z", re.ASCII)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_UNIT = re.compile(r"(?:[KMGT]i?B|[kmgt]i?b)(?:_bytes)?\Z|[A-Z][A-Z0-9_]*\Z")
_SHOWS = frozenset({"str", "repr", "int", "float", "bool", "list", "tuple", "set", "sorted", "dict", "format", "round"})
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "plus",
    ast.Sub: "minus",
    ast.Mult: "times",
    ast.Div: "over",
    ast.FloorDiv: "over",
    ast.Mod: "mod",
}
_MAX_LENGTH = 60


def hole_name(expression: str) -> str:
    """The capture name of a hole's expression, by the rules at the head of this module.

    Args:
        expression: the hole's content without conversion and format.

    Returns:
        An identifier, never a reserved word.
    """
    if _DOTTED.match(expression) and "__" not in expression:
        return _sanitised(expression.rpartition(".")[2])
    try:
        with warnings.catch_warnings():
            # Old sources hold escapes such as "\d" that newer Pythons warn about.
            warnings.simplefilter("ignore")
            tree = ast.parse(expression.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _fallback(expression)
    return _sanitised(_name(tree.body) or _fallback(expression))


def _fallback(expression: str) -> str:
    if re.fullmatch(r"\d+", expression.strip()):
        return f"value_{expression.strip()}"[:_MAX_LENGTH]
    found = _IDENTIFIER.findall(expression)
    return _sanitised(found[-1] if found else "value")


def _sanitised(name: str) -> str:
    name = re.sub(r"\W+", "_", name, flags=re.ASCII)[:_MAX_LENGTH].strip("_") or "value"
    if name[0].isdigit():
        name = f"value_{name}"
    return f"{name}_" if keyword.iskeyword(name) else name


def _name(node: ast.expr) -> str | None:
    """The name of an expression, None where nothing in it has one."""
    match node:
        case ast.Name():
            return node.id
        case ast.Attribute(attr="__name__" | "__qualname__"):
            return _name(node.value)
        case ast.Attribute(attr="__class__"):
            return _class_of(node.value)
        case ast.Attribute():
            return node.attr
        case ast.Call():
            return _call(node)
        case ast.Subscript():
            return _subscript(node)
        case ast.BinOp():
            return _operation(node)
        case ast.UnaryOp():
            return _name(node.operand)
        case ast.BoolOp():
            return next((name for name in map(_name, node.values) if name), None)
        case ast.IfExp():
            return _name(node.body) or _name(node.orelse)
        case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
            return _name(node.generators[0].iter)
        case ast.Await() | ast.Starred() | ast.NamedExpr():
            return _name(node.value)
        case ast.Compare():
            return _name(node.left)
        case _:
            return None


def _class_of(node: ast.expr) -> str:
    name = _name(node)
    return "class_name" if name in (None, "self", "cls") else f"class_{name}"


def _call(node: ast.Call) -> str | None:
    argument = node.args[0] if node.args else None
    inner = _name(argument) if argument is not None else None
    if isinstance(node.func, ast.Attribute):
        method = node.func.attr
        if method == "join" and inner:
            return inner
        if method in ("get", "getenv", "pop") and isinstance(argument, ast.Constant):
            return str(argument.value)
        if method in ("keys", "values", "items", "strip", "lower", "upper", "item", "tolist") and not node.args:
            return _name(node.func.value)
        return method
    function = _name(node.func)
    if function is None or inner is None:
        return function or inner
    if function == "type":
        return _class_of(node.args[0])
    if function in _SHOWS or function.startswith("format_"):
        return inner
    return f"{function}_{inner}"


def _subscript(node: ast.Subscript) -> str | None:
    base = _name(node.value)
    index = node.slice
    if isinstance(index, ast.Constant):
        if isinstance(index.value, str):
            return index.value
        if isinstance(index.value, int) and base:
            return f"{base}_{index.value}"
    return base


def _operation(node: ast.BinOp) -> str | None:
    left, right = _name(node.left), _name(node.right)
    operator = _OPERATORS.get(type(node.op))
    if left is None or right is None or operator is None:
        return left or right
    if _UNIT.match(right):
        return left
    if _UNIT.match(left):
        return right
    return f"{left}_{operator}_{right}"
