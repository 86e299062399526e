"""Ways through functions to a statement, chosen at random; on the way assignments are carried out."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.source.values import Values


class Way(Values):
    """One way to a statement, and the values on it.

    own: whether the message's words turned out to be those of its exception class.

    Args:
        constants: the texts of the module's names.
        classes: the exception classes of the package.
        seed: of the way and the stubs.
        chain: the node that emits the message, and all around it, innermost first; may be empty.
        empty: whether every stub is an empty text.
    """

    def __init__(
        self,
        constants: Mapping[str, object],
        classes: Mapping[str, ast.ClassDef],
        seed: str,
        chain: list[ast.AST],
        *,
        empty: bool,
    ) -> None:
        super().__init__(seed, empty=empty)
        self.values.update(constants)
        self.classes, self.own = classes, False
        self.within = set(map(id, chain))
        for scope in reversed(chain):
            if isinstance(scope, ast.ClassDef):
                for name, value in texts_of(scope.body):
                    if name.isupper():
                        self.values[f"self.{name}"] = self.values[f"cls.{name}"] = value
            elif isinstance(scope, ast.FunctionDef | ast.AsyncFunctionDef):
                for argument in (*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs):
                    self.values.pop(argument.arg, None)
                self.run(scope.body)

    # --- the way ---

    def run(self, body: list[ast.stmt]) -> bool:
        """Carry out statements; True where the way ends (at the target, or by a jump)."""
        for statement in body:
            if id(statement) in self.within:
                self._enter(statement)
                return True
            if isinstance(statement, ast.Return | ast.Raise | ast.Continue | ast.Break):
                return True
            self._effect(statement)
        return False

    def _blocks(self, statement: ast.stmt) -> list[list[ast.stmt]]:
        blocks = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
        blocks += [handler.body for handler in getattr(statement, "handlers", [])]
        blocks += [case.body for case in getattr(statement, "cases", [])]
        return blocks

    def _enter(self, statement: ast.AST) -> None:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return
        if isinstance(statement, ast.For | ast.AsyncFor):
            self.forget(statement.target)
        for item in getattr(statement, "items", []):
            if item.optional_vars is not None:
                self.forget(item.optional_vars)
        for handler in getattr(statement, "handlers", []):
            if id(handler) in self.within and handler.name:
                self.values.pop(handler.name, None)
        for index, block in enumerate(self._blocks(statement)):
            if any(id(inner) in self.within for inner in block):
                if isinstance(statement, ast.Try) and index in (1, 2):
                    self.run(statement.body)
                self.run(block)

    def _effect(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            if len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
                self.values[statement.targets[0].id] = self.value(statement.value)
            else:
                for target in statement.targets:
                    self.forget(target)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            if statement.value is not None:
                self.values[statement.target.id] = self.value(statement.value)
        elif isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            before, added = self.values.get(statement.target.id), self.value(statement.value)
            if isinstance(before, str) and isinstance(added, str):
                self.values[statement.target.id] = before + added
            else:
                self.values.pop(statement.target.id, None)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            self._append(statement.value)
        elif isinstance(statement, ast.If):
            open_ways = [block for block in (statement.body, statement.orelse) if not _ends(block)]
            if open_ways:
                self.run(self.chance.choice(open_ways))
        elif isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            if isinstance(statement, ast.For | ast.AsyncFor):
                self.forget(statement.target)
            if self.chance.random() < 0.7:
                self.run(statement.body)
        elif isinstance(statement, ast.With | ast.AsyncWith | ast.Try):
            self.run(statement.body)
        elif isinstance(statement, ast.Match):
            open_ways = [case.body for case in statement.cases if not _ends(case.body)]
            if open_ways:
                self.run(self.chance.choice(open_ways))

    def _append(self, call: ast.Call) -> None:
        function = call.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and len(call.args) == 1:
            held = self.values.get(function.value.id)
            if isinstance(held, list) and function.attr == "append":
                self.values[function.value.id] = [*held, self.value(call.args[0])]
            elif isinstance(held, list) and function.attr == "extend":
                more = self.value(call.args[0])
                self.values[function.value.id] = [*held, *(more if isinstance(more, list | tuple) else [])]

    # --- what comes out ---

    def message(self, node: ast.AST, kind: str, of: str) -> str | None:
        """The text that the target prints, without class or prefix; None where it prints none."""
        if isinstance(node, ast.Assert) and node.msg is not None:
            return str(self.value(node.msg))
        if not isinstance(node, ast.Call):
            return None
        if kind == "log":
            text = str(self.value(node.args[0]))
            return self.printf(text, node.args[1:], {}) if len(node.args) > 1 else text
        if kind == "warn":
            return str(self.value(node.args[0]))
        if kind == "response":
            given = next((k.value for k in node.keywords if k.arg == "message"), node.args[0] if node.args else None)
            value = self.value(given) if given is not None else None
            return value if isinstance(value, str) and (value or self.empty) else None
        return self._exception(of, node)

    def _exception(self, of: str, call: ast.Call) -> str | None:
        named = {each.arg: each.value for each in call.keywords if each.arg}
        given = [each for each in call.args if not isinstance(each, ast.Starred)]
        if len(given) < len(call.args):
            return None
        if of == "HTTPException":
            status = named.get("status_code") or (given[0] if given else None)
            detail = named.get("detail") or (given[1] if len(given) > 1 else None)
            if detail is None:
                return None
            number = self.value(status) if isinstance(status, ast.Constant) else 400
            return f"{number}: {self.value(detail)}"
        own = self.classes.get(of)
        init = next(
            (n for n in (own.body if own else []) if isinstance(n, ast.FunctionDef) and n.name == "__init__"), None
        )
        if own is not None and init is not None:
            return self._of_class(own, init, given, named)
        values = [self.value(each) for each in given]
        if not values:
            return None
        if len(values) > 1:
            return "".join(map(str, values)) if self.empty else str(tuple(values))
        if of == "KeyError":
            return str(values[0]) if self.empty else repr(values[0])
        return str(values[0])

    def _of_class(
        self, own: ast.ClassDef, init: ast.FunctionDef, given: list[ast.expr], named: dict[str, ast.expr]
    ) -> str | None:
        """The text of an exception class of the package that gives itself one."""
        arguments = [each.arg for each in (*init.args.posonlyargs, *init.args.args)][1:]
        held = {name: self.value(value) for name, value in zip(arguments, given, strict=False)}
        held |= {name: self.value(value) for name, value in named.items()}
        for each, default in zip(reversed(init.args.args), reversed(init.args.defaults), strict=False):
            held.setdefault(each.arg, self.value(default))
        for each, default in zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True):
            if default is not None:
                held.setdefault(each.arg, self.value(default))
        inner = Way({**dict(texts_of(own.body)), **held}, self.classes, self.seed, [], empty=self.empty)
        inner.chance, inner.depth = self.chance, self.depth
        inner.values |= {f"self.{name}": value for name, value in texts_of(own.body)}
        text: str | None = None
        for statement in init.body:
            value = statement.value if isinstance(statement, ast.Expr) else None
            if isinstance(value, ast.Call) and ast.unparse(value.func) in ("super().__init__", "Exception.__init__"):
                text = str(inner.value(value.args[0])) if value.args else None
                self.own = bool(value.args) and not isinstance(value.args[0], ast.Name)
                break
            inner._effect(statement)
        if text is None and held:
            text = str(next(iter(held.values())))
        printer = next((n for n in own.body if isinstance(n, ast.FunctionDef) and n.name == "__str__"), None)
        if printer is not None and text is not None and not self.empty:
            shown = [f"{name}={held[name]}" for name in ("parameter", "value") if held.get(name) is not None]
            text += f" ({', '.join(shown)})" if shown else ""
        return text


def texts_of(body: list[ast.stmt]) -> Iterator[tuple[str, object]]:
    """The texts that names are given once, at the top of a module or class."""
    found: dict[str, object] = {}
    for statement in body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if len(targets) == 1 and isinstance(targets[0], ast.Name) and isinstance(statement, ast.Assign):
            value = statement.value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found[targets[0].id] = value.value
    yield from found.items()


def _ends(block: list[ast.stmt]) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Raise | ast.Continue | ast.Break)
