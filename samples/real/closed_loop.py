#!/usr/bin/env python3
"""Close the loop with a real vLLM: triage a log, run the first fix as it is printed, see whether vLLM starts.

    python samples/real/closed_loop.py ENV --model DIR FOLDER...

ENV is a virtual environment with the vLLM release that FOLDER's log comes from. DIR is a small model folder: a
config.json and a tokenizer are enough, since the logs were made with ``--load-format dummy``. A fix passes when its
command brings a server to ``Application startup complete`` and the server answers a completion request; where the
log is of ``LLM(...)``, when the object generates text. ``--until TEXT`` takes a line with TEXT in it as enough, for a
machine on which that release cannot run its kernels: then a fix passes when its configuration is accepted.

One server runs at a time, and its whole process group is stopped afterwards. Nothing here belongs to the test run: a
start takes from half a minute to two minutes on a CPU.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import NamedTuple

LOGGED_MODEL = "/models/tiny"
"""What stands in the logs of this folder for the model folder of the machine they were made on."""
STARTED = "Application startup complete"
GENERATED = "the fixed LLM generated:"
PYTHON_IDIOM = re.compile(r"^(?:\w+ = )?LLM\(")
SETTINGS = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


class Outcome(NamedTuple):
    """What became of one fix: whether it passed, what was seen, after how many seconds."""

    passed: bool
    seen: str
    seconds: float


def first_fix(log: Path, triage: str) -> tuple[str, str, str]:
    """Ask the command for its report.

    Args:
        log: the failing log.
        triage: the program to run.

    Returns:
        The root cause's message, the first fix's title and its first command.

    Raises:
        SystemExit: the report names no cause, or its first fix has no command.
    """
    report = json.loads(subprocess.run([triage, "--format", "json", str(log)], check=True, capture_output=True).stdout)
    if report["status"] != "cause_found":
        sys.exit(f"{log}: status {report['status']}, no fix to try")
    finding = report["findings"][0]
    if not finding["fixes"] or not finding["fixes"][0]["commands"]:
        sys.exit(f"{log}: the first fix of {finding['record']['slug']} has no command")
    fix = finding["fixes"][0]
    return finding["message"], fix["title"], fix["commands"][0]


def as_run(printed: str, model: str, folder: Path) -> str:
    """Turn a printed fix into the shell command to run.

    Args:
        printed: the command of the fix; a call of ``LLM(...)`` becomes a script that also generates.
        model: what stands for the log's model folder.
        folder: where the script may be put; engine processes import it again, so it cannot come from standard input.
    """
    command = printed.replace(LOGGED_MODEL, model)
    if not PYTHON_IDIOM.match(command):
        return command
    call = PYTHON_IDIOM.sub("llm = LLM(", command).replace("\n", "\n    ")
    script = folder / "fix.py"
    script.write_text(
        "from vllm import LLM, SamplingParams\n\n"
        'if __name__ == "__main__":\n'
        f"    {call}\n"
        "    outputs = llm.generate(['Hello'], SamplingParams(max_tokens=4))\n"
        f"    print('{GENERATED}', outputs[0].outputs[0].text)\n"
    )
    return f"python {script}"


def answers(command: str) -> bool:
    """Send one completion request to the server that the command started; true when it is served."""
    found = re.search(r"--port[ =](\d+)", command)
    base = f"http://127.0.0.1:{found[1] if found else 8000}"
    try:
        with urllib.request.urlopen(f"{base}/v1/models", timeout=10) as reply:
            name = json.load(reply)["data"][0]["id"]
        body = json.dumps({"model": name, "prompt": "Hello", "max_tokens": 4}).encode()
        request = urllib.request.Request(f"{base}/v1/completions", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=120) as reply:
            return bool(json.load(reply)["choices"])
    except (urllib.error.URLError, TimeoutError):
        return False


def attempt(
    printed: str, environment: Path, model: str, variables: dict[str, str], cause: str, until: str | None, limit: float
) -> Outcome:
    """Run a fix and watch its output.

    Args:
        printed: the command of the fix.
        environment: the virtual environment whose programs come first.
        model: the model folder.
        variables: environment variables that the failing start had.
        cause: the message that must not be seen again.
        until: text that is enough to pass; None asks for a server that answers, or for generated text.
        limit: seconds to wait.
    """
    settings = {**os.environ, **SETTINGS, **variables, "PATH": f"{environment / 'bin'}:{os.environ['PATH']}"}
    wanted = until or (GENERATED if PYTHON_IDIOM.match(printed) else STARTED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        output = folder / "output"
        command = as_run(printed, model, folder)
        begun = time.monotonic()
        with output.open("wb") as sink:
            process = subprocess.Popen(
                ["bash", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=settings,
                cwd=folder,
                start_new_session=True,
            )
        try:
            seen = watch(process, output, wanted, cause, begun + limit)
            seconds = time.monotonic() - begun
            passed = seen == wanted
            if passed and wanted == STARTED:
                passed = answers(command)
                seen += ", a request served" if passed else ", but a request was refused"
            return Outcome(passed, seen or f"nothing after {limit:.0f} s", seconds)
        finally:
            stop(process)


def watch(process: subprocess.Popen[bytes], output: Path, wanted: str, cause: str, deadline: float) -> str:
    """Wait until the output decides: give the wanted text, or what came instead; empty when the time is over."""
    flat_cause = " ".join(cause.split())
    while time.monotonic() < deadline:
        ended = process.poll() is not None
        text = output.read_text(errors="replace")
        if flat_cause in " ".join(text.split()):
            return "the same error again"
        if wanted in text:
            return wanted
        if ended:
            lines = [line for line in text.splitlines() if line.strip()]
            return "ended: " + (lines[-1][:160] if lines else "no output")
        time.sleep(0.5)
    return ""


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process and its whole group: interrupt first, then kill."""
    for number, patience in ((signal.SIGINT, 20.0), (signal.SIGKILL, 5.0)):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            return
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue


def main() -> int:
    """Run the loop over the folders given; 0 when every fix passed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("environment", type=Path, help="virtual environment with vLLM")
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER", help="sample folder with an input.log")
    parser.add_argument("--model", required=True, help=f"model folder that stands for {LOGGED_MODEL}")
    parser.add_argument(
        "--triage", default=str(Path(sys.executable).with_name("vllm-triage")), help="the vllm-triage to ask"
    )
    parser.add_argument("--until", help="text in the output that is enough")
    parser.add_argument(
        "--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of the failed start"
    )
    parser.add_argument("--limit", type=float, default=600.0, help="seconds to wait for a start (default 600)")
    options = parser.parse_args()
    variables = dict(given.split("=", 1) for given in options.env)
    failed = 0
    for folder in options.folders:
        cause, title, printed = first_fix(folder / "input.log", options.triage)
        environment = options.environment.absolute()
        outcome = attempt(printed, environment, options.model, variables, cause, options.until, options.limit)
        failed += not outcome.passed
        verdict = "passed" if outcome.passed else "FAILED"
        print(f"{folder.name}\n  cause  {cause}\n  fix 1  {title}\n  run    {printed}", flush=True)
        print(f"  {verdict} after {outcome.seconds:.0f} s: {outcome.seen}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
