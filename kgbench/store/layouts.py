# SPDX-License-Identifier: Apache-2.0
"""The layout version of a store: the current one is opened, all others are refused."""

from __future__ import annotations

from functools import cache

from kgbench.errors import LayoutError
from kgbench.rdf.declared import shipped
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import KGB


@cache
def current() -> int:
    """Return the layout version that this code writes, from ``store/layout.ttl``."""
    declared = shipped("store", "layout.ttl")
    for node in declared.subjects(KGB.layoutVersion):
        return declared.required_as(node, KGB.layoutVersion, int)
    raise LayoutError("store/layout.ttl declares no kgb:layoutVersion")


def version(store: Store) -> int | None:
    """Return the layout version that a store records; ``None`` if it is empty.

    Raises :class:`~kgbench.errors.LayoutError` for several versions, or one that is no number.
    """
    rows = list(store.query(fill("layout-version.rq", catalogue=store.iris.catalogue)))
    if not rows:
        return None
    versions = {row["version"].value for row in rows}
    if len(versions) != 1 or not next(iter(versions)).isdecimal():
        raise LayoutError(
            f"the store {store.location} records the layouts {', '.join(sorted(versions))}: "
            "restore it from a backup"
        )
    return int(versions.pop())


def check(store: Store) -> int | None:
    """Return the result of :func:`version`; raises :class:`LayoutError` for other layouts."""
    number = version(store)
    if number is None or number == current():
        return number
    raise LayoutError(
        f"the store {store.location} has layout {number}, this kgbench reads layout {current()}: "
        "finish its runs with the version that wrote it, or export them with that one (`kgbench "
        "export llm-kg-bench --redact none`) and import the files into a new store (`kgbench "
        "import llm-kg-bench`)"
    )
