"""Arguments out of the words of a launch command, under vLLM's own names."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from triage.events.facts_values import DEPTH_LIMIT, MASK, SECRET_ARGS, VALUE_LIMIT, Dump

SHORT: Mapping[str, str] = {
    "-O": "compilation_config",
    "-ac": "attention_config",
    "-asc": "api_server_count",
    "-cc": "compilation_config",
    "-dc": "diffusion_config",
    "-dcp": "decode_context_parallel_size",
    "-dp": "data_parallel_size",
    "-dpa": "data_parallel_address",
    "-dpb": "data_parallel_backend",
    "-dpe": "data_parallel_external_lb",
    "-dph": "data_parallel_hybrid_lb",
    "-dpl": "data_parallel_size_local",
    "-dpm": "data_parallel_multi_port_external_lb",
    "-dpn": "data_parallel_rank",
    "-dpp": "data_parallel_rpc_port",
    "-dpr": "data_parallel_start_rank",
    "-ep": "enable_expert_parallel",
    "-n": "nnodes",
    "-pcp": "prefill_context_parallel_size",
    "-pp": "pipeline_parallel_size",
    "-q": "quantization",
    "-r": "node_rank",
    "-sc": "speculative_config",
    "-spec-draft-tp": "speculative_draft_tensor_parallel_size",
    "-tp": "tensor_parallel_size",
}
"""Short forms of flags of vLLM 0.6 to 0.33; tests hold them, and the tables below, to the generated file of flags."""

SEVERAL = frozenset(
    {
        "allowed_media_domains",
        "api_key",
        "collect_detailed_traces",
        "cpu_offload_params",
        "cuda_graph_sizes",
        "cudagraph_capture_sizes",
        "ignore_patterns",
        "kv_cache_dtype_skip_layers",
        "logits_processors",
        "long_lora_scaling_factors",
        "lora_modules",
        "lora_target_modules",
        "numa_bind_cpus",
        "numa_bind_nodes",
        "offload_params",
        "prompt_adapters",
        "served_model_name",
        "sleep_preserve_parameter_names",
    }
)
"""Arguments that take several words (``nargs="+"``) in a release from 0.6 to 0.33; all others take one or none.

``allowed_origins`` and its like are one word of JSON, ``middleware`` is repeated.
"""

BOOLEANS = frozenset({"enable_chunked_prefill", "multi_step_stream_outputs", "disable_logprobs_during_spec_decoding"})
"""Switches that old releases let be followed by true or false."""

SWITCHES = re.compile(
    r"no_\w+|(?:enable|disable)_(?!access_log_for_endpoints)\w+|engine_use_ray|worker_use_ray|ray_workers_use_nsight"
    r"|use_(?:v2_block_manager|tqdm_on_load|fp64_gumbel|replayssm|gpu_for_pooling_score)|enforce_eager|headless|grpc"
    r"|trust_(?:remote_code|request_chat_template|request_mm_kwargs)|allow_(?:credentials|deprecated_quantization)"
    r"|data_parallel_(?:external_lb|hybrid_lb|multi_port_external_lb)|skip_(?:tokenizer_init|mm_profiling)|numa_bind"
    r"|exclude_tools_when_tool_choice_none|expand_tools_even_if_tool_choice_none|fully_sharded_loras|calculate_kv_scales"
    r"|return_(?:tokens_as_token_ids|sampling_mask)|async_scheduling|language_model_only|kv_sharing_fast_prefill|monokernel"
    r"|guided_decoding_disable_\w+|speculative_disable_mqa_scorer|(?:cudagraph|kv_cache)_metrics|interleave_mm_strings"
    r"|fail_on_environ_validation|mm_(?:encoder_only|cache_preprocessor|device_do_normalize)|specialize_active_lora|tokens_only|scheduler_reserve_full_isl"
    r"|aggregate_engine_logging|cohere_is_reasoning_model|dcp_q_replicate|eplb_log_balancedness|jit_monitor_verbose"
    r"|log_error_stack|long_prefill_token_threshold_adaptive|sleep_mode_offload_cudagraph|swa_bounded_replay"
)
"""Arguments that take no word, from the same releases."""

_HUMAN = frozenset(
    {
        "kv_cache_memory_bytes",
        "max_model_len",
        "max_num_batched_tokens",
        "max_num_queued_tokens",
        "max_num_scheduled_tokens",
        "safetensors_prefetch_block_size",
    }
)
_HUMAN_NUMBER = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([kmgtKMGT])")
_POWERS: Mapping[str, int] = {"k": 1, "m": 2, "g": 3, "t": 4}
_PAIRS = frozenset({"limit_mm_per_prompt"})
_PAIR_LIST = re.compile(r"\w{1,40}=\d{1,9}(?:,\w{1,40}=\d{1,9}){0,20}")
_INTEGER = re.compile(r"-?\d{1,15}")
_FLOAT = re.compile(r"-?\d{0,15}\.\d{1,15}(?:[eE][+-]?\d{1,2})?")
_NUMBER = re.compile(r"-\d[\d.]*")
_NAME = re.compile(r"\w{1,80}", re.ASCII)
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
_LEVEL = re.compile(r"[0-3]")
_GLUED_LEVEL = re.compile(r"-O=?([0-3])")
# A word with the patterns of a shell, unquoted, as facts_launch writes it.
_PATTERN = re.compile(r"\\[*?{}]")


class Given(NamedTuple):
    """A flag with its values, or (flag: None) a positional; a value of None has a shell variable in it.

    name: the argument's name; path: the key inside it (``.method``), without the dot.
    """

    name: str | None
    path: str
    values: list[str | None]


def flag_args(words: tuple[str, ...]) -> Dump:
    """Read flags and their values.

    Args:
        words: those behind ``vllm serve``, the module or the image; the first positional is the model.

    Returns:
        Values by argument name: numbers as numbers, JSON as lists and dictionaries, True for a bare flag, several
        values as a list, keys given by themselves (``-sc.method``) as the dictionary that they make up. Secrets are
        masked; arguments whose value only a shell knows are named as unusable.
    """
    dump = Dump()
    inside: dict[str, object] = {}
    for given in groups(words):
        if given.name is None:
            if "model_tag" not in dump.values and "model_tag" not in dump.unusable:
                _put(dump, "model_tag", given.values)
        elif given.path:
            _put_inside(dump, inside, given)
        else:
            _put(dump, given.name, given.values)
    # vLLM puts such keys behind all else, where they take the place of the whole value.
    dump.values.update({name: value for name, value in inside.items() if name not in dump.unusable})
    return dump


def groups(words: tuple[str, ...]) -> Iterator[Given]:
    """The flags, each with the words that vLLM's parser gives it, and the positionals, in order."""
    values = [unquote(word) for word in words]
    place = 0
    while place < len(words):
        # Up to its variable a word can still be seen to be a flag.
        text = _text(words[place], values[place])
        place += 1
        if text == "--":
            yield from (Given(None, "", [value]) for value in values[place:])
            return
        if not _is_flag(text):
            yield Given(None, "", [values[place - 1]])
            continue
        if level := _GLUED_LEVEL.fullmatch(text):
            yield Given("optimization_level", "", [level[1]])
            continue
        flag, equals, value = text.partition("=")
        base, _, path = flag.partition(".")
        name = SHORT.get(base) or base.lstrip("-").replace("-", "_")
        taken: list[str | None] = [value if values[place - 1] is not None else None] if equals else []
        if not equals:
            most = 1 if path else _takes(name, values[place] if place < len(words) else None)
            while place < len(words) and len(taken) < most and not _is_flag(_text(words[place], values[place])):
                taken.append(values[place])
                place += 1
        if base == "-O" and not path and len(taken) == 1 and _LEVEL.fullmatch(taken[0] or ""):
            name = "optimization_level"
        if _NAME.fullmatch(name):
            yield Given(name, path, taken)


def unquote(word: str) -> str | None:
    """The value of a word as ``facts_launch`` writes it; None where a shell variable or a pattern stands in it."""
    if word.startswith(('"', "~")) or re.match(r'[A-Za-z_]\w*="', word) or _is_pattern(word):
        return None
    try:
        parts = shlex.split(word)
    except ValueError:
        return None
    return parts[0] if len(parts) == 1 else ("" if not parts else None)


def _is_pattern(word: str) -> bool:
    return "'" not in word and '"' not in word and bool(_PATTERN.search(word))


def _text(word: str, value: str | None) -> str:
    return word.lstrip('"') if value is None else value


def _takes(name: str, following: str | None) -> int:
    if name in SEVERAL:
        return VALUE_LIMIT
    if name in BOOLEANS:
        return int(bool(_BOOLEAN.fullmatch(following or "")))
    return 0 if SWITCHES.fullmatch(name) else 1


def _is_flag(word: str) -> bool:
    return word.startswith("-") and word != "-" and not _NUMBER.fullmatch(word)


def _put(dump: Dump, name: str, values: list[str | None]) -> None:
    if name in SECRET_ARGS:
        dump.values[name] = MASK
        return
    read = [_read(name, value) for value in values if value is not None]
    if len(read) < len(values):
        dump.values.pop(name, None)
        dump.unusable += [] if name in dump.unusable else [name]
    elif not read:
        dump.values[name.removeprefix("no_")] = not name.startswith("no_")
    else:
        dump.values[name] = read[0] if len(read) == 1 else read


def _put_inside(dump: Dump, inside: dict[str, object], given: Given) -> None:
    value = given.values[0] if given.values else None
    *outer, last = given.path.removesuffix("+").split(".")
    if value is None or given.name is None or len(outer) > DEPTH_LIMIT:
        dump.unusable += [] if given.name is None or given.name in dump.unusable else [given.name]
        return
    target: object = inside.setdefault(given.name, {})
    for key in outer:
        target = target.setdefault(key, {}) if isinstance(target, dict) else None
    if not isinstance(target, dict):
        dump.unusable += [] if given.name in dump.unusable else [given.name]
    elif given.path.endswith("+"):
        present = target.get(last)
        target[last] = [*(present if isinstance(present, list) else []), *value.split(",")]
    else:
        target[last] = _inner(value)


def _inner(value: str) -> object:
    words = {"true": True, "false": False, "null": None}
    if value in words:
        return words[value]
    read = _read("", value)
    return _human(value) if isinstance(read, str) else read


def _read(name: str, value: str) -> object:
    if _INTEGER.fullmatch(value):
        return int(value)
    if _FLOAT.fullmatch(value):
        return float(value)
    if name in _HUMAN:
        return -1 if name == "max_model_len" and value.lower() == "auto" else _human(value)
    if name in BOOLEANS and _BOOLEAN.fullmatch(value):
        return value.lower() == "true"
    if name in _PAIRS and _PAIR_LIST.fullmatch(value):
        return {key: int(number) for key, _, number in (pair.partition("=") for pair in value.split(","))}
    bracketed = value[:1] in ("{", "[") and len(value) <= VALUE_LIMIT
    if bracketed and value.count("{") + value.count("[") <= DEPTH_LIMIT:
        try:
            read: object = json.loads(value)
        except ValueError:
            return value
        return read
    return value


def _human(value: str) -> object:
    """``4k`` is 4000 and ``4K`` 4096, as vLLM reads them; a text that is no such number stays."""
    number = _HUMAN_NUMBER.fullmatch(value.strip())
    if number is None:
        return value
    digits, suffix = number.groups()
    if suffix.islower():
        return int(float(digits) * 1000 ** _POWERS[suffix])
    return value if "." in digits else int(digits) * 1024 ** _POWERS[suffix.lower()]
