# SPDX-License-Identifier: Apache-2.0
"""Reports about statements of a world, in words and as RDF 1.2: reifiers, triple terms, directions.

A report has a reifier: a node that reifies one or two statements and has a source, a day and more.
A statement that is accepted is asserted, too; one that is open is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from typing import Final, NamedTuple

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds import generator
from kgbench.worlds.generator import Graph, Instance, World, made
from kgbench.worlds.model import NAMESPACE, Property
from kgbench.worlds.naming import Chance, word
from kgbench.worlds.writing import PREFIXES as WRITING
from kgbench.worlds.writing import TARGET

VERSION: Final = 1
"""Rises when the same seed gives other cases."""
LEVELS: Final = 4
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
"""An RDF term as N-Triples 1.2 writes it."""


class Tag(NamedTuple):
    """A language tag with its direction, and the letters that texts in it are made of."""

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
    """What is reported, by which reifier, whether it is asserted, and what is noted about it.

    A note is a property with its value in words and as a term.
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
    """What reports of a level are made of.

    ``reports`` is how many there are; of those some have IRIs (``named``), are open (``open``), are
    second reports about the same statement (``again``), are about two statements (``double``), have
    a text with a direction (``wording``), or are about other reports (``about``).
    """

    reports: int
    named: int = 0
    open: int = 0
    again: int = 0
    double: int = 0
    wording: int = 0
    about: int = 0


RECIPES: Final = {
    1: Recipe(2),
    2: Recipe(3, named=1, open=2),
    3: Recipe(4, named=2, open=2, again=1, wording=2),
    4: Recipe(5, named=2, open=3, again=1, double=1, wording=2, about=2),
}


def drawn(graph: Graph, recipe: Recipe, chance: Chance) -> list[Report]:
    """Reports about different statements, but for second ones."""
    facts = statements(graph, recipe.reports + recipe.double, chance)
    firsts = recipe.reports - recipe.again
    open_ = set(chance.some(range(firsts), recipe.open))
    named = set(chance.some(range(recipe.reports), recipe.named))
    worded = set(chance.some(range(recipe.reports), recipe.wording))
    found: list[Report] = []
    for place in range(recipe.reports):
        said: tuple[Statement, ...] = (facts[place],)
        accepted = place not in open_
        if place >= firsts:
            first = found[place - firsts]
            said, accepted = first.statements, first.accepted
        elif firsts - place <= recipe.double:
            said = (*said, facts[recipe.reports])
        notes = noted(graph, chance, worded=place in worded)
        found.append(Report(node(place, named=place in named), said, accepted, notes))
    for place in range(recipe.reports, recipe.reports + recipe.about):
        about = chance.some(found[: recipe.reports], recipe.about)[place - recipe.reports]
        number = found.index(about) + 1
        value = confidence(chance)
        wrong = Statement(
            f"report {number} has the confidence {value}",
            (about.node, CONFIDENCE, decimal(value)),
        )
        known = any(term == decimal(value) for _, _, term in about.notes)
        notes = noted(graph, chance, worded=False)
        found.append(Report(node(place, named=False), (wrong,), known, notes))
    return found


def statements(graph: Graph, number: int, chance: Chance) -> list[Statement]:
    """Different statements about instances: of links, half of them as they are in the world."""
    found: dict[tuple[Term, Term, Term], Statement] = {}
    everything = [one for kind in graph.model.populated for one in graph.instances[kind]]
    while len(found) < number:
        one = chance.one(everything)
        each = chance.one([p for p in graph.model.has(one.kind) if p.links])
        known = one.links.get(each.iri, [])
        is_known = bool(known) and chance.between(0, 1) == 1
        target = chance.one(known if is_known else graph.of(each.range))
        if target is not one:
            made_ = link(graph, one, each, target)
            found.setdefault(made_.triple, made_)
    return list(found.values())


def link(graph: Graph, one: Instance, each: Property, target: Instance) -> Statement:
    """Return the statement that a thing is linked to another."""
    words = f"{one.label} has {target.label} as {each.label}"
    return Statement(words, (f"<{one.iri}>", f"<{graph.terms[each.iri]}>", f"<{target.iri}>"))


def noted(graph: Graph, chance: Chance, *, worded: bool) -> tuple[tuple[Term, str, Term], ...]:
    """Source, day and confidence of a report, and a text with a direction where it is asked for."""
    source = chance.one(graph.of(f"{NAMESPACE}Organisation"))
    day = date.fromordinal(chance.between(*_DAYS)).isoformat()
    value = confidence(chance)
    notes = [
        (SOURCE, source.label, f"<{source.iri}>"),
        (DAY, day, f'"{day}"^^<{XSD.date}>'),
        (CONFIDENCE, value, decimal(value)),
    ]
    if worded:
        tag = chance.one(TAGS)
        said = text(tag, chance)
        notes.append((WORDING, told(said, tag), f'"{said}"@{tag.tag}--{tag.direction}'))
    return tuple(notes)


def confidence(chance: Chance) -> str:
    """Return a confidence between 0.1 and 0.9."""
    return f"0.{chance.between(1, 9)}"


def decimal(value: str) -> Term:
    """Return a number as a literal."""
    return f'"{value}"^^<{XSD.decimal}>'


def text(tag: Tag, chance: Chance) -> str:
    """Return an invented text of three words in the letters of a language."""
    if not tag.letters:
        return " ".join(word(chance).lower() for _ in range(3))
    lengths = [chance.between(3, 6) for _ in range(3)]
    return " ".join("".join(chance.one(tag.letters) for _ in range(size)) for size in lengths)


def told(said: str, tag: Tag) -> str:
    """Return a text with its language and direction, in words."""
    way = "right to left" if tag.direction == "rtl" else "left to right"
    return f'"{said}" (language {tag.tag}, base direction {way})'


def lines(reports: Sequence[Report]) -> list[str]:
    """Return the triples of reports and of what is accepted, as lines of N-Triples 1.2."""
    found: dict[str, None] = {}
    for report in reports:
        for one in report.statements:
            spo = " ".join(one.triple)
            found[f"{report.node} {REIFIES} <<( {spo} )>> ."] = None
            if report.accepted:
                found[f"{spo} ."] = None
        for predicate, _, term in report.notes:
            found[f"{report.node} {predicate} {term} ."] = None
    return list(found)


def names(graph: Graph, texts: Sequence[str], chance: Chance, more: int = 6) -> list[str]:
    """The labels of all things and properties whose IRIs occur in ``texts``, and of some others."""
    met = {iri for text in texts for iri in re.findall(r"<([^<>]*)>", text)}
    everything = [one for kind in graph.model.populated for one in graph.instances[kind]]
    shown = [one for one in everything if one.iri in met] + chance.some(everything, more)
    own = [p for p in graph.model.properties if graph.terms[p.iri] in met]
    others = chance.some([p for p in graph.model.properties if p.links], 3)
    properties = {p.iri: p for p in (*own, *others)}
    found = [
        f'<{graph.terms[iri]}> <{RDFS.label}> "{p.label}"@en .' for iri, p in properties.items()
    ]
    found += {generator.label(one): None for one in shown}
    return chance.shuffled(found)


def short(text: str) -> str:
    """Return a document of N-Triples as Turtle with the prefixes that it needs."""
    used: dict[str, None] = {}

    def named(match: re.Match[str]) -> str:
        used[_NAMES[match[1]]] = None
        return f"{_NAMES[match[1]]}:{match[2]}"

    body = _SHORT.sub(named, text)
    head = [f"@prefix {name}: <{space}> ." for name, space in PREFIXES.items() if name in used]
    return "\n".join([*head, "", body])


def described(reports: Sequence[Report]) -> Iterator[str]:
    """Yield each report in words, a line each."""
    for number, report in enumerate(reports, 1):
        node = report.node if report.is_named else "a blank node"
        said = ", and that ".join(one.words for one in report.statements)
        state = "accepted" if report.accepted else "open"
        notes = "; ".join(f"{_NOTED[predicate]}: {words}" for predicate, words, _ in report.notes)
        yield f"Report {number} (reifier: {node}; {state}): that {said}. {notes}."


def graph_and_chance(world: World, *seed: object) -> tuple[Graph, Chance]:
    """Return the graph of a world, and chance for one case about it."""
    return made(world), Chance(VERSION, world.name, *seed)


_NOTED: Final = {
    SOURCE: "Source",
    DAY: "Day",
    CONFIDENCE: "Confidence",
    WORDING: "Wording",
}


def node(place: int, *, named: bool) -> Term:
    """Return the reifier of the report at a place: an IRI, or a blank node."""
    return f"<{TARGET}report{place + 1}>" if named else f"_:report{place + 1}"
