# SPDX-License-Identifier: Apache-2.0
"""Questions about reports of statements, in words and as SPARQL 1.2 queries."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any, Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import RDFS, XSD, Chance, Graph, Instance, Property, TaskError, World
from kgbench.worlds import misreadings
from kgbench.worlds.generator import label
from kgbench.worlds.model import NAMESPACE

from .reports import (
    CONFIDENCE,
    DAY,
    PREFIXES,
    SOURCE,
    Report,
    Statement,
    Term,
    decimal,
    draw_notes,
    graph_and_chance,
    lines,
    link,
    node,
)

_TRIES: Final = 4_000
_STATEMENTS, _REPORTS, _ABOUT = 24, 34, 24
_SOURCES: Final = 4
_SUBJECTS: Final = 4  # of each property, so that most have several statements by it
_PROPERTIES: Final = 3  # of statements; as many more are shown without being used
_NAMED_REPORTS: Final = 3  # every third report has an IRI
_MOST_ROWS: Final = 20
#: In percent; their order as numbers is not that of their texts.
_CONFIDENCES: Final = ("2.5", "5", "7.5", "9", "10", "20", "40", "50", "60", "80", "90", "100")
_DAYS: Final = (date(2020, 1, 1).toordinal(), date(2021, 12, 31).toordinal())


class Question(NamedTuple):
    """A question with its query and its graph as lines of N-Triples.

    ``properties`` are lines with the labels of the properties of statements.
    """

    words: str
    query: str
    properties: tuple[str, ...]
    graph: tuple[str, ...]


class Scene(NamedTuple):
    """Reports by a few sources about links by a few properties; ``others`` are never used."""

    graph: Graph
    properties: tuple[Property, ...]
    others: tuple[Property, ...]
    sources: tuple[Instance, ...]
    reports: tuple[Report, ...]
    chance: Chance

    def term(self, prop: Property) -> Term:
        """Return a property as a prefixed name."""
        return f"w:{self.graph.terms[prop.iri].removeprefix(NAMESPACE)}"


class Form(NamedTuple):
    """A form of question: words, variables, pattern, necessary conditions, solution modifiers.

    ``mistakes`` are parts of the query with what a wrong query has instead; each such query must
    have another result.
    """

    words: str
    select: str
    pattern: str
    conditions: tuple[str, ...]
    end: str = ""
    mistakes: tuple[tuple[str, str], ...] = ()

    def query(self, omitted: int | None = None) -> str:
        """Return the query, optionally without one of its conditions."""
        kept = [condition for index, condition in enumerate(self.conditions) if index != omitted]
        body = "\n".join(f"  {line}" for line in (self.pattern, *kept))
        return f"SELECT {self.select} WHERE {{\n{body}\n}}{self.end}"


def draw_question(world: World, level: int, number: int) -> Question:
    """Draw the question of a level with a number, with a graph of its own.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    graph, chance = graph_and_chance(world, "query", level, number)
    # Drawn once, so that forms with fewer sound questions are as frequent as others.
    draw_form = chance.one(_FORMS[level])
    for _ in range(_TRIES):
        scene = _scene(graph, chance)
        graph_lines = _lines(scene)
        form = draw_form(scene)
        if _is_sound(form, graph_lines):
            properties = tuple(
                f'<{graph.terms[prop.iri]}> <{RDFS.label}> "{prop.label}"@en .'
                for prop in chance.shuffled((*scene.properties, *scene.others))
            )
            return Question(form.words, form.query(), properties, graph_lines)
    raise TaskError(
        f"a world of {world.instances} instances gives no question of level {level} about "
        "reports: ask for more instances"
    )


def _scene(graph: Graph, chance: Chance) -> Scene:
    linking = [prop for prop in graph.model.properties if prop.links and not prop.transitive]
    shown = tuple(chance.some(linking, 2 * _PROPERTIES))
    properties, others = shown[:_PROPERTIES], shown[_PROPERTIES:]
    sources = tuple(chance.some(graph.instances_of(f"{NAMESPACE}Organisation"), _SOURCES))
    facts: dict[tuple[Term, Term, Term], Statement] = {}
    subjects = {
        prop: tuple(chance.some(graph.instances_of(prop.domain), _SUBJECTS)) for prop in properties
    }
    while len(facts) < _STATEMENTS:
        prop = chance.one(properties)
        instance = chance.one(subjects[prop])
        target = chance.one(graph.instances_of(prop.range))
        if instance is not target:
            statement = link(graph, instance, prop, target)
            facts[statement.triple] = statement
    accepted = set(chance.some(list(facts), _STATEMENTS // 2))
    reports: list[Report] = []
    for index in range(_REPORTS):
        statement = chance.one(list(facts.values()))
        worded = chance.between(0, 1) == 1
        notes = _draw_notes(graph, sources, chance, worded=worded)
        reports.append(Report(_node(index), (statement,), statement.triple in accepted, notes))
    for index in range(_REPORTS, _REPORTS + _ABOUT):
        about = chance.one(reports[:_REPORTS])
        value = decimal(chance.one(_CONFIDENCES))
        wrong = Statement("", (about.node, CONFIDENCE, value))
        notes = _draw_notes(graph, sources, chance, worded=False)
        reports.append(Report(_node(index), (wrong,), accepted=False, notes=notes))
    return Scene(graph, properties, others, sources, tuple(reports), chance)


def _node(index: int) -> Term:
    return node(index, named=index % _NAMED_REPORTS == 0)


def _draw_notes(
    graph: Graph, sources: Sequence[Instance], chance: Chance, *, worded: bool
) -> tuple[tuple[Term, str, Term], ...]:
    """Draw the notes of a report: one of a few sources, a day in one of a few years, a percentage.

    So bounds of days and numbers differ from bounds of years and texts.
    """
    _, _, _, *more = draw_notes(graph, chance, worded=worded)
    source, value = chance.one(sources), chance.one(_CONFIDENCES)
    day = date.fromordinal(chance.between(*_DAYS)).isoformat()
    return (
        (SOURCE, source.label, f"<{source.iri}>"),
        (DAY, day, f'"{day}"^^<{XSD.date}>'),
        (CONFIDENCE, f"{value} percent", decimal(value)),
        *more,
    )


def _lines(scene: Scene) -> tuple[str, ...]:
    report_lines = lines(scene.reports)
    iris = {iri for line in report_lines for iri in re.findall(r"<([^<>]*)>", line)}
    return (*report_lines, *(label(thing) for thing in scene.graph.things if thing.iri in iris))


def _is_sound(form: Form, graph_lines: Sequence[str]) -> bool:
    """Return whether the answer is short and not given away, and every wrong query has another."""
    store = ox.Store()
    store.bulk_load("\n".join(graph_lines).encode(), format=ox.RdfFormat.N_TRIPLES)
    rows = _rows(store, form.query())
    if not 1 <= len(rows) <= _MOST_ROWS or rows == [("0",)]:
        return False
    if any(value in form.words for row in rows for value in row if not value.isdecimal()):
        return False
    query = form.query()
    wrong = [form.query(index) for index in range(len(form.conditions))]
    wrong += [query.replace(part, other) for part, other in form.mistakes if part in query]
    for misread in _MISREAD_AS:
        wrong += misread(query)
    return all(_rows(store, other) != rows for other in wrong)


def _rows(store: ox.Store, query: str) -> list[tuple[str, ...]]:
    solutions: Any = store.query(query, prefixes=PREFIXES)
    return sorted(
        tuple("" if term is None else str(term.value) for term in row) for row in solutions
    )


# Forms

_NAME: Final = "?x rdfs:label ?name ."
_MISREAD_AS: Final = (
    misreadings.exclusive,
    misreadings.from_the_other_side,
    misreadings.of_another_type,
    misreadings.of_any_value,
    misreadings.of_counts,
)
# A graph without the reported statement may still have another one by the same property.
_NO_OTHER: Final = ("?y }", "?other }")


def _reported_names(scene: Scene) -> Form:
    prop, source = scene.chance.one(scene.properties), scene.chance.one(scene.sources)
    return Form(
        f"By the reports of {source.label}, what has something as {prop.label}? Give the names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x ?property ?y )>> . {_NAME}",
        (f"FILTER(?property = {scene.term(prop)})", _from(source)),
    )


def _sources(scene: Scene) -> Form:
    report = scene.chance.one([report for report in scene.reports if report.statements[0].words])
    subject = report.statements[0].triple[0]
    instance = next(thing for thing in scene.graph.things if f"<{thing.iri}>" == subject)
    return Form(
        f"Which sources report a statement with {instance.label} as its subject? Give their names.",
        "DISTINCT ?name",
        "?report rdf:reifies <<( ?x ?property ?y )>> ; t:source ?source . "
        "?source rdfs:label ?name .",
        (f'?x rdfs:label "{instance.label}" .',),
    )


def _bounded(scene: Scene) -> Form:
    prop, source = scene.chance.one(scene.properties), scene.chance.one(scene.sources)
    words, condition = _bound(scene)
    return Form(
        f"What has something as {prop.label}, by reports of {source.label} {words}? Give the "
        "names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x {scene.term(prop)} ?y )>> . {_NAME}",
        (_from(source), condition),
        # The graph itself may say something of the kind, or nothing.
        mistakes=((_NAME, f"{_NAME} FILTER NOT EXISTS {{ ?x {scene.term(prop)} ?any }}"),),
    )


def _counted(scene: Scene) -> Form:
    prop = scene.chance.one(scene.properties)
    words, condition = _bound(scene)
    return Form(
        f"How many different statements that something has something as {prop.label} are "
        f"reported by reports {words}?",
        "(COUNT(DISTINCT ?statement) AS ?number)",
        "?report rdf:reifies ?statement .",
        (f"FILTER(PREDICATE(?statement) = {scene.term(prop)})", condition),
        mistakes=(("COUNT(DISTINCT ?statement)", "COUNT(?report)"),),
    )


def _open(scene: Scene) -> Form:
    prop = scene.chance.one(scene.properties)
    words, condition = _bound(scene)
    return Form(
        f"Of what do reports {words} say that it has something as {prop.label}, in a statement "
        "that the graph itself does not make? Give the names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x {scene.term(prop)} ?y )>> . {_NAME}",
        (condition, f"FILTER NOT EXISTS {{ ?x {scene.term(prop)} ?y }}"),
        mistakes=(_NO_OTHER,),
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
        # Two sources may report different statements, and one source the same statement twice.
        (("BY ?statement ?name", "BY ?name"), ("COUNT(DISTINCT ?source)", "COUNT(?report)")),
    )


def _about(scene: Scene) -> Form:
    source = scene.chance.one(scene.sources)
    words, condition = _bound(scene, "?inner")
    return Form(
        # The bound stands apart from the reports asked for, which have a confidence and day, too.
        f"Consider the reports of {source.label} {words}. Which sources have made a report about "
        "the confidence of one of these? Give the names.",
        "DISTINCT ?name",
        "?report rdf:reifies <<( ?inner t:confidence ?value )>> ; t:source ?other . "
        "?other rdfs:label ?name .",
        (_from(source, "?inner"), condition),
        # The bound may be taken for one of the reports asked for, or of the value that they report.
        mistakes=(
            (condition, condition.replace("?inner", "?report")),
            ("FILTER(?confidence", "FILTER(?value"),
        ),
    )


def _directed(scene: Scene) -> Form:
    prop = scene.chance.one(scene.properties)
    direction = scene.chance.one(("rtl", "ltr"))
    in_words = "right to left" if direction == "rtl" else "left to right"
    return Form(
        f"Of what do reports that have a wording with the base direction {in_words} say that it "
        f"has something as {prop.label}, in a statement that the graph itself does not make? "
        "Give the names.",
        "DISTINCT ?name",
        f"?report rdf:reifies <<( ?x {scene.term(prop)} ?y )>> ; t:wording ?wording . {_NAME}",
        (
            f'FILTER(LANGDIR(?wording) = "{direction}")',
            f"FILTER NOT EXISTS {{ ?x {scene.term(prop)} ?y }}",
        ),
        mistakes=(_NO_OTHER,),
    )


_FORMS: Final[dict[int, tuple[Callable[[Scene], Form], ...]]] = {
    1: (_reported_names, _sources),
    2: (_bounded, _counted),
    3: (_open, _agreed),
    4: (_about, _directed),
}


def _from(source: Instance, report: str = "?report") -> str:
    return f'{report} t:source/rdfs:label "{source.label}" .'


def _bound(scene: Scene, report: str = "?report") -> tuple[str, str]:
    """Draw a bound of the confidence or day of a report, in words and as a condition.

    The value itself occurs in some report, because the bound includes it.
    """
    notes = {predicate: value for predicate, value, _ in scene.chance.one(scene.reports).notes}
    if scene.chance.between(0, 1):
        words = f"with a confidence of at least {notes[CONFIDENCE]}"
        number = notes[CONFIDENCE].removesuffix(" percent")
        condition = f"FILTER(?confidence >= {number})"
        return words, f"{report} t:confidence ?confidence . {condition}"
    words = f"made on or after {notes[DAY]}"
    return words, f'{report} t:day ?day . FILTER(?day >= "{notes[DAY]}"^^xsd:date)'
