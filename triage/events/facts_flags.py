"""Arguments out of the words of a launch command, under vLLM's own names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping

from triage.events.facts_values import DEPTH_LIMIT, MASK, SECRET_ARGS, VALUE_LIMIT

SHORT: Mapping[str, str] = {
    "-ac": "attention_config",
    "-asc": "api_server_count",
    "-cc": "compilation_config",
    "-dcp": "decode_context_parallel_size",
    "-dp": "data_parallel_size",
    "-ep": "enable_expert_parallel",
    "-n": "nnodes",
    "-pcp": "prefill_context_parallel_size",
    "-pp": "pipeline_parallel_size",
    "-q": "quantization",
    "-r": "node_rank",
    "-sc": "speculative_config",
    "-tp": "tensor_parallel_size",
}
"""Short forms of flags, from the argument parser of vLLM 0.33.0 (``engine/arg_utils.py``)."""

_INTEGER = re.compile(r"-?\d{1,15}")
_FLOAT = re.compile(r"-?\d{0,15}\.\d{1,15}(?:[eE][+-]?\d{1,2})?")
_NUMBER = re.compile(r"-\d[\d.]*")


def flag_args(words: tuple[str, ...]) -> dict[str, object]:
    """Read flags and their values.

    Args:
        words: those behind ``vllm serve``, the module or the image; a leading positional is the model.

    Returns:
        Values by argument name: numbers as numbers, JSON as lists and dictionaries, True for a bare flag, several
        values as a list. Secrets are masked, values with a shell variable in them left out.
    """
    args: dict[str, object] = {}
    place = 0
    if words and not words[0].startswith("-"):
        _put(args, "model_tag", [words[0]])
        place = 1
    while place < len(words):
        word = words[place]
        place += 1
        if not _is_flag(word):
            continue
        flag, equals, value = word.partition("=")
        values = [value] if equals else []
        while not equals and place < len(words) and not _is_flag(words[place]):
            values.append(words[place])
            place += 1
        name = SHORT.get(flag) or flag.lstrip("-").replace("-", "_")
        if "." not in name and re.fullmatch(r"\w{1,80}", name):
            _put(args, name, values)
    return args


def unquote(word: str) -> str | None:
    """The value of a word as ``facts_launch`` writes it; None where a shell variable stands in it."""
    if word.startswith(('"', "~/")) or re.match(r'[A-Za-z_]\w*="', word):
        return None
    try:
        parts = shlex.split(word)
    except ValueError:
        return None
    return parts[0] if len(parts) == 1 else ("" if not parts else None)


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _NUMBER.fullmatch(word)


def _put(args: dict[str, object], name: str, words: list[str]) -> None:
    if name in SECRET_ARGS:
        args[name] = MASK
        return
    values = [unquote(word) for word in words]
    if None in values:
        return
    read = [_read(value) for value in values if value is not None]
    if not read:
        args[name.removeprefix("no_")] = not name.startswith("no_")
    else:
        args[name] = read[0] if len(read) == 1 else read


def _read(value: str) -> object:
    if _INTEGER.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value):
        return float(value)
    bracketed = value[:1] in ("{", "[") and len(value) <= VALUE_LIMIT
    if bracketed and value.count("{") + value.count("[") <= DEPTH_LIMIT:
        try:
            read: object = json.loads(value)
        except ValueError:
            return value
        return read
    return value
