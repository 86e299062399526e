from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.catalogue.blocks import Blocks, join_blocks, split_blocks

FIX = "# before\nserve --seats 9\n\n# after\nserve --seats 3"
VALIDATION = "import rows\n\n\ndef fits(seats: int) -> bool:\n    return seats <= rows.count()\n\nassert fits(3)"
CATCH = "try:\n    serve()\n\n    check()\nexcept ValueError:\n    raise"
GUARD = "def is_seat(x): ..."


@pytest.mark.parametrize(
    "blocks",
    [
        Blocks(),
        Blocks(FIX),
        Blocks("serve --seats 3"),
        Blocks(FIX, VALIDATION),
        Blocks(FIX, None, CATCH),
        Blocks(FIX, VALIDATION, CATCH),
        Blocks(FIX, VALIDATION, f"import engine\n# as a last resort\n{CATCH}"),
        Blocks(f"# before\n{CATCH}\n\n# after\n{CATCH}", "assert True", CATCH),
        Blocks("# Before\nx = 1\n\nx += 1\n\n// after\nx = 2", VALIDATION),
    ],
)
def test_unlabelled_blocks_are_told_apart(blocks: Blocks) -> None:
    """Blank lines inside a block do not split it, and no label is needed."""
    text = join_blocks(blocks)
    assert "```" not in text
    assert split_blocks(text) == blocks


@pytest.mark.parametrize(
    "blocks",
    [
        Blocks(None, VALIDATION),
        Blocks(None, None, CATCH),
        Blocks("x = 1\n\ny = 2"),
        Blocks("x = 1", "try:\n    y = 2\nexcept KeyError: pass", CATCH),
        Blocks(FIX, VALIDATION, "retry(serve)"),
        Blocks(FIX, VALIDATION, CATCH, GUARD),
        Blocks("```\nfenced\n```", "x = '````'"),
    ],
)
def test_ambiguous_blocks_are_fenced(blocks: Blocks) -> None:
    """Blocks that could not be told apart are written in labelled fences, and come back."""
    text = join_blocks(blocks)
    assert text.startswith("```")
    assert split_blocks(text) == blocks


CODE = st.text(alphabet="tryx:#after \n`=()", min_size=1, max_size=30).filter(lambda text: text.strip())


@given(st.one_of(st.none(), CODE), st.one_of(st.none(), CODE), st.one_of(st.none(), CODE), st.one_of(st.none(), CODE))
def test_any_blocks_come_back(fix: str | None, validation: str | None, catch: str | None, guard: str | None) -> None:
    """Whatever the blocks hold, writing and reading gives them back."""
    blocks = Blocks(fix, validation, catch, guard)
    assert split_blocks(join_blocks(blocks)) == blocks


def test_fences_named_by_language() -> None:
    """Fences labelled with a language are taken in order."""
    text = "```bash\nserve\n```\n\n```python\nassert True\n```\n\n```python\ntry:\n    x\n```"
    assert split_blocks(text) == Blocks("serve", "assert True", "try:\n    x")


def test_try_after_the_fix_alone() -> None:
    """A fix followed by a try/catch has no validation, and one by a second language-less block has no try/catch."""
    assert split_blocks("serve\n\ntry:\n    x") == Blocks("serve", None, "try:\n    x")
    assert split_blocks("serve\n\ntry {\n  x\n}") == Blocks("serve", None, "try {\n  x\n}")
