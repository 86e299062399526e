from __future__ import annotations

import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.events.facts_launch import launch_args, launch_model, read_launch, shell_words


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
    assert launch_args(launch) == {
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
