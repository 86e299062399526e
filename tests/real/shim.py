"""What stands for ``vllm`` on the path: it hands its command to warm.py and ends with the command's status."""

from __future__ import annotations

import array
import json
import os
import signal
import socket
import sys


def main() -> int:
    """Send arguments, environment, folder and streams; pass on an interrupt; give the command's status."""
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(os.environ["REAL_LOOP_SOCKET"])
    settings = {name: value for name, value in os.environ.items() if not name.startswith("REAL_LOOP_")}
    order = {
        "arguments": sys.argv[1:],
        "environment": settings,
        "folder": os.getcwd(),
        "marker": os.environ.get("REAL_LOOP_MARKER"),
    }
    connection.sendmsg(
        [json.dumps(order).encode() + b"\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))]
    )
    signal.signal(signal.SIGINT, lambda *_signal: connection.sendall(b"i"))
    return json.loads(connection.makefile().readline() or "1") % 256


if __name__ == "__main__":
    sys.exit(main())
