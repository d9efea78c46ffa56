# SPDX-License-Identifier: Apache-2.0
"""Wheels of packages with task classes: building them without a network, and inspecting them."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kgbench.children.commands import command, environment
from kgbench.tasks import catalogue, class_files
from kgbench.testing.sources import Source, entry_points

SECONDS = 120.0


class NotBuiltHereError(Exception):
    """The wheel cannot be built on this machine, for a reason that is no fault of the package."""


class FaultyPackageError(Exception):
    """The wheel cannot be built because the package is faulty."""


def contents(project: Path, *, seconds: float = SECONDS) -> Mapping[str, bytes]:
    """Build the wheel of a project; return its files by their path in the wheel.

    The wheel is built from a copy of the project, so that no build files remain there, with the
    installed build system (as ``python -m build --no-isolation`` does), within ``seconds``. Raises
    :class:`NotBuiltHereError` and :class:`FaultyPackageError`.
    """
    spec = find_spec("build")
    if spec is None or spec.origin is None:  # a mere folder `build` is a namespace package
        raise NotBuiltHereError("build is not installed: pip install build")
    with tempfile.TemporaryDirectory() as temporary:
        copy, out = Path(temporary, "project"), Path(temporary, "wheel")
        shutil.copytree(project, copy, symlinks=True, ignore=_skipped)
        result = _build(copy, out, seconds)
        if missing := result.get("missing"):
            packages = " ".join(f"'{requirement}'" for requirement in missing)
            raise NotBuiltHereError(f"its build system is not installed: pip install {packages}")
        if "wheel" not in result:
            raise FaultyPackageError(str(result["error"]))
        with zipfile.ZipFile(str(result["wheel"])) as wheel:
            return {name: wheel.read(name) for name in wheel.namelist()}


def _build(project: Path, out: Path, seconds: float) -> Mapping[str, Any]:
    """Run :mod:`kgbench.testing.building` for a project; return its JSON result."""
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command("kgbench.testing.building", str(project), str(out)),
        cwd=out.parent,
        env={**environment(), "SETUPTOOLS_SCM_PRETEND_VERSION": "0"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            output, errors = child.communicate(timeout=seconds)
        except BaseException as error:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)  # the back end is a child of the child
            if isinstance(error, subprocess.TimeoutExpired):
                raise NotBuiltHereError(f"building takes more than {seconds:g} s") from None
            raise
    try:
        result: Mapping[str, Any] = json.loads(output.decode("utf-8").splitlines()[-1])
    except (ValueError, IndexError):
        lines = errors.decode("utf-8", "replace").split("\n")
        message = " ".join(lines[-2:]).strip() or f"exit code {child.returncode}"
        raise NotBuiltHereError(f"building ends with an error: {message}") from None
    return result


def missing_files(source: Source, wheel: Mapping[str, bytes]) -> Iterator[str]:
    """Yield the paths of a task class's files that are missing from a ``wheel`` (:func:`contents`).

    A wheel needs the module that the entry point names, the declaration, and the data in the
    folder of the class, encrypted or not: prompts and cases.
    """
    assert source.project is not None
    module = entry_points(source.project)[source.name].partition(":")[0].strip().replace(".", "/")
    if not {f"{module}.py", f"{module}/__init__.py"} & wheel.keys():
        yield f"{module}.py"
    folder = _folder_in_wheel(source, wheel)
    for file in class_files.files_of_class(source.folder):
        name = f"{folder}{file.relative_to(source.folder).as_posix()}"
        if name not in wheel:
            yield name


def _folder_in_wheel(source: Source, wheel: Mapping[str, bytes]) -> str:
    """Return the folder in the wheel that has or should have the task class's declaration."""
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


def _skipped(folder: str, names: list[str]) -> list[str]:
    """Return folders to skip: hidden ones, virtual environments, result stores and build output."""
    parent = Path(folder)
    return [
        name
        for name in names
        if (parent / name).is_dir() and class_files.is_skipped_folder(parent / name)
    ]
