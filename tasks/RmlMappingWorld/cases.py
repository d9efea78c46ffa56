# SPDX-License-Identifier: Apache-2.0
"""Mapping exercises: sources about things of a world, with the graphs that they map to.

A case has its sources twice: with data that the prompt shows, and with hidden data about other
things. Both have the same columns, so that one mapping produces both graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kgbench.api import Instance, LevelSheet, Property, World
from kgbench.worlds.generator import RESOURCE

from . import writing
from .aspects import (
    CSV,
    EXTRA,
    NESTING,
    STATUS,
    TABLE,
    THING,
    VALID,
    WITHDRAWN,
    Aspect,
    Column,
    Constant,
    Link,
    Links,
    Named,
    PropertyAspect,
    Row,
    Rule,
    Setting,
    Source,
    Texts,
    Triple,
    Typed,
    produced,
)
from .joins import (
    Caption,
    Grouped,
    Inline,
    Joined,
    Measured,
    Nested,
    Page,
    Paired,
    Tagged,
)

LEVELS: Final = 4
_SHOWN, _HIDDEN = (4, 6), (9, 12)  # fewest and most things

_SIMPLE: Final = ("datatype", "language", "constant", "classes")
_LINKED: Final = ("join", "nested", "pairs", "inline")
_SPECIAL: Final = ("blank", "languages", "iri", "caption", "graph", "several", "filter")
_NEW: Final = {1: ("link",), 2: _SIMPLE, 3: _LINKED, 4: _SPECIAL}
"""The features that a level introduces."""
_RECIPES: Final = {
    1: {"link": 2},
    2: {"link": 1, "simple": 3},
    3: {"simple": 2, "linked": 2},
    4: {"simple": 1, "linked": 1, "special": 3},
}
_GROUPS: Final = {"link": ("link",), "simple": _SIMPLE, "linked": _LINKED, "special": _SPECIAL}
_FEWEST: Final = {1: 1, 2: 2, 3: 2, 4: 4}
"""The fewest features of a case of a level."""
_OF_PROPERTIES: Final[dict[str, type[PropertyAspect]]] = {
    "link": Link,
    "several": Links,
    "datatype": Typed,
    "blank": Measured,
    "join": Joined,
    "nested": Nested,
    "pairs": Paired,
    "inline": Inline,
}
_OTHERS: Final[dict[str, type[Aspect]]] = {
    "language": Texts,
    "constant": Constant,
    "languages": Tagged,
    "iri": Page,
    "caption": Caption,
    "graph": Grouped,
}


class Exercise(NamedTuple):
    """Sources by name, shown and hidden, with their graphs, the mapping, and its description.

    Graphs are rows of N-Triples terms. ``extra`` maps the IRIs of properties outside the model to
    labels.
    """

    form: str
    shown_sources: dict[str, Any]
    hidden_sources: dict[str, Any]
    expected: tuple[tuple[Triple, ...], tuple[Triple, ...]]
    mapping: str
    words: tuple[str, ...]
    extra: dict[str, str]
    kinds: tuple[str, ...]
    features: tuple[str, ...]


class Exercises(LevelSheet[Exercise]):
    """A sequence of different exercises of one level and format about a world."""

    THINGS, VERSION, TRIES = "mappings", 1, 400

    def __init__(self, world: World, level: int, form: str) -> None:
        super().__init__(world, level, form)
        self._form = form

    def _drawn(self) -> Exercise | None:
        return _Draft(self._setting(), self._level).exercise()

    def _key(self, drawn: Exercise) -> str:
        return repr(drawn.shown_sources)

    def _setting(self) -> Setting:
        kinds = self._graph.model.populated
        kind = self._chance.one(
            [iri for iri in kinds if len(self._graph.instances_of(iri)) > 2 * _SHOWN[1]]
        )
        label = self._graph.model.kinds[kind].plural
        return Setting(self._graph, kind, self._form, self._chance, label)


class _Draft:
    """An exercise under construction: first its aspects, then the rows."""

    def __init__(self, setting: Setting, level: int) -> None:
        self._setting = setting
        self._level = level
        self._chance = setting.chance
        self._unused_properties = self._chance.shuffled(
            [prop for prop in setting.graph.model.has(setting.kind) if not prop.transitive]
        )
        features = [
            name
            for group, number in _RECIPES[level].items()
            for name in self._chance.some(self._possible(group), number)
        ]
        above = setting.graph.model.above(setting.kind)
        self._classes = list(above) if "classes" in features else [setting.kind]
        self._filters = "filter" in features and "nested" not in features
        self._aspects: list[Aspect] = [Named(setting)]
        drawn = (self._aspect(name) for name in features)
        self._aspects += [aspect for aspect in drawn if aspect is not None]
        self._features = {aspect.feature for aspect in self._aspects} - {""}
        self._features |= {"classes"} if len(self._classes) > 1 else set()
        self._features |= {"filter"} if self._filters else set()

    def _possible(self, group: str) -> list[str]:
        """Return the features of a group that the format allows."""
        form = self._setting.form
        lacks = {"nested", "several"} if form not in NESTING else {"pairs"}
        lacks |= {"languages"} if form == TABLE else set()
        lacks |= {"filter"} if form == CSV else set()
        return [name for name in _GROUPS[group] if name not in lacks]

    def _aspect(self, name: str) -> Aspect | None:
        if name in _OTHERS:
            return _OTHERS[name](self._setting)
        of_property = _OF_PROPERTIES.get(name)
        if of_property is None:
            return None
        prop = next((prop for prop in self._unused_properties if _suits(prop, name)), None)
        if prop is None:
            return None
        self._unused_properties.remove(prop)
        return of_property(self._setting, prop)

    def exercise(self) -> Exercise | None:
        """Build the exercise; return ``None`` if it lacks features that its level requires."""
        new = set(_NEW[self._level]) & self._features
        if not new or len(self._features) < _FEWEST[self._level]:
            return None
        candidates = self._chance.shuffled(self._setting.graph.instances_of(self._setting.kind))
        number = self._chance.between(*_SHOWN)
        last = number + self._chance.between(*_HIDDEN)
        shown, hidden = candidates[:number], candidates[number:last]
        main = self._source()
        sources = {main.name: main}
        row_sets = []
        for things in (shown, hidden):
            rows: dict[str, Sequence[Row]] = {main.name: [self._row(thing) for thing in things]}
            for aspect in self._aspects:
                for source, others in aspect.sources(things):
                    sources[source.name] = source
                    rows[source.name] = others
            valid_rows = self._valid_rows(rows)
            if self._is_filter_idle(rows) or not all(
                aspect.shows(valid_rows) for aspect in self._aspects
            ):
                return None
            row_sets.append(rows)
        form = self._setting.form
        files = [
            {
                writing.file_name(sources[name], form): writing.WRITERS[form](
                    sources[name], rows[name]
                )
                for name in rows
            }
            for rows in row_sets
        ]
        rules = self._rules()
        graphs = [
            tuple(dict.fromkeys(produced(rules, self._valid_rows(rows)))) for rows in row_sets
        ]
        return Exercise(
            form,
            files[0],
            files[1],
            (graphs[0], graphs[1]),
            writing.mapping(rules, sources, form),
            tuple(self._words()),
            {self._setting.own(name): name for name in EXTRA},
            tuple(self._setting.term(kind) for kind in self._classes),
            tuple(sorted(self._features)),
        )

    # Rows

    def _source(self) -> Source:
        columns = [column for aspect in self._aspects for column in aspect.columns()]
        columns += [Column(STATUS, attribute=True)] if self._filters else []
        item = self._setting.label(self._setting.kind)
        first, *others = columns
        return Source(self._setting.source, item, (first, *self._chance.shuffled(others)))

    def _row(self, instance: Instance) -> Row:
        cells = {
            name: cell for aspect in self._aspects for name, cell in aspect.fill(instance).items()
        }
        if self._filters:
            cells[STATUS] = WITHDRAWN if self._chance.between(0, 2) == 0 else VALID
        return cells

    def _valid_rows(self, rows: dict[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
        """Return the rows without withdrawn ones of the main source."""
        main = self._setting.source
        kept = [row for row in rows[main] if row.get(STATUS, VALID) == VALID]
        return {**rows, main: kept}

    def _is_filter_idle(self, rows: dict[str, Sequence[Row]]) -> bool:
        """Return whether a filter would have no effect."""
        main = rows[self._setting.source]
        return self._filters and len({row[STATUS] for row in main}) == 1

    # Rules and descriptions

    def _rules(self) -> list[Rule]:
        main = self._setting.source
        only = (STATUS, VALID) if self._filters else ("", "")
        parts = tuple(part for aspect in self._aspects for part in aspect.parts())
        kinds = tuple(self._setting.term(kind) for kind in self._classes)
        graph = Grouped.GRAPH if "graph" in self._features else ""
        rules = [Rule(main, main, THING, kinds, parts, only=only, graph=graph)]
        for aspect in self._aspects:
            rules += [
                rule._replace(only=only) if rule.source == main else rule for rule in aspect.rules()
            ]
        return rules

    def _words(self) -> Iterator[str]:
        main = f"`{writing.file_name(self._source(), self._setting.form)}`"
        label = self._setting.label(self._setting.kind)
        yield f"Things have IRIs that are `{RESOURCE}` with their keys behind it."
        if self._filters:
            yield f"Of {main}, only what has the status {VALID} counts; the rest says nothing."
        kinds = " and ".join(self._setting.label(kind) for kind in self._classes)
        yield f"{main} is about things of the class {kinds}, which the graph states."
        for aspect in self._aspects:
            if aspect.words():
                yield f"Each {label} has {aspect.words()}."
        if "graph" in self._features:
            # Pairs in another source, and entries that refer to each other, give unnamed triples
            # about things of this one.
            yield (
                f"All triples about a {label} that its own entry in {main} states are in a named "
                f"graph: `{RESOURCE}batch/` with its batch behind it. Other triples are in no "
                "named graph: neither those about things that an entry refers to, nor what "
                f"another source says of a {label}."
            )


def _suits(prop: Property, feature: str) -> bool:
    """Return whether a property can be used for a feature."""
    if feature in {"datatype", "blank"}:
        return not prop.links and prop.high > 0
    if feature in {"nested", "pairs", "several"}:
        return prop.links and prop.max_count > 1
    return prop.links


@lru_cache(maxsize=64)
def sheet(world: World, level: int, form: str) -> Exercises:
    """Return the exercises of a level and format about a world (cached)."""
    return Exercises(world, level, form)
