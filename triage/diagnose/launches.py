"""How the user started vLLM, as words: what stands before vLLM's arguments, and the arguments.

From the command that the log shows; where it shows only the arguments, rebuilt from those.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from packaging.version import Version

from triage.diagnose import environments, quoting
from triage.diagnose.arguments import Arguments, CannotEditError, Release, rebuild
from triage.diagnose.flags import flag_name, is_end, is_flag, spans
from triage.diagnose.words import Word, assignment, literal, read_word, without_secrets
from triage.model import CommandBasis, Idiom, RunFacts

SERVE_SINCE = Version("0.5.3")
"""First release that surely has ``vllm serve``; before it the module is run."""

MODULE = "vllm.entrypoints.openai.api_server"

CUT = "..."
"""Stands in ``RunFacts.unusable`` where the arguments themselves were cut."""

_MODULES = frozenset({MODULE, "vllm.entrypoints.api_server"})
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "env"})
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
        "-q",
        "--detach",
        "--init",
        "--interactive",
        "--no-healthcheck",
    }
    | {"--oom-kill-disable", "--privileged", "--publish-all", "--quiet", "--read-only", "--rm", "--tty"}
)
# What EngineArgs does not have: arguments of the server around the engine.
_SERVER_ONLY = re.compile(
    r"model_tag|host|port|uds|api_key|allow(?:ed|_)(?:_?origins|_?methods|_?headers|credentials)|uvicorn_\w+|disable_uvicorn_\w+"
    r"|ssl_\w+|enable_ssl_refresh|root_path|middleware|response_role|chat_template\w*|lora_modules|prompt_adapters"
    r"|enable_auto_tool_choice|tool_call_parser|tool_parser_plugin|tool_server|return_tokens_as_token_ids|headless"
    r"|api_server_count|disable_frontend_multiprocessing|enable_request_id_headers|enable_log_\w+|disable_log_requests"
    r"|max_log_len|disable_fastapi_docs|enable_prompt_tokens_details|enable_server_load_tracking|enable_force_include_usage"
    r"|enable_tokenizer_info_endpoint|log_config_file|config|trust_request_chat_template|exclude_tools_when_tool_choice_none"
    r"|data_parallel_(?:start_rank|hybrid_lb|external_lb)"
)


class NoCommandError(ValueError):
    """The user's command cannot be given; the message says why."""


@dataclass(slots=True)
class CommandLine:
    """A command: the words before vLLM's arguments, and those.

    idiom: "cli" or "docker"; positional: whether the model may stand without ``--model``.
    """

    head: list[Word]
    arguments: Arguments
    idiom: Idiom
    positional: bool
    basis: CommandBasis

    def words(self) -> list[Word]:
        """All of it."""
        return self.head + self.arguments.words

    def served(self, *, positional: bool) -> list[Word]:
        """The arguments with the model first: by position, or behind ``--model``."""
        words = list(self.arguments.words)
        model = self.arguments.model()
        if model is not None:
            words = [word for word in words if word is not model]
            if words and is_end(words[-1]):
                words.pop()
        else:
            for place, word in enumerate(words):
                if is_flag(word) and flag_name(word.start) == "--model":
                    if "=" in word.start:
                        model, words[place : place + 1] = word.behind(f"{word.start.partition('=')[0]}="), []
                    elif place + 1 < len(words):
                        model = words[place + 1]
                        del words[place : place + 2]
                    break
        if model is None:
            return words
        return [model, *words] if positional else [literal("--model"), model, *words]

    def environment(self) -> environments.Environment:
        """The variables that it gives its process."""
        return environments.read(self.head, self.idiom)

    def set_variable(self, name: str, value: str | None) -> None:
        """Set a variable of the process (None: take it away).

        Raises:
            UnquotableError: its name or value cannot be quoted.
        """
        if self.idiom == "docker":
            self._set_container_variable(name, value)
            return
        kept = [word for word in self.head if not word.start.startswith(f"{name}=")]
        removed = len(kept) < len(self.head)
        self.head = kept
        if value is not None:
            # sudo clears the environment, so what it shall pass on stands behind it.
            values = [word.value for word in kept]
            place = values.index("sudo") + 1 if "sudo" in values else 0
            while place and place < len(kept) and (values[place] or "").startswith("-"):
                place += 1
            self.head.insert(place, assignment(name, value))
        elif not removed and name not in self.environment().removed:
            values = [word.value for word in self.head]
            place = values.index("env") + 1 if "env" in values else 0
            while place and values[place : place + 1] == ["-u"]:
                place += 2
            unset = [literal("-u"), literal(quoting.variable_name(name))]
            self.head[place:place] = unset if place else [literal("env"), *unset]

    def pass_variable(self, name: str) -> None:
        """Hand a variable of the user's shell on to the container.

        Raises:
            UnquotableError: it is no variable's name.
        """
        self._set_container_variable(name, None)
        image = _image([word.value or "" for word in self.head])
        self.head[image:image] = [literal("-e"), literal(quoting.variable_name(name))]

    def _set_container_variable(self, name: str, value: str | None) -> None:
        head, place = self.head, 0
        while place < len(head):
            text = head[place].start
            behind = head[place + 1].start if place + 1 < len(head) else ""
            if text in ("-e", "--env") and behind.partition("=")[0] == name:
                del head[place : place + 2]
            elif text.startswith((f"--env={name}=", f"-e={name}=", f"-e{name}=")):
                del head[place]
            else:
                place += 1
        if value is not None:
            image = _image([word.value or "" for word in head])
            head[image:image] = [literal("-e"), assignment(name, value)]


def shown(facts: RunFacts, release: Release) -> CommandLine | None:
    """The command that the log shows, secrets taken out; None where it shows none, or none that is understood.

    Raises:
        UnquotableError: it holds what cannot be printed safely.
    """
    if not facts.launch:
        return None
    read = [read_word(word) for word in facts.launch]
    words = without_secrets(read)
    values = [word.value or "" for word in words]
    behind, idiom = _behind_program(values)
    if behind is None or _hides_model(read[behind:]):
        return None
    arguments = Arguments(words[behind:], release, facts.args)
    positional = values[behind - 1] == "serve"
    return CommandLine(words[:behind], arguments, idiom, positional, "log")


def rebuilt(facts: RunFacts, release: Release) -> CommandLine:
    """A command with the arguments that the log shows.

    Raises:
        NoCommandError: it shows none, or not all of them.
        UnquotableError: one of them cannot be quoted safely.
    """
    complain_of_gaps(facts)
    model = facts.args.get("model_tag") or facts.args.get("model") or facts.model
    if not isinstance(model, str) or not model:
        raise NoCommandError("the log does not show the model")
    try:
        words = rebuild(facts.args, release)
    except CannotEditError as reason:
        raise NoCommandError(str(reason)) from None
    named = literal(model)
    if model.startswith("-"):
        raise NoCommandError("the model's name begins with a dash")
    positional = release.version is None or release.version >= SERVE_SINCE
    if positional:
        head = [literal("vllm"), literal("serve")]
        return CommandLine(head, Arguments([named, *words], release, facts.args), "cli", positional, "rebuilt")
    head = [literal("python"), literal("-m"), literal(MODULE)]
    arguments = Arguments([literal("--model"), named, *words], release, facts.args)
    return CommandLine(head, arguments, "cli", positional, "rebuilt")


def complain_of_gaps(facts: RunFacts) -> None:
    """Raise where the log does not show all arguments.

    Raises:
        NoCommandError: with the names of those that cannot be turned back.
    """
    if not facts.args and not facts.unusable:
        raise NoCommandError("the log shows neither the command nor its arguments")
    names = [name for name in facts.unusable if name != CUT]
    if names:
        raise NoCommandError(f"the log does not show {', '.join(sorted(names)[:6])} in full")
    if facts.unusable:
        raise NoCommandError("the log's list of arguments is cut")


def is_server_only(name: str) -> bool:
    """Whether an argument is the server's and not the engine's, so that ``LLM(...)`` does not take it."""
    return bool(_SERVER_ONLY.fullmatch(name))


def _hides_model(words: list[Word]) -> bool:
    """Whether the model may be among the keys behind ``--api-key``, where it would be taken for one of them."""
    found = list(spans(words, {}))
    if any(span.flag in (None, "--model", "--config") for span in found):
        return False
    return any(span.flag == "--api-key" and span.end - span.start > 2 for span in found)


def _behind_program(values: list[str]) -> tuple[int | None, Idiom]:
    for place, value in enumerate(values):
        following = values[place + 1] if place + 1 < len(values) else ""
        if value.rpartition("/")[2] == "vllm" and following == "serve":
            return place + 2, "cli"
        if value == "-m" and following in _MODULES:
            return place + 2, "cli"
        if value in _RUNTIMES and following == "run":
            return _behind_image(values), "docker"
    return None, "cli"


def _behind_image(values: list[str]) -> int | None:
    """The place of vLLM's first argument; None where the container runs something else, a shell for one."""
    behind = _image(values) + 1
    following = values[behind : behind + 3]
    if behind > len(values) or any(value.rpartition("/")[2] in _SHELLS for value in values[:behind]):
        return None
    if following[:1] == ["serve"]:
        return behind + 1
    if following[:2] == ["vllm", "serve"]:
        return behind + 2
    if following[:1] == ["-m"] and following[-1] in _MODULES:
        return behind + 2
    if following[1:2] == ["-m"] and following[-1] in _MODULES:
        return behind + 3
    program = following[0].rpartition("/")[2] if following else ""
    return None if program in _SHELLS or program.startswith("python") else behind


def _image(values: list[str]) -> int:
    """The place of the image's name in ``docker run ...``; the number of words where there is none."""
    place = values.index("run") + 1
    while place < len(values):
        value = values[place]
        if not value.startswith("-"):
            return place
        place += 1 if "=" in value or value in _SWITCHES else 2
    return len(values)
