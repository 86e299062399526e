"""Checking the little language of fixes: what a recipe says must be computable when its day comes.

Only the form is checked here: names, numbers, ``+ - * / // %``, comparisons, ``and or not``, text in quotes where it
is compared, and the functions below. Computing is the diagnosis's business; a test holds the two to the same language.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from triage.catalogue.templates import parse_template

FUNCTIONS = {
    "min": (1, 8),
    "max": (1, 8),
    "ceil": (1, 1),
    "floor": (1, 1),
    "round_up": (2, 2),
    "round_down": (2, 2),
    "largest_divisor": (2, 2),
    "power_of_two": (1, 1),
    "given": (2, 2),
}
"""The functions, with the fewest and the most arguments that each takes."""

MAX_EXPRESSION = 400

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def expression_problem(text: str, shown: bool = False) -> tuple[str | None, frozenset[str]]:
    """Check an expression.

    Args:
        text: the expression.
        shown: whether it stands in a text for people, where it may give words as well as a number.

    Returns:
        What is wrong with it, one line, or None; and the names that it uses.
    """
    if len(text) > MAX_EXPRESSION:
        return f"expression is longer than {MAX_EXPRESSION} characters", frozenset()
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return f"{text!r} is no expression", frozenset()
    names: set[str] = set()
    # Quoted text by itself is taken for braces that should have been doubled.
    words = shown and isinstance(tree.body, ast.Call)
    found = _side_problems(tree.body, names, True) if words else _problems(tree.body, names)
    problem = next(found, None)
    return problem, frozenset(names)


def placeholders(text: str) -> tuple[str, ...]:
    """The expressions that stand in braces in a text for people.

    Args:
        text: a title, step and the like; literal braces are doubled.
    """
    return tuple(hole.expression for hole in parse_template(text).holes)


def _problems(node: ast.expr, names: set[str]) -> Iterator[str]:
    match node:
        case ast.Name():
            names.add(node.id)
        case ast.Constant():
            if not isinstance(node.value, int | float):
                yield f"{ast.unparse(node)} is no number"
        case ast.BinOp():
            if not isinstance(node.op, _OPERATORS):
                yield "only the operators + - * / // % are allowed"
            yield from _problems(node.left, names)
            yield from _problems(node.right, names)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            yield from _problems(node.operand, names)
        case ast.BoolOp():
            for value in node.values:
                yield from _problems(value, names)
        case ast.Compare():
            if not all(isinstance(operator, _COMPARISONS) for operator in node.ops):
                yield "only the comparisons == != < <= > >= are allowed"
            yield from _compared(node, names)
        case ast.Call():
            yield from _call_problems(node, names)
        case _:
            yield f"{ast.unparse(node)!r} is not part of the language of fixes"


def _call_problems(node: ast.Call, names: set[str]) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if name not in FUNCTIONS:
        yield f"there is no function {name!r}; there are {', '.join(sorted(FUNCTIONS))}"
        return
    fewest, most = FUNCTIONS[name]
    if node.keywords or not fewest <= len(node.args) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        yield f"{name} takes {wanted} values"
    if name == "given" and node.args and not isinstance(node.args[0], ast.Name):
        yield "given takes a name first"
    for argument in node.args:
        yield from _problems(argument, names)


def _compared(node: ast.Compare, names: set[str]) -> Iterator[str]:
    """The sides of a comparison, where text may stand: in quotes, or as what ``given`` falls back to."""
    for side in (node.left, *node.comparators):
        yield from _side_problems(side, names, all(isinstance(operator, ast.Eq | ast.NotEq) for operator in node.ops))


def _side_problems(side: ast.expr, names: set[str], equality: bool) -> Iterator[str]:
    match side:
        case ast.Constant(value=str()):
            if not equality:
                yield "text is compared with == and != alone"
        case ast.Call(func=ast.Name(id="given"), args=[ast.Name(id=name), otherwise], keywords=[]):
            names.add(name)
            yield from _side_problems(otherwise, names, equality)
        case _:
            yield from _problems(side, names)
