"""JSON log lines: what a log collector or a structured logger wrapped, put back to what the program printed.

Loggers name their fields as each likes. Names are compared without case and without what joins their words
("log.level", "log_level", "LogLevel"), and found in the objects that shippers nest a line's fields in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson
import regex

JSON_LIMIT = 1 << 18
"""Characters of a line that are read as JSON."""

NESTED_LIMIT = 4
"""Objects inside objects that fields are looked for in."""

Unwrapped = tuple[str, dict[str, str]]
"""A line, and what its wrapper said: the names of a record's fields ("level", "time", "pod", "file", "line")."""

# What is always a log line's text, and what is one only where a level, a clock or a stream stands beside it: a
# server's answers and requests are JSON as well.
_TEXT = ("message", "msg", "textpayload", "logmessage", "logentry")
_WEAK_TEXT = ("log", "text", "line", "event", "body", "shortmessage", "raw")
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "level": ("level", "levelname", "severity", "severitytext", "loglevel", "lvl", "levelno", "priority"),
    "time": (
        "time", "timestamp", "ts", "asctime", "datetime", "eventtime", "created", "realtimetimestamp", "timegenerated",
    ),
    "pod": ("podname", "pod", "kubernetespodname", "k8spodname", "host", "hostname"),
    "process": ("processname",),
    "pid": ("pid", "process", "processid", "processpid"),
    "rank": ("rank", "globalrank"),
    "file": ("filename", "pathname", "file", "logoriginfilename", "codefilepath", "codefile"),
    "line": ("lineno", "linenumber", "logoriginfileline", "codelineno", "codeline", "line"),
}  # fmt: skip
_TRACE = (
    "excinfo",
    "exception",
    "stacktrace",
    "traceback",
    "exctext",
    "stack",
    "errorstacktrace",
    "exceptionstacktrace",
)
# Objects that hold a line's fields: Google Cloud, loguru, Elastic, OpenTelemetry, Loki, Kubernetes' shippers.
_NESTED = (
    "jsonpayload", "record", "fields", "data", "source", "log", "kubernetes", "k8s", "labels", "resource", "attributes",
    "process", "origin", "file", "error", "level", "time", "stream", "extra", "exception", "elapsed",
    "result",
)  # fmt: skip
_SIGNS = ("level", "time")
_BESIDE = frozenset({"stream", "kubernetes", "labels", "logger", "loggername", "record", "container", "containername"})

# pino and bunyan number their levels, Python does too, and syslog from the other end.
_PINO = {10: "TRACE", 20: "DEBUG", 30: "INFO", 40: "WARNING", 50: "ERROR", 60: "CRITICAL"}
_PYTHON = {10: "DEBUG", 20: "INFO", 30: "WARNING", 40: "ERROR", 50: "CRITICAL"}
_NAMES = {
    "V": "TRACE", "VERBOSE": "DEBUG", "INFORMATION": "INFO", "INFORMATIONAL": "INFO", "NOTICE": "INFO",
    "WARN": "WARNING", "ERR": "ERROR", "ALERT": "CRITICAL", "EMERGENCY": "CRITICAL", "EMERG": "CRITICAL",
    "CRIT": "CRITICAL", "PANIC": "CRITICAL", "DPANIC": "CRITICAL", "FATAL": "CRITICAL", "SEVERE": "ERROR",
}  # fmt: skip
_LEVELS = frozenset({"TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"})

_JOINTS = regex.compile(r"[_.@\- ]+")
_CALLER = regex.compile(r"(?:.*[/\\])?(?P<file>[\w.-]+):(?P<line>\d+)(?::\w+)?$")
_COLLECTED = regex.compile(
    r"(?P<time>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [+-]\d{4}) [\w.*-]{1,200}: (?P<json>\{.*\})$"  # fluentd
    r"|\[\d+\] [\w.*-]{1,200}: \[+(?P<time>1\d{9}\.\d+), (?:\{[^{}]{0,200}\}\], )?(?P<json>\{.*\})\]$"  # fluent-bit
)


def read_json(text: str, *, is_log: bool = False) -> list[Unwrapped] | None:
    """Give the lines that a JSON log line stands for, each with what the line said.

    Args:
        text: a line that begins with a brace.
        is_log: whether a collector's own words before it say that it is a log line.

    Returns:
        None where it is no JSON, or JSON that is no log line.
    """
    data = _object(text)
    if data is None:
        return None
    if (body := _error_body(data)) is not None:
        return [(line, {}) for line in body.split("\n")]
    fields = dict(reversed([*_flat(data, NESTED_LIMIT)]))  # the outermost of a name wins
    said = dict(_said(fields))
    body_text = next((found for name in _TEXT if (found := _as_text(fields.get(name))) is not None), None)
    if body_text is None and (is_log or any(name in said for name in _SIGNS) or not _BESIDE.isdisjoint(fields)):
        body_text = next((found for name in _WEAK_TEXT if (found := _as_text(fields.get(name))) is not None), None)
    if body_text is None:
        return None
    lines = body_text.rstrip("\r\n").split("\n")
    for name in _TRACE:
        if isinstance(trace := fields.get(name), str) and trace.strip() and trace.strip() not in body_text:
            lines += trace.strip("\n").split("\n")
    return [(line.rstrip("\r"), said) for line in lines]


def read_collected(text: str) -> list[Unwrapped] | None:
    """Give the lines of what fluentd and fluent-bit print: a clock, a tag and an object, JSON or Ruby's.

    Args:
        text: a line.

    Returns:
        None where it is nothing of theirs.
    """
    if len(text) > JSON_LIMIT or (found := _COLLECTED.match(text)) is None:
        return None
    read = read_json(found["json"].replace('"=>', '":'), is_log=True)
    return [(line, {"time": found["time"], **said}) for line, said in read] if read else None


def read_quoted(text: str) -> list[Unwrapped] | None:
    r"""Give the lines of a text that its wrapper quoted whole, with ``\n`` or doubled quotes inside.

    Args:
        text: what stands behind a prefix.

    Returns:
        None where it is not one quotation, or a plain one.
    """
    if len(text) > JSON_LIMIT or len(text) < 2 or text[-1] != '"':
        return None
    body = text[1:-1]
    if '""' in body:  # a row of a table
        return None if '"' in body.replace('""', "") else _lines(body.replace('""', '"'))
    try:
        read = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return _lines(read) if isinstance(read, str) else None


def _lines(text: str) -> list[Unwrapped]:
    return [(line.rstrip("\r"), {}) for line in text.rstrip("\n").split("\n")]


def _object(text: str) -> dict[str, Any] | None:
    if len(text) > JSON_LIMIT:
        return None
    try:
        data = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return data if isinstance(data, dict) else None


def _flat(data: Mapping[str, Any], depth: int) -> Iterator[tuple[str, Any]]:
    """The fields of an object and of those nested in it, under plain names, the outer ones first."""
    nested = []
    for name, value in data.items():
        plain = _JOINTS.sub("", name).lower()
        yield plain, value
        if isinstance(value, dict) and plain in _NESTED:
            nested.append((plain, value))
    if depth:
        for plain, value in nested:
            for inner, held in _flat(value, depth - 1):
                yield inner, held
                yield plain + inner, held


def _said(fields: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, names in _FIELDS.items():
        for name in names:
            value = fields.get(name)
            said = _level(name, value) if key == "level" else _as_said(value)
            if said is None or (key in ("pid", "rank", "line") and not said.isdecimal()):
                continue
            yield key, said.replace("\\", "/").rsplit("/", 1)[-1] if key == "file" else said
            break
    if isinstance(caller := fields.get("caller"), str) and (found := _CALLER.match(caller[:1000])):
        yield "file", found["file"]
        yield "line", found["line"]


def _level(name: str, value: object) -> str | None:
    if isinstance(value, dict):  # loguru
        value = value.get("name")
    if isinstance(value, str) and value.isdecimal() and len(value) < 3:  # journald
        value = int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        if name == "priority":
            return None  # of journald: all of a channel's lines have the same
        return (_PYTHON if name == "levelno" else _PINO).get(value)
    if not isinstance(value, str):
        return None
    level = value.strip().upper()
    level = _NAMES.get(level, level)
    return level if level in _LEVELS else None


def _as_said(value: object) -> str | None:
    if isinstance(value, dict):  # loguru: {"name": "core.py", "path": ...}, {"id": 7}, {"repr": ..., "timestamp": ...}
        value = next((value[name] for name in ("name", "id", "repr", "pid") if name in value), None)
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)[:300] or None


def _as_text(value: object) -> str | None:
    """A text field's value: journald writes bytes that are no plain text as an array, OpenTelemetry wraps it."""
    if isinstance(value, dict):
        value = value.get("stringValue")
    if isinstance(value, list) and value and all(isinstance(byte, int) and 0 <= byte < 256 for byte in value):
        return bytes(value).decode("utf-8", "backslashreplace")
    return value if isinstance(value, str) else None


def _error_body(data: dict[str, Any]) -> str | None:
    """The message of an API error body behind its class; formerly ``{"object": "error", "message": ...}``."""
    error = data.get("error")
    body = error if isinstance(error, dict) else data if data.get("object") == "error" else None
    if (
        body is None
        or not isinstance(body.get("message"), str)
        or (body is error and isinstance(data.get("message"), str))
    ):
        return None
    kind = body.get("type")
    return f"{kind if isinstance(kind, str) and kind.isidentifier() else 'APIError'}: {body['message']}"
