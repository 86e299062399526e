"""Options that several subcommands share, and a parser that complains in our own way."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NoReturn

from triage.errors import UsageError


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line and a hint, as all of ours."""

    def error(self, message: str) -> NoReturn:
        """Raise what argparse would print.

        Raises:
            UsageError: always.
        """
        raise UsageError(message, f"{self.prog} --help lists the options")


def folder(text: str) -> Path:
    """A folder named on the command line; an empty name would mean the current one.

    Raises:
        argparse.ArgumentTypeError: the name is empty.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of the folder is empty; . is the current one")
    return Path(text)


def add_patterns(parser: argparse.ArgumentParser) -> None:
    """Add ``--patterns DIR``, repeatable."""
    parser.add_argument(
        "--patterns",
        metavar="DIR",
        action="append",
        default=[],
        type=folder,
        help="more records: a folder of record files (JSON, or pages as text); repeatable",
    )


def add_color(parser: argparse.ArgumentParser) -> None:
    """Add ``--color WHEN``."""
    parser.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="colour the report (default: on a terminal)",
    )
