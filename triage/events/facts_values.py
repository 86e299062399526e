"""Values out of printed Python: argument dictionaries, ``Namespace(...)``, the engine's config line.

The text is somebody's log, so nothing of it is evaluated: it is split at its top-level commas, and each
value is read as a literal by itself. What is no literal (an object's repr, a cut text) is named, not guessed.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from triage.values import CLOSE, LENGTH_LIMIT, OPEN, UnreadableError, depth_of, literal, outside_quotes, split

TEXT_LIMIT = 100_000
"""Characters of one dump that are looked at."""

VALUE_LIMIT = LENGTH_LIMIT
"""Characters of one value."""

ITEMS_LIMIT = 600
"""Items of one dump; vLLM has about 250 arguments."""

DEPTH_LIMIT = 24
"""Brackets inside one another in one value."""

INTEGER_DIGITS = 18
"""Digits of an integer that is still taken for one."""

CUT = "..."
"""Stands among the unusable names where the dump itself was cut, so that arguments may be lacking."""

SECRET_ARGS = frozenset({"api_key", "hf_token"})
"""Arguments whose value is never kept; ``***`` says that they were set."""

MASK = "***"

_NAME = re.compile(r"[A-Za-z_]\w{0,80}", re.ASCII)
_ENUM = re.compile(r"<[\w.]{1,120}: (.+)>", re.DOTALL)
_DTYPE = re.compile(r"torch\.(\w{1,30})")
_PATH = re.compile(r"(?:Posix|PurePosix|Windows)Path\((.+)\)", re.DOTALL)
_CALL = re.compile(r"([A-Za-z_][\w.]{0,120})\((.*)\)", re.DOTALL)
_WORD = re.compile(r"[^\s'\"<>()\[\]{},=]{1,300}")


@dataclass(slots=True)
class Dump:
    """What a dump of arguments says: values by name, and the names whose values cannot be turned back."""

    values: dict[str, object] = field(default_factory=dict)
    unusable: list[str] = field(default_factory=list)


def read_dict(text: str) -> Dump:
    """Read the repr of a dictionary with names for keys, as in ``non-default args: {...}``.

    Args:
        text: from the opening brace on; what follows the closing one is ignored.
    """
    dump = Dump()
    body, closed = _body(text, "{")
    for item in _items(body, closed, dump):
        key, colon, value = _halves(item, ":")
        try:
            name = read_value(key) if colon else None
        except UnreadableError:
            name = None
        _take(dump, name if isinstance(name, str) else None, value)
    return dump


def read_namespace(text: str) -> Dump:
    """Read ``Namespace(a=1, b='x')``, or any such list of keywords in brackets.

    Args:
        text: from the opening bracket on; what follows the closing one is ignored.
    """
    dump = Dump()
    body, closed = _body(text, "(")
    for item in _items(body, closed, dump):
        name, equals, value = _halves(item, "=")
        _take(dump, name.strip() if equals else None, value)
    return dump


def read_config(text: str) -> dict[str, object]:
    """Read ``model='x', dtype=torch.float16, tokenizer_mode=auto, ...``: only what is plain.

    Words stand without quotes here. Objects, and what follows a cut, are left out.
    """
    values: dict[str, object] = {}
    for item in split(text[:TEXT_LIMIT], lenient=True):
        name, equals, value = _halves(item, "=")
        name, value = name.strip(), value.strip().rstrip(",")
        if not equals or not _NAME.fullmatch(name) or name in values:
            continue
        try:
            read = read_value(value)
        except UnreadableError:
            if not _WORD.fullmatch(value):
                continue
            read = value
        if read is None or isinstance(read, (bool, int, float, str)):
            values[name] = read
    return values


def read_call(text: str) -> Dump:
    """Read the keywords of a call in source code, ``(model="x", max_num_seqs=64)``; a first positional is ``model``.

    Args:
        text: from the opening bracket on; a call that does not end in this text gives nothing.
    """
    dump = Dump()
    body, closed = _body(text, "(")
    if not closed:
        return dump
    for place, item in enumerate(_items(body, closed, dump)):
        name, equals, value = _halves(item, "=")
        if not equals and place == 0:
            name, value = "model", item
        _take(dump, name.strip(), value)
    return dump


def read_value(text: str) -> object:
    """Read one printed value.

    Returns:
        None, bool, int, float, str, or lists and dictionaries of them; tuples become lists, an enumeration's
        member its value, ``torch.bfloat16`` the text "bfloat16".

    Raises:
        UnreadableError: the text is not such a value, or beyond the bounds.
    """
    text = text.strip()
    if len(text) > VALUE_LIMIT or not text:
        raise UnreadableError(text[:80])
    for _ in range(DEPTH_LIMIT):  # one inside the other: an enumeration's member that is a path
        if (inner := _ENUM.fullmatch(text) or _PATH.fullmatch(text)) is None:
            break
        text = inner[1].strip()
    if dtype := _DTYPE.fullmatch(text):
        return dtype[1]
    if depth_of(text) > DEPTH_LIMIT:
        raise UnreadableError(text[:80])
    return _plain(literal(text))


def read_lora_modules(text: str) -> list[str]:
    """Read ``[LoRAModulePath(name='sql', path='/loras/sql', ...)]`` back to the flag's own words.

    Raises:
        UnreadableError: an item is not such an object.
    """
    body, closed = _body(text, "[")
    if not closed:
        raise UnreadableError(text[:80])
    modules: list[str] = []
    for item in split(body, lenient=True):
        call = _CALL.fullmatch(item.strip())
        if call is None or call[1].rpartition(".")[2] != "LoRAModulePath":
            raise UnreadableError(item[:80])
        dump = read_namespace(f"({call[2]})")
        name, path = dump.values.pop("name", None), dump.values.pop("path", None)
        if dump.unusable or not isinstance(name, str) or not isinstance(path, str):
            raise UnreadableError(item[:80])
        further = {key: value for key, value in dump.values.items() if value not in (None, False)}
        plain = not further and "=" not in name
        modules.append(f"{name}={path}" if plain else json.dumps({"name": name, "path": path, **further}))
    return modules


def _take(dump: Dump, name: str | None, text: str) -> None:
    if name is None or not _NAME.fullmatch(name):
        # A damaged item: an argument is there, its name is not.
        _mark(dump, CUT)
        return
    if name in dump.values or name in dump.unusable:
        return
    if name in SECRET_ARGS:
        if text.strip() not in ("None", "''", '""'):
            dump.values[name] = MASK
        return
    try:
        value = read_lora_modules(text.strip()) if "LoRAModulePath(" in text else read_value(text)
    except UnreadableError:
        _mark(dump, name)
        return
    if _masked(value):
        _mark(dump, name)
    else:
        dump.values[name] = value


def _mark(dump: Dump, name: str) -> None:
    if name not in dump.unusable:
        dump.unusable.append(name)


def _masked(value: object) -> bool:
    if isinstance(value, str):
        return MASK in value or value.lower() in ("<redacted>", "[redacted]", "redacted")
    if isinstance(value, Mapping):
        return any(_masked(item) for item in value.values())
    return isinstance(value, list) and any(_masked(item) for item in value)


def _plain(value: object) -> object:
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if abs(value) >= 10**INTEGER_DIGITS:
            raise UnreadableError("integer out of bounds")
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise UnreadableError("no finite number")
        return value
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: _plain(item) for key, item in value.items()}
    raise UnreadableError(type(value).__name__)


def _body(text: str, bracket: str) -> tuple[str, bool]:
    """The text between the brackets, and whether the closing one is there."""
    text = text.lstrip()[:TEXT_LIMIT]
    if not text.startswith(bracket):
        return "", False
    stack: list[str] = []
    for place, char in outside_quotes(text):
        if char in OPEN:
            stack.append(OPEN[char])
        elif char in CLOSE:
            if not stack or stack.pop() != char:
                break
            if not stack:
                return text[1:place], True
    return text[1:], False


def _items(body: str, closed: bool, dump: Dump) -> Iterator[str]:
    items = list(split(body, lenient=True))
    if len(items) > ITEMS_LIMIT:
        items, closed = items[:ITEMS_LIMIT], False
        items.append("")
    if not closed:
        # The last item may be cut in its middle and still read as a value.
        name = re.split(r"[:=]", items.pop(), maxsplit=1)[0].strip(" '\"") if items else ""
        _mark(dump, CUT)
        if _NAME.fullmatch(name):
            _mark(dump, name)
    for item in items:
        if item.strip() in (CUT, "…"):
            _mark(dump, CUT)
        elif item.strip():
            yield item


def _halves(item: str, separator: str) -> tuple[str, str, str]:
    """An item's parts before and after its first top-level separator."""
    depth = 0
    for place, char in outside_quotes(item):
        if char in OPEN:
            depth += 1
        elif char in CLOSE:
            depth -= 1
        elif char == separator and depth == 0:
            return item[:place], separator, item[place + 1 :]
    return item, "", ""
