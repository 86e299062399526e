"""What several test modules use."""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from triage.errors import InputError
from triage.model import Line, Record, Report
from triage.read import Source, split_lines, unwrap

ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True, scope="session")
def _no_learned_packages(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep what the user of this machine had read out of the tests, whose commands inherit the environment."""
    os.environ["VLLM_TRIAGE_DATA"] = str(tmp_path_factory.mktemp("data"))


@pytest.fixture
def records() -> Callable[[str], list[Record]]:
    """Give a function that reads a text into records, as standard input would be."""

    def read(text: str) -> list[Record]:
        return list(unwrap(split_lines([text.encode()], "stdin")))

    return read


@pytest.fixture
def line() -> Callable[[str], Line]:
    """Give a function that makes a line of a text."""
    return lambda text: Line("stdin", 1, 0, text)


@pytest.fixture(scope="session")
def diagnose() -> Callable[..., Report]:
    """Give a function that takes a log through the whole pipeline with the bundled catalogue."""
    from triage import catalogue
    from triage.pipeline import Settings, Triage

    known = catalogue.load()

    def run(text: str | bytes, **settings: object) -> Report:
        triage = Triage(known, Settings(**settings))  # type: ignore[arg-type]
        data = text.encode() if isinstance(text, str) else text
        with contextlib.suppress(InputError):  # bytes that begin like a compressed file and are none
            for _ in triage.read(Source("stdin", io.BytesIO(data))):
                pass
        return triage.report()

    return run
