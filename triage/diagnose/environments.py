"""The variables that a launch command gives its process, to be carried over into another idiom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from triage.diagnose import quoting
from triage.diagnose.arguments import plain
from triage.diagnose.quoting import UnquotableError
from triage.diagnose.words import Word, literal
from triage.model import Idiom, Scalar

_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]{0,80})=")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,80}")
_OPTIONS = ("-e", "--env")


@dataclass(frozen=True, slots=True)
class Environment:
    """given: variables to their values; passed: those of the user's shell; removed: those taken away (``env -u``).

    elsewhere: what sets further ones: a file, or a value that cannot be carried over.
    """

    given: Mapping[str, Word] = field(default_factory=dict)
    passed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    elsewhere: tuple[str, ...] = ()

    def names(self) -> frozenset[str]:
        """All variables that it says something of."""
        return frozenset((*self.given, *self.passed, *self.removed))

    def without(self, names: frozenset[str]) -> Environment:
        """What a change of these variables leaves of it."""
        return Environment(
            {name: value for name, value in self.given.items() if name not in names},
            tuple(name for name in self.passed if name not in names),
            tuple(name for name in self.removed if name not in names),
            self.elsewhere,
        )

    def steps(self, idiom: Idiom) -> tuple[str, ...]:
        """What the text of an idiom cannot say of it."""
        further = tuple(f"your command also sets {what}: do the same here" for what in self.elsewhere)
        if idiom == "cli":
            return further
        if idiom == "python":
            return further + tuple(f"set {name} in the environment that this is run from" for name in self.passed)
        if idiom == "k8s":
            further += tuple(f"give the container {name} (env), as your command does" for name in self.passed)
        return further + tuple(f"remove {name} from the container's environment" for name in self.removed)


def read(head: Sequence[Word], idiom: Idiom) -> Environment:
    """Read what stands before vLLM's arguments.

    Args:
        head: the words up to ``serve``, the module or the image.
        idiom: "docker" for its options, else assignments in front of the program.
    """
    given: dict[str, Word] = {}
    passed: dict[str, None] = {}
    removed: dict[str, None] = {}
    elsewhere: list[str] = []
    for kind, word in _docker(head) if idiom == "docker" else _shell(head):
        name = word.start.partition("=")[0]
        if kind == "file":
            elsewhere.append(f"the variables of {word.value or word.written}")
        elif kind == "removed":
            removed[name] = None
        elif "=" not in word.start:
            if _NAME.fullmatch(word.value or ""):
                passed[name] = None
            continue
        elif _names_itself(word, name):
            passed[name] = None
        else:
            try:
                given[name] = word.behind(f"{name}=")
            except UnquotableError:
                elsewhere.append(name)
    return Environment(given, tuple(passed), tuple(removed), tuple(elsewhere))


def kubernetes(environment: Environment) -> list[str]:
    """Items of a container's ``env:``.

    Raises:
        UnquotableError: a name or value cannot be written.
    """
    lines: list[str] = []
    for name, value in environment.given.items():
        lines += [f"- name: {quoting.variable_name(name)}", f"  value: {value.kubernetes()}"]
    return lines


def compose(environment: Environment) -> list[str]:
    """Entries of a service's ``environment:``.

    Raises:
        UnquotableError: a name or value cannot be written.
    """
    handed = [f"  {name}: {quoting.for_yaml(f'${{{quoting.variable_name(name)}}}')}" for name in environment.passed]
    given = environment.given.items()
    return [*handed, *(f"  {quoting.variable_name(name)}: {value.compose()}" for name, value in given)]


def assignments(environment: Environment) -> list[Word]:
    """The words ``NAME=value``, for a shell's command and for ``docker run -e``.

    Raises:
        UnquotableError: a name cannot be written.
    """
    return [
        Word(((False, f"{quoting.variable_name(name)}="), *value.pieces), f"{name}={value.written}")
        for name, value in environment.given.items()
    ]


def texts(environment: Environment) -> dict[str, str | None]:
    """The values as texts (None: taken away).

    Raises:
        UnquotableError: a value has a variable in it, which only a shell fills in.
    """
    values: dict[str, str | None] = dict.fromkeys(environment.removed)
    for name, value in environment.given.items():
        if value.value is None:
            raise UnquotableError(f"{name} has a variable of the shell in it")
        values[name] = value.value
    return values


def wanted(env: Mapping[str, Scalar]) -> tuple[dict[str, str | None], tuple[str, ...]]:
    """A fix's variables: the texts that a process gets (None unsets one), and the names of those handed on.

    A variable that is to be itself (``HF_TOKEN`` to ``$HF_TOKEN``) has a value that only the user has.
    """
    given: dict[str, str | None] = {}
    passed: list[str] = []
    for name, value in env.items():
        if value == f"${name}":
            passed.append(name)
        else:
            given[name] = None if value is None else str(int(value)) if isinstance(value, bool) else plain(value)
    return given, tuple(passed)


def _names_itself(word: Word, name: str) -> bool:
    return word.pieces == ((False, f"{name}="), (True, name))


def _shell(head: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    unset = False
    behind_env = False
    for word in head:
        if unset:
            yield "removed", word
            unset = False
        elif _ASSIGNED.match(word.start):
            yield "given", word
        elif behind_env and (word.value or "").startswith("-u") and word.value != "-u":
            yield "removed", literal((word.value or "")[2:])
        else:
            # "sudo -u NAME" is a user.
            unset = behind_env and word.value in ("-u", "--unset")
            behind_env = word.value == "env" or (behind_env and word.start.startswith("-"))


def _docker(head: Sequence[Word]) -> Iterator[tuple[str, Word]]:
    kind = ""
    for word in head:
        if kind:
            yield kind, word
            kind = ""
        elif word.value in _OPTIONS:
            kind = "given"
        elif word.value == "--env-file":
            kind = "file"
        elif word.start.startswith("--env-file="):
            yield "file", word.behind("--env-file=")
        else:
            for prefix in ("--env=", "-e=", "-e"):
                if word.start.startswith(prefix) and len(word.start) > len(prefix):
                    yield "given", word.behind(prefix)
                    break
