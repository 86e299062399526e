"""Defaults that ``args: Namespace(...)`` spells out (releases up to 0.9.0 print every argument).

From the argument parsers of vLLM 0.4 to 0.9: ``engine/arg_utils.py`` and ``entrypoints/openai/cli_args.py``. Newer
releases print only what differs.
"""

from __future__ import annotations

from collections.abc import Mapping

INTERNAL = frozenset({"subparser", "dispatch_function", "cmd"})
"""Names in a Namespace that are no arguments of the user."""

DEFAULTS: Mapping[str, tuple[object, ...]] = {
    "allowed_headers": (["*"], ["_"]),
    "allowed_methods": (["*"], ["_"]),
    "allowed_origins": (["*"], ["_"]),
    "block_size": (16,),
    "chat_template_content_format": ("auto",),
    "chat_template_text_format": ("string",),
    "config_format": ("auto",),
    "cpu_offload_gb": (0,),
    "data_parallel_size": (1,),
    "device": ("auto", "cuda"),
    "dtype": ("auto",),
    "generation_config": ("auto",),
    "gpu_memory_utilization": (0.9,),
    "guided_decoding_backend": ("outlines", "xgrammar", "auto"),
    "kv_cache_dtype": ("auto",),
    "load_format": ("auto",),
    "long_prefill_token_threshold": (0,),
    "lora_dtype": ("auto",),
    "lora_extra_vocab_size": (256,),
    "max_context_len_to_capture": (8192,),
    "max_logprobs": (5, 20),
    "max_long_partial_prefills": (1,),
    "max_lora_rank": (16,),
    "max_loras": (1,),
    "max_num_partial_prefills": (1,),
    "max_paddings": (256,),
    "max_prompt_adapter_token": (0,),
    "max_prompt_adapters": (1,),
    "max_seq_len_to_capture": (8192,),
    "model_impl": ("auto",),
    "multi_step_stream_outputs": (True,),
    "num_lookahead_slots": (0,),
    "num_scheduler_steps": (1,),
    "pipeline_parallel_size": (1,),
    "port": (8000,),
    "prefix_caching_hash_algo": ("builtin",),
    "pt_load_map_location": ("cpu",),
    "response_role": ("assistant",),
    "scheduler_cls": ("vllm.core.scheduler.Scheduler",),
    "scheduler_delay_factor": (0.0,),
    "scheduling_policy": ("fcfs",),
    "seed": (0,),
    "spec_decoding_acceptance_method": ("rejection_sampler",),
    "ssl_cert_reqs": (0,),
    "swap_space": (4,),
    "task": ("auto",),
    "tensor_parallel_size": (1,),
    "tokenizer_mode": ("auto",),
    "tokenizer_pool_size": (0,),
    "tokenizer_pool_type": ("ray",),
    "use_tqdm_on_load": (True,),
    "use_v2_block_manager": (True,),
    "uvicorn_log_level": ("info",),
    "worker_cls": ("auto",),
}


def is_default(name: str, value: object) -> bool:
    """Whether an argument has a value that it has unasked: None, False, empty, or a known default."""
    if value is None or value is False or value in ("", [], {}):
        return True
    return any(
        value == default and isinstance(value, bool) is isinstance(default, bool) for default in DEFAULTS.get(name, ())
    )
