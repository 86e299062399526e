"""The arguments of vLLM as a list of words: found, set, unset, and rebuilt from logged values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from triage.diagnose import quoting
from triage.diagnose.flags import BOOLEANS, JSON_LISTS, REPEATED, Span, flag_name, is_end, spans
from triage.diagnose.quoting import UnquotableError
from triage.diagnose.words import SECRET_FLAGS, Word, literal, variable
from triage.model import Scalar

DOTTED_SINCE = Version("0.9.0")
"""First release whose parser takes ``--speculative-config.method``."""

NEGATION_SINCE = Version("0.8.5")
"""First release with ``--no-...`` for every switch; before it the prefix cache alone has one."""

_MODULE_DEPTH = 6
_PAIRS = frozenset({"limit_mm_per_prompt"})
_MODEL = frozenset({"model", "model_tag"})
_NEGATIVE = re.compile(r"-\d[\d.]*")


class CannotEditError(ValueError):
    """An argument cannot be changed in place or turned back; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Release:
    """What is known of the user's release: its version, and its flags (None: not known).

    name: the known release whose flags these are, which may be an older one.
    """

    version: Version | None = None
    flags: frozenset[str] | None = None
    name: str | None = None

    def negates(self, flag: str) -> bool:
        """Whether ``--no-...`` exists for a switch."""
        negated = f"--no-{flag[2:]}"
        if self.flags and any(known.startswith("--no-") for known in self.flags):
            return negated in self.flags
        return self.version is None or self.version >= NEGATION_SINCE or flag == "--enable-prefix-caching"

    def dotted(self) -> bool:
        """Whether a key inside a JSON value can be given by itself."""
        return self.version is None or self.version >= DOTTED_SINCE


@dataclass(slots=True)
class Arguments:
    """The words behind ``vllm serve`` (or the module, or the image), to be edited.

    args: values by name, where the log has them; they tell switches and lists from single values.
    """

    words: list[Word]
    release: Release
    args: Mapping[str, object] = field(default_factory=dict)

    def set(self, flag: str, value: Scalar) -> None:
        """Give a flag a value, where it stands or at the end; True and False are switches.

        Raises:
            CannotEditError: its present value cannot be changed inside.
            UnquotableError: the value cannot be quoted.
        """
        base, dot, path = flag.partition(".")
        if dot and self._set_inside(base, path, value):
            return
        if dot and not self.release.dotted():
            self._append([literal(base), literal(json.dumps(_nested(path, value)))])
            return
        if isinstance(value, bool):
            self._switch(flag, value)
            return
        text = plain(value)
        # A key by itself would take the place of the whole value.
        found = self._spans(flag) if dot else self._spans_inside(flag)
        if not found:
            self._append(_words(flag, text))
            return
        name, equals, _ = self.words[found[0].start].start.partition("=")
        if name.startswith("-O") or (not dot and flag_name(name) != flag):
            name, equals = flag, ""
        self._replace(found, [literal(f"{name}={text}")] if equals else _words(name, text))

    def unset(self, flag: str) -> bool:
        """Take a flag and its values away, in every spelling.

        Returns:
            Whether it was there.

        Raises:
            CannotEditError: it is a key inside a value that cannot be changed.
        """
        base, dot, path = flag.partition(".")
        inside = bool(dot) and self._unset_inside(base, path)
        found = self._spans(flag) if dot else self._spans_inside(flag)
        self._replace(found, [])
        return inside or bool(found)

    def model(self) -> Word | None:
        """The first positional."""
        return next((self.words[span.start] for span in spans(self.words, self.args) if span.flag is None), None)

    def gives(self, flag: str) -> bool:
        """Whether a flag, or for a whole one a key of it, stands there."""
        return bool(self._spans(flag) if "." in flag else self._spans_inside(flag))

    def _switch(self, flag: str, on: bool) -> None:
        negated = f"--no-{flag[2:]}"
        found = sorted(self._spans(flag) + self._spans(negated))
        if on:
            words = [literal(flag)]
        else:
            words = [literal(negated)] if self.release.negates(flag) else []
        if found:
            self._replace(found, words)
        else:
            self._append(words)

    def _set_inside(self, base: str, path: str, value: Scalar) -> bool:
        found = self._object(base)
        if found is None:
            return False
        start, end, content, compact = found
        target = content
        *outer, last = path.split(".")
        for key in outer:
            inner = target.setdefault(key, {})
            if not isinstance(inner, dict):
                raise CannotEditError(f"{base} has no {key}.{last}")
            target = inner
        target[last] = value
        self._put_object(start, end, content, compact)
        return True

    def _unset_inside(self, base: str, path: str) -> bool:
        found = self._object(base)
        if found is None:
            return False
        start, end, content, compact = found
        target: object = content
        *outer, last = path.split(".")
        for key in outer:
            target = target.get(key) if isinstance(target, dict) else None
        if not isinstance(target, dict) or last not in target:
            return False
        del target[last]
        if content:
            self._put_object(start, end, content, compact)
        else:
            del self.words[start:end]
        return True

    def _object(self, base: str) -> tuple[int, int, dict[str, object], bool] | None:
        """The JSON object that a flag is given: its words' places, content, and whether it is written tightly."""
        found = self._spans(base)
        if not found:
            return None
        start, end, _ = found[-1]
        _, equals, text = (self.words[start].value or "").partition("=")
        value = text if equals else (self.words[start + 1].value if end > start + 1 else None)
        if (
            value is None
            or len(value) > quoting.VALUE_LIMIT
            or value.count("{") + value.count("[") > quoting.DEPTH_LIMIT
        ):
            raise CannotEditError(f"the value of {base} cannot be read")
        try:
            content = json.loads(value)
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise CannotEditError(f"the value of {base} is no JSON object")
        return start, end, content, ": " not in value

    def _put_object(self, start: int, end: int, content: Mapping[str, object], compact: bool) -> None:
        written = json.dumps(content, ensure_ascii=False, separators=(",", ":") if compact else None)
        name, equals, _ = (self.words[start].value or "").partition("=")
        self.words[start:end] = [literal(f"{name}={written}")] if equals else [literal(name), literal(written)]

    def _replace(self, found: Sequence[Span], words: list[Word]) -> None:
        """Put words in the place of the first of the spans, and take the others away; the model stays the model."""
        model = self.model()
        for span in reversed(found[1:]):
            del self.words[span.start : span.end]
        if found:
            self.words[found[0].start : found[0].end] = words
        if model is not None and self.model() is not model:
            # The flag before now takes the model for one of its values.
            place = next(place for place, word in enumerate(self.words) if word is model)
            self.words.insert(0, self.words.pop(place))

    def _append(self, words: list[Word]) -> None:
        # Behind "--" all words are positionals.
        end = next((place for place, word in enumerate(self.words) if is_end(word)), len(self.words))
        self.words[end:end] = words

    def _spans(self, flag: str) -> list[Span]:
        """Where a flag stands, each with its values."""
        return [span for span in spans(self.words, self.args) if span.flag == flag]

    def _spans_inside(self, flag: str) -> list[Span]:
        """Where a flag or one of its keys (``--flag.key``) stands."""
        return [span for span in spans(self.words, self.args) if span.flag and span.flag.partition(".")[0] == flag]


def plain(value: object) -> str:
    """A number or a text as one word of a command line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def rebuild(args: Mapping[str, object], release: Release) -> list[Word]:
    """The words for logged arguments, without the model.

    Raises:
        CannotEditError: an argument cannot be turned back to flags.
        UnquotableError: a value cannot be quoted safely.
    """
    words: list[Word] = []
    for name, value in args.items():
        if name in _MODEL or value is None:
            continue
        flag = "--" + name.replace("_", "-")
        try:
            words += _rebuilt(flag, name, value, release)
        except UnquotableError as reason:
            raise UnquotableError(f"{name} {reason}") from None
    return words


def _rebuilt(flag: str, name: str, value: object, release: Release) -> Iterable[Word]:
    if flag in SECRET_FLAGS:
        return [literal(flag), variable(SECRET_FLAGS[flag])]
    if isinstance(value, bool):
        if value:
            return [literal(flag)]
        if name in BOOLEANS and release.version is not None and release.version < NEGATION_SINCE:
            return [literal(flag), literal("False")]
        if release.negates(flag):
            return [literal(f"--no-{flag[2:]}")]
        raise CannotEditError(f"{name}=False has no flag in this release")
    if isinstance(value, dict):
        old = release.version is not None and release.version < NEGATION_SINCE
        if name in _PAIRS and old:
            return [literal(flag), literal(",".join(f"{key}={plain(item)}" for key, item in value.items()))]
        return [literal(flag), literal(json.dumps(value, ensure_ascii=False))]
    if isinstance(value, list) and name not in JSON_LISTS:
        items = [plain(item) for item in value]
        if not items or any(item.startswith("-") and not _NEGATIVE.fullmatch(item) for item in items):
            raise CannotEditError(f"{name} cannot be written as a flag")
        if name in REPEATED:
            return [word for item in items for word in _words(flag, item)]
        return [literal(flag), *(literal(item) for item in items)]
    return _words(flag, plain(value))


def _words(flag: str, text: str) -> list[Word]:
    # A value that begins with a dash would be taken for a flag.
    if text.startswith("-") and not _NEGATIVE.fullmatch(text):
        return [literal(f"{flag}={text}")]
    return [literal(flag), literal(text)]


def _nested(path: str, value: Scalar) -> object:
    nested: object = value
    for key in reversed(path.split(".")[:_MODULE_DEPTH]):
        nested = {key: nested}
    return nested
