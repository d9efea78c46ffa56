# SPDX-License-Identifier: Apache-2.0
"""Stand-in for vLLM's server: the same addresses, but no model.

It refuses the model ``missing``. ``GET /arguments`` returns its command line and process. With
``VLLM_STAND_IN=tools`` it answers as a model that calls tools, else with the last prompt.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading

from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.tool_runs import TEXT, scripted


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int)
    given, others = parser.parse_known_args()
    if given.model == "missing":
        sys.exit("OSError: missing is not a model")
    told = {
        "/health": {},
        "/version": {"version": "0.0.stand-in"},
        "/v1/models": {"data": [{"id": given.model, "max_model_len": 4096}]},
        "/arguments": {"others": others, "pid": os.getpid(), "environment": dict(os.environ)},
    }
    tools = os.environ.get("VLLM_STAND_IN") == "tools"
    with LoopbackServer(
        OpenAISpeech(),
        answer=(lambda prompt: scripted(TEXT, prompt)) if tools else (lambda prompt: prompt),
        port=given.port,
        told=told,
    ):
        threading.Event().wait()


if __name__ == "__main__":
    main()
