# SPDX-License-Identifier: Apache-2.0
"""Cases about SHACL: rules with their shapes, and graphs with faults."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.errors import TaskError
from kgbench.validation.checking import ForeignShapes
from kgbench.vocab import RDF, RDFS, SH, XSD
from kgbench.worlds import generator
from kgbench.worlds.generator import Graph, World, build_graph
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.naming import Chance
from kgbench.worlds.rule_kinds import KINDS
from kgbench.worlds.rules import NoRule, Rule, RuleContext, turtle
from kgbench.worlds.scenes import Edit, Scene, draw_conforming_scene, violation_pairs

VERSION: Final = 1
"""Rises when the same seed gives other rules or faulty graphs."""
LEVELS: Final = 5
PREFIXES: Final = {
    "w": NAMESPACE,
    "r": generator.RESOURCE,
    "s": f"{NAMESPACE}shape/",
    "sh": str(SH),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}
TRIES: Final = 400
"""The most draws of a case."""
_LARGEST: Final = 4  # most triples that a fault may change

CORE: Final = ("MinCount", "MaxCount", "Datatype", "Class")
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
    1: _Recipe(CORE, CORE, 2, 1, 1),
    2: _Recipe(_VALUES, CORE, 3, 1, 2),
    3: _Recipe(_WIDER, (*CORE, *_VALUES), 4, 2, 2),
    4: _Recipe(_LOGIC, (*CORE, *_VALUES, *_WIDER), 5, 2, 3),
    5: _Recipe((*_DEEP, *_LOGIC), (*CORE, *_VALUES, *_WIDER, *_LOGIC), 7, 3, 4),
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


def draw_faulty_graph(world: World, level: int, number: int) -> FaultyGraph:
    """Draw the faulty graph of a level with a number.

    Raises :class:`~kgbench.errors.TaskError` if the world is too small to make one.
    """
    chance = Chance(VERSION, world.name, "faults", level, number)
    for _ in range(TRIES):
        rules = _draw_rules(world, level, chance)
        scene = None if rules is None else rules.scene(chance)
        if rules is None or scene is None:
            continue
        graph = _break_rules(rules, scene, _RECIPES[level].faults, chance)
        if graph is not None:
            return graph
    raise too_small(world, level)


@lru_cache(maxsize=64)
def rule_set_of_draw(world: World, level: int, draw: int) -> RuleSet | None:
    """Return the set of rules of a draw; ``None`` if the draw gives none."""
    return _draw_rules(world, level, Chance(VERSION, world.name, "rules", level, draw))


def _draw_rules(world: World, level: int, chance: Chance) -> RuleSet | None:
    graph, recipe = build_graph(world), _RECIPES[level]
    model = graph.model
    leaves = chance.some(model.populated, recipe.classes)
    kinds = [kind for leaf in leaves for kind in model.above(leaf)]
    rules: list[Rule] = []
    used: set[tuple[str, str]] = set()
    for number in range(3 * recipe.rules):
        name = chance.one(recipe.known if number % 2 else recipe.new)
        try:
            rule = KINDS[name](RuleContext(graph, chance.one(kinds), chance))
        except NoRule:
            continue
        if (rule.path, rule.group) in used:
            continue
        used.add((rule.path, rule.group))
        rules.append(rule)
        if len(rules) == recipe.rules:
            return RuleSet(graph, tuple(rules), *shapes_of(rules))
    return None


def shapes_of(rules: Sequence[Rule]) -> tuple[str, ForeignShapes]:
    """Return the shapes of rules, in Turtle and ready to validate."""
    head = "\n".join(f"@prefix {name}: <{iri}> ." for name, iri in PREFIXES.items())
    text = f"{head}\n\n{turtle(rules)}"
    quads = ox.parse(text, ox.RdfFormat.TURTLE)
    return text, ForeignShapes(quad.triple for quad in quads)


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


def too_small(world: World, level: int) -> TaskError:
    """Return the error to raise if a world gives no more cases."""
    return TaskError(
        f"a world of {world.instances} instances gives no more rules of level {level}: ask for "
        "fewer cases, or for a world with more instances"
    )
