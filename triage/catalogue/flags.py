"""The flags of every release, out of the generated file; and what removed ones became."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from triage.model import Flag, Json, Rename

Spans: TypeAlias = "Mapping[str, Sequence[Sequence[Json]]]"
"""Name to its ranges of consecutive releases: first, last, and in the generated file the facts."""


class Flags(Mapping[str, frozenset[str]]):
    """Release to the flags that it has, off-switches and other spellings included, worked out when asked for.

    Hundreds of flags times dozens of releases would take longer to set up than all records.
    """

    def __init__(
        self,
        releases: Sequence[str],
        ranges: Spans,
        fields: Spans | None = None,
        renames: Sequence[Rename] = (),
    ) -> None:
        """Take the file's content.

        Args:
            releases: the known releases, oldest first.
            ranges: flag to its ranges of consecutive releases, each as first, last and facts.
            fields: ``Class.field`` to the same.
            renames: what flags became.
        """
        self._releases = tuple(releases)
        self._place = {release: place for place, release in enumerate(releases)}
        self._ranges = ranges
        self._fields = fields or {}
        self._renames = tuple(renames)
        self._read: dict[str, Mapping[str, Flag]] = {}

    def __getitem__(self, release: str) -> frozenset[str]:
        """The flags of a release; KeyError where it is not known."""
        place = self._place[release]
        names: set[str] = set()
        for name, ranges in self._ranges.items():
            for each in ranges:
                if self._place[str(each[0])] <= place <= self._place[str(each[1])]:
                    names.add(name)
                    facts = each[2] if len(each) > 2 and isinstance(each[2], dict) else {}
                    names.update(other for key in ("off", "short") for other in _texts(facts.get(key)))
        return frozenset(name for name in names if name.startswith("--"))

    def __iter__(self) -> Iterator[str]:
        """The releases, oldest first."""
        return iter(self._releases)

    def __len__(self) -> int:
        """How many releases are known."""
        return len(self._releases)

    @property
    def newest(self) -> str:
        """The newest release that is known."""
        return self._releases[-1]

    def options(self, release: str) -> Mapping[str, Flag]:
        """What a release makes of its flags, by name; KeyError where it is not known."""
        if release not in self._read:
            self._read[release] = self._at(release, self._ranges)
        return self._read[release]

    def fields(self, release: str, owner: str) -> Mapping[str, Flag]:
        """The fields of a configuration class in a release, by name; KeyError where the release is not known."""
        lead = f"{owner}."
        held = {name: spans for name, spans in self._fields.items() if name.startswith(lead)}
        return {name.removeprefix(lead): flag for name, flag in self._at(release, held).items()}

    def spans(self, flag: str) -> tuple[tuple[str, str], ...]:
        """The ranges of releases that have a flag, each as first and last; none for a flag that never was."""
        return tuple((str(each[0]), str(each[1])) for each in self._joined(flag))

    def renamed(self, flag: str) -> tuple[Rename, ...]:
        """The renames that a flag takes part in, under its old or its new name."""
        return tuple(each for each in self._renames if flag in (each.old, each.new))

    def _joined(self, flag: str) -> Iterator[tuple[Json, Json]]:
        """The ranges of a name with those joined that only differ in facts."""
        first: Json = None
        last: Json = None
        for each in self._ranges.get(flag, ()):
            if last is not None and self._place[str(each[0])] == self._place[str(last)] + 1:
                last = each[1]
                continue
            if last is not None:
                yield first, last
            first, last = each[0], each[1]
        if last is not None:
            yield first, last

    def _at(self, release: str, ranges: Spans) -> Mapping[str, Flag]:
        place = self._place[release]
        out: dict[str, Flag] = {}
        for name, spans in ranges.items():
            for each in spans:
                if self._place[str(each[0])] <= place <= self._place[str(each[1])]:
                    facts = each[2] if len(each) > 2 and isinstance(each[2], dict) else {}
                    out[name] = _flag(name, facts)
        return out


def _flag(name: str, facts: Mapping[str, Json]) -> Flag:
    text = {
        key: value if isinstance(value := facts.get(key), str) else None for key in ("field", "owner", "of", "group")
    }
    choices = facts.get("choices")
    return Flag(
        name=name,
        field=text["field"] or name.rpartition(".")[2].lstrip("-").replace("-", "_"),
        owner=text["owner"],
        kind=str(facts.get("kind", "value")),
        type=str(facts.get("type", "str")),
        choices=tuple(each for each in choices if isinstance(each, (str, int, float)))
        if isinstance(choices, list)
        else (),
        short=_texts(facts.get("short")),
        off=_texts(facts.get("off")),
        of=text["of"],
        group=text["group"],
    )


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list) else ()
