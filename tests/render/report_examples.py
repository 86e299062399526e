"""Reports to render: one for each thing that a report can say, with its texts as a log would have them."""

from __future__ import annotations

from dataclasses import replace

from triage.model import (
    Finding,
    Fix,
    Frame,
    InputFacts,
    Location,
    RecordRef,
    Report,
    Run,
    SiteRef,
)

SEED_RUN = Run(
    vllm_version="0.33.0",
    version_basis="log",
    model="Qwen/Qwen3-8B",
    command="vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 64 --max-num-seqs 256",
    command_basis="log",
    args={"model": "Qwen/Qwen3-8B", "max_num_batched_tokens": 64, "max_num_seqs": 256},
    platform="cuda",
    deployment="kubernetes",
)

SEED = Finding(
    role="root_cause",
    message="max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).",
    source="stdin",
    line=87,
    confidence="exact",
    score=100.0,
    scope="startup",
    owner="config",
    exception_class="ValueError",
    record=RecordRef(
        "3ca77c0599b73dfa", "batched-tokens-below-num-seqs", "Token budget of a step lower than the number of sequences"
    ),
    title="--max-num-batched-tokens (64) is lower than --max-num-seqs (256)",
    cause="every running sequence needs at least one token per scheduler step, so vLLM refuses to start when a step's"
    " token budget is smaller than the number of sequences it may run",
    captures={"max_num_batched_tokens": 64, "max_num_seqs": 256},
    location=Location(
        "vllm/config/scheduler.py",
        332,
        "SchedulerConfig.verify_max_model_len",
        "0.33.0",
        "catalogue",
        "https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/config/scheduler.py#L332",
    ),
    fixes=(
        Fix(
            "drop --max-num-batched-tokens 64: vLLM then picks a budget for this GPU",
            unset=("--max-num-batched-tokens",),
            commands=("vllm serve Qwen/Qwen3-8B --max-num-seqs 256",),
            safety="safe",
        ),
        Fix(
            "keep 64 tokens a step and run at most 64 sequences",
            set={"--max-num-seqs": 64},
            commands=("vllm serve Qwen/Qwen3-8B --max-num-batched-tokens 64 --max-num-seqs 64",),
            safety="changes_behaviour",
            tradeoff="slower prefill",
        ),
    ),
    restart_helps=False,
    run=0,
    process="APIServer",
    pid=214,
    first_time="11-30 14:00:07",
    last_time="11-30 14:00:07",
    fingerprint="5b1f0c2a",
    evidence=("  Value error, max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).",),
    evidence_line=87,
)

CONSEQUENCE = Finding(
    role="consequence",
    message="Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    source="stdin",
    line=203,
    confidence="exact",
    score=100.0,
    scope="startup",
    exception_class="RuntimeError",
    record=RecordRef("engine-core-init-failed", "engine-core-init-failed", "The engine core did not start"),
    run=0,
    process="APIServer",
    pid=214,
    count=2,
    evidence=("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",),
    why="the exception of EngineCore at line 87 explains it",
)

WARNING = Finding(
    role="warning",
    message="Unknown vLLM environment variable detected: VLLM_FOO",
    source="stdin",
    line=4,
    confidence="exact",
    score=100.0,
    severity="warning",
    record=RecordRef("unknown-environment-variable", "unknown-environment-variable", "A variable vLLM does not know"),
    title="VLLM_FOO is no variable that vLLM knows",
    run=0,
)

SEED_REPORT = Report(
    status="cause_found",
    findings=(SEED,),
    runs=(SEED_RUN,),
    input=InputFacts(lines=214, bytes=20480, sources=("stdin",)),
    hidden={"consequence": 3},
)

SEED_ALL = replace(SEED_REPORT, findings=(SEED, CONSEQUENCE, WARNING), hidden={})

MANY_FIXES = replace(
    SEED_REPORT,
    findings=(
        replace(
            SEED,
            source="/var/log/pods/vllm-0.log",
            line=1204,
            evidence_line=1204,
            message="To serve at least one request with the model's max seq len (131072), 16.00 GiB KV cache is "
            "needed, which is larger than the available KV cache memory (9.31 GiB).",
            title="one request of 131072 tokens needs 16.0 GiB of KV cache, and 9.31 GiB are free",
            record=RecordRef("9f", "kv-cache-below-one-request", "KV cache too small for one request"),
            cause="before it takes requests, vLLM checks that the KV cache can hold one request of full length. The "
            "cache gets what --gpu-memory-utilization leaves once weights and activations are loaded.",
            process="EngineCore_DP0",
            pid=312,
            rank=0,
            pod="vllm-0",
            location=Location(
                "vllm/v1/core/kv_cache_utils.py", 692, "check_enough_kv_cache_memory", None, "traceback", None
            ),
            evidence=(
                "(EngineCore_DP0 pid=312) ERROR 11-30 14:02:11 [core.py:842] ValueError: To serve at least one request "
                "with the model's max seq len (131072), 16.00 GiB KV cache is needed, which is larger than the "
                "available KV cache memory (9.31 GiB). Based on the available memory, the estimated maximum model "
                "length is 76224. Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when "
                "initializing the engine.",
            ),
            captures={"max_model_len": 131072, "needed": 16.0, "available": 9.31},
            fixes=(
                Fix(
                    "allow requests of up to 76224 tokens",
                    set={"--max-model-len": 76224},
                    commands=("vllm serve meta-llama/Llama-3.1-8B-Instruct --max-model-len 76224",),
                    safety="changes_behaviour",
                    tradeoff="longer requests are rejected",
                    note="rebuilt from non-default args",
                    verify="curl -s http://localhost:8000/v1/models",
                ),
                Fix(
                    "give vLLM more of the GPU",
                    set={"--gpu-memory-utilization": 0.95},
                    commands=(
                        "vllm serve meta-llama/Llama-3.1-8B-Instruct --gpu-memory-utilization 0.95",
                        "docker run --gpus all vllm/vllm-openai:v0.33.0 --model meta-llama/Llama-3.1-8B-Instruct "
                        "--gpu-memory-utilization 0.95",
                    ),
                    safety="changes_behaviour",
                    tradeoff="less room for other programs on the GPU",
                    estimate=True,
                ),
                Fix(
                    "keep the cache in 8 bits",
                    set={"--kv-cache-dtype": "fp8"},
                    commands=("vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-cache-dtype fp8",),
                    safety="needs_judgement",
                    tradeoff="answers may differ a little",
                    verify="the log reaches `Application startup complete`",
                ),
                Fix(
                    "spread the model over more GPUs",
                    steps=("find a host with 2 GPUs of this kind", "start vLLM there with --tensor-parallel-size 2"),
                    missing=("how many GPUs this host has",),
                ),
            ),
        ),
    ),
    runs=(
        replace(SEED_RUN, model="meta-llama/Llama-3.1-8B-Instruct"),
        replace(SEED_RUN, model="meta-llama/Llama-3.1-8B-Instruct", vllm_version="0.11.0.1", version_basis="inferred"),
    ),
    input=InputFacts(
        lines=90_000,
        bytes=9_000_000,
        sources=("/var/log/pods/vllm-0.log",),
        limits=("line 17 is longer than 1 MiB; the rest of it was not read",),
    ),
    hidden={"consequence": 1, "warning": 2, "harmless": 1},
    redacted={"tokens": 1},
)
MANY_FIXES = replace(MANY_FIXES, findings=(replace(MANY_FIXES.findings[0], run=1),))

SEVERAL_CAUSES = replace(
    SEED_REPORT,
    findings=(
        SEED,
        replace(
            SEED,
            line=340,
            evidence_line=340,
            scope="request",
            owner="client",
            count=17,
            first_time="11-30 14:10:01",
            last_time="11-30 14:44:59",
            title="the prompt has 40960 tokens, and this model takes 32768",
            record=RecordRef("41", "prompt-longer-than-model", "Prompt longer than the model takes"),
            location=None,
            message="This model's maximum context length is 32768 tokens. However, you requested 40960 tokens.",
            evidence=(
                "ERROR 11-30 14:10:01 [serving_chat.py:220] ValueError: This model's maximum context length is 32768 "
                "tokens. However, you requested 40960 tokens.",
            ),
            cause="prompt and answer together may not be longer than the model was trained for",
            candidates=("vllm/entrypoints/openai/serving_engine.py:512", "vllm/v1/engine/processor.py:388"),
            restart_helps=None,
            fixes=(Fix("send a shorter prompt", steps=("cut the prompt to 32768 tokens, answer included",)),),
        ),
        replace(
            SEED,
            line=500,
            evidence_line=500,
            confidence="similar",
            score=81.5,
            title="GPU 3 ran out of memory",
            message="CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB",
            evidence=("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has ...",),
            cause=None,
            location=Location("torch/nn/modules/linear.py", 125, "forward", None, "traceback"),
            vllm_frame=Frame("vllm/model_executor/layers/linear.py", 190, "apply"),
            owner="platform",
            restart_helps=True,
            record=RecordRef("42", "gpu-out-of-memory", "GPU out of memory"),
            fixes=(),
        ),
        replace(SEED, line=610, title="a fourth failure", record=RecordRef("43", "fourth-failure", "Fourth")),
    ),
)

UNKNOWN = Report(
    status="unknown_failure",
    findings=(
        Finding(
            role="root_cause",
            message="CUDA error: the launch timed out and was terminated\nCUDA kernel errors might be asynchronously "
            "reported at some other API call, so the stacktrace below might be incorrect.\nFor debugging consider "
            "passing CUDA_LAUNCH_BLOCKING=1",
            source="stdin",
            line=59,
            exception_class="torch.AcceleratorError",
            location=Location("torch/cuda/__init__.py", 1040, "synchronize", None, "traceback"),
            vllm_frame=Frame("vllm/v1/worker/gpu_model_runner.py", 2345, "GPUModelRunner._sync_device"),
            run=0,
            process="Worker_TP1",
            pid=902,
            rank=1,
            fingerprint="00aa",
            evidence=("[rank1]: torch.AcceleratorError: CUDA error: the launch timed out and was terminated",),
            evidence_line=59,
            near=("cuda-illegal-memory-access", "cuda-device-assert"),
        ),
    ),
    missing=("the kernel's log of that minute: dmesg -T | grep -i xid",),
    runs=(Run(platform="cuda"),),
    input=InputFacts(lines=61, bytes=7000, sources=("stdin",)),
    hidden={"consequence": 1},
)

PLACED = replace(
    UNKNOWN,
    findings=(
        replace(
            UNKNOWN.findings[0],
            message="Unsupported layout: 7",
            exception_class="ValueError",
            site=SiteRef("Unsupported layout: {layout}", "vllm/x.py", "pick", "ValueError"),
            captures={"layout": 7},
            location=Location("vllm/v1/attention/backends/flash_attn.py", 77, "pick_layout", "0.33.0", "catalogue"),
            vllm_frame=None,
            evidence=("ValueError: Unsupported layout: 7",),
            near=(),
        ),
    ),
    missing=(),
)

TAIL_ONLY = Report(
    status="insufficient_evidence",
    findings=(
        replace(CONSEQUENCE, role="root_cause", line=2, count=1, why=None, title="the engine did not start", run=None),
    ),
    missing=(
        "the lines before the first one: the engine's own error is there. kubectl logs POD | vllm-triage reads all",
        "the vLLM release: run again with --vllm-version",
    ),
    input=InputFacts(lines=3, bytes=300, sources=("stdin",)),
)

EMPTY = Report(
    status="insufficient_evidence",
    missing=("the log itself: the input was empty",),
    input=InputFacts(sources=("stdin",)),
)

HEALTHY = Report(
    status="healthy",
    runs=(SEED_RUN,),
    input=InputFacts(lines=120, bytes=20480, sources=("stdin",)),
    hidden={"warning": 2, "harmless": 1},
)

_BAD = (
    "\x1b[2J\x1b]0;owned\x07 \u202egnp.exe\u202c [bold]x[/] :fire: @team #12 https://evil.example/ ```"
    " <script>alert(1)</script>"
)

HOSTILE = replace(
    SEED_REPORT,
    findings=(
        replace(
            SEED,
            source="a\nb.log",
            message=f"first {_BAD}\nsecond \u2028 \ud800 [type=value_error, input_value=1] [/workspace/x]",
            title=f"bad value {_BAD}",
            cause=f"cause {_BAD}\n# heading\n\n- list",
            captures={"value": _BAD, "large": 10**30},
            process="API\x1bServer",
            pod="pod|x",
            fixes=(
                Fix(
                    f"set it {_BAD}",
                    set={"--x": _BAD},
                    steps=(f"step {_BAD}",),
                    commands=("echo \x1b[2J", "echo '```'\necho done"),
                    tradeoff=f"price {_BAD}",
                    note=f"note {_BAD}",
                    verify="echo ok",
                ),
            ),
            evidence=(f"line {_BAD} " + "x" * 5000,),
            near=(_BAD,),
        ),
    ),
    missing=(f"missing {_BAD}",),
    runs=(replace(SEED_RUN, model="m\r\n::error::x", args={"a": {1, 2}, "b": (10**40, "\ud800"), "c": {3: b"x"}}),),
)

EXAMPLES = {
    "seed": SEED_REPORT,
    "seed-all": SEED_ALL,
    "many-fixes": MANY_FIXES,
    "several-causes": SEVERAL_CAUSES,
    "unknown": UNKNOWN,
    "placed": PLACED,
    "tail-only": TAIL_ONLY,
    "empty": EMPTY,
    "healthy": HEALTHY,
    "hostile": HOSTILE,
}
