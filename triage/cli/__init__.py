"""The command: arguments, streams, exit codes. Nothing else in the package touches them."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from triage.cli import explain, find, lint, report
from triage.cli.streams import EXIT_CANNOT, complain, quiet_pipe
from triage.errors import TriageError

SUBCOMMANDS = {"explain": explain.run, "search": find.run_search, "list": find.run_list, "lint": lint.run}
"""First words that are subcommands; ``./explain`` reads a file of that name."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    Args:
        arguments: what stands behind the command's name; None takes the process's own.

    Returns:
        The exit status: 0; with ``--exit-code`` 1 cause found, 3 unknown failure or not enough evidence; 1 from lint when
        records are wrong; 2 could not run; 130 stopped with Ctrl-C.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    with quiet_pipe():
        try:
            if words and words[0] in SUBCOMMANDS:
                return SUBCOMMANDS[words[0]](words[1:])
            return report.run(words)
        except TriageError as failure:
            complain(failure)
            return EXIT_CANNOT
        except KeyboardInterrupt:
            return 130
