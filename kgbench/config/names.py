# SPDX-License-Identifier: Apache-2.0
"""Known names in configurations: of task classes, models and suites that may not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from kgbench import connectors
from kgbench.errors import TaskError, nearest
from kgbench.rdf.declared import shipped
from kgbench.vocab import DCTERMS, KGB, SH, SKOS, XSD


def task_classes() -> Mapping[str, str]:
    """Return why each published task class cannot be run here; empty if no reason is declared."""
    return _texts(KGB.TaskClassName, SKOS.scopeNote)


@cache
def unusable_values() -> Mapping[tuple[str, str, str], str]:
    """Return why published values cannot be run, by task class, parameter and value as text."""
    declared = shipped("shapes", "known-names.ttl")
    parts = (KGB.className, KGB.parameterName, SKOS.notation, SKOS.scopeNote)
    return {
        (task_class, parameter, value): note
        for node in declared.instances(KGB.ParameterValueName)
        for task_class, parameter, value, note in [[declared.required(node, p) for p in parts]]
    }


def model_classes() -> dict[str, str]:
    """Return the connector of each known class of models (``ModelGpt``: ``openai``)."""
    classes = _texts(KGB.ModelClassName, KGB.connector)
    return {name: connector for name, connector in classes.items() if connector}


def models_without_connector() -> Mapping[str, str]:
    """Return the known classes of models without a connector, with the reasons."""
    notes, known = _texts(KGB.ModelClassName, SKOS.scopeNote), model_classes()
    return {name: note for name, note in notes.items() if name not in known}


@cache
def installed_connectors() -> tuple[str, ...]:
    """Return the installed connectors, with a cache because the look-up reads every package."""
    return connectors.names()


def known_connectors() -> list[str]:
    """Return the names of all connectors, installed or not."""
    return sorted({*installed_connectors(), *model_classes().values()})


def sampling_parameters() -> frozenset[str]:
    """Return the known sampling parameters, which are passed on to the provider."""
    return frozenset(_texts(KGB.SamplingParameter, KGB.connector))


class SamplingRange(NamedTuple):
    """The values of a sampling parameter: numbers from ``low`` to ``high``, or whole ones only."""

    low: float | None
    high: float | None
    whole: bool

    def __contains__(self, value: object) -> bool:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else int | float):
            return False
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)

    def __str__(self) -> str:
        low = "" if self.low is None else f" from {self.low:g}"
        high = "" if self.high is None else f" to {self.high:g}"
        return f"a {'whole ' * self.whole}number{low}{high}"


@cache
def sampling_ranges() -> Mapping[str, SamplingRange]:
    """Return the values of the sampling parameters that are numbers, by parameter."""
    declared = shipped("shapes", "known-names.ttl")
    return {
        declared.required(node, SKOS.notation): SamplingRange(
            declared.read(node, SH.minInclusive, float),
            declared.read(node, SH.maxInclusive, float),
            whole=declared.text(node, SH.datatype) == XSD.integer,
        )
        for node in declared.instances(KGB.SamplingParameter)
        if declared.text(node, SH.datatype) is not None
    }


def suites() -> frozenset[str]:
    """Return the short names of all declared suites."""
    declared = shipped("ontology", "suites.ttl")
    return frozenset(
        declared.required(suite, SKOS.notation) for suite in declared.instances(KGB.Suite)
    )


def checked_suite(name: str) -> str:
    """Return ``name`` if it is a declared suite, else raise ``TaskError``."""
    known = suites()
    if name not in known:
        raise TaskError(f"unknown suite '{name}': {nearest(name, known)}")
    return name


@cache
def suites_of_results() -> Mapping[str, str]:
    """Return how to import the published results that the cases of suites come from, by suite."""
    declared = shipped("ontology", "suites.ttl")
    return {
        declared.required(suite, SKOS.notation): f"`kgbench import {importer} PATH` reads its "
        f"published results, from {declared.required(suite, DCTERMS.source)}"
        for suite in declared.instances(KGB.Suite)
        if (importer := declared.text(suite, KGB.importer)) is not None
    }


@cache
def _texts(kind: str, prop: str) -> Mapping[str, str]:
    """Return a property of each name of a kind; empty if it is missing."""
    declared = shipped("shapes", "known-names.ttl")
    return {
        declared.required(node, SKOS.notation): declared.text(node, prop) or ""
        for node in declared.instances(kind)
    }
