"""The command that started vLLM, where the log or the paste shows it.

A line is a launch when, behind a shell's prompt or by itself, it runs ``vllm serve``, the API server's module,
or a container of an image of vLLM. It is kept as words, in the forms of ``facts_words``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from triage.events import facts_flags
from triage.events.facts_values import Dump
from triage.events.facts_words import ASSIGNMENT, shell_words, windows_words
from triage.model import Idiom

LINE_LIMIT = 16_000
"""Characters of a launch command, continuation lines and all."""

PLAIN_LIMIT = 2
"""Words without a dash that a continuation line may begin with: a flag's value and the model."""

COMMANDS_LIMIT = 8
"""Commands on one line that are looked at."""

_PROMPT = re.compile(
    r"""\s{0,8}(?:
        (?:\([\w.\-/ ]{1,60}\)\s*)*                                      # (base)
        (?:\[?[\w.\-]{1,64}@[\w.\-]{1,64}[:\s]?[^$\#%>]{0,200}\]?[$\#%]\s+ # user@host:~$   [user@host dir]#
        |PS\s[A-Za-z]:[^>]{0,200}>\s*                                    # PowerShell
        |[A-Za-z]:\\[^>]{0,200}>\s*                                      # cmd
        |[/~][\w./~\-]{0,200}\s?[$\#%]\s+                                # /app #
        |(?:sh|bash|zsh)-[\d.]+[$\#]\s+                                  # bash-5.1$
        |[$\#%❯➜]\s+
        |\+{1,4}\s                                                       # set -x
        |(?:Running|Executing|Launching|Starting|exec|CMD|Command|Cmd|command|cmd)(?:\scommand)?:\s+
        )
    )""",
    re.VERBOSE,
)
_VENV = re.compile(r"\s{0,8}\([\w.\-/]{1,60}\)\s+(?=vllm |python|docker |podman |sudo |[A-Z_]+=)")
# What a line of output begins with: an exception's class or a program's name, a signal, a traceback, a clock.
_NO_ARGUMENT = re.compile(
    r"[\w./\[\]-]{0,200}:(?:\s|$)|\d{4}-\d\d-\d\d\b|\d\d:\d\d:\d\d\b|[\w.]{0,200}(?:Error|Exception|Interrupt|Exit|Warning)$"
    r"|(?:Traceback|File|During|The above|Killed|Terminated|Aborted|Segmentation|Bus error|Process|DEBUG|INFO|WARNING"
    r"|ERROR|CRITICAL)\b|[(\[<=*+^]"
)
_BEFORE = frozenset({"sudo", "nohup", "exec", "env", "time", "srun", "uv", "run", "-E", "-u", "--no-sync", "--rm"})
_RUNTIMES = frozenset({"docker", "podman", "nerdctl"})
# Options of "docker run" that take no value.
_SWITCHES = frozenset(
    {
        "-d",
        "-i",
        "-t",
        "-it",
        "-ti",
        "-dit",
        "-itd",
        "-P",
        "--detach",
        "--init",
        "--interactive",
        "--privileged",
        "--rm",
        "--tty",
    }
)
_MODULES = frozenset({"vllm.entrypoints.openai.api_server", "vllm.entrypoints.api_server"})
_PYTHON = re.compile(r"(?:[\w./~-]*/)?python[\d.]*(?:\.exe)?")
_IMAGE = re.compile(r"[\w./:@-]*vllm[\w./:@-]*", re.IGNORECASE)
_RELEASE = re.compile(r"(?:docker\.io/)?vllm/vllm-openai:v(\d+\.\d+\.\d+(?:\.post\d+)?)")
_SEPARATOR = re.compile(r"(?:&&|;)\s*")
_MARKS = ("vllm serve", "vllm.entrypoints.", " run ")


class Launch(NamedTuple):
    """A launch command: its words, the idiom it is in, and whether a prompt stood before it."""

    words: tuple[str, ...]
    idiom: Idiom
    prompted: bool


def may_be_launch(text: str) -> bool:
    """A cheap test: whether a line could hold a launch command."""
    return len(text) <= LINE_LIMIT and any(mark in text for mark in _MARKS) and "vllm" in text


def may_continue(line: str) -> bool:
    """Whether a line behind a backslash goes on with the command: arguments, not an error or a sentence."""
    text = line.strip().removeprefix("> ").strip()
    words = text.split()
    if not words or text[0] in "-'\"$|&>#" or re.match(r"\d>", text):
        return True
    if _NO_ARGUMENT.match(text):
        return False
    plain = next((place for place, word in enumerate(words) if word[0] in "-'\"$|&>#\\"), len(words))
    return plain <= PLAIN_LIMIT or any(mark in text for mark in _MARKS)


def read_launch(line: str) -> Launch | None:
    """Read a line as a launch command.

    Args:
        line: one command line; continuation lines already joined, with a blank for the backslash.

    Returns:
        None when it is none, or when its words cannot be had without doing what a shell does.
    """
    if not may_be_launch(line) or not line.isprintable():
        return None
    prompt = _PROMPT.match(line) or _VENV.match(line)
    rest = line[prompt.end() :] if prompt else line.strip()
    windows = bool(prompt and re.search(r"[A-Za-z]:\\|PS ", prompt[0]))
    for words in [windows_words(rest)] if windows else _commands(rest):
        start = _program(words)
        if start is None:
            continue
        idiom: Idiom = "docker" if words[start] in _RUNTIMES else "cli"
        if prompt is None and not _plausible(words[start:], idiom):
            return None
        return Launch(tuple(words), idiom, prompt is not None)
    return None


def _commands(text: str) -> Iterator[list[str]]:
    """The simple commands of a line, ``cd x && vllm serve y``, up to one whose words cannot be had."""
    place = 0
    for _ in range(COMMANDS_LIMIT):
        found = shell_words(text, place)
        if found is None:
            return
        words, place = found
        if words:
            yield words
        separator = _SEPARATOR.match(text, place)
        if separator is None:
            return
        place = separator.end()


def _program(words: list[str]) -> int | None:
    """The index of the program that starts vLLM."""
    for place, word in enumerate(words):
        behind = words[place + 1 : place + 3]
        if word.rpartition("/")[2] == "vllm" and behind[:1] == ["serve"]:
            return place
        if _PYTHON.fullmatch(word):
            rest = words[place + 1 : place + 4]
            return place if "-m" in rest and any(module in rest for module in _MODULES) else None
        if word in _RUNTIMES:
            images = any(_is_image(tuple(words), other) for other in range(place + 2, len(words)))
            return place if behind[:1] == ["run"] and images else None
        if word not in _BEFORE and not ASSIGNMENT.match(word):
            return None
    return None


def _plausible(words: list[str], idiom: Idiom) -> bool:
    """Whether a line without a prompt is a command rather than a sentence about one."""
    flags = [place for place, word in enumerate(words) if word.startswith("-")]
    if idiom == "docker":
        return len(flags) > 1
    if words[0].rpartition("/")[2] != "vllm":
        return len(words) > 3
    before = (flags[0] if flags else len(words)) - 2
    return before <= 1 and (bool(flags) or (len(words) == 3 and "/" in words[2]))


def launch_args(launch: Launch) -> Dump:
    """The arguments of vLLM in a launch command, under vLLM's own names."""
    return facts_flags.flag_args(_arguments(launch))


def launch_model(launch: Launch) -> str | None:
    """The model that a launch command names; with ``$`` in it where a variable does; None where it names none."""
    for given in facts_flags.groups(_arguments(launch)):
        if (given.name is None or given.name == "model") and given.values:
            return given.values[0] or "$"
    return None


def image_version(launch: Launch) -> str | None:
    """The release that the tag of vLLM's own image names, ``vllm/vllm-openai:v0.5.0``."""
    for word in launch.words:
        if launch.idiom == "docker" and (tag := _RELEASE.fullmatch(word)):
            return tag[1]
    return None


def _arguments(launch: Launch) -> tuple[str, ...]:
    words = launch.words
    start = _program(list(words)) or 0
    if launch.idiom == "cli":
        served = [place for place in range(start, len(words)) if words[place] in ("serve", *_MODULES)]
        return words[served[0] + 1 :] if served else ()
    images = [place for place in range(start + 2, len(words)) if _is_image(words, place)]
    behind = words[images[0] + 1 :] if images else ()
    if behind[:2] == ("vllm", "serve"):
        return behind[2:]
    return behind[1:] if behind[:1] == ("serve",) else behind


def _is_image(words: tuple[str, ...], place: int) -> bool:
    """An image's name, and not the value of an option as in ``--name vllm`` or ``-v /vllm:/vllm``."""
    word, before = words[place], words[place - 1]
    if not _IMAGE.fullmatch(word) or word.startswith(("-", "/", ".", "~")):
        return False
    return not before.startswith("-") or "=" in before or before in _SWITCHES or ("/" in word and ":" in word)
