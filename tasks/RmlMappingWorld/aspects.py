# SPDX-License-Identifier: Apache-2.0
"""Sources with rules that map them to a graph, and aspects of things: columns, rules and words."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from kgbench.api import RDF, RDFS, XSD, Chance, Graph, Instance, Property
from kgbench.worlds.generator import LANGUAGES, OPAQUE, RESOURCE
from kgbench.worlds.naming import word
from kgbench.worlds.writing import TARGET

Cell: TypeAlias = "str | int | list[str] | list[dict[str, str]] | None"
Row: TypeAlias = Mapping[str, Cell]
Rows: TypeAlias = Mapping[str, Sequence[Row]]
"""The rows of each source by its name."""
Triple: TypeAlias = tuple[str, ...]
COLUMN: Final = re.compile(r"\{([\w.]+)\}")
"""A column in a template, or a column nested in another (``outer.inner``)."""

CSV, JSON, XML, TABLE = "csv", "json", "xml", "table"
FORMATS: Final = (CSV, JSON, XML, TABLE)
NESTING: Final = frozenset({JSON, XML})
"""Formats with nested values."""


class Column(NamedTuple):
    """A column: its name, and whether it has numbers, several values, or ``nested`` columns.

    ``attribute`` makes it an attribute in XML; ``item`` is the XML element of each nested item.
    """

    name: str
    number: bool = False
    several: bool = False
    nested: tuple[str, ...] = ()
    attribute: bool = False
    item: str = ""


class Source(NamedTuple):
    """A file or table: its name (plural), the XML element of a row, and its columns."""

    name: str
    item: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column:
        """Return the column with a name."""
        return next(column for column in self.columns if column.name == name)


class Part(NamedTuple):
    """A part of a rule: a predicate with its objects.

    ``text`` is the name of a column (``kind`` reference), a template with names of columns in
    braces, a term in Turtle (constant), or the name of another rule (join). A join matches the
    first column of ``on`` with the second, which is in the source of the other rule. ``term_type``,
    ``datatype`` and ``language`` are those of RML; ``tags`` names a column of language tags.
    """

    predicate: str
    kind: str
    text: str
    term_type: str = ""
    datatype: str = ""
    language: str = ""
    tags: str = ""
    on: tuple[str, str] = ("", "")


class Rule(NamedTuple):
    """A rule that maps each row of a source, or each item nested in the column ``within``.

    ``only`` is a column with the value that selects rows. ``graph`` is a template for the name of
    the graph; ``""`` is the default graph.
    """

    name: str
    source: str
    subject: str
    classes: tuple[str, ...]
    parts: tuple[Part, ...]
    within: str = ""
    only: tuple[str, str] = ("", "")
    blank: bool = False
    graph: str = ""


def produced(rules: Sequence[Rule], rows: Rows) -> Iterator[Triple]:
    """Yield the triples that rules make of rows that they select, as terms of N-Triples.

    A triple in a named graph has the name of the graph behind it.
    """
    subjects = {rule.name: rule.subject for rule in rules}
    for rule in rules:
        for row in rows[rule.source]:
            items = row[rule.within] if rule.within else [row]
            assert isinstance(items, list)
            for item in items:
                yield from _triples(rule, item, subjects, rows)  # type: ignore[arg-type]


def _triples(rule: Rule, row: Row, subjects: Mapping[str, str], rows: Rows) -> Iterator[Triple]:
    graph = tuple(f"<{name}>" for name in _filled(rule.graph, row)) if rule.graph else ()
    for name in _filled(rule.subject, row):
        subject = _blank(name) if rule.blank else f"<{name}>"
        for class_iri in rule.classes:
            yield subject, f"<{RDF.type}>", f"<{class_iri}>", *graph
        # Cases list what blank nodes have in this order.
        for part in reversed(rule.parts) if rule.blank else rule.parts:
            for value in _objects(part, row, subjects, rows):
                yield subject, f"<{part.predicate}>", value, *graph


def _objects(part: Part, row: Row, subjects: Mapping[str, str], rows: Rows) -> Iterator[str]:
    if part.kind == "constant":
        yield part.text
    elif part.kind == "join":
        child, parent = part.on
        for other in rows[part.text]:
            if other[parent] == row[child]:
                yield from (f"<{name}>" for name in _filled(subjects[part.text], other))
    else:
        text = part.text if part.kind == "template" else f"{{{part.text}}}"
        yield from (_term(part, value, row) for value in _filled(text, row))


def _term(part: Part, value: str, row: Row) -> str:
    if part.term_type == "BlankNode":
        return _blank(value)
    if part.term_type == "IRI" or (part.kind == "template" and not part.term_type):
        return f"<{value}>"
    if part.datatype:
        return f'"{value}"^^<{part.datatype}>'
    language = row[part.tags] if part.tags else part.language
    return f'"{value}"@{language}' if language else f'"{value}"'


def _blank(name: str) -> str:
    return f"_:{name.replace('_', '', 1)}"


def _filled(template: str, row: Row) -> Iterator[str]:
    """Yield a template with each combination of the values of its columns; none without a value."""
    names = COLUMN.findall(template)
    for cells in product(*(_cells(row, name) for name in names)):
        values = iter(cells)
        yield COLUMN.sub(lambda _: str(next(values)), template)  # noqa: B023 - called at once


def _cells(row: Row, name: str) -> Sequence[object]:
    outer, _, inner = name.partition(".")
    cell = row[outer]
    if not isinstance(cell, list):
        return [] if cell is None else [cell]
    return [item[inner] if isinstance(item, dict) else item for item in cell]


KEY, NAME, STATUS, BATCH = "key", "name", "status", "batch"
VALID, WITHDRAWN = "valid", "withdrawn"
EXTRA: Final = ("note", "origin", "measure", "unit", "page", "caption")
"""Properties that the model of worlds does not have, by their labels."""
THING: Final = f"{RESOURCE}{{key}}"


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

    def rules(self) -> Sequence[Rule]:
        """Return further rules."""
        return ()

    def sources(self, things: Sequence[Instance]) -> Sequence[tuple[Source, Sequence[Row]]]:
        """Draw further sources, about the things that these things link to."""
        return ()

    def shows(self, rows: Rows) -> bool:
        """Return whether rows have data for the aspect."""
        main = self.setting.source
        rules = [Rule(main, main, THING, (), tuple(self.parts())), *self.rules()]
        return any(True for _ in produced(rules, rows))

    @abstractmethod
    def words(self) -> str:
        """Return the description of the aspect for the prompt."""


def key(instance: Instance) -> str:
    """Return the key of a thing in sources: the end of its IRI."""
    return instance.iri.removeprefix(RESOURCE)


NAMED: Final = Part(str(RDFS.label), "reference", NAME)


class Named(Aspect):
    """The name of each thing."""

    def columns(self) -> Sequence[Column]:
        return (Column(KEY, attribute=self.setting.chance.between(0, 1) == 1), Column(NAME))

    def fill(self, instance: Instance) -> dict[str, Cell]:
        return {KEY: key(instance), NAME: instance.label}

    def parts(self) -> Sequence[Part]:
        return (NAMED,)

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

    def words(self) -> str:
        return f"{self.value} as its origin"


def phrase(chance: Chance) -> str:
    """Draw an invented text of two words."""
    return f"{word(chance).lower()} {word(chance).lower()}"
