"""Text of a log is hostile: nothing of it acts on the terminal, in a shell that a command is pasted into, or on a page."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Callable

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import triage
from triage.model import Report

Diagnose = Callable[..., Report]
SEED = (
    "(APIServer pid=1) ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"
)
MODELS = [
    "x; rm -rf ~ #",
    "$(touch /tmp/owned)",
    "`id`",
    "a'b\"c",
    "a b",
    "a\\nb",
    "[red]x[/red] :fire:",
    "!!python/object:os.system",
    "# comment",
    "%HOME%",
    "~/models",
    "*",
    "{a,b}",
]
UNQUOTABLE = ["a\x1b[31mb", "a\x07b", "a\u202eb", "a\u2066b", "a\x9bb", "a\u2028b"]
ACTIVE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def log(model: str) -> str:
    args = f"non-default args: {{'model_tag': {model!r}, 'model': {model!r}, 'max_num_batched_tokens': 64, 'max_num_seqs': 256}}"
    return (
        "(APIServer pid=1) INFO 11-30 14:15:02 [api_server.py:1839] vLLM API server version 0.11.0\n"
        f"(APIServer pid=1) INFO 11-30 14:15:02 [utils.py:233] {args}\n{SEED}"
    )


@pytest.mark.parametrize("model", MODELS)
def test_command_under_a_real_shell(diagnose: Diagnose, model: str) -> None:
    """Each command, pasted into sh, calls vllm with the model as one word and does nothing else."""
    report = diagnose(log(model))
    commands = [command for fix in report.findings[0].fixes for command in fix.commands]
    assert commands
    for command in commands:
        done = subprocess.run(
            ["sh", "-c", f"vllm() {{ printf '%s\\n' \"$@\"; }}\n{command}"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
        words = done.stdout.splitlines()
        assert words[0] == "serve"
        assert model in (words[1], words[words.index("--model") + 1] if "--model" in words else None)
        assert done.stderr == ""


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("idiom", ["k8s", "compose", "docker", "python"])
def test_other_idioms_hold_the_model_as_one_value(diagnose: Diagnose, model: str, idiom: str) -> None:
    """In YAML, docker and Python too, the model is one value that reads back as it was."""
    fixes = diagnose(log(model), idiom=idiom).findings[0].fixes
    commands = [command for fix in fixes for command in fix.commands]
    assert commands
    for command in commands:
        if idiom == "python":
            call = compile(command, "fix", "eval", flags=0x400)  # the tree only: nothing runs
            assert model in [keyword.value.value for keyword in call.body.keywords if keyword.arg == "model"]
        elif idiom == "docker":
            assert model in shlex.split(command, comments=False)
        else:
            values = [value for part in yaml.safe_load(command).values() for value in part]
            assert model in [value.replace("$$", "$") for value in values]


@pytest.mark.parametrize("model", [*UNQUOTABLE[1:], "--help"])  # a colour is taken for the log's own
def test_what_cannot_be_quoted_gets_no_command(diagnose: Diagnose, model: str) -> None:
    """A control or bidi character in a value, or a model that would be read as a flag: the change alone is printed."""
    fixes = diagnose(log(model)).findings[0].fixes
    assert any(fix.set or fix.steps for fix in fixes)
    for fix in fixes:
        assert all("vllm" not in command for command in fix.commands)


@pytest.mark.parametrize("format", ["text", "concise", "json", "jsonl", "markdown"])
@pytest.mark.parametrize("text", [*UNQUOTABLE, *MODELS])
def test_no_active_character_leaves(diagnose: Diagnose, format: str, text: str) -> None:
    """Neither control bytes nor bidi controls of a log reach the output in any form, wherever they stand in it."""
    hostile = log(text) + f"acme{text}.BrokenError: {text}\nERROR 11-30 14:15:02 [x.py:1] {text}\n"
    report = diagnose(hostile, show_all=True)
    for redacted in (True, False):
        assert not ACTIVE.search(triage.render_report(report, format, redacted=redacted))


def test_markup_is_text(diagnose: Diagnose) -> None:
    """What rich would take for markup or an emoji stands as it is."""
    text = "acme.BrokenError: [type=value_error, x] [/workspace/x] [scheduler.py:310] :fire: [bold]b[/bold]\n"
    shown = triage.render_report(diagnose(text), "text")
    assert "[type=value_error, x] [/workspace/x] [scheduler.py:310] :fire: [bold]b[/bold]" in shown


@settings(max_examples=150, deadline=None)
@given(data=st.binary(max_size=400), cut=st.integers(0, 400))
def test_any_bytes_give_a_report(diagnose: Diagnose, data: bytes, cut: int) -> None:
    """Whatever is put into a log, there is a report in every form, and no crash."""
    whole = log("m").encode() + b'Traceback (most recent call last):\n  File "x.py", line 1, in f\nKeyError: 1\n'
    report = diagnose(whole[:cut] + data + whole[cut:], show_all=True)
    for format in ("text", "concise", "json", "jsonl", "markdown"):
        assert not ACTIVE.search(triage.render_report(report, format))


SECRETS = {
    "hf_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH": "HF_TOKEN={}",
    "sk-proj-" + "a1b2c3d4e5f6a1b2c3d4e5f6a1b2": "--api-key {}",
    "hunter2hunter2": "https://user:{}@example.com/x",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.abcdefghijklmno": "Authorization: Bearer {}",
}


@pytest.mark.parametrize("format", ["text", "concise", "json", "jsonl", "markdown"])
@pytest.mark.parametrize("secret", SECRETS)
def test_secrets_stay_on_the_machine(diagnose: Diagnose, secret: str, format: str) -> None:
    """A token, key or password that stands in an error, in the arguments or in the launch command is in no form."""
    spoken = SECRETS[secret].format(secret)
    text = f"$ vllm serve m --max-num-batched-tokens 64 {spoken if spoken.startswith('--') else ''}\n" + log("m")
    report = diagnose(text + f"acme.BrokenError: cannot log in with {spoken}\n", show_all=True)
    assert secret not in triage.render_report(report, format)


@pytest.mark.parametrize(
    "line",
    [
        "│" + " " * 200_000 + "x",
        "(APIServer pid=1) INFO 11-30 14:15:02 [x.py:1] " + "output: '" * 25_000,
        "cannot load model " + " (parameter=" * 20_000,
        "ValueError: " + " [type=" * 30_000,
        "{'a': " * 40_000,
        "non-default args: {'a': " + "<a: " * 2_000 + "1" + ">" * 2_000 + "}",
        "usage: x " + "[--a A] " * 30_000,
        "a: error: " * 25_000,
        "x | " * 60_000,
        '  File "' + "/" * 200_000,
        "\\n" * 100_000 + "Traceback (most recent call last):",
        "&lt;" * 60_000,
        "[rank0]: " * 25_000,
    ],
    ids=lambda line: repr(line[:30]),
)
def test_no_line_takes_long(diagnose: Diagnose, line: str) -> None:
    """Lines of 256 KiB made to set regular expressions running are read in a few seconds of computing."""
    start = time.process_time()
    diagnose(f"{line}\nRuntimeError: {line}\n")
    assert time.process_time() - start < 8
