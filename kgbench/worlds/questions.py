# SPDX-License-Identifier: Apache-2.0
"""Questions about a world: in words, with the query that answers them, by level of difficulty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import clauses, generator
from kgbench.worlds.clauses import Clause, Place, shown
from kgbench.worlds.generator import Instance, World
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance

PREFIXES: Final = {"w": NAMESPACE, "rdf": str(RDF), "rdfs": str(RDFS), "xsd": str(XSD)}
LEVELS: Final = 5
MOST_ROWS: Final = 40
_TRIES: Final = 3_000
_NUMBER: Final = re.compile(r"(?<=[<>]= )(?:[0-9]+|\"[0-9-]+\")")

# By level: features of which one each is drawn, and forms of the question.
_SIMPLE: Final = ("link", "filter")
_ONE: Final = ("negation", "having", "values", "union", "language")
_DEEP: Final = ("path", "join")
_RECIPES: Final[dict[int, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]]] = {
    1: ((_SIMPLE,), ("names",)),
    2: ((("join", "filter"), _SIMPLE), ("names", "count")),
    3: ((_ONE, _SIMPLE), ("names", "count", "optional")),
    4: ((_DEEP, _ONE), ("grouped", "extreme", "sorted", "total")),
    5: (
        (_DEEP, ("negation", "having", "values"), ("filter", "union", "link")),
        ("grouped", "extreme", "sorted", "count", "names"),
    ),
}


class Question(NamedTuple):
    """A question: its words, its query (with :data:`PREFIXES`), and what the query makes use of.

    ``ordered`` says whether it asks for an order of rows.
    """

    words: str
    query: str
    features: tuple[str, ...]
    ordered: bool


class Form(NamedTuple):
    """How a question is put: words before and after its class and clauses, and the query.

    ``each_once`` says whether the query must take every thing once, however it fits. ``pattern``
    may repeat the conditions as ``$CONDITIONS``, on ``?y``.
    """

    before: str
    after: str
    select: str
    pattern: str = ""
    end: str = ""
    each_once: bool = False


class Sheet:
    """Different questions of one level about a world, made one after the other from a seed."""

    SEEDED: ClassVar = "questions"
    """What chance is seeded with beside the seed of the world and the level."""

    def __init__(self, world: World, level: int) -> None:
        self._graph = generator.made(world)
        self._level = level
        self._chance = Chance(generator.VERSION, world.seed, self.SEEDED, level)
        self._store = loaded(world)
        self._found: list[Question] = []
        self._known: set[object] = set()

    def question(self, number: int) -> Question:
        """Return the question with a number from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for so many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    def _next(self) -> Question:
        for _ in range(_TRIES):
            found = self._drawn()
            if found is None:
                continue
            key = self._key(found)
            if key not in self._known:
                self._known.add(key)
                return found
        raise TaskError(
            f"a world of {self._graph.world.instances} instances has no more than "
            f"{len(self._found)} questions of level {self._level}: ask for fewer cases, or for a "
            "world with more instances"
        )

    def _key(self, found: Question) -> object:
        """What two questions share that are one: bounds that let the same pass do not matter."""
        return _NUMBER.sub("", found.query), tuple(self._rows(found.query))

    def _recipe(self) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
        """Return the features of which one each is drawn, and the forms of questions."""
        return _RECIPES[self._level]

    def _drawn(self) -> Question | None:
        recipe, forms = self._recipe()
        chance, model = self._chance, self._graph.model
        leaf = chance.one(model.populated)
        # A class above asks for instances of several classes.
        kind = chance.one([*model.above(leaf)])
        witness = chance.one(self._graph.instances[leaf])
        features = [chance.one(names) for names in recipe]
        parts = self._clauses(kind, witness, features)
        if parts is None:
            return None
        name = chance.one(forms)
        form = getattr(self, f"_{name}")(kind, {one.about for one in parts})
        if form is None:
            return None
        above = model.below(kind) != [kind]
        made = self._put(kind, parts, form, above=above)
        tags = {*features, name, *(["hierarchy"] if above else [])}
        return (
            made._replace(features=tuple(sorted(tags)))
            if self._sound(made, kind, parts, form)
            else None
        )

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        """Return a clause for each feature that instances of a class can have, or ``None``."""
        parts: list[Clause] = []
        for number, feature in enumerate(features):
            part = self._clause(feature, Place(self._graph, witness, self._chance, number))
            own = self._graph.model.has(kind)
            fits = part is not None and any(one.iri == part.about for one in own)
            if part is None or not fits or part.about in {one.about for one in parts}:
                return None
            parts.append(part)
        return parts

    def _clause(self, feature: str, place: Place) -> Clause | None:
        return clauses.KINDS[feature](place)

    def _put(self, kind: str, parts: Sequence[Clause], form: Form, *, above: bool) -> Question:
        path = "rdf:type/rdfs:subClassOf*" if above else "rdf:type"
        typed = f"?x {path} {shown(self._graph, kind)} ."
        conditions = "\n  ".join([typed, *(one.pattern for one in parts)])
        inner = conditions.replace("?x", "?y").replace("?v", "?u")
        if form.each_once:
            conditions = f"{{ SELECT DISTINCT ?x WHERE {{\n  {conditions} }} }}"
        where = f"{conditions}\n  {form.pattern}".rstrip().replace("$CONDITIONS", inner)
        plural = self._graph.model.kinds[kind].plural
        words = " and ".join(one.words for one in parts)
        if len(parts) > 1:  # so that an "or" within one is not read as one between them
            listed = zip("abc", parts, strict=False)
            words = ", and ".join(f"({letter}) {one.words}" for letter, one in listed)
        text = f"{form.before} {plural} {words}{form.after}"
        query = f"SELECT {form.select} WHERE {{\n  {where}\n}}{form.end}"
        return Question(text, query, (), "ORDER BY" in form.end)

    def _sound(self, made: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        """Return whether the answer is short, not given away, and depends on every clause."""
        rows = self._rows(made.query)
        if not 1 <= len(rows) <= MOST_ROWS or rows == [("0",)]:
            return False
        if "OPTIONAL" in form.pattern and len({"" in row for row in rows}) == 1:
            return False  # it is needed where some have the value, and others have not
        told = {value for row in rows for value in row if value and not value.isdecimal()}
        if any(value in made.words for value in told):
            return False
        return self._all_matter(rows, kind, parts, form)

    def _all_matter(
        self, rows: list[tuple[str, ...]], kind: str, parts: Sequence[Clause], form: Form
    ) -> bool:
        """Return whether the result is not ``rows`` without any one of the clauses."""
        for part in parts:
            others = [one for one in parts if one is not part]
            above = self._graph.model.below(kind) != [kind]
            if self._rows(self._put(kind, others, form, above=above).query) == rows:
                return False
        return True

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        found: Any = self._store.query(query, prefixes=PREFIXES)
        rows = [tuple("" if term is None else str(term.value) for term in row) for row in found]
        return rows if "ORDER BY" in query else sorted(rows)

    # How questions are put

    def _names(self, kind: str, used: set[str]) -> Form:  # noqa: ARG002 - one of several
        return Form("What are the names of the", "?", "DISTINCT ?name", "?x rdfs:label ?name .")

    def _count(self, kind: str, used: set[str]) -> Form:  # noqa: ARG002 - one of several
        return Form("How many are there of the", "?", "(COUNT(DISTINCT ?x) AS ?number)")

    def _optional(self, kind: str, used: set[str]) -> Form | None:
        for each in self._free(kind, used):
            if each.least == 0 and each.most == 1:
                value = "?value" if not each.links else "?other"
                end = "" if not each.links else " ?other rdfs:label ?value ."
                return Form(
                    "What are the names of the",
                    f"? Give the {each.label}, too (its name, where it has one), if it is known.",
                    "DISTINCT ?name ?value",
                    f"?x rdfs:label ?name .\n  OPTIONAL {{ ?x {shown(self._graph, each.iri)} "
                    f"{value} .{end} }}",
                )
        return None

    def _grouped(self, kind: str, used: set[str]) -> Form | None:
        for each in self._free(kind, used):
            if each.links:
                return Form(
                    f"Group by {each.label}, and count for each that occurs: how many are there "
                    "of the",
                    f"? Give the name of each {each.label} with the number.",
                    "?name (COUNT(DISTINCT ?x) AS ?number)",
                    f"?x {shown(self._graph, each.iri)} ?group . ?group rdfs:label ?name .",
                    "\nGROUP BY ?group ?name",
                )
        return None

    def _extreme(self, kind: str, used: set[str]) -> Form | None:
        for each in self._measures(kind, used):
            predicate = shown(self._graph, each.iri)
            return Form(
                f"Which have the greatest {each.label} (name all that share it) of the",
                "?",
                "DISTINCT ?name",
                f"?x rdfs:label ?name ; {predicate} ?most .\n  {{ SELECT (MAX(?size) AS ?most) "
                f"WHERE {{ $CONDITIONS ?y {predicate} ?size . }} }}",
            )
        return None

    def _sorted(self, kind: str, used: set[str]) -> Form | None:
        for each in self._measures(kind, used):
            number = self._chance.between(2, 5)
            return Form(
                f"Sort by {each.label}, the greatest first: what are the names of the first "
                f"{number} of the",
                "?",
                "?name",
                f"?x rdfs:label ?name ; {shown(self._graph, each.iri)} ?size .",
                f"\nORDER BY DESC(?size)\nLIMIT {number}",
                each_once=True,
            )
        return None

    def _total(self, kind: str, used: set[str]) -> Form | None:
        for each in self._measures(kind, used):
            predicate = shown(self._graph, each.iri)
            return Form(
                f"What is the {each.label} in total of the",
                "?",
                "(SUM(?size) AS ?total)",
                f"?x {predicate} ?size .",
                each_once=True,
            )
        return None

    def _free(self, kind: str, used: set[str]) -> list[Any]:
        own = [one for one in self._graph.model.has(kind) if one.iri not in used]
        return self._chance.shuffled(own)

    def _measures(self, kind: str, used: set[str]) -> list[Any]:
        return [one for one in self._free(kind, used) if one.range == XSD.integer]


@lru_cache(maxsize=16)
def sheet(world: World, level: int) -> Sheet:
    """The questions of a level about a world: remembered, since each follows from those before."""
    return Sheet(world, level)


@lru_cache(maxsize=2)
def loaded(world: World) -> ox.Store:
    """Return the graph of a world, for queries."""
    store = ox.Store()
    store.bulk_load(generator.text(world).encode(), format=ox.RdfFormat.N_TRIPLES)
    return store
