"""The condition that a message stands under, as a relation between what it shows: what a fix has to bring about."""

from __future__ import annotations

import ast

_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}


def guard_of(test: ast.expr, *, negated: bool = False) -> str | None:
    """A condition as text where it is one comparison, or a modulus, of names, attributes and numbers.

    Args:
        test: the condition.
        negated: whether it is known to be false, as where an assert fails.
    """
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return guard_of(test.operand, negated=not negated)
    if _is_modulus(test):
        return f"{ast.unparse(test)} {'==' if negated else '!='} 0"
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _NEGATED:
        return None
    left, right = test.left, test.comparators[0]
    if not all(_is_plain(side) or _is_modulus(side) for side in (left, right)):
        return None
    operator = _NEGATED[type(test.ops[0])]() if negated else test.ops[0]
    return " ".join(ast.unparse(ast.Compare(left, [operator], [right])).split())


def _is_modulus(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.BinOp)
        and isinstance(node.op, ast.Mod)
        and _is_plain(node.left)
        and _is_plain(node.right)
        and not isinstance(node.left, ast.Constant)
    )


def _is_plain(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name) or (isinstance(node, ast.Constant) and type(node.value) in (int, float))
