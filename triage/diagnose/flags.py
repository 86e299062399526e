"""What vLLM's own parser makes of the words behind it: which of them are flags, and how many words each takes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from triage.diagnose.words import Word

WORDS_LIMIT = 400
"""Words that one flag may take."""

SHORT: Mapping[str, str] = {
    "-O": "--compilation-config",
    "-ac": "--attention-config",
    "-asc": "--api-server-count",
    "-cc": "--compilation-config",
    "-dc": "--diffusion-config",
    "-dcp": "--decode-context-parallel-size",
    "-dp": "--data-parallel-size",
    "-dpa": "--data-parallel-address",
    "-dpb": "--data-parallel-backend",
    "-dpe": "--data-parallel-external-lb",
    "-dph": "--data-parallel-hybrid-lb",
    "-dpl": "--data-parallel-size-local",
    "-dpm": "--data-parallel-multi-port-external-lb",
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
    "-spec-draft-tp": "--speculative-draft-tensor-parallel-size",
    "-tp": "--tensor-parallel-size",
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

JSON_LISTS = frozenset({"allowed_origins", "allowed_methods", "allowed_headers"})
"""Lists that are one word of JSON."""

REPEATED = frozenset({"middleware"})
"""Lists whose flag stands once for each of their items."""

OPTIMIZATION_LEVEL = "--optimization-level"
"""What ``-O3`` is from 0.12 on; before, the level of ``--compilation-config``."""

_NEGATIVE = re.compile(r"-\d[\d.]*")
_BOOLEAN = re.compile(r"true|false", re.IGNORECASE)
_GLUED_LEVEL = re.compile(r"-O=?[0-3]")
_LEVEL = re.compile(r"[0-3]")


class Span(NamedTuple):
    """Words that belong together: a flag and its values, or (flag: None) a positional.

    start, end: the place of the first word, and the place behind the last.
    """

    start: int
    end: int
    flag: str | None


def spans(words: Sequence[Word], args: Mapping[str, object]) -> Iterator[Span]:
    """The flags with the words that are theirs, and the positionals, in order; ``--`` is neither.

    Args:
        words: those behind ``vllm serve``, the module or the image.
        args: values by name, where the log has them; they tell switches and lists from single values.
    """
    place = 0
    while place < len(words):
        start = place
        place += 1
        if is_end(words[start]):
            yield from (Span(rest, rest + 1, None) for rest in range(place, len(words)))
            return
        if not is_flag(words[start]):
            yield Span(start, place, None)
            continue
        text = words[start].start
        flag = flag_name(text)
        if "=" not in text and not _GLUED_LEVEL.fullmatch(text):
            most = _takes(flag, words[place].value if place < len(words) else None, args)
            while place < len(words) and place - start <= most and not is_flag(words[place]):
                place += 1
            if text == "-O" and place > start + 1 and _LEVEL.fullmatch(words[start + 1].value or ""):
                flag = OPTIMIZATION_LEVEL
        yield Span(start, place, flag)


def is_end(word: Word) -> bool:
    """Whether a word ends the flags."""
    return word.value == "--"


def is_flag(word: Word) -> bool:
    """Whether a word is a flag, not a value (a negative number is one)."""
    text = word.start
    return text.startswith("-") and text != "-" and not (word.value is not None and _NEGATIVE.fullmatch(text))


def flag_name(text: str) -> str:
    """A flag in its long form with dashes: ``-tp``, ``--max_num_seqs=4`` and ``--max-num-seqs`` are one each."""
    if _GLUED_LEVEL.fullmatch(text):
        return OPTIMIZATION_LEVEL
    base, dot, path = text.partition("=")[0].partition(".")
    return (SHORT.get(base) or base.replace("_", "-")) + dot + path


def name_of(flag: str) -> str:
    """The argument's name for a flag: ``--max-num-seqs`` to ``max_num_seqs``."""
    return flag.lstrip("-").replace("-", "_")


def _takes(flag: str, following: str | None, args: Mapping[str, object]) -> int:
    """How many of the words behind it are a flag's at most."""
    if "." in flag:
        return 1
    name = name_of(flag)
    if name in BOOLEANS:
        return int(bool(_BOOLEAN.fullmatch(following or "")))
    known = args.get(name)
    if isinstance(known, list) and name not in JSON_LISTS | REPEATED:
        return len(known)
    if name in SEVERAL and known is None:
        return WORDS_LIMIT
    return 0 if isinstance(known, bool) or SWITCHES.fullmatch(name) else 1
