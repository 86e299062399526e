"""Text for a person: screens, wrapping, commands, and what is said when there is no cause."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from unittest import mock

import pytest
from report_examples import (
    EMPTY,
    EXAMPLES,
    HEALTHY,
    MANY_FIXES,
    SEED,
    SEED_ALL,
    SEED_REPORT,
    SEED_RUN,
    SEVERAL_CAUSES,
    UNKNOWN,
)
from rich.cells import cell_len

from triage.model import Fix, InputFacts
from triage.render import Options, render

_ANSI = re.compile(r"\x1b\[[\d;]*m")


def _text(report, **options):
    return render(report, "text", Options(**options))


def test_the_first_line_is_the_cause_with_the_numbers_and_the_last_the_tally():
    """A reader who sees one line sees the cause; the last line counts what was found."""
    lines = _text(SEED_REPORT).splitlines()
    assert lines[0].startswith("error: --max-num-batched-tokens (64) is lower than --max-num-seqs (256)")
    assert lines[0].endswith("[batched-tokens-below-num-seqs]")
    assert lines[-1] == "1 root cause, 2 fixes; 3 other errors follow from it (--all shows them)"


@pytest.mark.parametrize("width", [None, 40, 60, 100, 200])
def test_commands_are_whole_in_column_0_between_blank_lines(width):
    """Each command is one line of its own, whatever the width, so that a triple click copies it."""
    lines = _text(SEED_REPORT, width=width).splitlines()
    for fix in SEED.fixes:
        for command in fix.commands:
            at = lines.index(command)
            assert lines[at - 1] == lines[at + 1] == ""


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"hostile"}))
@pytest.mark.parametrize("width", [60, 80, 200])
def test_prose_stays_within_the_width(name, width):
    """No line is wider than the terminal but commands, one-line findings and single long words."""
    report = EXAMPLES[name]
    commands = {c for f in report.findings for fix in f.fixes for c in fix.commands}
    for line in _text(report, width=width).splitlines():
        if line in commands or re.match(r"\S+:\d+: ", line):
            continue
        assert cell_len(line) <= width, line


def test_nothing_is_wrapped_in_a_pipe():
    """Without a width, the explanation is one line, however long."""
    assert f"why    {SEED.cause}\n" in _text(SEED_REPORT)


def test_prose_is_not_set_wider_than_it_can_be_read():
    """On a terminal of 200 columns, the explanation still breaks at 100."""
    why = next(line for line in _text(SEED_REPORT, width=200).splitlines() if line.startswith("why"))
    assert len(why) <= 100


@pytest.mark.parametrize("name", sorted(set(EXAMPLES) - {"hostile"}))
def test_one_screen_a_cause(name):
    """A cause takes about 25 lines in a pipe and on a usual terminal, several share a screen and a half."""
    for width in (None, 100):
        lines = _text(EXAMPLES[name], width=width).splitlines()
        roots = sum(f.role == "root_cause" for f in EXAMPLES[name].findings)
        assert len(lines) <= (32 if roots < 2 else 60)


def test_colour_changes_nothing_but_colour():
    """With the escapes taken out, coloured text is the plain text."""
    coloured = _text(SEVERAL_CAUSES, color=True, width=100)
    assert "\x1b[" in coloured
    assert _ANSI.sub("", coloured) == _text(SEVERAL_CAUSES, width=100)


def test_the_environment_does_not_decide_on_colour():
    """The caller has decided: neither NO_COLOR, FORCE_COLOR, TERM nor COLUMNS change the output."""
    plain, coloured = _text(SEED_REPORT, width=80), _text(SEED_REPORT, width=80, color=True)
    for variables in ({"NO_COLOR": "1"}, {"FORCE_COLOR": "1"}, {"TERM": "dumb"}, {"COLUMNS": "20"}):
        with mock.patch.dict(os.environ, variables):
            assert _text(SEED_REPORT, width=80) == plain
            assert _text(SEED_REPORT, width=80, color=True) == coloured


def test_markup_and_emoji_codes_of_the_log_are_text():
    """What rich would read as markup or an emoji stands as it is in the log."""
    line = "[type=value_error, x] [/workspace/x] [scheduler.py:310] :fire: [red]"
    report = replace(SEED_REPORT, findings=(replace(SEED, evidence=(line,), title=line),))
    assert _text(report, color=True, width=200).count(line) == 2


def test_only_three_causes_are_in_full_and_the_fourth_in_one_line():
    """A further root cause is a line; with show_all it is in full."""
    text = _text(SEVERAL_CAUSES)
    assert text.count("  --> ") == 3
    assert "stdin:610: error: a fourth failure [fourth-failure]" in text
    assert _text(SEVERAL_CAUSES, show_all=True).count("  --> ") == 4


def test_a_fix_left_short_says_how_to_see_it():
    """Fixes without room keep a line with their change, and the reader is told of --all."""
    text = _text(MANY_FIXES, width=100)
    assert "fix 3  keep the cache in 8 bits: --kv-cache-dtype fp8" in text
    assert "(--all shows fixes 2, 3, 4 in full)" in text
    full = _text(MANY_FIXES, width=100, show_all=True)
    assert "--all shows fix" not in full
    assert "vllm serve meta-llama/Llama-3.1-8B-Instruct --kv-cache-dtype fp8" in full.splitlines()


def test_a_guess_is_called_one():
    """A similar message names its record as a guess in the label and the note."""
    text = _text(SEVERAL_CAUSES)
    assert "error (guess): GPU 3 ran out of memory" in text
    assert "a guess: the log's message is like this record's, not the same" in text


def test_a_cut_message_is_called_one():
    """A message cut short is said to be."""
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, confidence="truncated"),)))
    assert "the message is cut short in the log" in text


def test_an_unknown_error_is_shown_raw_with_neighbours_and_where_to_report():
    """No record: said plainly, the whole message, at most three near entries, the frame inside vLLM."""
    finding = replace(UNKNOWN.findings[0], near=("a-one", "b-two", "c-three", "d-four"))
    text = _text(replace(UNKNOWN, findings=(finding,)))
    assert "no record knows this message, so no cause is named" in text
    assert "For debugging consider passing CUDA_LAUNCH_BLOCKING=1" in text
    assert "reached from vllm/v1/worker/gpu_model_runner.py:2345" in text
    assert "c-three" in text
    assert "d-four" not in text
    assert "report " in text
    assert "vLLM release unknown" in text


def test_a_healthy_log_is_one_line():
    """Healthy: the lines read, and nothing more."""
    assert _text(replace(HEALTHY, hidden={})) == "no failure found in 120 lines\n"
    assert _text(replace(HEALTHY, hidden={}, input=InputFacts(lines=1))) == "no failure found in 1 line\n"


def test_an_empty_input_is_not_healthy():
    """Nothing read: said so, with what is needed."""
    assert _text(EMPTY).splitlines()[0] == "not enough evidence: the input is empty"
    assert "needs  the log itself" in _text(EMPTY)


def test_other_findings_are_a_line_each_with_why():
    """With --all, consequences and warnings follow in a line each, with how they came to be that."""
    lines = _text(SEED_ALL).splitlines()
    assert (
        "consequence: stdin:203  The engine core did not start  [engine-core-init-failed]  "
        "(seen 2 times; the exception of EngineCore at line 87 explains it)" in lines
    )
    assert any(line.startswith("warning: stdin:4  VLLM_FOO") for line in lines)


def test_a_command_that_a_terminal_would_act_on_is_withheld_and_said_to_be():
    """A control character in a command is a defect of its quoting: the command is not printed."""
    fix = Fix("x", commands=("echo \x1b]0;t\x07", "echo fine"))
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),)))
    assert "echo \\x1b" not in text
    assert "missing: 1 command withheld" in text
    assert "\n\necho fine\n\n" in text


def test_a_fix_that_is_not_worked_out_says_what_is_missing():
    """Steps and missing facts stand under a fix without a command."""
    fix = Fix("x", steps=("do this",), missing=("the model's name",), safety="needs_judgement", estimate=True)
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),)))
    assert "       - do this\n" in text
    assert "       missing: the model's name\n" in text
    assert "[needs judgement, estimate]" in text


def test_a_wrapped_message_is_quoted_over_its_lines():
    """Where the input wrapped the message, the lines that hold it stand behind one number."""
    finding = replace(
        SEED, evidence=("max_num_batched_tokens (64) must be gre", "ater than or equal to max_num_seqs (256).")
    )
    lines = _text(replace(SEED_REPORT, findings=(finding,))).splitlines()
    assert "87 | max_num_batched_tokens (64) must be gre" in lines
    assert "   | ater than or equal to max_num_seqs (256)." in lines


def test_context_shows_the_lines_around_and_numbers_the_quoted_one():
    """With a context, the number stands at the line of the message, not at the first one shown."""
    around = ("before", f"ValueError: {SEED.message}", "after", "later")
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, evidence=around),)), context=2)
    assert f"   | before\n87 | ValueError: {SEED.message}\n   | after\n   | later\n" in text


def test_a_failure_printed_by_several_processes_at_once_is_not_counted():
    """A count is news only where the failure came again."""
    once = replace(SEED, count=3, first_time="11-30 14:00:07", last_time="11-30 14:00:07")
    again = replace(once, last_time="11-30 15:00:00")
    assert "seen" not in _text(replace(SEED_REPORT, findings=(once,)))
    assert "seen 3 times (11-30 14:00:07 to 11-30 15:00:00)" in _text(replace(SEED_REPORT, findings=(again,)))


def test_a_change_that_is_the_command_is_printed_once():
    """Where the command is the bare change, it is not named a second time above it."""
    fix = Fix("let vLLM choose", set={"--max-model-len": "auto"}, commands=("--max-model-len auto",))
    assert _text(replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),))).count("--max-model-len auto") == 1


def test_a_long_line_is_quoted_around_its_message():
    """Of a line of thousands of characters, the part with the message is shown, not its start."""
    line = "x=1, " * 2000 + "ValueError: " + SEED.message
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, evidence=(line,)),)))
    assert f"87 | [...] ValueError: {SEED.message}\n" in text


def test_limits_that_were_hit_are_reported():
    """A bound that was hit is named before the tally."""
    assert "limit  line 17 is longer than 1 MiB" in _text(MANY_FIXES)


def test_a_check_does_not_look_like_a_repair():
    """A check stands behind its label on one line, whether to run or to look for; column 0 is for what repairs."""
    check = "curl -fsS http://localhost:8000/health --retry 30 --retry-delay 5 --retry-connrefused"
    fixes = (
        Fix("a", commands=("repair",), verify=check),
        Fix("b", verify="the log reaches `Application startup complete`"),
    )
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=fixes),))
    for width in (None, 60):
        lines = _text(report, width=width).splitlines()
        assert f"       then check: {check}" in lines
        assert "repair" in lines
    assert "       then check: the log reaches `Application startup complete`" in _text(report).splitlines()
    assert f"       then check: {check}\n" in _text(report, color=True)


def test_the_safety_tag_stands_right_behind_the_title():
    """Two blanks behind the title on every width, on a line of its own only where it does not fit."""
    fix = Fix("do it", safety="safe")
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),))
    for width in (None, 40, 80, 200):
        assert "fix 1  do it  [safe]\n" in _text(report, width=width)
    long = replace(SEED, fixes=(replace(fix, title="word " * 6 + "end"),))
    assert "       [safe]\n" in _text(replace(SEED_REPORT, findings=(long,)), width=40)


def test_a_compose_service_is_no_pod():
    """The word pod is for Kubernetes; a service's name stands behind `in`."""
    finding = replace(SEED, pod="llm-1")
    for deployment, said in ((None, "in llm-1"), ("compose", "in llm-1"), ("kubernetes", "pod llm-1")):
        text = _text(replace(SEED_REPORT, findings=(finding,), runs=(replace(SEED_RUN, deployment=deployment),)))
        assert f"APIServer pid 214 {said}   vLLM 0.33.0" in text


def test_starts_are_counted_for_each_log_and_pod():
    """Two files with a start each are no restart; the second start of the same log is."""
    runs = [replace(SEED_RUN, source=source, pod=pod) for source, pod in (("a", None), ("b", "x"), ("b", "y"))]
    for run in range(3):
        text = _text(replace(SEED_REPORT, findings=(replace(SEED, run=run),), runs=tuple(runs)))
        assert not re.search(r"start \d of", text)
    again = (*runs, replace(runs[1]))
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, run=3),), runs=again))
    assert "   start 2 of 2\n" in text


def test_an_unknown_release_names_the_option_that_says_it():
    """The mend stands where the lack is told."""
    run = replace(SEED_RUN, vllm_version=None)
    assert "vLLM release unknown (--vllm-version V)" in _text(replace(SEED_REPORT, runs=(run,)))


def test_a_long_path_is_cut_in_its_middle():
    """On a narrow terminal the file's beginning and its end with the line stay; in a pipe all of it does."""
    path = "/var/log/pods/ml-serving_vllm-qwen3-0_5c1b2d3e/vllm/previous/container-0.log"
    report = replace(SEED_REPORT, findings=(replace(SEED, source=path),))
    line = next(line for line in _text(report, width=60).splitlines() if "-->" in line)
    assert cell_len(line) <= 60
    assert line.startswith("  --> /var/log/pods/")
    assert line.endswith("/container-0.log:87")
    assert f"--> {path}:87" in _text(report)


def test_a_cut_list_of_values_leaves_no_quote_open():
    """A title or step too long is cut between its values."""
    values = ", ".join(f"'value-{n}'" for n in range(100))
    for fix in (Fix(f"choose one of {values}"), Fix("x", steps=(f"choose one of {values}",))):
        text = _text(replace(SEED_REPORT, findings=(replace(SEED, fixes=(fix,)),)))
        line = next(line for line in text.splitlines() if "choose one of" in line)
        assert re.search(r"'value-\d+' \[\.\.\. \d+ more characters\]", line)
        assert line.count("'") % 2 == 0


def test_a_report_keeps_to_45_lines():
    """Commands of pods take a line an item; what comes behind them is folded rather than the report longer."""
    command = "args:\n" + "\n".join(f"  - --flag-{n}" for n in range(12))
    fixes = tuple(Fix(f"way {n}", commands=(command,), steps=("a", "b"), verify="c") for n in range(4))
    report = replace(SEED_REPORT, findings=(replace(SEED, fixes=fixes),) * 4)
    assert len(_text(report).splitlines()) <= 45
    assert len(_text(SEVERAL_CAUSES).splitlines()) <= 45


def test_the_number_stands_at_the_error_not_at_the_code_that_raises_it():
    """A traceback shows its code, with the message in quotes, above the error; the line's number is the error's."""
    evidence = (f'    raise ValueError("{SEED.message}")', f"ValueError: {SEED.message}", "after")
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, evidence=evidence),)), context=1)
    assert f'   | raise ValueError("{SEED.message}")\n87 | ValueError: {SEED.message}\n   | after\n' in text


def test_the_number_stands_at_a_relayed_message():
    """An error that quotes the message in quotes of its own is the line meant."""
    evidence = ("    raise RuntimeError(", f"RuntimeError: Worker failed with error '{SEED.message}'")
    text = _text(replace(SEED_REPORT, findings=(replace(SEED, evidence=evidence),)), context=1)
    assert "87 | RuntimeError: Worker failed" in text


def test_a_wrapped_quote_is_not_coloured_like_its_gutter():
    """Only the gutter has the accent; the quoted text goes on plain."""
    lines = _text(SEED_REPORT, color=True, width=60).splitlines()
    assert "\x1b[34m   | \x1b[0mgreater than or equal to max_num_seqs (256)." in lines


@pytest.mark.parametrize(
    ("changes", "trackers"),
    [
        ({}, ["pytorch/pytorch", "vllm-project/vllm"]),
        ({"vllm_frame": None}, ["pytorch/pytorch"]),
        ({"vllm_frame": None, "location": None}, ["pytorch/pytorch"]),  # torch.AcceleratorError
        ({"vllm_frame": None, "location": None, "exception_class": "RuntimeError"}, []),
        ({"vllm_frame": None, "location": None, "exception_class": "acme.QuotaError"}, []),
    ],
)
def test_an_unknown_error_is_asked_about_where_its_package_is_kept(changes, trackers):
    """The package that raised it, and vLLM where that called it; none where nothing tells the package."""
    finding = replace(UNKNOWN.findings[0], **changes)
    text = render(replace(UNKNOWN, findings=(finding,)), "text")
    line = next(line for line in text.splitlines() if line.startswith("report "))
    assert re.findall(r"https://github.com/([\w.-]+/[\w.-]+)/issues", line) == trackers
    assert "vllm-triage --format markdown" in line
