# SPDX-License-Identifier: Apache-2.0
"""Exercises that write triples: updates of a world, and graphs to be built from it.

An exercise has the form of a question (:mod:`kgbench.worlds.questions`): conditions select the
things that it is about. The head of its query has one template per line (``DELETE { ... }``). The
written triples are computed from the templates, without a copy of the world.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Final

from kgbench.worlds import questions
from kgbench.worlds.clauses import Clause, Form, Question, prefixed_name
from kgbench.worlds.generator import Instance
from kgbench.worlds.model import NAMESPACE, Property
from kgbench.worlds.questions import MOST_ROWS, QuestionSheet

TARGET: Final = f"{NAMESPACE}target/"
PREFIXES: Final = {**questions.PREFIXES, "t": TARGET}
MOST_TRIPLES: Final = 400
_WHERE: Final = " WHERE {\n"
_GRAPH: Final = re.compile(r"GRAPH \S+ \{ (.*) \}")
_VALUE: Final = re.compile(r"(?<=[<>+]= )(?:[0-9]+|\"[0-9-]+\")|(?<=\?old \+ )[0-9]+")

Row = tuple[str, ...]


class WritingSheet(QuestionSheet):
    """A sequence of different exercises of one level about a world."""

    FORMS: ClassVar[Mapping[int, tuple[str, ...]]]
    """The forms of exercises by level."""

    def _is_new(self, row: Row) -> bool:  # noqa: ARG002 - of updates
        """Return whether a written triple (subject, predicate, object) counts as a change."""
        return True

    def _recipe(self) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
        features, _ = super()._recipe()
        return features, self.FORMS[self._level]

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        self._witness = witness
        return super()._clauses(kind, witness, features)

    def _put(self, kind: str, parts: Sequence[Clause], form: Form) -> Question:
        question = super()._put(kind, parts, form)
        return question._replace(query=question.query.removeprefix("SELECT "))

    def _sound(self, question: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        """Return whether few triples are written, each part matters, and no thing is named."""
        rows = self._rows(question.query)
        things = self._things(question.query)
        if not 1 <= len(rows) <= MOST_TRIPLES or len(things) > MOST_ROWS:
            return False
        if any(label in question.words for label in things):
            return False
        return self._all_differ(rows, self._wrong(kind, parts, form))

    def _key(self, drawn: Question) -> Hashable:
        """Return a key that equivalent exercises share, such as those that write other values."""
        where = drawn.query.partition(_WHERE)[2]
        return drawn.features, _VALUE.sub("", where), tuple(self._things(drawn.query))

    def _rows(self, query: str) -> list[Row]:
        """Return the triples that a query writes, with all blank nodes alike."""
        head, _, where = query.partition(_WHERE)
        rows: set[Row] = set()
        for line in head.splitlines():
            operation, _, template = line.partition(" { ")
            template = _GRAPH.sub(r"\1", template.removesuffix(" }"))
            built = {_row(triple) for triple in self._ask(f"CONSTRUCT {{ {template} }}", where)}
            kept = built if operation == "DELETE" else {row for row in built if self._is_new(row)}
            rows |= {(operation, *row) for row in kept}
        # Triples that are deleted and inserted again do not change.
        unchanged = {row[1:] for row in rows if row[0] == "DELETE"} & {
            row[1:] for row in rows if row[0] == "INSERT"
        }
        return sorted(row for row in rows if row[1:] not in unchanged or "GRAPH" in head)

    def _things(self, query: str) -> list[str]:
        """Return the labels of the things that match the conditions of an exercise."""
        where = query.partition(_WHERE)[2].rpartition("}")[0]
        solutions = self._ask("SELECT DISTINCT ?label", f"{where} ?x rdfs:label ?label . }}")
        return sorted(row[0].value for row in solutions)

    def _ask(self, head: str, where: str) -> Any:
        return self._store.query(f"{head}{_WHERE}{where}", prefixes=PREFIXES)

    # Parts of forms

    def _term(self, prop: Property) -> str:
        return prefixed_name(self._graph, prop.iri)

    def _links(self, kind: str, used_properties: set[str]) -> list[Property]:
        """Return the unused link properties of a class, in random order."""
        return [prop for prop in self._free(kind, used_properties) if prop.links]

    def _other(self, kind: str, but: Sequence[str]) -> Instance | None:
        """Draw a thing of a class with a label that is not in ``but``."""
        candidates = [thing for thing in self._graph.instances_of(kind) if thing.label not in but]
        return self._chance.one(candidates) if candidates else None


def _row(triple: Any) -> Row:
    return tuple("_:" if str(term).startswith("_:") else str(term) for term in triple)
