from __future__ import annotations

import ast
import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from packaging.version import Version

from triage.diagnose.arguments import Release
from triage.diagnose.commands import (
    BEHIND_IMAGE,
    OPTIONS_PLACE,
    REBUILT,
    Change,
    Rendered,
    rebuilt_command,
    render,
    shown_command,
)
from triage.model import Idiom, RunFacts

NEW = Release(Version("0.33.0"))
CHANGE = Change(set={"--max-num-seqs": 64})
ARGS: dict[str, object] = {"model_tag": "org/m", "model": "org/m", "max_num_seqs": 256, "port": 8001, "api_key": "***"}
DOCKER = ("docker", "run", "--gpus", "all", "-e", "HF_TOKEN=secret", "-p", "8000:8000", "vllm/vllm-openai:v0.33.0")


def one(rendered: Rendered) -> str:
    assert len(rendered.commands) == 1
    return rendered.commands[0]


def test_on_the_command_that_the_log_shows() -> None:
    """The user's own command comes back with the change made and all else kept."""
    launch = ("CUDA_VISIBLE_DEVICES=0", "vllm", "serve", "org/m", "--max_num_seqs=256", "-tp", "2", "--x", "'a b'")
    rendered = render(CHANGE, RunFacts(launch=launch, launch_idiom="cli"), "cli", NEW)
    assert one(rendered) == "CUDA_VISIBLE_DEVICES=0 vllm serve org/m --max_num_seqs=64 -tp 2 --x 'a b'"
    assert rendered.note is None


def test_module_launch_stays_a_module_launch() -> None:
    """A launch by the module is not turned into vllm serve."""
    launch = ("python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "org/m")
    rendered = render(CHANGE, RunFacts(launch=launch), "cli", NEW)
    assert one(rendered) == "python3 -m vllm.entrypoints.openai.api_server --model org/m --max-num-seqs 64"


def test_docker_launch() -> None:
    """The docker command keeps its options, secrets aside; variables go in front of the image."""
    facts = RunFacts(launch=(*DOCKER, "--model", "org/m"), launch_idiom="docker")
    change = Change(set={"--max-num-seqs": 64}, env={"A": "b c", "HF_TOKEN": None})
    assert one(render(change, facts, "docker", NEW)) == (
        "docker run --gpus all -p 8000:8000 -e A='b c' vllm/vllm-openai:v0.33.0 --model org/m --max-num-seqs 64"
    )
    assert one(render(CHANGE, facts, "docker", NEW)).startswith('docker run --gpus all -e HF_TOKEN="$HF_TOKEN" -p')
    assert one(render(CHANGE, facts, "cli", NEW)) == "vllm serve org/m --max-num-seqs 64"


@pytest.mark.parametrize(
    "words",
    [
        (*DOCKER, "bash", "-c", "vllm serve m"),
        (*DOCKER[:2], "--entrypoint", "/bin/bash", *DOCKER[2:], "-c", "vllm serve m"),
        (*DOCKER, "python3", "serve.py"),
        ("python", "serve.py", "--engine", "vllm"),
    ],
)
def test_launches_that_are_not_understood(words: tuple[str, ...]) -> None:
    """Where vllm's arguments cannot be told, the change alone is printed."""
    rendered = render(CHANGE, RunFacts(launch=words, launch_idiom="docker"), "docker", NEW)
    assert one(rendered) == "--max-num-seqs 64"
    assert (rendered.note or "").startswith("the change alone")


def test_rebuilt_from_arguments() -> None:
    """Without a command the logged arguments are turned into one, and it is said."""
    rendered = render(CHANGE, RunFacts(args=ARGS), "cli", NEW)
    assert one(rendered) == 'vllm serve org/m --max-num-seqs 64 --port 8001 --api-key "$VLLM_API_KEY"'
    assert rendered.note == REBUILT
    assert rebuilt_command(RunFacts(args=ARGS), Release()) == (
        'vllm serve org/m --max-num-seqs 256 --port 8001 --api-key "$VLLM_API_KEY"'
    )


def test_release_without_serve() -> None:
    """Before vllm serve existed the module is run."""
    rendered = render(CHANGE, RunFacts(args={"model": "m"}), "cli", Release(Version("0.4.0")))
    assert one(rendered) == "python -m vllm.entrypoints.openai.api_server --model m --max-num-seqs 64"


def test_docker_without_a_docker_command() -> None:
    """The arguments behind the image are printed, nothing of the rest is invented."""
    rendered = render(CHANGE, RunFacts(args={"model_tag": "org/m"}), "docker", NEW)
    assert one(rendered) == "--model org/m --max-num-seqs 64"
    assert (rendered.note or "").startswith(BEHIND_IMAGE)


def test_kubernetes() -> None:
    """Entry point, arguments as text, variables in Kubernetes' own form."""
    change = Change(set={"--max-num-seqs": 64}, env={"A": "no"})
    read = yaml.safe_load(one(render(change, RunFacts(args=ARGS), "k8s", NEW)))
    assert read == {
        "command": ["vllm", "serve"],
        "args": ["org/m", "--max-num-seqs", "64", "--port", "8001", "--api-key", "$(VLLM_API_KEY)"],
        "env": [{"name": "A", "value": "no"}],
    }


def test_compose() -> None:
    """Entry point, command and environment of a service."""
    change = Change(set={"--max-num-seqs": 64}, env={"A": "no", "B": None})
    rendered = render(change, RunFacts(args=ARGS), "compose", NEW)
    read = yaml.safe_load(one(rendered))
    assert read["entrypoint"] == ["vllm", "serve"]
    assert read["command"] == ["org/m", "--max-num-seqs", "64", "--port", "8001", "--api-key", "${VLLM_API_KEY}"]
    assert read["environment"] == {"A": "no"}
    assert rendered.steps == ("remove B from the container's environment",)


def test_python() -> None:
    """A call of LLM with the engine's arguments; the server's are left out."""
    args = {**ARGS, "speculative_config": {"method": "mtp", "num_speculative_tokens": 5}, "disable_log_stats": True}
    change = Change(set={"--max-num-seqs": 64, "--speculative-config.num_speculative_tokens": 2}, env={"A": "1"})
    text = one(render(change, RunFacts(args=args), "python", NEW))
    assert text == (
        'import os\nos.environ["A"] = "1"\n'
        'LLM(model="org/m", max_num_seqs=64, speculative_config={"method": "mtp", "num_speculative_tokens": 2})'
    )
    ast.parse(text)
    assert args["speculative_config"] == {"method": "mtp", "num_speculative_tokens": 5}


@pytest.mark.parametrize(
    ("idiom", "command"),
    [
        ("cli", "--max-num-seqs 64"),
        ("docker", "--max-num-seqs 64"),
        ("k8s", '- "--max-num-seqs"\n- "64"'),
        ("compose", '- "--max-num-seqs"\n- "64"'),
        ("python", "max_num_seqs=64"),
    ],
)
def test_change_alone(idiom: Idiom, command: str) -> None:
    """Where the log shows no command the change stands by itself, and the note says why."""
    rendered = render(CHANGE, RunFacts(), idiom, NEW)
    assert one(rendered) == command
    assert rendered.note == "the change alone: the log shows neither the command nor its arguments"


@pytest.mark.parametrize("idiom", ["cli", "python"])
def test_a_key_by_itself_is_said_to_belong_into_a_value_that_is_given(idiom: Idiom) -> None:
    """Without the command nobody knows whether the flag is given; given again, its key would replace the whole value."""
    change = Change(set={"--kv-transfer-config.kv_role": "kv_both", "--max-num-seqs": 8})
    rendered = render(change, RunFacts(), idiom, NEW)
    assert rendered.steps == ("where --kv-transfer-config is given already, put the key into its value instead",)


def test_change_alone_for_variables_and_removals() -> None:
    """Variables are exported; a flag to drop becomes a step."""
    rendered = render(Change(unset=("--x",), env={"A": "b c", "C": None}), RunFacts(), "cli", NEW)
    assert rendered.commands == ("export A='b c'", "unset C")
    assert rendered.steps == ("remove --x",)


def test_what_the_log_lacks_is_named() -> None:
    """An argument that cannot be turned back, or a cut list, leaves the change alone and is named."""
    facts = RunFacts(args=ARGS, unusable=("compilation_config",))
    assert render(CHANGE, facts, "cli", NEW).note == (
        "the change alone: the log does not show compilation_config in full"
    )
    facts = RunFacts(args=ARGS, unusable=("...",))
    assert render(CHANGE, facts, "cli", NEW).note == "the change alone: the log's list of arguments is cut"
    assert rebuilt_command(facts, Release()) is None


def test_environment_on_the_command_line() -> None:
    """Variables are set in front of the program, behind sudo, replaced and unset."""
    facts = RunFacts(launch=("A=1", "sudo", "-E", "vllm", "serve", "m"))
    assert one(render(Change(env={"B": "2"}), facts, "cli", NEW)) == "A=1 sudo -E B=2 vllm serve m"
    assert one(render(Change(env={"A": None}), facts, "cli", NEW)) == "sudo -E vllm serve m"
    assert one(render(Change(env={"C": None}), facts, "cli", NEW)) == "env -u C A=1 sudo -E vllm serve m"


def test_token_that_only_the_user_has() -> None:
    """It is handed on by name, and the user is told to set it; nothing is exported to itself."""
    change = Change(passed=("HF_TOKEN",))
    docker = RunFacts(launch=(*DOCKER, "--model", "m"), launch_idiom="docker")
    assert one(render(change, docker, "docker", NEW)) == (
        "docker run --gpus all -p 8000:8000 -e HF_TOKEN vllm/vllm-openai:v0.33.0 --model m"
    )
    assert render(change, RunFacts(), "docker", NEW).commands == ("-e HF_TOKEN",)
    compose = yaml.safe_load(one(render(change, RunFacts(args=ARGS), "compose", NEW)))
    assert compose["environment"] == {"HF_TOKEN": "${HF_TOKEN}"}
    pod = render(change, RunFacts(args=ARGS), "k8s", NEW)
    assert pod.commands == ()
    assert pod.steps == ("give the container HF_TOKEN from a Secret (env, valueFrom.secretKeyRef)",)
    for facts in (RunFacts(), RunFacts(args=ARGS), RunFacts(launch=("vllm", "serve", "m"))):
        assert render(change, facts, "cli", NEW).commands == ()
    alone = render(change, RunFacts(), "cli", NEW)
    assert (alone.commands, alone.note) == ((), None)
    assert alone.steps == ("set HF_TOKEN in the environment that this is run from",)


def test_packages() -> None:
    """Packages are installed by pip, in a container by a step about the image."""
    change = Change(packages=("transformers<5",))
    assert render(change, RunFacts(), "cli", NEW).commands == ("pip install 'transformers<5'",)
    assert render(change, RunFacts(), "k8s", NEW).steps == ("in the image: pip install 'transformers<5'",)


def test_package_without_a_release_is_upgraded() -> None:
    """A name alone asks for the newest release; pip would leave an installed one as it is."""
    assert render(Change(packages=("vllm",)), RunFacts(), "cli", NEW).commands == ("pip install --upgrade vllm",)


def test_flag_given_elsewhere() -> None:
    """A flag to drop that the command does not have (a config file has) is named in a step."""
    facts = RunFacts(launch=("vllm", "serve", "--config", "x.yaml"), args={"max_num_seqs": 1, "model": "m"})
    rendered = render(Change(unset=("--max-num-seqs",)), facts, "cli", NEW)
    assert rendered.steps == ("--max-num-seqs is not on this command line: drop it where it is set",)


HOSTILE = (
    "x; rm -rf ~ #",
    "$(touch pwned)",
    "`touch pwned`",
    "a'b\"c",
    "${IFS}x",
    "&& touch pwned",
    "[bold]x[/bold]",
    "!x",
)


@pytest.mark.parametrize("model", HOSTILE)
@pytest.mark.parametrize("shown", [True, False])
def test_hostile_models_under_a_real_shell(model: str, shown: bool, tmp_path: Path) -> None:
    """The printed command gives vllm the hostile name as one argument and runs nothing else."""
    facts = RunFacts(launch=("vllm", "serve", model)) if shown else RunFacts(args={"model_tag": model})
    command = one(render(CHANGE, facts, "cli", NEW))
    (tmp_path / "vllm").write_text("#!/bin/sh\nprintf '%s\\0' \"$@\"\n")
    (tmp_path / "vllm").chmod(0o755)
    env = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(["sh", "-c", command], capture_output=True, cwd=tmp_path, env=env, check=True)
    assert done.stdout.decode().split("\0")[:-1] == ["serve", model, "--max-num-seqs", "64"]
    assert done.stderr == b""
    assert [path.name for path in tmp_path.iterdir()] == ["vllm"]


@pytest.mark.parametrize("model", ["a\nb", "\x1b[2Jx", "a\u202eb", "x" * 5000])
@pytest.mark.parametrize("idiom", ["cli", "docker", "k8s", "compose", "python"])
def test_models_that_disable_the_command(model: str, idiom: Idiom) -> None:
    """A name that cannot be quoted safely is not printed; the change alone is."""
    for facts in (RunFacts(args={"model": model}), RunFacts(launch=("vllm", "serve", model))):
        rendered = render(CHANGE, facts, idiom, NEW)
        assert (rendered.note or "").startswith("the change alone")
        assert model not in "".join(rendered.commands)
        assert all(
            text.replace("\n", "").isprintable() for text in (*rendered.commands, *rendered.steps, rendered.note or "")
        )


def test_model_that_looks_like_a_flag() -> None:
    """A name that begins with a dash would be an option, so no command is made of it."""
    rendered = render(CHANGE, RunFacts(args={"model": "-x"}), "cli", NEW)
    assert rendered.commands == ("--max-num-seqs 64",)
    assert rendered.note == "the change alone: the model's name begins with a dash"


def test_value_that_disables_even_the_change() -> None:
    """Where the new value itself cannot be quoted nothing is printed."""
    rendered = render(Change(set={"--x": "a\nb"}), RunFacts(), "cli", NEW)
    assert rendered.commands == ()
    assert rendered.steps == ("no command is printed: a value holds characters that are not printable",)


printable = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" "), min_size=1, max_size=30)
names = st.from_regex(r"x_[a-z]{1,8}", fullmatch=True)


@settings(max_examples=40, deadline=None)
@given(st.dictionaries(names, printable.filter(lambda text: not text.startswith("-")), max_size=4))
def test_rebuilt_values_reach_the_program(values: dict[str, str]) -> None:
    """Whatever the logged values, a real sh hands each on as it was."""
    command = rebuilt_command(RunFacts(args={"model": "m", **values}), Release())
    assert command is not None
    done = subprocess.run(
        ["sh", "-c", command.replace("vllm serve", "printf '%s\\0'", 1)], capture_output=True, check=True
    )
    expected = ["m"] + [word for name, text in values.items() for word in (f"--{name.replace('_', '-')}", text)]
    assert done.stdout.decode().split("\0")[:-1] == expected


def test_shown_command_hides_secrets() -> None:
    """The command as shown in the report holds no secret."""
    assert shown_command(RunFacts(launch=(*DOCKER, "--model", "m", "--api-key", "k"))) == (
        'docker run --gpus all -e HF_TOKEN="$HF_TOKEN" -p 8000:8000 vllm/vllm-openai:v0.33.0 --model m '
        '--api-key "$VLLM_API_KEY"'
    )
    assert shown_command(RunFacts()) is None
    assert shown_command(RunFacts(launch=("vllm", "\x1b"))) is None


ENV = ("A=1", "B='x y'", "HF_TOKEN=secret", "env", "-u", "GONE", "vllm", "serve", "--max-num-seqs", "256", "o/m")


def test_environment_in_another_idiom() -> None:
    """Variables before the program go along into every idiom; tokens by name, unset ones as steps."""
    facts = RunFacts(launch=ENV, launch_idiom="cli", args={"model_tag": "o/m", "max_num_seqs": 256})
    docker = render(CHANGE, facts, "docker", NEW)
    assert one(docker) == "-e A=1\n-e B='x y'\n-e HF_TOKEN\n--model o/m --max-num-seqs 64"
    assert docker.steps == (OPTIONS_PLACE, "remove GONE from the container's environment")
    pod = render(CHANGE, facts, "k8s", NEW)
    read = yaml.safe_load(one(pod))
    assert read["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "x y"}]
    assert read["args"] == ["o/m", "--max-num-seqs", "64"]
    assert pod.steps == (
        "give the container HF_TOKEN (env), as your command does",
        "remove GONE from the container's environment",
    )
    compose = yaml.safe_load(one(render(CHANGE, facts, "compose", NEW)))
    assert compose["environment"] == {"HF_TOKEN": "${HF_TOKEN}", "A": "1", "B": "x y"}
    python = render(CHANGE, facts, "python", NEW)
    assert one(python) == (
        'import os\nos.environ.pop("GONE", None)\nos.environ["A"] = "1"\nos.environ["B"] = "x y"\n'
        'LLM(model="o/m", max_num_seqs=64)'
    )
    assert python.steps == ("set HF_TOKEN in the environment that this is run from",)


def test_changed_variable_stands_once() -> None:
    """A fix's own value takes the place of the command's."""
    facts = RunFacts(launch=("A=1", "vllm", "serve", "m"), args={"model_tag": "m"})
    change = Change(env={"A": "2"})
    assert yaml.safe_load(one(render(change, facts, "k8s", NEW)))["env"] == [{"name": "A", "value": "2"}]
    assert one(render(change, facts, "docker", NEW)) == "-e A=2\n--model m"
    assert 'os.environ["A"] = "2"' in one(render(change, facts, "python", NEW))


def test_environment_of_a_container_on_the_command_line() -> None:
    """What docker's -e gives stands before the program; the user's own variables are there already."""
    words = (
        *DOCKER[:4],
        "-e",
        "A=b c",
        "-eC=1",
        "--env=D=2",
        "-e",
        "E",
        "--env-file",
        "x.env",
        *DOCKER[6:],
        "--model",
        "m",
    )
    rendered = render(CHANGE, RunFacts(launch=words, launch_idiom="docker"), "cli", NEW)
    assert one(rendered) == "A='b c' C=1 D=2 vllm serve m --max-num-seqs 64"
    assert rendered.steps == ("your command also sets the variables of x.env: do the same here",)


def test_shell_variable_in_python() -> None:
    """What only a shell fills in has no form in Python: the change alone, and why."""
    facts = RunFacts(launch=('A="$B/x"', "vllm", "serve", "m"), args={"model_tag": "m"})
    rendered = render(CHANGE, facts, "python", NEW)
    assert one(rendered) == "max_num_seqs=64"
    assert rendered.note == "the change alone: A has a variable of the shell in it"


def test_level_of_old_releases_in_python() -> None:
    """-O3 was the level of the compilation before it was a level of its own."""
    facts = RunFacts(args={"model_tag": "m", "optimization_level": 3})
    assert one(render(CHANGE, facts, "python", NEW)) == 'LLM(model="m", optimization_level=3, max_num_seqs=64)'
    old = render(CHANGE, facts, "python", Release(Version("0.10.2")))
    assert one(old) == 'LLM(model="m", compilation_config=3, max_num_seqs=64)'


def test_variables_to_unset_share_one_env() -> None:
    """Several variables are taken away by one env."""
    facts = RunFacts(launch=("vllm", "serve", "m"))
    change = Change(env={"A": None, "B": None, "C": "1"})
    assert one(render(change, facts, "cli", NEW)) == "env -u A -u B C=1 vllm serve m"
    again = RunFacts(launch=("env", "-u", "A", "vllm", "serve", "m"))
    assert one(render(change, again, "cli", NEW)) == "C=1 env -u A -u B vllm serve m"


def test_patterns_of_the_shell_are_named() -> None:
    """A pattern comes back quoted, and it is said; a home folder stays as it is."""
    facts = RunFacts(launch=("vllm", "serve", r"/m/\*", "--download-dir", "~/d", "--x", "'*'"))
    rendered = render(CHANGE, facts, "cli", NEW)
    assert one(rendered) == "vllm serve '/m/*' --download-dir ~/d --x '*' --max-num-seqs 64"
    assert rendered.steps == ("put in what the shell made of /m/*: it stands quoted here",)


def test_model_among_keys() -> None:
    """Where a word behind --api-key may be the model, no command is printed without it."""
    facts = RunFacts(launch=("vllm", "serve", "--api-key", "k", "o/m"), args={"api_key": "***"})
    rendered = render(CHANGE, facts, "cli", NEW)
    assert one(rendered) == "--max-num-seqs 64"
    assert rendered.note == "the change alone: the log does not show the model"


@pytest.mark.parametrize("idiom", ["docker", "k8s", "compose"])
def test_model_behind_flags_in_other_idioms(idiom: Idiom) -> None:
    """The model comes first there, wherever it stood."""
    for words in (["--max-num-seqs", "256", "o/m"], ["--max-num-seqs", "256", "--", "o/m"]):
        text = one(render(CHANGE, RunFacts(launch=("vllm", "serve", *words)), idiom, NEW))
        found = text.split() if idiom == "docker" else yaml.safe_load(text)["args" if idiom == "k8s" else "command"]
        assert found == [*(["--model"] if idiom == "docker" else []), "o/m", "--max-num-seqs", "64"]
