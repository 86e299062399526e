"""Message expressions of Python source turned into f-string-shaped templates.

A message is written in many ways (f-string, ``%``, ``.format``, ``+``, a local variable). All of them come out as one
text: literals as they are with braces doubled, holes as ``{expression}`` with conversion and format spec kept, so that
``"%d of %r" % (n, name)`` reads ``{n} of {name!r}``. An expression with branches (``a if c else b``, a variable set in
two places) has several templates.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

MAX_ALTERNATIVES = 8
"""More ways than this to read one message, and its varying part becomes a hole."""

MAX_EXPRESSION = 200
"""Characters of a hole's expression; a longer one is replaced by the name of what it calls."""


@dataclass(frozen=True, slots=True)
class Hole:
    """A hole as it stands between the braces: ``self.max_num_seqs``, ``name!r``, ``gib:.2f``."""

    text: str


Parts: TypeAlias = "tuple[str | Hole, ...]"
Environment: TypeAlias = "Mapping[str, tuple[Parts, ...]]"
"""What each variable that holds a text may hold, at one place of a function; attributes under their dotted name."""

_PRINTF = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?[#0\- +]*(?P<width>\*|\d+)?(?P<precision>\.(?:\*|\d+))?[hlL]?"
    r"(?P<type>[diouxXeEfFgGcrsa%])"
)
_TEXT_CALLS = frozenset({"format", "strip", "lstrip", "rstrip", "dedent", "join", "str"})
_KEPT_SPECS = frozenset("eEfFgGxX")


def alternatives(node: ast.expr, env: Environment) -> tuple[Parts, ...]:
    """The templates that an expression may give, at least one; what is no text becomes a hole.

    Args:
        node: the expression.
        env: the texts of local variables, and of attributes under their dotted name.
    """
    found = tuple(dict.fromkeys(merge(parts) for parts in _read(node, env)))
    return found if 0 < len(found) <= MAX_ALTERNATIVES else ((_hole(node),),)


def is_text(parts: Parts) -> bool:
    """Whether a template holds any literal text."""
    return any(isinstance(part, str) and part.strip() for part in parts)


def may_be_text(node: ast.expr) -> bool:
    """Whether `alternatives` may find text in an expression; most of a program's are told apart by this at once."""
    if isinstance(node, ast.Call):
        function = node.func
        return (function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")) in _TEXT_CALLS
    kinds = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.IfExp, ast.BoolOp, ast.Name, ast.Attribute)
    return isinstance(node, kinds)


def render(parts: Parts) -> str:
    """The template's text: literals with braces doubled, holes in braces."""
    return "".join(
        part.replace("{", "{{").replace("}", "}}") if isinstance(part, str) else "{" + part.text + "}" for part in parts
    )


def fill_printf(template: Parts, args: list[ast.expr], env: Environment) -> list[Parts]:
    """Fill a ``%`` template with its arguments, as the logging module and the ``%`` operator do.

    Args:
        template: the format, whose holes stay as they are.
        args: the arguments in order; a single dict display serves ``%(name)s``.
        env: the texts of local variables.

    Returns:
        The filled templates, several where an argument may hold one of several texts; a conversion that lacks its
        argument stays literal.
    """
    named: dict[str, ast.expr] = {}
    if len(args) == 1 and isinstance(args[0], ast.Dict):
        display = args[0]
        for key, entry in zip(display.keys, display.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                named[key.value] = entry
    waiting = list(args)
    filled: list[Parts] = [()]
    for part in template:
        if isinstance(part, Hole):
            filled = _extend(filled, ((part,),))
            continue
        end = 0
        for found in _PRINTF.finditer(part):
            filled = _extend(filled, ((part[end : found.start()],),))
            end = found.end()
            filled = _extend(filled, _conversion(found, named, waiting, env))
        filled = _extend(filled, ((part[end:],),))
    return [merge(parts) for parts in filled]


def several(args: list[ast.expr], env: Environment) -> tuple[Parts, ...]:
    """The texts of several arguments that print as a tuple, put together: conversions filled, the rest behind them."""
    formats = alternatives(args[0], env)
    if any(isinstance(part, str) and _PRINTF.search(part.replace("%%", "")) for text in formats for part in text):
        return tuple(filled for text in formats for filled in fill_printf(text, args[1:], env))
    rest = [alternatives(each, env)[0] for each in args[1:]]
    return tuple(merge((*text, *(part for each in rest for part in each))) for text in formats)


def _conversion(
    found: re.Match[str], named: Mapping[str, ast.expr], waiting: list[ast.expr], env: Environment
) -> tuple[Parts, ...]:
    """What one conversion of a format may become; takes the arguments that it uses off the waiting ones."""
    if found["type"] == "%":
        return (("%",),)
    if found["key"] is not None:
        item = named.get(found["key"])
        return ((_printf_hole(item, found) if item is not None else Hole(found["key"] or "_"),),)
    for star in (found["width"], found["precision"]):
        if star and star.endswith("*") and waiting:
            waiting.pop(0)
    if not waiting:
        return ((found.group(),),)
    # ``*args`` serves all conversions that are left.
    value = waiting[0] if isinstance(waiting[0], ast.Starred) else waiting.pop(0)
    texts = alternatives(value, env)
    if found["type"] == "s" and all(map(is_text, texts)):
        return texts
    return ((_printf_hole(value, found),),)


def _extend(before: list[Parts], added: tuple[Parts, ...]) -> list[Parts]:
    """Every text so far with every way to go on; only the first way where that would be too many."""
    if len(before) * len(added) > MAX_ALTERNATIVES:
        added = added[:1]
    return [(*first, *second) for first in before for second in added]


def _read(node: ast.expr, env: Environment) -> Iterable[Parts]:
    if isinstance(node, ast.Constant):
        return [(node.value,)] if isinstance(node.value, str) else [(_hole(node),)]
    if isinstance(node, ast.JoinedStr):
        return _fstring(node, env)
    if isinstance(node, ast.Name) and node.id in env:
        return env[node.id]
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return env.get(f"{node.value.id}.{node.attr}", ((_hole(node),),))
    if isinstance(node, ast.IfExp):
        branches = [*_read(node.body, env), *_read(node.orelse, env)]
        return branches if any(map(is_text, branches)) else [(_hole(node),)]
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return [branch for value in node.values for branch in _read(value, env)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _add(node, env)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        args = list(node.right.elts) if isinstance(node.right, ast.Tuple) else [node.right]
        left = alternatives(node.left, env)
        if not any(map(is_text, left)):
            return [(_hole(node),)]
        return [filled for parts in left for filled in fill_printf(parts, args, env)]
    if isinstance(node, ast.Call):
        return _call(node, env)
    return [(_hole(node),)]


def _add(node: ast.BinOp, env: Environment) -> Iterable[Parts]:
    left, right = alternatives(node.left, env), alternatives(node.right, env)
    if not any(map(is_text, (*left, *right))):
        return [(_hole(node),)]
    if len(left) * len(right) > MAX_ALTERNATIVES:
        right = ((_hole(node.right),),)
    return [(*first, *second) for first in left for second in right]


def _call(node: ast.Call, env: Environment) -> Iterable[Parts]:
    function = node.func
    if isinstance(function, ast.Attribute):
        owner = function.value
        if function.attr == "format":
            formats = alternatives(owner, env)
            if any(map(is_text, formats)):
                return [_format(parts, node) for parts in formats]
        if function.attr in ("strip", "lstrip", "rstrip") and not node.args:
            return [_stripped(parts) for parts in alternatives(owner, env)]
        if function.attr == "dedent" and len(node.args) == 1:
            return alternatives(node.args[0], env)
        if function.attr == "join" and isinstance(owner, ast.Constant) and isinstance(owner.value, str):
            return _join(owner.value, node, env)
    if isinstance(function, ast.Name) and function.id in ("str", "dedent") and len(node.args) == 1:
        inner = alternatives(node.args[0], env)
        return inner if any(map(is_text, inner)) else [(_hole(node),)]
    return [(_hole(node),)]


def _join(separator: str, node: ast.Call, env: Environment) -> Iterable[Parts]:
    items = node.args[0] if len(node.args) == 1 else None
    if not isinstance(items, ast.List | ast.Tuple) or any(isinstance(item, ast.Starred) for item in items.elts):
        return [(_hole(node),)]
    joined: list[str | Hole] = []
    for index, item in enumerate(items.elts):
        joined.extend(((separator,) if index else ()) + alternatives(item, env)[0])
    return [tuple(joined)]


def _fstring(node: ast.JoinedStr, env: Environment) -> Iterable[Parts]:
    read: list[Parts] = [()]
    for value in node.values:
        added: tuple[Parts, ...]
        if isinstance(value, ast.FormattedValue):
            added = _field(value, env)
            if len(read) * len(added) > MAX_ALTERNATIVES:
                added = ((_hole(value.value),),)
        else:
            added = ((str(value.value) if isinstance(value, ast.Constant) else "",),)
        read = [(*before, *parts) for before in read for parts in added]
    return read


def _field(value: ast.FormattedValue, env: Environment) -> tuple[Parts, ...]:
    inner = value.value
    conversion = f"!{chr(value.conversion)}" if value.conversion != -1 else ""
    spec = ""
    if isinstance(value.format_spec, ast.JoinedStr):
        constants = [str(item.value) for item in value.format_spec.values if isinstance(item, ast.Constant)]
        spec = ":" + "".join(constants) if constants else ""
    if not conversion and not spec and isinstance(inner, ast.Constant | ast.Name | ast.Attribute):
        return alternatives(inner, env)
    return ((Hole(_expression(inner) + conversion + spec),),)


def _format(template: Parts, node: ast.Call) -> Parts:
    named = {keyword.arg: keyword.value for keyword in node.keywords if keyword.arg}
    position = 0
    out: list[str | Hole] = []
    for part in template:
        if isinstance(part, Hole):
            out.append(part)
            continue
        try:
            fields = list(string.Formatter().parse(part))
        except ValueError:
            out.append(part)
            continue
        for literal, field, spec, conversion in fields:
            out.append(literal)
            if field is None:
                continue
            key, rest = re.match(r"([^.\[]*)(.*)", field, re.S).groups()  # type: ignore[union-attr]
            if key == "":
                key, position = str(position), position + 1
            value = named.get(key)
            if key.isdigit() and int(key) < len(node.args):
                value = node.args[int(key)]
            expression = _expression(value) if value is not None else key
            out.append(
                Hole(expression + rest + (f"!{conversion}" if conversion else "") + (f":{spec}" if spec else ""))
            )
    return tuple(out)


def _printf_hole(value: ast.expr, found: re.Match[str]) -> Hole:
    kind = found["type"]
    if kind in "ra":
        return Hole(f"{_expression(value)}!{kind}")
    spec = f":{found['precision'] or ''}{kind}" if kind in _KEPT_SPECS else ""
    return Hole(_expression(value) + spec)


def _hole(node: ast.expr) -> Hole:
    return Hole(_expression(node))


def _expression(node: ast.expr) -> str:
    text = " ".join(ast.unparse(node).split())
    if len(text) > MAX_EXPRESSION:
        return _expression(node.func) + "(...)" if isinstance(node, ast.Call) else type(node).__name__.lower()
    # ast.unparse writes set and dict displays with a brace first, which in a template would read as a literal brace.
    return f" {text}" if text.startswith("{") else text


def _stripped(parts: Parts) -> Parts:
    merged = list(merge(parts))
    if merged and isinstance(merged[0], str):
        merged[0] = merged[0].lstrip()
    if merged and isinstance(merged[-1], str):
        merged[-1] = merged[-1].rstrip()
    return tuple(merged)


def merge(parts: Parts) -> Parts:
    """Join literals that stand side by side and drop empty ones."""
    out: list[str | Hole] = []
    for part in parts:
        if isinstance(part, str) and out and isinstance(out[-1], str):
            out[-1] += part
        elif part != "":
            out.append(part)
    return tuple(out) if out else ("",)
