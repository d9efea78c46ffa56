# SPDX-License-Identifier: Apache-2.0
"""Reports about statements of a world, in words and as RDF 1.2 (reifiers and triple terms).

A report has a reifier: a node that reifies one or two statements and has a source, a day and
other notes. Statements of an accepted report are also asserted; those of an open report are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from kgbench.api import RDF, RDFS, XSD, Chance, Graph, Instance, Property, World, build_graph
from kgbench.worlds import generator
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import word
from kgbench.worlds.writing import PREFIXES as WRITING
from kgbench.worlds.writing import TARGET

VERSION: Final = 1
"""Rises when the same seed gives other cases."""
PREFIXES: Final = {**WRITING, "r": generator.RESOURCE}
REIFIES: Final = f"<{RDF.reifies}>"
SOURCE, DAY, CONFIDENCE, WORDING = (
    f"<{TARGET}{name}>" for name in ("source", "day", "confidence", "wording")
)

_DAYS: Final = (date(2015, 1, 1).toordinal(), date(2026, 12, 31).toordinal())
_SHORT: Final = re.compile(
    r"<(" + "|".join(map(re.escape, sorted(PREFIXES.values(), key=len, reverse=True))) + r")"
    r"([A-Za-z_][A-Za-z0-9_-]*)>"
)
_NAMES: Final = {namespace: name for name, namespace in PREFIXES.items()}

Term = str
"""An RDF term in the syntax of N-Triples 1.2."""


class Tag(NamedTuple):
    """A language tag with its base direction and the letters for texts in the language."""

    tag: str
    direction: str
    letters: str = ""


TAGS: Final = (
    Tag("ar", "rtl", "ابتدرسعفكلمنهوي"),
    Tag("fa", "rtl", "ابپتدرسفکگلمنهوی"),
    Tag("he", "rtl", "אבגדהולמנספרשת"),
    Tag("az-Arab", "rtl", "ابتجدرسفقلمنو"),
    Tag("ar-Latn", "ltr"),
    Tag("en", "ltr"),
    Tag("fr", "ltr"),
)


class Statement(NamedTuple):
    """A statement in words, without a full stop, and as a triple."""

    words: str
    triple: tuple[Term, Term, Term]


class Report(NamedTuple):
    """A report: its reifier, its statements, whether they are asserted, and notes about it.

    A note is a property, its value in words, and its value as a term.
    """

    node: Term
    statements: tuple[Statement, ...]
    accepted: bool
    notes: tuple[tuple[Term, str, Term], ...]

    @property
    def is_named(self) -> bool:
        """Whether the reifier has an IRI."""
        return self.node.startswith("<")


class Recipe(NamedTuple):
    """The numbers of reports of each sort on a level.

    ``reports`` is the number of reports about facts. Of those, some have IRIs (``named``), are open
    (``open``), repeat the statement of another report (``again``), have two statements (``double``)
    or have a text with a base direction (``wording``). ``about_reports`` is the number of further
    reports about other reports.
    """

    reports: int
    named: int = 0
    open: int = 0
    again: int = 0
    double: int = 0
    wording: int = 0
    about_reports: int = 0


RECIPES: Final = {
    1: Recipe(2),
    2: Recipe(3, named=1, open=2),
    3: Recipe(4, named=2, open=2, again=1, wording=2),
    4: Recipe(5, named=2, open=3, again=1, double=1, wording=2, about_reports=2),
}


def draw_reports(graph: Graph, recipe: Recipe, chance: Chance) -> list[Report]:
    """Draw reports; except for repeated ones, their statements differ."""
    facts = statements(graph, recipe.reports + recipe.double, chance)
    firsts = recipe.reports - recipe.again
    open_ = set(chance.some(range(firsts), recipe.open))
    named = set(chance.some(range(recipe.reports), recipe.named))
    worded = set(chance.some(range(recipe.reports), recipe.wording))
    result: list[Report] = []
    for index in range(recipe.reports):
        content: tuple[Statement, ...] = (facts[index],)
        accepted = index not in open_
        if index >= firsts:
            first = result[index - firsts]
            content, accepted = first.statements, first.accepted
        elif firsts - index <= recipe.double:
            content = (*content, facts[recipe.reports])
        notes = draw_notes(graph, chance, worded=index in worded)
        result.append(Report(node(index, named=index in named), content, accepted, notes))
    for index in range(recipe.reports, recipe.reports + recipe.about_reports):
        report = chance.some(result[: recipe.reports], recipe.about_reports)[index - recipe.reports]
        number = result.index(report) + 1
        value = confidence(chance)
        wrong = Statement(
            f"report {number} has the confidence {value}",
            (report.node, CONFIDENCE, decimal(value)),
        )
        known = any(term == decimal(value) for _, _, term in report.notes)
        notes = draw_notes(graph, chance, worded=False)
        result.append(Report(node(index, named=False), (wrong,), known, notes))
    return result


def statements(graph: Graph, number: int, chance: Chance) -> list[Statement]:
    """Draw different statements about links of instances; about half of them hold in the world."""
    result: dict[tuple[Term, Term, Term], Statement] = {}
    things = graph.things
    while len(result) < number:
        instance = chance.one(things)
        prop = chance.one([p for p in graph.model.has(instance.kind) if p.links])
        known = instance.links.get(prop.iri, [])
        is_known = bool(known) and chance.between(0, 1) == 1
        target = chance.one(known if is_known else graph.instances_of(prop.range))
        if target is not instance:
            statement = link(graph, instance, prop, target)
            result.setdefault(statement.triple, statement)
    return list(result.values())


def link(graph: Graph, instance: Instance, prop: Property, target: Instance) -> Statement:
    """Return the statement that one thing links to another."""
    words = f"{instance.label} has {target.label} as {prop.label}"
    return Statement(words, (f"<{instance.iri}>", f"<{graph.terms[prop.iri]}>", f"<{target.iri}>"))


def draw_notes(graph: Graph, chance: Chance, *, worded: bool) -> tuple[tuple[Term, str, Term], ...]:
    """Draw the source, day and confidence of a report, and if ``worded`` a directional text."""
    source = chance.one(graph.instances_of(f"{NAMESPACE}Organisation"))
    day = date.fromordinal(chance.between(*_DAYS)).isoformat()
    value = confidence(chance)
    notes = [
        (SOURCE, source.label, f"<{source.iri}>"),
        (DAY, day, f'"{day}"^^<{XSD.date}>'),
        (CONFIDENCE, value, decimal(value)),
    ]
    if worded:
        tag = chance.one(TAGS)
        content = text(tag, chance)
        notes.append(
            (WORDING, describe_text(content, tag), f'"{content}"@{tag.tag}--{tag.direction}')
        )
    return tuple(notes)


def confidence(chance: Chance) -> str:
    """Draw a confidence from 0.1 to 0.9."""
    return f"0.{chance.between(1, 9)}"


def decimal(value: str) -> Term:
    """Return a decimal number as a literal."""
    return f'"{value}"^^<{XSD.decimal}>'


def text(tag: Tag, chance: Chance) -> str:
    """Draw a text of three invented words in the letters of a language."""
    if not tag.letters:
        return " ".join(word(chance).lower() for _ in range(3))
    lengths = [chance.between(3, 6) for _ in range(3)]
    return " ".join("".join(chance.one(tag.letters) for _ in range(size)) for size in lengths)


def describe_text(content: str, tag: Tag) -> str:
    """Describe a text with its language and base direction."""
    direction = "right to left" if tag.direction == "rtl" else "left to right"
    return f'"{content}" (language {tag.tag}, base direction {direction})'


def lines(reports: Sequence[Report]) -> list[str]:
    """Return the triples of reports and of accepted statements as lines of N-Triples 1.2."""
    result: dict[str, None] = {}
    for report in reports:
        for statement in report.statements:
            spo = " ".join(statement.triple)
            result[f"{report.node} {REIFIES} <<( {spo} )>> ."] = None
            if report.accepted:
                result[f"{spo} ."] = None
        for predicate, _, term in report.notes:
            result[f"{report.node} {predicate} {term} ."] = None
    return list(result)


def names(graph: Graph, texts: Sequence[str], chance: Chance, more: int = 6) -> list[str]:
    """Return label triples of the things and properties named in ``texts``, and of some others."""
    iris = {iri for text in texts for iri in re.findall(r"<([^<>]*)>", text)}
    things = graph.things
    shown = [thing for thing in things if thing.iri in iris] + chance.some(things, more)
    own = [p for p in graph.model.properties if graph.terms[p.iri] in iris]
    others = chance.some([p for p in graph.model.properties if p.links], 3)
    properties = {p.iri: p for p in (*own, *others)}
    result = [
        f'<{graph.terms[iri]}> <{RDFS.label}> "{p.label}"@en .' for iri, p in properties.items()
    ]
    result += {generator.label(instance): None for instance in shown}
    return chance.shuffled(result)


def abbreviate(lines: Sequence[str]) -> str:
    """Abbreviate a document of N-Triples to Turtle with the prefixes that it needs."""
    used_prefixes: dict[str, None] = {}

    def named(match: re.Match[str]) -> str:
        used_prefixes[_NAMES[match[1]]] = None
        return f"{_NAMES[match[1]]}:{match[2]}"

    body = _SHORT.sub(named, "\n".join(lines))
    head = [
        f"@prefix {name}: <{space}> ." for name, space in PREFIXES.items() if name in used_prefixes
    ]
    return "\n".join([*head, "", body])


def describe_reports(reports: Sequence[Report]) -> Iterator[str]:
    """Yield each report as a line of text."""
    for number, report in enumerate(reports, 1):
        node = report.node if report.is_named else "a blank node"
        claims = ", and that ".join(statement.words for statement in report.statements)
        state = "accepted" if report.accepted else "open"
        notes = "; ".join(f"{_NOTED[predicate]}: {words}" for predicate, words, _ in report.notes)
        yield f"Report {number} (reifier: {node}; {state}): that {claims}. {notes}."


def graph_and_chance(world: World, *seed: object) -> tuple[Graph, Chance]:
    """Return the graph of a world and the random draws for one case about it."""
    return build_graph(world), Chance(VERSION, world.name, *seed)


_NOTED: Final = {
    SOURCE: "Source",
    DAY: "Day",
    CONFIDENCE: "Confidence",
    WORDING: "Wording",
}


def node(index: int, *, named: bool) -> Term:
    """Return the reifier of the report at an index: an IRI if ``named``, otherwise a blank node."""
    return f"<{TARGET}report{index + 1}>" if named else f"_:report{index + 1}"
