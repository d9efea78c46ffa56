# SPDX-License-Identifier: Apache-2.0
"""Sources about things of a world with the graphs that a mapping must make of them.

A case has its sources twice: as they are shown, and with other things, which nobody is shown. Both
have the same columns, so that one mapping makes both graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from kgbench.errors import TaskError
from kgbench.vocab import RDF
from kgbench.worlds import mapping_writing as writing
from kgbench.worlds.generator import RESOURCE, Instance, World, made
from kgbench.worlds.mapping_aspects import (
    EXTRA,
    KEY,
    STATUS,
    THING,
    VALID,
    WITHDRAWN,
    Aspect,
    Constant,
    Link,
    Links,
    Named,
    OfProperty,
    Setting,
    Texts,
    Triple,
    Typed,
    thing,
)
from kgbench.worlds.mapping_joins import (
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
from kgbench.worlds.mapping_parts import CSV, NESTING, TABLE, Column, Row, Rule, Source
from kgbench.worlds.model import Property
from kgbench.worlds.naming import Chance

VERSION: Final = 1
"""Rises when the same seed gives other cases."""
LEVELS: Final = 4
_TRIES: Final = 400
_SHOWN, _HIDDEN = (4, 6), (9, 12)  # things: least and most

_SIMPLE: Final = ("datatype", "language", "constant", "classes")
_LINKED: Final = ("join", "nested", "pairs", "inline")
_SPECIAL: Final = ("blank", "languages", "iri", "caption", "graph", "several", "filter")
_NEW: Final = {1: ("link",), 2: _SIMPLE, 3: _LINKED, 4: _SPECIAL}
"""What is new on a level."""
_RECIPES: Final = {
    1: {"link": 2},
    2: {"link": 1, "simple": 3},
    3: {"simple": 2, "linked": 2},
    4: {"simple": 1, "linked": 1, "special": 3},
}
_GROUPS: Final = {"link": ("link",), "simple": _SIMPLE, "linked": _LINKED, "special": _SPECIAL}
_FEWEST: Final = {1: 1, 2: 2, 3: 2, 4: 4}
"""Features that a case of a level has at least."""
_OF_PROPERTIES: Final[dict[str, type[OfProperty]]] = {
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
    """Sources by name, shown and hidden, with their graphs, the mapping, and the words for it.

    Graphs are rows of N-Triples terms. ``extra`` maps properties besides the model to labels.
    """

    form: str
    shown: dict[str, Any]
    hidden: dict[str, Any]
    expected: tuple[tuple[Triple, ...], tuple[Triple, ...]]
    mapping: str
    words: tuple[str, ...]
    extra: dict[str, str]
    kinds: tuple[str, ...]
    features: tuple[str, ...]


class Exercises:
    """Different exercises of one level and format about a world."""

    def __init__(self, world: World, level: int, form: str) -> None:
        self._graph = made(world)
        self._level = level
        self._form = form
        self._chance = Chance(VERSION, world.seed, world.instances, "mappings", level, form)
        self._found: list[Exercise] = []
        self._known: set[str] = set()

    def exercise(self, number: int) -> Exercise:
        """Return the exercise with a number, from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world is too small for so many.
        """
        while len(self._found) <= number:
            self._found.append(self._next())
        return self._found[number]

    def _next(self) -> Exercise:
        for _ in range(_TRIES):
            draft = _Draft(self._setting(), self._level)
            found = draft.exercise()
            if found is not None and repr(found.shown) not in self._known:
                self._known.add(repr(found.shown))
                return found
        raise TaskError(
            f"a world of {self._graph.world.instances} instances is too small for more than "
            f"{len(self._found)} mappings of level {self._level}"
        )

    def _setting(self) -> Setting:
        kinds = self._graph.model.populated
        kind = self._chance.one([one for one in kinds if len(self._graph.of(one)) > 2 * _SHOWN[1]])
        label = self._graph.model.kinds[kind].plural
        return Setting(self._graph, kind, self._form, self._chance, label)


class _Draft:
    """One exercise while it is made: its aspects, then the rows."""

    def __init__(self, setting: Setting, level: int) -> None:
        self._setting = setting
        self._level = level
        self._chance = setting.chance
        self._left = self._chance.shuffled(
            [one for one in setting.graph.model.has(setting.kind) if not one.transitive]
        )
        wanted = [
            name
            for group, number in _RECIPES[level].items()
            for name in self._chance.some(self._possible(group), number)
        ]
        self._classes = self._kinds() if "classes" in wanted else [setting.kind]
        self._filters = "filter" in wanted and "nested" not in wanted
        self._aspects: list[Aspect] = [Named(setting)]
        self._aspects += [one for name in wanted if (one := self._aspect(name)) is not None]
        self._features = {one.feature for one in self._aspects} - {""}
        self._features |= {"classes"} if len(self._classes) > 1 else set()
        self._features |= {"filter"} if self._filters else set()

    def _possible(self, group: str) -> list[str]:
        """Return the features of a group that the format can have."""
        form = self._setting.form
        lacks = {"nested", "several"} if form not in NESTING else {"pairs"}
        lacks |= {"languages"} if form == TABLE else set()
        lacks |= {"filter"} if form == CSV else set()
        return [name for name in _GROUPS[group] if name not in lacks]

    def _kinds(self) -> list[str]:
        return list(self._setting.graph.model.above(self._setting.kind))

    def _aspect(self, name: str) -> Aspect | None:
        if name in _OTHERS:
            return _OTHERS[name](self._setting)
        of_property = _OF_PROPERTIES.get(name)
        if of_property is None:
            return None
        wanted = next((one for one in self._left if _suits(one, name)), None)
        if wanted is None:
            return None
        self._left.remove(wanted)
        return of_property(self._setting, wanted)

    def exercise(self) -> Exercise | None:
        """Return the exercise; ``None`` if it lacks what its level asks for."""
        new = set(_NEW[self._level]) & self._features
        if not new or len(self._features) < _FEWEST[self._level]:
            return None
        among = self._chance.shuffled(self._setting.graph.of(self._setting.kind))
        number = self._chance.between(*_SHOWN)
        shown, hidden = among[:number], among[number : number + self._chance.between(*_HIDDEN)]
        main = self._source()
        sources = {main.name: main}
        parts = []
        for things in (shown, hidden):
            rows: dict[str, Sequence[Row]] = {main.name: [self._row(one) for one in things]}
            for aspect in self._aspects:
                for source, others in aspect.sources(things):
                    sources[source.name] = source
                    rows[source.name] = others
            counted = self._counted(rows)
            if self._is_even(rows) or not all(one.shows(counted) for one in self._aspects):
                return None
            parts.append(rows)
        form = self._setting.form
        files = [
            {
                writing.file_name(sources[name], form): writing.WRITERS[form](
                    sources[name], rows[name]
                )
                for name in rows
            }
            for rows in parts
        ]
        graphs = [tuple(dict.fromkeys(self._triples(self._counted(rows)))) for rows in parts]
        return Exercise(
            form,
            files[0],
            files[1],
            (graphs[0], graphs[1]),
            writing.mapping(self._rules(), sources, form),
            tuple(self._words()),
            {self._setting.own(name): name for name in EXTRA},
            tuple(self._setting.term(one) for one in self._classes),
            tuple(sorted(self._features)),
        )

    # Rows

    def _source(self) -> Source:
        columns = [column for aspect in self._aspects for column in aspect.columns()]
        columns += [Column(STATUS, attribute=True)] if self._filters else []
        item = self._setting.label(self._setting.kind)
        first, *others = columns
        return Source(self._setting.source, item, (first, *self._chance.shuffled(others)))

    def _row(self, one: Instance) -> Row:
        cells = {name: cell for aspect in self._aspects for name, cell in aspect.fill(one).items()}
        if self._filters:
            cells[STATUS] = WITHDRAWN if self._chance.between(0, 2) == 0 else VALID
        return cells

    def _counted(self, rows: dict[str, Sequence[Row]]) -> dict[str, Sequence[Row]]:
        """Return the rows that say something."""
        main = self._setting.source
        kept = [row for row in rows[main] if row.get(STATUS, VALID) == VALID]
        return {**rows, main: kept}

    def _is_even(self, rows: dict[str, Sequence[Row]]) -> bool:
        """Return whether a filter would change nothing."""
        main = rows[self._setting.source]
        return self._filters and len({row[STATUS] for row in main}) == 1

    # What follows

    def _triples(self, rows: dict[str, Sequence[Row]]) -> Iterator[Triple]:
        grouped = next((one for one in self._aspects if isinstance(one, Grouped)), None)
        for row in rows[self._setting.source]:
            graph = () if grouped is None else (f"<{RESOURCE}batch/{row['batch']}>",)
            subject = thing(row[KEY])
            for kind in self._classes:
                yield subject, f"<{RDF.type}>", f"<{self._setting.term(kind)}>", *graph
            for aspect in self._aspects:
                for said in aspect.objects(row, rows):
                    yield subject, *said, *graph
        for aspect in self._aspects:
            yield from aspect.triples(rows)

    def _rules(self) -> list[Rule]:
        main = self._setting.source
        only = (STATUS, VALID) if self._filters else ("", "")
        parts = tuple(part for aspect in self._aspects for part in aspect.parts())
        kinds = tuple(self._setting.term(one) for one in self._classes)
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
        kinds = " and ".join(self._setting.label(one) for one in self._classes)
        yield f"{main} is about things of the class {kinds}, which the graph states."
        for aspect in self._aspects:
            if aspect.words():
                yield f"Each {label} has {aspect.words()}."
        if "graph" in self._features:
            yield (
                f"All triples whose subject is a {label} of {main} are in a named graph: "
                f"`{RESOURCE}batch/` with its batch behind it. Other triples are in no named graph."
            )


def _suits(one: Property, feature: str) -> bool:
    """Return whether a property can be told of in the way of a feature."""
    if feature == "datatype":
        return not one.links and one.high > 0
    if feature == "blank":
        return not one.links and one.high > 0
    if feature in {"nested", "pairs", "several"}:
        return one.links and one.most > 1
    return one.links


@lru_cache(maxsize=64)
def sheet(world: World, level: int, form: str) -> Exercises:
    """Return the exercises of a level and format about a world, remembered."""
    return Exercises(world, level, form)
