# SPDX-License-Identifier: Apache-2.0
"""Cases about SHACL: rules with their shapes, graphs that keep to them, and graphs with faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations, islice
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.validation.foreign import ForeignShapes
from kgbench.vocab import RDF, RDFS, SH, XSD
from kgbench.worlds import generator, structural_rules, value_rules
from kgbench.worlds.generator import Graph, World, made
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance
from kgbench.worlds.rules import Draw, Rule, turtle
from kgbench.worlds.scenes import Edit, Scene, conforming, pairs

VERSION: Final = 1
"""Rises when the same seed gives other rules or graphs."""
LEVELS: Final = 5
EACH: Final = 20
"""How many graphs that conform, and how many that do not, shapes are tried with."""
PREFIXES: Final = {
    "w": NAMESPACE,
    "r": generator.RESOURCE,
    "s": f"{NAMESPACE}shape/",
    "sh": str(SH),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}
_KINDS: Final = {**value_rules.KINDS, **structural_rules.KINDS}
_TRIES: Final = 400
_SCENES: Final = 4  # different ones that graphs to try shapes with are made of
_LARGEST: Final = 4  # triples that one fault may change

_CORE: Final = ("MinCount", "MaxCount", "Datatype", "Class")
_VALUES: Final = (
    *("MinInclusive", "MaxInclusive", "MinExclusive", "MaxExclusive"),
    *("MinLength", "MaxLength", "Pattern", "NodeKind"),
)
_WIDER: Final = ("UniqueLang", "LanguageIn", "Closed", "subjects", "objects", "inverse")
_LOGIC: Final = ("Or", "Xone", "Not", "QualifiedMinCount", "QualifiedMaxCount")
_DEEP: Final = ("sequence", "Node")


class _Recipe(NamedTuple):
    """What rules of a level are made of.

    ``new`` are kinds of which every second rule is, ``known`` those of the others; ``rules`` and
    ``classes`` are how many there are at most, and ``faults`` how many graphs with faults have.
    """

    new: tuple[str, ...]
    known: tuple[str, ...]
    rules: int
    classes: int
    faults: int


_RECIPES: Final = {
    1: _Recipe(_CORE, _CORE, 2, 1, 1),
    2: _Recipe(_VALUES, _CORE, 3, 1, 2),
    3: _Recipe(_WIDER, (*_CORE, *_VALUES), 4, 2, 2),
    4: _Recipe(_LOGIC, (*_CORE, *_VALUES, *_WIDER), 5, 2, 3),
    5: _Recipe((*_DEEP, *_LOGIC), (*_CORE, *_VALUES, *_WIDER, *_LOGIC), 7, 3, 4),
}


class RuleSet(NamedTuple):
    """Rules that can be kept and broken one by one, with the shapes that say the same."""

    graph: Graph
    rules: tuple[Rule, ...]
    text: str
    shapes: ForeignShapes

    @property
    def words(self) -> list[str]:
        """The rules in words, a sentence each."""
        return [rule.words for rule in self.rules]

    def scene(self, chance: Chance) -> Scene | None:
        """Return a graph that conforms, where this draw gives one."""
        kinds = sorted({kind for rule in self.rules for kind in rule.kinds})
        follow = sorted({iri for rule in self.rules for iri in rule.properties})
        return conforming(self.graph, self.shapes, kinds, follow, chance)


class Fault(NamedTuple):
    """A fault in a graph: what was changed, the violations (node, component) that it makes.

    ``sites`` are where a repair may change something: subjects with predicates; ``undo`` is a
    smallest change there that undoes the fault.
    """

    edit: Edit
    violations: frozenset[tuple[str, str]]
    sites: frozenset[tuple[str, str]]
    undo: Edit

    @property
    def least(self) -> int:
        """How many triples must change."""
        return len(self.undo.removed) + len(self.undo.added)


class FaultyGraph(NamedTuple):
    """A graph with faults, with the rules that it breaks."""

    rules: RuleSet
    scene: Scene
    faults: tuple[Fault, ...]

    @property
    def repaired(self) -> Scene:
        """The graph with as few changes as make it conform."""
        scene = self.scene
        for fault in self.faults:
            scene = scene.changed(fault.undo)
        return scene

    @property
    def violations(self) -> list[tuple[str, str]]:
        """Every node with each component that it violates, sorted."""
        return sorted({pair for fault in self.faults for pair in fault.violations})


class TrialGraph(NamedTuple):
    """A graph that shapes are tried with; ``broken`` is the component that it violates, if any."""

    triples: tuple[ox.Triple, ...]
    broken: str | None


def faulty(world: World, level: int, number: int) -> FaultyGraph:
    """Return the graph with faults of a level that has a number.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    chance = Chance(VERSION, world.name, "faults", level, number)
    for _ in range(_TRIES):
        rules = _drawn(world, level, chance)
        right = None if rules is None else rules.scene(chance)
        if rules is None or right is None:
            continue
        found = _spoilt(rules, right, _RECIPES[level].faults, chance)
        if found is not None:
            return found
    raise _too_small(world, level)


class Assignments:
    """Different sets of rules of one level, made one after the other from a seed."""

    def __init__(self, world: World, level: int) -> None:
        self._world, self._level = world, level
        self._known: set[frozenset[tuple[str, ...]]] = set()
        self._found: list[int] = []
        self._next = 0

    def draw(self, number: int) -> int:
        """Return which draw gives the set of rules with a number from 0; see :func:`assigned`.

        Raises :class:`~kgbench.errors.TaskError` if the world gives no more.
        """
        while len(self._found) <= number:
            for _ in range(_TRIES):
                self._next += 1
                if self._fits(self._next):
                    self._found.append(self._next)
                    break
            else:
                raise _too_small(self._world, self._level)
        return self._found[number]

    def _fits(self, draw: int) -> bool:
        rules = assigned(self._world, self._level, draw)
        if rules is None:
            return False
        # Bounds that differ make no other assignment.
        key = frozenset((one.component, one.target, one.path, one.group) for one in rules.rules)
        if key in self._known or not trial_graphs(self._world, self._level, draw):
            return False
        self._known.add(key)
        return True


@lru_cache(maxsize=8)
def assignments(world: World, level: int) -> Assignments:
    """Return the sets of rules of a level about a world."""
    return Assignments(world, level)


@lru_cache(maxsize=64)
def assigned(world: World, level: int, draw: int) -> RuleSet | None:
    """Return the set of rules of a draw; ``None`` if the draw gives none."""
    return _drawn(world, level, Chance(VERSION, world.name, "rules", level, draw))


@lru_cache(maxsize=64)
def trial_graphs(world: World, level: int, draw: int) -> tuple[TrialGraph, ...]:
    """Graphs to try shapes for a set of rules with: as many that conform as break one rule each.

    Empty where the draw gives none.
    """
    rules = assigned(world, level, draw)
    if rules is None:
        return ()
    chance = Chance(VERSION, world.name, "graphs", level, draw)
    scenes: list[Scene] = []
    for number in range(2 * _SCENES):
        scene = rules.scene(chance)
        if scene is not None:
            scenes.append(scene)
        if len(scenes) == _SCENES or number > 2 * len(scenes) + 1:
            break
    if len(scenes) < _SCENES:
        return ()
    wrong = list(_broken(rules, scenes, chance))
    if len(wrong) < EACH:
        return ()
    return (*islice(_kept(rules, scenes, chance), EACH), *wrong)


def _drawn(world: World, level: int, chance: Chance) -> RuleSet | None:
    graph, recipe = made(world), _RECIPES[level]
    model = graph.model
    leaves = chance.some(model.populated, recipe.classes)
    among = [kind for leaf in leaves for kind in model.above(leaf)]
    rules: list[Rule] = []
    said: set[tuple[str, str]] = set()
    for number in range(3 * recipe.rules):
        name = chance.one(recipe.known if number % 2 else recipe.new)
        rule = _KINDS[name](Draw(graph, chance.one(among), chance))
        if rule is None or (rule.path, rule.group) in said:
            continue
        said.add((rule.path, rule.group))
        rules.append(rule)
        if len(rules) == recipe.rules:
            text = turtle(rules)
            head = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())
            quads = ox.parse(f"{head}\n{text}", ox.RdfFormat.TURTLE)
            shapes = ForeignShapes(quad.triple for quad in quads)
            return RuleSet(graph, tuple(rules), f"{head}\n\n{text}", shapes)
    return None


def _spoilt(rules: RuleSet, right: Scene, number: int, chance: Chance) -> FaultyGraph | None:
    scene, faults = right, list[Fault]()
    for _ in range(6 * number):
        rule = chance.one(rules.rules)
        before = {pair for fault in faults for pair in fault.violations}
        used = {site for fault in faults for site in fault.sites}
        edit = rule.breaks(scene, chance)
        if edit is None or len(edit.added) + len(edit.removed) > _LARGEST or edit.sites & used:
            continue
        spoilt = scene.changed(edit)
        found = pairs(rules.shapes.findings(spoilt.triples))
        fresh = found - before
        if not fresh or not before <= found or {one for _, one in fresh} != {rule.component}:
            continue
        sites = _sites(spoilt, rule, edit, {focus for focus, _ in fresh})
        undo = _undo(rules, spoilt, edit, sites, before)
        if sites & used or undo is None:
            continue
        faults.append(Fault(edit, frozenset(fresh), frozenset(sites), undo))
        scene = spoilt
        if len(faults) == number:
            whole = FaultyGraph(rules, scene, tuple(faults))
            return whole if not rules.shapes.findings(whole.repaired.triples) else None
    return None


def _sites(scene: Scene, rule: Rule, edit: Edit, foci: set[str]) -> set[tuple[str, str]]:
    """Where a repair may change something: what the rule is about, at the nodes that violate it."""
    terms = scene.graph.terms
    about = {terms.get(iri, iri) for iri in rule.properties}
    return (
        edit.sites
        | {
            (str(one.subject), one.predicate.value)
            for one in scene.triples
            if one.predicate.value in about and foci & {str(one.subject), str(one.object)}
        }
        | {(focus, predicate) for focus in foci for predicate in about}
    )


def _undo(
    rules: RuleSet,
    scene: Scene,
    edit: Edit,
    sites: set[tuple[str, str]],
    before: set[tuple[str, str]],
) -> Edit | None:
    """Return a smallest change at the sites that undoes a fault, from 1 triple upwards.

    Triples may go, and those may come back that were there: what else could come in their place
    makes no smaller number.
    """
    there = [one for one in scene.triples if (str(one.subject), one.predicate.value) in sites]
    steps = [Edit(removed=(one,)) for one in there] + [Edit(added=(one,)) for one in edit.removed]
    for number in range(1, len(edit.added) + len(edit.removed) + 1):
        for chosen in combinations(steps, number):
            whole = Edit(
                tuple(one for step in chosen for one in step.removed),
                tuple(one for step in chosen for one in step.added),
            )
            if pairs(rules.shapes.findings(scene.changed(whole).triples)) == before:
                return whole
    return None


def _kept(rules: RuleSet, scenes: Sequence[Scene], chance: Chance) -> Iterator[TrialGraph]:
    """Yield the scenes, then the scenes changed so that they just keep to a rule."""
    for scene in scenes:
        yield TrialGraph(tuple(scene.triples), None)
    keeps = [rule.keeps for rule in rules.rules if rule.keeps is not None]
    for number in range(2 * EACH):
        scene = scenes[number % len(scenes)]
        edit = keeps[number % len(keeps)](scene, chance) if keeps else None
        changed = scene if edit is None else scene.changed(edit)
        if edit is not None and not rules.shapes.findings(changed.triples):
            yield TrialGraph(tuple(changed.triples), None)
    for number in range(EACH):  # where no rule has a limit
        yield TrialGraph(tuple(scenes[number % len(scenes)].triples), None)


def _broken(rules: RuleSet, scenes: Sequence[Scene], chance: Chance) -> Iterator[TrialGraph]:
    """Yield the scenes with one rule broken each, all rules in turn; nothing where one never is."""
    places = list(range(len(scenes)))
    for number in range(EACH):
        rule = rules.rules[number % len(rules.rules)]
        for place in chance.shuffled(places):
            edit = rule.breaks(scenes[place], chance)
            if edit is None:
                continue
            changed = scenes[place].changed(edit)
            found = pairs(rules.shapes.findings(changed.triples))
            if {component for _, component in found} == {rule.component}:
                yield TrialGraph(tuple(changed.triples), rule.component)
                break
        else:
            return


def _too_small(world: World, level: int) -> TaskError:
    return TaskError(
        f"a world of {world.instances} instances gives no more rules of level {level}: ask for "
        "fewer cases, or for a world with more instances"
    )
