"""Lines of names and values, and rows of tables: how Go programs log, and how consoles export logs."""

from __future__ import annotations

import orjson
import regex

from triage.read.json_lines import Unwrapped, read_quoted

PAIRS_LIMIT = 60
"""Pairs of one line that are read."""

_PAIR = regex.compile(r'(?P<name>[A-Za-z_@][\w.@/-]{0,60})=(?:(?P<quoted>"(?:[^"\\]|\\.)*")|(?P<bare>[^\s"]*))(?: +|$)')
_START = regex.compile(r"(?:time|ts|t|level|lvl|timestamp|msg|app|component|source|caller|logger)=\S")
_NAMES = {
    "time": "time", "ts": "time", "t": "time", "timestamp": "time", "level": "level", "lvl": "level",
    "pod": "pod", "pid": "pid", "rank": "rank", "process": "process",
}  # fmt: skip
_CALLER = regex.compile(r"(?:.*/)?(?P<file>[\w.-]+):(?P<line>\d+)$")
_LEVELS = {"warn": "WARNING", "err": "ERROR", "fatal": "CRITICAL", "panic": "CRITICAL", "crit": "CRITICAL"}
_CLOCK = r"(?:\d{13}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z| ?UTC|[+-]\d\d:?\d\d)?)"
_ROW = regex.compile(rf'"?(?P<time>{_CLOCK})"?,(?:[\w./$\[\]-]{{1,200}},)?(?P<text>".*|[^,"].*)$')


def read_logfmt(text: str) -> list[Unwrapped] | None:
    """Give the lines of a line of pairs (``time="..." level=info msg="..."``), each with what the pairs said.

    Args:
        text: a line, its envelopes off.

    Returns:
        None where it is none: pairs all along, among them a message and a level or a clock.
    """
    if _START.match(text) is None:
        return None
    pairs: dict[str, str] = {}
    at = 0
    for _ in range(PAIRS_LIMIT):
        if (found := _PAIR.match(text, at)) is None:
            break
        value = _unquoted(found["quoted"]) if found["quoted"] else found["bare"]
        pairs.setdefault(found["name"], value)
        at = found.end()
    message = pairs.get("msg") or pairs.get("message")
    if at < len(text) or not message or not any(name in pairs for name in ("level", "lvl", "time", "ts", "t")):
        return None
    said = {key: pairs[name] for name, key in _NAMES.items() if pairs.get(name)}
    if "level" in said:
        # Docker's model runner and other supervisors relay all lines of a program at one level.
        level = said.pop("level").lower()
        if "component" not in pairs and "stream" not in pairs:
            said["level"] = _LEVELS.get(level, level.upper())
    if found := _CALLER.match(pairs.get("caller") or pairs.get("source") or ""):
        said.update(found.groupdict())
    lines = message.rstrip("\n").split("\n")
    for name in ("err", "error", "stacktrace", "stack", "exc_info", "exception"):
        if pairs.get(name) and pairs[name] not in message:
            lines += pairs[name].rstrip("\n").split("\n")
    return [(line, said) for line in lines]


def read_row(text: str) -> list[Unwrapped] | None:
    """Give the lines of a row of an export (CloudWatch: a clock in milliseconds, a comma, the message).

    Args:
        text: a line, its envelopes off.

    Returns:
        None where it is no such row.
    """
    if (found := _ROW.match(text)) is None:
        return None
    said, body = {"time": found["time"]}, found["text"]
    if not body.startswith('"'):
        return [(body, said)]
    if (read := read_quoted(body)) is not None:
        return [(line, {**more, **said}) for line, more in read]
    # The quotation goes on in the next lines.
    return [(body[1:].replace('""', '"'), said)]


def _unquoted(text: str) -> str:
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text[1:-1].replace('\\"', '"').replace("\\n", "\n")
    return read if isinstance(read, str) else text[1:-1]
