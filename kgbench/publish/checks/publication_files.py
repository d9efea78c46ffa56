# SPDX-License-Identifier: Apache-2.0
"""The files to check: a published folder, or single files of one, read once."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.publish.checks import file_reading
from kgbench.publish.checks.report import Fault
from kgbench.publish.signing import SUMS
from kgbench.validation import Data
from kgbench.vocab import DCAT, KGB, PROV

_LARGE = 50 << 20  # bytes of packed dumps from which on the database is on disk
_STATE = ".kgbench-publish"
_SUM = re.compile(r"([0-9a-f]{64}) [ *](.+)", re.ASCII)
_MARKS = (SUMS, "publication.json", "catalog.ttl", "data")  # any of them marks a folder


class PublicationFiles:
    """The dumps (``quads``) and the catalogue (``catalogue``) of a publication, in databases.

    ``stated`` has the catalogue's original statements, because a database normalises literals.
    ``problems`` are faults from reading. As a context manager it removes its temporary files.
    """

    def __init__(self, paths: list[Path], password: str | None = None) -> None:
        self.password = password
        self.problems: list[Fault] = []
        self.unread: list[str] = []
        self.root, self.dumps = _folder_and_dumps(paths)
        self._stack = ExitStack()
        self.quads = self._database()
        self.catalogue = ox.Store()
        self.stated: list[ox.Quad] = []
        self._file_of: dict[Any, str] = {}
        for path in self.dumps:
            self._load(path)
        if self.root is not None:  # tables are not in dumps
            for path in sorted((self.root / "leaderboard").glob("*.ttl")):
                self._load(path)
        for name in ("catalog.ttl", "void.ttl"):
            if self.root is not None and (self.root / name).is_file():
                self._describe(self.root / name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the databases."""
        del self.quads
        self._stack.close()

    @property
    def folder(self) -> Path:
        """The checked folder; there is none if single files are checked."""
        assert self.root is not None
        return self.root

    @cached_property
    def data(self) -> Data:
        """The dumps, for access node by node."""
        return Data(self.quads)

    @cached_property
    def base(self) -> str | None:
        """The base of the publication, from the IRI of its catalogue."""
        for quad in self.catalogue.quads_for_pattern(None, ox.NamedNode(DCAT.dataset), None):
            if isinstance(quad.subject, ox.NamedNode):
                return quad.subject.value.partition("#")[0]
        return None

    def name(self, path: Path) -> str:
        """Return a file's path within the folder."""
        if self.root is not None and path.is_relative_to(self.root):
            return path.relative_to(self.root).as_posix()
        return path.name

    @cached_property
    def files(self) -> dict[str, Path]:
        """All public files of the folder by path, sorted."""
        if self.root is None:
            return {}
        prefix_length = len(str(self.root)) + 1
        paths = {}
        for folder, folders, names in os.walk(self.root):
            if folder == str(self.root) and _STATE in folders:
                folders.remove(_STATE)
            relative = folder[prefix_length:].replace(os.sep, "/")
            for name in names:
                paths[f"{relative}/{name}" if relative else name] = Path(folder, name)
        return dict(sorted(paths.items()))

    def sums(self) -> Iterator[tuple[str, re.Match[str] | None]]:
        """Yield each line of SHA256SUMS with its checksum and path, or ``None`` if it has none."""
        if SUMS in self.files:
            content = self.files[SUMS].read_text(encoding="utf-8", errors="replace")
            yield from ((line, _SUM.fullmatch(line)) for line in content.splitlines())

    def path(self, iri: str) -> Path | None:
        """Return the path of the file at an IRI below the base, whether it exists or not."""
        if self.root is None or self.base is None or not iri.startswith(self.base):
            return None
        from urllib.parse import unquote

        target = (self.root / unquote(iri[len(self.base) :].partition("#")[0])).resolve()
        if not target.is_relative_to(self.root.resolve()):
            return None
        return target / "index.html" if target.is_dir() or iri.endswith("/") else target

    def file_of(self, node: Any, store: ox.Store | None = None) -> str:
        """Return the file that describes a node, the first of several; empty if there is none."""
        if not isinstance(node, ox.NamedNode | ox.BlankNode):
            return ""
        graphs = {q.graph_name for q in (store or self.quads).quads_for_pattern(node, None, None)}
        return min((self._file_of.get(graph, "") for graph in graphs), default="")

    def _database(self) -> ox.Store:
        if sum(path.stat().st_size for path in self.dumps) < _LARGE:
            return ox.Store()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kgbench-check-"))
        return ox.Store(folder)

    def _load(self, path: Path) -> None:
        name = self.name(path)
        graphs_before = self._graphs()
        graph = ox.NamedNode(f"urn:file:{path.name}")
        try:
            file_reading.load(self.quads, path, self.password, graph)
        except PublicationRefused:
            self.unread.append(name)
            return
        except file_reading.Unreadable as error:
            self.problems.append(_unreadable(name, error))
        for added in self._graphs() - graphs_before:
            self._file_of[added] = name

    def _graphs(self) -> set[Any]:
        """Return all graphs that are not empty, including the default graph."""
        default = ox.DefaultGraph()
        has_default = any(True for _ in self.quads.quads_for_pattern(None, None, None, default))
        return {*self.quads.named_graphs(), *([default] if has_default else [])}

    def _describe(self, path: Path) -> None:
        name = self.name(path)
        graph = ox.NamedNode(f"urn:file:{name}")
        self._file_of[graph] = name
        try:
            for quad in file_reading.quads(path):
                self.stated.append(ox.Quad(quad.subject, quad.predicate, quad.object, graph))
        except file_reading.Unreadable as error:
            self.problems.append(_unreadable(name, error))
        self.catalogue.extend(self.stated)


def _unreadable(name: str, error: Exception) -> Fault:
    return Fault("readable", "", name, f"The file {error}.", "Publish again.")


def _folder_and_dumps(paths: list[Path]) -> tuple[Path | None, list[Path]]:
    """Return the folder and its dumps, or the files; no quad is in two of them."""
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise ResourceError(f"there is nothing to check at {missing[0]}")
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        unknown = [
            path for path in paths if file_reading.parts(path)[0] not in file_reading.FORMATS
        ]
        if unknown:
            raise ResourceError(
                f"{unknown[0]} is not an RDF file by its name: .nq, .trig, .ttl, .nt and .jsonld "
                "are checked, also packed as .zst, .gz or .zip"
            )
        return None, paths
    if len(paths) > 1:
        raise ResourceError("name one published folder to check, or files, but not both")
    if not any((folders[0] / name).exists() for name in _MARKS):
        raise ResourceError(
            f"{folders[0]} is not a publication: it has none of {', '.join(_MARKS)}; name the "
            "folder that kgbench publish --out wrote"
        )
    folder = folders[0].resolve()  # as the paths of IRIs are, so that both have the same start
    dumps = sorted(p for p in (folder / "data").glob("*.nq*") if file_reading.parts(p)[0] == ".nq")
    parts = [path for path in dumps if not path.name.startswith("all.")]
    return folder, parts or dumps


def suites(published: PublicationFiles, *, protected: bool) -> list[ox.NamedNode]:
    """Return the suites whose dialogues are in the dumps: all, or only the protected ones."""
    data = published.data
    true = ox.Literal(value=True)
    nodes = [s for s in data.instances(ox.NamedNode(KGB.Suite)) if isinstance(s, ox.NamedNode)]
    used = ox.NamedNode(KGB.suite)
    nodes = [s for s in nodes if any(published.quads.quads_for_pattern(None, used, s))]
    if protected:
        nodes = [s for s in nodes if true in data.values(s, ox.NamedNode(KGB.protected))]
    return nodes


TEXT_VALUES = frozenset((PROV.value, KGB.originalBytes))
"""Properties whose values are texts of models and users."""
