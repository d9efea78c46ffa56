# SPDX-License-Identifier: Apache-2.0
"""Graphs that are too large for cases to contain, by name.

``bestiary``, its renamed versions (:mod:`kgbench.tasks.bestiary_twins`) and generated worlds
(:mod:`kgbench.worlds`) are generated from the seed in their name when they are first needed. All
other graphs are published by others and are installed from copies, each as a data set of its name
(``kgbench.datasets``).
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable
from datetime import UTC, datetime
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import pyoxigraph as ox

from kgbench.datasets import damage, home, installers
from kgbench.errors import EvaluationError, ResourceError, TaskError
from kgbench.model import Case
from kgbench.tasks import bestiary, bestiary_twins, catalogue, serialising
from kgbench.vocab import OWL
from kgbench.worlds import generator, questions
from kgbench.worlds.generator import World
from kgbench.worlds.model import load_model

OURS: Final = "bestiary"
PUBLISHED: Final = "beastiary"

_SOURCES: Final = ("beastiary_kg.rdf", "beastiary_kg.rdf.zip")

# Descriptors of installed graphs by path, opened before a process loses access to files.
_opened: dict[Path, int] = {}


def text(name: str) -> str:
    """Return the graph called ``name`` as N-Triples.

    Raises :class:`~kgbench.errors.EvaluationError`, with instructions, if it is not installed.
    """
    if name == OURS:
        return bestiary.text()
    if (world := generator.world_of_name(name)) is not None:
        return generator.text(world)
    if (renamed := bestiary_twins.named(name)) is not None:
        return bestiary_twins.text(renamed)
    if name not in _names():
        raise EvaluationError(f"there is no graph '{name}' (but {OURS}, {', '.join(_names())})")
    path = _path(name)
    if path not in _opened and not path.is_file():
        raise EvaluationError(_install_hint(name))
    return _read(path)


@lru_cache(maxsize=4)
def world_schema(world: World, **prefixes: str) -> str:
    """Return the schema of a world in Turtle, which also declares further ``prefixes``."""
    lines = "\n".join(generator.schema(generator.build_graph(world)))
    triples = [quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES)]
    all_prefixes = {**questions.PREFIXES, **prefixes, "owl": str(OWL)}
    return serialising.serialise(triples, "turtle", all_prefixes)


def prepare() -> None:
    """Open the installed graphs for judging processes, which cannot open files.

    Also loads the declarations from which other graphs are generated.
    """
    load_model()
    bestiary_twins.prepare()
    for path in map(_path, _names()):
        if path not in _opened and path.is_file():
            _opened[path] = os.open(path, os.O_RDONLY)


def require(cases: Iterable[Case]) -> None:
    """Raise :class:`~kgbench.errors.TaskError` if ``cases`` need a graph that is not installed."""
    for case in cases:
        graph_name = getattr(catalogue.module(case.task_class), "graph_name", None)
        name = None if graph_name is None else graph_name(case)
        if name in _names() and not _path(name).is_file():
            raise TaskError(_install_hint(name))


def install(source: Path) -> Path:
    """Install the published graph from ``source``: its file, its zip, or a folder with either.

    The graph is stored as N-Triples, with a record of its source and the SHA-256 of its file.
    Raises :class:`~kgbench.errors.ResourceError`, and installs nothing, if the graph is missing or
    damaged.
    """
    path = source
    if source.is_dir():
        candidates = [source / name for name in _SOURCES if (source / name).is_file()]
        if not candidates:
            raise ResourceError(f"{source} has neither {' nor '.join(_SOURCES)}")
        path = candidates[0]
    document = _content(path)
    try:
        triples = (quad.triple for quad in ox.parse(document, ox.RdfFormat.RDF_XML))
        content = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES)
    except (SyntaxError, ValueError) as error:
        raise ResourceError(f"the graph cannot be read from {path}: {error}") from error
    if not content:
        raise ResourceError(f"the graph cannot be read from {path}: it has no triples")
    _write(_path(PUBLISHED), content)
    record = {
        "name": PUBLISHED,
        "source": str(source.resolve()),
        "installed": datetime.now(UTC).isoformat(timespec="seconds"),
        "sha256": hashlib.sha256(document).hexdigest(),
        "tasks": [],
    }
    text = json.dumps(record, indent=1, ensure_ascii=False)
    _write(home.folder_of(PUBLISHED) / home.RECORD, f"{text}\n".encode())
    return _path(PUBLISHED)


def _names() -> tuple[str, ...]:
    """Return the names of published graphs, installed or not."""
    return (PUBLISHED, *installers.with_graph())


def _path(name: str) -> Path:
    return home.folder_of(name) / home.GRAPH


def _install_hint(name: str) -> str:
    file = _SOURCES[0] if name == PUBLISHED else f"the data set {name}"
    return (
        f"the graph '{name}', on which these cases run, is not installed in "
        f"{home.folder_of(name)}: get {file} and run 'kgbench datasets install {name} --from PATH'"
    )


@cache
def _read(path: Path) -> str:
    descriptor = _opened.get(path)
    if descriptor is None:
        return path.read_text(encoding="utf-8-sig")
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode("utf-8-sig")


def _content(source: Path) -> bytes:
    try:
        if source.suffix != ".zip":
            return source.read_bytes()
        with zipfile.ZipFile(source) as archive:
            name = next((n for n in archive.namelist() if n.endswith(_SOURCES[0])), None)
            if name is None:
                raise ResourceError(f"{source} holds no {_SOURCES[0]}")
            return archive.read(name)
    except damage.errors() as error:
        raise ResourceError(f"the graph cannot be read from {source}: {error}") from error
    except RuntimeError as error:
        raise ResourceError(f"the graph cannot be read from {source}: it is encrypted") from error


def _write(target: Path, content: bytes) -> None:
    """Write a file atomically, because two processes may do so at the same time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(content)
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
