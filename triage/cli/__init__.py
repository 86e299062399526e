"""The command: arguments, streams, exit codes. Nothing else in the package touches them."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from triage.cli.streams import EXIT_CANNOT, complain, quiet_pipe
from triage.errors import TriageError

SUBCOMMANDS = {
    "explain": ("triage.cli.explain", "run"),
    "search": ("triage.cli.find", "run_search"),
    "list": ("triage.cli.find", "run_list"),
    "lint": ("triage.cli.lint", "run"),
    "learn": ("triage.cli.learn", "run"),
    "draft": ("triage.cli.draft", "run"),
}
"""First words that are subcommands; ``./explain`` reads a file of that name."""

WITH_VALUE = (
    "-o",
    "--output",
    "--format",
    "--as",
    "--context",
    "--ignore",
    "--patterns",
    "--vllm-version",
    "--color",
    "--source-from",
)
"""Options that the next word is the value of, where a subcommand may stand behind them."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: what stands behind the command's name; None takes the process's own.

    Returns:
        The exit status: 0; with ``--exit-code`` 1 cause found, 3 unknown failure or not enough evidence; 1 from lint
        when records are wrong; 2 could not run; 130 stopped with Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with quiet_pipe():
        try:
            if words == ["help"]:
                words = ["--help"]
            first = _first_word(words)
            if first is not None and words[first] in SUBCOMMANDS:
                module, name = SUBCOMMANDS[words.pop(first)]
            else:
                module, name = "triage.cli.report", "run"
            # Only what this run needs is imported: a report should not wait for the code of explain and lint.
            status: int = getattr(importlib.import_module(module), name)(words)
            return status
        except TriageError as failure:
            complain(failure)
            return EXIT_CANNOT
        except KeyboardInterrupt:
            return 130


def _first_word(words: Sequence[str]) -> int | None:
    """The place of the first word that is neither an option nor the value of one: a subcommand may stand there."""
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            return None
        if word == "-" or not word.startswith("-"):
            return at
        takes_next = any(option == word or (len(word) > 3 and option.startswith(word)) for option in WITH_VALUE)
        at += 2 if takes_next else 1
    return None
