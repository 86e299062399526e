"""Where a message is raised: frames first, else the catalogue's line for the run's release."""

from __future__ import annotations

import pytest

from triage.diagnose.locations import line_in, locate, package_relative
from triage.diagnose.observations import Observation
from triage.model import Cause, CauseSite, Event, Frame, Line, Match, Raised, Record, RunFacts, Statement, Template

FILE = "vllm/config/scheduler.py"
TEXT = "budget must be at least seqs"
LINES = {"0.8.5": 10, "0.11.0": 20, "0.32.0": 30}
SITE = CauseSite(FILE, "Config.verify", "ValueError", TEXT, LINES)
CAUSE = Cause({}, None, "test", "x", "x", sites=(SITE,))


def observed(*frames: Frame, wrapped: str | None = None, logger: tuple[str, int] | None = None) -> Observation:
    file, line = logger or (None, None)
    first = Record(TEXT, (Line("stdin", 1, 0, TEXT),), level="ERROR", logger_file=file, logger_line=line)
    raised = Raised("ValueError", TEXT, frames, (first,), None, wrapped)
    event = Event("exception" if logger is None else "log", (first,), raised=(raised,) if logger is None else ())
    statement = Statement(event, TEXT, "ValueError", 0 if logger is None else None, (first,))
    match = Match(CAUSE, Template(TEXT, (TEXT,)), TEXT, {}, "exact", 100.0)
    return Observation(statement, match, TEXT, (first,), 0, (1, 1, 1))


@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("/opt/LMCache/lmcache/integration/vllm/adapter.py", "lmcache/integration/vllm/adapter.py"),
        ("/src/ray/python/ray/llm/engines/vllm/engine.py", "ray/llm/engines/vllm/engine.py"),
        ("/root/ray/vllm/engine/x.py", "vllm/engine/x.py"),
        ("/usr/lib/python3.12/site-packages/vllm/v1/core.py", "vllm/v1/core.py"),
        ("/usr/local/lib/python3.12/dist-packages/torch/nn/x.py", "torch/nn/x.py"),
        (r"C:\venv\Lib\site-packages\vllm\config.py", "vllm/config.py"),
        ("/srv/vllm/vllm/config.py", "vllm/config.py"),
        ("/opt/vllm/.venv/lib/python3.12/site-packages/ray/x.py", "ray/x.py"),
        ("/app/serve.py", "/app/serve.py"),
        ("vllm/v1/core.py", "vllm/v1/core.py"),
        ("./vllm/vllm/v1/core.py", "vllm/v1/core.py"),
        (".../vllm/v1/core.py", "vllm/v1/core.py"),
    ],
)
def test_paths_from_their_package_on(path: str, relative: str) -> None:
    """Site-packages, checkouts and Windows paths come down to the package's own path."""
    assert package_relative(path) == relative


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.11.0", ("0.11.0", 20)),
        ("0.11.0+cpu", ("0.11.0", 20)),
        ("0.11.0.post2", ("0.11.0", 20)),
        (None, ("0.32.0", 30)),
        ("0.12.0", None),
        ("dev", None),
    ],
)
def test_line_of_a_release(version: str | None, expected: tuple[str, int] | None) -> None:
    """Builds of a release count as it, an unknown one takes the newest, a release without the site has no line."""
    assert line_in(LINES, version) == expected


def test_the_tracebacks_own_frame_wins() -> None:
    """The last frame is the place, whatever the catalogue has for the release."""
    frame = Frame("/x/site-packages/vllm/config/scheduler.py", 333, "verify")
    location, vllm_frame = locate(observed(frame), RunFacts("0.11.0", "log"))
    assert location is not None
    assert (location.file, location.line, location.function, location.basis) == (
        FILE,
        333,
        "Config.verify",
        "traceback",
    )
    assert location.url == f"https://github.com/vllm-project/vllm/blob/v0.11.0/{FILE}#L333"
    assert vllm_frame is None


def test_innermost_frame_of_vllm_beside_the_place() -> None:
    """Where torch raised, vLLM's own innermost frame is given as well."""
    frames = (Frame("/x/vllm/worker.py", 7, "load"), Frame("/x/site-packages/torch/cuda/x.py", 9, "_lazy_init"))
    location, vllm_frame = locate(observed(*frames), RunFacts())
    assert location is not None
    assert (location.file, location.url) == ("torch/cuda/x.py", None)
    assert vllm_frame == Frame("vllm/worker.py", 7, "load")


def test_pydantic_lost_the_frame() -> None:
    """An exception that pydantic wrapped has only the wrapper's frames: the catalogue knows the place."""
    frame = Frame("/x/vllm/engine/arg_utils.py", 1, "create")
    location, _ = locate(observed(frame, wrapped="ValidationError"), RunFacts("0.8.5", "log"))
    assert location is not None
    assert (location.file, location.line, location.version, location.basis) == (FILE, 10, "0.8.5", "catalogue")


def test_the_loggers_own_place() -> None:
    """A log message carries its file and line: they are the place, in the site's file."""
    location, _ = locate(observed(logger=("scheduler.py", 21)), RunFacts("0.11.0", "log"))
    assert location is not None
    assert (location.file, location.line, location.function) == (FILE, 21, "Config.verify")
