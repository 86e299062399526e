"""What tells releases apart, read out of small made-up sources."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from triage.source.__main__ import main
from triage.source.marks import FrameMark, LogMark, Mark, MarkReader, alike, dump_marks, frame_marks, log_marks

CORE = "vllm/v1/engine/core.py"


def logged(source: str, file: str = "vllm/entrypoints/utils.py") -> list[LogMark]:
    return list(log_marks(source.encode(), file))


def passed(source: str, file: str = CORE) -> list[FrameMark]:
    return list(frame_marks(source.encode(), file))


def test_statement_is_told_by_what_its_message_begins_with() -> None:
    """The line is the statement's first, however it is written; other messages are no marks."""
    source = (
        "def f(args):\n"
        "    logger.info('non-default args: %s', args)\n"
        "    logger.info_once(\n        f'non-default args: {args}')\n"
        "    logger.info('some other message')\n"
    )
    assert logged(source) == [
        LogMark("utils.py", "non-default args: ", 2),
        LogMark("utils.py", "non-default args: ", 3),
    ]


def test_short_text_counts_in_its_own_file_only() -> None:
    """ "Engine " tells the statistics of loggers.py; anywhere else it may be anything."""
    source = "logger.info('Engine %03d: cache_config_info', 0)\n"
    assert logged(source, "vllm/v1/metrics/loggers.py") == [LogMark("loggers.py", "Engine ", 1)]
    assert logged(source, "vllm/v1/metrics/other.py") == []


def test_statement_through_a_variable_is_found() -> None:
    """Statistics are logged through a variable that holds the method, with the engine's name put before."""
    source = (
        "log_fn = logger.debug if idle else logger.info\n"
        "log_fn('Avg prompt throughput: %.1f tokens/s', 0)\n"
        "log_fn(\n    self.log_prefix + ', '.join(parts) + end, *args)\n"
        "log_level('Available plugins for group %s:', group)\n"
        "log_fn(message)\n"
    )
    assert [(mark.text, mark.line) for mark in logged(source, "vllm/v1/metrics/loggers.py")] == [
        ("Avg prompt throughput: ", 2),
        ("Engine ", 3),
        ("Available plugins for group ", 5),
    ]


def test_file_without_any_text_is_not_parsed() -> None:
    """Hundreds of files a release hold none; one that is no Python is no obstacle then."""
    assert logged("logger.info('nothing of interest'\n") == []
    with pytest.raises(SyntaxError):
        logged("logger.info('non-default args: %s'\n")


def test_function_gives_the_lines_that_a_traceback_may_show() -> None:
    """Calls, awaits, entered contexts and raises count, nested ones and methods in a chain too; logging does not."""
    source = (
        "class EngineCoreProc:\n"
        "    @staticmethod\n"
        "    def run_engine_core(*args):\n"
        "        logger.info('starting')\n"
        "        count = len(args)\n"
        "        core = (EngineCoreProc(args)\n"
        "                .run())\n"
        "        with lock:\n"
        "            raise RuntimeError('failed')\n"
    )
    assert passed(source) == [FrameMark(CORE, "run_engine_core", 3, (3, 4, 5, 6))]


def test_only_known_functions_of_known_files_are_read() -> None:
    """A function of the same name elsewhere is another one, and so is one without a call."""
    source = "def run_engine_core():\n    start()\ndef other():\n    start()\n"
    assert [mark.function for mark in passed(source)] == ["run_engine_core"]
    assert passed(source, "vllm/v1/engine/other.py") == []
    assert passed("def run_engine_core():\n    return 1\n") == []


def test_function_that_only_moved_keeps_its_calls() -> None:
    """Lines are counted from the def, so that releases share them."""
    source = "def run_engine_core():\n    start()\n"
    assert [(mark.start, mark.calls) for mark in passed("\n" * 40 + source)] == [(41, (1,))]


def test_unreadable_file_is_reported_and_the_rest_read(tmp_path: Path) -> None:
    """What cannot be parsed gives no marks, and is said."""
    folder = tmp_path / "vllm"
    folder.mkdir()
    (folder / "a.py").write_text("logger.info('non-default args: %s'\n")
    (folder / "b.py").write_text("logger.info('non-default args: %s', a)\n")
    reported: list[str] = []
    marks = MarkReader().read(tmp_path, lambda file, reason: reported.append(f"{file}: {reason.split(':')[0]}"))
    assert marks == {LogMark("b.py", "non-default args: ", 1)}
    assert reported == ["vllm/a.py: SyntaxError"]


def release(*lines: int) -> set[Mark]:
    return {LogMark("utils.py", f"text {number}", line) for number, line in enumerate(lines)}


def test_releases_that_hardly_differ_stand_together() -> None:
    """Patch releases nine tenths the same do; a next minor release does not, nor a patch release that differs more."""
    same = list(range(20))
    known = {
        "0.9.10": release(*same[:-1], 77),
        "0.9.9": release(*same),
        "0.9.11": release(*range(100, 120)),
        "0.10.0": release(*range(100, 120)),
    }
    assert alike(known) == [["0.9.9", "0.9.10"], ["0.9.11"], ["0.10.0"]]


def test_file_has_ranges_of_releases_for_each_line() -> None:
    """Ranges span releases that follow each other by version; a line that comes back has two of them."""
    body = FrameMark(CORE, "run_engine_core", 700, (4, 9))
    moved = FrameMark(CORE, "run_engine_core", 710, (4, 9))
    known: dict[str, set[Mark]] = {
        "0.10.0": {LogMark("utils.py", "args: ", 5), moved},
        "0.8.0": {LogMark("utils.py", "args: ", 5), body},
        "0.9.0": {LogMark("utils.py", "args: ", 6), LogMark("utils.py", "args: ", 60), body},
        "0.11.0": {LogMark("utils.py", "args: ", 5), moved},
    }
    assert orjson.loads(dump_marks("vllm", known)) == {
        "package": "vllm",
        "releases": [["0.8.0"], ["0.9.0"], ["0.10.0"], ["0.11.0"]],
        "marks": [
            {
                "file": "utils.py",
                "text": "args: ",
                "lines": {
                    "5": "0.8.0 0.10.0-0.11.0",
                    "6": "0.9.0",
                    "60": "0.9.0",
                },
            }
        ],
        "frames": [
            {
                "file": CORE,
                "function": "run_engine_core",
                "bodies": [{"calls": [4, 9], "starts": {"700": "0.8.0-0.9.0", "710": "0.10.0-0.11.0"}}],
            }
        ],
    }


def test_command_writes_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``marks`` reads each release, makes the folder, and says how many marks each has."""
    words = []
    for version, lead in (("0.10.0", "\n\n"), ("0.9.0", "")):
        folder = tmp_path / version / "vllm"
        folder.mkdir(parents=True)
        (folder / "utils.py").write_text(lead + "logger.info('non-default args: %s', a)\n")
        words.append(f"{version}={tmp_path / version}")
    out = tmp_path / "releases" / "vllm.json"
    assert main(["marks", "--out", str(out), *words]) == 0
    written = orjson.loads(out.read_bytes())
    assert written["releases"] == [["0.9.0"], ["0.10.0"]]
    assert written["marks"][0]["lines"] == {"1": "0.9.0", "3": "0.10.0"}
    assert capsys.readouterr().out == "0.9.0: 1 marks\n0.10.0: 1 marks\n"
