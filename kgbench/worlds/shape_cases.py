# SPDX-License-Identifier: Apache-2.0
"""Cases about SHACL: rules with their shapes, conforming graphs, and graphs with faults."""

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
from kgbench.worlds.generator import Graph, World, build_graph
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance
from kgbench.worlds.rules import Rule, RuleContext, turtle
from kgbench.worlds.scenes import Edit, Scene, draw_conforming_scene, violation_pairs

VERSION: Final = 1
"""Rises when the same seed gives other rules or faulty graphs."""
TRIALS_VERSION: Final = 2
"""Rises when the same seed gives other rules or trial graphs."""
LEVELS: Final = 5
TRIALS: Final = 20
"""The number of conforming trial graphs for shapes, and that of violating ones."""
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
_SCENES: Final = 4  # different scenes from which trial graphs are made
_LARGEST: Final = 4  # most triples that a fault may change

_CORE: Final = ("MinCount", "MaxCount", "Datatype", "Class")
_VALUES: Final = (
    "MinInclusive",
    "MaxInclusive",
    "MinExclusive",
    "MaxExclusive",
    "MinLength",
    "MaxLength",
    "Pattern",
    "NodeKind",
)
_WIDER: Final = ("UniqueLang", "LanguageIn", "Closed", "subjects", "objects", "inverse")
_BEYOND: Final = (*_CORE, "Closed", "subjects", "objects")  # what a schema suggests
_LOGIC: Final = ("Or", "Xone", "Not", "QualifiedMinCount", "QualifiedMaxCount")
_DEEP: Final = ("sequence", "Node")


class _Recipe(NamedTuple):
    """The kinds and numbers of rules and faults of a level.

    Rules are drawn in turn from the kinds ``new`` and ``known``. ``rules`` and ``classes`` are the
    most rules and classes, ``faults`` is the number of faults of a faulty graph.
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
    """Rules that can be broken one by one, with equivalent shapes."""

    graph: Graph
    rules: tuple[Rule, ...]
    text: str
    shapes: ForeignShapes

    @property
    def words(self) -> list[str]:
        """The rules in words, one sentence each."""
        return [rule.words for rule in self.rules]

    def scene(self, chance: Chance) -> Scene | None:
        """Draw a conforming graph; return ``None`` if this draw gives none."""
        kinds = sorted({kind for rule in self.rules for kind in rule.kinds})
        follow = sorted({iri for rule in self.rules for iri in rule.properties})
        return draw_conforming_scene(self.graph, self.shapes, kinds, follow, chance)


class Fault(NamedTuple):
    """A fault in a graph: the edit that made it, and its violations as (node, component) pairs.

    ``sites`` are the (subject, predicate) pairs that a repair may change; ``undo`` is a smallest
    edit there that repairs the fault.
    """

    edit: Edit
    violations: frozenset[tuple[str, str]]
    sites: frozenset[tuple[str, str]]
    undo: Edit

    @property
    def least(self) -> int:
        """The smallest number of triples to change."""
        return len(self.undo.removed) + len(self.undo.added)


class FaultyGraph(NamedTuple):
    """A graph with faults, and the rules that it breaks."""

    rules: RuleSet
    scene: Scene
    faults: tuple[Fault, ...]

    @property
    def repaired(self) -> Scene:
        """The graph with the smallest changes that make it conform."""
        scene = self.scene
        for fault in self.faults:
            scene = scene.changed(fault.undo)
        return scene

    @property
    def violations(self) -> list[tuple[str, str]]:
        """The (node, component) pairs of all violations, sorted."""
        return sorted({pair for fault in self.faults for pair in fault.violations})


class TrialGraph(NamedTuple):
    """A graph to test shapes with; ``broken`` is the component that it violates, if any."""

    triples: tuple[ox.Triple, ...]
    broken: str | None


def draw_faulty_graph(world: World, level: int, number: int) -> FaultyGraph:
    """Draw the faulty graph of a level with a number.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    chance = Chance(VERSION, world.name, "faults", level, number)
    for _ in range(_TRIES):
        rules = _draw_rules(world, level, chance)
        scene = None if rules is None else rules.scene(chance)
        if rules is None or scene is None:
            continue
        graph = _break_rules(rules, scene, _RECIPES[level].faults, chance)
        if graph is not None:
            return graph
    raise _too_small(world, level)


class Assignments:
    """A sequence of different sets of rules of one level, drawn from a seed."""

    def __init__(self, world: World, level: int) -> None:
        self._world, self._level = world, level
        self._known: set[frozenset[tuple[str, ...]]] = set()
        self._found: list[int] = []
        self._last_draw = 0

    def draw(self, number: int) -> int:
        """Return the draw (see :func:`rule_set_of_draw`) for the set of rules with a number from 0.

        Raises :class:`~kgbench.errors.TaskError` if the world has no more sets of rules.
        """
        while len(self._found) <= number:
            for _ in range(_TRIES):
                self._last_draw += 1
                if self._fits(self._last_draw):
                    self._found.append(self._last_draw)
                    break
            else:
                raise _too_small(self._world, self._level)
        return self._found[number]

    def _fits(self, draw: int) -> bool:
        rules = rule_set_of_draw(self._world, self._level, draw)
        if rules is None:
            return False
        # Rules that differ only in their bounds count as the same.
        key = frozenset(
            (rule.component, rule.target, rule.path, rule.group) for rule in rules.rules
        )
        if key in self._known or not trial_graphs(self._world, self._level, draw):
            return False
        self._known.add(key)
        return True


@lru_cache(maxsize=8)
def assignments(world: World, level: int) -> Assignments:
    """Return the sets of rules of a level about a world."""
    return Assignments(world, level)


@lru_cache(maxsize=64)
def rule_set_of_draw(world: World, level: int, draw: int) -> RuleSet | None:
    """Return the set of rules of a draw; ``None`` if the draw gives none."""
    return _draw_rules(world, level, Chance(VERSION, world.name, "rules", level, draw))


@lru_cache(maxsize=64)
def trial_graphs(world: World, level: int, draw: int) -> tuple[TrialGraph, ...]:
    """Return trial graphs for the rules of a draw: as many conforming ones as violating ones.

    A violating graph breaks one rule. The result is empty if the draw gives no trial graphs.
    """
    rules = rule_set_of_draw(world, level, draw)
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
    violating = list(_violating_graphs(rules, scenes, chance))
    if len(violating) < TRIALS:
        return ()
    return (*islice(_conforming_graphs(rules, scenes, chance), TRIALS), *violating)


def _draw_rules(world: World, level: int, chance: Chance) -> RuleSet | None:
    graph, recipe = build_graph(world), _RECIPES[level]
    model = graph.model
    leaves = chance.some(model.populated, recipe.classes)
    kinds = [kind for leaf in leaves for kind in model.above(leaf)]
    rules: list[Rule] = []
    used: set[tuple[str, str]] = set()
    for number in range(3 * recipe.rules):
        name = chance.one(recipe.known if number % 2 else recipe.new)
        rule = _KINDS[name](RuleContext(graph, chance.one(kinds), chance))
        if rule is None or (rule.path, rule.group) in used:
            continue
        used.add((rule.path, rule.group))
        rules.append(rule)
        if len(rules) == recipe.rules:
            text = turtle(rules)
            head = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())
            quads = ox.parse(f"{head}\n{text}", ox.RdfFormat.TURTLE)
            shapes = ForeignShapes(quad.triple for quad in quads)
            return RuleSet(graph, tuple(rules), f"{head}\n\n{text}", shapes)
    return None


def _break_rules(
    rules: RuleSet, conforming_scene: Scene, number: int, chance: Chance
) -> FaultyGraph | None:
    scene, faults = conforming_scene, list[Fault]()
    for _ in range(6 * number):
        rule = chance.one(rules.rules)
        before = {pair for fault in faults for pair in fault.violations}
        used = {site for fault in faults for site in fault.sites}
        edit = rule.breaks(scene, chance)
        if edit is None or len(edit.added) + len(edit.removed) > _LARGEST or edit.sites & used:
            continue
        spoilt = scene.changed(edit)
        violations = violation_pairs(rules.shapes.findings(spoilt.triples))
        fresh = violations - before
        if (
            not fresh
            or not before <= violations
            or {component for _, component in fresh} != {rule.component}
        ):
            continue
        sites = _sites(spoilt, rule, edit, {focus for focus, _ in fresh})
        undo = _undo(rules, spoilt, edit, sites, before)
        if sites & used or undo is None:
            continue
        faults.append(Fault(edit, frozenset(fresh), frozenset(sites), undo))
        scene = spoilt
        if len(faults) == number:
            graph = FaultyGraph(rules, scene, tuple(faults))
            return graph if not rules.shapes.findings(graph.repaired.triples) else None
    return None


def _sites(scene: Scene, rule: Rule, edit: Edit, foci: set[str]) -> set[tuple[str, str]]:
    """Return the (subject, predicate) pairs that a repair may change, at the violating nodes."""
    terms = scene.graph.terms
    about = {terms.get(iri, iri) for iri in rule.properties}
    return (
        edit.sites
        | {
            (str(triple.subject), triple.predicate.value)
            for triple in scene.triples
            if triple.predicate.value in about and foci & {str(triple.subject), str(triple.object)}
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
    """Return a smallest edit at the sites that repairs a fault, starting with single triples.

    The edit removes triples and restores removed ones. Adding other triples instead would not need
    fewer changes.
    """
    present = [
        triple for triple in scene.triples if (str(triple.subject), triple.predicate.value) in sites
    ]
    steps = [Edit(removed=(triple,)) for triple in present]
    steps += [Edit(added=(triple,)) for triple in edit.removed]
    for number in range(1, len(edit.added) + len(edit.removed) + 1):
        for chosen in combinations(steps, number):
            repair = Edit(
                tuple(triple for step in chosen for triple in step.removed),
                tuple(triple for step in chosen for triple in step.added),
            )
            if violation_pairs(rules.shapes.findings(scene.changed(repair).triples)) == before:
                return repair
    return None


def _conforming_graphs(
    rules: RuleSet, scenes: Sequence[Scene], chance: Chance
) -> Iterator[TrialGraph]:
    """Yield the scenes, then edited ones.

    Edits reach the limit of a rule, or break another rule that the schema suggests: what the rules
    do not demand is allowed.
    """
    for scene in scenes:
        yield TrialGraph(tuple(scene.triples), None)
    keeps = [rule.keeps for rule in rules.rules if rule.keeps is not None]
    kinds = sorted({kind for rule in rules.rules for kind in rule.kinds})
    for number in range(4 * TRIALS):
        turn = number // 2
        scene = scenes[turn % len(scenes)]
        if number % 2 and keeps:
            edit = keeps[turn % len(keeps)](scene, chance)
        else:
            drawer = _KINDS[_BEYOND[turn % len(_BEYOND)]]
            other = drawer(RuleContext(rules.graph, chance.one(kinds), chance))
            edit = None if other is None else other.breaks(scene, chance)
        changed = scene if edit is None else scene.changed(edit)
        if edit is not None and not rules.shapes.findings(changed.triples):
            yield TrialGraph(tuple(changed.triples), None)
    for number in range(TRIALS):  # if few edits are allowed
        yield TrialGraph(tuple(scenes[number % len(scenes)].triples), None)


def _violating_graphs(
    rules: RuleSet, scenes: Sequence[Scene], chance: Chance
) -> Iterator[TrialGraph]:
    """Yield scenes that break one rule each, all rules in turn; stop if a rule cannot be broken."""
    indexes = list(range(len(scenes)))
    for number in range(TRIALS):
        rule = rules.rules[number % len(rules.rules)]
        for index in chance.shuffled(indexes):
            edit = rule.breaks(scenes[index], chance)
            if edit is None:
                continue
            changed = scenes[index].changed(edit)
            violations = violation_pairs(rules.shapes.findings(changed.triples))
            if {component for _, component in violations} == {rule.component}:
                yield TrialGraph(tuple(changed.triples), rule.component)
                break
        else:
            return


def _too_small(world: World, level: int) -> TaskError:
    return TaskError(
        f"a world of {world.instances} instances gives no more rules of level {level}: ask for "
        "fewer cases, or for a world with more instances"
    )
