"""The command: inputs, formats, exit codes, and never a traceback."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

import triage
from triage.cli import SUBCOMMANDS

SEED = "ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (256).\n"
SLUG = "batched-tokens-below-num-seqs"
COMMAND = [sys.executable, "-m", "triage"]
SEEDS = Path(__file__).parent.parent / "data" / "seeds"


def run(
    *words: str, text: str | bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run(
        [*COMMAND, *words],
        input=data,
        capture_output=True,
        timeout=60,
        cwd=cwd,
        env={**os.environ, **(env or {})},
        check=False,
    )
    assert b"Traceback (most recent call last)" not in done.stderr, done.stderr.decode()
    return done


def out(*words: str, text: str | bytes = b"", **more: Path) -> str:
    done = run(*words, text=text, cwd=more.get("cwd"))
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


def test_log_on_standard_input() -> None:
    """A pipe in, the report out, status 0."""
    text = out(text=SEED)
    assert text.startswith(f"error: --max-num-batched-tokens (64) is lower than --max-num-seqs (256)   [{SLUG}]\n")
    assert text.rstrip().splitlines()[-1].startswith("1 root cause, 3 fixes")


def test_files_and_a_dash(tmp_path: Path) -> None:
    """Several inputs are read in turn; - is standard input."""
    (tmp_path / "a.log").write_text("hello\n")
    report = json.loads(out("--format", "json", str(tmp_path / "a.log"), "-", text=SEED))
    assert report["input"]["sources"] == [str(tmp_path / "a.log"), "stdin"]
    assert (report["findings"][0]["source"], report["findings"][0]["line"]) == ("stdin", 1)


def test_works_from_any_folder(tmp_path: Path) -> None:
    """The catalogue comes with the package."""
    assert SLUG in out(text=SEED, cwd=tmp_path)


@pytest.mark.parametrize("format", ["text", "concise", "json", "jsonl", "markdown", "html", "github"])
def test_every_format(format: str) -> None:
    """Each form names the cause and both numbers."""
    text = out("--format", format, text=SEED)
    assert SLUG in text
    assert "64" in text
    assert "256" in text
    if format == "json":
        jsonschema.validate(json.loads(text), triage.report_schema())
    if format == "jsonl":
        lines = [json.loads(line) for line in text.splitlines()]
        assert [line["type"] for line in lines] == ["finding", "end"]
        assert lines[1]["status"] == "cause_found"


def test_several_formats_each_to_its_place(tmp_path: Path) -> None:
    """--format FORMAT:FILE may stand several times; -o names the file of the one that has none."""
    words = ["--format", f"markdown:{tmp_path}/s.md", "--format", f"jsonl:{tmp_path}/s.jsonl", "--format", "json"]
    assert out(*words, "-o", f"{tmp_path}/s.json", text=SEED) == ""
    assert SLUG in (tmp_path / "s.md").read_text()
    assert len((tmp_path / "s.jsonl").read_text().splitlines()) == 2
    assert json.loads((tmp_path / "s.json").read_text())["status"] == "cause_found"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (SEED, 1),
        ("acme.BrokenError: no\n", 3),
        ("INFO:     Application startup complete.\n", 0),
        ("", 3),
        ("RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}\n", 3),
    ],
)
def test_exit_code_on_request(text: str, code: int) -> None:
    """--exit-code tells the status; without it a report that was printed is a success."""
    assert run("--exit-code", text=text).returncode == code
    assert run(text=text).returncode == 0


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["nope.log"], "nope.log does not exist"),
        (["--format", "pdf"], "no such format: pdf"),
        (["--bogus"], "unrecognized arguments: --bogus"),
        (["--vllm-version", "latest"], "is no release of vLLM"),
        (["--context", "many"], "is no number of lines"),
        (["--ignore", "nope"], "no cause is called nope"),
        (["--patterns", "/no/such/folder"], "/no/such/folder"),
        (["-o", "/no/such/folder/x"], "cannot be written"),
        (["--format", "text", "--format", "json"], "two formats would go to standard output"),
        (["explain", "no such thing at all"], "no record is called"),
        (["explain", "batched-tokens-below-seqs"], "near it: batched-tokens-below-num-seqs"),
        (["list", "--area", "nope"], "there is no area nope"),
        (["list", "--tag", "nope"], "no record has the tag nope"),
        (["--format", "pdf", "explain", SLUG], "invalid choice: 'pdf'"),
        (["explain"], "the following arguments are required"),
        (["lint", "/no/such/folder"], "is no folder"),
        (["lint", ""], "the name of the folder is empty"),
        (["--patterns", ""], "the name of the folder is empty"),
        (["explain", "--patterns", "", SLUG], "the name of the folder is empty"),
    ],
)
def test_what_cannot_be_done_says_so(words: Sequence[str], part: str) -> None:
    """Bad usage: status 2, nothing on standard output, one clear line and a hint on standard error."""
    done = run(*words, text=SEED)
    lines = done.stderr.decode().splitlines()
    assert (done.returncode, done.stdout) == (2, b"")
    assert len(lines) == 2
    assert lines[0].startswith("vllm-triage: error: ")
    assert part in lines[0]
    assert lines[1].startswith("  hint: ")


def test_one_unreadable_file_among_several(tmp_path: Path) -> None:
    """It is reported, the rest is read, and the status is 2 at the end."""
    (tmp_path / "a.log").write_text(SEED)
    done = run(str(tmp_path / "a.log"), "nope.log")
    assert done.returncode == 2
    assert SLUG in done.stdout.decode()
    assert "nope.log does not exist" in done.stderr.decode()


@pytest.mark.parametrize("name", ["broken.json", "wrong.json", "list.json"])
def test_broken_record_names_file_and_mend(tmp_path: Path, name: str) -> None:
    """A record that cannot be read stops the command; lint says the same of it, and exits with 1."""
    texts = {"broken.json": '{"slug": ', "wrong.json": '{"slug": "x", "errorMessage": 5}', "list.json": "[1]"}
    (tmp_path / name).write_text(texts[name])
    done = run("--patterns", str(tmp_path), text=SEED)
    assert (done.returncode, done.stdout) == (2, b"")
    assert name in done.stderr.decode()
    assert "hint: " in done.stderr.decode()
    checked = run("lint", str(tmp_path))
    assert checked.returncode == 1
    assert name in checked.stdout.decode()


@pytest.mark.parametrize(
    "data", [bytes(range(256)) * 50, b"\x00" * 5000, b"\xff\xfe" + SEED.encode("utf-16-le"), b"x" * 400_000]
)
def test_binary_input_is_no_crash(data: bytes) -> None:
    """Whatever bytes come, there is a report."""
    report = json.loads(out("--format", "json", text=data))
    assert report["input"]["bytes"] > 0


def test_powershell_redirect_is_read() -> None:
    """UTF-16 with a byte order mark, as PowerShell writes it."""
    assert SLUG in out(text=b"\xff\xfe" + SEED.replace("\n", "\r\n").encode("utf-16-le"))


def test_seed_records_work_as_they_are(tmp_path: Path) -> None:
    """A downloaded record and a rendered page, dropped into a folder, win over the bundled ones and keep their fixes."""
    for seed in SEEDS.iterdir():
        (tmp_path / seed.name).write_bytes(seed.read_bytes())
    report = json.loads(out("--patterns", str(tmp_path), "--format", "json", text=SEED))
    (finding,) = report["findings"]
    assert finding["record"]["id"] == "3ca77c0599b73dfa"
    assert finding["captures"] == {"max_num_batched_tokens": 64, "max_num_seqs": 256}
    assert finding["fixes"][0]["set"] == {"--max-num-batched-tokens": 2048}
    text = out("explain", "--patterns", str(tmp_path), "f5eb2fb0db7e5cea")
    assert "_set_max_num_scheduled_tokens" in text
    assert run("lint", str(tmp_path)).returncode == 0


@pytest.mark.parametrize("query", [SLUG, "3ca77c0599b73dfa", SEED.strip()])
def test_explain_finds_by_slug_id_and_message(query: str) -> None:
    """The whole record, as text, JSON and page."""
    assert "max_num_seqs" in out("explain", query)
    assert json.loads(out("explain", query, "--format", "json"))["triage"]["slug"] == SLUG
    assert "What it means" in out("explain", query, "--format", "page")


def test_search_and_list() -> None:
    """Records are found by words, area and tag."""
    assert any(line.startswith(SLUG) for line in out("search", "batched tokens sequences").splitlines()[:2])
    rows = json.loads(out("list", "--area", "scheduler", "--format", "json"))
    assert SLUG in {row["slug"] for row in rows}
    assert {row["area"] for row in rows} == {"scheduler"}
    assert SLUG in out("list", "--tag", rows[0]["tags"][0]) or rows[0]["slug"] in out(
        "list", "--tag", rows[0]["tags"][0]
    )


def test_file_named_like_a_subcommand(tmp_path: Path) -> None:
    """./explain is a file."""
    (tmp_path / "explain").write_text(SEED)
    assert SLUG in out("./explain", cwd=tmp_path)


def test_no_colour_in_a_pipe_colour_on_request() -> None:
    """Escape sequences come only when asked for, or on a terminal."""
    assert "\x1b" not in out(text=SEED)
    assert "\x1b[" in out("--color", "always", text=SEED)


def test_closed_pipe_ends_quietly(tmp_path: Path) -> None:
    """Whoever reads us may stop reading."""
    (tmp_path / "x.log").write_text(SEED)
    script = f"{' '.join(COMMAND)} --format json {tmp_path}/x.log | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=True)
    assert done.stderr == b""


def test_ctrl_c_reports_what_was_read() -> None:
    """Ctrl-C ends the input, not the report; the status is 130."""
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(SEED.encode())
    process.stdin.flush()
    time.sleep(4)  # started and waiting for more
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=30)
    assert (process.returncode, stderr) == (130, b"")
    assert SLUG in stdout.decode()


def test_follow_reports_while_the_log_goes_on() -> None:
    """With --follow a finding is printed before the input ends."""
    process = subprocess.Popen(
        [*COMMAND, "--follow", "--format", "jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{SEED}INFO:     Shutting down\nINFO:     bye\n".encode())
    process.stdin.flush()
    first = json.loads(process.stdout.readline())
    assert (first["type"], first["record"]["slug"]) == ("finding", SLUG)
    process.stdin.close()
    assert json.loads(process.stdout.readline())["type"] == "end"
    assert process.wait(timeout=30) == 0


def test_terminal_on_standard_input_says_that_it_waits() -> None:
    """Started by hand without a file, it says that it waits for a paste and how to end it."""
    pty = pytest.importorskip("pty")  # Windows has none
    main, side = pty.openpty()
    process = subprocess.Popen(COMMAND, stdin=side, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(side)
    assert process.stderr is not None
    hint = process.stderr.readline().decode()
    assert "paste" in hint
    assert "Ctrl-D" in hint
    os.write(main, SEED.encode() + b"\x04")
    stdout, _ = process.communicate(timeout=30)
    os.close(main)
    assert SLUG in stdout.decode()


def test_lint_counts_and_refuses_an_empty_folder(tmp_path: Path) -> None:
    """One error is 1 error; a folder without records is an error, not a folder without problems."""
    done = run("lint", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, b"")
    assert "no records found" in done.stderr.decode()
    (tmp_path / "a.json").write_text("[1]")
    assert run("lint", str(tmp_path)).stdout.decode().splitlines()[-1] == "1 error"
    (tmp_path / "b.json").write_text("[1]")
    assert run("lint", str(tmp_path)).stdout.decode().splitlines()[-1] == "2 errors"


def test_explain_takes_the_words_of_a_message() -> None:
    """The beginning of a well-known message is enough."""
    assert out("explain", "CUDA out of memory").startswith("cuda-out-of-memory  (severity error, ")


def test_help_names_each_subcommand() -> None:
    """Each of them has a line in the main help."""
    text = out("--help")
    for name in SUBCOMMANDS:
        assert re.search(rf"^  vllm-triage {name} .*  \S", text, re.MULTILINE), name


@pytest.mark.parametrize("before", [["--format", "json"], ["--format=json"], ["--form", "json"]])
def test_options_may_stand_before_a_subcommand(before: list[str], tmp_path: Path) -> None:
    """Options of a subcommand may stand before its name; a word that is an option's value is no subcommand."""
    assert json.loads(out(*before, "explain", SLUG))["triage"]["slug"] == SLUG
    (tmp_path / "record.json").write_text('{"id": "x", "slug": "acme", "errorMessage": "acme {n} failed"}')
    assert out("--patterns", str(tmp_path), "explain", "acme").startswith("acme ")
    assert SLUG in out("-o", "list", text=SEED, cwd=tmp_path) + (tmp_path / "list").read_text()


def test_options_with_a_value_are_known_before_a_subcommand() -> None:
    """What the options of the report take as a value is kept apart from subcommands."""
    from triage.cli import WITH_VALUE
    from triage.cli.report import _parser

    named = [action for action in _parser()._actions if action.option_strings and action.nargs is None]
    assert set(WITH_VALUE) == {name for action in named for name in action.option_strings}


def test_list_says_which_areas_and_tags_there_are() -> None:
    """The list ends with how to narrow it, --areas and --tags count; an unknown area is told the known ones."""
    assert re.fullmatch(r"\d+ records; --area AREA .*--areas and --tags.*", out("list").splitlines()[-1])
    areas = json.loads(out("list", "--areas", "--format", "json"))
    tags = json.loads(out("list", "--tags", "--format", "json"))
    assert areas["scheduler"] == len(json.loads(out("list", "--area", "scheduler", "--format", "json")))
    assert tags["port"] == len(json.loads(out("list", "--tag", "port", "--format", "json")))
    assert f"memory       {areas['memory']} records\n" in out("list", "--areas")
    assert "scheduler" in run("list", "--area", "nope").stderr.decode()


def test_a_step_summary_is_added_to(tmp_path: Path) -> None:
    """The file that GitHub collects the steps' summaries in keeps what is there; any other one is written anew."""
    summary, other = tmp_path / "summary.md", tmp_path / "other.md"
    for file in (summary, other):
        file.write_text("# built\n")
    words = ["--format", f"markdown:{summary}", "--format", f"html:{other}"]
    assert run(*words, text=SEED, env={"GITHUB_STEP_SUMMARY": str(summary)}).returncode == 0
    assert summary.read_text().startswith("# built\n## error: ")
    assert other.read_text().startswith("<!doctype html>")


def test_each_of_several_files_has_a_line(tmp_path: Path) -> None:
    """A folder of logs: what was found in which, those with findings first; a single log has no such line."""
    for name, text in (("a.log", "hello\n"), ("b.log", SEED), ("c.log", SEED), ("d.log", "")):
        (tmp_path / name).write_text(text)
    lines = out(str(tmp_path), cwd=tmp_path).splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("files  "))
    assert [line[7:] for line in lines[at : at + 4]] == [
        f"{tmp_path}/b.log: 1 line, {SLUG}",
        f"{tmp_path}/c.log: 1 line, {SLUG}",
        f"{tmp_path}/a.log: 1 line, nothing found",
        f"{tmp_path}/d.log: 0 lines, nothing found",
    ]
    files = json.loads(out("--format", "json", str(tmp_path)))["input"]["files"]
    assert [(Path(file["source"]).name, file["causes"]) for file in files] == [
        ("a.log", []), ("b.log", [SLUG]), ("c.log", [SLUG]), ("d.log", [])
    ]  # fmt: skip
    assert "**Files**" in out("--format", "markdown", str(tmp_path))
    assert "files  " not in out(str(tmp_path / "b.log"))
