# SPDX-License-Identifier: Apache-2.0
"""Short names of dialogues: the ends of their IRIs, such as ``2-fce231bb``, where they are unique.

Runs of one plan repeat the same ends; then the path below the base, with the run, is the name.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from kgbench.errors import NotRecorded
from kgbench.rdf import terms
from kgbench.store.protocol import Store
from kgbench.store.templates import fill

_LISTED = 5


def find_dialogue(store: Store, name: str) -> str:
    """Return the IRI of the dialogue called ``name``: an IRI, a path below the base, or an end.

    IRIs and paths are not looked up. Raises :class:`~kgbench.errors.NotRecorded` if no dialogue, or
    more than one, has this end.
    """
    if "/" in name:
        return name if "://" in name else store.iris.base + name.lstrip("/")
    found = [iri for _, iri in _called(store, [name])]
    if len(found) == 1:
        return found[0]
    if not found:
        raise NotRecorded(f"no dialogue is called '{name}'; 'kgbench dialogues' lists their names")
    paths = sorted(iri.removeprefix(store.iris.base) for iri in found)
    more = f" and {len(paths) - _LISTED} more" if len(paths) > _LISTED else ""
    raise NotRecorded(
        f"'{name}' is the end of {len(paths)} dialogues: {', '.join(paths[:_LISTED])}{more}"
    )


def short_names(store: Store, paths: Iterable[str]) -> dict[str, str]:
    """Return the shortest names of dialogues by path below the base (or IRI)."""
    ends = {path: path.rpartition("/")[2] for path in paths}
    named = itertools.groupby(_called(store, set(ends.values())), lambda pair: pair[0])
    unique = {name for name, pairs in named if len(list(pairs)) == 1}
    return {path: end if end in unique else path for path, end in ends.items()}


def _called(store: Store, names: Iterable[str]) -> list[tuple[str, str]]:
    """Return the names and IRIs of the dialogues with these names, sorted."""
    literals = ", ".join(map(terms.string, sorted(names)))
    if not literals:
        return []
    rows = store.query(fill("dialogues-called.rq", names=literals))
    return sorted({(row["name"].value, row["dialogue"].value) for row in rows})
