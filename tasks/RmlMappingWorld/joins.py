# SPDX-License-Identifier: Apache-2.0
"""Aspects that need several rules or columns: joins, nesting, pairs, blank nodes, captions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from kgbench.api import RDF, Instance, Property
from kgbench.worlds.generator import LANGUAGES, RESOURCE

from .aspects import (
    BATCH,
    KEY,
    NAME,
    NAMED,
    THING,
    Aspect,
    Cell,
    Column,
    Part,
    PropertyAspect,
    Row,
    Rows,
    Rule,
    Setting,
    Source,
    Typed,
    key,
    phrase,
)

_MOST: Final = 3  # most things in a source that one thing links to by a property
_CODE: Final = "code"


class Joined(PropertyAspect):
    """Links by codes that another source resolves."""

    feature = "join"

    def __init__(self, setting: Setting, prop: Property) -> None:
        super().__init__(setting, prop)
        self.codes: dict[str, int] = {}
        self.column = f"{prop.key}Code"
        self.source = Source(
            _plural(prop.key), prop.key, (Column(_CODE, number=True), Column(KEY), Column(NAME))
        )

    def columns(self) -> Sequence[Column]:
        return (Column(self.column, number=True),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        target = next(iter(self.targets(instance)), None)
        return {self.column: None if target is None else self._code(target)}

    def _code(self, target: Instance) -> int:
        if target.iri not in self.codes:
            used = set(self.codes.values())
            code = self.setting.chance.between(100, 999)
            while code in used:
                code = self.setting.chance.between(100, 999)
            self.codes[target.iri] = code
        return self.codes[target.iri]

    def parts(self) -> Sequence[Part]:
        on = (self.column, _CODE)
        return (Part(self.predicate, "join", self.source.name, on=on),)

    def rules(self) -> Sequence[Rule]:
        kind = self.setting.term(self.prop.range)
        return (Rule(self.source.name, self.source.name, THING, (kind,), (NAMED,)),)

    def sources(self, things: Sequence[Instance]) -> Sequence[tuple[Source, Sequence[Row]]]:
        targets = {
            target.iri: target for instance in things for target in self.targets(instance)[:1]
        }
        candidates = self.setting.graph.instances_of(self.prop.range)
        for other in self.setting.chance.some(candidates, 2):
            targets.setdefault(other.iri, other)
        rows: list[Row] = [
            {_CODE: self._code(instance), KEY: key(instance), NAME: instance.label}
            for instance in targets.values()
        ]
        return ((self.source, self.setting.chance.shuffled(rows)),)

    def words(self) -> str:
        label = self.setting.label(self.prop.range)
        return (
            f"its {self.prop.label}: the {label} with this code. Each {label} with a code has its "
            "name and the class that the schema gives as range"
        )


class Nested(PropertyAspect):
    """Linked things nested in the row, with names of their own."""

    feature = "nested"

    def columns(self) -> Sequence[Column]:
        return (Column(_plural(self.prop.key), nested=(KEY, NAME), item=self.prop.key),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        targets = self.targets(instance)[:_MOST]
        return {
            _plural(self.prop.key): [{KEY: key(target), NAME: target.label} for target in targets]
        }

    def parts(self) -> Sequence[Part]:
        column = f"{_plural(self.prop.key)}.{KEY}"
        return (Part(self.predicate, "template", f"{RESOURCE}{{{column}}}"),)

    def rules(self) -> Sequence[Rule]:
        within = _plural(self.prop.key)
        kind = self.setting.term(self.prop.range)
        return (Rule(within, self.setting.source, THING, (kind,), (NAMED,), within=within),)

    def words(self) -> str:
        return (
            f"each {self.prop.label} that it has. These things have their names and the class that "
            "the schema gives as range"
        )


class Paired(PropertyAspect):
    """Links in a separate source of pairs."""

    feature = "pairs"

    def __init__(self, setting: Setting, prop: Property) -> None:
        super().__init__(setting, prop)
        self.ends = (setting.label(setting.kind), prop.key)
        columns = (Column(self.ends[0]), Column(self.ends[1]))
        self.source = Source(_plural(prop.key), "pair", columns)

    def columns(self) -> Sequence[Column]:
        return ()

    def fill(self, instance: Instance) -> dict[str, Cell]:
        return {}

    def rules(self) -> Sequence[Rule]:
        subject, value = (f"{RESOURCE}{{{end}}}" for end in self.ends)
        name = self.source.name
        return (Rule(name, name, subject, (), (Part(self.predicate, "template", value),)),)

    def sources(self, things: Sequence[Instance]) -> Sequence[tuple[Source, Sequence[Row]]]:
        first, second = self.ends
        rows = [
            {first: key(instance), second: key(target)}
            for instance in things
            for target in self.targets(instance)[:_MOST]
        ]
        return ((self.source, self.setting.chance.shuffled(rows)),)

    def words(self) -> str:
        return f"each {self.prop.label} that it has, as said in another source"


class Inline(PropertyAspect):
    """A linked thing whose key and name are in the same row."""

    feature = "inline"

    def columns(self) -> Sequence[Column]:
        return (Column(f"{self.prop.key}Key"), Column(f"{self.prop.key}Name"))

    def fill(self, instance: Instance) -> dict[str, Cell]:
        target = next(iter(self.targets(instance)), None)
        cells = (None, None) if target is None else (key(target), target.label)
        return dict(zip((f"{self.prop.key}Key", f"{self.prop.key}Name"), cells, strict=True))

    def parts(self) -> Sequence[Part]:
        return (Part(self.predicate, "template", self._subject()),)

    def _subject(self) -> str:
        return f"{RESOURCE}{{{self.prop.key}Key}}"

    def rules(self) -> Sequence[Rule]:
        label = NAMED._replace(text=f"{self.prop.key}Name")
        kind = self.setting.term(self.prop.range)
        return (
            Rule(
                f"{self.prop.key}_inline", self.setting.source, self._subject(), (kind,), (label,)
            ),
        )

    def words(self) -> str:
        return (
            f"its {self.prop.label}, a thing that has its name and the class that the schema gives "
            "as range"
        )


class Measured(Typed):
    """A number with a unit, as properties of a blank node."""

    feature = "blank"

    def parts(self) -> Sequence[Part]:
        predicate = self.setting.own("measure")
        return (Part(predicate, "template", f"{self.prop.key}_{{key}}", term_type="BlankNode"),)

    def rules(self) -> Sequence[Rule]:
        value = Part(str(RDF.value), "reference", self.prop.key, datatype=self.prop.range)
        unit = Part(self.setting.own("unit"), "constant", f'"{self.prop.label}"')
        subject = f"{self.prop.key}_{{key}}"
        name = f"{self.prop.key}_measure"
        return (Rule(name, self.setting.source, subject, (), (value, unit), blank=True),)

    def shows(self, rows: Rows) -> bool:
        return any(row[self.prop.key] is not None for row in rows[self.setting.source])

    def words(self) -> str:
        return (
            f"one measure, also where it is not known: a blank node with the {self.prop.label} "
            "as rdf:value (where it is known, with the datatype that the schema gives as range "
            f'of the {self.prop.label}) and with "{self.prop.label}" as its unit'
        )


class Tagged(Aspect):
    """A note whose language tag is in another column."""

    feature = "languages"

    def columns(self) -> Sequence[Column]:
        return (Column("note"), Column("language"))

    def fill(self, instance: Instance) -> dict[str, Cell]:
        chance = self.setting.chance
        return {"note": phrase(chance), "language": chance.one(LANGUAGES)}

    def parts(self) -> Sequence[Part]:
        return (Part(self.setting.own("note"), "reference", "note", tags="language"),)

    def words(self) -> str:
        return "its note, with the language that its row names as language tag"


class Page(Aspect):
    """A column with complete IRIs."""

    feature = "iri"

    def columns(self) -> Sequence[Column]:
        return (Column("page"),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        chance = self.setting.chance
        path = f"{phrase(chance).replace(' ', '/')}#{chance.between(1, 99)}"
        return {"page": f"https://example.org/{path}" if chance.between(0, 3) else None}

    def parts(self) -> Sequence[Part]:
        return (Part(self.setting.own("page"), "reference", "page", term_type="IRI"),)

    def words(self) -> str:
        return "its page, an IRI"


class Caption(Aspect):
    """A text combined from two columns."""

    feature = "caption"

    def columns(self) -> Sequence[Column]:
        return (Column("place"),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        return {"place": phrase(self.setting.chance)}

    def parts(self) -> Sequence[Part]:
        text = f"{{{NAME}}} ({{place}})"
        return (Part(self.setting.own("caption"), "template", text, term_type="Literal"),)

    def words(self) -> str:
        return "its caption, which is its name, a blank, and its place in brackets"


class Grouped(Aspect):
    """Named graphs by batch number."""

    feature = "graph"
    GRAPH = f"{RESOURCE}batch/{{{BATCH}}}"

    def columns(self) -> Sequence[Column]:
        return (Column(BATCH, number=True),)

    def fill(self, instance: Instance) -> dict[str, Cell]:
        return {BATCH: self.setting.chance.between(1, 3)}

    def shows(self, rows: Rows) -> bool:
        return len({row[BATCH] for row in rows[self.setting.source]}) > 1

    def words(self) -> str:
        return ""


def _plural(name: str) -> str:
    return f"{name}_list"
