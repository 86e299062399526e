"""Records become events: chains in order, processes apart, messages whole."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from triage.events.assemble import Assembler
from triage.model import Event, Record

Records = Callable[[str], list[Record]]
TAG = "(EngineCore_DP0 pid=41) "
LOGGED = f"{TAG}ERROR 11-30 14:15:09 [core.py:708] "

TRACEBACK = """\
Traceback (most recent call last):
  File "/opt/vllm/vllm/config.py", line 12, in check
    raise ValueError(
    ...<2 lines>...
    )
    ~~~~^^^^^
ValueError: first line
second line
"""
HEAD = TRACEBACK[: TRACEBACK.index("ValueError: first")]


def events(records: list[Record]) -> list[Event]:
    assembler = Assembler()
    out = [event for record in records for event in assembler.feed(record)]
    return out + list(assembler.end())


def prefixed(prefix: str, text: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.splitlines())


@pytest.mark.parametrize("prefix", ["", TAG, LOGGED, "[rank0]: ", "vllm-1  | "])
def test_traceback(records: Records, prefix: str) -> None:
    """Frames with their source lines, carets of Python 3.11 to 3.14 left out, and a message of two lines."""
    (event,) = events(records(prefixed(prefix, TRACEBACK)))
    (raised,) = event.raised
    assert (raised.class_name, raised.message) == ("ValueError", "first line\nsecond line")
    assert [(f.file, f.line, f.function, f.source) for f in raised.frames] == [
        ("/opt/vllm/vllm/config.py", 12, "check", "raise ValueError(")
    ]


@pytest.mark.parametrize(
    ("sentence", "link"),
    [
        ("The above exception was the direct cause of the following exception:", "direct_cause"),
        ("During handling of the above exception, another exception occurred:", "during_handling"),
    ],
)
@pytest.mark.parametrize("prefix", ["", LOGGED])
def test_chain(records: Records, prefix: str, sentence: str, link: str) -> None:
    """A chain is one event, the innermost exception first, each knowing how the next came of it."""
    text = f"{TRACEBACK}\n{sentence}\n\n{TRACEBACK.replace('ValueError: first', 'RuntimeError: outer')}"
    (event,) = events(records(prefixed(prefix, text)))
    assert [(r.class_name, r.link) for r in event.raised] == [("ValueError", link), ("RuntimeError", None)]


def test_interleaved_processes_come_apart(records: Records) -> None:
    """Two ranks print the same traceback line by line in turns: two events, each whole."""
    lines = [f"(VllmWorker rank={rank} pid={rank + 7}) {line}\n" for line in TRACEBACK.splitlines() for rank in (0, 1)]
    got = events(records("".join(lines)))
    assert [(e.first.rank, e.raised[0].message, len(e.raised[0].frames)) for e in got] == [
        (0, "first line\nsecond line", 1),
        (1, "first line\nsecond line", 1),
    ]


def test_headline_and_traceback_on_one_line(records: Records) -> None:
    """To 0.8.4 the headline and "Traceback" share a line."""
    text = TRACEBACK.replace("Traceback", "EngineCore hit an exception: Traceback")
    (event,) = events(records(prefixed(LOGGED, text)))
    assert (event.headline, event.raised[0].class_name) == ("EngineCore hit an exception:", "ValueError")


def test_multiprocessing_headline_belongs_to_its_traceback(records: Records) -> None:
    """The copy that multiprocessing prints names the process in the line before."""
    (event,) = events(records(f"Process EngineCore_DP0:\n{TRACEBACK}"))
    assert (event.headline, event.kind) == ("Process EngineCore_DP0:", "exception")


def test_pydantic_gives_the_message_that_it_wraps(records: Records) -> None:
    """The validator's own class and text come out, the dump of the input and the link do not."""
    text = HEAD + (
        "pydantic_core._pydantic_core.ValidationError: 2 validation errors for ModelConfig\n"
        "  Value error, too long\nby far. [type=value_error, input_value=ArgsKwargs((), {'x': 1}), input_type=ArgsKwargs]\n"
        "    For further information visit https://errors.pydantic.dev/2.12/v/value_error\n"
        "max_num_seqs\n"
        "  Input should be greater than or equal to 1 [type=greater_than_equal, input_value=0, input_type=int]\n"
        "    For further information visit https://errors.pydantic.dev/2.12/v/greater_than_equal\n"
    )
    (event,) = events(records(text))
    assert [(r.class_name, r.message) for r in event.raised] == [
        ("ValueError", "too long\nby far."),
        (
            "pydantic_core._pydantic_core.ValidationError",
            "1 validation error for ModelConfig\nmax_num_seqs\n  Input should be greater than or equal to 1",
        ),
    ]


def test_exception_without_text_says_its_failing_line(records: Records) -> None:
    """A bare AssertionError is named by the line of code that failed."""
    text = 'Traceback (most recent call last):\n  File "x.py", line 3, in f\n    assert "factor" in rope_scaling\nAssertionError\n'
    (event,) = events(records(text))
    assert (event.raised[0].class_name, event.raised[0].message) == (
        "AssertionError",
        'assert "factor" in rope_scaling',
    )


def test_traceback_inside_a_message(records: Records) -> None:
    """A message that quotes a traceback (Ray Serve, vLLM's registry) holds its cause: it comes first in the chain."""
    text = HEAD + f"RuntimeError: {TRACEBACK}"
    (event,) = events(records(text))
    assert [(r.class_name, r.link) for r in event.raised] == [("ValueError", "direct_cause"), ("RuntimeError", None)]


def test_remote_frames_behind_a_ray_error(records: Records) -> None:
    """Ray prints the remote frames behind its own exception line; the exception itself comes last."""
    text = (
        'Traceback (most recent call last):\n  File "ray/worker.py", line 958, in get\n    raise value\n'
        "ray.exceptions.RayTaskError(ValueError): ray::RayWorkerWrapper.execute_method() (pid=7106, ip=192.0.2.7)\n"
        '  File "vllm/v1/worker/utils.py", line 317, in request_memory\n    raise ValueError(\nValueError: Free memory\n'
    )
    (event,) = events(records(text))
    assert [(r.class_name, r.message, len(r.frames)) for r in event.raised] == [("ValueError", "Free memory", 2)]


def test_message_ends_where_the_next_thing_begins(records: Records) -> None:
    """A server's access line, a prompt of a shell or IPython, or another process's line is no part of it."""
    prompts = ("$ nvidia-smi", "In [3]: llm", "Out[3]: (76.93, 80.0)")
    for after in ("INFO:     Shutting down", *prompts, "nanobind: leaked 1 instances!", "[rank1]: hello"):
        got = events(records(f"{TRACEBACK}{after}\n"))
        assert got[0].raised[0].message == "first line\nsecond line", after


def test_half_a_traceback_is_an_event(records: Records) -> None:
    """A paste that begins inside a traceback still gives its exception; one that ends there says that it was cut."""
    (tail,) = events(records("".join(TRACEBACK.splitlines(keepends=True)[1:])))
    assert (tail.raised[0].class_name, len(tail.raised[0].frames)) == ("ValueError", 1)
    (head,) = events(records("".join(TRACEBACK.splitlines(keepends=True)[:3])))
    assert head.cut


def test_usage_error_of_argparse(records: Records) -> None:
    """argparse prints its usage and one line; the line is what counts."""
    (event,) = events(
        records(
            "usage: vllm serve [model_tag] [options]\n          [--x X]\nvllm serve: error: unrecognized arguments: --y\n"
        )
    )
    assert (event.kind, event.headline) == ("usage", "vllm serve: error: unrecognized arguments: --y")


def test_every_record_is_in_one_event(records: Records) -> None:
    """Nothing is lost: the records of all events are those of the input, blank lines between events aside."""
    text = f"hello\n{TRACEBACK}\nINFO:     up\n" + prefixed(LOGGED, TRACEBACK) + "bye\n"
    got = sorted(r.first.number for e in events(records(text)) for r in e.records)
    assert got == [n for n, line in enumerate(text.splitlines(), 1) if line.strip() or n in got]
    assert len(got) == len(set(got))


def test_of_too_many_frames_the_innermost_stays(records: Callable[[str], list[Record]]) -> None:
    """A recursion's hundreds of frames are bounded; the one that failed is kept, and the bound is said."""
    frames = "".join(f'  File "a.py", line {n}, in f\n    f()\n' for n in range(1, 400))
    assembler = Assembler()
    events = [
        event
        for record in records(f"Traceback (most recent call last):\n{frames}acme.DeepError: too deep\n")
        for event in assembler.feed(record)
    ]
    events += assembler.end()
    assert events[0].raised[0].frames[-1].line == 399
    assert assembler.limits
