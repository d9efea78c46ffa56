# SPDX-License-Identifier: Apache-2.0
"""The engine in a process of its own: llama.cpp's server with one model, on a loopback port.

``python -m kgbench.connectors.local_server`` takes one argument, a JSON object with ``path``,
``name``, ``threads``, ``slots`` (parallel answers) and ``context`` (tokens of each). It prints a
JSON object with the ``address`` and the ``version`` of the engine when the model is loaded, or with
an ``error``. It ends when its standard input is closed, so that it never outlives the process that
started it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from importlib import metadata
from typing import Any

ENGINE = "xllamacpp"


def main() -> None:
    """Load the model, print the address, and serve until standard input ends."""
    settings = json.loads(sys.argv[1])
    try:
        server = _server(settings)
    except Exception as error:  # noqa: BLE001 - the parent says what happened
        _say(error=f"{type(error).__name__}: {error}")
        os._exit(1)
    _say(address=server.listening_address, version=f"{ENGINE} {metadata.version(ENGINE)}")
    sys.stdin.buffer.read()
    os._exit(0)  # the threads of the engine do not end by themselves


def _server(settings: dict[str, Any]) -> Any:
    engine: Any = importlib.import_module(ENGINE)
    parameters = engine.CommonParams()
    parameters.model.path = settings["path"]
    parameters.model_alias = {settings["name"]}  # in replies, instead of the path
    parameters.n_parallel = settings["slots"]
    parameters.n_ctx = settings["context"] * settings["slots"]  # which the slots share equally
    parameters.ctx_shift = False  # an answer ends at the context instead of forgetting its prompt
    parameters.cpuparams.n_threads = settings["threads"]
    parameters.cpuparams_batch.n_threads = settings["threads"]
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0  # any free one
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.verbosity = 1  # errors
    return engine.Server(parameters)


def _say(**facts: str) -> None:
    sys.stdout.write(json.dumps(facts) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
