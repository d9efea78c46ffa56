# SPDX-License-Identifier: Apache-2.0
"""Sequence of found dialogues, read lazily from the store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, overload

from kgbench.model import Dialogue
from kgbench.record.dialogues import dialogues
from kgbench.store.protocol import Store
from kgbench.tables import Table
from kgbench.tables.rendering import as_html

if TYPE_CHECKING:
    from kgbench.api.connection import Connection


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
