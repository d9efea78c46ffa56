# SPDX-License-Identifier: Apache-2.0
"""Catalogue entries of an imported Text2KGBench: ontologies, subsets, cases, problems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

from kgbench.datasets import text2kgbench
from kgbench.datasets.text2kgbench import Part
from kgbench.datasets.text2kgbench_problems import KINDS, Problem
from kgbench.importers.text2kgbench_ontologies import ontology_iri, owl
from kgbench.model import Case, Task
from kgbench.rdf import digest, integer, string
from kgbench.record.entries import case_entry, task_entry
from kgbench.store.iris import Iris
from kgbench.vocab import DCAT, DCTERMS, DQV, RDF, RDFS, SCHEMA, SKOS, VOID

SPLITS = ("train", "validation", "test", "verified", "unseen")


def dataset_iri(iris: Iris, *below: str) -> str:
    """Return the IRI of the data set, or of a collection or subset below it."""
    return "/".join([iris.mint("dataset", dataset=text2kgbench.NAME), *below])


def subset_iri(iris: Iris, part: Part, split: str) -> str:
    """Return the IRI of one split of one ontology."""
    return dataset_iri(iris, part.collection, part.name, split)


def ontology_lines(iris: Iris, part: Part, cases: Mapping[str, Sequence[Case]]) -> Iterator[str]:
    """Describe the ontology, its data, and a subset with its size for each split.

    ``cases`` are by split. Numbers of classes and properties count repetitions in the published
    lists.
    """
    yield from owl(part)
    dataset = dataset_iri(iris, part.collection, part.name)
    yield f"<{dataset}> <{RDF.type}> <{DCAT.Dataset}> ."
    yield f"<{dataset}> <{RDF.type}> <{VOID.Dataset}> ."
    yield f"<{dataset}> <{DCTERMS['title']}> {string(f'{part.collection} {part.name}')} ."
    yield f"<{dataset}> <{DCTERMS.isPartOf}> <{dataset_iri(iris, part.collection)}> ."
    yield f"<{dataset}> <{DCTERMS.subject}> <{ontology_iri(part)}> ."
    yield f"<{dataset}> <{VOID.classes}> {integer(len(part.ontology.concepts))} ."
    yield f"<{dataset}> <{VOID.properties}> {integer(len(part.ontology.relations))} ."
    for split in SPLITS:
        size = _size(part, split)
        if not size:
            continue
        node = f"<{subset_iri(iris, part, split)}>"
        yield f"{node} <{RDF.type}> <{DCAT.Dataset}> ."
        yield f"{node} <{RDF.type}> <{VOID.Dataset}> ."
        yield f"{node} <{DCTERMS['title']}> {string(f'{part.collection} {part.name} {split}')} ."
        yield f"{node} <{DCTERMS.isPartOf}> <{dataset}> ."
        yield f"{node} <{DCTERMS.type}> {string(split)} ."
        yield f"{node} <{VOID.entities}> {integer(size)} ."
        for case in cases.get(split, ()):
            yield f"{node} <{DCTERMS.hasPart}> <{case.iri}> ."


def entries(iris: Iris, tasks: Iterable[Task], cases: Iterable[Case]) -> Iterator[str]:
    """Describe tasks and cases."""
    for task in tasks:
        yield from task_entry(iris, task)
    for case in cases:
        yield from case_entry(iris, case, "1")


def problem_lines(
    iris: Iris,
    collection: str,
    problems: Iterable[Problem],
    default: str,
    cases: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[str]:
    """Describe problems as quality annotations of cases (IRIs by sentence id) or ``default``."""
    for problem in problems:
        target = cases.get(problem.subject, default)
        content = f"{collection}/{problem.kind}/{problem.subject}/{problem.details}"
        node = f"<{dataset_iri(iris, 'problem', digest(content)[:16])}>"
        comment = f"{KINDS[problem.kind]}: {problem.subject}: {problem.details}"
        yield f"{node} <{RDF.type}> <{DQV.QualityAnnotation}> ."
        yield f"{node} <{SKOS.notation}> {string(problem.kind)} ."
        yield f"{node} <{RDFS.comment}> {string(comment)} ."
        yield f"{node} <{SCHEMA.about}> <{target}> ."
        yield f"{node} <{DCTERMS.isPartOf}> <{dataset_iri(iris, collection)}> ."


def _size(part: Part, split: str) -> int:
    return len(part.verified_test if split == "verified" else getattr(part, split))
