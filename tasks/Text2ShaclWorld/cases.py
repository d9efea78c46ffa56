# SPDX-License-Identifier: Apache-2.0
"""Graphs on which shapes are tried: some keep to all rules, the others break one rule each.

Every rule is broken at a thing of each class that it is about, and the same is done to things of
the other classes, which may do so. Graphs that keep to the rules have whatever these do not forbid.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, cycle, islice
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import Chance, Sheet, World
from kgbench.worlds import trial_changes
from kgbench.worlds.rule_kinds import KINDS
from kgbench.worlds.rules import NoRule, Rule, RuleContext
from kgbench.worlds.scene_changes import Change
from kgbench.worlds.scenes import TYPE, Scene
from kgbench.worlds.shape_cases import (
    CORE,
    TRIES,
    RuleSet,
    rule_set_of_draw,
    shapes_of,
    too_small,
)

VERSION: Final = 3
"""Rises when the same seed gives other rules or trial graphs."""
LEAST: Final = 20
"""The smallest number of conforming graphs, and of violating ones."""
_SEED: Final = 1  # version of the draws of scenes and edits
_SCENES: Final = 4  # different scenes from which trial graphs are made
_BEYOND: Final = (*CORE, "Closed", "subjects", "objects")  # what a schema suggests
_ATTEMPTS: Final = 2  # at the same change of each scene
_AGAIN: Final = 6  # breaks of a rule for one class


class TrialGraph(NamedTuple):
    """A graph to test shapes with; ``broken`` is the component that it violates, if any."""

    triples: tuple[ox.Triple, ...]
    broken: str | None


class Assignments(Sheet[int]):
    """The draws (see :func:`rule_set_of_draw`) of different sets of rules of one level."""

    TRIES = TRIES

    def __init__(self, world: World, level: int) -> None:
        super().__init__()
        self._world, self._level = world, level
        self._last_draw = 0

    def _drawn(self) -> int | None:
        self._last_draw += 1
        fits = self._rules(self._last_draw) and trial_graphs(
            self._world, self._level, self._last_draw
        )
        return self._last_draw if fits else None

    def _key(self, drawn: int) -> Hashable:
        """Return what rules share that differ only in their bounds."""
        rules = self._rules(drawn)
        assert rules is not None
        return frozenset(
            (rule.component, rule.target, rule.path, rule.group) for rule in rules.rules
        )

    def _too_small(self, number: int) -> str:
        return str(too_small(self._world, self._level))

    def _rules(self, draw: int) -> RuleSet | None:
        return rule_set_of_draw(self._world, self._level, draw)


@lru_cache(maxsize=8)
def assignments(world: World, level: int) -> Assignments:
    """Return the sets of rules of a level about a world."""
    return Assignments(world, level)


@lru_cache(maxsize=64)
def trial_graphs(world: World, level: int, draw: int) -> tuple[TrialGraph, ...]:
    """Return trial graphs for the rules of a draw.

    The result is empty if the draw gives no trial graphs, or if one rule idles another.
    """
    rules = rule_set_of_draw(world, level, draw)
    if rules is None:
        return ()
    chance = Chance(_SEED, world.name, "graphs", level, draw)
    scenes: list[Scene] = []
    for number in range(2 * _SCENES):
        scene = rules.scene(chance)
        if scene is not None:
            scenes.append(scene)
        if len(scenes) == _SCENES or number > 2 * len(scenes) + 1:
            break
    if len(scenes) < _SCENES:
        return ()
    trials = _Trials(rules, scenes, chance)
    violating = trials.violating()
    conforming = trials.conforming() if violating else []
    return (*conforming, *violating) if conforming else ()


class _Trials:
    """Edits of scenes, with those that have the intended effect."""

    def __init__(self, rules: RuleSet, scenes: Sequence[Scene], chance: Chance) -> None:
        self._rules, self._scenes, self._chance = rules, scenes, chance
        self._kinds = {
            RuleContext(rules.graph, kind, chance).target: kind for kind in rules.graph.model.kinds
        }
        self._moved: list[Scene] = []

    def violating(self) -> list[TrialGraph]:
        """Return graphs that break one rule each; none if one of the rules cannot be broken alone.

        All rules are broken equally often at first.
        """
        by_rule = [self._breaking(rule) for rule in self._rules.rules]
        if not all(by_rule):
            return []
        enough = LEAST // len(by_rule) + 1
        return [
            TrialGraph(tuple(scene.triples), rule.component)
            for rule, scenes in zip(self._rules.rules, by_rule, strict=True)
            for scene in islice(cycle(scenes), max(enough, len(scenes)))
        ]

    def conforming(self) -> list[TrialGraph]:
        """Return the scenes, and edited ones; none if something that a rule allows is forbidden."""
        rules = self._rules.rules
        limits = [self._edited(rule.keeps, self._conforms) for rule in rules if rule.keeps]
        free = [self._edited(each, self._conforms) for rule in rules for each in rule.also_keeps]
        if not all(free):
            return []
        scenes = [*self._scenes, *self._moved, *filter(None, [*limits, *free]), *self._permitted()]
        number = max(LEAST, len(scenes))
        return [TrialGraph(tuple(scene.triples), None) for scene in islice(cycle(scenes), number)]

    def _breaking(self, rule: Rule) -> list[Scene]:
        """Return scenes that break a rule and no other.

        The first is broken at things of all classes below that of the rule. What is no such thing
        may do the same; these scenes are collected.
        """
        others = [other for other in self._rules.rules if other is not rule]
        rest = shapes_of(others)[1] if others else None

        def breaks(scene: Scene) -> bool:
            found = self._rules.shapes.findings(scene.triples)
            components = {finding.component for finding in found}
            return components == {rule.component} and not (rest and rest.findings(scene.triples))

        changes = (rule.breaks, *rule.also_breaks)
        scenes = [scene for change in changes if (scene := self._edited(change, breaks))]
        kind = self._kinds.get(rule.target)
        if kind is None:
            return scenes
        outside, inside = trial_changes.of_classes(self._rules.graph.model, kind, self._foci)
        moved = ((change, breaks, scenes) for change in inside)
        free = ((change, self._conforms, self._moved) for change in outside)
        for change, fits, result in (*moved, *free):
            again = (self._edited(rule.breaks, breaks) for _ in range(_AGAIN))
            broken = chain(tuple(scenes), filter(None, again))
            candidates = (self._changed(scene, change) for scene in broken)
            result.extend(islice((scene for scene in candidates if scene and fits(scene)), 1))
        return scenes

    def _foci(self, scene: Scene) -> list[ox.NamedNode]:
        foci = {finding.focus for finding in self._rules.shapes.findings(scene.triples)}
        typed = (triple.subject for triple in scene.triples if triple.predicate == TYPE)
        return [node for node in typed if isinstance(node, ox.NamedNode) and str(node) in foci]

    def _permitted(self) -> Iterator[Scene]:
        """Yield scenes that break rules which the schema suggests, or have odd values or none."""
        kinds = sorted({kind for rule in self._rules.rules for kind in rule.kinds})
        for name in (*_BEYOND, *_BEYOND):
            at = RuleContext(self._rules.graph, self._chance.one(kinds), self._chance)
            try:
                rule = KINDS[name](at)
            except NoRule:
                continue
            scene = self._edited(rule.breaks, self._conforms)
            if scene is not None:
                yield scene
        terms = self._rules.graph.terms
        ranges = {prop.iri: prop.range for prop in self._rules.graph.model.properties if prop.links}
        for rule in self._rules.rules:
            kind = self._kinds.get(rule.target, rule.kinds[0])
            for iri in rule.properties:
                range_ = terms[ranges[iri]] if iri in ranges else None
                for change in trial_changes.free_values(kind, terms.get(iri, iri), range_):
                    scene = self._edited(change, self._conforms)
                    if scene is not None:
                        yield scene
        targets = {self._kinds.get(rule.target, kinds[0]) for rule in self._rules.rules}
        for fill in (trial_changes.anything, trial_changes.nothing):
            scene = self._chance.one(self._scenes)
            yield fill(scene, sorted({*kinds, *targets}), self._conforms)

    def _conforms(self, scene: Scene) -> bool:
        return not self._rules.shapes.findings(scene.triples)

    def _edited(self, change: Change, fits: Callable[[Scene], bool]) -> Scene | None:
        """Return a scene with a change, if one fits."""
        for _ in range(_ATTEMPTS):
            for scene in self._chance.shuffled(self._scenes):
                edited = self._changed(scene, change)
                if edited is not None and fits(edited):
                    return edited
        return None

    def _changed(self, scene: Scene, change: Change) -> Scene | None:
        edit = change(scene, self._chance)
        return None if edit is None else scene.changed(edit)
