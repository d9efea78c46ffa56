# SPDX-License-Identifier: Apache-2.0
"""What a data set says, compared with what the store says of the same IRIs.

IRIs of kgbench name one thing everywhere. Where two stores say different things of one IRI, one of
them has been altered, and nothing is written. A run may have grown since it was imported; it may
not have become another one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyoxigraph as ox

from kgbench.errors import ImportRefused
from kgbench.importers.rdf_contents import Contents, Home, normalised, recorded, statements
from kgbench.importers.rdf_sorting import Sorted
from kgbench.store.protocol import Store
from kgbench.vocab import KGB, RDFS, SKOS, compact

_MORE_IS_FINE = frozenset(
    (KGB.sourceModelId, KGB.metric, KGB.labelledTask, KGB.parameter, KGB.taskClass)
)
_WORDING = frozenset((RDFS.label, RDFS.comment, SKOS.definition, SKOS.scopeNote))


@dataclass(slots=True)
class Additions:
    """What a data set adds to a store.

    ``graphs`` has each graph that is new (``None``) or has grown (the missing statements, as
    N-Triples); ``described`` what the catalogue lacks.
    """

    graphs: dict[Home, list[str] | None]
    described: list[str]

    @property
    def loaded(self) -> list[Home]:
        """The graphs that the store does not have yet."""
        return [home for home, missing in self.graphs.items() if missing is None]


def new_descriptions(store: Store, sorted_: Sorted) -> list[str]:
    """What the catalogue of ``store`` lacks of the descriptions in a data set, as N-Triples.

    Raises :class:`ImportRefused` for a thing that both describe, but differently.
    """
    known: dict[str, set[ox.Triple]] = {}
    for triple in normalised(store.triples(store.iris.catalogue)):
        if isinstance(triple.subject, ox.NamedNode) and triple.subject.value in sorted_.catalogue:
            known.setdefault(triple.subject.value, set()).add(triple)
    found: list[str] = []
    for subject, said in sorted_.catalogue.items():
        there = known.get(subject)
        new = set(said)
        if there is not None:
            new = _additions(subject, there, new)
        found += sorted(f"{triple} ." for triple in new)
    return found


def _additions(subject: str, there: set[ox.Triple], said: set[ox.Triple]) -> set[ox.Triple]:
    found = set()
    for triple in said - there:
        predicate = triple.predicate.value
        if predicate in _MORE_IS_FINE:
            found.add(triple)
        elif predicate == KGB.caseData and _one_is_withheld(there | said):
            continue  # what the store has stays
        elif predicate not in _WORDING:
            raise ImportRefused(
                f"<{subject}> is described otherwise in the store "
                f"({compact(predicate)} {_short(triple.object)}): one IRI, two things"
            )
    return found


def _one_is_withheld(said: Iterable[ox.Triple]) -> bool:
    values = [str(t.object) for t in said if t.predicate.value == KGB.caseData]
    return any('{\\"sha256\\":\\"' in one or '{\\"commitment\\":\\"' in one for one in values)


def new_statements(store: Store, contents: Contents, home: Home) -> list[str]:
    """What a data set adds to a graph that ``store`` has, as N-Triples.

    Raises :class:`ImportRefused` where the data set lacks, or has otherwise, something that the
    store says there.
    """
    there = recorded(store.triples(home.graph))
    new = []
    for quad in statements(contents, home):
        if quad.triple in there:
            there.discard(quad.triple)
        else:
            new.append(f"{quad.triple} .")
    if there and new:
        one = min(there, key=str)
        raise ImportRefused(
            f"<{home.activity}> is in the store with other content ({_short(one.subject)} "
            f"{compact(one.predicate.value)}): one IRI, two records; was one of them altered, or "
            f"published with texts left out?"
        )
    return new


def _short(term: object) -> str:
    text = " ".join(str(term).split())
    return text if len(text) <= 80 else f"{text[:80]}..."  # noqa: PLR2004 - enough to know it
