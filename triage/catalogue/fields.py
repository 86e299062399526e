"""Typed access to the fields of a JSON object, collecting what is wrong with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeVar

from triage.model import Json

C = TypeVar("C", bound=str)

Severity = Literal["error", "warning"]

_KINDS = {bool: "true or false", int: "an integer", float: "a number", str: "a text", list: "a list", dict: "an object"}


@dataclass(frozen=True, slots=True)
class Flaw:
    """One thing that is wrong with a record: the field (dotted), what is wrong, how to mend it."""

    field: str | None
    message: str
    hint: str
    severity: Severity = "error"


def is_absent(value: object) -> bool:
    """Whether a value says that there is none: null, the text "null", or an empty text."""
    return value is None or (isinstance(value, str) and (value == "null" or not value.strip()))


def kind(value: object) -> str:
    """What a JSON value is, in words."""
    return "null" if value is None else _KINDS.get(type(value), type(value).__name__)


def similar(word: str, choices: Iterable[str]) -> str:
    """A question after the name that was meant, or an empty text.

    Args:
        word: the name as given.
        choices: the names that there are.
    """
    # Only needed once something is wrong; loading a good catalogue must not pay for it.
    from rapidfuzz import process

    found = process.extractOne(word, list(choices), score_cutoff=75)
    return f"; did you mean {found[0]!r}?" if found else ""


class Fields:
    """The fields of one JSON object.

    Each method gives a field's value in the type asked for, or the type's absent value after noting
    a flaw.
    """

    def __init__(self, data: Mapping[str, Json], path: str, flaws: list[Flaw]) -> None:
        """Wrap an object.

        Args:
            data: the object.
            path: its place in the record ("triage.fixes[0]"), empty for the record itself.
            flaws: where flaws are noted.
        """
        self.data = data
        self.flaws = flaws
        self._path = path

    def path(self, name: str) -> str:
        """The dotted path of one of its fields."""
        return f"{self._path}.{name}" if self._path else name

    def flaw(self, name: str, message: str, hint: str) -> None:
        """Note an error in a field."""
        self.flaws.append(Flaw(self.path(name), message, hint))

    def only(self, allowed: Collection[str]) -> None:
        """Note every field that is not among the allowed ones."""
        for name in self.data:
            if name not in allowed:
                message = f"unknown field {name!r}{similar(name, allowed)}"
                self.flaw(name, message, f"known fields here: {', '.join(sorted(allowed))}")

    def text(self, name: str) -> str | None:
        """A text, None where absent."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, str):
            return None if value == "null" or not value.strip() else value
        self._wrong(name, value, "a text", f'write "{name}": "..." or null')
        return None

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts, empty where absent."""
        value = self.data.get(name)
        if value is None or is_absent(value):
            return ()
        if not isinstance(value, list):
            self._wrong(name, value, "a list of texts", f'write "{name}": ["..."]')
            return ()
        found: list[str] = []
        for index, entry in enumerate(value):
            if isinstance(entry, str):
                found.append(entry)
            else:
                self._wrong(f"{name}[{index}]", entry, "a text", "quote it, or take it out of the list")
        return tuple(found)

    def whole(self, name: str) -> int | None:
        """An integer, None where absent."""
        value = self.data.get(name)
        if is_absent(value):
            return None
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        self._wrong(name, value, "an integer", "write the number without quotes, or null")
        return None

    def code(self, name: str) -> str | int | None:
        """A text or an integer, None where absent: codes come as either."""
        value = self.data.get(name)
        if isinstance(value, str):
            return None if is_absent(value) else value
        return self.whole(name)

    def flag(self, name: str) -> bool | None:
        """True or false, None where absent."""
        value = self.data.get(name)
        if is_absent(value):
            return None
        if isinstance(value, bool):
            return value
        self._wrong(name, value, "true or false", "write true or false without quotes, or null")
        return None

    def choice(self, name: str, choices: tuple[C, ...]) -> C | None:
        """One of the choices, None where absent."""
        value = self.text(name)
        if value is None:
            return None
        for choice in choices:
            if choice == value:
                return choice
        self.flaw(name, f"unknown value {value!r}{similar(value, choices)}", f"write one of {', '.join(choices)}")
        return None

    def mapping(self, name: str) -> Mapping[str, Json]:
        """An object, empty where absent."""
        value = self.data.get(name)
        if is_absent(value):
            return {}
        if isinstance(value, dict):
            return value
        self._wrong(name, value, "an object", f'write "{name}": {{...}}')
        return {}

    def objects(self, name: str) -> tuple[Fields, ...]:
        """A list of objects, as fields; empty where absent."""
        value = self.data.get(name)
        if is_absent(value):
            return ()
        if not isinstance(value, list):
            self._wrong(name, value, "a list of objects", f'write "{name}": [{{...}}]')
            return ()
        found: list[Fields] = []
        for index, entry in enumerate(value):
            if isinstance(entry, dict):
                found.append(Fields(entry, self.path(f"{name}[{index}]"), self.flaws))
            else:
                self._wrong(f"{name}[{index}]", entry, "an object", "write {...}")
        return tuple(found)

    def below(self, name: str) -> Fields:
        """The fields of an object in one of its fields."""
        return Fields(self.mapping(name), self.path(name), self.flaws)

    def _wrong(self, name: str, value: object, wanted: str, hint: str) -> None:
        self.flaw(name, f"is {kind(value)}, should be {wanted}", hint)
