# SPDX-License-Identifier: Apache-2.0
"""Aspects of things in sources: each with its columns, mapping rules, triples and description.

The triples are computed from the rows directly; no mapping is executed for them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Final, NamedTuple, TypeAlias

from kgbench.vocab import RDF, RDFS, XSD
from kgbench.worlds.generator import LANGUAGES, OPAQUE, RESOURCE, Graph, Instance
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance, word
from kgbench.worlds.writing import TARGET

from .parts import Cell, Column, Part, Row, Rule, Source

KEY, NAME, STATUS, BATCH = "key", "name", "status", "batch"
VALID, WITHDRAWN = "valid", "withdrawn"
EXTRA: Final = ("note", "origin", "measure", "unit", "page", "caption")
"""Properties that the model of worlds does not have, by their labels."""
THING: Final = f"{RESOURCE}{{key}}"

Triple: TypeAlias = tuple[str, ...]
Rows: TypeAlias = Mapping[str, Sequence[Row]]


class Setting(NamedTuple):
    """The shared context of the aspects of a case: its graph, class, format and main source."""

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
    """A kind of statements about the things of a source."""

    feature = ""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    def columns(self) -> Sequence[Column]:
        """Return the columns of the aspect in the main source."""
        return ()

    @abstractmethod
    def fill(self, instance: Instance) -> dict[str, Cell]:
        """Draw the cells of these columns for a thing."""

    def parts(self) -> Sequence[Part]:
        """Return the parts of the main rule for the aspect."""
        return ()

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        """Yield the predicates and objects of the thing of a row that follow from these parts."""
        yield from ()

    def rules(self) -> Sequence[Rule]:
        """Return further rules."""
        return ()

    def sources(self, things: Sequence[Instance]) -> Sequence[tuple[Source, Sequence[Row]]]:
        """Draw further sources, about the things that these things link to."""
        return ()

    def triples(self, rows: Rows) -> Iterator[Triple]:
        """Yield the triples that follow from the further rules."""
        yield from ()

    def shows(self, rows: Rows) -> bool:
        """Return whether rows have data for the aspect."""
        objects = (pair for row in rows[self.setting.source] for pair in self.objects(row, rows))
        return any(True for _ in objects) or any(True for _ in self.triples(rows))

    @abstractmethod
    def words(self) -> str:
        """Return the description of the aspect for the prompt."""


def key(instance: Instance) -> str:
    """Return the key of a thing in sources: the end of its IRI."""
    return instance.iri.removeprefix(RESOURCE)


def thing(name: Cell) -> str:
    """Return the IRI of the thing with a key, in N-Triples syntax."""
    return f"<{RESOURCE}{name}>"


def name_triples(kind: str, row: Row) -> Iterator[Triple]:
    """Yield the triples with class and name of the thing of a row."""
    yield thing(row[KEY]), f"<{RDF.type}>", f"<{kind}>"
    yield thing(row[KEY]), f"<{RDFS.label}>", f'"{row[NAME]}"'


NAMED: Final = Part(str(RDFS.label), "reference", NAME)


class Named(Aspect):
    """The name of each thing."""

    def columns(self) -> Sequence[Column]:
        return (Column(KEY, attribute=self.setting.chance.between(0, 1) == 1), Column(NAME))

    def fill(self, instance: Instance) -> dict[str, Cell]:
        return {KEY: key(instance), NAME: instance.label}

    def parts(self) -> Sequence[Part]:
        return (NAMED,)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        yield f"<{RDFS.label}>", f'"{row[NAME]}"'

    def words(self) -> str:
        return "its name, as rdfs:label"


class PropertyAspect(Aspect):
    """An aspect that uses a property of the model."""

    def __init__(self, setting: Setting, prop: Property) -> None:
        super().__init__(setting)
        self.prop = prop
        self.predicate = setting.term(prop.iri)

    def columns(self) -> Sequence[Column]:
        return (Column(self.prop.key),)

    def targets(self, instance: Instance) -> list[Instance]:
        """Return the things that a thing links to by the property."""
        return instance.links.get(self.prop.iri, [])

    def words(self) -> str:
        return f"its {self.prop.label}"


class Link(PropertyAspect):
    """A link to a thing by its key in the row."""

    feature = "link"
    several = False

    def columns(self) -> Sequence[Column]:
        return (Column(self.prop.key, several=self.several),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        keys = [key(target) for target in self.targets(instance)]
        return {self.prop.key: keys if self.several else next(iter(keys), None)}

    def parts(self) -> Sequence[Part]:
        return (Part(self.predicate, "template", f"{RESOURCE}{{{self.prop.key}}}"),)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        cell = row[self.prop.key]
        for target_key in cell if isinstance(cell, list) else [cell]:
            if isinstance(target_key, str):
                yield f"<{self.predicate}>", thing(target_key)

    def words(self) -> str:
        return f"its {self.prop.label}, a thing with this key"


class Links(Link):
    """Links to several things by their keys in the row."""

    feature = "several"
    several = True

    def words(self) -> str:
        return f"each {self.prop.label} that it has, a thing with this key"


class Typed(PropertyAspect):
    """A date or whole number with its datatype."""

    feature = "datatype"

    def columns(self) -> Sequence[Column]:
        return (Column(self.prop.key, number=self.prop.range == XSD.integer),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        value = next(iter(instance.values.get(self.prop.iri, ())), None)
        if isinstance(value, int) and self.prop.range == XSD.date:
            return {self.prop.key: date.fromordinal(value).isoformat()}
        return {self.prop.key: value if isinstance(value, int) else None}

    def parts(self) -> Sequence[Part]:
        return (Part(self.predicate, "reference", self.prop.key, datatype=self.prop.range),)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        if row[self.prop.key] is not None:
            yield f"<{self.predicate}>", f'"{row[self.prop.key]}"^^<{self.prop.range}>'

    def words(self) -> str:
        return f"its {self.prop.label}, with the datatype of the schema"


class Texts(Aspect):
    """Notes in two languages, with a column for each language."""

    feature = "language"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.tags = setting.chance.some(LANGUAGES, 2)

    def columns(self) -> Sequence[Column]:
        return [Column(f"note_{tag}") for tag in self.tags]

    def fill(self, instance: Instance) -> dict[str, Cell]:
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
    """A constant origin, the same for all things."""

    feature = "constant"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self.value = f"<{RESOURCE}list{setting.chance.between(1, 99)}>"

    def fill(self, instance: Instance) -> dict[str, Cell]:
        return {}

    def parts(self) -> Sequence[Part]:
        return (Part(self.setting.own("origin"), "constant", self.value),)

    def objects(self, row: Row, rows: Rows) -> Iterator[tuple[str, str]]:
        yield f"<{self.setting.own('origin')}>", self.value

    def words(self) -> str:
        return f"{self.value} as its origin"


def phrase(chance: Chance) -> str:
    """Draw an invented text of two words."""
    return f"{word(chance).lower()} {word(chance).lower()}"
