# SPDX-License-Identifier: Apache-2.0
"""Questions about a world, in words and as SPARQL queries, by level of difficulty."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import clauses, generator
from kgbench.worlds.clauses import Clause, ClauseContext, prefixed_name
from kgbench.worlds.generator import Instance, World
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance

PREFIXES: Final = {"w": NAMESPACE, "rdf": str(RDF), "rdfs": str(RDFS), "xsd": str(XSD)}
LEVELS: Final = 5
MOST_ROWS: Final = 40
_TRIES: Final = 3_000
_NUMBER: Final = re.compile(r"(?<=[<>]= )(?:[0-9]+|\"[0-9-]+\")")

# By level: groups of features (one is drawn from each), and forms of the question.
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
    """A question: its words, its query (with :data:`PREFIXES`), and the features of the query.

    ``ordered`` is true if the order of rows matters.
    """

    words: str
    query: str
    features: tuple[str, ...]
    ordered: bool


class Form(NamedTuple):
    """A form of question: the words around its class and clauses, and the parts of its query.

    ``each_once`` is true if each matching thing must count once, in however many ways it matches.
    ``pattern`` may repeat the conditions as ``$CONDITIONS``, with ``?y`` instead of ``?x``.
    """

    before: str
    after: str
    select: str
    pattern: str = ""
    end: str = ""
    each_once: bool = False


class Sheet:
    """A sequence of different questions of one level about a world, drawn from a seed."""

    SEEDED: ClassVar = "questions"
    """The part of the seed that tells kinds of sheets apart."""

    def __init__(self, world: World, level: int) -> None:
        self._graph = generator.build_graph(world)
        self._level = level
        self._chance = Chance(generator.VERSION, world.seed, self.SEEDED, level)
        self._store = load_store(world)
        self._found: list[Question] = []
        self._known: set[object] = set()

    def question(self, number: int) -> Question:
        """Return the question with a number, counted from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for that many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    def _next(self) -> Question:
        for _ in range(_TRIES):
            question = self._drawn()
            if question is None:
                continue
            key = self._key(question)
            if key not in self._known:
                self._known.add(key)
                return question
        raise TaskError(
            f"a world of {self._graph.world.instances} instances has no more than "
            f"{len(self._found)} questions of level {self._level}: ask for fewer cases, or for a "
            "world with more instances"
        )

    def _key(self, question: Question) -> object:
        """Return a key that equivalent questions share, such as those with equivalent bounds."""
        return _NUMBER.sub("", question.query), tuple(self._rows(question.query))

    def _recipe(self) -> tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]:
        """Return the groups of features (one is drawn from each), and the forms of questions."""
        return _RECIPES[self._level]

    def _drawn(self) -> Question | None:
        recipe, forms = self._recipe()
        chance, model = self._chance, self._graph.model
        leaf = chance.one(model.populated)
        # The class itself or an ancestor; an ancestor covers instances of several classes.
        kind = chance.one([*model.above(leaf)])
        witness = chance.one(self._graph.instances[leaf])
        features = [chance.one(names) for names in recipe]
        parts = self._clauses(kind, witness, features)
        if parts is None:
            return None
        name = chance.one(forms)
        form = getattr(self, f"_{name}")(kind, {part.property_iri for part in parts})
        if form is None:
            return None
        has_subclasses = model.below(kind) != [kind]
        question = self._put(kind, parts, form, has_subclasses=has_subclasses)
        tags = {*features, name, *(["hierarchy"] if has_subclasses else [])}
        return (
            question._replace(features=tuple(sorted(tags)))
            if self._sound(question, kind, parts, form)
            else None
        )

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        """Draw a clause for each feature; return ``None`` if one does not fit the class."""
        parts: list[Clause] = []
        for number, feature in enumerate(features):
            part = self._clause(feature, ClauseContext(self._graph, witness, self._chance, number))
            own = self._graph.model.has(kind)
            fits = part is not None and any(prop.iri == part.property_iri for prop in own)
            if (
                part is None
                or not fits
                or part.property_iri in {other.property_iri for other in parts}
            ):
                return None
            parts.append(part)
        return parts

    def _clause(self, feature: str, context: ClauseContext) -> Clause | None:
        return clauses.KINDS[feature](context)

    def _put(
        self, kind: str, parts: Sequence[Clause], form: Form, *, has_subclasses: bool
    ) -> Question:
        path = "rdf:type/rdfs:subClassOf*" if has_subclasses else "rdf:type"
        typed = f"?x {path} {prefixed_name(self._graph, kind)} ."
        conditions = "\n  ".join([typed, *(clause.pattern for clause in parts)])
        inner = conditions.replace("?x", "?y").replace("?v", "?u")
        if form.each_once:
            conditions = f"{{ SELECT DISTINCT ?x WHERE {{\n  {conditions} }} }}"
        where = f"{conditions}\n  {form.pattern}".rstrip().replace("$CONDITIONS", inner)
        plural = self._graph.model.kinds[kind].plural
        words = " and ".join(clause.words for clause in parts)
        if len(parts) > 1:
            # Label the clauses, so that an "or" inside one is not read as one between them.
            listed = zip("abc", parts, strict=False)
            words = ", and ".join(f"({letter}) {clause.words}" for letter, clause in listed)
        text = f"{form.before} {plural} {words}{form.after}"
        query = f"SELECT {form.select} WHERE {{\n  {where}\n}}{form.end}"
        return Question(text, query, (), "ORDER BY" in form.end)

    def _sound(self, question: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        """Return whether the answer is short, not given away, and dependent on every clause."""
        rows = self._rows(question.query)
        if not 1 <= len(rows) <= MOST_ROWS or rows == [("0",)]:
            return False
        if "OPTIONAL" in form.pattern and len({"" in row for row in rows}) == 1:
            return False  # OPTIONAL is needed only if some things have the value and others do not
        values = {value for row in rows for value in row if value and not value.isdecimal()}
        if any(value in question.words for value in values):
            return False
        return self._all_matter(rows, kind, parts, form)

    def _all_matter(
        self, rows: list[tuple[str, ...]], kind: str, parts: Sequence[Clause], form: Form
    ) -> bool:
        """Return whether omitting any one of the clauses changes the result ``rows``."""
        for part in parts:
            others = [other for other in parts if other is not part]
            has_subclasses = self._graph.model.below(kind) != [kind]
            question = self._put(kind, others, form, has_subclasses=has_subclasses)
            if self._rows(question.query) == rows:
                return False
        return True

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        solutions: Any = self._store.query(query, prefixes=PREFIXES)
        rows = [tuple("" if term is None else str(term.value) for term in row) for row in solutions]
        return rows if "ORDER BY" in query else sorted(rows)

    # Forms of questions

    def _names(self, kind: str, used_properties: set[str]) -> Form:  # noqa: ARG002 - one of several
        return Form("What are the names of the", "?", "DISTINCT ?name", "?x rdfs:label ?name .")

    def _count(self, kind: str, used_properties: set[str]) -> Form:  # noqa: ARG002 - one of several
        return Form("How many are there of the", "?", "(COUNT(DISTINCT ?x) AS ?number)")

    def _optional(self, kind: str, used_properties: set[str]) -> Form | None:
        for prop in self._free(kind, used_properties):
            if prop.min_count == 0 and prop.max_count == 1:
                value = "?value" if not prop.links else "?other"
                end = "" if not prop.links else " ?other rdfs:label ?value ."
                predicate = prefixed_name(self._graph, prop.iri)
                return Form(
                    "What are the names of the",
                    f"? Give the {prop.label}, too (its name, where it has one), if it is known.",
                    "DISTINCT ?name ?value",
                    f"?x rdfs:label ?name .\n  OPTIONAL {{ ?x {predicate} {value} .{end} }}",
                )
        return None

    def _grouped(self, kind: str, used_properties: set[str]) -> Form | None:
        for prop in self._free(kind, used_properties):
            if prop.links:
                return Form(
                    f"Group by {prop.label}, and count for each that occurs: how many are there "
                    "of the",
                    f"? Give the name of each {prop.label} with the number.",
                    "?name (COUNT(DISTINCT ?x) AS ?number)",
                    f"?x {prefixed_name(self._graph, prop.iri)} ?group . ?group rdfs:label ?name .",
                    "\nGROUP BY ?group ?name",
                )
        return None

    def _extreme(self, kind: str, used_properties: set[str]) -> Form | None:
        for prop in self._measures(kind, used_properties):
            predicate = prefixed_name(self._graph, prop.iri)
            return Form(
                f"Which have the greatest {prop.label} (name all that share it) of the",
                "?",
                "DISTINCT ?name",
                f"?x rdfs:label ?name ; {predicate} ?most .\n  {{ SELECT (MAX(?size) AS ?most) "
                f"WHERE {{ $CONDITIONS ?y {predicate} ?size . }} }}",
            )
        return None

    def _sorted(self, kind: str, used_properties: set[str]) -> Form | None:
        for prop in self._measures(kind, used_properties):
            number = self._chance.between(2, 5)
            return Form(
                f"Sort by {prop.label}, the greatest first: what are the names of the first "
                f"{number} of the",
                "?",
                "?name",
                f"?x rdfs:label ?name ; {prefixed_name(self._graph, prop.iri)} ?size .",
                f"\nORDER BY DESC(?size)\nLIMIT {number}",
                each_once=True,
            )
        return None

    def _total(self, kind: str, used_properties: set[str]) -> Form | None:
        for prop in self._measures(kind, used_properties):
            predicate = prefixed_name(self._graph, prop.iri)
            return Form(
                f"What is the {prop.label} in total of the",
                "?",
                "(SUM(?size) AS ?total)",
                f"?x {predicate} ?size .",
                each_once=True,
            )
        return None

    def _free(self, kind: str, used_properties: set[str]) -> list[Any]:
        own = [prop for prop in self._graph.model.has(kind) if prop.iri not in used_properties]
        return self._chance.shuffled(own)

    def _measures(self, kind: str, used_properties: set[str]) -> list[Any]:
        return [prop for prop in self._free(kind, used_properties) if prop.range == XSD.integer]


@lru_cache(maxsize=16)
def sheet(world: World, level: int) -> Sheet:
    """Return the questions of a level about a world (cached: each depends on those before it)."""
    return Sheet(world, level)


@lru_cache(maxsize=2)
def load_store(world: World) -> ox.Store:
    """Return a store with the graph of a world."""
    store = ox.Store()
    store.bulk_load(generator.text(world).encode(), format=ox.RdfFormat.N_TRIPLES)
    return store
