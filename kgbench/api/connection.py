# SPDX-License-Identifier: Apache-2.0
"""The store behind the Python API, and what is read from it lazily: dialogues, tables of queries.

It is opened for reading, and for writing only while writing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, overload

import pyoxigraph as ox

from kgbench.errors import QueryError
from kgbench.model import Dialogue
from kgbench.rdf import lexer, queries
from kgbench.record.dialogues import dialogues
from kgbench.scores.selection import Selection, filled
from kgbench.store import open_reader, open_store
from kgbench.store.protocol import Store
from kgbench.tables import Column, Table, Value
from kgbench.tables.rendering import as_html
from kgbench.vocab import XSD

MEMORY = "memory:"
_KINDS: Mapping[str, Callable[[str], Value]] = {
    XSD.integer: int,
    XSD.double: float,
    XSD.decimal: float,
    XSD.boolean: lambda text: text in {"true", "1"},
}


class Connection:
    """A store that is opened on first use and reopened after a write.

    A store in memory stays open, because closing would lose it.
    """

    def __init__(self, location: str | None) -> None:
        self.location = location
        self._store: Store | None = None
        if location == MEMORY:
            self._store = open_store(location)

    @property
    def store(self) -> Store:
        """The store, open for reading; raises :class:`~kgbench.errors.StoreError`."""
        if self._store is None:
            self._store = open_reader(self.location)
        return self._store

    @contextmanager
    def reader(self) -> Iterator[Store]:
        """Open the current state of the store for reading; close it at the end unless in memory."""
        if self.location == MEMORY:
            yield self.store
            return
        with open_reader(self.location) as opened:
            yield opened

    @contextmanager
    def owned(self) -> Iterator[Store]:
        """Open the store for writing; raises :class:`~kgbench.errors.StoreInUse`."""
        if self.location == MEMORY:
            yield self.store
            return
        self.close()
        with open_store(self.location) as opened:
            yield opened

    def close(self) -> None:
        """Close the store; reading opens it again, unless it was in memory."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def __del__(self) -> None:
        # Notebooks leave results open, and Python would warn about the lock file of the reader.
        self.close()


def run_declared(
    store: Store, name: str, parameters: Mapping[str, Any], chosen: Callable[[], Selection]
) -> Table:
    """Run the declared query ``name``, with the selected graphs filled in."""
    query = queries.load(name)
    rows = queries.run(store, name, **filled(query, parameters, chosen))
    return _table(query.label, rows, (name,))


def ask(store: Store, text: str, *, prefixed: bool = True) -> Any:
    """Execute a query as :func:`kgbench.rdf.queries.ask` does, unless it contains SERVICE.

    The engine would send parts of such a query to other machines; ``kgbench serve`` refuses it too.
    """
    if lexer.refusal(text) == lexer.ASKS_ELSEWHERE:
        raise QueryError(f"{lexer.ASKS_ELSEWHERE}; ask that endpoint itself")
    return queries.ask(store, text, prefixed=prefixed)


def is_empty(answer: Any) -> bool:
    """Return whether a result is false or has no rows; the first row of others is consumed."""
    if isinstance(answer, ox.QueryBoolean):
        return not answer
    return next(iter(answer), None) is None


def run_select(store: Store, text: str) -> Table:
    """Run a SELECT query; raises :class:`~kgbench.errors.QueryError` for other queries."""
    answer = ask(store, text)
    if not hasattr(answer, "variables"):
        raise QueryError("only a SELECT query has a table: use sparql() for ASK and CONSTRUCT")
    return _table("Answer", answer, ())


def _table(title: str, answer: Any, names: tuple[str, ...]) -> Table:
    columns = [variable.value for variable in answer.variables]
    return Table(
        title=title,
        columns=tuple(Column(name, name) for name in columns),
        rows=tuple(tuple(_value(row[name]) for name in columns) for row in answer),
        queries=names,
    )


def _value(term: Any) -> Value:
    """Convert a term to a Python value: integers, doubles, decimals and booleans, else text."""
    if term is None:
        return None
    if not isinstance(term, (ox.NamedNode, ox.Literal)):
        return str(term)
    kind = _KINDS.get(term.datatype.value) if isinstance(term, ox.Literal) else None
    return term.value if kind is None else kind(term.value)


class Dialogues(Sequence[Dialogue]):
    """Found dialogues in order; ``table`` lists them with score and outcome.

    Texts, calls and token counts are read from the store in batches when a dialogue is accessed, so
    that a long sequence needs little memory.
    """

    def __init__(self, connection: Connection, table: Table) -> None:
        self._connection = connection
        self.table = table

    @property
    def iris(self) -> list[str]:
        """The IRIs of the dialogues."""
        return [self._store.iris.base + str(path) for path in self.table.column("dialogue")]

    @property
    def _store(self) -> Store:
        return self._connection.store

    def __len__(self) -> int:
        return len(self.table.rows)

    def __iter__(self) -> Iterator[Dialogue]:
        return dialogues(self._store, self.iris)

    @overload
    def __getitem__(self, index: int) -> Dialogue: ...

    @overload
    def __getitem__(self, index: slice) -> list[Dialogue]: ...

    def __getitem__(self, index: int | slice) -> Dialogue | list[Dialogue]:
        chosen = self.iris[index]
        if isinstance(chosen, str):
            (dialogue,) = dialogues(self._store, [chosen])
            return dialogue
        return list(dialogues(self._store, chosen))

    def to_pandas(self) -> Any:
        """Return the table as a pandas DataFrame; see :meth:`kgbench.Table.to_pandas`."""
        return self.table.to_pandas()

    def _repr_html_(self) -> str:
        """Return the table as HTML for a notebook."""
        return as_html(self.table)
