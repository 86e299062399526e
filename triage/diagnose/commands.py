"""A change rendered as something to paste: on the user's own command, in the idiom of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from packaging.version import Version

from triage.diagnose import environments, quoting
from triage.diagnose.arguments import Arguments, CannotEditError, Release
from triage.diagnose.environments import Environment
from triage.diagnose.flags import name_of
from triage.diagnose.launches import (
    MODULE,
    SERVE_SINCE,
    CommandLine,
    NoCommandError,
    complain_of_gaps,
    is_server_only,
    rebuilt,
    shown,
)
from triage.diagnose.quoting import UnquotableError
from triage.diagnose.words import Word, is_pattern, read_word, variable, without_secrets
from triage.model import Idiom, RunFacts, Scalar

OPTIONS_PLACE = "the options -e go before the image's name"

PATTERNS_LIMIT = 6
"""Words with a shell's patterns that are named."""

REBUILT = "rebuilt from the arguments in the log"
BEHIND_IMAGE = "the arguments behind the image's name in your docker command"

LEVEL_SINCE = Version("0.12.0")
"""First release with ``optimization_level``."""

# LLM() sets it itself unless told otherwise.
_SET_BY_LLM = frozenset({"disable_log_stats"})


@dataclass(frozen=True, slots=True)
class Change:
    """What a fix changes: flags to values, flags to drop, variables (None: to unset), packages to install.

    passed: variables whose value only the user has (tokens); they are handed on, never written.
    """

    set: Mapping[str, Scalar] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    env: Mapping[str, str | None] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rendered:
    """commands: each complete, to be pasted; steps: what no command says; note: how the commands came about."""

    commands: tuple[str, ...] = ()
    steps: tuple[str, ...] = ()
    note: str | None = None


def render(change: Change, facts: RunFacts, idiom: Idiom, release: Release) -> Rendered:
    """Render a change.

    Args:
        change: the change, its values worked out.
        facts: what the log says of the run.
        idiom: how the run was started, or what was asked for.
        release: what is known of the release.

    Returns:
        The whole command with the change made where it can be had, else the change alone and why.
    """
    install, steps = _install(change.packages, idiom)
    steps += tuple(_to_provide(name, idiom) for name in change.passed)
    # A variable of the user's own shell changes no command but those of containers.
    handed_on = change.passed and idiom in ("docker", "compose")
    if not (change.set or change.unset or change.env or handed_on):
        return Rendered(install, steps)
    try:
        text, note, further = _whole(change, facts, idiom, release)
    except (NoCommandError, CannotEditError, UnquotableError) as reason:
        alone = _alone(change, idiom, release)
        note = f"the change alone: {reason}" if alone.commands else None
        return Rendered((*install, *alone.commands), (*steps, *alone.steps), note)
    return Rendered((*install, text), (*steps, *further), note)


def rebuilt_command(facts: RunFacts, release: Release) -> str | None:
    """The command rebuilt from the arguments that the log shows, for a shell (``LLM(...)`` for a run in Python).

    Args:
        facts: what the log says of the run.
        release: what is known of its release; the command is written as that one takes it.

    Returns:
        None where it cannot be rebuilt in full.
    """
    try:
        if facts.launch_idiom == "python":
            return _python(Change(), facts, release)[0]
        return _join(rebuilt(facts, release).words())
    except (NoCommandError, CannotEditError, UnquotableError):
        return None


def shown_command(facts: RunFacts) -> str | None:
    """The command that the log shows, quoted anew, secrets replaced by variables; None where there is none."""
    if not facts.launch:
        return None
    try:
        return _join(without_secrets(read_word(word) for word in facts.launch))
    except UnquotableError:
        return None


def _whole(change: Change, facts: RunFacts, idiom: Idiom, release: Release) -> tuple[str, str | None, tuple[str, ...]]:
    if idiom == "python":
        return _python(change, facts, release)
    line = shown(facts, release) or rebuilt(facts, release)
    note = REBUILT if line.basis == "rebuilt" else None
    steps = _edit(line.arguments, change) + _filled_in(line, facts)
    kept = line.environment().without(frozenset((*change.env, *change.passed)))
    if idiom in ("k8s", "compose"):
        text, further = _yaml(line, kept, change, idiom, release)
        return text, note, steps + further
    if idiom == "docker" and line.idiom != "docker":
        words = line.served(positional=False)
        options = [f"-e {word.written}" for word in environments.assignments(kept)]
        options += [f"-e {quoting.variable_name(name)}" for name in kept.passed]
        text = "\n".join([*options, *_docker_env(change), _join(words)])
        place = (OPTIONS_PLACE,) if text.startswith("-e ") else ()
        further = place + _to_remove(change.env) + kept.steps(idiom)
        return text, f"{BEHIND_IMAGE}, {REBUILT}" if note else BEHIND_IMAGE, steps + further
    if idiom == "cli" and line.idiom == "docker":
        program = [read_word(word) for word in _program(release)]
        positional = program[-1].value == "serve"
        arguments = Arguments(line.served(positional=positional), release, facts.args)
        steps += kept.steps(idiom)
        line = CommandLine([*environments.assignments(kept), *program], arguments, "cli", positional, line.basis)
    _set_variables(line, change)
    return _join(line.words()), note, steps


def _set_variables(line: CommandLine, change: Change) -> None:
    given = [(name, value) for name, value in change.env.items() if value is not None]
    if line.idiom == "docker":
        for name, value in change.env.items():
            line.set_variable(name, value)
        for name in change.passed:
            line.pass_variable(name)
        return
    # In front of a program each goes before the last, and "env -u" before all of them.
    for name, value in reversed(given):
        line.set_variable(name, value)
    for name, value in change.env.items():
        if value is None:
            line.set_variable(name, None)


def _filled_in(line: CommandLine, facts: RunFacts) -> tuple[str, ...]:
    """Say which words were for the shell to fill in: they come back quoted, since nobody knows to what."""
    patterns = [read_word(word).value for word in facts.launch or () if line.basis == "log" and is_pattern(word)]
    return tuple(
        f"put in what the shell made of {pattern}: it stands quoted here" for pattern in patterns[:PATTERNS_LIMIT]
    )


def _edit(arguments: Arguments, change: Change) -> tuple[str, ...]:
    """Make the change; say which flags to drop are given elsewhere than on the command line (``--config``)."""
    elsewhere = tuple(flag for flag in change.unset if not arguments.unset(flag))
    for flag, value in change.set.items():
        arguments.set(flag, value)
    return tuple(f"{flag} is not on this command line: drop it where it is set" for flag in elsewhere)


def _program(release: Release) -> tuple[str, ...]:
    old = release.version is not None and release.version < SERVE_SINCE
    return ("python", "-m", MODULE) if old else ("vllm", "serve")


def _yaml(
    line: CommandLine, kept: Environment, change: Change, idiom: Idiom, release: Release
) -> tuple[str, tuple[str, ...]]:
    # The entry point is printed with the arguments: an image's own differs from release to release.
    program = _program(release)
    words = line.served(positional=program[-1] == "serve")
    entry = "[" + ", ".join(quoting.for_yaml(part) for part in program) + "]"
    if idiom == "k8s":
        lines = [f"command: {entry}", "args:", *(f"- {word.kubernetes()}" for word in words)]
    else:
        lines = [f"entrypoint: {entry}", "command:", *(f"- {word.compose()}" for word in words)]
    text = "\n".join([*lines, *_yaml_env(change, idiom, kept)])
    return text, _to_remove(change.env) + kept.steps(idiom)


def _yaml_env(change: Change, idiom: Idiom, kept: Environment) -> list[str]:
    lines = environments.kubernetes(kept) if idiom == "k8s" else environments.compose(kept)
    lines += [f"  {name}: {variable(name).compose()}" for name in change.passed if idiom == "compose"]
    for name, value in change.env.items():
        if value is None:
            continue
        quoting.variable_name(name)
        if idiom == "k8s":
            lines += [f"- name: {name}", f"  value: {quoting.for_kubernetes(value)}"]
        else:
            lines.append(f"  {name}: {quoting.for_compose(value)}")
    return [("env:" if idiom == "k8s" else "environment:"), *lines] if lines else []


def _python(change: Change, facts: RunFacts, release: Release) -> tuple[str, str, tuple[str, ...]]:
    complain_of_gaps(facts)
    values = {
        name: value
        for name, value in facts.args.items()
        if not is_server_only(name) and name != "model" and name not in _SET_BY_LLM
    }
    model = facts.args.get("model") or facts.args.get("model_tag") or facts.model
    if not isinstance(model, str):
        raise NoCommandError("the log does not show the model")
    if "hf_token" in values:
        raise NoCommandError("hf_token is a secret: set HF_TOKEN in the environment instead")
    values = {"model": model, **values}
    if "optimization_level" in values and release.version is not None and release.version < LEVEL_SINCE:
        # "-O3" was the level of the compilation.
        values["compilation_config"] = values.pop("optimization_level")
    for flag in change.unset:
        _drop_value(values, flag)
    for flag, value in change.set.items():
        _put_value(values, flag, value)
    line = shown(facts, release)
    kept = line.environment().without(frozenset((*change.env, *change.passed))) if line else Environment()
    variables = {**environments.texts(kept), **change.env}
    return _python_env(variables) + f"LLM({_keywords(values)})", REBUILT, kept.steps("python")


def _keywords(values: Mapping[str, object]) -> str:
    return ", ".join(f"{quoting.variable_name(name)}={quoting.for_python(value)}" for name, value in values.items())


def _put_value(values: dict[str, object], flag: str, value: Scalar) -> None:
    base, dot, path = flag.partition(".")
    if not dot:
        name = name_of(flag)
        if name.startswith("no_") and isinstance(value, bool):
            name, value = name.removeprefix("no_"), not value
        values[name] = value
        return
    *outer, last = path.split(".")
    inner = values.get(name_of(base))
    if inner is not None and not isinstance(inner, dict):
        raise CannotEditError(f"{name_of(base)} is no dictionary")
    # The facts belong to the report too: the way to the value is copied, not changed.
    target: dict[str, object] = dict(inner or {})
    values[name_of(base)] = target
    for key in outer:
        following = target.get(key)
        target[key] = dict(following) if isinstance(following, dict) else {}
        target = target[key]  # type: ignore[assignment]
    target[last] = value


def _drop_value(values: dict[str, object], flag: str) -> None:
    base, dot, path = flag.partition(".")
    inner = values.get(name_of(base))
    if not dot:
        values.pop(name_of(flag).removeprefix("no_"), None)
    elif isinstance(inner, dict) and "." not in path:
        values[name_of(base)] = {key: value for key, value in inner.items() if key != path}


def _python_env(env: Mapping[str, str | None]) -> str:
    lines = [
        f"os.environ.pop({quoting.for_python(name)}, None)"
        if value is None
        else f"os.environ[{quoting.for_python(name)}] = {quoting.for_python(value)}"
        for name, value in env.items()
    ]
    return "".join(line + "\n" for line in (["import os", *lines] if lines else []))


def _alone(change: Change, idiom: Idiom, release: Release) -> Rendered:
    """The change without the command that it belongs to."""
    try:
        commands = _change_alone(change, idiom, release)
    except UnquotableError as reason:
        return Rendered(steps=(f"no command is printed: a value {reason}",))
    steps = tuple(f"remove {flag}" for flag in change.unset)
    # vLLM merges keys with each other, not with a value in JSON: what comes last is taken as the whole.
    inside = dict.fromkeys(flag.partition(".")[0] for flag in change.set if "." in flag)
    steps += tuple(f"where {base} is given already, put the key into its value instead" for base in inside)
    if idiom in ("k8s", "compose", "docker"):
        steps += _to_remove(change.env)
    return Rendered(tuple(command for command in commands if command), steps)


def _change_alone(change: Change, idiom: Idiom, release: Release) -> list[str]:
    if idiom == "python":
        values: dict[str, object] = {}
        for flag, value in change.set.items():
            _put_value(values, flag, value)
        return [_python_env(change.env).rstrip("\n"), _keywords(values)]
    arguments = Arguments([], release)
    for flag, value in change.set.items():
        arguments.set(flag, value)
    if idiom in ("k8s", "compose"):
        items = [f"- {word.kubernetes() if idiom == 'k8s' else word.compose()}" for word in arguments.words]
        return ["\n".join(items), "\n".join(_yaml_env(change, idiom, Environment()))]
    if idiom == "docker":
        return [*_docker_env(change), _join(arguments.words)]
    variables = [(quoting.variable_name(name), value) for name, value in change.env.items()]
    env = [f"unset {n}" if v is None else f"export {n}={quoting.for_shell(v)}" for n, v in variables]
    return [*env, _join(arguments.words)]


def _docker_env(change: Change) -> list[str]:
    """Options for ``docker run``; by its name alone docker hands a variable on."""
    options = [f"-e {quoting.variable_name(name)}" for name in change.passed]
    given = [(quoting.variable_name(name), value) for name, value in change.env.items() if value is not None]
    return options + [f"-e {name}={quoting.for_shell(value)}" for name, value in given]


def _to_provide(name: str, idiom: Idiom) -> str:
    if idiom == "k8s":
        return f"give the container {name} from a Secret (env, valueFrom.secretKeyRef)"
    return f"set {name} in the environment that this is run from"


def _to_remove(env: Mapping[str, str | None]) -> tuple[str, ...]:
    return tuple(f"remove {name} from the container's environment" for name, value in env.items() if value is None)


def _install(packages: tuple[str, ...], idiom: Idiom) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not packages:
        return (), ()
    # A name alone asks for the newest release, which pip leaves be where any is installed.
    upgrade = "--upgrade " if any(package.replace("-", "").replace("_", "").isalnum() for package in packages) else ""
    command = f"pip install {upgrade}" + quoting.shell_join(packages)
    if idiom in ("cli", "python"):
        return (command,), ()
    return (), (f"in the image: {command}",)


def _join(words: list[Word]) -> str:
    return " ".join(word.written for word in words)
