# SPDX-License-Identifier: Apache-2.0
"""Starting validators: each runs in a child process, and says where it is not installed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from functools import cache
from pathlib import Path

from tests.engines.engines import Missing, jena_command

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-validators" / "bin" / "python"
HERE = Path(__file__).parent
_NEEDED = "needs the validators: make .venv-validators/.installed"


def python(*words: object) -> str:
    """What a program in the environment of the validators prints.

    Raises :class:`~tests.engines.engines.Missing` where there is no such environment, or a package
    is not in it.
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
    """The version of a package in the environment of the validators."""
    script = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    try:
        return python("-c", script, name).strip()
    except AssertionError:
        raise Missing(_NEEDED) from None


@cache
def packages() -> Path:
    """The folder with the packages of that environment."""
    return Path(python("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())


def jena(*words: object) -> tuple[str, str]:
    """What a command of Jena prints, and what it reports.

    Jena reports faults in what it reads to its log, which other uses of it here are without.
    """
    command = jena_command(*words)
    command[2] = command[2].replace("slf4j-nop", "slf4j-simple")
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout, done.stderr


def hermit(path: Path) -> list[list[str]]:
    """What OWL API and HermiT say of an ontology in a file, as pairs of a kind and a name."""
    words = ["java", "-cp", str(_hermit_jar()), str(HERE / "Owl.java"), str(path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return [line.split("\t") for line in done.stdout.splitlines()]


def hermit_version() -> str:
    """The version of HermiT."""
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
