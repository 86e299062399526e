"""What expressions of Python source give when they are evaluated, whatever is not in the source being a stub."""

from __future__ import annotations

import ast
import random
import re
import textwrap

_LONG = (
    "a value of several hundred characters, as a dump of a configuration or a list of tensors makes one: "
    + ", ".join(f"layers.{number}.mlp.gate_proj.weight" for number in range(9))
)
_TEXTS = ("alpha-beta", "org/Model-7B_x", 'it\'s "quoted" text', "two\nlines of text", "{'a': 1, 'b': {2}}", "", _LONG)
_VALUES: tuple[object, ...] = (
    None, -3, 0, 4096, -0.25, 1e-05, True, ["q_proj", "k_proj"], [1, -2, 3], (1, 16), {"tp": 2, "name": "x y"}, set(), *_TEXTS,
)  # fmt: skip


class Values:
    """Evaluates expressions; what names hold, and what chance chooses, depends on the seed.

    Args:
        seed: of the stubs and of the choices between branches.
        empty: whether every stub is an empty text: what is left is the source's own.
    """

    def __init__(self, seed: str, *, empty: bool) -> None:
        self.chance, self.seed, self.empty = random.Random(seed), seed, empty
        self.values: dict[str, object] = {}
        self.depth = 0

    def forget(self, target: ast.expr) -> None:
        """Let the names of an assignment's target hold anything."""
        for node in ast.walk(target):
            if isinstance(node, ast.Name):
                self.values.pop(node.id, None)

    def stub(self, node: ast.expr, choices: tuple[object, ...] = _VALUES) -> object:
        """A value that an unknown expression has, the same wherever it stands on the way."""
        if self.empty:
            return ""
        return random.Random(f"{self.seed}:{ast.unparse(node)[:300]}").choice(choices)

    def value(self, node: ast.expr) -> object:
        """What an expression gives."""
        self.depth += 1
        try:
            if self.depth > 40:
                return self.stub(node)
            reader = getattr(self, f"_{type(node).__name__.lower()}", None)
            return reader(node) if reader is not None else self.stub(node)
        finally:
            self.depth -= 1

    def _constant(self, node: ast.Constant) -> object:
        return node.value

    def _name(self, node: ast.Name) -> object:
        return self.values[node.id] if node.id in self.values else self.stub(node)

    def _attribute(self, node: ast.Attribute) -> object:
        name = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else ""
        return self.values[name] if name in self.values else self.stub(node)

    def _ifexp(self, node: ast.IfExp) -> object:
        return self.value(node.body if self.chance.random() < 0.5 else node.orelse)

    def _boolop(self, node: ast.BoolOp) -> object:
        return self.value(self.chance.choice(node.values))

    def _tuple(self, node: ast.Tuple) -> object:
        return tuple(self.value(each) for each in node.elts if not isinstance(each, ast.Starred))

    def _list(self, node: ast.List) -> object:
        return [self.value(each) for each in node.elts if not isinstance(each, ast.Starred)]

    def _generatorexp(self, node: ast.GeneratorExp | ast.ListComp | ast.SetComp) -> object:
        before = dict(self.values)
        found = []
        for generator in node.generators:
            self.forget(generator.target)
        for _ in range(2):
            found.append(self.value(node.elt))
        self.values = before
        return found

    _listcomp = _setcomp = _generatorexp

    def _joinedstr(self, node: ast.JoinedStr) -> object:
        return "".join(str(self.value(each)) for each in node.values)

    def _formattedvalue(self, node: ast.FormattedValue) -> object:
        value = self.value(node.value)
        spec = str(self.value(node.format_spec)) if node.format_spec is not None else ""
        if node.conversion != -1:
            value = {"r": repr, "s": str, "a": ascii}[chr(node.conversion)](value)
        return self.formatted(node.value, value, spec)

    def formatted(self, node: ast.expr, value: object, spec: str) -> str:
        """A value in a format; a stub that fits the format where the value does not."""
        if self.empty and not isinstance(value, str):
            spec = ""
        for tried in (value, self.stub(node, (-0.25, 4096.5, 0.0)), self.stub(node, (-3, 4096, 0)), "x"):
            try:
                return format(tried, spec)
            except (ValueError, TypeError):
                continue
        return str(value)

    def _binop(self, node: ast.BinOp) -> object:
        left, right = self.value(node.left), self.value(node.right)
        if (
            isinstance(node.op, ast.Mod)
            and isinstance(left, str)
            and isinstance(node.left, ast.Constant | ast.Name | ast.JoinedStr | ast.BinOp)
        ):
            given = node.right.elts if isinstance(node.right, ast.Tuple) else [node.right]
            if isinstance(node.right, ast.Dict):
                return self.printf(
                    left,
                    [],
                    {
                        ast.literal_eval(k): v
                        for k, v in zip(node.right.keys, node.right.values, strict=True)
                        if isinstance(k, ast.Constant)
                    },
                )
            return self.printf(left, list(given), {})
        if isinstance(node.op, ast.Add):
            if isinstance(left, str) or isinstance(right, str):
                return f"{left}{right}"
            if isinstance(left, list) and isinstance(right, list):
                return left + right
        if isinstance(node.op, ast.Mult) and isinstance(left, str) and isinstance(node.left, ast.Constant):
            return left * (right if isinstance(right, int) and 0 < right < 90 else 60)
        return self.stub(node)

    def printf(self, template: str, given: list[ast.expr], named: dict[str, ast.expr]) -> str:
        """Fill a ``%`` format as Python does; numbers where it wants some."""
        waiting = list(given)

        def one(found: re.Match[str]) -> str:
            if found["kind"] == "%":
                return "%"
            node = (
                named[found["key"]]
                if found["key"]
                else waiting[0]
                if waiting and isinstance(waiting[0], ast.Starred)
                else waiting.pop(0)
            )
            value = self.value(node)
            if self.empty:
                return str(value) if isinstance(node, ast.Constant | ast.JoinedStr | ast.Name | ast.IfExp) else ""
            shape = "%" + found["flags"] + found["kind"]
            if found["kind"] in "diuxXo":
                value = value if isinstance(value, int) else self.stub(node, (-3, 0, 4096))
            elif found["kind"] in "eEfFgG":
                value = value if isinstance(value, int | float) else self.stub(node, (-0.25, 0.0, 4096.5))
            return shape % (value,)

        return re.sub(
            r"%(?:\((?P<key>\w+)\))?(?P<flags>[-+ #0]*\d*(?:\.\d+)?)(?P<kind>[diouxXeEfFgGcrsa%])", one, template
        )

    def _call(self, node: ast.Call) -> object:
        function = node.func
        if isinstance(function, ast.Name) and function.id in ("str", "repr") and len(node.args) == 1:
            value = self.value(node.args[0])
            return (
                "" if self.empty and not isinstance(value, str) else str(value) if function.id == "str" else repr(value)
            )
        if isinstance(function, ast.Name) and function.id in ("len", "int", "min", "max", "sum", "abs"):
            return self.stub(node, (-3, 0, 4096))
        if isinstance(function, ast.Name) and function.id in ("sorted", "list", "tuple", "set") and len(node.args) == 1:
            inner = self.value(node.args[0])
            return list(inner) if isinstance(inner, list | tuple | set) else self.stub(node, (["b", "c"], [1, 2], []))
        if ast.unparse(function).rpartition(".")[2] == "dedent" and len(node.args) == 1:
            return textwrap.dedent(str(self.value(node.args[0])))
        if isinstance(function, ast.Attribute):
            held = self.value(function.value)
            if isinstance(held, str) and (text := self._method(function.attr, held, node)) is not None:
                return text
        return self.stub(node)

    def _method(self, name: str, held: str, node: ast.Call) -> object:
        if name == "join" and len(node.args) == 1:
            items = self.value(node.args[0])
            if not isinstance(items, list | tuple | set):
                items = [] if self.empty else ["alpha", "be ta"]
            return held.join(map(str, items))
        if name in ("strip", "rstrip", "lstrip", "lower", "upper", "capitalize", "title") and not node.args:
            return getattr(held, name)()
        if name == "format" and isinstance(node.func, ast.Attribute):
            args = [_Open(self, each) for each in node.args if not isinstance(each, ast.Starred)]
            named = {each.arg: _Open(self, each.value) for each in node.keywords if each.arg}
            return held.format(*args, **named)
        return None


class _Open:
    """An argument of ``str.format``, evaluated when the format asks for it."""

    def __init__(self, way: Values, node: ast.expr) -> None:
        self._way, self._node = way, node

    def __format__(self, spec: str) -> str:
        return self._way.formatted(self._node, self._way.value(self._node), spec)

    def __str__(self) -> str:
        return str(self._way.value(self._node))

    def __repr__(self) -> str:
        return repr(self._way.value(self._node))

    def __getattr__(self, name: str) -> _Open:
        return _Open(self._way, ast.Attribute(self._node, name, ast.Load()))

    def __getitem__(self, key: object) -> _Open:
        return _Open(self._way, ast.Subscript(self._node, ast.Constant(str(key)), ast.Load()))
