from __future__ import annotations

from collections.abc import Callable

import pytest

from triage.events.facts import FactsCollector, is_run_start
from triage.model import Record, RunFacts

Records = Callable[[str], list[Record]]

SERVER = """\
INFO 11-30 15:21:41 [__init__.py:216] Automatically detected platform cuda.
(APIServer pid=15) INFO 11-30 15:21:45 [api_server.py:1839] vLLM API server version 0.11.0
(APIServer pid=15) INFO 11-30 15:21:45 [utils.py:233] non-default args: {'model_tag': 'a/tiny', 'port': 8500, \
'model': 'a/tiny', 'max_num_seqs': 256, 'max_num_batched_tokens': 64, 'speculative_config': {'method': 'mtp', \
'num_speculative_tokens': 3}}
"""

LOGO = """\
(APIServer pid=1) INFO 11-30 15:00:42 [api_utils.py:347]
(APIServer pid=1) INFO 11-30 15:00:42 [api_utils.py:347]        █     █     █▄   ▄█
(APIServer pid=1) INFO 11-30 15:00:42 [api_utils.py:347]  ▄▄ ▄█ █     █     █ ▀▄▀ █  version 0.32.0
(APIServer pid=1) INFO 11-30 15:00:42 [api_utils.py:347]   █▄█▀ █     █     █     █  model   /srv/vllm/tiny
"""

OLD = """\
INFO 04-19 17:25:10 api_server.py:149] vLLM API server version 0.4.0.post1
INFO 04-19 17:25:10 api_server.py:150] args: Namespace(host=None, port=8001, uvicorn_log_level='info', \
allowed_origins=['*'], model='/data/q', dtype='auto', max_num_seqs=256, gpu_memory_utilization=0.9, seed=0, \
quantization='awq', config_format=<ConfigFormat.AUTO: 'auto'>, enforce_eager=False, max_model_len=512, \
dispatch_function=<function serve at 0x7f>)
INFO 04-19 17:25:11 llm_engine.py:74] Initializing an LLM engine (v0.4.0.post1) with config: model='/data/q', \
tokenizer_mode=auto, dtype=torch.float16, max_seq_len=512, tensor_parallel_size=2, enforce_eager=False, \
decoding_config=DecodingConfig(guided_decoding_backend='outlines'), seed=0)
"""


@pytest.fixture
def facts(records: Records) -> Callable[[str], RunFacts]:
    def collect(text: str) -> RunFacts:
        collector = FactsCollector()
        for record in records(text):
            collector.observe(record)
        return collector.facts()

    return collect


def test_server_banner_and_arguments(facts: Callable[[str], RunFacts]) -> None:
    """Version, platform, model and the arguments come from banner and dump."""
    found = facts(SERVER)
    assert (found.vllm_version, found.version_basis, found.model) == ("0.11.0", "log", "a/tiny")
    assert found.platform == "cuda"
    assert found.args["max_num_batched_tokens"] == 64
    assert found.args["speculative_config"] == {"method": "mtp", "num_speculative_tokens": 3}
    assert found.unusable == ()
    assert found.launch is None
    assert found.launch_idiom is None


def test_logo_gives_version_and_model(facts: Callable[[str], RunFacts]) -> None:
    """The banner in block characters is read as well as the plain one."""
    found = facts(LOGO)
    assert (found.vllm_version, found.model) == ("0.32.0", "/srv/vllm/tiny")


def test_plain_banner_without_logo(facts: Callable[[str], RunFacts]) -> None:
    """With the logo turned off the same is said in one sentence."""
    found = facts("INFO 11-30 15:00:42 [startup.py:18] vLLM server version 0.33.0, serving model org/m\n")
    assert (found.vllm_version, found.model) == ("0.33.0", "org/m")


def test_old_namespace_keeps_only_what_differs(facts: Callable[[str], RunFacts]) -> None:
    """Old releases print every argument; defaults are left out of args, their numbers stay readable."""
    found = facts(OLD)
    # 256 sequences are the default to 0.6.5 only; from then on they are the user's own.
    own = {"port": 8001, "model": "/data/q", "quantization": "awq", "max_model_len": 512, "max_num_seqs": 256}
    assert found.args == own
    assert found.unusable == ()
    assert found.engine["tensor_parallel_size"] == 2
    assert found.engine["dtype"] == "float16"
    assert "decoding_config" not in found.engine
    assert found.world_size == 2


@pytest.mark.parametrize(
    ("line", "version"),
    [
        (
            "INFO 07-02 09:14:41 [core.py:70] Initializing a V1 LLM engine (v0.9.1) with config: model='m', seed=0",
            "0.9.1",
        ),
        (
            "INFO 07-02 09:14:41 [llm_engine.py:230] Initializing a V0 LLM engine (v0.9.2) with config: model='m'",
            "0.9.2",
        ),
        ("INFO 06-18 21:35:42 llm_engine.py:161] Initializing an LLM engine (v0.5.0) with config: model='m'", "0.5.0"),
        (
            "(EngineCore_DP0 pid=1) INFO 02-24 12:21:40 [core.py:101] Initializing a V1 LLM engine "
            "(v0.16.0rc2.dev312+g1c8e0ad77) with config: model='m'",
            "0.16.0rc2.dev312+g1c8e0ad77",
        ),
    ],
)
def test_engine_line_gives_the_version(facts: Callable[[str], RunFacts], line: str, version: str) -> None:
    """The engine's line names version and model in every generation."""
    found = facts(line + "\n")
    assert (found.vllm_version, found.model) == (version, "m")


def test_objects_masks_and_cuts_are_unusable(facts: Callable[[str], RunFacts]) -> None:
    """What cannot be turned back is named; a secret is masked; a cut dump is marked."""
    dump = (
        "INFO 11-30 15:21:45 [utils.py:233] non-default args: {'model': 'm', 'api_key': ['sk-verysecret'], "
        "'compilation_config': CompilationConfig(level=3, sizes=[1, 2]), 'watermark_config': '***', "
        "'lora_modules': [LoRAModulePath(name='sql', path='/loras/sql', base_model_name=None)], "
        "'dtype': torch.bfloat16, 'hf_overrides': {'a': <function f at 0x7>}, 'chat_template': 'ab"
    )
    found = facts(dump + "\n")
    assert found.args == {"model": "m", "api_key": "***", "lora_modules": ["sql=/loras/sql"], "dtype": "bfloat16"}
    assert set(found.unusable) == {"compilation_config", "watermark_config", "hf_overrides", "chat_template", "..."}
    assert "verysecret" not in repr(found)


def test_quoted_dump_is_no_fact(facts: Callable[[str], RunFacts]) -> None:
    """A prompt that quotes an argument dump or a banner says nothing of the run."""
    text = "INFO 11-30 15:21:45 [logger.py:43] Received request cmpl-1: prompt: \"non-default args: {'port': 1}\"\n"
    text += "INFO 11-30 15:21:46 [logger.py:43] prompt: 'vLLM API server version 9.9.9'\n"
    assert facts(text) == RunFacts()


def test_launch_line_wins_its_idiom(facts: Callable[[str], RunFacts]) -> None:
    """A command behind a prompt, ahead of the banner, is the launch."""
    found = facts("(base) me@box:~$ vllm serve a/tiny --port 8500 --max-num-seqs 256\n" + SERVER)
    assert found.launch == ("vllm", "serve", "a/tiny", "--port", "8500", "--max-num-seqs", "256")
    assert found.launch_idiom == "cli"


def test_launch_of_another_model_is_dropped(facts: Callable[[str], RunFacts]) -> None:
    """A pasted command that serves another model than the log's is not this run's."""
    assert facts("$ vllm serve evil/model --trust-remote-code\n" + SERVER).launch is None


def test_launch_with_continuation_lines(facts: Callable[[str], RunFacts]) -> None:
    """Backslashes at line ends join a command; the lines behind it do not belong to it."""
    text = "$ docker run --gpus all \\\n  -p 8000:8000 \\\n  vllm/vllm-openai:v0.5.0 \\\n  --model org/m"
    found = facts(text + " --max-num-seqs 8\nUnable to find image locally\n")
    assert found.launch is not None
    assert found.launch[-2:] == ("--max-num-seqs", "8")
    assert found.launch_idiom == "docker"
    assert (found.vllm_version, found.version_basis) == ("0.5.0", "inferred")
    assert found.args == {"model": "org/m", "max_num_seqs": 8}


def test_continuation_ends_where_the_log_begins(facts: Callable[[str], RunFacts]) -> None:
    """A dangling backslash does not swallow the log behind it."""
    found = facts("$ vllm serve a/tiny --port 8500 \\\n" + SERVER)
    assert found.launch == ("vllm", "serve", "a/tiny", "--port", "8500")
    assert found.vllm_version == "0.11.0"


def test_python_run_by_its_frame(facts: Callable[[str], RunFacts]) -> None:
    """A frame in vllm/entrypoints/llm.py and arguments without a server's banner mean LLM(...)."""
    found = facts(
        "INFO 11-30 15:21:45 [utils.py:233] non-default args: {'model': 'm', 'max_num_seqs': 8}\n"
        "Traceback (most recent call last):\n"
        '  File "/app/run.py", line 3, in <module>\n'
        "    llm = LLM(model='m', max_num_seqs=size)\n"
        '  File "/usr/lib/python3/site-packages/vllm/entrypoints/llm.py", line 294, in __init__\n'
    )
    assert found.launch_idiom == "python"
    assert found.args == {"model": "m", "max_num_seqs": 8}


def test_python_call_in_source(facts: Callable[[str], RunFacts]) -> None:
    """Without a dump the literals of the call in the traceback are the arguments; names are unusable."""
    found = facts('    llm = LLM("org/m", max_num_seqs=8, quantization=args.q)\n')
    assert (found.launch_idiom, found.args, found.unusable) == (
        "python",
        {"model": "org/m", "max_num_seqs": 8},
        ("quantization",),
    )


def test_deployment_from_envelopes(facts: Callable[[str], RunFacts]) -> None:
    """Compose and kubectl prefixes give deployment and idiom."""
    compose = facts("".join(f"vllm-1  | {line}\n" for line in SERVER.splitlines()))
    assert (compose.deployment, compose.launch_idiom, compose.vllm_version) == ("compose", "compose", "0.11.0")
    pod = facts("".join(f"[pod/vllm-0/vllm] {line}\n" for line in SERVER.splitlines()))
    assert (pod.deployment, pod.launch_idiom, pod.vllm_version) == ("kubernetes", "k8s", "0.11.0")


def test_world_size_and_gpus(facts: Callable[[str], RunFacts]) -> None:
    """World size from the workers' line, GPUs from collect_env."""
    found = facts(
        "GPU models and configuration: GPU 0: NVIDIA A100\nGPU 1: NVIDIA A100\n"
        "INFO 11-30 15:21:45 [parallel_state.py:1208] world_size=4 rank=0 local_rank=0 backend=nccl\n"
    )
    assert (found.gpus, found.world_size) == (2, 4)


def test_next_run_keeps_what_the_banner_does_not_say(records: Records) -> None:
    """In a restart loop the host's facts stay, the run's own do not."""
    collector = FactsCollector()
    for record in records("$ vllm serve a/tiny\n" + SERVER):
        collector.observe(record)
    assert collector.started
    following = collector.next_run()
    found = following.facts()
    assert not following.started
    assert (found.platform, found.launch) == ("cuda", ("vllm", "serve", "a/tiny"))
    assert found.vllm_version is None
    assert found.args == {"model_tag": "a/tiny"}


@pytest.mark.parametrize(("text", "starts"), [(SERVER, 1), (LOGO, 1), (OLD, 1), ("INFO 1-1 nothing\n", 0)])
def test_run_starts_are_counted_once(records: Records, text: str, starts: int) -> None:
    """Each banner counts once, however many lines it has."""
    assert sum(is_run_start(record) for record in records(text)) == starts


def test_garbage_is_survived(facts: Callable[[str], RunFacts]) -> None:
    """Hostile dumps end in unusable names, not in an error."""
    prefix = "INFO 11-30 15:21:45 [utils.py:233] non-default args: "
    for dump in (
        "{" + "[" * 50_000,
        "{'a': " + "(" * 200 + ")" * 200 + "}",
        "{" + "'a': 1," * 5000 + "}",
        "{'a': 9**9**9}",
    ):
        found = facts(prefix + dump + "\n")
        assert found.args in ({}, {"a": 1})


def test_stray_backslash(facts: Callable[[str], RunFacts]) -> None:
    """An error behind a command that ends in a backslash is not part of the command."""
    found = facts("$ vllm serve m --max-num-seqs 64 \\\nValueError: max_num_batched_tokens (64) is low\n")
    assert found.launch == ("vllm", "serve", "m", "--max-num-seqs", "64")
    found = facts("$ vllm serve m \\\n  --max-num-seqs 64 \\\n  --port 1\nValueError: x\n")
    assert found.launch == ("vllm", "serve", "m", "--max-num-seqs", "64", "--port", "1")
