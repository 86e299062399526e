"""Run a command of vLLM and see what becomes of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
STARTED = "Application startup complete"
ACCEPTED = "configuration accepted"
SETTINGS = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1"}


class Outcome(NamedTuple):
    """What became of a command: whether it passed, and what was seen."""

    passed: bool
    seen: str


class Server:
    """One command at a time, its output in a file; used as a context, at the end of which its group is stopped."""

    def __init__(self, command: str, environment: dict[str, str], log: Path) -> None:
        """Start a shell command.

        Args:
            command: what bash runs.
            environment: the whole environment.
            log: where standard output and error go.
        """
        self.log = log
        with log.open("wb") as sink:
            self.process = subprocess.Popen(
                ["bash", "-c", command],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=log.parent,
                start_new_session=True,
            )

    def __enter__(self) -> Server:
        """The running command."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Stop the group: interrupt first, then kill."""
        for number, patience in ((signal.SIGINT, 25.0), (signal.SIGKILL, 10.0)):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(patience)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self, until: str, limit: float) -> bool:
        """Wait for a text in the output; false when the command has ended, or after ``limit`` seconds."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            if until and until in self.log.read_text(errors="replace"):
                return True
            if ended:
                return False
            time.sleep(0.2)
        return False

    def last_line(self) -> str:
        """The last line that says something."""
        lines = [line.strip() for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return lines[-1][:160] if lines else "no output"


class Vllm:
    """The vLLM of a virtual environment, imported once (warm) or started each time (cold)."""

    def __init__(self, environment: Path, scratch: Path) -> None:
        """Name the vLLM.

        Args:
            environment: its virtual environment.
            scratch: a folder for sockets and scripts.
        """
        self.environment = environment
        self.scratch = scratch
        self.socket = scratch / "warm.socket"
        self.warm: subprocess.Popen[bytes] | None = None
        self.imported = b""

    def __enter__(self) -> Vllm:
        """Write the shim; the import itself waits for the first warm command."""
        shim = self.scratch / "bin" / "vllm"
        shim.parent.mkdir(exist_ok=True)
        shim.write_text(f'#!/bin/sh\nexec {self.environment}/bin/python -S -E {HERE / "shim.py"} "$@"\n')
        shim.chmod(0o755)
        return self

    def __exit__(self, *_error: object) -> None:
        """End the imported vLLM."""
        if self.warm:
            self.warm.terminate()
            self.warm.wait()

    def release(self) -> str:
        """Its release, without local part and post releases."""
        code = "import importlib.metadata as m; print(m.version('vllm'))"
        found = subprocess.run([self.environment / "bin/python", "-c", code], capture_output=True, check=True)
        return found.stdout.decode().strip().split("+")[0].split(".post")[0]

    def settings(self, more: dict[str, str], cold: bool, marker: Path | None) -> dict[str, str]:
        """The environment of a command.

        Args:
            more: variables of the row.
            cold: whether ENV/bin/vllm itself is run.
            marker: the file that tells of an accepted configuration, where the command shall end there.
        """
        path = [str(self.environment / "bin"), os.environ["PATH"]]
        settings = {**os.environ, **SETTINGS, **more, "COLUMNS": "200"}
        if not cold:
            self.start_warm()
            path.insert(0, str(self.scratch / "bin"))
            settings["REAL_LOOP_SOCKET"] = str(self.socket)
            if marker:
                settings["REAL_LOOP_MARKER"] = str(marker)
        return {**settings, "PATH": ":".join(path)}

    def start_warm(self) -> None:
        """Import vLLM, unless that is done."""
        if self.warm:
            return
        errors = self.scratch / "warm.output"
        with errors.open("wb") as sink:
            self.warm = subprocess.Popen(
                [self.environment / "bin/python", HERE / "warm.py", self.socket],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env={**os.environ, **SETTINGS, "VIRTUAL_ENV": str(self.environment)},
                start_new_session=True,
            )
        while not self.socket.exists():
            if self.warm.poll() is not None:
                raise SystemExit(f"vLLM could not be imported: {errors.read_text(errors='replace')[-400:]}")
            time.sleep(0.2)
        self.imported = errors.read_bytes()

    def try_config(self, command: str, more: dict[str, str], log: Path, limit: float = 120.0) -> Outcome:
        """Run a command up to the accepted configuration.

        Args:
            command: a shell command with ``vllm`` in it.
            more: variables of the row.
            log: where its output goes.
            limit: seconds to wait.
        """
        marker = self.scratch / "accepted"
        marker.unlink(missing_ok=True)
        with Server(command, self.settings(more, False, marker), log) as running:
            running.wait("", limit)
            seen = running.last_line()
            ended = running.process.poll() is not None
        log.write_bytes(self.imported + log.read_bytes())
        if marker.exists():
            return Outcome(True, ACCEPTED)
        return Outcome(False, f"ended: {seen}" if ended else f"nothing after {limit:.0f} s")

    def try_start(
        self, command: str, more: dict[str, str], log: Path, cold: bool, port: int, limit: float = 300.0
    ) -> Outcome:
        """Run a command until a server answers a completion request.

        Args:
            command: a shell command with ``vllm`` in it.
            more: variables of the row.
            log: where its output goes.
            cold: whether ENV/bin/vllm itself is run.
            port: where the server listens.
            limit: seconds to wait.
        """
        with Server(command, self.settings(more, cold, None), log) as running:
            if running.wait(STARTED, limit):
                status, reply = ask_completion(port)
                passed, seen = (
                    status == 200,
                    "starts, a request is served" if status == 200 else f"starts, but: {reply}",
                )
            else:
                ended = running.process.poll() is not None
                passed, seen = False, f"ended: {running.last_line()}" if ended else f"nothing after {limit:.0f} s"
        if not cold:
            log.write_bytes(self.imported + log.read_bytes())
        return Outcome(passed, seen)


def send(
    port: int, path: str, body: Any, headers: dict[str, str] | None = None, limit: float = 120.0
) -> tuple[int, str]:
    """Send a request; give the HTTP status (0: no answer) and the answer's text."""
    data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", data, {"Content-Type": "application/json", **(headers or {})}
    )
    try:
        with urllib.request.urlopen(request, timeout=limit) as reply:
            return reply.status, reply.read().decode(errors="replace")
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except (OSError, TimeoutError) as error:
        return 0, str(error)


def ask_completion(port: int) -> tuple[int, str]:
    """Ask the first model of a server for four tokens; give HTTP status and answer."""
    status, reply = send(port, "/v1/models", None)
    if status != 200:
        return status, reply
    return send(
        port, "/v1/completions", {"model": json.loads(reply)["data"][0]["id"], "prompt": "Hello", "max_tokens": 4}
    )
