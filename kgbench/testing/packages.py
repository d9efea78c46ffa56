# SPDX-License-Identifier: Apache-2.0
"""Packages with task classes: importable from their folder, and as wheels built offline."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from kgbench import resources
from kgbench.children.child import command, environment
from kgbench.errors import ResourceError
from kgbench.execution.judging import end_child
from kgbench.rdf.declared import Declared
from kgbench.tasks import catalogue, class_files, texts
from kgbench.vocab import KGB, SKOS

PROJECT = "pyproject.toml"


class Source(NamedTuple):
    """A declared task class: its name, its folder, and the folder of its project.

    If the declaration has no name, ``name`` is that of the folder. ``project`` is the folder of the
    nearest ``pyproject.toml``; ``None`` if there is none, and for the classes of kgbench.
    """

    name: str
    folder: Path
    project: Path | None


def sources(folder: Path) -> list[Source]:
    """Return the task classes declared in ``folder`` or below it, in the order of their paths.

    ``folder`` may also be a ``task.ttl``. Raises :class:`~kgbench.errors.ResourceError` if no task
    class is declared.
    """
    root = (folder.parent if folder.name == catalogue.DECLARATION else folder).resolve()
    if not root.is_dir():
        raise ResourceError(f"{folder} is not a folder")
    folders = [declaration.parent for declaration in class_files.declarations(root)]
    if not folders:
        raise ResourceError(
            f"{folder} has no {catalogue.DECLARATION}: give the folder of a task class or of its "
            f"package (`kgbench tasks new NAME` makes one)"
        )
    return [Source(_name(path), path, _project_folder(path)) for path in folders]


def entry_points(project: Path) -> Mapping[str, str]:
    """Return the modules of task classes in a project's entry points, by name of the class."""
    return _entry_point_groups(project).get(catalogue.GROUP, {})


@contextmanager
def importable_from(project: Path | None) -> Iterator[None]:
    """Make the modules and entry points of ``project`` importable, as if it were installed.

    Its entry points hide those of an installed package of the same name. Judging processes see the
    same. ``None`` changes nothing.
    """
    if project is None:
        yield
        return
    with tempfile.TemporaryDirectory() as info_folder:
        _write_dist_info(project, Path(info_folder))
        paths = [
            str(path) for path in (project, project / "src", Path(info_folder)) if path.is_dir()
        ]
        loaded = set(sys.modules)
        sys.path[:0] = paths
        _clear_caches()
        try:
            yield
        finally:
            sys.path[:] = [path for path in sys.path if path not in paths]
            for name in set(sys.modules) - loaded:
                file = getattr(sys.modules[name], "__file__", None)
                if file is not None and project in Path(file).parents:
                    del sys.modules[name]
            _clear_caches()


def _clear_caches() -> None:
    end_child()
    importlib.invalidate_caches()
    catalogue.clear_caches()
    texts.clear_caches()


def _write_dist_info(project: Path, folder: Path) -> None:
    """Write a ``.dist-info`` folder with the entry points of ``project`` into ``place``."""
    if not entry_points(project):
        return  # an installed package may declare them in another way
    name = re.sub("[^a-z0-9]+", "_", str(_project_table(project).get("name", project.name)).lower())
    info = folder / f"{name}-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n", "utf-8")
    lines = [
        line
        for group, points in _entry_point_groups(project).items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]), "utf-8")


def _project_folder(folder: Path) -> Path | None:
    if {place.resolve() for place in resources.folders("tasks")} & {*folder.parents}:
        return None
    return next(
        (parent for parent in (folder, *folder.parents) if (parent / PROJECT).is_file()), None
    )


def _entry_point_groups(project: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the entry points of a project by group; entries of a wrong type are left out."""
    groups = _project_table(project).get("entry-points", {})
    if not isinstance(groups, dict):
        return {}
    return {group: points for group, points in groups.items() if isinstance(points, dict)}


def _project_table(project: Path) -> Mapping[str, Any]:
    """Return the ``project`` table of a ``pyproject.toml``."""
    path = project / PROJECT
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ResourceError(f"{path} cannot be read: {error}") from error
    return table if isinstance(table, dict) else {}


def _name(folder: Path) -> str:
    """Return the name of the task class declared in a folder.

    The result is the folder's name if the declaration is unreadable.
    """
    try:
        declared = Declared(folder / catalogue.DECLARATION)
        names = [declared.text(node, SKOS.notation) for node in declared.instances(KGB.TaskClass)]
    except ResourceError:
        return folder.name
    return next((name for name in names if name), folder.name)


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
