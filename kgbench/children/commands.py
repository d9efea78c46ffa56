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


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs ``module`` with this interpreter.

    ``-P`` keeps the current folder off the search path, so that no file there replaces a module.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def environment(*further: str) -> dict[str, str]:
    """Return the environment of a child: where to find code, the language, and no key.

    ``further`` names variables that are passed on besides.
    """
    names = (*_PASSED_ON, *further)
    passed = {name: os.environ[name] for name in names if name in os.environ}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return passed | {"PYTHONPATH": path, "PYTHONHASHSEED": "0", "PYTHONUTF8": "1"}
