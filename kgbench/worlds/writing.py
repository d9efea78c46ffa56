# SPDX-License-Identifier: Apache-2.0
"""Exercises that write triples: changes of a world, and graphs to be built from it.

An exercise is put like a question (:mod:`kgbench.worlds.questions`): conditions say which things it
is about. The head of its query has a template a line (``DELETE { ... }``), so that what the query
writes follows from its templates, without a copy of the world.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from kgbench.worlds import questions
from kgbench.worlds.clauses import Clause, shown
from kgbench.worlds.generator import Instance
from kgbench.worlds.model import NAMESPACE, Property
from kgbench.worlds.questions import MOST_ROWS, Form, Question, Sheet

TARGET: Final = f"{NAMESPACE}target/"
PREFIXES: Final = {**questions.PREFIXES, "t": TARGET}
MOST_TRIPLES: Final = 400
_WHERE: Final = " WHERE {\n"
_GRAPH: Final = re.compile(r"GRAPH \S+ \{ (.*) \}")
_VALUE: Final = re.compile(r"(?<=[<>+]= )(?:[0-9]+|\"[0-9-]+\")|(?<=\?old \+ )[0-9]+")

Row = tuple[str, ...]


class WritingSheet(Sheet):
    """Different exercises of one level about a world."""

    FORMS: ClassVar[Mapping[int, tuple[str, ...]]]
    """The forms of exercises by level."""

    @abstractmethod
    def _is_new(self, row: Row) -> bool:
        """Return whether a triple that is written (subject, predicate, object) counts."""

    def _recipe(self) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
        features, _ = super()._recipe()
        return features, self.FORMS[self._level]

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        self._witness = witness
        return super()._clauses(kind, witness, features)

    def _put(self, kind: str, parts: Sequence[Clause], form: Form, *, above: bool) -> Question:
        made = super()._put(kind, parts, form, above=above)
        return made._replace(query=made.query.removeprefix("SELECT "))

    def _sound(self, made: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        """Whether something is written, not too much, and by every clause; and none is named."""
        rows = self._rows(made.query)
        things = self._things(made.query)
        if not 1 <= len(rows) <= MOST_TRIPLES or len(things) > MOST_ROWS:
            return False
        if any(label in made.words for label in things):
            return False
        return self._all_matter(rows, kind, parts, form)

    def _key(self, found: Question) -> object:
        """What two exercises share that are one: which values are written does not matter."""
        where = found.query.partition(_WHERE)[2]
        return found.features, _VALUE.sub("", where), tuple(self._things(found.query))

    def _rows(self, query: str) -> list[Row]:
        """Return what a query writes: the templates that it fills, blank nodes aside."""
        head, _, where = query.partition(_WHERE)
        rows: set[Row] = set()
        for line in head.splitlines():
            word, _, template = line.partition(" { ")
            template = _GRAPH.sub(r"\1", template.removesuffix(" }"))
            built = {_written(one) for one in self._ask(f"CONSTRUCT {{ {template} }}", where)}
            kept = built if word == "DELETE" else {row for row in built if self._is_new(row)}
            rows |= {(word, *row) for row in kept}
        # What is removed and added again stays.
        stays = {row[1:] for row in rows if row[0] == "DELETE"} & {
            row[1:] for row in rows if row[0] == "INSERT"
        }
        return sorted(row for row in rows if row[1:] not in stays or "GRAPH" in head)

    def _things(self, query: str) -> list[str]:
        """Return the labels of the things that an exercise is about."""
        where = query.partition(_WHERE)[2].rpartition("}")[0]
        found = self._ask("SELECT DISTINCT ?label", f"{where} ?x rdfs:label ?label . }}")
        return sorted(row[0].value for row in found)

    def _ask(self, head: str, where: str) -> Any:
        return self._store.query(f"{head}{_WHERE}{where}", prefixes=PREFIXES)

    # What forms are made of

    def _term(self, each: Property) -> str:
        return shown(self._graph, each.iri)

    def _links(self, kind: str, used: set[str]) -> list[Property]:
        """Return the properties that link things of a class, apart from the transitive one."""
        return [one for one in self._free(kind, used) if one.links and not one.transitive]

    def _other(self, kind: str, but: Sequence[str]) -> Instance | None:
        """Return a thing of a class with none of the labels ``but``."""
        among = [one for one in self._graph.of(kind) if one.label not in but]
        return self._chance.one(among) if among else None


def _written(triple: Any) -> Row:
    return tuple("_:" if str(term).startswith("_:") else str(term) for term in triple)
