"""What ``add_argument`` makes of its arguments: the facts of one flag, as the generated file has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from triage.model import Json
from triage.source.modules import UNKNOWN, ClassRef, Function, Member, TypeRef

_KINDS: Mapping[str, str] = {
    "store_true": "switch",
    "store_false": "switch",
    "BooleanOptionalAction": "switch",
    "EnableDisableAction": "switch",
    "append": "repeated",
    "StoreBoolean": "optional",
}
_CONVERTERS: Mapping[str, str] = {
    "nullable_kvs": "pairs",
    "human_readable_int": "count",
    "human_readable_int_or_auto": "count",
    "union_dict_and_str": "text_or_json",
    "from_json": "json",
    "from_cli": "json",
    "loads": "json",
    "json": "json",
    "int": "int",
    "float": "float",
    "bool": "bool",
    "count": "count",
    "text_or_json": "text_or_json",
}


@dataclass(frozen=True, slots=True)
class FlagFacts:
    """What a release makes of one flag.

    field: the argument's name (``max_num_seqs``), under which vLLM logs it; owner: the class whose field it is, None
    where it has none; kind: "value", "switch", "several" words, "optional" (a word or none), "repeated"; type: "int",
    "float", "str", "json", "count" (``4k``), "pairs" (``image=2``), "text_or_json", "bool"; default: absent (`UNKNOWN`)
    where the sources do not tell it; of: the class that a JSON value is made into; choices: the values that it takes,
    empty for any; short: other spellings; off: the flags that switch it off; group: the help topic.
    """

    name: str
    field: str
    owner: str | None = None
    kind: str = "value"
    type: str = "str"
    default: object = UNKNOWN
    of: str | None = None
    choices: tuple[Json, ...] = ()
    short: tuple[str, ...] = ()
    off: tuple[str, ...] = ()
    group: str | None = None

    def data(self) -> dict[str, Json]:
        """The facts as the file has them: what is usual is left out."""
        out: dict[str, Json] = {"field": self.field} if self.field != self.name.lstrip("-").replace("-", "_") else {}
        for key in ("owner", "of", "group"):
            if value := getattr(self, key):
                out[key] = value
        for key, usual in (("kind", "value"), ("type", "str")):
            if getattr(self, key) != usual:
                out[key] = getattr(self, key)
        for key in ("choices", "short", "off"):
            if value := getattr(self, key):
                out[key] = list(value)
        plain = _plain(self.default)
        if plain is not UNKNOWN:
            out["default"] = plain  # type: ignore[assignment]
        return out


def name_of(value: object) -> str:
    """The name of an action or converter; empty for what has none."""
    if isinstance(value, str):
        return value
    if isinstance(value, TypeRef):
        return value.name
    if isinstance(value, (ClassRef, Function)):
        return value.node.name
    return ""


def facts_of(name: str, kwargs: Mapping[object, object]) -> FlagFacts:
    """What the arguments of ``add_argument`` say; name: the flag, or the field where it is no flag."""
    action, nargs = name_of(kwargs.get("action")), kwargs.get("nargs")
    kind = _KINDS.get(action, "value")
    if kind == "value":
        kind = {"?": "optional", "+": "several", "*": "several"}.get(
            str(nargs), "several" if isinstance(nargs, int) else "value"
        )
    default = kwargs.get("default", None if "default" not in kwargs else UNKNOWN)
    if default is None and action in ("store_true", "store_false"):
        default = action == "store_false"
    choices = kwargs.get("choices")
    listed = [_plain(each) for each in choices] if isinstance(choices, (list, tuple)) else []
    dest, of, owner = kwargs.get("dest"), kwargs.get("of"), kwargs.get("owner")
    return FlagFacts(
        name=name,
        field=dest if isinstance(dest, str) else name.lstrip("-").replace("-", "_"),
        owner=owner if isinstance(owner, str) else None,
        kind=kind,
        type="bool" if kind == "switch" else _CONVERTERS.get(name_of(kwargs.get("type")), "str"),
        default=default,
        of=of if isinstance(of, str) else None,
        choices=() if UNKNOWN in listed else tuple(listed),  # type: ignore[arg-type]
    )


def _plain(value: object) -> object:
    """A value as JSON has it; `UNKNOWN` where it is none."""
    if isinstance(value, Member):
        return _plain(value.value)
    if isinstance(value, (list, tuple)):
        items = [_plain(each) for each in value]
        return UNKNOWN if UNKNOWN in items else items
    if isinstance(value, dict):
        held = {str(key): _plain(each) for key, each in value.items()}
        return UNKNOWN if UNKNOWN in held.values() else held
    return value if value is None or isinstance(value, (bool, int, float, str)) else UNKNOWN
