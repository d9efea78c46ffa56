# SPDX-License-Identifier: Apache-2.0
"""Names that configurations may use although what they stand for need not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pyoxigraph as ox

from kgbench import connectors
from kgbench.errors import TaskError
from kgbench.nearest import nearest
from kgbench.rdf.declared import shipped
from kgbench.vocab import KGB, SKOS


def task_class_names() -> frozenset[str]:
    """The names of all task classes that have been published."""
    return frozenset(_names(KGB.TaskClassName))


def why_no_task_class(name: str) -> str:
    """Why a published task class cannot be run here; empty where nothing is known about that."""
    return _notes(KGB.TaskClassName).get(name, "")


def why_no_value(task_class: str, parameter: str, value: object) -> str | None:
    """Why a published value of a parameter cannot be run here; ``None`` for other values."""
    return _values().get((task_class, parameter, str(value)))


def model_classes() -> dict[str, str]:
    """The connector that answers to each known class of models (``ModelGpt``: ``openai``)."""
    return {name: connector for name, connector in _names(KGB.ModelClassName).items() if connector}


def models_without_connector() -> Mapping[str, str]:
    """The known classes of models that no connector answers to, and the reason."""
    return {name: note for name, note in _notes(KGB.ModelClassName).items() if not _connector(name)}


@cache
def installed_connectors() -> tuple[str, ...]:
    """The connectors that are installed; looked up once, for that reads every package."""
    return connectors.names()


def known_connectors() -> list[str]:
    """The names of all connectors, installed or not."""
    return sorted({*installed_connectors(), *model_classes().values()})


def sampling_parameters() -> frozenset[str]:
    """The parameters that are passed on to a model's provider as they are."""
    return frozenset(_names(KGB.SamplingParameter))


def suites() -> frozenset[str]:
    """The short names of all declared suites."""
    found = shipped("ontology", "suites.ttl")
    return frozenset(found.required(suite, SKOS.notation) for suite in found.instances(KGB.Suite))


def checked_suite(name: str) -> str:
    """``name`` if it is a declared suite; else a :class:`~kgbench.errors.TaskError`."""
    known = suites()
    if name not in known:
        raise TaskError(f"unknown suite '{name}': {nearest(name, known)}")
    return name


@cache
def suites_of_results() -> frozenset[str]:
    """The short names of the suites whose cases are those of imported results."""
    found = shipped("ontology", "suites.ttl")
    chosen = found.subjects(KGB.casesFromResults, ox.Literal(True))  # noqa: FBT003 - a term
    return frozenset(found.required(suite, SKOS.notation) for suite in chosen)


@cache
def suites_of_judgements() -> frozenset[str]:
    """The IRIs of the suites whose runs are those of judges."""
    found = shipped("ontology", "suites.ttl")
    chosen = found.subjects(KGB.judgements, ox.Literal(True))  # noqa: FBT003 - a term
    return frozenset(suite.value for suite in chosen)


def _connector(name: str) -> str:
    return _names(KGB.ModelClassName)[name]


@cache
def _notes(kind: str) -> Mapping[str, str]:
    """The reason why a name of a kind cannot be run, where there is one."""
    return _texts(kind, SKOS.scopeNote)


@cache
def _values() -> Mapping[tuple[str, str, str], str]:
    """The reasons for known parameter values, by task class, parameter and value."""
    found = shipped("shapes", "known-names.ttl")
    return {
        (
            found.required(node, KGB.className),
            found.required(node, KGB.parameterName),
            found.required(node, SKOS.notation),
        ): found.required(node, SKOS.scopeNote)
        for node in found.instances(KGB.ParameterValueName)
    }


@cache
def _names(kind: str) -> dict[str, str]:
    """Each name of a kind, with the connector it means (an empty text where it means none)."""
    return _texts(kind, KGB.connector)


def _texts(kind: str, prop: str) -> dict[str, str]:
    """A text about each name of a kind; empty where there is none."""
    found = shipped("shapes", "known-names.ttl")
    return {
        found.required(node, SKOS.notation): found.text(node, prop) or ""
        for node in found.instances(kind)
    }
