# SPDX-License-Identifier: Apache-2.0
"""Questions about a world, in words and as SPARQL queries, by level of difficulty."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from itertools import islice
from sys import intern
from typing import Any, ClassVar, Final, NamedTuple

import pyoxigraph as ox

from kgbench import resources
from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import clauses, generator, misreadings
from kgbench.worlds.clauses import AGAIN, Clause, ClauseContext, Form, Question, prefixed_name
from kgbench.worlds.generator import Instance, Sheet, World
from kgbench.worlds.model import NAMESPACE, Property
from kgbench.worlds.naming import Chance

PREFIXES: Final = {"w": NAMESPACE, "rdf": str(RDF), "rdfs": str(RDFS), "xsd": str(XSD)}
LEVELS: Final = 5
MOST_ROWS: Final = 40
_CANDIDATES: Final = 3  # clauses or forms to try with the same thing
_CACHED: Final = 1024
_ORDER: Final = tuple(clauses.KINDS)
_PERHAPS: Final = re.compile(  # what a thing need not have
    r"(?:OPTIONAL|NOT EXISTS) \{[^{}]*\}|\{[^{}]*\} UNION \{[^{}]*\}"
)
_NUMBER: Final = re.compile(r"(?<=[<>]= )(?:[0-9]+|\"[0-9-]+\")")

# By level: groups of features (one is drawn from each), and forms of the question. What is repeated
# is drawn more often, because fewer questions with it are sound.
_SIMPLE: Final = ("link", "filter")
_DEEP: Final = ("path", "path", "join")
_RECIPES: Final[dict[int, tuple[tuple[tuple[str, ...], ...], tuple[str, ...]]]] = {
    1: ((_SIMPLE,), ("names",)),
    2: ((("join", "filter"), _SIMPLE), ("names", "count", "count")),
    3: (
        (("negation", "having", "values", "union", "union", "language"), _SIMPLE),
        ("names", "count", "optional"),
    ),
    4: (
        (
            ("path", "path", "path", "join"),
            ("negation", "having", "having", "values", "union", "language"),
        ),
        ("grouped", "above", "sorted", "sorted", "total"),
    ),
    5: (
        (_DEEP, ("negation", "negation", "having", "having", "values"), ("filter", "union")),
        ("grouped", "sorted", "count", "count", "names"),
    ),
}


_SORTS: Final[Mapping[str, Callable[[Property], bool]]] = {
    "any": lambda _: True,
    "link": lambda prop: prop.links,
    "number": lambda prop: prop.range == XSD.integer,
    "date": lambda prop: prop.range == XSD.date,
    "optional": lambda prop: not prop.min_count,
}
"""The sorts of properties that declared forms may be about."""


class DeclaredForm(NamedTuple):
    """A form with places for names, and the sorts that the property is of that it is about.

    There are none if it is about no property; with ``path``, it is about a second one, too, of what
    the first one links to.
    """

    form: Form
    of: Sequence[str]
    path: bool


@cache
def declared_forms(folder: str, name: str) -> Mapping[str, DeclaredForm]:
    """Return the forms that a file in a folder of ``tasks`` declares, by name."""
    declared = json.loads(resources.text("tasks", folder, name))
    del declared["canary"]
    return {key: _declared_form(dict(value)) for key, value in declared.items()}


def _declared_form(declared: dict[str, Any]) -> DeclaredForm:
    of, path = declared.pop("of", ""), declared.pop("path", False)
    mistakes = tuple(declared.pop("mistakes", {}).items())
    return DeclaredForm(Form(**{"after": ".", **declared, "mistakes": mistakes}), of.split(), path)


_Asked = tuple[str, Sequence[Clause], Form]  # the class that a question is about, and its parts


class QuestionSheet(Sheet[Question]):
    """A sequence of different questions of one level about a world, drawn from a seed."""

    SEEDED: ClassVar = "questions"
    """The part of the seed that tells kinds of sheets apart."""
    DECLARED: ClassVar = ("world", "forms.json")
    """The file of ``tasks`` with the declared forms."""
    TRIES = 10_000

    def __init__(self, world: World, level: int) -> None:
        super().__init__()
        self._graph = generator.build_graph(world)
        self._level = level
        self._chance = Chance(generator.VERSION, world.seed, self.SEEDED, level)
        self._store = load_store(world)
        self._matching = lru_cache(maxsize=_CACHED)(self._match)

    def _too_small(self, number: int) -> str:
        return (
            f"a world of {self._graph.world.instances} instances has no more than {number} "
            f"questions of level {self._level}: ask for fewer cases, or for a world with more "
            "instances"
        )

    def _key(self, drawn: Question) -> Hashable:
        """Return a key that equivalent questions share, such as those with equivalent bounds."""
        return _NUMBER.sub("", drawn.query), tuple(self._rows(drawn.query))

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
        tags = {*features, name, *(["hierarchy"] if self._has_subclasses(kind) else [])}
        forms_of_name = self._forms(name, kind, {part.property_iri for part in parts})
        for form in islice(forms_of_name, _CANDIDATES):
            question = self._put(kind, parts, form)
            if self._sound(question, kind, parts, form):
                return question._replace(features=tuple(sorted(tags)))
        return None

    def _clauses(
        self, kind: str, witness: Instance, features: Sequence[str]
    ) -> list[Clause] | None:
        """Draw a clause for each feature; return ``None`` if one does not fit the others."""
        own = {prop.iri for prop in self._graph.model.has(kind)}
        # Most classes lack a property for some feature, which is found without a query.
        everything = partial(self._meeting, kind, ())
        alone = ClauseContext(self._graph, witness, own, everything, self._chance, 0)
        if any(next(self._candidates(feature, alone), None) is None for feature in features):
            return None
        parts: dict[int, Clause] = {}
        for number in sorted(range(len(features)), key=lambda at: _ORDER.index(features[at])):
            drawn = tuple(parts.values())
            things = partial(self._meeting, kind, drawn)
            free = own - {part.property_iri for part in drawn}
            context = ClauseContext(self._graph, witness, free, things, self._chance, number)
            candidates = islice(self._candidates(features[number], context), _CANDIDATES)
            for part in candidates:
                if self._select_others(kind, (*drawn, part)):
                    parts[number] = part
                    break
            else:
                return None
        return [parts[number] for number in range(len(features))]

    def _meeting(self, kind: str, parts: Sequence[Clause]) -> list[Instance]:
        """Return the instances of a class that meet some conditions."""
        iris = self._selected(kind, parts)
        return [thing for thing in self._graph.instances_of(kind) if thing.iri in iris]

    def _select_others(self, kind: str, parts: Sequence[Clause]) -> bool:
        """Return whether wrong conditions select other things; if not, no result can differ."""
        iris = self._selected(kind, parts)
        return all(self._selected(kind, wrong) != iris for wrong in clauses.wrong_conditions(parts))

    def _selected(self, kind: str, parts: Sequence[Clause]) -> frozenset[str]:
        return self._matching(self._typed(kind)).intersection(
            *(self._matching(part.pattern) for part in parts)
        )

    def _match(self, pattern: str) -> frozenset[str]:
        """Return the IRIs of the things that match a pattern."""
        alternatives = clauses.alternatives(pattern)
        if len(alternatives) > 1:  # each of them recurs in other clauses
            return frozenset().union(*map(self._matching, alternatives))
        start = "?x a ?class . " if pattern.startswith("FILTER") else ""  # a filter binds nothing
        rows: Any = self._store.query(f"SELECT ?x {{ {start}{pattern} }}", prefixes=PREFIXES)
        return frozenset(intern(row[0].value) for row in rows)

    def _candidates(self, feature: str, context: ClauseContext) -> Iterator[Clause]:
        if self._level < LEVELS:
            return clauses.KINDS[feature](context)
        # Three conditions leave too few things to tell a date from its year, or a number from text.
        some = (misreadings.exclusive, misreadings.of_any_value)
        return (part._replace(misread_as=some) for part in clauses.KINDS[feature](context))

    def _has_subclasses(self, kind: str) -> bool:
        return self._graph.model.below(kind) != [kind]

    def _typed(self, kind: str) -> str:
        path = "rdf:type/rdfs:subClassOf*" if self._has_subclasses(kind) else "rdf:type"
        return f"?x {path} {prefixed_name(self._graph, kind)} ."

    def _put(self, kind: str, parts: Sequence[Clause], form: Form) -> Question:
        conditions = self._conditions(kind, parts)
        pattern = self._repeating(kind, parts, form).pattern
        if form.each_once:
            conditions = f"{{ SELECT DISTINCT ?x WHERE {{\n  {conditions}\n  }} }}"
        where = f"{conditions}\n  {pattern}".rstrip()
        plural = self._graph.model.kinds[kind].plural
        words = " and ".join(clause.words for clause in parts)
        if len(parts) > 1:
            # Label the clauses, so that an "or" inside one is not read as one between them.
            listed = zip("abc", parts, strict=False)
            words = ", and ".join(f"({letter}) {clause.words}" for letter, clause in listed)
        text = f"{form.before} {plural} {words}{form.after}"
        query = f"SELECT {form.select} WHERE {{\n  {where}\n}}{form.end}"
        return Question(text, query, (), "ORDER BY" in form.end)

    def _conditions(self, kind: str, parts: Sequence[Clause]) -> str:
        return "\n  ".join([self._typed(kind), *(clause.pattern for clause in parts)])

    def _repeating(self, kind: str, parts: Sequence[Clause], form: Form) -> Form:
        """Return a form that repeats the given conditions where it repeats any."""
        again = self._conditions(kind, parts).replace("?x", "?y").replace("?v", "?u")
        return form._replace(pattern=form.pattern.replace(AGAIN, again))

    def _sound(self, question: Question, kind: str, parts: Sequence[Clause], form: Form) -> bool:
        """Return whether the answer is short, not given away, and depends on each part."""
        if len(self._meeting(kind, parts)) < form.least:
            return False
        rows = self._rows(question.query)
        if not 1 <= len(rows) <= MOST_ROWS or rows == [("0",)]:
            return False
        values = {value for row in rows for value in row if value and not value.isdecimal()}
        if any(value in question.words for value in values):
            return False
        return self._all_differ(rows, self._wrong(kind, parts, form))

    def _all_differ(self, rows: list[tuple[str, ...]], wrong: Iterable[_Asked]) -> bool:
        """Return whether each of the wrong questions has another result than ``rows``."""
        return all(self._rows(self._put(*other).query) != rows for other in wrong)

    def _wrong(self, kind: str, parts: Sequence[Clause], form: Form) -> Iterator[_Asked]:
        """Yield the question without each part, and with each mistake in one of its parts."""
        for misread in form.misread():
            yield kind, parts, misread
        for other in clauses.wrong_conditions(parts):
            yield kind, other, form
            if AGAIN in form.pattern:  # where they are repeated, each of both matters
                yield kind, other, self._repeating(kind, parts, form)
                yield kind, parts, self._repeating(kind, other, form)
        parent = self._graph.model.kinds[kind].parent
        if parent is not None and not self._implies(parts, form, kind):
            yield parent, parts, form

    def _implies(self, parts: Sequence[Clause], form: Form, kind: str) -> bool:
        """Return whether the things that a question is about have a property of a class."""
        text = " ".join((form.pattern, *(part.pattern for part in parts)))
        used = set(re.findall(r"w:\w+", _PERHAPS.sub("", text)))
        own = [prop.iri for prop in self._graph.model.properties if prop.domain == kind]
        return any(prefixed_name(self._graph, iri) in used for iri in own)

    def _rows(self, query: str) -> list[tuple[str, ...]]:
        solutions: Any = self._store.query(query, prefixes=PREFIXES)
        rows = [tuple("" if term is None else str(term.value) for term in row) for row in solutions]
        return rows if "ORDER BY" in query else sorted(rows)

    # Forms of questions

    def _forms(self, name: str, kind: str, used_properties: set[str]) -> Iterator[Form]:
        """Yield the forms with a name: declared, for each property that fits, or of a method."""
        declared = declared_forms(*self.DECLARED).get(name)
        if declared is None:
            yield from getattr(self, f"_{name}")(kind, used_properties)
            return
        if not declared.of:
            yield declared.form
            return
        for prop in self._free(kind, used_properties):
            if not all(_SORTS[sort](prop) for sort in declared.of):
                continue
            names = {"label": prop.label, "term": prefixed_name(self._graph, prop.iri)}
            if not declared.path:
                yield declared.form.about(names)
                continue
            for last in self._free(prop.range, used_properties):
                if prop.range == last.domain:
                    term = prefixed_name(self._graph, last.iri)
                    yield declared.form.about({**names, "other": last.label, "next": term})

    def _optional(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._free(kind, used_properties):
            if prop.min_count == 0 and prop.max_count == 1:
                value = "?value" if not prop.links else "?other"
                end = "" if not prop.links else " ?other rdfs:label ?value ."
                predicate = prefixed_name(self._graph, prop.iri)
                optional = f"OPTIONAL {{ ?x {predicate} {value} .{end} }}"
                yield Form(
                    "What are the names of the",
                    f"? Give the {prop.label}, too (its name, where it has one), if it is known.",
                    "DISTINCT ?name ?value",
                    f"?x rdfs:label ?name .\n  {optional}",
                    mistakes=(("OPTIONAL", ""), (optional, "")),
                )

    def _sorted(self, kind: str, used_properties: set[str]) -> Iterator[Form]:
        for prop in self._measures(kind, used_properties):
            for number in self._chance.shuffled(range(2, 6)):
                yield Form(
                    f"Sort by {prop.label}, the greatest first: what are the names of the first "
                    f"{number} of the",
                    "?",
                    "?name",
                    f"?x rdfs:label ?name ; {prefixed_name(self._graph, prop.iri)} ?size .",
                    f"\nORDER BY DESC(?size)\nLIMIT {number}",
                    each_once=True,
                    least=number + 1,
                    mistakes=((f"LIMIT {number}", ""),),
                )

    def _free(self, kind: str, used_properties: set[str]) -> list[Any]:
        """Return the unused properties of a class, in random order.

        Transitive ones are left out: "the surrounding places" may mean those over others, too.
        """
        own = self._graph.model.has(kind)
        return self._chance.shuffled(
            [prop for prop in own if prop.iri not in used_properties and not prop.transitive]
        )

    def _measures(self, kind: str, used_properties: set[str]) -> list[Any]:
        return [prop for prop in self._free(kind, used_properties) if prop.range == XSD.integer]


@lru_cache(maxsize=48)
def sheet(world: World, level: int, kind: type[QuestionSheet] = QuestionSheet) -> QuestionSheet:
    """Return a sheet of a level about a world (cached: each question depends on those before)."""
    return kind(world, level)


@lru_cache(maxsize=2)
def load_store(world: World) -> ox.Store:
    """Return a store with the graph of a world."""
    store = ox.Store()
    store.bulk_load(generator.text(world).encode(), format=ox.RdfFormat.N_TRIPLES)
    return store
