# SPDX-License-Identifier: Apache-2.0
"""Known names in configurations: of task classes, models and suites that may not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

import pyoxigraph as ox

from kgbench import connectors
from kgbench.errors import TaskError
from kgbench.nearest import nearest
from kgbench.rdf.declared import shipped
from kgbench.vocab import KGB, SH, SKOS, XSD


def task_class_names() -> frozenset[str]:
    """Return the names of all task classes that have been published."""
    return frozenset(_names(KGB.TaskClassName))


def why_no_task_class(name: str) -> str:
    """Return why a published task class cannot be run here; empty if no reason is declared."""
    return _notes(KGB.TaskClassName).get(name, "")


def why_no_value(task_class: str, parameter: str, value: object) -> str | None:
    """Return why a published value of a parameter cannot be run; ``None`` for other values."""
    return _values().get((task_class, parameter, str(value)))


def model_classes() -> dict[str, str]:
    """Return the connector of each known class of models (``ModelGpt``: ``openai``)."""
    return {name: connector for name, connector in _names(KGB.ModelClassName).items() if connector}


def models_without_connector() -> Mapping[str, str]:
    """Return the known classes of models without a connector, with the reasons."""
    return {name: note for name, note in _notes(KGB.ModelClassName).items() if not _connector(name)}


@cache
def installed_connectors() -> tuple[str, ...]:
    """Return the installed connectors, with a cache because the look-up reads every package."""
    return connectors.names()


def known_connectors() -> list[str]:
    """Return the names of all connectors, installed or not."""
    return sorted({*installed_connectors(), *model_classes().values()})


def sampling_parameters() -> frozenset[str]:
    """Return the known sampling parameters, which are passed on to the provider."""
    return frozenset(_names(KGB.SamplingParameter))


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
def suites_of_results() -> frozenset[str]:
    """Return the short names of the suites whose cases come from imported results."""
    declared = shipped("ontology", "suites.ttl")
    chosen = declared.subjects(KGB.casesFromResults, ox.Literal(True))  # noqa: FBT003 - a term
    return frozenset(declared.required(suite, SKOS.notation) for suite in chosen)


@cache
def suites_of_judgements() -> frozenset[str]:
    """Return the IRIs of the suites of runs of judge models."""
    declared = shipped("ontology", "suites.ttl")
    chosen = declared.subjects(KGB.judgements, ox.Literal(True))  # noqa: FBT003 - a term
    return frozenset(suite.value for suite in chosen)


def _connector(name: str) -> str:
    return _names(KGB.ModelClassName)[name]


@cache
def _notes(kind: str) -> Mapping[str, str]:
    """Return the declared reasons why names of a kind cannot be run."""
    return _texts(kind, SKOS.scopeNote)


@cache
def _values() -> Mapping[tuple[str, str, str], str]:
    """Return the reasons for known parameter values, by task class, parameter and value."""
    declared = shipped("shapes", "known-names.ttl")
    return {
        (
            declared.required(node, KGB.className),
            declared.required(node, KGB.parameterName),
            declared.required(node, SKOS.notation),
        ): declared.required(node, SKOS.scopeNote)
        for node in declared.instances(KGB.ParameterValueName)
    }


@cache
def _names(kind: str) -> dict[str, str]:
    """Return the names of a kind with their connectors (empty if they have none)."""
    return _texts(kind, KGB.connector)


def _texts(kind: str, prop: str) -> dict[str, str]:
    """Return a property of each name of a kind; empty if it is missing."""
    declared = shipped("shapes", "known-names.ttl")
    return {
        declared.required(node, SKOS.notation): declared.text(node, prop) or ""
        for node in declared.instances(kind)
    }
