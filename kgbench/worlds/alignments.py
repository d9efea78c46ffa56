# SPDX-License-Identifier: Apache-2.0
"""Two ontologies, of which the second is the first with other names, and what corresponds to what.

Where labels do not tell it, axioms and facts do: no other mapping of what has no telling label
keeps them (:func:`kgbench.worlds.matching.rigid`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.reasoning.coherence import incoherence
from kgbench.vocab import OWL, RDFS, XSD
from kgbench.worlds.generator import Graph, World, made
from kgbench.worlds.matching import Row, rigid
from kgbench.worlds.model import NAMESPACE, synonyms
from kgbench.worlds.naming import Chance
from kgbench.worlds.schemas import LABEL, Schema, renamed
from kgbench.worlds.spellings import Spelling, line, written

VERSION: Final = 1
"""Rises when the same seed gives other ontologies."""
LEVELS: Final = 5
FIRST: Final = NAMESPACE
SECOND: Final = f"{NAMESPACE}other/"
_ALIKE, _WORDS, _MISSING, _NONE, _TRAPS = range(1, LEVELS + 1)
_TRIES: Final = 400
_OTHERS: Final = {"owl": str(OWL), "rdfs": str(RDFS), "xsd": str(XSD)}
_SPELLINGS: Final = (
    Spelling({"a": FIRST, **_OTHERS}, bare=True),
    Spelling({"b": SECOND, **_OTHERS}, bare=True),
)
_WORD: Final = re.compile(r"[A-Za-z]+")


class Alignment(NamedTuple):
    """Two ontologies as texts and as N-Triples, and the axioms that align them, as N-Triples.

    ``misleading`` are the labels that an entity of each has that do not correspond.
    """

    texts: tuple[str, str]
    triples: tuple[tuple[str, ...], tuple[str, ...]]
    axioms: tuple[str, ...]
    misleading: tuple[str, ...]


@lru_cache(maxsize=256)
def alignment(world: World, level: int, number: int) -> Alignment:
    """Return the alignment with a number, from 0.

    Raises :class:`~kgbench.errors.TaskError` if no attempt is good.
    """
    for attempt in range(_TRIES):
        seed = (VERSION, world.seed, world.instances, "alignments", level, number, attempt)
        found = _Drawing(made(world), level, Chance(*seed)).alignment()
        if found is not None:
            return found
    raise TaskError(f"no two ontologies of level {level} were found in {_TRIES} attempts")


class _Drawing:
    def __init__(self, graph: Graph, level: int, chance: Chance) -> None:
        self._graph, self._level, self._chance = graph, level, chance
        self._schema = Schema(graph, level, chance)
        model = graph.model
        self._words = {iri: kind.label for iri, kind in model.kinds.items()}
        self._words |= {each.iri: each.label for each in model.properties}
        self._silent: set[str] = set()
        self._misleading: list[str] = []
        if level == _MISSING:
            shared = self._schema.shared
            number = len(shared)
            self._silent = set(chance.some(shared, chance.between(number // 3, 2 * number // 3)))
        elif level >= _NONE:
            self._silent = set(self._schema.shared)

    def alignment(self) -> Alignment | None:
        """Return what was drawn; ``None`` if something may correspond to something else, too."""
        schema = self._schema
        hidden = {f"<{iri}>": f"_:{place}" for place, iri in enumerate(sorted(self._silent))}
        # What holds of both, aligned, holds of one ontology with all axioms.
        if not rigid(renamed(schema.common, hidden)) or incoherence(_parsed(schema.everything)):
            return None
        labels = self._second_labels()
        names = (self._first_names(), self._second_names(labels))
        told = (
            {iri: self._words[iri] for iri in (*schema.shared, *schema.strangers[0])},
            labels,
        )
        graphs = [
            self._labelled(renamed(schema.rows(place), names[place]), names[place], told[place])
            for place in (0, 1)
        ]
        axioms = [
            (names[0][f"<{iri}>"], f"<{_equivalent(iri, self._graph)}>", names[1][f"<{iri}>"])
            for iri in schema.shared
        ]
        lines = [tuple(sorted(map(line, rows))) for rows in graphs]
        aligned = tuple(sorted(map(line, axioms)))
        texts = [
            written(rows, spelling, [], self._chance)
            for rows, spelling in zip(graphs, _SPELLINGS, strict=True)
        ]
        return Alignment(
            (texts[0], texts[1]), (lines[0], lines[1]), aligned, tuple(self._misleading)
        )

    def _second_labels(self) -> dict[str, str]:
        """Return the labels in the second ontology, of what has one."""
        own = [*self._schema.shared, *self._schema.strangers[1]]
        if self._level == _NONE:
            return {}
        if self._level == _ALIKE:
            return {iri: self._alike(iri) for iri in own}
        found = {iri: self._chance.one(synonyms()[iri]) for iri in own}
        if self._level == _MISSING:
            return {iri: label for iri, label in found.items() if iri not in self._silent}
        if self._level == _TRAPS:
            found |= self._traps()
        return found

    def _alike(self, iri: str) -> str:
        """Return a label in a like form."""
        label = self._words[iri]
        forms = [label, label.title(), label.replace(" ", "_"), label.upper()]
        if iri in self._graph.model.kinds:
            forms.append(self._graph.model.kinds[iri].plural)
        else:
            forms.append(f"has {label}")
        return self._chance.one(forms)

    def _traps(self) -> dict[str, str]:
        """Labels of the first ontology for something else: two by two they are exchanged."""
        properties = self._schema.properties
        sorts = (
            (self._schema.kinds, 1),
            ([one.iri for one in properties if one.links], 2),
            ([one.iri for one in properties if not one.links], 1),
        )
        found: dict[str, str] = {}
        for among, number in sorts:
            chosen = self._chance.some(among, 2 * number)
            for one, other in zip(chosen[::2], chosen[1::2], strict=False):
                found |= {one: self._words[other], other: self._words[one]}
        self._misleading = sorted(found.values())
        return found

    def _first_names(self) -> dict[str, str]:
        things = self._numbered("a", FIRST)
        return {f"<{iri}>": f"<{name}>" for iri, name in self._graph.terms.items()} | things

    def _second_names(self, labels: dict[str, str]) -> dict[str, str]:
        own = [*self._schema.shared, *self._schema.strangers[1]]
        numbers = self._chance.shuffled(range(1, 100))
        found = self._numbered("b", SECOND)
        for iri, number in zip(own, numbers, strict=False):
            is_class = iri in self._graph.model.kinds
            name = f"{'c' if is_class else 'p'}{number}"
            if self._graph.world.names == "natural" and iri in labels:
                first, *others = _WORD.findall(labels[iri].replace("_", " ").lower())
                name = "".join([first, *(word.capitalize() for word in others)])
                name = name[0].upper() + name[1:] if is_class else name
            found[f"<{iri}>"] = f"<{SECOND}{name}>"
        return found

    def _numbered(self, letter: str, namespace: str) -> dict[str, str]:
        """Names for individuals."""
        places = self._chance.shuffled(range(1, len(self._schema.things) + 1))
        things = zip(self._schema.things, places, strict=True)
        return {f"<{iri}>": f"<{namespace}{letter}{place}>" for iri, place in things}

    def _labelled(
        self, rows: frozenset[Row], names: dict[str, str], labels: dict[str, str]
    ) -> frozenset[Row]:
        said = {(names[f"<{iri}>"], LABEL, f'"{text}"@en') for iri, text in labels.items()}
        things = self._schema.things.items()
        return rows | said | {(names[f"<{iri}>"], LABEL, f'"{text}"') for iri, text in things}


def _equivalent(iri: str, graph: Graph) -> str:
    return str(OWL.equivalentClass if iri in graph.model.kinds else OWL.equivalentProperty)


def _parsed(rows: frozenset[Row]) -> list[ox.Triple]:
    text = "".join(f"{line(row)} .\n" for row in sorted(rows))
    return [quad.triple for quad in ox.parse(text, ox.RdfFormat.N_TRIPLES)]
