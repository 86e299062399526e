"""What the README shows is what the program does."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def fenced(marker: str) -> str:
    """The fenced block behind a marker."""
    found = re.search(rf"<!-- {marker} -->\n```\w*\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    assert found, marker
    return found[1]


def vllm_triage(*words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "triage", *words], cwd=ROOT, capture_output=True, timeout=60, check=True
    )
    return done.stdout.decode()


def test_the_report_shown_is_the_one_that_the_first_command_prints() -> None:
    """The README's report is the whole output for the sample that its first command names."""
    words = shlex.split(fenced("first").rpartition("&&")[2])
    assert words[0].endswith("/vllm-triage")
    assert fenced("report") == vllm_triage(*words[1:])


def test_every_option_of_the_table_exists() -> None:
    """What the table of options names stands in the help, values of --format and --as included."""
    shown = vllm_triage("--help")
    rows = re.findall(r"^\| (`-.*?) \|", README.replace("\\|", "/"), re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        for option in re.findall(r"`(-[^`]*)`", row):
            name, _, value = option.partition(" ")
            assert re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", shown), option
            for word in re.findall(r"[a-z0-9]+", value.partition(":")[0]):
                assert re.search(rf"\b{word}\b", shown), option


def test_every_option_of_the_help_is_in_the_table() -> None:
    """No option is left for the reader to find by chance, but those that every program has."""
    options = set(re.findall(r"(?<![\w-])--[a-z][a-z-]*", vllm_triage("--help").partition("further commands")[0]))
    missing = {option for option in options if not re.search(rf"`[^`]*{option}(?![\w-])", README)}
    assert missing <= {"--help", "--version", "--output", "--color"}
