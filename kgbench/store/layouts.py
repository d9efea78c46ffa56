# SPDX-License-Identifier: Apache-2.0
"""The layout version of a store: read where it is ours, migrated where it is older, else refused.

A layout version has a migration to the next one: the update ``store/migrate-N.ru`` makes layout N
into N + 1, and says so of the store in the same request. The owner of a store applies what is
missing, in order, before anything else is read. A reader changes nothing, and refuses.
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
    """The layout version that this code writes: what ``store/layout.ttl`` says."""
    declared = shipped("store", "layout.ttl")
    for node in declared.subjects(KGB.layoutVersion):
        return declared.needed(node, KGB.layoutVersion, int)
    raise LayoutError("store/layout.ttl declares no kgb:layoutVersion")


@cache
def migrations() -> Mapping[int, str]:
    """The templates of all migrations, by the layout version that each starts from."""
    found = resources.folder("store").glob("migrate-*.ru")
    return {int(path.stem.partition("-")[2]): path.name for path in found}


def version(store: _Store) -> int | None:
    """The layout version that a store says of itself; ``None`` where it is empty."""
    rows = list(store.query(fill("layout-version.rq", catalogue=store.iris.catalogue)))
    if not rows:
        return None
    found = {row["version"].value for row in rows}
    if len(found) != 1 or not next(iter(found)).isdecimal():
        raise LayoutError(
            f"the store {store.location} says of itself that it has the layouts "
            f"{', '.join(sorted(found))}: it was migrated halfway, restore it from a backup"
        )
    return int(found.pop())


def check(store: _Store) -> int | None:
    """The version as :func:`version` gives it; :class:`LayoutError` where it cannot be read."""
    found = version(store)
    if found is None or found == current():
        return found
    if found < current() and _chain(found, current()) is not None:
        raise LayoutError(
            f"the store {store.location} has the older layout {found}, this kgbench reads layout "
            f"{current()}: `kgbench store migrate` brings it up to date (make a backup before)"
        )
    raise _refused(store, found)


def bring_up(store: _Owned) -> list[int]:
    """Migrate a store that one owns to the current layout; the versions that it went through."""
    found = version(store)
    if found is None or found == current():
        return []
    steps = _chain(found, current())
    if steps is None:
        raise _refused(store, found)
    catalogue = store.iris.catalogue
    for step in steps:
        after = fill("layout-set.ru", catalogue=catalogue, version=integer(step + 1))
        store.update(f"{fill(migrations()[step], catalogue=catalogue)} ;\n{after}")
    return [step + 1 for step in steps]


def _chain(found: int, wanted: int) -> list[int] | None:
    """The migrations to apply, or ``None`` where one is missing or the store is newer."""
    if found > wanted or any(step not in migrations() for step in range(found, wanted)):
        return None
    return list(range(found, wanted))


def _refused(store: _Store, found: int) -> LayoutError:
    return LayoutError(
        f"the store {store.location} has layout {found}, this kgbench reads layout {current()}: "
        "open it with the version that wrote it, or import its dump"
    )
