"""What vLLM's parser makes of a dataclass: for each field the default, and how words on the command line become it.

Newer releases work the arguments of most flags out of the fields of their configuration classes (``get_kwargs`` in
``engine/arg_utils.py``); this follows that function, whose rules have changed over the releases in the points that
`Rules` names.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from triage.source.evaluate import evaluate
from triage.source.modules import UNKNOWN, ClassRef, Member, Module, TypeRef

_SCALARS = ("int", "float")
_SEQUENCES = ("tuple", "list", "set", "Sequence", "frozenset")
_BUILT_IN = frozenset({"int", "float", "str", "bool", "dict", "list", "tuple", "set", "None", "object", "bytes"})
_LOWER = {"List": "list", "Dict": "dict", "Tuple": "tuple", "Set": "set", "Mapping": "dict", "MutableMapping": "dict"}
_OF_PYDANTIC = ("ge", "gt", "le", "lt", "min_length", "multiple_of")


@dataclass(frozen=True, slots=True)
class Rules:
    """What differs between releases.

    optional_values: a field of type ``bool | str | None`` takes a word or none; open_literals: a Literal beside ``str``
    limits nothing; human: the fields that are read as ``4k``.
    """

    optional_values: bool = False
    open_literals: bool = False
    human: frozenset[str] = frozenset()

    @classmethod
    def of(cls, source: str) -> Rules:
        """Tell the rules of a release by the text of its ``arg_utils.py``."""
        human = {
            node.value
            for each in ast.walk(ast.parse(source))
            if (isinstance(each, (ast.Assign, ast.Compare)) and "human_readable_int" in ast.unparse(each))
            or (isinstance(each, ast.Compare) and ast.unparse(each.left) == "name")
            for node in ast.walk(each)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }
        known = {name for name in human if name.startswith(("max_", "kv_cache_", "safetensors_"))}
        return cls(
            optional_values="type_hints == {bool, str, type(None)}" in source,
            open_literals='"metavar" if contains_type(type_hints, str)' in source,
            human=frozenset(known),
        )


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a dataclass: its default (`UNKNOWN` where that is none or cannot be told) and pydantic's limits."""

    name: str
    owner: ClassRef
    annotation: ast.expr
    default: object
    limits: Mapping[str, int | float] = dataclasses.field(default_factory=dict)


def fields_of(owner: ClassRef) -> dict[str, Field]:
    """The fields of a class and its bases, as `dataclasses.fields` gives them."""
    memory = owner.module.package.memory
    if owner.node not in memory:
        memory[owner.node] = _fields_of(owner)
    known = memory[owner.node]
    return known if isinstance(known, dict) else {}


def _fields_of(owner: ClassRef) -> dict[str, Field]:
    out: dict[str, Field] = {}
    for each in reversed(list(owner.mro())):
        for node in each.node.body:
            if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
                continue
            annotation = ast.unparse(node.annotation)
            if "ClassVar" in annotation or annotation.startswith("InitVar"):
                continue
            name = node.target.id
            default = each.attribute(name) if node.value is not None else UNKNOWN
            out[name] = Field(name, each, node.annotation, default, _limits(node, each.module))
    return out


def _limits(node: ast.AnnAssign, module: Module) -> dict[str, int | float]:
    calls = [each for part in (node.value, node.annotation) if part for each in ast.walk(part)]
    found = {
        word.arg: evaluate(word.value, {}, module)
        for call in calls
        if isinstance(call, ast.Call) and ast.unparse(call.func).rsplit(".", 1)[-1] == "Field"
        for word in call.keywords
        if word.arg is not None and word.arg in _OF_PYDANTIC
    }
    return {key: value for key, value in sorted(found.items()) if isinstance(value, (int, float))}


def hints(annotation: ast.expr, module: Module) -> list[object]:
    """The types that an annotation admits, unions and optional ones taken apart; None stands for itself."""
    return list(dict.fromkeys(_hints(_evaluated(annotation, module), module, 0)))


def _evaluated(annotation: ast.expr, module: Module) -> object:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        annotation = ast.parse(annotation.value, mode="eval").body
    return evaluate(annotation, {}, module)


def _hints(value: object, module: Module, depth: int) -> Iterator[object]:
    if depth > 12:
        return
    if isinstance(value, TypeRef) and value.name in ("Union", "Optional"):
        for each in value.args:
            yield from _hints(each, module, depth + 1)
        if value.name == "Optional":
            yield None
    elif isinstance(value, TypeRef) and value.name in ("Annotated", "SkipValidation", "InitVar", "Required"):
        yield from _hints(value.args[0], module, depth + 1)
    elif isinstance(value, TypeRef):
        yield TypeRef(_LOWER.get(value.name, value.name), value.args)
    elif isinstance(value, str):
        yield from _hints(_evaluated(ast.Constant(value), module), module, depth + 1)
    elif isinstance(value, ClassRef) and value.is_dict():
        yield TypeRef("dict")
    else:
        yield value if value is None or isinstance(value, ClassRef) else TypeRef("object")


def literals(value: object) -> list[object]:
    """The values that a Literal admits, those of Literals inside it included."""
    if not (isinstance(value, TypeRef) and value.name == "Literal"):
        return []
    out: list[object] = []
    for each in value.args:
        out.extend(literals(each) if isinstance(each, TypeRef) else [each.value if isinstance(each, Member) else each])
    return out


def kwargs_of(owner: ClassRef, rules: Rules) -> dict[object, object]:
    """What vLLM gives ``add_argument`` for each field of a class, and where that is from (``field``, ``owner``)."""
    return {name: kwargs_for(field, rules) for name, field in fields_of(owner).items()}


def kwargs_for(field: Field, rules: Rules) -> dict[object, object]:
    """What vLLM gives ``add_argument`` for one field."""
    types = hints(field.annotation, field.owner.module)
    names = [each.name if isinstance(each, TypeRef) else "None" if each is None else "object" for each in types]
    out: dict[object, object] = {"default": field.default, "field": field.name, "owner": field.owner.node.name}
    inner = next((each for each in types if isinstance(each, ClassRef) and each.is_dataclass()), None)
    sequence = next((each for each in types if isinstance(each, TypeRef) and each.name in _SEQUENCES), None)
    literal = next((each for each in types if isinstance(each, TypeRef) and each.name == "Literal"), None)
    if inner is not None:
        out.update({"type": TypeRef("json"), "of": inner.node.name})
    elif rules.optional_values and set(names) == {"bool", "str", "None"}:
        out.update({"type": TypeRef("str"), "nargs": "?", "const": True})
    elif "bool" in names:
        out["action"] = TypeRef("BooleanOptionalAction")
    elif literal is not None:
        _limit(out, literal, names, rules)
    elif sequence is not None:
        several = sequence.name != "tuple" or any(part is ... for part in sequence.args)
        element = sequence.args[0] if sequence.args else TypeRef("str")
        out.update({"type": _element(element, field.owner.module), "nargs": "+" if several else len(sequence.args)})
        if isinstance(element, TypeRef) and element.name == "Literal":
            _limit(out, element, [], rules)
    elif "int" in names:
        out["type"] = TypeRef("count" if field.name in rules.human else "int")
    elif "float" in names:
        out["type"] = TypeRef("float")
    elif "dict" in names:
        either = "str" in names or any(name not in _BUILT_IN for name in names)
        out["type"] = TypeRef("text_or_json" if either or "object" in names else "json")
    else:
        out["type"] = TypeRef("str")
    if "None" in names and isinstance(out.get("choices"), list):
        out["choices"] = [*_listed(out["choices"]), None]
    return out


def _limit(out: dict[object, object], literal: TypeRef, names: list[str], rules: Rules) -> None:
    options = literals(literal)
    if UNKNOWN in options or not options:
        out["type"] = TypeRef("str")
        return
    out["type"] = TypeRef(type(options[0]).__name__)
    out["metavar" if rules.open_literals and "str" in names else "choices"] = sorted(options, key=_order)


def _order(value: object) -> tuple[float, str]:
    return (value, "") if isinstance(value, (int, float)) else (0, str(value))


def _element(element: object, module: Module) -> object:
    found = [each for each in _hints(element, module, 0) if each is not None]
    only = found[0] if len(found) == 1 else None
    return only if isinstance(only, TypeRef) and only.name in (*_SCALARS, "str") else TypeRef("str")


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []
