"""A vLLM that is imported once: it forks a child for each ``vllm`` command that the shim beside it hands over.

    ENV/bin/python warm.py SOCKET        run by loop.py; prints nothing of its own

Importing vLLM takes twenty seconds, checking a configuration one. The child takes over the arguments, the environment,
the folder and the three standard streams of the shim and runs ENV/bin/vllm as a fresh interpreter would; what it
writes is what vLLM writes. Frames of this module are cut off a traceback that ends the command, and with ``config``
asked for, the command ends where the configuration has been accepted and the engine would be built.

Only variables that vLLM or a library reads while it is imported make a difference; such rows are run ``cold``.
"""

from __future__ import annotations

import array
import contextlib
import importlib
import json
import os
import signal
import socket
import sys
import traceback
import types
from pathlib import Path

ACCEPTED = "configuration accepted"
SHIM = Path(__file__).with_name("shim.py")
PATIENCE_S = 20


def receive(connection: socket.socket) -> tuple[dict[str, object], list[int]]:
    """Take a command and its three streams from a shim."""
    streams = array.array("i")
    data, ancillary, _flags, _address = connection.recvmsg(1 << 16, socket.CMSG_SPACE(3 * streams.itemsize))
    for _level, _kind, held in ancillary:
        streams.frombytes(held[: len(held) - len(held) % streams.itemsize])
    while not data.endswith(b"\n"):
        data += connection.recv(1 << 16)
    return json.loads(data), list(streams)


def stop_where_engine_begins(marker: str) -> None:
    """Let the command end, with a file as the sign, at the first call that would build an engine."""

    def accept(*_arguments: object, **_named: object) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        Path(marker).write_text(ACCEPTED)
        os._exit(0)

    importlib.import_module("vllm.v1.engine.async_llm").AsyncLLM.from_vllm_config = accept
    for module in ("vllm.v1.engine.utils", "vllm.entrypoints.cli.serve"):
        importlib.import_module(module).launch_core_engines = accept


def print_as_interpreter(error: BaseException, script: str) -> None:
    """Print an uncaught exception without the frames that are above the script."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename != script:
        frames = frames.tb_next
    traceback.print_exception(type(error), error, frames)


def run_command(order: dict, streams: list[int]) -> int:
    """Become the command, in the forked child; give its exit status."""
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["folder"])
    script = str(Path(sys.executable).with_name("vllm"))
    sys.argv = [script, *order["arguments"]]
    if order["marker"]:
        stop_where_engine_begins(order["marker"])
    main = types.ModuleType("__main__")
    main.__file__ = script
    main.__builtins__ = __builtins__
    sys.modules["__main__"] = main
    try:
        exec(compile(Path(script).read_text(), script, "exec"), main.__dict__)
    except SystemExit as ending:
        if ending.code is None or isinstance(ending.code, int):
            return ending.code or 0
        print(ending.code, file=sys.stderr)
        return 1
    except KeyboardInterrupt as error:
        print_as_interpreter(error, script)
        return 130
    except Exception as error:
        print_as_interpreter(error, script)
        return 1
    return 0


def attend(connection: socket.socket, child: int) -> None:
    """Wait for the child and tell the shim its status; end the child's group when the shim asks or is gone."""
    status: list[int] = []

    def note_end(*_signal: object) -> None:
        ended, how = os.waitpid(child, os.WNOHANG)
        if ended:
            status.append(os.waitstatus_to_exitcode(how))

    signal.signal(signal.SIGCHLD, note_end)
    note_end()
    connection.settimeout(0.2)
    asked = 0
    while not status:
        try:
            word = connection.recv(1)
        except TimeoutError:
            continue
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGINT if word and not asked else signal.SIGKILL)
        asked += 1
        if not word:
            break
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)
    with contextlib.suppress(BrokenPipeError):
        connection.sendall(json.dumps(status[0] if status else -9).encode() + b"\n")


def build_parser() -> None:
    """Build the parser of ``vllm serve`` once: what it is made of is kept by the releases that take long over it."""
    parser = importlib.import_module("vllm.entrypoints.cli.serve").FlexibleArgumentParser()
    importlib.import_module("vllm.entrypoints.cli.serve").ServeSubcommand().subparser_init(parser.add_subparsers())


def main() -> int:
    """Import vLLM, then take orders until the socket's folder is gone or the process is ended."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for module in ("vllm.entrypoints.cli.main", "vllm.entrypoints.cli.serve", "vllm.v1.engine.async_llm"):
        importlib.import_module(module)
    build_parser()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(sys.argv[1])
    listener.listen()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    while True:
        connection, _address = listener.accept()
        if os.fork():
            connection.close()
            continue
        listener.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        order, streams = receive(connection)
        child = os.fork()
        if child == 0:
            connection.close()
            os.setpgid(0, 0)
            return run_command(order, streams)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        for stream in streams:
            os.close(stream)
        attend(connection, child)
        os._exit(0)


if __name__ == "__main__":
    sys.exit(main())
