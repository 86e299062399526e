"""The texts that variables hold, followed through the statements of a function."""

from __future__ import annotations

import ast
from typing import TypeAlias

from triage.source.templates import MAX_ALTERNATIVES, Hole, Parts, alternatives, is_text, may_be_text

Texts: TypeAlias = "dict[str, tuple[Parts, ...]]"
"""For each variable known to hold a text, the texts that it may hold."""


def assign(statement: ast.stmt, env: Texts) -> None:
    """Note what a statement does to the variables that hold texts.

    Args:
        statement: any statement; only what it assigns itself counts, not what blocks inside it do.
        env: the texts of variables before it; changed.
    """
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        held = env.pop(name, None)
        if held is not None and isinstance(statement.op, ast.Add):
            added = alternatives(statement.value, env)
            if len(held) * len(added) <= MAX_ALTERNATIVES:
                env[name] = tuple((*first, *second) for first in held for second in added)
            else:
                env[name] = tuple((*first, Hole(name)) for first in held)
        return
    value: ast.expr | None = None
    targets: list[ast.expr] = []
    if isinstance(statement, ast.Assign):
        value, targets = statement.value, statement.targets
    elif isinstance(statement, ast.AnnAssign):
        value, targets = statement.value, [statement.target]
    elif isinstance(statement, ast.For | ast.AsyncFor):
        targets = [statement.target]
    elif isinstance(statement, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    texts = alternatives(value, env) if value is not None and len(targets) == 1 and may_be_text(value) else ()
    for target in targets:
        for node in ast.walk(target):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                env.pop(node.id, None)
    # An empty text counts: it is what a part of a message is set to before the branch that fills it.
    holds_text = any(map(is_text, texts)) or texts == (("",),)
    if targets and isinstance(targets[0], ast.Name) and holds_text:
        env[targets[0].id] = texts


def enter_loop(loop: ast.For | ast.AsyncFor | ast.While, env: Texts) -> None:
    """Let the variables that a loop sets hold anything in its body: an earlier round may have set them.

    Args:
        loop: the loop about to be read.
        env: the texts of variables before it; changed.
    """
    for node in ast.walk(loop):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in env:
            texts = (*env[node.id], (Hole(node.id),))
            env[node.id] = tuple(dict.fromkeys(texts))


def merge_branches(env: Texts, ends: list[Texts]) -> None:
    """Give env what its variables may hold after any of several branches.

    Args:
        env: the texts of variables before the branches; changed. A variable that only some branches know may also be
            anything, which is a hole.
        ends: the texts at the end of each branch that comes out at its end.
    """
    if not ends:
        return
    names = dict.fromkeys(name for end in ends for name in end)
    env.clear()
    for name in names:
        unknown: tuple[Parts, ...] = ((Hole(name),),)
        texts = tuple(dict.fromkeys(text for end in ends for text in end.get(name, unknown)))
        if len(texts) <= MAX_ALTERNATIVES:
            env[name] = texts
