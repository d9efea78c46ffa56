# SPDX-License-Identifier: Apache-2.0
"""The files to check: a published folder, or single files of one, read once."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from urllib.parse import unquote

import pyoxigraph as ox

from kgbench.errors import PublicationRefused, ResourceError
from kgbench.publish import dumps
from kgbench.publish.checks.report import Fault
from kgbench.publish.folder import contents, is_state
from kgbench.publish.signing import CLAIMS, KEYS, SIGNATURE, SIGNED, SUMS
from kgbench.validation import Data
from kgbench.vocab import DCAT

MAX_BYTES = 8 << 30
"""The default limit for the unpacked dumps of a publication (bytes)."""

_LARGE = 1 << 30  # bytes of unpacked dumps from which on the database is on disk
_SUM = re.compile(r"([0-9a-f]{64}) [ *](.+)", re.ASCII)
_MARKS = (SUMS, "publication.json", "catalog.ttl", "data")  # any of them marks a folder


class PublicationFiles:
    """The dumps (``quads``) and the catalogue (``catalogue``) of a publication, in databases.

    ``stated`` has the catalogue's original statements, because a database normalises literals, and
    ``companions`` has those of claims, keys and signatures. ``problems`` are faults from reading.
    As a context manager it removes its temporary files. Raises
    :class:`~kgbench.errors.PublicationRefused` for dumps of more than ``max_bytes``.
    """

    def __init__(
        self, paths: list[Path], password: str | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self.password = password
        self.problems: list[Fault] = []
        self.unread: list[str] = []
        self.root = _folder(paths)
        #: The public files of the folder by path, sorted; links are not followed.
        self.files = {} if self.root is None else self._found(self.root)
        self.dumps = paths if self.root is None else self._dumps()
        self._stack = ExitStack()
        self.quads = self._database(max_bytes)
        self._file_of: dict[Any, str] = {}
        for path in self.dumps:
            self._load(path)
        self.stated = self._statements(("catalog.ttl", "void.ttl"))
        self.companions = self._statements(filter(_is_companion, self.files))
        self.catalogue = ox.Store()
        self.catalogue.extend(self.stated)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        del self.quads  # closes the database
        self._stack.close()

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

    def path_of(self, iri: str) -> str:
        """Return the path of the document of an IRI below the base, without outer slashes."""
        return unquote(iri.partition("#")[0].removeprefix(self.base or "")).strip("/")

    def text(self, name: str) -> str:
        """Return the text of a file; empty if there is none."""
        if name not in self.files:
            return ""
        return self.files[name].read_text(encoding="utf-8", errors="replace")

    def sums(self) -> Iterator[tuple[str, re.Match[str] | None]]:
        """Yield each line of SHA256SUMS with its checksum and path, or ``None`` if it has none."""
        yield from ((line, _SUM.fullmatch(line)) for line in self.text(SUMS).splitlines())

    def file_of(self, node: Any, store: ox.Store | None = None) -> str:
        """Return the file that describes a node, the first of several; empty if there is none."""
        if not isinstance(node, ox.NamedNode | ox.BlankNode):
            return ""
        graphs = {q.graph_name for q in (store or self.quads).quads_for_pattern(node, None, None)}
        return min((self._file_of.get(graph, "") for graph in graphs), default="")

    def _statements(self, names: Iterable[str]) -> list[ox.Quad]:
        """Return the statements of RDF documents, each in a graph for its file.

        Files that cannot be read are added to the problems.
        """
        stated: list[ox.Quad] = []
        for name in names:
            graph = ox.NamedNode(f"urn:file:{name}")
            self._file_of[graph] = name
            try:
                found = dumps.quads(self.files[name]) if name in self.files else []
                stated += [ox.Quad(q.subject, q.predicate, q.object, graph) for q in found]
            except dumps.Unreadable as error:
                self._unreadable(name, error)
        return stated

    def _found(self, root: Path) -> dict[str, Path]:
        """Return the public files in the folder; what is no file is a problem."""
        files, others = contents(root)
        for name, kind in others.items():
            if not is_state(name):
                message = f"It is {kind}, but a publication has only files and folders."
                self.problems.append(Fault("readable", "", name, message, "Remove it."))
        return {name: path for name, path in files.items() if not is_state(name)}

    def _dumps(self) -> list[Path]:
        """Return the dumps in the folder; no quad is in two of them."""
        found = [
            path
            for name, path in self.files.items()
            if name.rpartition("/")[0] == "data" and dumps.parts(path)[0] == ".nq"
        ]
        return [path for path in found if not path.name.startswith("all.")] or found

    def _database(self, max_bytes: int) -> ox.Store:
        if dumps.refuse_large(self.dumps, self.password, max_bytes) < _LARGE:
            return ox.Store()
        folder = self._stack.enter_context(tempfile.TemporaryDirectory(prefix="kgbench-check-"))
        return ox.Store(folder)

    def _load(self, path: Path) -> None:
        name = self.name(path)
        graphs_before = self._graphs()
        graph = ox.NamedNode(f"urn:file:{path.name}")
        try:
            dumps.load(self.quads, path, self.password, graph)
        except PublicationRefused:
            self.unread.append(name)
        except dumps.Unreadable as error:
            self._unreadable(name, error)
        for added in self._graphs() - graphs_before:
            self._file_of[added] = name

    def _graphs(self) -> set[Any]:
        """Return all graphs that are not empty, including the default graph."""
        default = ox.DefaultGraph()
        has_default = any(True for _ in self.quads.quads_for_pattern(None, None, None, default))
        return {*self.quads.named_graphs(), *([default] if has_default else [])}

    def _unreadable(self, name: str, error: Exception) -> None:
        fault = Fault("readable", "", name, f"The file {error}.", "Publish again.")
        self.problems.append(fault)


def _is_companion(name: str) -> bool:
    documents = (f"{CLAIMS}.ttl", KEYS, SIGNATURE)
    return name in documents or name.startswith((f"{CLAIMS}/", f"{SIGNED}/"))


def _folder(paths: list[Path]) -> Path | None:
    """Return the folder to check; ``None`` if ``paths`` are files.

    Raises :class:`~kgbench.errors.ResourceError` if they are neither.
    """
    missing = [path for path in paths if not path.exists()]
    if missing:
        raise ResourceError(f"there is nothing to check at {missing[0]}")
    folders = [path for path in paths if path.is_dir()]
    if not folders:
        for path in paths:
            if dumps.parts(path)[0] not in dumps.FORMATS:
                raise ResourceError(
                    f"{path} is not an RDF file by its name: .nq, .trig, .ttl, .nt and .jsonld "
                    "are checked, also packed as .zst, .gz or .zip"
                )
        return None
    if len(paths) > 1:
        raise ResourceError("name one published folder to check, or files, but not both")
    if not any((folders[0] / name).exists() for name in _MARKS):
        raise ResourceError(
            f"{folders[0]} is not a publication: it has none of {', '.join(_MARKS)}; name the "
            "folder that kgbench publish --out wrote"
        )
    return folders[0].resolve()
