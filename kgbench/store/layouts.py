# SPDX-License-Identifier: Apache-2.0
"""The layout version of a store: the current one is read, older ones are migrated, others refused.

Each layout version has a migration to the next one: the update ``store/migrate-N.ru`` converts
layout N to N + 1 and sets the version in the same request. The owner of a store applies the missing
migrations, in order, before it reads anything else. A reader refuses other versions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Protocol

from kgbench import resources
from kgbench.errors import LayoutError
from kgbench.rdf import integer
from kgbench.rdf.declared import shipped
from kgbench.store.iris import Iris
from kgbench.store.templates import fill
from kgbench.vocab import KGB


class _Store(Protocol):
    iris: Iris
    location: str

    def query(self, text: str) -> Any: ...


class _Owned(_Store, Protocol):
    def update(self, text: str) -> None: ...


@cache
def current() -> int:
    """Return the layout version that this code writes, from ``store/layout.ttl``."""
    declared = shipped("store", "layout.ttl")
    for node in declared.subjects(KGB.layoutVersion):
        return declared.required_as(node, KGB.layoutVersion, int)
    raise LayoutError("store/layout.ttl declares no kgb:layoutVersion")


@cache
def migrations() -> Mapping[int, str]:
    """Return the names of the migrations, by the layout version that each starts from."""
    paths = resources.folder("store").glob("migrate-*.ru")
    return {int(path.stem.partition("-")[2]): path.name for path in paths}


def version(store: _Store) -> int | None:
    """Return the layout version that a store records; ``None`` if it is empty."""
    rows = list(store.query(fill("layout-version.rq", catalogue=store.iris.catalogue)))
    if not rows:
        return None
    versions = {row["version"].value for row in rows}
    if len(versions) != 1 or not next(iter(versions)).isdecimal():
        raise LayoutError(
            f"the store {store.location} records the layouts {', '.join(sorted(versions))}: its "
            f"migration was interrupted, restore it from a backup"
        )
    return int(versions.pop())


def check(store: _Store) -> int | None:
    """Return the result of :func:`version`; raises :class:`LayoutError` for other layouts."""
    number = version(store)
    if number is None or number == current():
        return number
    if number < current() and _chain(number, current()) is not None:
        raise LayoutError(
            f"the store {store.location} has the older layout {number}, this kgbench reads layout "
            f"{current()}: `kgbench store migrate` brings it up to date (make a backup before)"
        )
    raise _refused(store, number)


def bring_up(store: _Owned) -> list[int]:
    """Migrate an owned store to the current layout, and return the versions after each step."""
    number = version(store)
    if number is None or number == current():
        return []
    steps = _chain(number, current())
    if steps is None:
        raise _refused(store, number)
    catalogue = store.iris.catalogue
    for step in steps:
        after = fill("layout-set.ru", catalogue=catalogue, version=integer(step + 1))
        store.update(f"{fill(migrations()[step], catalogue=catalogue)} ;\n{after}")
    return [step + 1 for step in steps]


def _chain(start: int, end: int) -> list[int] | None:
    """Return the migrations to apply, or ``None`` if one is missing or the store is newer."""
    if start > end or any(step not in migrations() for step in range(start, end)):
        return None
    return list(range(start, end))


def _refused(store: _Store, number: int) -> LayoutError:
    return LayoutError(
        f"the store {store.location} has layout {number}, this kgbench reads layout {current()}: "
        "open it with the version that wrote it, or import its dump"
    )
