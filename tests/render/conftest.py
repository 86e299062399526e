"""Golden files: what a report looks like in each format, under golden/<example>.<format>.

To accept changes, run ``ACCEPT_GOLDEN=1 pytest tests/render`` and read the diff of the golden files.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

_GOLDEN = Path(__file__).parent / "golden"


@pytest.fixture
def golden() -> Callable[[str, str], None]:
    """Compares a text with the golden file of a name; writes the file when changes are accepted."""

    def check(name: str, text: str) -> None:
        file = _GOLDEN / name
        if os.environ.get("ACCEPT_GOLDEN"):
            file.write_bytes(text.encode())
        assert file.exists(), f"{name} is missing: ACCEPT_GOLDEN=1 writes it"
        assert text == file.read_bytes().decode(), f"{name} differs: ACCEPT_GOLDEN=1 accepts the change"

    return check
