"""Where an error that no record knows may be asked about."""

from __future__ import annotations

from triage.model import Finding

_TRACKERS = {
    "vllm": "vllm-project/vllm",
    "torch": "pytorch/pytorch",
    "transformers": "huggingface/transformers",
    "huggingface_hub": "huggingface/huggingface_hub",
    "tokenizers": "huggingface/tokenizers",
    "safetensors": "huggingface/safetensors",
    "accelerate": "huggingface/accelerate",
    "ray": "ray-project/ray",
    "triton": "triton-lang/triton",
    "flashinfer": "flashinfer-ai/flashinfer",
    "flash_attn": "Dao-AILab/flash-attention",
    "xformers": "facebookresearch/xformers",
    "xgrammar": "mlc-ai/xgrammar",
    "compressed_tensors": "neuralmagic/compressed-tensors",
    "bitsandbytes": "bitsandbytes-foundation/bitsandbytes",
    "mistral_common": "mistralai/mistral-common",
    "pydantic": "pydantic/pydantic",
    "pydantic_core": "pydantic/pydantic",
    "fastapi": "fastapi/fastapi",
    "uvicorn": "encode/uvicorn",
    "aiohttp": "aio-libs/aiohttp",
    "numpy": "numpy/numpy",
    "lmcache": "LMCache/LMCache",
    "openai": "openai/openai-python",
}


def package_of(finding: Finding) -> str | None:
    """The package that raised or logged an error, as far as its place or its class tells; None where neither does."""
    if finding.site is not None:
        return finding.site.file.partition("/")[0]
    if finding.location is not None:
        package = finding.location.file.partition("/")[0]
        return package if package in _TRACKERS else None
    package = (finding.exception_class or "").partition(".")[0]
    return package if package in _TRACKERS else None


def report_of(finding: Finding) -> str:
    """Where an error that no record knows may be asked about: its package's issues, where the package is known."""
    package = package_of(finding)
    names = [name for name in dict.fromkeys((package, "vllm" if finding.vllm_frame else None)) if name in _TRACKERS]
    places = " and ".join(f"https://github.com/{_TRACKERS[name]}/issues" for name in names if name)
    attach = "attach what `vllm-triage --format markdown` writes (secrets, hosts, addresses and user names taken out)"
    return f"look for it in {places}; to open an issue, {attach}" if places else f"to ask about it, {attach}"
