# SPDX-License-Identifier: Apache-2.0
"""Builder of a wheel in a separate process: ``python -m kgbench.testing.building PROJECT FOLDER``.

The last line of its output is JSON: ``wheel`` with the built file, ``missing`` with the
requirements of the build system that are not installed, or ``error`` with the error message.
"""

from __future__ import annotations

import json
import re
import sys
from subprocess import CalledProcessError

from build import BuildBackendException, BuildException, ProjectBuilder, check_dependency
from packaging.requirements import InvalidRequirement
from pyproject_hooks import quiet_subprocess_runner


def build_wheel(project: str, folder: str) -> dict[str, str | list[str]]:
    """Build the wheel of a project into a folder with the installed build system."""
    try:
        builder = ProjectBuilder(project, runner=quiet_subprocess_runner)
        requirements = builder.build_system_requires
        missing = {
            chain[-1] for requirement in requirements for chain in check_dependency(requirement)
        }
        # The back end must be installed before it can name further requirements.
        missing = missing or {chain[-1] for chain in builder.check_dependencies("wheel")}
        if missing:
            return {"missing": sorted(missing)}
        return {"wheel": builder.build("wheel", folder)}
    except (BuildBackendException, BuildException, InvalidRequirement) as error:
        return {"error": _message(error)}


def _message(error: Exception) -> str:
    """Return the error message in one line: the output of the back end, if there is any."""
    cause = error.exception if isinstance(error, BuildBackendException) else error
    output = cause.output if isinstance(cause, CalledProcessError) else str(cause)
    text = output.decode("utf-8", "replace") if isinstance(output, bytes) else str(output)
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"([\w.]*(Error|Exception)\b|error:)", line)]
    return (errors[-1] if errors else " ".join(lines) or repr(cause))[:300]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(build_wheel(*sys.argv[1:])) + "\n")
