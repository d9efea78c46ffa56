# SPDX-License-Identifier: Apache-2.0
"""Models, benchmarks and tasks in terms of MLDCAT-AP 3.1.

The profile requires the creation date and the training data of models. A store knows neither, so
the description says ``unknown`` and refers to a data set of unknown training data.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyoxigraph as ox

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.publish.documents import Documents
from kgbench.publish.registers import TURTLE
from kgbench.rdf.statements import node, statements_about, text, type_statements
from kgbench.vocab import DCAT, DCTERMS, IT6, KGB, SCHEMA, SKOS

_MOST = 1_000_000
_UNKNOWN = text("unknown")


def mldcat_description(view: View, where: Documents) -> Iterator[ox.Quad]:
    """Yield the description of the models, benchmarks and tasks of the published runs."""
    base = where.base
    dataset = node(base + "#dataset")
    executions = things.instances(view, KGB.TaskExecution, _MOST)
    tasks = _objects(view, executions, KGB.task)
    models = _objects(view, executions, KGB.model)
    suites = _objects(view, things.instances(view, KGB.Run, _MOST), KGB.suite)
    classes = _objects(view, tasks, KGB.taskClass)
    metrics = _objects(view, classes, KGB.mainMetric)
    about = (*suites, *tasks, *models)
    yield from statements_about(dataset, *((DCTERMS.subject, iri) for iri in about))
    for iri in suites:
        yield from type_statements(node(iri), IT6.Benchmark)
        yield from statements_about(node(iri), (DCTERMS["title"], _label(view, iri)))
    for iri in classes:
        yield from _task_type(view, iri)
    for iri in metrics:
        yield from type_statements(node(iri), IT6.EvaluationMeasure)
        yield from statements_about(
            node(iri),
            (DCTERMS["title"], _label(view, iri)),
            (IT6.value, text(things.text(view, iri, SKOS.notation) or iri)),
        )
    for iri in tasks:
        yield from _task(view, iri, base)
    if tasks:
        yield from _procedure(base)
    for iri in models:
        yield from _model(view, iri, where)
    if models:
        yield from _unknown_training(base)


def _task_type(view: View, iri: str) -> Iterator[ox.Quad]:
    yield from type_statements(node(iri), IT6.TaskType)
    yield from statements_about(
        node(iri),
        (SKOS.notation, next(iter(things.values(view, iri, SKOS.notation)), text(iri))),
        (SKOS.prefLabel, _label(view, iri)),
        (SKOS.definition, next(iter(things.values(view, iri, SKOS.definition)), _UNKNOWN)),
    )


def _task(view: View, iri: str, base: str) -> Iterator[ox.Quad]:
    yield from type_statements(node(iri), IT6.Task)
    classes = [term.value for term in things.values(view, iri, KGB.taskClass)]
    metrics = _objects(view, classes, KGB.mainMetric)
    name = things.text(view, iri, SKOS.notation) or iri
    yield from statements_about(
        node(iri),
        (DCTERMS["title"], _label(view, iri)),
        (DCTERMS.identifier, text(name)),
        *((IT6.hasTaskType, task_class) for task_class in classes),
        *((IT6.hasEvaluationMeasure, metric) for metric in metrics),
        (IT6.hasEstimationProcedure, base + "#procedure"),
        (IT6.sourceData, base + "#dataset"),
        (IT6.targetFeature, base + "#answer"),
        (IT6.hasOutput, base + "#answers"),
    )


def _procedure(base: str) -> Iterator[ox.Quad]:
    """Yield what all tasks share: the estimation procedure and the form of answers."""
    procedure, answer, answers = (node(f"{base}#{n}") for n in ("procedure", "answer", "answers"))
    kind, free, parameter = (node(f"{base}#{n}") for n in ("all-cases", "free-text", "split"))
    yield from type_statements(procedure, IT6.EstimationProcedure)
    yield from statements_about(
        procedure,
        (DCTERMS.identifier, text("all-cases")),
        (DCTERMS["title"], text("All cases are asked", "en")),
        (
            DCTERMS.description,
            text("Models are asked about every case and trained on none of them.", "en"),
        ),
        (DCTERMS.type, kind),
        (IT6.hasParameter, parameter),
    )
    yield from type_statements(parameter, IT6.Parameter)
    yield from statements_about(
        parameter,
        (DCTERMS["title"], text("share of the cases that models are asked about", "en")),
        (IT6.value, text("1")),
    )
    yield from statements_about(kind, (SKOS.prefLabel, text("test on all cases", "en")))
    yield from statements_about(free, (SKOS.prefLabel, text("free text", "en")))
    yield from type_statements(answer, IT6.Feature, IT6.PredictionFeature)
    yield from statements_about(
        answer, (DCTERMS["title"], text("answer", "en")), (DCTERMS.type, free)
    )
    yield from type_statements(answers, IT6.Prediction)
    yield from statements_about(
        answers, (IT6.hasPredictionFeature, answer), (DCTERMS["format"], free)
    )
    yield from type_statements(free, SKOS.Concept)


def _model(view: View, iri: str, where: Documents) -> Iterator[ox.Quad]:
    name = _label(view, iri)
    version = things.text(view, iri, SCHEMA.version) or things.text(
        view, iri, SCHEMA.softwareVersion
    )
    file = f"{where.base}{where.place(iri).path}.ttl"
    yield from type_statements(node(iri), IT6.MachineLearningModel)
    yield from statements_about(
        node(iri),
        (DCTERMS["title"], name),
        (DCTERMS.identifier, text(things.text(view, iri, SKOS.notation) or iri)),
        (DCTERMS.created, _UNKNOWN),
        (DCAT.version, _UNKNOWN if version is None else text(version)),
        (IT6.hasFile, file),
        (IT6.trainedOn, where.base + "#unknown-training-data"),
    )
    yield from type_statements(node(file), IT6.File, DCAT.Resource)
    yield from statements_about(
        node(file),
        (DCTERMS["title"], text(f"What is recorded of {name.value}", "en")),
        (DCTERMS.identifier, text(file)),
        (DCTERMS["format"], TURTLE),
        (IT6.url, file),
    )
    yield from type_statements(node(TURTLE), SKOS.Concept)


def _unknown_training(base: str) -> Iterator[ox.Quad]:
    dataset = node(base + "#unknown-training-data")
    yield from type_statements(dataset, DCAT.Dataset)
    yield from statements_about(
        dataset,
        (DCTERMS["title"], text("Training data that are not known", "en")),
        (
            DCTERMS.description,
            text("What the models were trained on is not recorded by those who asked them.", "en"),
        ),
        (IT6.collectionDate, _UNKNOWN),
    )


def _objects(view: View, subjects: list[str], predicate: str) -> list[str]:
    """Return the objects of ``predicate`` for all ``subjects``, sorted and without duplicates."""
    return sorted({t.value for s in subjects for t in things.values(view, s, predicate)})


def _label(view: View, iri: str) -> ox.Literal:
    return text(things.label(view, iri), "en")
