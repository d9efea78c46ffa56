# SPDX-License-Identifier: Apache-2.0
"""New stores begin as copies of an empty one, instead of loading all declarations.

Loading takes 0.2 seconds of processor time, a copy with hard links a hundredth, and 0.1 seconds in
memory, a copy half of that. If a test changes the declarations, a store notices that as always, and
loads them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgbench.store import EmbeddedStore, declared

_LOAD, _OPEN = declared.load, EmbeddedStore.__init__


@pytest.fixture(scope="session", autouse=True)
def template_stores(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Copy an empty store to each empty folder in which a store is opened."""

    @cache
    def template() -> Path:
        folder = tmp_path_factory.mktemp("template") / "store"
        store = EmbeddedStore.__new__(EmbeddedStore)
        _OPEN(store, folder)
        store.close()
        shutil.rmtree(folder / "snapshots")
        return folder

    @cache
    def quads() -> list[ox.Quad]:
        return list(ox.Store.read_only(str(template() / "data")))

    def load(store: EmbeddedStore) -> None:
        if store.location == "memory:":
            store._store.bulk_extend(quads())
        _LOAD(store)

    def opened(self: EmbeddedStore, path: Path | None) -> None:
        if path is not None and declared.load is load and not path.exists():
            with suppress(OSError):  # the store says what is wrong with its folder
                shutil.copytree(template(), path, copy_function=linked)
        _OPEN(self, path)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(declared, "load", load)
        patch.setattr(EmbeddedStore, "__init__", opened)
        yield


def linked(source: str, target: str) -> None:
    """Link a table, which never changes, and copy any other file."""
    (os.link if source.endswith(".sst") else shutil.copy2)(source, target)
