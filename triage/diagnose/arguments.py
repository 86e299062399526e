"""The arguments of vLLM as a list of words: found, set, unset, and rebuilt from logged values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from packaging.version import Version

from triage.diagnose import quoting
from triage.diagnose.quoting import UnquotableError
from triage.diagnose.words import SECRET_FLAGS, Word, literal, variable
from triage.model import Scalar

SHORT: Mapping[str, str] = {
    "-ac": "--attention-config",
    "-asc": "--api-server-count",
    "-cc": "--compilation-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpa": "--data-parallel-address",
    "-dpb": "--data-parallel-backend",
    "-dpl": "--data-parallel-size-local",
    "-dpn": "--data-parallel-rank",
    "-dpp": "--data-parallel-rpc-port",
    "-dpr": "--data-parallel-start-rank",
    "-ep": "--enable-expert-parallel",
    "-n": "--nnodes",
    "-pcp": "--prefill-context-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-q": "--quantization",
    "-r": "--node-rank",
    "-sc": "--speculative-config",
    "-tp": "--tensor-parallel-size",
}
"""Short forms, from the argument parser of vLLM 0.33.0 (``engine/arg_utils.py``)."""

DOTTED_SINCE = Version("0.9.0")
"""First release whose parser takes ``--speculative-config.method``."""

NEGATION_SINCE = Version("0.8.5")
"""First release with ``--no-...`` for every switch; before it the prefix cache alone has one."""

_MODULE_DEPTH = 6
_STORE_BOOLEAN = frozenset(
    {"enable_chunked_prefill", "multi_step_stream_outputs", "disable_logprobs_during_spec_decoding"}
)
_JSON_LISTS = frozenset({"allowed_origins", "allowed_methods", "allowed_headers"})
_REPEATED = frozenset({"middleware"})
_PAIRS = frozenset({"limit_mm_per_prompt"})
_MODEL = frozenset({"model", "model_tag"})
_SWITCHES = re.compile(
    r"--(?:(?:no|enable|disable)-[\w-]+|enforce-eager|trust-remote-code|headless|skip-tokenizer-init|language-model-only"
    r"|calculate-kv-scales|fully-sharded-loras|return-tokens-as-token-ids|allow-credentials|async-scheduling)"
)
_NEGATIVE = re.compile(r"-\d[\d.]*")


class CannotEditError(ValueError):
    """An argument cannot be changed in place or turned back; the message names it and says why."""


@dataclass(frozen=True, slots=True)
class Release:
    """What is known of the user's release: its version, and its flags (None: not known)."""

    version: Version | None = None
    flags: frozenset[str] | None = None

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
            self.words += [literal(base), literal(json.dumps(_nested(path, value)))]
            return
        if isinstance(value, bool):
            self._switch(flag, value)
            return
        text = plain(value)
        spans = self._spans(flag)
        if not spans:
            self.words += _words(flag, text)
            return
        start, _ = spans[0]
        name, equals, _ = (self.words[start].value or "").partition("=")
        self._replace(spans, [literal(f"{name}={text}")] if equals else _words(name, text))

    def unset(self, flag: str) -> bool:
        """Take a flag and its values away, in every spelling.

        Returns:
            Whether it was there.

        Raises:
            CannotEditError: it is a key inside a value that cannot be changed.
        """
        base, dot, path = flag.partition(".")
        inside = bool(dot) and self._unset_inside(base, path)
        spans = self._spans(flag)
        self._replace(spans, [])
        return inside or bool(spans)

    def _switch(self, flag: str, on: bool) -> None:
        negated = f"--no-{flag[2:]}"
        spans = sorted(self._spans(flag) + self._spans(negated))
        if on:
            words = [literal(flag)]
        else:
            words = [literal(negated)] if self.release.negates(flag) else []
        if spans:
            self._replace(spans, words)
        else:
            self.words += words

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
        spans = self._spans(base)
        if not spans:
            return None
        start, end = spans[-1]
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

    def _replace(self, spans: Sequence[tuple[int, int]], words: list[Word]) -> None:
        for start, end in reversed(spans[1:]):
            del self.words[start:end]
        if spans:
            start, end = spans[0]
            self.words[start:end] = words

    def _spans(self, flag: str) -> list[tuple[int, int]]:
        """Where a flag stands, each with its values: from the first word to behind the last."""
        spans = []
        for start, word in enumerate(self.words):
            if is_flag(word) and flag_name(word.value or "") == flag:
                end = start + 1
                if "=" not in (word.value or ""):
                    most = self._values(flag)
                    while end < len(self.words) and end - start <= most and not is_flag(self.words[end]):
                        end += 1
                spans.append((start, end))
        return spans

    def _values(self, flag: str) -> int:
        known = self.args.get(name_of(flag))
        if isinstance(known, list):
            return len(known) if name_of(flag) not in _JSON_LISTS else 1
        if isinstance(known, bool) and name_of(flag) not in _STORE_BOOLEAN:
            return 0
        return 0 if known is None and _SWITCHES.fullmatch(flag) else 1


def is_flag(word: Word) -> bool:
    """Whether a word is a flag, not a value (a negative number is one)."""
    value = word.value
    return value is not None and value.startswith("-") and value != "-" and not _NEGATIVE.fullmatch(value)


def flag_name(text: str) -> str:
    """A flag in its long form with dashes: ``-tp``, ``--max_num_seqs=4`` and ``--max-num-seqs`` are one each."""
    flag = text.partition("=")[0]
    if flag in SHORT:
        return SHORT[flag]
    base, dot, path = flag.partition(".")
    return base.replace("_", "-") + dot + path


def name_of(flag: str) -> str:
    """The argument's name for a flag: ``--max-num-seqs`` to ``max_num_seqs``."""
    return flag.lstrip("-").replace("-", "_")


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
        if name in _STORE_BOOLEAN and release.version is not None and release.version < NEGATION_SINCE:
            return [literal(flag), literal("False")]
        if release.negates(flag):
            return [literal(f"--no-{flag[2:]}")]
        raise CannotEditError(f"{name}=False has no flag in this release")
    if isinstance(value, dict):
        old = release.version is not None and release.version < NEGATION_SINCE
        if name in _PAIRS and old:
            return [literal(flag), literal(",".join(f"{key}={plain(item)}" for key, item in value.items()))]
        return [literal(flag), literal(json.dumps(value, ensure_ascii=False))]
    if isinstance(value, list) and name not in _JSON_LISTS:
        items = [plain(item) for item in value]
        if not items or any(item.startswith("-") and not _NEGATIVE.fullmatch(item) for item in items):
            raise CannotEditError(f"{name} cannot be written as a flag")
        if name in _REPEATED:
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
