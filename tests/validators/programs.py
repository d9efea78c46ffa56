# SPDX-License-Identifier: Apache-2.0
"""Starting validators in child processes, or raising ``Missing`` if they are not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path

from tests.queries.engines.engines import Missing, jena_command

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-validators" / "bin" / "python"
HERE = Path(__file__).parent
_NEEDED = "needs the validators: make .venv-validators/.installed"


def python(*words: object) -> str:
    """Return the output of a program in the environment of the validators.

    Raises :class:`~tests.queries.engines.engines.Missing` if the environment, or a package in it,
    is missing.
    """
    if not PYTHON.exists():
        raise Missing(_NEEDED)
    home = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(
        [PYTHON, *map(str, words)], capture_output=True, text=True, check=False, env=home
    )
    if "ModuleNotFoundError" in done.stderr:
        raise Missing(_NEEDED)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@cache
def package(name: str) -> str:
    """Return the version of a package in the environment of the validators."""
    script = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    try:
        return python("-c", script, name).strip()
    except AssertionError:
        raise Missing(_NEEDED) from None


@cache
def packages() -> Path:
    """Return the folder with the packages of that environment."""
    return Path(python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def jena(*words: object) -> tuple[str, str]:
    """Return the output of a Jena command, and its log.

    Jena reports faults in its input to the log, which is off in other uses of Jena in the tests.
    """
    command = jena_command(*words)
    command[2] = command[2].replace("slf4j-nop", "slf4j-simple")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def hermit(path: Path) -> list[list[str]]:
    """Return the findings of OWL API and HermiT for an ontology file, as pairs of kind and name."""
    words = ["java", "-cp", str(_hermit_jar()), str(HERE / "Owl.java"), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line.split("\t") for line in done.stdout.splitlines()]


def hermit_version() -> str:
    """Return the version of HermiT."""
    with zipfile.ZipFile(_hermit_jar()) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    (found,) = re.findall(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    return found


def _hermit_jar() -> Path:
    jar = packages() / "owlready2" / "hermit" / "HermiT.jar"
    if not jar.exists():
        raise Missing(_NEEDED)
    if shutil.which("javac") is None:
        raise Missing("needs a JDK")
    return jar
