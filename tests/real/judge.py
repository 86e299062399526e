"""Ask vllm-triage about a log, and hold its first fix against the command that failed."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, NamedTuple


class Verdict(NamedTuple):
    """What vllm-triage says of a log: the slug of the root cause ('' where none) and its first fix."""

    slug: str
    title: str
    fix: dict[str, Any]

    @property
    def command(self) -> str:
        """The first command of the fix; empty where it has none."""
        commands = self.fix.get("commands") or [""]
        return str(commands[0])

    @property
    def installs(self) -> bool:
        """Whether the first command would change the environment that vLLM is in."""
        return re.match(r"(?:python -m |uv )?(?:pip|apt\S*|conda) ", self.command) is not None

    @property
    def printed(self) -> str:
        """The fix in one line: its changes, else its title and first step."""
        words = [f"{flag} {value}" if value is not True else flag for flag, value in self.fix.get("set", {}).items()]
        words += [f"drop {flag}" for flag in self.fix.get("unset", [])]
        words += [f"unset {n}" if v is None else f"{n}={v}" for n, v in self.fix.get("env", {}).items()]
        if words:
            return ", ".join(words)
        if self.command:
            return self.command
        return "; ".join([self.fix.get("title", "no fix"), *self.fix.get("steps", [])[:1]])


def triage(log: Path, program: str) -> Verdict:
    """Ask the command for its report on a log."""
    done = subprocess.run([program, "--format", "json", str(log)], capture_output=True, check=False)
    if not done.stdout:
        return Verdict("", f"vllm-triage failed: {done.stderr.decode(errors='replace').strip()[:200]}", {})
    report = json.loads(done.stdout)
    causes = [finding for finding in report["findings"] if finding["role"] == "root_cause"]
    if not causes:
        return Verdict("", f"status {report['status']}", {})
    first = causes[0]
    record = first["record"] or {"slug": ""}
    fixes = first["fixes"] or [{}]
    return Verdict(record["slug"], first["title"] or first["message"], fixes[0])


def arguments(command: str) -> dict[str, tuple[str, ...]]:
    """The arguments of the ``vllm`` in a shell command: flags to values, '' to what stands before the first flag.

    Raises:
        ValueError: a quote is not closed.
    """
    words = shlex.split(command, comments=False)
    names = [number for number, word in enumerate(words) if word.rsplit("/", 1)[-1] == "vllm"]
    found: dict[str, tuple[str, ...]] = {}
    flag = ""
    for word in words[names[0] + 1 :] if names else words:
        if word.startswith("-") and len(word) > 1 and not word[1].isdigit():
            flag, _, value = word.partition("=")
            flag = "--" + flag[2:].replace("_", "-") if flag.startswith("--") else flag
            found[flag] = found.get(flag, ()) + ((value,) if value else ())
        else:
            found[flag] = (*found.get(flag, ()), word)
    return found


def changed_beside_fix(failed: str, fixed: str, fix: dict[str, Any]) -> list[str]:
    """What differs between two commands and is not named by the fix.

    Args:
        failed: the command that failed.
        fixed: the command of the fix.
        fix: its ``set`` and ``unset``.
    """
    before, after = arguments(failed), arguments(fixed)
    named = {*fix.get("set", {}), *fix.get("unset", [])}
    for flag in {name.partition(".")[0] for name in named if "." in name}:
        inside = [name.partition(".")[2].split(".") for name in named if name.startswith(f"{flag}.")]
        for side in (before, after):
            if flag in side:
                side[flag] = without_keys(side[flag], inside)
    named |= {f"--{flag[5:]}" for flag in named if flag.startswith("--no-")} | {f"--no-{flag[2:]}" for flag in named}
    differing = []
    for flag in sorted((before.keys() | after.keys()) - named):
        if before.get(flag) != after.get(flag):
            old, new = (" ".join(side.get(flag, ("absent",))) for side in (before, after))
            differing.append(f"{flag or 'words'}: {old} -> {new}")
    return differing


def without_keys(values: tuple[str, ...], paths: list[list[str]]) -> tuple[str, ...]:
    """The JSON objects among values, without the keys that a fix names; other values as they are."""
    kept = []
    for value in values:
        try:
            content = json.loads(value)
        except ValueError:
            kept.append(value)
            continue
        for *outer, last in paths:
            holder = content
            for key in outer:
                holder = holder.get(key, {}) if isinstance(holder, dict) else {}
            if isinstance(holder, dict):
                holder.pop(last, None)
        kept.append(json.dumps(content))
    return tuple(kept)


def with_flags(failed: str, fix: dict[str, Any]) -> str:
    """A command with the flags of a fix in it, for a log that does not show the command.

    Args:
        failed: the command that failed, without shell syntax around it.
        fix: its ``set`` and ``unset``.
    """
    named = {*fix.get("set", {}), *fix.get("unset", [])}
    words: list[str] = []
    dropping = False
    for word in shlex.split(failed):
        if word.startswith("--"):
            dropping = word.partition("=")[0] in named
        if not dropping:
            words.append(word)
    for flag, value in fix.get("set", {}).items():
        base, dot, key = flag.partition(".")
        if dot and base in words:  # as the fix says: inside the value that is given
            place = words.index(base) + 1
            words[place] = json.dumps({**json.loads(words[place]), key: value})
            continue
        words += [flag] if value is True else [flag, value if isinstance(value, str) else json.dumps(value)]
    return shlex.join(words)
