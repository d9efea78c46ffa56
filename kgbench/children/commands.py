# SPDX-License-Identifier: Apache-2.0
"""The command line and the environment of a child that runs a module of kgbench."""

from __future__ import annotations

import os
import sys

_PASSED_ON = (
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TMPDIR",
    "VIRTUAL_ENV",
    "SYSTEMROOT",
    "KGBENCH_DATASETS",
    "XDG_DATA_HOME",  # where installed graphs lie
)
_SET = {
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    # glibc reserves 64 MiB of addresses for threads that allocate at the same time, up to eight
    # times per processor. So the engine's threads would use up a child's limit of memory.
    "MALLOC_ARENA_MAX": "2",
}


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs ``module`` with this interpreter.

    ``-P`` keeps the current folder off the search path, so that no file there replaces a module.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(*further: str) -> dict[str, str]:
    """Return the environment of a child: where to find code, the language, and no key.

    Its limit of memory is left to its data, also on machines with many processors.

    ``further`` names variables that are passed on besides.
    """
    names = (*_PASSED_ON, *further)
    passed = {name: os.environ[name] for name in names if name in os.environ}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return passed | _SET | {"PYTHONPATH": path}
