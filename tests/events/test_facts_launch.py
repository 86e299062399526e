from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.events.facts_launch import launch_args, launch_model, may_continue, read_launch
from triage.events.facts_words import shell_words


@pytest.mark.parametrize(
    "prompt",
    [
        "$ ",
        "# ",
        "root@a1b2:/vllm-workspace# ",
        "(base) user@host:~$ ",
        "[user@node dir]$ ",
        "user@host:~/a b$ ",
        "(venv) ",
        "(venv) $ ",
        "+ ",
        "bash-5.1$ ",
        "/app # ",
        "❯ ",
        "Running: ",
        "PS C:\\work> ",
        "C:\\work> ",
    ],
)
def test_prompts_are_taken_off(prompt: str) -> None:
    """A command is found behind the prompts of the usual shells."""
    launch = read_launch(f"{prompt}vllm serve org/m --max-num-seqs 4")
    assert launch is not None
    assert launch.words == ("vllm", "serve", "org/m", "--max-num-seqs", "4")
    assert launch.prompted


@pytest.mark.parametrize(
    ("line", "words", "idiom"),
    [
        ("$ python3 -m vllm.entrypoints.openai.api_server --model m", 5, "cli"),
        ("$ CUDA_VISIBLE_DEVICES=0,1 vllm serve m", 4, "cli"),
        ("$ nohup vllm serve m > log.txt 2>&1 &", 4, "cli"),
        ("$ vllm serve m 2>&1 | tee log", 3, "cli"),
        ("$ cd /x && vllm serve m", 3, "cli"),
        ("$ sudo docker run --rm vllm/vllm-openai:latest --model m", 7, "docker"),
        ("vllm serve org/m", 3, "cli"),
        ("/opt/venv/bin/vllm serve m --port 1", 5, "cli"),
    ],
)
def test_launches(line: str, words: int, idiom: str) -> None:
    """Programs, environment, runners, pipes and redirections."""
    launch = read_launch(line)
    assert launch is not None
    assert (len(launch.words), launch.idiom) == (words, idiom)


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve: error: argument --max-lora-rank: invalid choice: 7",
        "usage: vllm serve [model_tag] [options]",
        "vllm serve fails with this error",
        "Scale-out endpoints are disabled. Restart vllm serve with --enable-scale-out to enable them.",
        "$ vllm serve $(cat model.txt)",
        "$ vllm serve `cat model.txt`",
        "$ vllm serve 'unclosed",
        "$ vllm serve m\x1b[0m",
        "$ docker run --name vllm postgres",
        "$ python run.py vllm serve",
        "$ vllm bench serve m",
    ],
)
def test_what_is_no_launch(line: str) -> None:
    """Sentences, usage, other programs, and what a shell would have to work out."""
    assert read_launch(line) is None


def test_words_keep_what_a_shell_needs() -> None:
    """Quotes, variables, the home folder and the working folder come out in forms that paste again."""
    launch = read_launch(
        '$ docker run -v ~/.cache:/c -v $(pwd)/x:/x -e "HF_TOKEN=$HF_TOKEN" -e A="b c" vllm/v:1 --x \'{"a": 1}\''
    )
    assert launch is not None
    assert launch.words[3] == "~/.cache:/c"
    assert launch.words[5] == '"$PWD/x:/x"'
    assert launch.words[7] == 'HF_TOKEN="$HF_TOKEN"'
    assert launch.words[9] == "A='b c'"
    assert launch.words[-1] == "'{\"a\": 1}'"


@given(st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=12), min_size=1, max_size=5))
def test_words_mean_to_a_shell_what_they_meant(values: list[str]) -> None:
    """Whatever the words, quoted with double quotes, sh reads ours as it reads the original."""
    line = " ".join('"' + "".join("\\" + c if c in '\\"$`' else c for c in value) + '"' for value in values)
    found = shell_words(line)
    assert found is not None
    script = 'printf "%s\\n" ' + " ".join(found[0])
    assert subprocess.run(["sh", "-c", script], capture_output=True, check=True).stdout.decode().splitlines() == values


def test_arguments_of_a_launch() -> None:
    """Flags in every spelling become arguments with values of their kind."""
    launch = read_launch(
        "$ vllm serve org/m -tp 2 --max_num_seqs=8 --enforce-eager --gpu-memory-utilization .9 "
        "--no-enable-prefix-caching --served-model-name a b --api-key sk-1 "
        '--speculative-config \'{"num_speculative_tokens": 3}\' --seed -1 --x "$Y"'
    )
    assert launch is not None
    assert launch_model(launch) == "org/m"
    found = launch_args(launch)
    assert found.unusable == ["x"]
    assert found.values == {
        "model_tag": "org/m",
        "tensor_parallel_size": 2,
        "max_num_seqs": 8,
        "enforce_eager": True,
        "gpu_memory_utilization": 0.9,
        "enable_prefix_caching": False,
        "served_model_name": ["a", "b"],
        "api_key": "***",
        "speculative_config": {"num_speculative_tokens": 3},
        "seed": -1,
    }


@pytest.mark.parametrize(
    ("line", "model"),
    [
        ("$ docker run --name vllm -e A=1 vllm/vllm-openai:v1 --model=org/m --seed 1", "org/m"),
        ("$ docker run --rm my.io/vllm:1 vllm serve org/m", "org/m"),
        ("$ vllm serve $MODEL --seed 1", "$"),
        ("$ vllm serve --config x.yaml", None),
    ],
)
def test_model_of_a_launch(line: str, model: str | None) -> None:
    """The model by position or by flag; a variable is a model that is not known."""
    launch = read_launch(line)
    assert launch is not None
    assert launch_model(launch) == model


def test_long_lines_are_cheap() -> None:
    """A hostile line ends quickly."""
    assert read_launch("$ vllm serve " + "a " * 7000) is None
    assert read_launch("(" * 15000 + "vllm serve m") is None
    assert read_launch("user@" * 3000 + " vllm serve m") is None


@pytest.mark.parametrize(
    "line",
    [
        "vllm serve --max-num-seqs 64 org/m",
        "vllm serve --max-num-seqs 64 -- org/m",
        "vllm serve --served-model-name a b --max-num-seqs 64 org/m",
        "vllm serve --enforce-eager org/m --max-num-seqs 64",
        "vllm serve --kv-sharing-fast-prefill org/m --max-num-seqs=64",
        "vllm serve --middleware a.b org/m --max-num-seqs 64",
        "docker run --gpus all vllm/vllm-openai:v0.33.0 --max-num-seqs 64 org/m",
        "docker run --gpus all vllm/vllm-openai:v0.33.0 serve org/m --max-num-seqs 64",
        "vllm serve --port 1 --model org/m --max-num-seqs 64",
    ],
)
def test_model_behind_flags(line: str) -> None:
    """A flag owns the words that vLLM's parser gives it; the first of the others is the model."""
    launch = read_launch(f"$ {line}")
    assert launch is not None
    assert launch_model(launch) == "org/m"
    assert launch_args(launch).values["max_num_seqs"] == 64


@pytest.mark.parametrize(
    ("flags", "values"),
    [
        ("-O3", {"optimization_level": 3}),
        ("-O=2", {"optimization_level": 2}),
        ("-O 1", {"optimization_level": 1}),
        ("-O.mode 3 -cc.cudagraph_mode=NONE", {"compilation_config": {"mode": 3, "cudagraph_mode": "NONE"}}),
        ("--max-model-len 4k", {"max_model_len": 4000}),
        ("--max-model-len 4K", {"max_model_len": 4096}),
        ("--max-model-len 25.6k", {"max_model_len": 25600}),
        ("--max-model-len auto", {"max_model_len": -1}),
        ("--max-model-len 1.5K", {"max_model_len": "1.5K"}),
        ("--served-model-name 4k", {"served_model_name": "4k"}),
        ("--speculative-config.a.b 3 -sc.c true", {"speculative_config": {"a": {"b": 3}, "c": True}}),
        ("-cc.sizes+ 1,2 -cc.sizes+=3", {"compilation_config": {"sizes": ["1", "2", "3"]}}),
        ("--limit-mm-per-prompt image=2,video=1", {"limit_mm_per_prompt": {"image": 2, "video": 1}}),
        ("--enable-chunked-prefill False", {"enable_chunked_prefill": False}),
        ("'--speculative-config={\"a\": 1}'", {"speculative_config": {"a": 1}}),
    ],
)
def test_values_as_vllm_reads_them(flags: str, values: dict[str, object]) -> None:
    """Levels, numbers with a suffix, keys given by themselves and old forms become what vLLM makes of them."""
    launch = read_launch(f"$ vllm serve m {flags}")
    assert launch is not None
    assert launch_args(launch).values == {"model_tag": "m", **values}
    assert launch_args(launch).unusable == []


@pytest.mark.parametrize(
    "flags", ["--chat-template $X", "--chat-template ~u/x", "-cc.a $X", "--chat-template=$X/y", "--chat-template *.j"]
)
def test_value_that_only_a_shell_knows(flags: str) -> None:
    """It is named, and left out."""
    launch = read_launch(f"$ vllm serve m {flags}")
    assert launch is not None
    found = launch_args(launch)
    assert found.values == {"model_tag": "m"}
    assert found.unusable in (["chat_template"], ["compilation_config"])


@pytest.mark.parametrize(
    ("word", "kept"),
    [
        ("~/x", "~/x"),
        ("~", "~"),
        ("~user/x", "~user/x"),
        ("A=~/x", "A=~/x"),
        ("'~/x'", "'~/x'"),
        ("*", r"\*"),
        ("/a/*/b", r"/a/\*/b"),
        ("{a,b}", r"\{a\,b\}"),
        ("'*'", "'*'"),
        (r"\*", "'*'"),
        ("{a}", "'{a}'"),
        ("A=*", "A='*'"),
    ],
)
def test_what_the_shell_fills_in(word: str, kept: str) -> None:
    """Home folders stay; patterns are kept so that they stand for themselves and can be told from quoted ones."""
    found = shell_words(f"x {word}")
    assert found is not None
    assert found[0][1] == kept


@pytest.mark.parametrize(
    ("line", "goes_on"),
    [
        ("  --max-num-seqs 4", True),
        ("org/m", True),
        ("64 org/m --port 1", True),
        ("> vllm/vllm-openai:v0.33.0 \\", True),
        ("'{\"a\": 1}'", True),
        ("2>&1 | tee log", True),
        ("-v /a:/b \\", True),
        ("", True),
        ("ValueError: max_num_batched_tokens (64) must be", False),
        ("torch.OutOfMemoryError: CUDA out of memory.", False),
        ("AssertionError", False),
        ("Traceback (most recent call last):", False),
        ('  File "x.py", line 1, in f', False),
        ("bash: vllm: command not found", False),
        ("usage: vllm serve [model_tag] [options]", False),
        ("Killed", False),
        ("Segmentation fault (core dumped)", False),
        ("2026-11-30 14:15:02 vllm starts", False),
        ("(EngineCore pid=1) ValueError: x", False),
        ("Something went wrong here", False),
    ],
)
def test_what_a_backslash_goes_on_with(line: str, goes_on: bool) -> None:
    """Arguments belong to the command, an error or a sentence behind a stray backslash does not."""
    assert may_continue(line) is goes_on
