# SPDX-License-Identifier: Apache-2.0
"""Building a wheel in a process of its own: ``python -m kgbench.testing.building PROJECT FOLDER``.

The last line that it prints is JSON: ``wheel`` with the file that was built, ``missing`` with the
requirements of the build system that are not installed, or ``error`` with what went wrong.
"""

from __future__ import annotations

import json
import re
import sys
from subprocess import CalledProcessError

from build import BuildBackendException, BuildException, ProjectBuilder, check_dependency
from packaging.requirements import InvalidRequirement
from pyproject_hooks import quiet_subprocess_runner


def built(project: str, folder: str) -> dict[str, str | list[str]]:
    """Build the wheel of a project into a folder by what is installed; what came of it."""
    try:
        builder = ProjectBuilder(project, runner=quiet_subprocess_runner)
        needs = builder.build_system_requires
        missing = {chain[-1] for each in needs for chain in check_dependency(each)}
        # The back end is asked for more needs only where it is there to answer.
        missing = missing or {chain[-1] for chain in builder.check_dependencies("wheel")}
        if missing:
            return {"missing": sorted(missing)}
        return {"wheel": builder.build("wheel", folder)}
    except (BuildBackendException, BuildException, InvalidRequirement) as error:
        return {"error": _words(error)}


def _words(error: Exception) -> str:
    """What went wrong, on one line: in the words of the back end where it printed some."""
    cause = error.exception if isinstance(error, BuildBackendException) else error
    said = cause.output if isinstance(cause, CalledProcessError) else str(cause)
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(said)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"([\w.]*(Error|Exception)\b|error:)", line)]
    return (errors[-1] if errors else " ".join(lines) or repr(cause))[:300]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(built(*sys.argv[1:])) + "\n")
