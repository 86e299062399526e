"""Fixes out of the check that a message stands under."""

from __future__ import annotations

import pytest

from triage.diagnose.relations import recipes
from triage.model import Placement, Scalar, Site

FLAGS = {"--max-num-batched-tokens", "--max-num-seqs", "--tensor-parallel-size"}


def changes(guard: str | None, **captures: Scalar) -> list[dict[str, object]]:
    site = Site("raise", "ValueError", "vllm/a.py", "f", None, {}, guard)
    return [dict(recipe.set) for recipe in recipes(Placement(site, captures, "exact", 100.0), FLAGS)]


@pytest.mark.parametrize(
    ("guard", "expected"),
    [
        (
            "self.max_num_batched_tokens < self.max_num_seqs",
            [{"--max-num-batched-tokens": "max_num_seqs"}, {"--max-num-seqs": "max_num_batched_tokens"}],
        ),
        (
            "max_num_batched_tokens <= max_num_seqs",
            [{"--max-num-batched-tokens": "max_num_seqs + 1"}, {"--max-num-seqs": "max_num_batched_tokens - 1"}],
        ),
        ("max_num_seqs > 128", [{"--max-num-seqs": "128"}]),
        ("max_num_seqs >= 128", [{"--max-num-seqs": "128 - 1"}]),
        ("max_num_seqs != other", [{"--max-num-seqs": "other"}]),
        (
            "other % self.tensor_parallel_size != 0",
            [{"--tensor-parallel-size": "largest_divisor(other, tensor_parallel_size)"}],
        ),
        ("max_num_seqs == 1", []),
        ("max_num_seqs < gone", []),
        ("max_num_seqs < text", []),
        ("other < third", []),
        ("os.system('x') < max_num_seqs", []),
        (None, []),
    ],
)
def test_changes_that_satisfy_the_check(guard: str | None, expected: list[dict[str, object]]) -> None:
    """Each side that is a flag is moved to where the check holds; what the log does not show moves nothing."""
    values: dict[str, Scalar] = {
        "max_num_batched_tokens": 64,
        "max_num_seqs": 256,
        "other": 28,
        "third": 3,
        "text": "x",
    }
    assert changes(guard, **values, tensor_parallel_size=3) == expected
