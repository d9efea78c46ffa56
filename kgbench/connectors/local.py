# SPDX-License-Identifier: Apache-2.0
"""Models that run on this machine, without a server to start and without a key.

``local:smollm2`` is a model that ``kgbench models install`` has installed, ``local:PATH.gguf`` any
file in GGUF format. A child process serves it; see :mod:`kgbench.connectors.managed`.
"""

from __future__ import annotations

import os
from dataclasses import replace
from importlib.util import find_spec

from kgbench.connectors.declared import Declaration
from kgbench.connectors.managed import Managed
from kgbench.connectors.options import Option, read
from kgbench.errors import ModelSpecError
from kgbench.local.engine import Engine
from kgbench.local.server import ENGINE
from kgbench.model import ModelSetup

_GRAPHICS = ("CUDA_VISIBLE_DEVICES", "LD_LIBRARY_PATH")
CONTEXT = 8192  # tokens, or fewer if the model was trained for fewer

DECLARED = Declaration(
    specifications=("local:NAME", "local:PATH.gguf"),
    options={
        "threads": Option(int, None, 1, meaning="threads of the engine; all processors by default"),
        "slots": Option(int, 2, 1, 64, meaning="answers that are written at the same time"),
        "context": Option(
            int,
            None,
            256,
            meaning="tokens of a conversation, which the engine rounds up to a multiple of 256; by "
            f"default what the model was trained for, at most {CONTEXT:,}",
        ),
    },
    extra="local",
    native_tools=lambda _: True,
)


def open(setup: ModelSetup, timeout: float) -> Managed:  # noqa: A001 - the interface
    """Return a connector that starts the engine when it is entered."""
    options = read(setup.options, DECLARED.options, setup.spec)
    if setup.path is None:
        raise ModelSpecError(f"{setup.spec}: the model has no file")
    if find_spec(ENGINE) is None:
        raise ModelSpecError(
            f"{setup.spec}: the engine is not installed: pip install 'kgbench[local]'"
        )
    trained = int(setup.file.get("context", CONTEXT))
    threads = options["threads"] or len(os.sched_getaffinity(0))
    slots = options["slots"]
    context = options["context"] or min(CONTEXT, trained)
    served = replace(
        setup,
        spec=f"local:{setup.model_id}",  # messages are recorded, and leave out the folder
        options={k: v for k, v in setup.options.items() if k not in DECLARED.options},
    )
    settings = {
        "path": setup.path,
        "name": setup.model_id,
        "threads": threads,
        "slots": slots,
        "context": context,
    }
    engine = Engine("kgbench.local.server", settings, served.spec, environment=_GRAPHICS)
    return Managed(
        served,
        engine,
        timeout,
        slots=slots,
        details=f", {threads} threads",
    )
