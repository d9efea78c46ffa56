# SPDX-License-Identifier: Apache-2.0
"""Reading an Oxigraph database, whoever owns it and wherever it lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyoxigraph as ox

from kgbench.errors import QueryError, StoreError


class Database:
    """What all stores over an Oxigraph database do alike; ``_db`` is ``None`` once it is closed."""

    location: str
    _db: ox.Store | None

    @property
    def _store(self) -> ox.Store:
        if self._db is None:
            raise StoreError(f"the store {self.location} is closed")
        return self._db

    def query(self, text: str) -> Any:
        """See :meth:`~kgbench.store.protocol.Store.query`."""
        try:
            return self._store.query(text)
        except (SyntaxError, ValueError, RuntimeError) as error:
            raise QueryError(f"the query cannot be run: {error}") from error

    def graphs(self) -> list[str]:
        """See :meth:`~kgbench.store.protocol.Store.graphs`."""
        return sorted(graph.value for graph in self._store.named_graphs())

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """See :meth:`~kgbench.store.protocol.Store.triples`."""
        for quad in self._store.quads_for_pattern(None, None, None, ox.NamedNode(graph)):
            yield quad.triple
