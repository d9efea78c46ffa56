# SPDX-License-Identifier: Apache-2.0
"""The writing methods of read-only stores, which raise an error."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from kgbench.errors import StoreError
from kgbench.store.protocol import Block


class ReadOnly:
    """The writing methods of a :class:`~kgbench.store.protocol.Store` that is not owned."""

    location: str

    def write(self, blocks: Sequence[Block]) -> NoReturn:  # noqa: ARG002 - refused
        """Raise :class:`StoreError`: a reader does not own the store."""
        self._refuse()

    def bulk_load(self, blocks: Iterable[Block]) -> NoReturn:  # noqa: ARG002 - refused
        """Raise :class:`StoreError`: a reader does not own the store."""
        self._refuse()

    def drop(self, graphs: Sequence[str]) -> NoReturn:  # noqa: ARG002 - refused
        """Raise :class:`StoreError`: a reader does not own the store."""
        self._refuse()

    def update(self, text: str) -> NoReturn:  # noqa: ARG002 - refused
        """Raise :class:`StoreError`: a reader does not own the store."""
        self._refuse()

    def publish_soon(self) -> NoReturn:
        """Raise :class:`StoreError`: a reader does not own the store."""
        self._refuse()

    def settle(self) -> None:
        """Do nothing: a reader has written nothing."""

    def _refuse(self) -> NoReturn:
        raise StoreError(f"the store {self.location} was opened for reading")
