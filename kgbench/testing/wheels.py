# SPDX-License-Identifier: Apache-2.0
"""The wheel of a package with task classes: built without a network, and looked into."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kgbench.execution.process import environment
from kgbench.tasks import catalogue, class_files
from kgbench.testing.sources import Source, entry_points

SECONDS = 120.0


class NotBuiltHereError(Exception):
    """The wheel cannot be built on this machine, which says nothing of the package."""


class FaultyPackageError(Exception):
    """The wheel cannot be built, because of the package."""


def contents(project: Path, *, seconds: float = SECONDS) -> Mapping[str, bytes]:
    """The files of the wheel of a project, by their path in it.

    It is built from a copy of the project, so that nothing is left there, by what is installed
    here, as ``python -m build --no-isolation`` does, within ``seconds``. Raises
    :class:`NotBuiltHereError` and :class:`FaultyPackageError`.
    """
    found = find_spec("build")
    if found is None or found.origin is None:  # a folder `build` is taken for a package of its own
        raise NotBuiltHereError("build is not installed: pip install build")
    with tempfile.TemporaryDirectory() as place:
        copy, out = Path(place, "project"), Path(place, "wheel")
        shutil.copytree(project, copy, symlinks=True, ignore=_passed_by)
        told = _build(copy, out, seconds)
        if missing := told.get("missing"):
            needed = " ".join(f"'{each}'" for each in missing)
            raise NotBuiltHereError(f"its build system is not installed: pip install {needed}")
        if "wheel" not in told:
            raise FaultyPackageError(str(told["error"]))
        with zipfile.ZipFile(str(told["wheel"])) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}


def _build(project: Path, out: Path, seconds: float) -> Mapping[str, Any]:
    """What :mod:`kgbench.testing.building` says of a project."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        [sys.executable, "-P", "-m", "kgbench.testing.building", str(project), str(out)],
        cwd=out.parent,
        env={**environment(), "SETUPTOOLS_SCM_PRETEND_VERSION": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            said, complaint = child.communicate(timeout=seconds)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # the back end is a process of its own
            if isinstance(error, subprocess.TimeoutExpired):
                raise NotBuiltHereError(f"building takes more than {seconds:g} s") from None
            raise
    try:
        told: Mapping[str, Any] = json.loads(said.decode("utf-8").splitlines()[-1])
    except (ValueError, IndexError):
        lines = complaint.decode("utf-8", "replace").split("\n")
        words = " ".join(lines[-2:]).strip() or f"exit code {child.returncode}"
        raise NotBuiltHereError(f"building ends with an error: {words}") from None
    return told


def lacking(source: Source, wheel: Mapping[str, bytes]) -> Iterator[str]:
    """What the ``wheel`` of a project (:func:`contents`) lacks of a task class, by its path there.

    These are the module that its entry point names, its declaration, and the data in its folder,
    encrypted or not: prompts and cases.
    """
    assert source.project is not None
    module = entry_points(source.project)[source.name].partition(":")[0].strip().replace(".", "/")
    if not {f"{module}.py", f"{module}/__init__.py"} & wheel.keys():
        yield f"{module}.py"
    folder = _place(source, wheel)
    for file in class_files.belonging(source.folder):
        name = f"{folder}{file.relative_to(source.folder).as_posix()}"
        if name not in wheel:
            yield name


def _place(source: Source, wheel: Mapping[str, bytes]) -> str:
    """The folder of the task class in the wheel: where its declaration is, or should be."""
    name = catalogue.DECLARATION
    declaration = (source.folder / name).read_bytes()
    for path, content in wheel.items():
        if content == declaration and path.rpartition("/")[2] == name:
            return path.removesuffix(name)
    assert source.project is not None
    root = source.project / "src"
    root = root if root in source.folder.parents else source.project
    inside = source.folder.relative_to(root).as_posix()
    return "" if inside == "." else f"{inside}/"


def _passed_by(folder: str, names: list[str]) -> list[str]:
    """What no wheel is built of: hidden folders, environments, result stores, what was built."""
    place = Path(folder)
    return [
        name for name in names if (place / name).is_dir() and class_files.is_passed_by(place / name)
    ]
