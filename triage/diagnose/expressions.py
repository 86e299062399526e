"""The closed little language of the fixes: arithmetic over captures and run facts.

``max(max_num_seqs, 2048)``, ``round_down(a // b, 16)``, ``given(gpus, 1) > 1 and dtype != 'auto'``. Parsed with
Python's own grammar, evaluated by hand over a white list: nothing of Python can be reached from it, and every
number stays bounded.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterator, Mapping

from triage.model import Scalar

LENGTH_LIMIT = 400
"""Characters of one expression."""

NODES_LIMIT = 120
"""Nodes of its syntax tree."""

NUMBER_LIMIT = 10**15
"""Bound on the size of every number, intermediate ones too."""

DIVISOR_LIMIT = 10**6
"""Bound on ``at_most`` in ``largest_divisor(n, at_most)``."""

SHOWN_LIMIT = 300
"""Characters of a text value that are shown in a filled text."""

READABLE = 40
"""Characters of an expression that are shown where its value is lacking."""

Number = int | float | bool

_HOLE = re.compile(r"\{\{|\}\}|\{([^{}]{1,400})\}")
_NAME = re.compile(r"[A-Za-z_]\w*")


class ExpressionError(ValueError):
    """An expression is outside the language, or has no value."""


class MissingName(LookupError):
    """An expression needs values that are not known.

    ``names`` holds the names, in the order of the text.
    """

    def __init__(self, *names: str) -> None:
        """Take the names."""
        super().__init__(", ".join(names))
        self.names = names


def evaluate(expression: str, names: Mapping[str, Scalar]) -> Number:
    """Work out an expression.

    Args:
        expression: in the closed language: numbers, names, ``+ - * / // %``, comparisons, ``and or not``, True and
            False, and the functions min, max, ceil, floor, round_up(x, step), round_down(x, step),
            largest_divisor(n, at_most), power_of_two(x), the smallest that is not below x, and given(name, otherwise),
            which needs no value of the name. Text, of a name or in quotes, can be compared with == and !=, and
            be shown by ``fill``.
        names: values by name; None counts as not known.

    Raises:
        MissingName: a name has no value; all such names are told at once.
        ExpressionError: anything else is wrong with it.
    """
    return _value(_checked(expression, names), names)


def fill(text: str, names: Mapping[str, Scalar], quote: Callable[[str], str] | None = None) -> str:
    """Fill the ``{captures}`` and ``{expressions}`` of a text for display.

    Args:
        text: doubled braces stand for single ones.
        names: values by name.
        quote: what is done to a value that is text; by default control characters are made visible.

    Returns:
        The text; whole numbers plain, others with at most two decimals.

    Raises:
        MissingName: names without a value; all of them are told at once.
        ExpressionError: a hole's expression is wrong.
    """
    missing: dict[str, None] = {}

    def replace(hole: re.Match[str]) -> str:
        if hole[1] is None:
            return hole[0][0]
        try:
            return _shown(hole[1].strip(), names, quote or visible)
        except MissingName as lacking:
            missing.update(dict.fromkeys(lacking.names))
            return hole[0]

    filled = _HOLE.sub(replace, text)
    if missing:
        raise MissingName(*missing)
    return filled


def unfilled(text: str, names: Mapping[str, Scalar]) -> str:
    """Fill what can be filled; where a value is lacking its expression stays, without the braces.

    A long one says nothing to a reader and is shown as a number to come: N.
    """

    def replace(hole: re.Match[str]) -> str:
        if hole[1] is None:
            return hole[0][0]
        try:
            return _shown(hole[1].strip(), names, visible)
        except (MissingName, ExpressionError):
            expression = hole[1].strip()
            return expression if len(expression) <= READABLE else "N"

    return _HOLE.sub(replace, text)


def visible(text: str) -> str:
    """A value as it may be shown: bounded, and with what is not printable escaped."""
    shown = text if len(text) <= SHOWN_LIMIT else text[: SHOWN_LIMIT - 3] + "..."
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in shown)


def display(value: Scalar) -> str:
    """A number as it is shown: whole ones plain, others with at most two decimals; text as it is."""
    if isinstance(value, float):
        rounded = f"{value:.2f}".rstrip("0").rstrip(".")
        return rounded if float(rounded) or not value else f"{value:.2g}"
    return str(value)


def _shown(hole: str, names: Mapping[str, Scalar], quote: Callable[[str], str]) -> str:
    if _NAME.fullmatch(hole) and hole not in ("True", "False"):
        value = names.get(hole)
        if value is None:
            raise MissingName(hole)
    else:
        # Words for a value that a wording of the message does not have: given(file, 'description').
        tree = _checked(hole, names)
        value = _scalar(tree, names) if isinstance(tree, ast.Call) else _value(tree, names)
    return quote(value) if isinstance(value, str) else display(value)


def _checked(expression: str, names: Mapping[str, Scalar]) -> ast.expr:
    """An expression's tree, all of whose functions are known and whose names have values.

    Raises:
        MissingName: a name has no value; all such names are told at once.
        ExpressionError: it is no expression, or calls something else.
    """
    tree = _parse(expression)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS):
            raise ExpressionError(f"not a function of the language: {ast.unparse(node.func)[:80]}")
    used = dict.fromkeys(_needed(tree, names))
    if missing := [name for name in sorted(used, key=expression.find) if names.get(name) is None]:
        raise MissingName(*missing)
    return tree


def _parse(expression: str) -> ast.expr:
    if len(expression) > LENGTH_LIMIT:
        raise ExpressionError(f"longer than {LENGTH_LIMIT} characters")
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ExpressionError(f"not an expression: {expression[:80]}") from None
    if sum(1 for _ in ast.walk(tree)) > NODES_LIMIT:
        raise ExpressionError(f"more than {NODES_LIMIT} parts")
    return tree


def _needed(node: ast.AST, names: Mapping[str, Scalar]) -> Iterator[str]:
    """The names whose values an expression cannot do without."""
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name), otherwise]):
            if names.get(name) is None:
                yield from _needed(otherwise, names)
        case ast.Call(args=args):
            for arg in args:
                yield from _needed(arg, names)
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _needed(child, names)


def _value(node: ast.expr, names: Mapping[str, Scalar]) -> Number:
    value = _scalar(node, names)
    if isinstance(value, str):
        raise ExpressionError(f"{ast.unparse(node)[:80]} is text, not a number")
    return value


def _scalar(node: ast.expr, names: Mapping[str, Scalar]) -> Number | str:
    """A value that may be a text: text has no use but in a comparison."""
    match node:
        case ast.Constant(value=str() as text):
            return text
        case ast.Constant(value=bool() | int() | float() as value):
            return _bounded(value)
        case ast.Name(id=name):
            return _named(name, names)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _bounded(-_value(operand, names))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
            return _bounded(_operate(_OPERATORS[type(operator)], _value(left, names), _value(right, names)))
        case ast.BoolOp(op=ast.And(), values=values):
            return all(_value(value, names) for value in values)
        case ast.BoolOp(values=values):
            return any(_value(value, names) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=comparators):
            sides = [_scalar(side, names) for side in (left, *comparators)]
            pairs = zip(sides, ops, sides[1:], strict=False)
            return all(_compare(one, operator, other) for one, operator, other in pairs)
        case ast.Call(func=ast.Name(id="given"), args=args, keywords=[]):
            return _given(args, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in _FUNCTIONS:
            return _bounded(_call(name, [_value(arg, names) for arg in args]))
    raise ExpressionError(f"not in the language: {ast.unparse(node)[:80]}")


def _named(name: str, names: Mapping[str, Scalar]) -> Number | str:
    value = names.get(name)
    if value is None:
        raise MissingName(name)
    return value if isinstance(value, str) else _bounded(value)


def _given(args: list[ast.expr], names: Mapping[str, Scalar]) -> Number | str:
    if len(args) != 2 or not isinstance(args[0], ast.Name):
        raise ExpressionError("given takes a name and what holds where the log does not show its value")
    return _scalar(args[0] if names.get(args[0].id) is not None else args[1], names)


def _bounded(value: Number) -> Number:
    if isinstance(value, float) and not math.isfinite(value):
        raise ExpressionError("no finite number")
    if abs(value) > NUMBER_LIMIT:
        raise ExpressionError(f"number beyond {NUMBER_LIMIT}")
    return value


def _operate(operator: Callable[[Number, Number], Number], left: Number, right: Number) -> Number:
    try:
        return operator(left, right)
    except ZeroDivisionError:
        raise ExpressionError("division by zero") from None


def _compare(left: Number | str, operator: ast.cmpop, right: Number | str) -> bool:
    if isinstance(left, str) or isinstance(right, str):
        if not isinstance(operator, ast.Eq | ast.NotEq):
            raise ExpressionError("text is compared with == and != alone")
        return (left == right) is isinstance(operator, ast.Eq)
    compare = _COMPARISONS.get(type(operator))
    if compare is None:
        raise ExpressionError(f"not in the language: {type(operator).__name__}")
    return compare(left, right)


def _call(name: str, args: list[Number]) -> Number:
    function, count = _FUNCTIONS[name]
    if function is None or (count and len(args) != count) or not args:
        raise ExpressionError(f"{name} takes {count or 'some'} values, not {len(args)}")
    return function(*args)


def _step(value: Number, step: Number, towards: Callable[[float], int]) -> Number:
    if step <= 0:
        raise ExpressionError("the step must be above zero")
    if isinstance(value, int) and isinstance(step, int):
        return value // step * step if towards is math.floor else -(-value // step) * step
    return towards(value / step) * step


def _largest_divisor(number: Number, at_most: Number) -> int:
    """The largest divisor of a whole number that is at most a bound (and at least 1)."""
    if number != int(number) or number <= 0 or at_most < 1:
        raise ExpressionError("largest_divisor takes a whole number above zero and a bound of at least 1")
    whole = int(number)
    start = min(whole, math.floor(at_most))
    if start > DIVISOR_LIMIT:
        raise ExpressionError(f"bound beyond {DIVISOR_LIMIT}")
    return next(candidate for candidate in range(start, 0, -1) if whole % candidate == 0)


def _power_of_two(number: Number) -> int:
    """The smallest power of two that is not below a number (and at least 1)."""
    return 1 << max(math.ceil(number) - 1, 0).bit_length()


_OPERATORS: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: lambda left, right: left + right,
    ast.Sub: lambda left, right: left - right,
    ast.Mult: lambda left, right: left * right,
    ast.Div: lambda left, right: left / right,
    ast.FloorDiv: lambda left, right: left // right,
    ast.Mod: lambda left, right: left % right,
}
_COMPARISONS: Mapping[type[ast.cmpop], Callable[[Number, Number], bool]] = {
    ast.Lt: lambda left, right: left < right,
    ast.LtE: lambda left, right: left <= right,
    ast.Gt: lambda left, right: left > right,
    ast.GtE: lambda left, right: left >= right,
    ast.Eq: lambda left, right: left == right,
    ast.NotEq: lambda left, right: left != right,
}
_FUNCTIONS: Mapping[str, tuple[Callable[..., Number] | None, int]] = {
    "min": (lambda *values: min(values), 0),
    "max": (lambda *values: max(values), 0),
    "ceil": (math.ceil, 1),
    "floor": (math.floor, 1),
    "round_up": (lambda value, step: _step(value, step, math.ceil), 2),
    "round_down": (lambda value, step: _step(value, step, math.floor), 2),
    "largest_divisor": (_largest_divisor, 2),
    "power_of_two": (_power_of_two, 1),
    "given": (None, 2),  # no function of values: it looks for one first
}
