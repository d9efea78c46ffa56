# SPDX-License-Identifier: Apache-2.0
"""Questions about reports of statements: in words, with the SPARQL 1.2 query that answers each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.vocab import RDFS
from kgbench.worlds import statements
from kgbench.worlds.generator import Graph, Instance, World, label
from kgbench.worlds.model import NAMESPACE, Property
from kgbench.worlds.naming import Chance
from kgbench.worlds.statements import (
    CONFIDENCE,
    PREFIXES,
    SOURCE,
    Report,
    Statement,
    Term,
)

_TRIES: Final = 400
_STATEMENTS, _REPORTS, _ABOUT = 24, 34, 8
_SOURCES: Final = 4
_PROPERTIES: Final = 3  # of statements; as many are named and not used
_NAMED_REPORTS: Final = 3  # every third report has an IRI
_MOST_ROWS: Final = 20
_BOUNDS: Final = (date(2017, 1, 1).toordinal(), date(2024, 12, 31).toordinal())


class Question(NamedTuple):
    """A question with the query that answers it and the graph that it is about, as N-Triples.

    ``properties`` are the lines that name the properties of statements.
    """

    words: str
    query: str
    properties: tuple[str, ...]
    graph: tuple[str, ...]


class Scene(NamedTuple):
    """Reports about links by a few properties, by a few sources; ``others`` are never used."""

    graph: Graph
    properties: tuple[Property, ...]
    others: tuple[Property, ...]
    sources: tuple[Instance, ...]
    reports: tuple[Report, ...]
    chance: Chance

    def term(self, each: Property) -> Term:
        """Return a property as queries write it."""
        return f"w:{self.graph.terms[each.iri].removeprefix(NAMESPACE)}"


class Form(NamedTuple):
    """A question: words, variables, conditions of which each matters, and what follows them."""

    words: str
    select: str
    pattern: str
    conditions: tuple[str, ...]
    end: str = ""

    def query(self, left_out: int | None = None) -> str:
        """Return the query, without one of its conditions."""
        kept = [one for number, one in enumerate(self.conditions) if number != left_out]
        body = "\n".join(f"  {line}" for line in (self.pattern, *kept))
        return f"SELECT {self.select} WHERE {{\n{body}\n}}{self.end}"


def drawn(world: World, level: int, number: int) -> Question:
    """Return the question of a level with a number, about a graph of its own.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    graph, chance = statements.graph_and_chance(world, "query", level, number)
    for _ in range(_TRIES):
        scene = _scene(graph, chance)
        lines = _lines(scene)
        form = chance.one(_FORMS[level])(scene)
        if _is_sound(form, lines):
            properties = tuple(
                f'<{graph.terms[one.iri]}> <{RDFS.label}> "{one.label}"@en .'
                for one in chance.shuffled((*scene.properties, *scene.others))
            )
            return Question(form.words, form.query(), properties, lines)
    raise TaskError(
        f"a world of {world.instances} instances gives no question of level {level} about "
        "reports: ask for more instances"
    )


def _scene(graph: Graph, chance: Chance) -> Scene:
    linking = [one for one in graph.model.properties if one.links and not one.transitive]
    shown = tuple(chance.some(linking, 2 * _PROPERTIES))
    properties, others = shown[:_PROPERTIES], shown[_PROPERTIES:]
    sources = tuple(chance.some(graph.of(f"{NAMESPACE}Organisation"), _SOURCES))
    facts: dict[tuple[Term, Term, Term], Statement] = {}
    while len(facts) < _STATEMENTS:
        each = chance.one(properties)
        one = chance.one(graph.of(each.domain))
        target = chance.one(graph.of(each.range))
        if one is not target:
            made = statements.link(graph, one, each, target)
            facts[made.triple] = made
    accepted = set(chance.some(list(facts), _STATEMENTS // 2))
    found: list[Report] = []
    for place in range(_REPORTS):
        said = chance.one(list(facts.values()))
        worded = chance.between(0, 1) == 1
        node = _node(place)
        notes = _noted(graph, sources, chance, worded=worded)
        found.append(Report(node, (said,), said.triple in accepted, notes))
    for place in range(_REPORTS, _REPORTS + _ABOUT):
        about = chance.one(found[:_REPORTS])
        value = statements.decimal(statements.confidence(chance))
        wrong = Statement("", (about.node, CONFIDENCE, value))
        notes = _noted(graph, sources, chance, worded=False)
        found.append(Report(_node(place), (wrong,), accepted=False, notes=notes))
    return Scene(graph, properties, others, sources, tuple(found), chance)


def _node(place: int) -> Term:
    named = place % _NAMED_REPORTS == 0
    return statements.node(place, named=named)


def _noted(
    graph: Graph, sources: Sequence[Instance], chance: Chance, *, worded: bool
) -> tuple[tuple[Term, str, Term], ...]:
    """Return what is noted of a report, by one of a few sources."""
    notes = statements.noted(graph, chance, worded=worded)
    source = chance.one(sources)
    return ((SOURCE, source.label, f"<{source.iri}>"), *notes[1:])


def _lines(scene: Scene) -> tuple[str, ...]:
    said = statements.lines(scene.reports)
    met = {iri for line in said for iri in re.findall(r"<([^<>]*)>", line)}
    kinds = [one for kind in scene.graph.model.populated for one in scene.graph.instances[kind]]
    return (*said, *(label(one) for one in kinds if one.iri in met))


def _is_sound(form: Form, lines: Sequence[str]) -> bool:
    """Return whether the answer is short, not given away, and depends on every condition."""
    store = ox.Store()
    store.bulk_load("\n".join(lines).encode(), format=ox.RdfFormat.N_TRIPLES)
    rows = _rows(store, form.query())
    if not 1 <= len(rows) <= _MOST_ROWS or rows == [("0",)]:
        return False
    if any(value in form.words for row in rows for value in row if not value.isdecimal()):
        return False
    numbers = range(len(form.conditions))
    return all(_rows(store, form.query(number)) != rows for number in numbers)


def _rows(store: ox.Store, query: str) -> list[tuple[str, ...]]:
    found: Any = store.query(query, prefixes=PREFIXES)
    return sorted(tuple("" if term is None else str(term.value) for term in row) for row in found)


# Forms

_NAME: Final = "?x rdfs:label ?name ."


def _reported(scene: Scene) -> Form:
    each, source = scene.chance.one(scene.properties), scene.chance.one(scene.sources)
    return Form(
        f"By the reports of {source.label}, what has something as {each.label}? Give the names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x ?property ?y )>> . {_NAME}",
        (f"FILTER(?property = {scene.term(each)})", _from(source)),
    )


def _sources(scene: Scene) -> Form:
    one = scene.chance.one([report for report in scene.reports if report.statements[0].words])
    subject = one.statements[0].triple[0]
    everything = [x for k in scene.graph.model.populated for x in scene.graph.instances[k]]
    found = next(x for x in everything if f"<{x.iri}>" == subject)
    return Form(
        f"Which sources report a statement with {found.label} as its subject? Give their names.",
        "DISTINCT ?name",
        "?report rdf:reifies <<( ?x ?property ?y )>> ; t:source ?source . "
        "?source rdfs:label ?name .",
        (f'?x rdfs:label "{found.label}" .',),
    )


def _bounded(scene: Scene) -> Form:
    each, source = scene.chance.one(scene.properties), scene.chance.one(scene.sources)
    words, condition = _bound(scene)
    return Form(
        f"What has something as {each.label}, by reports of {source.label} {words}? Give the "
        "names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x {scene.term(each)} ?y )>> . {_NAME}",
        (_from(source), condition),
    )


def _counted(scene: Scene) -> Form:
    each = scene.chance.one(scene.properties)
    words, condition = _bound(scene)
    return Form(
        f"How many different statements that something has something as {each.label} are "
        f"reported by reports {words}?",
        "(COUNT(DISTINCT ?statement) AS ?number)",
        "?report rdf:reifies ?statement .",
        (f"FILTER(PREDICATE(?statement) = {scene.term(each)})", condition),
    )


def _open(scene: Scene) -> Form:
    each = scene.chance.one(scene.properties)
    words, condition = _bound(scene)
    return Form(
        f"Of what do reports {words} say that it has something as {each.label}, in a statement "
        "that the graph itself does not make? Give the names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x {scene.term(each)} ?y )>> . {_NAME}",
        (condition, f"FILTER NOT EXISTS {{ ?x {scene.term(each)} ?y }}"),
    )


def _agreed(scene: Scene) -> Form:
    words, condition = _bound(scene)
    return Form(
        f"Which things are subjects of a statement that at least two different sources report, in "
        f"reports {words}? Give the names.",
        "DISTINCT ?name",
        f"?report rdf:reifies ?statement ; t:source ?source .\n"
        f"  BIND(SUBJECT(?statement) AS ?x) {_NAME}",
        (condition,),
        "\nGROUP BY ?statement ?name\nHAVING(COUNT(DISTINCT ?source) > 1)",
    )


def _about(scene: Scene) -> Form:
    source = scene.chance.one(scene.sources)
    words, condition = _bound(scene, "?inner")
    return Form(
        "Some reports are about the confidence of another report. Which sources have made such a "
        f"report about a report of {source.label} {words}? Give the names.",
        "DISTINCT ?name",
        "?report rdf:reifies <<( ?inner t:confidence ?value )>> ; t:source ?other . "
        "?other rdfs:label ?name .",
        (_from(source, "?inner"), condition),
    )


def _directed(scene: Scene) -> Form:
    each = scene.chance.one(scene.properties)
    way = scene.chance.one(("rtl", "ltr"))
    said = "right to left" if way == "rtl" else "left to right"
    return Form(
        f"Of what do reports that have a wording with the base direction {said} say that it has "
        f"something as {each.label}, in a statement that the graph itself does not make? Give the "
        "names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x {scene.term(each)} ?y )>> ; t:wording ?wording . {_NAME}",
        (
            f'FILTER(LANGDIR(?wording) = "{way}")',
            f"FILTER NOT EXISTS {{ ?x {scene.term(each)} ?y }}",
        ),
    )


_FORMS: Final[dict[int, tuple[Callable[[Scene], Form], ...]]] = {
    1: (_reported, _sources),
    2: (_bounded, _counted),
    3: (_open, _agreed),
    4: (_about, _directed),
}


def _from(source: Instance, report: str = "?report") -> str:
    return f'{report} t:source/rdfs:label "{source.label}" .'


def _bound(scene: Scene, report: str = "?report") -> tuple[str, str]:
    """Return a bound of the confidence or the day of a report, in words and as a condition."""
    if scene.chance.between(0, 1):
        value = f"0.{scene.chance.between(31, 79)}"
        words = f"with a confidence of at least {value}"
        return words, f"{report} t:confidence ?confidence . FILTER(?confidence >= {value})"
    day = date.fromordinal(scene.chance.between(*_BOUNDS)).isoformat()
    words = f"made on or after {day}"
    return words, f'{report} t:day ?day . FILTER(?day >= "{day}"^^xsd:date)'
