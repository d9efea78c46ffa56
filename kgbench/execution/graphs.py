# SPDX-License-Identifier: Apache-2.0
"""Graphs of cases: Turtle text, or the name of a graph that is installed in a file.

A child process cannot open files once it is locked down. Therefore the files of installed graphs
are opened before, and read when a query first needs them.
"""

from __future__ import annotations

import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Generic, NamedTuple, TypeVar

from kgbench.characters import BOM
from kgbench.errors import EvaluationError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FORMATS = {
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
    ".jsonld": "json-ld",
}
_KEPT = 8  # graphs that are kept regardless of their size
_KEPT_SIZE = 40_000_000  # characters of all graphs up to which more are kept

Loaded = TypeVar("Loaded")


class GraphText(NamedTuple):
    """A graph as a document: its text and its format."""

    text: str
    rdf_format: str


class InstalledGraphs:
    """The graphs that cases can name, as open files; ``paths`` has (name, path) pairs."""

    def __init__(self, paths: Iterable[tuple[str, str]] = ()) -> None:
        self._open: dict[str, tuple[int, str]] = {}
        for name, path in paths:
            rdf_format = _FORMATS.get(PurePath(path).suffix.lower())
            if rdf_format is None:
                raise EvaluationError(
                    f"the graph '{name}' cannot be read from {path}: "
                    f"its name ends in none of {', '.join(_FORMATS)}"
                )
            try:
                self._open[name] = (os.open(path, os.O_RDONLY), rdf_format)
            except OSError as error:
                raise EvaluationError(f"the graph '{name}' cannot be read: {error}") from error

    def resolve(self, graph: str) -> GraphText:
        """Return the document for a text or name; :class:`EvaluationError` for an unknown name."""
        if graph in self._open:
            descriptor, rdf_format = self._open[graph]
            size = os.fstat(descriptor).st_size
            text = os.pread(descriptor, size, 0).decode("utf-8")
            return GraphText(text.removeprefix(BOM), rdf_format)
        if len(graph) < 256 and _NAME.fullmatch(graph):  # noqa: PLR2004 - no file name is longer
            known = ", ".join(sorted(self._open)) or "none"
            raise EvaluationError(f"the graph '{graph}' is not installed (installed: {known})")
        return GraphText(graph.removeprefix(BOM), "turtle")

    def close(self) -> None:
        """Close the files."""
        for descriptor, _ in self._open.values():
            os.close(descriptor)
        self._open.clear()


class GraphCache(Generic[Loaded]):
    """An LRU cache of graphs in the form in which an engine queries them."""

    def __init__(self, installed: InstalledGraphs, load: Callable[[GraphText], Loaded]) -> None:
        self._installed = installed
        self._load = load
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._size = 0

    def __getitem__(self, graph: str) -> Loaded:
        # The text is the key: str caches its hash, and equal texts are mostly the same object.
        loaded = self._loaded.get(graph)
        if loaded is None:
            loaded = self._load(self._installed.resolve(graph))
            self._loaded[graph] = loaded
            self._size += len(graph)
            while len(self._loaded) > _KEPT and self._size > _KEPT_SIZE:
                oldest, _ = self._loaded.popitem(last=False)
                self._size -= len(oldest)
        else:
            self._loaded.move_to_end(graph)
        return loaded
