# SPDX-License-Identifier: Apache-2.0
"""Task classes in a folder of sources, used from there whether they are installed or not."""

from __future__ import annotations

import importlib
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from kgbench import resources
from kgbench.errors import ResourceError
from kgbench.execution.judging import end_child
from kgbench.rdf.declared import Declared
from kgbench.tasks import catalogue, class_files, texts
from kgbench.vocab import KGB, SKOS

PROJECT = "pyproject.toml"


class Source(NamedTuple):
    """The declaration of a task class: its name, its folder, and the project it belongs to.

    Where the declaration names no class, ``name`` is that of the folder. ``project`` is the folder
    of the nearest ``pyproject.toml``, ``None`` where there is none and for the classes of kgbench.
    """

    name: str
    folder: Path
    project: Path | None


def sources(folder: Path) -> list[Source]:
    """The task classes that are declared in ``folder`` or beneath it, by their place.

    ``folder`` may also be a ``task.ttl``. Raises :class:`~kgbench.errors.ResourceError` where
    there is none.
    """
    place = (folder.parent if folder.name == catalogue.DECLARATION else folder).resolve()
    if not place.is_dir():
        raise ResourceError(f"{folder} is no folder")
    folders = [found.parent for found in class_files.declarations(place)]
    if not folders:
        raise ResourceError(
            f"{folder} has no {catalogue.DECLARATION}: name the folder of a task class or of its "
            f"package (`kgbench tasks new NAME` makes one)"
        )
    return [Source(_name(each), each, _project(each)) for each in folders]


def entry_points(project: Path) -> Mapping[str, str]:
    """The modules of task classes that a project names, by class."""
    return _groups(project).get(catalogue.GROUP, {})


@contextmanager
def used(project: Path | None) -> Iterator[None]:
    """While this lasts, the modules of ``project`` are found there, as if it were installed.

    Its entry points hide those of an installed package of the same name. Processes that judge see
    the same. ``None`` changes nothing.
    """
    if project is None:
        yield
        return
    with tempfile.TemporaryDirectory() as place:
        _describe(project, Path(place))
        paths = [str(each) for each in (project, project / "src", Path(place)) if each.is_dir()]
        known = set(sys.modules)
        sys.path[:0] = paths
        _forget()
        try:
            yield
        finally:
            sys.path[:] = [each for each in sys.path if each not in paths]
            for name in set(sys.modules) - known:
                file = getattr(sys.modules[name], "__file__", None)
                if file is not None and project in Path(file).parents:
                    del sys.modules[name]
            _forget()


def _forget() -> None:
    end_child()
    importlib.invalidate_caches()
    catalogue.forget()
    texts.forget()


def _describe(project: Path, place: Path) -> None:
    """Say in ``place`` what an installed package says about itself, with all its entry points."""
    if not entry_points(project):
        return  # an installed package may name them where they are not seen here
    name = re.sub("[^a-z0-9]+", "_", str(_content(project).get("name", project.name)).lower())
    info = place / f"{name}-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0\n", "utf-8")
    lines = [
        line
        for group, points in _groups(project).items()
        for line in (f"[{group}]", *(f"{point} = {value}" for point, value in points.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join([*lines, ""]), "utf-8")


def _project(folder: Path) -> Path | None:
    if resources.folder("tasks").resolve() in folder.parents:
        return None
    return next((each for each in (folder, *folder.parents) if (each / PROJECT).is_file()), None)


def _groups(project: Path) -> Mapping[str, Mapping[str, str]]:
    """The entry points of a project by group; none where they are not tables of texts."""
    groups = _content(project).get("entry-points", {})
    if not isinstance(groups, dict):
        return {}
    return {group: points for group, points in groups.items() if isinstance(points, dict)}


def _content(project: Path) -> Mapping[str, Any]:
    """The table ``project`` of a ``pyproject.toml``."""
    path = project / PROJECT
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8")).get("project", {})
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ResourceError(f"{path} cannot be read: {error}") from error
    return found if isinstance(found, dict) else {}


def _name(folder: Path) -> str:
    """The name of the task class that a folder declares; that of the folder where it is broken."""
    try:
        declared = Declared(folder / catalogue.DECLARATION)
        names = [declared.text(node, SKOS.notation) for node in declared.instances(KGB.TaskClass)]
    except ResourceError:
        return folder.name
    return next((name for name in names if name), folder.name)
