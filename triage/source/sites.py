"""Sites read out of a source tree: every place that emits a message, as template, class, file, line and function.

Read are ``raise`` statements, exceptions built elsewhere (``future.set_exception(E("..."))``, an exception class that
hands its text to ``super().__init__``), logger calls, ``assert`` with a message and ``warnings.warn``. A message held
in a local variable or a class attribute is followed; where it may have several values there is a site for each.
An ``assert`` without a message gives one too: a traceback shows its source line in place of a message. So does an
exception without a text (``raise NotImplementedError``), which has but its place; a bare ``raise`` gives none.

Some messages are made in one place and come out in another (an error response, a list of reasons, an attribute
``failure_message``). They give a site of kind "text" where they are made.

Lines are those of the statement's first line: what a traceback shows for a multi-line ``raise``, and what the logger
prints as ``[file.py:123]``.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Literal, TypeAlias

from triage.source.guards import guard_of
from triage.source.templates import Environment, Parts, alternatives, fill_printf, is_text, render, several
from triage.source.variables import Texts, assign, enter_loop, merge_branches

MAX_FILE_BYTES = 8_000_000
"""Larger files are generated tables, and are reported instead of read."""

Kind = Literal["raise", "exception", "log", "assert", "check", "warn", "text", "bare"]

_LEVELS = {
    "debug": "DEBUG",
    "info": "INFO",
    "warning": "WARNING",
    "warn": "WARNING",
    "error": "ERROR",
    "exception": "ERROR",
    "critical": "CRITICAL",
    "fatal": "CRITICAL",
}
_MESSAGE_KEYWORDS = ("message", "msg", "detail", "reason")
_TEXT_MAKERS = frozenset({"create_error_response", "exit"})
_REASONS = ("err", "msg", "message", "reason")
_ERROR_NAMES = ("Error", "Exception", "Exit", "Interrupt")

_NO_CALLS = (ast.stmt, ast.ExceptHandler, ast.match_case, ast.expr_context, ast.Name, ast.Constant)

_Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Site:
    """One place that emits a message.

    template: f-string-shaped; class_name: last component of the exception's or warning's class, None for a log
    message; level: the log level in capitals, None for an exception; file: package-relative
    (``vllm/config/scheduler.py``); line: first line of the statement, 1-based; function: qualified by classes and
    enclosing functions (``SchedulerConfig.verify_max_model_len``), None at module level; kind: "raise", "exception"
    (built, not raised here), "log", "assert", "check" (an assert without message; the template is its source), "warn",
    "text" (made here, emitted elsewhere) or "bare" (raised without a text; the template is empty). guard: what holds
    where the message comes out, where that is a plain comparison or modulus ("self.tokens < self.seqs").
    """

    template: str
    class_name: str | None
    level: str | None
    file: str
    line: int
    function: str | None
    kind: Kind
    guard: str | None = None


def read_sites(root: Path, on_error: Callable[[str, str], None] | None = None) -> Iterator[Site]:
    """Read the sites of an unpacked release.

    Args:
        root: the folder that holds the package's folder (``root/vllm/...``).
        on_error: called with file and reason for each file that cannot be read or parsed; such files give no sites.

    Yields:
        Sites, files in order of their path, each file's in order of its statements.
    """
    for path in sorted(root.rglob("*.py")):
        file = path.relative_to(root).as_posix()
        try:
            if path.stat().st_size > MAX_FILE_BYTES:
                raise ValueError(f"larger than {MAX_FILE_BYTES} bytes")
            found = sites_of(path.read_bytes(), file)
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError) as error:
            if on_error is not None:
                on_error(file, f"{type(error).__name__}: {error}")
            continue
        yield from found


def sites_of(source: bytes, file: str) -> tuple[Site, ...]:
    """Read the sites of one file.

    Args:
        source: its content.
        file: its package-relative path, for the sites.

    Raises:
        SyntaxError: the content is no Python of this interpreter's grammar.
        ValueError: it holds null bytes, or is in no known encoding.
        RecursionError: it is nested too deeply.
    """
    with warnings.catch_warnings():
        # Old releases have invalid escapes in strings; they parse all the same.
        warnings.simplefilter("ignore")
        tree = ast.parse(source)
    reader = _Reader(file, source.split(b"\n"), _changed(tree))
    reader.scope(tree.body, {})
    return tuple(dict.fromkeys(reader.sites))


class _Reader:
    """Walks statements in order, knowing at each what text the local variables may hold."""

    def __init__(self, file: str, lines: list[bytes], changed: frozenset[str]) -> None:
        self.file = file
        self.lines = lines
        self._changed = changed  # variables of the module that functions set anew
        self.sites: list[Site] = []
        self._inner: list[tuple[_Function | ast.ClassDef, tuple[str, ...], bool]] = []
        self._guard: str | None = None

    def scope(
        self,
        body: list[ast.stmt],
        outer: Environment,
        path: tuple[str, ...] = (),
        in_error: bool = False,
        in_class: bool = False,
    ) -> None:
        """Read a module, class or function body, then the functions defined in it, which run after it.

        Args:
            body: its statements.
            outer: the texts that names of the enclosing scopes hold.
            path: the names of the classes and functions around it, its own last.
            in_error: whether it is part of an exception class.
            in_class: whether it is a class body, whose names its methods do not see.
        """
        before, self._inner = self._inner, []
        env = dict(outer)
        self._block(body, env, path, in_error)
        if not path:
            for name in self._changed:
                env.pop(name, None)
        inner, self._inner = self._inner, before
        for node, inner_path, inner_error in inner:
            seen = dict(env)
            if in_class:
                # Capitals only: another attribute's value here is a default, which instances override.
                constants = {name: texts for name, texts in env.items() if name.isupper()}
                seen = {
                    **outer,
                    **{f"{owner}.{name}": constants[name] for owner in ("self", "cls") for name in constants},
                }
            if not isinstance(node, ast.ClassDef):
                arguments = node.args
                for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                    seen.pop(argument.arg, None)
            self.scope(node.body, seen, inner_path, inner_error, isinstance(node, ast.ClassDef))

    def _block(self, body: list[ast.stmt], env: Texts, path: tuple[str, ...], in_error: bool) -> bool:
        """Read statements in order, changing env; say whether control comes out at the end."""
        for statement in body:
            if isinstance(statement, _Function | ast.ClassDef):
                error = _is_error(statement.name) if isinstance(statement, ast.ClassDef) else in_error
                self._inner.append((statement, (*path, statement.name), error))
                continue
            self._statement(statement, env, path, in_error)
            if not isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
                self._guard = None  # another statement may have changed what was compared
            if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
                return False
            if not self._branches(statement, env, path, in_error):
                return False
        return True

    def _branches(self, statement: ast.stmt, env: Texts, path: tuple[str, ...], in_error: bool) -> bool:
        """Read the blocks inside a statement and merge what they leave in env; say whether control comes out."""
        if isinstance(statement, ast.With | ast.AsyncWith):
            return self._block(statement.body, env, path, in_error)
        blocks: list[list[ast.stmt]]
        guards: tuple[str | None, ...] = ()
        falls_through = True
        if isinstance(statement, ast.If):
            blocks, falls_through = [statement.body, statement.orelse], False
            guards = (guard_of(statement.test), guard_of(statement.test, negated=True))
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            blocks = [statement.body, statement.orelse]
            enter_loop(statement, env)
        elif isinstance(statement, ast.Match):
            blocks = [case.body for case in statement.cases]
        elif isinstance(statement, ast.Try) or type(statement).__name__ == "TryStar":
            tried: ast.Try = statement  # type: ignore[assignment]
            blocks = [[*tried.body, *tried.orelse], *(handler.body for handler in tried.handlers)]
            falls_through = False
        else:
            return True
        ends: list[Texts] = [dict(env)] if falls_through else []
        for block, guard in zip_longest(blocks, guards):
            end = dict(env)
            self._guard = guard
            if self._block(block, end, path, in_error):
                ends.append(end)
            self._guard = None
        merge_branches(env, ends)
        comes_out = bool(ends)
        if isinstance(statement, ast.Try) and statement.finalbody:
            comes_out = self._block(statement.finalbody, env, path, in_error) and comes_out
        return comes_out

    def _statement(self, statement: ast.stmt, env: Texts, path: tuple[str, ...], in_error: bool) -> None:
        if isinstance(statement, ast.Assert):
            self._guard = guard_of(statement.test, negated=True)
            if statement.msg is not None:
                self._emit(_assert_texts(statement.msg, env), "AssertionError", None, statement.lineno, path, "assert")
            else:
                self._emit(((self._source(statement),),), "AssertionError", None, statement.lineno, path, "check")
        elif isinstance(statement, ast.Assign):
            target = statement.targets[0]
            if isinstance(target, ast.Attribute) and _is_reason(target.attr):
                self._emit_text(alternatives(statement.value, env), statement.lineno, path)
        raised = statement.exc if isinstance(statement, ast.Raise) else None
        for call in _calls(statement):
            self._call(call, call is raised, statement.lineno, env, path, in_error)
        if raised is not None and (class_name := _bare_class(raised)) is not None:
            self.sites.append(
                Site("", class_name, None, self.file, statement.lineno, ".".join(path) or None, "bare", self._guard)
            )
        assign(statement, env)

    def _call(
        self, call: ast.Call, raised: bool, line: int, env: Environment, path: tuple[str, ...], in_error: bool
    ) -> None:
        function, receiver = call.func, ""
        if isinstance(function, ast.Attribute):
            name, receiver = function.attr, _last_name(function.value)
        elif isinstance(function, ast.Name):
            name = function.id
        else:
            return
        level = _level(name, receiver, call)
        if level is not None:
            args = call.args[1:] if name == "log" else call.args
            if args:
                self._emit(_log_texts(args, env), None, level, line, path, "log")
        elif name == "warn" and receiver == "warnings" and call.args:
            category = call.args[1] if len(call.args) > 1 else _keyword(call, ("category",))
            class_name = _last_name(category) if category is not None else "UserWarning"
            self._emit(alternatives(call.args[0], env), class_name, "WARNING", line, path, "warn")
        elif raised or _is_error(name):
            # A function that makes the exception (``raise self._failed(...)``) does not tell its class.
            raised_class = name if name[:1].isupper() else None
            self._emit(_exception_texts(call, env), raised_class, None, line, path, "raise" if raised else "exception")
        elif in_error and name == "__init__" and len(path) > 1 and call.args:
            texts = tuple(text for text in _exception_texts(call, env) if is_text(text))
            self._emit(texts, path[-2], None, line, path, "exception")
        elif name in _TEXT_MAKERS or (receiver.endswith("parser") and name == "error"):
            self._emit_text(_exception_texts(call, env), line, path)
        elif name == "append" and _is_reason(receiver) and call.args:
            self._emit_text(alternatives(call.args[0], env), line, path)

    def _source(self, statement: ast.stmt) -> str:
        """A statement's source on one line."""
        lines = self.lines[statement.lineno - 1 : statement.end_lineno]
        lines[-1] = lines[-1][: statement.end_col_offset]
        return " ".join(b" ".join(lines).decode("utf-8", "replace").split())

    def _emit_text(self, texts: tuple[Parts, ...], line: int, path: tuple[str, ...]) -> None:
        self._emit(tuple(text for text in texts if is_text(text)), None, None, line, path, "text")

    def _emit(
        self,
        texts: tuple[Parts, ...],
        class_name: str | None,
        level: str | None,
        line: int,
        path: tuple[str, ...],
        kind: Kind,
    ) -> None:
        function = ".".join(path) or None
        for text in texts:
            template = render(text)
            if template.strip():
                self.sites.append(Site(template, class_name, level, self.file, line, function, kind, self._guard))


def _bare_class(raised: ast.expr) -> str | None:
    """The class of an exception that is raised without any argument."""
    if isinstance(raised, ast.Call):
        if raised.args or raised.keywords:
            return None
        raised = raised.func
    name = _last_name(raised)
    return name if _is_error(name) or name in ("StopIteration", "StopAsyncIteration") else None


def _changed(tree: ast.Module) -> frozenset[str]:
    """The variables of a module that its functions set: what they held at first is only one of their values."""
    if not any(isinstance(node, ast.Global) for node in ast.walk(tree)):
        return frozenset()
    return frozenset(name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names)


def _exception_texts(call: ast.Call, env: Environment) -> tuple[Parts, ...]:
    """The message that an exception is built with: the first argument that holds text, else the first one.

    Several arguments print as a tuple, which is read as it was meant (``events/messages.py``): one behind the other,
    or the first one's conversions filled. A class of its own may print its first text alone: both are given.
    """
    keyword = _keyword(call, _MESSAGE_KEYWORDS)
    if keyword is None and len(call.args) > 1 and not any(isinstance(each, ast.Starred) for each in call.args):
        first = alternatives(call.args[0], env)
        if all(map(is_text, first)):
            return (*first, *several(call.args, env)) if not call.keywords else first
    given = [*([keyword] if keyword is not None else []), *call.args]
    read = [alternatives(value, env) for value in given if not isinstance(value, ast.Starred)]
    for texts in read:
        if any(map(is_text, texts)):
            return texts
    return read[0] if read else ()


def _assert_texts(message: ast.expr, env: Environment) -> tuple[Parts, ...]:
    if isinstance(message, ast.Tuple) and message.elts:
        return several(message.elts, env)
    return alternatives(message, env)


def _log_texts(args: list[ast.expr], env: Environment) -> tuple[Parts, ...]:
    formats = alternatives(args[0], env)
    # Without arguments the logging module does not touch the percent signs.
    if len(args) == 1:
        return formats
    return tuple(filled for text in formats for filled in fill_printf(text, args[1:], env))


def _level(name: str, receiver: str, call: ast.Call) -> str | None:
    if "log" not in receiver.lower():
        return None
    if name == "log" and len(call.args) > 1:
        return _LEVELS.get(_last_name(call.args[0]).lower(), "INFO")
    return _LEVELS.get(name.removesuffix("_once"))


def _calls(statement: ast.stmt) -> Iterator[ast.Call]:
    """The calls in a statement's own expressions, not in the blocks and functions inside it, outermost first."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Call):
            yield node
        children: list[ast.AST] = []
        for name in node._fields:
            value = getattr(node, name, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.AST) and not isinstance(child, _NO_CALLS):
                    children.append(child)
        waiting.extend(reversed(children))


def _keyword(call: ast.Call, names: tuple[str, ...]) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg in names), None)


def _is_reason(name: str) -> bool:
    return any(word.startswith(_REASONS) for word in name.lower().split("_"))


def _is_error(name: str) -> bool:
    return name[:1].isupper() and name.endswith(_ERROR_NAMES)


def _last_name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        return _last_name(node.func)
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""
