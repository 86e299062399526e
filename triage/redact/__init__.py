"""Takes secrets and prompts out of a report, and private data out of one that is to be shared.

Each find becomes a placeholder of constant look, ``<redacted:token>``. A secret that is found once, by
the name in front of it or by its shape, is taken out wherever else it stands in the report.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any

from triage.model import Fix, Report, Run
from triage.redact.names import is_of_host, kind_of_name, shell_variable, words
from triage.redact.patterns import PROMPTS, SECRETS, SPANNING, WRAP, Pattern, shell_words
from triage.redact.private import PRIVATE, hosts_in, is_private_host

__all__ = ["redact"]

_PLURAL = {
    "token": "tokens",
    "key": "keys",
    "password": "passwords",
    "secret": "secrets",
    "prompt": "prompts",
    "address": "addresses",
    "host": "hosts",
    "user": "users",
}
# Ours or enumerated: nothing of the log is in these, and versions look like addresses.
_KEPT = words(
    "status role confidence scope owner severity safety version_basis command_basis basis fingerprint id slug "
    "version vllm_version"
)
# Arguments, flags and variables, whose names may say that the value is a secret.
_NAMED = frozenset({"args", "set", "env"})
_BY_HEART = frozenset({"token", "key", "password", "secret"})
_LONG_ENOUGH = 8
_PIECE, _LONGEST_PIECE = 6, 200
# A cookie, an address with a password: several words, whose ends are no secrets by themselves.
_SEVERAL = re.compile(r"\s|://")
_DEPTH = 24
_MOST_HOSTS = 200
# A name that is no plain word: "gpu-07", "node3", "vllm.prod.svc".
_OF_HOSTS = re.compile(r"^(?=.{4})(?=.*[.\d-])")
_KEPT_VALUES = words("none null true false *** **** ******** ********** [redacted]") | {""}
# What documentation writes in place of a secret; vLLM's own examples have EMPTY for a key.
_STAND_INS = words("... … EMPTY KEY TOKEN API_KEY YOUR_KEY YOUR_TOKEN YOUR_API_KEY <key> <token>")
_PLACEHOLDER = re.compile(r"<redacted:\w+>")
_ELEMENT = re.compile(r"""['"]([^'"]+)['"]""")


def redact(report: Report, *, private: bool) -> Report:
    """The report without secrets and prompts; the number of different ones is in ``redacted``, by kind.

    Args:
        report: what was found, as read.
        private: also take out IP addresses, host names and user names, for what is made to be shared.

    Returns:
        A report of the same shape. Doing it again changes nothing.
    """
    redaction = _Redaction(private)
    redaction.learn(report)
    clean: Report = redaction.walk(report)
    counts = Counter(report.redacted)
    counts.update(_PLURAL[kind] for text, kind in redaction.kinds.items() if text not in redaction.pieces)
    return replace(clean, redacted=dict(sorted(counts.items())))


@dataclass(slots=True)
class _Redaction:
    """What to take out of one report.

    kinds: each find with what it is; pieces: the same of the pieces of those that a wrap broke; known: those to look
    for everywhere.
    """

    private: bool
    kinds: dict[str, str] = field(default_factory=dict)
    pieces: dict[str, str] = field(default_factory=dict)
    known: dict[str, str] = field(default_factory=dict)
    hosts: re.Pattern[str] | None = None

    def learn(self, report: Report) -> None:
        """Looks through the whole report first, so that a secret found in one place is known in all."""
        for name, text in _texts(report, "", _DEPTH):
            kind = kind_of_name(name)
            if kind and _is_secret(text):
                self.found(kind, text)
            self.substitute(text, SECRETS)
        for finding in report.findings:
            # A key's block, a manifest's name over its value, a token that a terminal broke: over several lines.
            self.substitute("\n".join(finding.evidence), SPANNING)
        # A short one would take ordinary words out; the longest first, as one may begin with another.
        found = {text: kind for text, kind in self.kinds.items() if kind in _BY_HEART and len(text) >= _LONG_ENOUGH}
        both = {**self.pieces, **found}
        self.known = {text: both[text] for text in sorted(both, key=lambda text: (-len(text), text))}
        if self.private:
            self._learn_hosts(report)

    def _learn_hosts(self, report: Report) -> None:
        """Hosts that are told by what stands before them go wherever else they stand; plain words do not."""
        found: set[str] = set()
        for name, text in _texts(report, "", _DEPTH):
            if is_of_host(name) and is_private_host(text):
                found.add(text)
            found.update(hosts_in(text))
        plain = sorted((host for host in found if _OF_HOSTS.search(host)), key=lambda host: (-len(host), host))
        if plain[:_MOST_HOSTS]:
            listed = "|".join(map(re.escape, plain[:_MOST_HOSTS]))
            self.hosts = re.compile(rf"(?<![\w.-])(?:{listed})(?![\w-]|\.\w)")

    def found(self, kind: str, text: str) -> str:
        """Notes a find, its pieces where a wrap broke it, and gives back what stands in its place."""
        pieces = WRAP.split(text)
        self.kinds.setdefault("".join(pieces), kind)
        if len(pieces) > 1 and kind in _BY_HEART:
            self.pieces.update((piece, kind) for piece in pieces if len(piece) >= _PIECE)
        return f"<redacted:{kind}>"

    def substitute(self, text: str, patterns: tuple[Pattern, ...]) -> str:
        """The text with placeholders for what the patterns find; a find may lay bare the one that it ran into."""
        once = self._substituted(text, patterns)
        return once if once == text else self._substituted(once, patterns)

    def _substituted(self, text: str, patterns: tuple[Pattern, ...]) -> str:
        for pattern in patterns:
            parts: list[str] = []
            at = 0
            for match in pattern.regex.finditer(text):
                start, end = _span(match)
                secret = text[start:end]
                kind = pattern.kind_of(match)
                if kind is None or not _is_secret(secret) or not pattern.accepts(match, secret):
                    continue
                elements = _ELEMENT.findall(secret) if text[start - 1 : start] == "[" else []
                for element in elements:
                    self.found(kind, element)
                parts += [text[at:start], f"<redacted:{kind}>" if elements else self.found(kind, secret)]
                at = end
            if parts:
                text = "".join(parts) + text[at:]
        return text

    def text(self, text: str) -> str:
        """Log text without prompts, secrets and, if so asked, private data."""
        return self.prose(self.substitute(text, PROMPTS))

    def prose(self, text: str) -> str:
        """As ``text``; for what the catalogue says, whose example requests are nobody's prompts."""
        return self.personal(self.learnt(self.substitute(text, SECRETS)))

    def learnt(self, text: str) -> str:
        """The text without the secrets that are known by heart."""
        for secret, kind in self.known.items():
            if secret in text:
                text = text.replace(secret, f"<redacted:{kind}>")
        return text

    def personal(self, text: str) -> str:
        """The text without private data, if so asked."""
        if not self.private:
            return text
        text = self.substitute(text, PRIVATE)
        return self.hosts.sub(lambda match: self.found("host", match[0]), text) if self.hosts else text

    def quoted(self, line: str) -> str:
        """A quoted line; it may begin or end inside a known secret, where a terminal had wrapped it."""
        line = self.text(line)
        for secret, kind in self.known.items():
            if _SEVERAL.search(secret):
                continue
            if len(line.strip()) >= _PIECE and line.strip() in secret:
                return f"<redacted:{kind}>"
            for size in range(min(len(secret) - 1, _LONGEST_PIECE), _PIECE - 1, -1):
                if line.endswith(secret[:size]):
                    line = f"{line[:-size]}<redacted:{kind}>"
                    break
            indent = len(line) - len(line.lstrip())
            for size in range(min(len(secret) - 1, _LONGEST_PIECE), _PIECE - 1, -1):
                if line.startswith(secret[-size:], indent):
                    line = f"{line[:indent]}<redacted:{kind}>{line[indent + size :]}"
                    break
        return line

    def command(self, command: str) -> str | None:
        """The command with variables in place of secrets; None where neither flag nor variable tells which."""
        clear = shell_words(command)
        if self.learnt(self.substitute(clear, SECRETS)) != clear:
            return None
        return self.personal(clear)

    def walk(self, value: Any, name: str = "", depth: int = _DEPTH) -> Any:
        """The value with every text in it redacted; dataclasses, mappings and sequences keep their shape."""
        if isinstance(value, str):
            return value if name in _KEPT else self.text(value)
        if value is None or isinstance(value, bool | int | float):
            return value
        if depth == 0:
            return "..."
        if isinstance(value, Fix):
            return self.fix(value)
        if is_dataclass(value) and not isinstance(value, type):
            changes = {each.name: self.walk(getattr(value, each.name), each.name, depth - 1) for each in fields(value)}
            if isinstance(value, Run) and value.command is not None:
                changes["command"] = self.text(shell_words(value.command))
            return replace(value, **changes)
        if isinstance(value, Mapping):
            return {
                self.prose(str(key)): self.walk(
                    self.argument(str(key), each) if name in _NAMED else each, name, depth - 1
                )
                for key, each in value.items()
            }
        if isinstance(value, list | tuple | set | frozenset):
            each_text = self.quoted if name == "evidence" else None
            return type(value)(each_text(each) if each_text else self.walk(each, name, depth - 1) for each in value)
        # An argument of a class of its own shows itself by its repr, which may hold anything.
        return self.text(str(value))

    def fix(self, fix: Fix) -> Fix:
        """A fix whose commands hold variables for secrets; a command that cannot is dropped, and said to be."""
        commands = [self.command(command) for command in fix.commands]
        verify = None if fix.verify is None else self.command(fix.verify)
        missing = [self.prose(each) for each in fix.missing]
        if None in commands:
            missing.append("a command that can be shown: it holds a secret")
        if verify is None and fix.verify is not None:
            missing.append("a check that can be shown: it holds a secret")
        kept = tuple(command for command in commands if command is not None)
        note = None if fix.note is None else self.prose(fix.note)
        hint = "put back what was taken out"
        if any(map(_PLACEHOLDER.search, kept)) and hint not in (note or ""):
            note = f"{note}; {hint}" if note else hint
        return replace(
            fix,
            title=self.prose(fix.title),
            set=self.variables(fix.set),
            unset=tuple(map(self.prose, fix.unset)),
            env=self.variables(fix.env),
            steps=tuple(map(self.prose, fix.steps)),
            commands=kept,
            verify=verify,
            tradeoff=self.prose(fix.tradeoff),
            missing=tuple(missing),
            note=note,
        )

    def argument(self, name: str, value: Any) -> Any:
        """The value of an argument or variable, taken out where its name says what it is."""
        value = _unnamed(name, value)
        if self.private and isinstance(value, str) and is_of_host(name) and is_private_host(value):
            return self.found("host", value)
        return value

    def variables(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Values of flags and variables; a secret becomes the variable that it is kept in, where that is known."""
        changed: dict[str, Any] = {}
        for name, value in values.items():
            kept = self.argument(name, value)
            if isinstance(kept, str):
                kept = self.learnt(self.substitute(kept, SECRETS))
            variable = shell_variable(name)
            if variable and kept != value:
                kept = f"${variable}"
            changed[name] = self.personal(kept) if isinstance(kept, str) else kept
        return changed


def _span(match: re.Match[str]) -> tuple[int, int]:
    """Where the secret stands: the first group but the naming ones that took part."""
    naming = {match.re.groupindex.get(name) for name in ("name", "slip", "quote", "sep")}
    for group in range(1, match.re.groups + 1):
        if group not in naming and match[group] is not None:
            return match.span(group)
    return match.span()


def _is_secret(text: str) -> bool:
    """Whether a value is one: neither nothing, nor a variable, nor taken out already."""
    plain = text.strip().strip("'\"")
    if plain in _STAND_INS or plain.rstrip(".,;:)`") in _STAND_INS:
        return False
    return plain.lower() not in _KEPT_VALUES and not plain.startswith("$") and not _PLACEHOLDER.search(text)


def _unnamed(name: str, value: Any) -> Any:
    """The value of an argument; all of it is a secret where the argument's name says so."""
    kind = kind_of_name(name)
    if kind and isinstance(value, str) and _is_secret(value):
        return f"<redacted:{kind}>"
    if kind and isinstance(value, list | tuple):
        return type(value)(_unnamed(name, each) for each in value)
    return value


def _texts(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every text of a value that is looked through, with the name of the argument that it is the value of."""
    if isinstance(value, str):
        if name not in _KEPT:
            yield name, value
    elif value is None or isinstance(value, bool | int | float) or depth == 0:
        return
    elif is_dataclass(value):
        for each in fields(value):
            yield from _texts(getattr(value, each.name), each.name, depth - 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            # A hole called "secret" holds the name of a Secret: messages do not print what is in one.
            inner = str(key) if name in _NAMED or (kind_of_name(str(key)) and key != "secret") else ""
            yield from _texts(item, inner, depth - 1)
    elif isinstance(value, list | tuple | set | frozenset):
        for item in value:
            yield from _texts(item, name, depth - 1)
    else:
        yield name, str(value)
