"""Numbers of the fixes for memory that does not suffice: each expected value was worked out by hand from its log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import pytest

from triage.model import Fix, Report, Scalar

Diagnose = Callable[..., Report]
Change = Mapping[str, Scalar]

STAMP = "11-03 07:41:20"
FILES = "/usr/lib/python3.12/site-packages/vllm"


def head(version: str, args: str, *lines: str, platform: str = "cuda") -> str:
    """The beginning of a server's log, with further lines of its engine."""
    first = [
        f"INFO {STAMP} [__init__.py:216] Automatically detected platform {platform}.",
        f"INFO {STAMP} [api_server.py:1839] vLLM API server version {version}",
        f"INFO {STAMP} [utils.py:233] non-default args: {{'model': 'acme/Birch-9B'{', ' + args if args else ''}}}",
    ]
    return "\n".join([*first, *(f"INFO {STAMP} [worker.py:1] {line}" for line in lines)]) + "\n"


def raised(error: str, *functions: str) -> str:
    """A traceback of the engine through the functions given."""
    frames = "".join(
        f'  File "{FILES}/v1/worker/gpu_worker.py", line 300, in {name}\n    run()\n' for name in functions
    )
    return f"Traceback (most recent call last):\n{frames}{error}\n"


def short(length: int, needed: str, available: str, estimate: int | None = None) -> str:
    """The V1 engine's refusal of a length, in the words of 0.9 to 0.12; of 0.8.5 without an estimate."""
    found = f"Based on the available memory, the estimated maximum model length is {estimate}. " if estimate else ""
    return raised(
        f"ValueError: To serve at least one request with the models's max seq len ({length}), ({needed} GiB KV cache is "
        f"needed, which is larger than the available KV cache memory ({available} GiB). {found}Try increasing "
        "`gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.",
        "check_enough_kv_cache_memory",
    )


def tokens(length: int, held: int, knob: str = "gpu_memory_utilization") -> str:
    """The V0 engine's refusal of a length."""
    return raised(
        f"ValueError: The model's max seq len ({length}) is larger than the maximum number of tokens that can be stored "
        f"in KV cache ({held}). Try increasing `{knob}` or decreasing `max_model_len` when initializing the engine.",
        "raise_if_cache_size_invalid",
    )


def profile_v0(total: str, share: str, activations: str, kept: str) -> tuple[str, ...]:
    """What V0 logs when it has measured."""
    return (
        f"the current vLLM instance can use total_gpu_memory ({total}GiB) x gpu_memory_utilization ({share}) = 1.00GiB",
        f"model weights take 9.00GiB; non_torch_memory takes 0.10GiB; PyTorch activation peak memory takes "
        f"{activations}GiB; the rest of the memory reserved for KV Cache is {kept}GiB.",
    )


NO_BLOCKS = raised(
    "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing "
    "the engine.",
    "check_enough_kv_cache_memory",
)


def start(free: str, total: str, share: str, wanted: str) -> str:
    """The check at the start of a worker."""
    return raised(
        f"ValueError: Free memory on device cuda:1 ({free}/{total} GiB) on startup is less than desired GPU memory "
        f"utilization ({share}, {wanted} GiB). Decrease GPU memory utilization or reduce GPU memory used by other "
        "processes.",
        "init_device",
    )


def oom(tried: str, total: str, free: str, used: str, *functions: str, idle: str = "12.50 MiB", chain: str = "") -> str:
    """PyTorch's error, raised under the functions given."""
    return raised(
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total capacity of {total} of "
        f"which {free} is free. Including non-PyTorch memory, this process has {used} memory in use. Of the allocated "
        f"memory 9.99 GiB is allocated by PyTorch, and {idle} is reserved by PyTorch but unallocated.{chain}",
        *functions,
    )


SNAPSHOT = (
    "worker init memory snapshot: MemorySnapshot(torch_peak=0.0GiB, free_memory=47.1GiB, total_memory=47.53GiB, "
    "cuda_memory=0.43GiB, torch_memory=0.0GiB, non_torch_memory=0.43GiB)"
)
FOUR_GPUS = "".join(f"GPU {number}: NVIDIA L40S\n" for number in range(4))
LENGTH, SHARE, CACHE = "--max-model-len", "--gpu-memory-utilization", "--kv-cache-dtype"
RANKS, EAGER, SEQS, STEP = "--tensor-parallel-size", "--enforce-eager", "--max-num-seqs", "--max-num-batched-tokens"
GRAPHS = "Estimated CUDA graph memory: 1.25 GiB total"


class Case(NamedTuple):
    """A log, the changes that must be offered in this order (first is what comes first), and flags that must not."""

    name: str
    log: str
    offered: tuple[Change, ...]
    never: tuple[str, ...] = ()
    estimates: tuple[bool, ...] = ()


CASES = [
    Case(
        "a length that vLLM prints is exact and first",
        head("0.11.0", "") + short(98304, "12.00", "5.20", 42592),
        ({LENGTH: 42592},),
        (SHARE, CACHE, RANKS, EAGER),
        (False,),
    ),
    # (6.00 - 4.10 + 0.01) / 47.525 = 4.02 points above 90.
    Case(
        "the utilization needed, where the device's size is in the log",
        head("0.11.0", "", SNAPSHOT) + short(49152, "6.00", "4.10", 33584),
        ({LENGTH: 33584}, {SHARE: 0.95}, {CACHE: "fp8"}),
        (EAGER,),
        (False, True, True),
    ),
    # The same need from 92: 96.02.
    Case(
        "the default of 0.20 and later counts",
        head("0.20.0", "", SNAPSHOT) + short(49152, "6.00", "4.10", 33584),
        ({LENGTH: 33584}, {SHARE: 0.97}),
    ),
    Case(
        "the run's own utilization counts",
        head("0.11.0", "'gpu_memory_utilization': 0.7", SNAPSHOT) + short(49152, "6.00", "4.10", 33584),
        ({LENGTH: 33584}, {SHARE: 0.75}),
    ),
    # (9.00 - 4.10 + 0.01) / 47.525 = 10.33 points above 90: not possible.
    Case(
        "a utilization that would pass 0.98 is not offered",
        head("0.11.0", "", SNAPSHOT) + short(73728, "9.00", "4.10", 33584),
        ({LENGTH: 33584},),
        (SHARE, CACHE),
    ),
    Case(
        "8 bits are offered where half the need fits",
        head("0.11.0", "") + short(65536, "8.00", "4.02", 32928),
        ({LENGTH: 32928}, {CACHE: "fp8"}),
        (SHARE,),
        (False, True),
    ),
    Case(
        "8 bits are not offered where half the need does not fit",
        head("0.11.0", "") + short(65536, "8.00", "3.98", 32592),
        ({LENGTH: 32592},),
        (CACHE,),
    ),
    Case(
        "8 bits are not offered to a cache that has them",
        head("0.11.0", "'kv_cache_dtype': 'fp8_e5m2'") + short(65536, "4.00", "3.98", 65200),
        ({LENGTH: 65200},),
        (CACHE,),
    ),
    # 10.01 / 3.00 = 3.34: four times as many GPUs.
    Case(
        "as many GPUs as divide the need",
        FOUR_GPUS + head("0.11.0", "") + short(81920, "10.00", "3.00", 24576),
        ({LENGTH: 24576}, {RANKS: 4}),
        (CACHE,),
        (False, True),
    ),
    Case(
        "more GPUs than there are are not offered",
        FOUR_GPUS + head("0.11.0", "'tensor_parallel_size': 2") + short(81920, "10.00", "3.00", 24576),
        ({LENGTH: 24576},),
        (RANKS,),
    ),
    Case(
        "a size that does not divide the heads is not offered",
        FOUR_GPUS + head("0.11.0", "", '"num_attention_heads": 14,') + short(81920, "10.00", "3.00", 24576),
        ({LENGTH: 24576},),
        (RANKS,),
    ),
    Case(
        "beyond the key-value heads the cache is not divided",
        FOUR_GPUS + head("0.11.0", "", '"num_key_value_heads": 2,') + short(81920, "10.00", "3.00", 24576),
        ({LENGTH: 24576},),
        (RANKS,),
    ),
    Case(
        "latent attention is not divided over GPUs",
        FOUR_GPUS + head("0.11.0", "", "Using FlashMLA backend on V1 engine.") + short(81920, "10.00", "3.00", 24576),
        ({LENGTH: 24576},),
        (RANKS,),
    ),
    # 4.10 + 1.25 = 5.35.
    Case(
        "what is set aside for graphs would do",
        head("0.21.0", "", GRAPHS) + short(43008, "5.25", "4.10", 33584),
        ({LENGTH: 33584}, {EAGER: True}),
        (),
        (False, True),
    ),
    Case(
        "what is set aside for graphs would not do",
        head("0.21.0", "", GRAPHS) + short(49152, "6.00", "4.10", 33584),
        ({LENGTH: 33584},),
        (EAGER,),
    ),
    Case(
        "before 0.20 graphs took nothing off the cache",
        head("0.11.0", "", GRAPHS) + short(43008, "5.25", "4.10", 33584),
        ({LENGTH: 33584},),
        (EAGER,),
    ),
    # 4.10 + 2.40 / 2 = 5.30.
    Case(
        "half the activations would do",
        head("0.11.0", "'max_num_batched_tokens': 8192", "torch peak memory increase: 2.40GiB; weights memory: 9GiB.")
        + short(43008, "5.25", "4.10", 33584),
        ({LENGTH: 33584}, {STEP: 4096}),
    ),
    Case(
        "half the activations would not do",
        head("0.11.0", "'max_num_batched_tokens': 8192", "torch peak memory increase: 2.20GiB; weights memory: 9GiB.")
        + short(43008, "5.25", "4.10", 33584),
        ({LENGTH: 33584},),
        (STEP,),
    ),
    # 32768 * 2.845 / 4.005 = 23277.2, in whole blocks of 16.
    Case(
        "without a printed length, in proportion",
        head("0.8.5", "") + short(32768, "4.00", "2.85"),
        ({LENGTH: 23264},),
        (SHARE,),
        (True,),
    ),
    # (3.00 + 0.02) * 1024 = 3092.5 MiB, in whole ones.
    Case(
        "a size given in bytes is what has to grow, not the utilization",
        head("0.11.0", "'kv_cache_memory_bytes': 2147483648", SNAPSHOT) + short(49152, "3.00", "2.00", 32768),
        ({LENGTH: 32768}, {"--kv-cache-memory-bytes": 3243245568}),
        (SHARE,),
    ),
    Case(
        "V0: what the cache holds",
        head("0.7.3", "") + tokens(40960, 18336),
        ({LENGTH: 18336},),
        (SHARE, CACHE),
        (False,),
    ),
    # 5.00 * (40960 / 32768 - 1) + 0.01 = 1.26 of 23.645 is 5.33 points.
    Case(
        "V0: the utilization needed, from what it logs",
        head("0.7.3", "", *profile_v0("23.65", "0.90", "1.40", "5.00")) + tokens(40960, 32768),
        ({LENGTH: 32768}, {SHARE: 0.96}, {CACHE: "fp8"}),
    ),
    # 5.00 * (65536 / 32768 - 1) + 0.01 = 5.01 of 23.645 is 21.2 points.
    Case(
        "V0: not possible by utilization",
        head("0.7.3", "", *profile_v0("23.65", "0.90", "1.40", "5.00")) + tokens(65536, 32768),
        ({LENGTH: 32768}, {CACHE: "fp8"}),
        (SHARE,),
    ),
    # 8.44 + 1.01 = 9.45 of 47.525 is 19.88 points above 60.
    Case(
        "no blocks: what lacks, and a GiB of cache",
        head("0.11.0", "'gpu_memory_utilization': 0.6", SNAPSHOT, "Available KV cache memory: -8.44 GiB") + NO_BLOCKS,
        ({SHARE: 0.8},),
        (EAGER,),
        (True,),
    ),
    Case(
        "no blocks: not possible by utilization",
        head("0.11.0", "", SNAPSHOT, "Available KV cache memory: -8.44 GiB") + NO_BLOCKS,
        ({STEP: 2048, SEQS: 64},),
        (SHARE, RANKS),
    ),
    Case(
        "no blocks: a batch that is smaller already is not made larger",
        head("0.11.0", "'max_num_seqs': 16, 'max_num_batched_tokens': 4096", "Available KV cache memory: -30.00 GiB")
        + NO_BLOCKS,
        ({STEP: 2048, SEQS: 8},),
        (SHARE,),
    ),
    # 60.295 / 79.105 = 76.22 %; 18.995 / 79.105 = 24.01 %.
    Case(
        "start: the share that is free",
        head("0.11.0", "") + start("60.3", "79.1", "0.9", "71.19"),
        ({SHARE: 0.76},),
        (),
        (False,),
    ),
    Case(
        "start: a quarter is free",
        head("0.20.0", "") + start("19.0", "79.1", "0.92", "72.77"),
        ({SHARE: 0.24},),
        (),
        (False,),
    ),
    Case("start: hardly anything is free", head("0.11.0", "") + start("2.1", "79.1", "0.9", "71.19"), (), (SHARE,)),
    Case(
        "loading: more GPUs, never a smaller batch",
        FOUR_GPUS
        + head("0.11.0", "'tensor_parallel_size': 2, 'max_num_seqs': 256")
        + oom("270.00 MiB", "44.39 GiB", "93.31 MiB", "44.29 GiB", "load_model"),
        ({RANKS: 4},),
        (SEQS, STEP, SHARE, EAGER),
    ),
    Case(
        "loading: more GPUs than there are are not offered",
        FOUR_GPUS
        + head("0.11.0", "'tensor_parallel_size': 4")
        + oom("270.00 MiB", "44.39 GiB", "93.31 MiB", "44.29 GiB", "load_model"),
        (),
        (RANKS, SEQS, STEP),
    ),
    Case(
        "profiling: half the step and half the sequences",
        head("0.11.0", "'max_num_batched_tokens': 12288, 'max_num_seqs': 200")
        + oom("1.50 GiB", "44.39 GiB", "1.20 GiB", "43.10 GiB", "determine_available_memory"),
        ({STEP: 6144}, {SEQS: 100}, {STEP: 2048, SEQS: 64}),
        (SHARE,),
    ),
    # 3.50 GiB short of 44.39 are 7.88 points: 94 - 7.88 = 86.1.
    Case(
        "graphs: what was short, where it is more than five points",
        head("0.11.0", "'gpu_memory_utilization': 0.94")
        + oom("4.00 GiB", "44.39 GiB", "512.00 MiB", "43.80 GiB", "capture_model"),
        ({SHARE: 0.86}, {EAGER: True}, {SEQS: 64}),
    ),
    # Others hold 44.39 - 30.00 - 0.39 = 14.00 GiB: (0.39 + 30.00) / 44.39 = 68.46 %, less a point.
    Case(
        "cache: no more than what other processes leave",
        head("0.11.0", "") + oom("640.00 MiB", "44.39 GiB", "399.36 MiB", "30.00 GiB", "initialize_kv_cache"),
        ({SHARE: 0.67},),
    ),
    Case(
        "serving: five points, half the sequences, half the step",
        head("0.11.0", "'max_num_seqs': 96, 'max_num_batched_tokens': 8192")
        + oom("1.10 GiB", "44.39 GiB", "0.80 GiB", "43.50 GiB", "execute_model"),
        ({SHARE: 0.85}, {SEQS: 48}, {STEP: 4096}),
    ),
    Case(
        "serving: arguments that the log does not show",
        oom("1.10 GiB", "44.39 GiB", "0.80 GiB", "43.50 GiB", "execute_model"),
        ({STEP: 2048},),
        (SHARE, SEQS),
    ),
    # 3.00 / 0.80 = 3.75: a quarter.
    Case(
        "sampler: the part whose share fits what was free",
        head("0.11.0", "'gpu_memory_utilization': 0.93")
        + oom("3.00 GiB", "44.39 GiB", "0.80 GiB", "43.50 GiB", "_dummy_sampler_run")
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + raised(
            "RuntimeError: CUDA out of memory occurred when warming up sampler with 640 dummy requests. Please try "
            "lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.",
            "_dummy_sampler_run",
        ),
        ({SEQS: 160}, {SHARE: 0.88}),
    ),
    Case(
        "mamba: as many sequences as there are blocks",
        head("0.20.0", "")
        + raised(
            "ValueError: max_num_seqs (1024) exceeds available Mamba cache blocks (313). Each decode sequence requires "
            "one Mamba cache block, so CUDA graph capture cannot proceed. Please lower max_num_seqs to at most 313 or "
            "increase gpu_memory_utilization.",
            "resolve_cudagraph_mode_and_sizes",
        ),
        ({SEQS: 313},),
        (),
        (False,),
    ),
]


def offered(fixes: tuple[Fix, ...]) -> list[Fix]:
    """The fixes that set flags."""
    return [fix for fix in fixes if fix.set]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_flags(diagnose: Diagnose, case: Case) -> None:
    """The numbers are those worked out by hand, in their order; what would not help is not offered."""
    found = offered(diagnose(case.log).findings[0].fixes)
    changes = [dict(fix.set) for fix in found]
    places = [changes.index(dict(change)) for change in case.offered]
    assert places == sorted(places)
    assert not places or places[0] == 0
    assert not {flag for change in changes for flag in change} & set(case.never)
    assert tuple(found[place].estimate for place in places)[: len(case.estimates)] == case.estimates


def texts(report: Report) -> str:
    """Titles and steps of the first finding's fixes."""
    return "\n".join(text for fix in report.findings[0].fixes for text in (fix.title, *fix.steps))


def test_how_large_a_gpu_would_do(diagnose: Diagnose) -> None:
    """Without the device's size the fix has no number for the flag, but says on what device it is possible."""
    said = texts(diagnose(head("0.11.0", "") + short(49152, "6.00", "4.10", 33584)))
    assert "1.9 GiB more of the GPU: possible on one of 23.75 GiB or more" in said
    said = texts(diagnose(head("0.11.0", "") + short(524288, "64.00", "4.10", 33584)))
    assert "more of the GPU" not in said


def test_gpus_that_are_not_known_to_be_there(diagnose: Diagnose) -> None:
    """With the number of GPUs unknown the size is a step, without a command."""
    report = diagnose(head("0.11.0", "'tensor_parallel_size': 2") + short(81920, "10.00", "3.00", 24576))
    fix = next(fix for fix in report.findings[0].fixes if "divide cache" in fix.title)
    assert fix.title == "divide cache and weights over 8 GPUs, where they are there"
    assert (fix.commands, fix.estimate) == ((), True)


@pytest.mark.parametrize(
    ("log", "space"),
    [
        (head("0.11.0", "", platform="cpu") + short(2500000, "2.38", "1.00", 1048576), 3),
        (head("0.11.0", "", platform="cpu") + short(2097152, "2.00", "1.00", 1048576), 3),
        (
            head(
                "0.6.6",
                "",
                "Environment variable VLLM_CPU_KVCACHE_SPACE (GB) for CPU backend is not set, using 4 by default.",
                platform="cpu",
            )
            + tokens(90000, 32768, "VLLM_CPU_KVCACHE_SPACE"),
            11,
        ),
    ],
    ids=["needed is rounded up", "a whole number is a rounded one", "tokens of the default space"],
)
def test_host_memory(diagnose: Diagnose, log: str, space: int) -> None:
    """On CPUs the cache's size is a variable in whole GiB; flags for GPUs are not offered."""
    fixes = diagnose(log).findings[0].fixes
    assert [fix.env["VLLM_CPU_KVCACHE_SPACE"] for fix in fixes if fix.env] == [space]
    assert not {flag for fix in fixes for flag in fix.set} & {SHARE, CACHE, RANKS}


@pytest.mark.parametrize(
    ("available", "kept", "share", "space"),
    # (0.40 + 0.25 + 2) / 31.20 = 8.49 %.
    [("25.40", "-0.25", 0.09, 4), ("5.10", "-0.25", 0.09, 2), ("1.50", "-0.25", 0.09, None)],
)
def test_share_of_host_memory(diagnose: Diagnose, available: str, kept: str, share: float, space: int | None) -> None:
    """The share that the loaded model fills grows by what lacks and 2 GiB; a fixed size is at most half of what is free."""
    error = (
        f"ValueError: Available memory on node 0 ({available}/31.2 GiB) on kv cache allocation is less than requested "
        f"memory for kv ({kept}/0.4 GiB). Reduce CPU memory used by other processes."
    )
    fixes = diagnose(head("0.32.0", "", platform="cpu") + raised(error, "determine_available_memory")).findings[0].fixes
    assert [fix.set for fix in offered(fixes)] == [{SHARE: share}]
    assert [fix.env["VLLM_CPU_KVCACHE_SPACE"] for fix in fixes if fix.env] == ([space] if space else [])


def test_memory_of_other_processes(diagnose: Diagnose) -> None:
    """What others hold is worked out of the message, and comes first where the weights would fit without it."""
    log = head("0.11.0", "") + oom("270.00 MiB", "44.39 GiB", "93.31 MiB", "20.00 GiB", "load_model")
    assert diagnose(log).findings[0].fixes[0].title == "free the GPU: 24.3 of 44.39 GiB are held by other processes"
    assert "held by other processes" not in texts(diagnose(log.replace("20.00 GiB", "44.29 GiB")))


def test_memory_in_pieces(diagnose: Diagnose) -> None:
    """Where what PyTorch holds unused would have been enough, it can be joined; else nothing is said of it."""
    log = head("0.11.0", "") + oom("1.10 GiB", "44.39 GiB", "0.80 GiB", "43.50 GiB", "execute_model", idle="400.00 MiB")
    fixes = diagnose(log).findings[0].fixes
    assert [fix.env for fix in fixes if fix.env] == [{"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}]
    assert not [fix for fix in diagnose(log.replace("400.00 MiB", "12.00 MiB")).findings[0].fixes if fix.env]
