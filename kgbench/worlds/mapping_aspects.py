# SPDX-License-Identifier: Apache-2.0
"""What sources may say of the things that they are about: each with columns, words, rules, triples.

The triples follow from the rows by themselves: no mapping is executed for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple, TypeAlias

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.generator import LANGUAGES, OPAQUE, RESOURCE, Graph, Instance
from kgbench.worlds.mapping_parts import Cell, Column, Part, Row, Rule, Source
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance, word
from kgbench.worlds.writing import TARGET

KEY, NAME, STATUS, BATCH = "key", "name", "status", "batch"
VALID, WITHDRAWN = "valid", "withdrawn"
EXTRA: Final = ("note", "origin", "measure", "unit", "page", "caption")
"""Properties that the model of worlds does not have, by their labels."""
THING: Final = f"{RESOURCE}{{key}}"

Triple: TypeAlias = tuple[str, ...]
Rows: TypeAlias = Mapping[str, Sequence[Row]]


class Setting(NamedTuple):
    """What all aspects of a case share: its world, the class of its things, and its format."""

    graph: Graph
    kind: str
    form: str
    chance: Chance
    source: str

    def own(self, name: str) -> str:
        """Return the IRI of one of the properties in :data:`EXTRA`."""
        opaque = self.graph.world.names == OPAQUE
        return f"{TARGET}x{EXTRA.index(name) + 1}" if opaque else f"{TARGET}{name}"

    def term(self, iri: str) -> str:
        """Return the IRI of a class or property of the model in this world."""
        return self.graph.terms[iri]

    def label(self, kind: str) -> str:
        """Return the label of a class."""
        return self.graph.model.kinds[kind].label


class Aspect(ABC):
    """One sort of statements about the things of a source."""

    feature = ""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def columns(self) -> Sequence[Column]:
        """Return the columns that the source has for it."""
        return ()

    @abstractmethod
    def fill(self, one: Instance) -> dict[str, Cell]:
        """Return the cells of these columns for a thing."""

    def parts(self) -> Sequence[Part]:
        """Return what the rule about the things says of it."""
        return ()

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        """Yield the predicates and objects that a row says of its thing by these parts."""
        yield from ()

    def rules(self) -> Sequence[Rule]:
        """Further rules."""
        return ()

    def sources(self, things: Sequence[Instance]) -> Sequence[tuple[Source, Sequence[Row]]]:
        """Further sources that are about what these things are linked to."""
        return ()

    def triples(self, rows: Rows) -> Iterator[Triple]:
        """Yield the triples that follow from the further rules."""
        yield from ()

    def shows(self, rows: Rows) -> bool:
        """Return whether rows have what it is about."""
        said = (one for row in rows[self.setting.source] for one in self.objects(row, rows))
        return any(True for _ in said) or any(True for _ in self.triples(rows))

    @abstractmethod
    def words(self) -> str:
        """Return what a graph has by it."""


def key(one: Instance) -> str:
    """Return what sources call a thing: the end of its IRI."""
    return one.iri.removeprefix(RESOURCE)


def thing(name: Cell) -> str:
    """Return the node of a thing with a key."""
    return f"<{RESOURCE}{name}>"


def named(kind: str, row: Row) -> Iterator[Triple]:
    """Class and name of the thing of a row."""
    yield thing(row[KEY]), f"<{RDF.type}>", f"<{kind}>"
    yield thing(row[KEY]), f"<{RDFS.label}>", f'"{row[NAME]}"'


NAMED: Final = Part(str(RDFS.label), "reference", NAME)


class Named(Aspect):
    """The name of each thing."""

    def columns(self) -> Sequence[Column]:
        return (Column(KEY, attribute=self.setting.chance.between(0, 1) == 1), Column(NAME))

    def fill(self, one: Instance) -> dict[str, Cell]:
        return {KEY: key(one), NAME: one.label}

    def parts(self) -> Sequence[Part]:
        return (NAMED,)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        yield f"<{RDFS.label}>", f'"{row[NAME]}"'

    def words(self) -> str:
        return "its name, as rdfs:label"


class OfProperty(Aspect):
    """Something said with a property of the model."""

    def __init__(self, setting: Setting, of: Property) -> None:
        super().__init__(setting)
        self.of = of
        self.predicate = setting.term(of.iri)

    def columns(self) -> Sequence[Column]:
        return (Column(self.of.key),)

    def targets(self, one: Instance) -> list[Instance]:
        """Return what a thing is linked to by the property."""
        return one.links.get(self.of.iri, [])

    def words(self) -> str:
        return f"its {self.of.label}"


class Link(OfProperty):
    """A link to a thing whose key the row has; several where there are several keys."""

    feature = "link"
    several = False

    def columns(self) -> Sequence[Column]:
        return (Column(self.of.key, several=self.several),)

    def fill(self, one: Instance) -> dict[str, Cell]:
        keys = [key(target) for target in self.targets(one)]
        return {self.of.key: keys if self.several else next(iter(keys), None)}

    def parts(self) -> Sequence[Part]:
        return (Part(self.predicate, "template", f"{RESOURCE}{{{self.of.key}}}"),)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        cell = row[self.of.key]
        for name in cell if isinstance(cell, list) else [cell]:
            if isinstance(name, str):
                yield f"<{self.predicate}>", thing(name)

    def words(self) -> str:
        return f"its {self.of.label}, a thing with this key"


class Links(Link):
    """Links to things whose keys the row has."""

    feature = "several"
    several = True

    def words(self) -> str:
        return f"each {self.of.label} that it has, a thing with this key"


class Typed(OfProperty):
    """A date or a whole number with its datatype."""

    feature = "datatype"

    def columns(self) -> Sequence[Column]:
        return (Column(self.of.key, number=self.of.range == XSD.integer),)

    def fill(self, one: Instance) -> dict[str, Cell]:
        value = next(iter(one.values.get(self.of.iri, ())), None)
        if isinstance(value, int) and self.of.range == XSD.date:
            return {self.of.key: date.fromordinal(value).isoformat()}
        return {self.of.key: value if isinstance(value, int) else None}

    def parts(self) -> Sequence[Part]:
        return (Part(self.predicate, "reference", self.of.key, datatype=self.of.range),)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        if row[self.of.key] is not None:
            yield f"<{self.predicate}>", f'"{row[self.of.key]}"^^<{self.of.range}>'

    def words(self) -> str:
        return f"its {self.of.label}, with the datatype of the schema"


class Texts(Aspect):
    """Notes in two languages, each in a column of its own."""

    feature = "language"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.tags = setting.chance.some(LANGUAGES, 2)

    def columns(self) -> Sequence[Column]:
        return [Column(f"note_{tag}") for tag in self.tags]

    def fill(self, one: Instance) -> dict[str, Cell]:
        chance = self.setting.chance
        return {
            f"note_{tag}": phrase(chance) if chance.between(0, 3) else None for tag in self.tags
        }

    def parts(self) -> Sequence[Part]:
        iri = self.setting.own("note")
        return [Part(iri, "reference", f"note_{tag}", language=tag) for tag in self.tags]

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        for tag in self.tags:
            if row[f"note_{tag}"] is not None:
                yield f"<{self.setting.own('note')}>", f'"{row[f"note_{tag}"]}"@{tag}'

    def words(self) -> str:
        return f"its notes in the languages {' and '.join(self.tags)}, with these language tags"


class Constant(Aspect):
    """The same origin for all things."""

    feature = "constant"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.value = f"<{RESOURCE}list{setting.chance.between(1, 99)}>"

    def fill(self, one: Instance) -> dict[str, Cell]:
        return {}

    def parts(self) -> Sequence[Part]:
        return (Part(self.setting.own("origin"), "constant", self.value),)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        yield f"<{self.setting.own('origin')}>", self.value

    def words(self) -> str:
        return f"{self.value} as its origin"


def phrase(chance: Chance) -> str:
    """Return an invented text of two words."""
    return f"{word(chance).lower()} {word(chance).lower()}"
