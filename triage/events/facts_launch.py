"""The command that started vLLM, where the log or the paste shows it.

A line is a launch when, behind a shell's prompt or by itself, it runs ``vllm serve``, the API server's module,
or a container of an image of vLLM. It is kept as words, each as a shell would need it again, in one of four forms:

- plain: ``--max-num-seqs``, ``~/models/x``
- quoted with single quotes, as ``shlex.quote`` does: ``'{"method": "ngram"}'``
- in double quotes, where a variable stands in it: ``"$HOME/x:/x"``
- ``NAME=`` and one of these, in front of the program

What a shell would run inside a word (``$(...)``, backquotes) is never kept: then there is no launch.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from triage.events import facts_flags
from triage.model import Idiom

LINE_LIMIT = 16_000
"""Characters of a launch command, continuation lines and all."""

WORDS_LIMIT = 400
"""Words of a launch command."""

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
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w{0,80})=")
_PLAIN = re.compile(r"[\w@%+=:,./^-]+", re.ASCII)
_TILDE = re.compile(r"~/[\w@%+=:,./^-]*", re.ASCII)
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w{0,80}|\{[A-Za-z_]\w{0,80}\})", re.ASCII)
# Harmless enough to be kept as what they stand for.
_SUBSTITUTES = {"$(pwd)": "$PWD", "`pwd`": "$PWD", "${PWD}": "$PWD"}
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
    for words in [_windows_words(rest)] if windows else _commands(rest):
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


def shell_words(text: str, place: int = 0) -> tuple[list[str], int] | None:
    """Split a command into words, each in one of the forms of this module; stop at an operator.

    Args:
        text: the line.
        place: where to begin.

    Returns:
        The words and the place behind them; None where a word would run something, or quotes do not close.
    """
    words: list[str] = []
    while place < len(text):
        if text[place].isspace():
            place += 1
            continue
        if text[place] in "#;|&<>()":
            break
        word = _word(text, place)
        if word is None or len(words) >= WORDS_LIMIT:
            return None
        written, place = word
        if text[place : place + 1] in ("<", ">") and written.isdigit():
            break
        words.append(written)
    return words, place


def _word(text: str, place: int) -> tuple[str, int] | None:
    """The word that starts here, rewritten, and the place behind it."""
    pieces: list[tuple[bool, str]] = []
    start, quoted = place, False
    while place < len(text):
        char = text[place]
        if char.isspace() or char in ";|&<>()":
            break
        if char == "'":
            end = text.find("'", place + 1)
            if end < 0:
                return None
            pieces.append((False, text[place + 1 : end]))
            place, quoted = end + 1, True
        elif char == '"':
            inner = _double(text, place + 1, pieces)
            if inner is None:
                return None
            place, quoted = inner, True
        elif char == "\\":
            if place + 1 >= len(text):
                return None
            pieces.append((False, text[place + 1]))
            place += 2
        elif char in "$`":
            step = _expansion(text, place, pieces)
            if step is None:
                return None
            place = step
        else:
            pieces.append((False, char))
            place += 1
    if text[start:place].startswith("~") and not quoted and _TILDE.fullmatch(text[start:place]):
        return text[start:place], place
    return _written(pieces), place


def _double(text: str, place: int, pieces: list[tuple[bool, str]]) -> int | None:
    pieces.append((False, ""))
    while place < len(text):
        char = text[place]
        if char == '"':
            return place + 1
        if char == "\\" and text[place + 1 : place + 2] in ('"', "\\", "$", "`"):
            pieces.append((False, text[place + 1]))
            place += 2
        elif char in "$`":
            step = _expansion(text, place, pieces)
            if step is None:
                return None
            place = step
        else:
            pieces.append((False, char))
            place += 1
    return None


def _expansion(text: str, place: int, pieces: list[tuple[bool, str]]) -> int | None:
    for written, meaning in _SUBSTITUTES.items():
        if text.startswith(written, place):
            pieces.append((True, meaning))
            return place + len(written)
    if variable := _VARIABLE.match(text, place):
        pieces.append((True, variable[0]))
        return variable.end()
    if text[place] == "$" and not re.match(r"[({'\"\d@*#?$!\-]", text[place + 1 : place + 2]):
        pieces.append((False, "$"))
        return place + 1
    return None


def _written(pieces: list[tuple[bool, str]]) -> str:
    # An assignment's name must stay outside the quotes, or a shell takes it for the program.
    value = "".join(text for _, text in pieces)
    if all(not active for active, _ in pieces):
        name = _ASSIGNMENT.match(value)
        if name and not _PLAIN.fullmatch(value):
            return name[0] + shlex.quote(value[name.end() :])
        return value if _PLAIN.fullmatch(value) else shlex.quote(value)
    quoted = "".join(text if active else re.sub(r'([\\"$`])', r"\\\1", text) for active, text in _braced(pieces))
    name = _ASSIGNMENT.match(quoted)
    return f'{name[0]}"{quoted[name.end() :]}"' if name else f'"{quoted}"'


def _braced(pieces: list[tuple[bool, str]]) -> list[tuple[bool, str]]:
    """Variables in braces where the text behind them would lengthen their name."""
    braced: list[tuple[bool, str]] = []
    for (active, text), (_, behind) in zip(pieces, [*pieces[1:], (False, "")], strict=True):
        lengthened = active and not text.startswith("${") and re.match(r"\w", behind)
        braced.append((active, f"${{{text[1:]}}}" if lengthened else text))
    return braced


def _windows_words(text: str) -> list[str]:
    # cmd and PowerShell: a backslash is a part of a path.
    found = re.findall(r'(?:[^\s"]|"[^"]*")+', text)[:WORDS_LIMIT]
    words = [word.replace('"', "") for word in found]
    return [word if _PLAIN.fullmatch(word) else shlex.quote(word) for word in words]


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
        if word not in _BEFORE and not _ASSIGNMENT.match(word):
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


def launch_args(launch: Launch) -> dict[str, object]:
    """The arguments of vLLM in a launch command, under vLLM's own names."""
    return facts_flags.flag_args(_arguments(launch))


def launch_model(launch: Launch) -> str | None:
    """The model that a launch command names; with ``$`` in it where a variable does; None where it names none."""
    words = _arguments(launch)
    if words and not words[0].startswith("-"):
        return facts_flags.unquote(words[0]) or "$"
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag == "--model" and (equals or place + 1 < len(words)):
            return facts_flags.unquote(value if equals else words[place + 1]) or "$"
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
    return behind[2:] if behind[:2] == ("vllm", "serve") else behind


def _is_image(words: tuple[str, ...], place: int) -> bool:
    """An image's name, and not the value of an option as in ``--name vllm`` or ``-v /vllm:/vllm``."""
    word, before = words[place], words[place - 1]
    if not _IMAGE.fullmatch(word) or word.startswith(("-", "/", ".", "~")):
        return False
    return not before.startswith("-") or "=" in before or before in _SWITCHES or ("/" in word and ":" in word)
