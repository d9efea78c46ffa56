# SPDX-License-Identifier: Apache-2.0
"""What an import would make of the store, built beside it and held against the result shapes.

The shapes look around each thing they check. So what is new is put together with the catalogue of
the store, and with those of its runs that the new results refer to, in a database of its own. What
is loaded into the store afterwards is taken from there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf_clashes import Additions
from kgbench.importers.rdf_contents import Contents, Home, statements
from kgbench.rdf import integer
from kgbench.record.entries import registry_entry
from kgbench.store.protocol import Store
from kgbench.validation import Data, complaints, result_shapes
from kgbench.vocab import KGB

_SHOWN = 5
_TOLD = 10_000  # statements between two reports of progress


def prepare(
    store: Store,
    contents: Contents,
    additions: Additions,
    folder: Path,
    progress: Callable[[int], None] | None = None,
) -> ox.Store:
    """A database in ``folder`` with the graphs that are added to, as they will be.

    With them come those of the store that they refer to. ``progress`` is told how many statements
    have been copied.
    """
    found = ox.Store(str(folder))
    catalogue = ox.NamedNode(store.iris.catalogue)
    found.bulk_extend(_in(catalogue, store.triples(store.iris.catalogue)))
    entries = [*additions.described]
    for home in additions.loaded:
        entries += registry_entry(home.graph, home.activity)
        entries.append(f"<{home.graph}> <{KGB.changeStamp}> {integer(1)} .")
    found.bulk_load("\n".join(entries).encode("utf-8"), ox.RdfFormat.N_TRIPLES, to_graph=catalogue)
    copying = _Copying(store, contents, progress)
    for home in additions.graphs:
        found.bulk_extend(copying.graph(home))
    for graph in sorted(copying.referred):
        found.bulk_extend(_in(ox.NamedNode(graph), store.triples(graph)))
    return found


def validate(
    prepared: ox.Store, contents: Contents, additions: Additions, described: Iterable[str]
) -> None:
    """Raise :class:`ImportRefused` naming the first complaints of the shapes about what is new.

    ``described`` are the IRIs of the things that the data set describes.
    """
    data = Data(prepared)
    new = {home.activity for home in additions.graphs}
    graphs = {home.graph for home in additions.graphs}
    subjects = set(described)
    wrong: list[str] = []
    count = 0
    for complaint in complaints(data, result_shapes(data)):
        focus = str(getattr(complaint.focus, "value", complaint.focus))
        home = contents.home(focus)
        if (home is not None and home.activity in new) or focus in graphs or focus in subjects:
            count += 1
            if len(wrong) < _SHOWN:
                wrong.append(_short(str(complaint)))
    if wrong:
        more = f" (and {count - len(wrong)} more)" if count > len(wrong) else ""
        raise ImportRefused(
            f"the data do not conform to the shapes of results: {'; '.join(wrong)}{more}"
        )


class _Copying:
    """Copies the graphs of a data set, and notes which graphs of the store they refer to."""

    def __init__(
        self, store: Store, contents: Contents, progress: Callable[[int], None] | None
    ) -> None:
        self.referred: set[str] = set()
        self._contents = contents
        self._progress = progress
        self._copied = 0
        self._activities = {g.replace("/graph/", "/", 1): g for g in store.graphs()}
        self._starts = tuple(name for name in self._activities if name != store.iris.catalogue)

    def graph(self, home: Home) -> Iterator[ox.Quad]:
        name = ox.NamedNode(home.graph)
        for quad in statements(self._contents, home):
            value = quad.object
            if isinstance(value, ox.NamedNode) and value.value.startswith(self._starts):
                self._note(value.value)
            yield ox.Quad(quad.subject, quad.predicate, value, name)
            self._copied += 1
            if self._progress is not None and not self._copied % _TOLD:
                self._progress(self._copied)

    def _note(self, iri: str) -> None:
        """Remember the store's graph that an IRI belongs to, unless the data set brings it."""
        if self._contents.home(iri) is None:
            for name in self._starts:
                if iri == name or iri.startswith(name + "/"):
                    self.referred.add(self._activities[name])


def _in(graph: ox.NamedNode, triples: Iterable[ox.Triple]) -> Iterator[ox.Quad]:
    for triple in triples:
        yield ox.Quad(triple.subject, triple.predicate, triple.object, graph)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= 300 else f"{line[:300]}..."  # noqa: PLR2004 - enough to know it
