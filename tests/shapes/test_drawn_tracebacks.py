"""Tracebacks as IPython, Rich and pytest draw them."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import NamedTuple

import pytest

from triage.model import Report

Diagnose = Callable[..., Report]


class Shape(NamedTuple):
    """A shape: its row, a log, the cause, captures, and the line (from 1) in which the message begins."""

    row: str
    text: str
    slug: str
    captures: dict[str, object] = {}  # noqa: RUF012
    line: int | None = None


SHAPES = [
    Shape(
        "A6 IPython, new",
        """\
        ---------------------------------------------------------------------------
        ValueError                                Traceback (most recent call last)
        Cell In[3], line 1
        ----> 1 llm = LLM("acme/kiwi", tensor_parallel_size=3)

        File ~/env/lib/python3.12/site-packages/vllm/entrypoints/llm.py:243, in LLM.__init__(self, model, **kwargs)
            241 engine_args = EngineArgs(model=model, **kwargs)
            242 # Create the engine
        --> 243 self.llm_engine = LLMEngine.from_engine_args(
            244     engine_args=engine_args)

        File ~/env/lib/python3.12/site-packages/vllm/config.py:722, in ModelConfig.verify(self, parallel_config)
            720 if heads % size != 0:
        --> 722     raise ValueError(
            723         f"Total number of attention heads ({heads})"

        ValueError: Total number of attention heads (20) must be divisible by tensor parallel size (3).
        """,
        "heads-not-divisible-by-tensor-parallel-size",
        {"total_num_attention_heads": 20, "tensor_parallel_size": 3},
        17,
    ),
    Shape(
        "A6 IPython, old",
        """\
        ---------------------------------------------------------------------------
        RuntimeError                              Traceback (most recent call last)
        <ipython-input-4-1f2e3d4c5b6a> in <cell line: 7>()
              5 from vllm import LLM
              6
        ----> 7 llm = LLM(model="acme/kiwi")

        /usr/local/lib/python3.10/dist-packages/vllm/model_executor/model_loader/loader.py in _prepare_weights(self, model)
            310         if not files:
        --> 311             raise RuntimeError(
            312                 f"Cannot find any model weights with `{model}`")

        RuntimeError: Cannot find any model weights with `acme/kiwi`
        """,
        "no-model-weights-found",
        {"model": "acme/kiwi"},
        13,
    ),
    Shape(
        "A6 Rich's box",
        """\
        ╭─────────────────────────────── Traceback (most recent call last) ────────────────────────────────╮
        │ /home/kim/app/serve.py:42 in <module>                                                            │
        │                                                                                                  │
        │    40 from vllm import LLM                                                                       │
        │ ❱  42 llm = LLM(model="acme/kiwi", quantization="awq")                                           │
        │                                                                                                  │
        │ /opt/venv/lib/python3.11/site-packages/vllm/config.py:426 in _verify_quantization                │
        │                                                                                                  │
        │   425 │   │   │   │   raise ValueError(                                                          │
        │ ❱ 426 │   │   │   │   │   f"The quantization method {q} is not supported for the current GPU. "  │
        │ ╭─────────── locals ───────────╮                                                                 │
        │ │ q = 'awq'                    │                                                                 │
        │ ╰──────────────────────────────╯                                                                 │
        ╰──────────────────────────────────────────────────────────────────────────────────────────────────╯
        ValueError: The quantization method awq is not supported for the current GPU. Minimum capability: 75. Current
        capability: 61.
        """,
        "quantization-needs-newer-gpu",
        {"quantization": "awq", "min_capability": 75, "current_capability": 61},
        15,
    ),
    Shape(
        "A6 pytest",
        """\
        tests/test_generate.py:18: in test_generate
            llm = LLM(model="acme/kiwi-vl")
        /opt/venv/lib/python3.11/site-packages/vllm/entrypoints/llm.py:343: in __init__
            self.llm_engine = LLMEngine.from_engine_args(
        /opt/venv/lib/python3.11/site-packages/vllm/config.py:88: in check
        >       raise ValueError("Chunked prefill must be enabled to set max_num_partial_prefills > 1.")
        E       ValueError: Chunked prefill must be enabled to set max_num_partial_prefills > 1.

        /opt/venv/lib/python3.11/site-packages/vllm/config.py:88: ValueError
        """,
        "partial-prefills-without-chunked-prefill",
        {},
        7,
    ),
]


def check(report: Report, shape: Shape, text: str) -> None:
    """One root cause, with its captures, at its line; the evidence is input lines as they are."""
    roots = [finding for finding in report.findings if finding.role == "root_cause"]
    assert [f.record.slug if f.record else f.message for f in roots] == [shape.slug]
    root = roots[0]
    assert {name: str(root.captures.get(name)) for name in shape.captures} == {
        name: str(value) for name, value in shape.captures.items()
    }
    lines = text.splitlines()
    assert root.evidence_line is not None
    assert root.evidence[0] == lines[root.evidence_line - 1]
    assert set(root.evidence) <= set(lines)
    if shape.line is not None:
        assert root.line == shape.line


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.row)
def test_cause_of_a_drawn_traceback(diagnose: Diagnose, shape: Shape) -> None:
    """Whatever drew the traceback, the cause, its values and its line come out."""
    text = dedent(shape.text)
    check(diagnose(text), shape, text)


IPYTHON = next(shape for shape in SHAPES if shape.row == "A6 IPython, new")
RICH = next(shape for shape in SHAPES if shape.row == "A6 Rich's box")
PYTEST = next(shape for shape in SHAPES if shape.row == "A6 pytest")


@pytest.mark.parametrize(
    ("shape", "file", "line"),
    [(IPYTHON, "vllm/config.py", 722), (RICH, "vllm/config.py", 426), (PYTEST, "vllm/config.py", 88)],
    ids=lambda value: value.row if isinstance(value, Shape) else None,
)
def test_place_from_foreign_frames(diagnose: Diagnose, shape: Shape, file: str, line: int) -> None:
    """Frames as IPython, Rich and pytest print them tell where the exception was raised."""
    (root,) = diagnose(dedent(shape.text)).findings
    assert root.location is not None
    assert (root.location.file, root.location.line, root.location.basis) == (file, line, "traceback")
