"""What the statements of a source tree say when they run: messages had by evaluating their expressions.

This is the other opinion on what `triage.source` extracts, and shares nothing with it: a template is read off an
expression, here the expression is evaluated. A statement is reached along a way chosen at random through its function,
assignments on the way are carried out, and whatever is not in the source (arguments, calls, attributes) gets a stub: a
number, None, a list, a dict, a text with quotes, braces or line breaks. The same seed gives the same messages.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.source.ways import Way, texts_of

LEVELS = {"debug": "DEBUG", "info": "INFO", "warning": "WARNING", "warn": "WARNING", "error": "ERROR",
          "exception": "ERROR", "critical": "CRITICAL"}  # fmt: skip
RESPONSES = ("create_error_response", "_create_error_response", "create_streaming_error_response")

_ERROR_CLASS = re.compile(r"(Error|Exception)$")
_OWN_CLASS = re.compile(rb"(?m)^class \w+(Error|Exception)\b")


@dataclass(frozen=True, slots=True)
class Said:
    """A statement's message.

    kind: "raise", "own" (raised, in words that the class has of itself), "exception" (built, not raised), "assert",
    "log", "warn" or "response"; of: the class, or the level; own: the message with all stubs empty, which is what it shares with others; letters: how many letters that has.
    """

    kind: str
    of: str
    file: str
    line: int
    function: str
    text: str
    letters: int
    own: str


def messages(root: Path, seed: int = 0) -> Iterator[Said]:
    """Evaluate each message of an unpacked package once.

    Args:
        root: the folder that holds the package's folder.
        seed: of the ways and the stubs.
    """
    sources = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*.py"))}
    classes: dict[str, ast.ClassDef] = {}
    for source in sources.values():
        if _OWN_CLASS.search(source) and (tree := _parsed(source)) is not None:
            found = (node for node in tree.body if isinstance(node, ast.ClassDef))
            classes.update((node.name, node) for node in found if _ERROR_CLASS.search(node.name))
    for file, source in sources.items():
        if (tree := _parsed(source)) is not None:
            yield from _File(file, tree, classes, seed).said()


def _parsed(source: bytes) -> ast.Module | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError):
            return None


class _File:
    def __init__(self, file: str, tree: ast.Module, classes: dict[str, ast.ClassDef], seed: int) -> None:
        self.file, self.tree, self.classes, self.seed = file, tree, classes, seed
        self.constants = dict(texts_of(tree.body))
        self.parents: dict[ast.AST, ast.AST] = {}
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.parents[child] = node

    def said(self) -> Iterator[Said]:
        for node in ast.walk(self.tree):
            kind = self._kind(node)
            if kind is not None:
                yield from self._evaluated(node, *kind)

    def _kind(self, node: ast.AST) -> tuple[str, str, int] | None:
        """Kind, class or level, and line of a node that emits a message."""
        if isinstance(node, ast.Assert) and node.msg is not None:
            return "assert", "AssertionError", node.lineno
        if not isinstance(node, ast.Call):
            return None
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
        parent = self.parents[node]
        if isinstance(parent, ast.Raise) and parent.exc is node and (node.args or node.keywords):
            if not re.match(r"[A-Z]", name):
                return None  # a function that makes it
            return "raise", name, parent.lineno
        if re.search(r"(^|\.)_?(logger|logging|log)$", owner) and node.args:
            level = LEVELS.get(name.removesuffix("_once"))
            return ("log", level, node.lineno) if level else None
        if owner == "warnings" and name == "warn" and node.args:
            category = node.args[1] if len(node.args) > 1 else None
            category = next((k.value for k in node.keywords if k.arg == "category"), category)
            return "warn", ast.unparse(category).rpartition(".")[2] if category else "UserWarning", node.lineno
        if name in RESPONSES and (node.args or node.keywords):
            return "response", "", self._statement(node).lineno
        if re.fullmatch(r"[A-Z]\w*(Error|Exception)", name) and node.args and not isinstance(parent, ast.Raise):
            return "exception", name, self._statement(node).lineno
        return None

    def _statement(self, node: ast.AST) -> ast.stmt:
        while not isinstance(node, ast.stmt):
            node = self.parents[node]
        return node

    def _evaluated(self, node: ast.AST, kind: str, of: str, line: int) -> Iterator[Said]:
        chain: list[ast.AST] = [node]
        while chain[-1] in self.parents:
            chain.append(self.parents[chain[-1]])
        scopes = [each for each in chain if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
        function = ".".join(scope.name for scope in reversed(scopes))
        texts = []
        for empty in (False, True):
            way = Way(
                self.constants, self.classes, f"{self.seed}:{self.file}:{line}:{node.col_offset}", chain, empty=empty
            )  # type: ignore[attr-defined]
            try:
                text = way.message(node, kind, of)
            except (ValueError, TypeError, KeyError, IndexError, RecursionError):
                return  # a format that its arguments do not fit
            texts.append(text)
        if texts[0] is not None and texts[0].strip():
            letters = len(re.findall(r"[^\W_]", re.sub(r"\A\d{3}: ", "", texts[1] or "")))
            kind = "own" if way.own else kind
            yield Said(kind, of, self.file, line, function, texts[0][:3500], letters, texts[1] or "")
