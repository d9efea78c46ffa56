# SPDX-License-Identifier: Apache-2.0
"""What Text2KGBench becomes in kgbench: tasks, ontologies as OWL, subsets, cases, problems.

Problems in the data are detected and reported, and not repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pyoxigraph as ox

from kgbench.characters import without_bom
from kgbench.datasets import text2kgbench
from kgbench.datasets.text2kgbench import COLLECTIONS, Part, Sentence, all_sentences
from kgbench.errors import ImportRefused
from kgbench.families.text2kg_turtle import BASE, class_iri, property_iri
from kgbench.model import Case, Json, Task
from kgbench.rdf import digest, integer, string
from kgbench.record.recorder import case_entry, task_entry
from kgbench.store.iris import Iris
from kgbench.tasks import catalogue
from kgbench.vocab import DCAT, DCTERMS, DQV, OWL, RDF, RDFS, SCHEMA, SKOS, VOID

KINDS = {
    "empty-ground-truth": "a test sentence has no expected fact, so its F1 is always 0",
    "relation-outside-ontology": "an expected fact has a relation that the ontology lacks",
    "test-file-differs": "test file and ground truth give different texts, or only one has the id",
    "duplicate-fact": "a sentence has the same expected fact twice",
    "duplicate-id": "an id occurs more than once",
    "duplicate-concept-id": "two concepts share an id",
    "duplicate-relation-label": "two relations share a label",
    "dangling-concept-id": "a domain or range is no concept of the ontology",
    "blank-in-label": "a label begins or ends with a blank",
    "mojibake": "a text looks like UTF-8 that was read as Latin-1",
    "test-in-training": "a test sentence also occurs in the training data",
    "unknown-training-id": "a similarity list names a training sentence that does not exist",
    "unknown-verified-id": "a list of verified sentences names a test sentence that does not exist",
    "turtle-differs": "the ontology's Turtle says other than its JSON",
    "missing-response": "test sentences have no stored response",
    "duplicate-response": "a sentence has several stored responses; the last one counts",
    "unknown-response-id": "a stored response belongs to no sentence",
    "unread-file": "a file of stored responses or metrics is not read",
    "facts-differ": "the stored facts of a response are not those of its text, however cleaned",
    "metrics-missing": "a stored response has no published metrics",
}
"""The kinds of problems, each with a description."""

# A lead byte and a continuation byte of UTF-8, each decoded as Latin-1.
_MOJIBAKE = re.compile("[\u00c2-\u00f4][\u0080-\u00bf]")


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem: its kind (a key of :data:`KINDS`), the id of its subject, and details."""

    kind: str
    subject: str
    details: str


def problems(part: Part) -> list[Problem]:
    """Return all problems of an ontology and its sentences, in the order of the data."""
    return [*_of_ontology(part), *_of_sentences(part)]


def is_mojibake(text: str) -> bool:
    """Return whether ``text`` looks like UTF-8 that was decoded as Latin-1.

    >>> is_mojibake("Gy\u00c3\u00b6rgy"), is_mojibake("Gy\u00f6rgy")
    (True, False)
    """
    return not text.isascii() and _MOJIBAKE.search(text) is not None


def _of_ontology(part: Part) -> Iterator[Problem]:
    ontology = part.ontology
    for concept, n in Counter(concept.id for concept in ontology.concepts).items():
        if n > 1:
            yield Problem("duplicate-concept-id", ontology.id, f"{concept} occurs {n} times")
    for label, n in Counter(relation.label for relation in ontology.relations).items():
        if n > 1:
            yield Problem("duplicate-relation-label", ontology.id, f"'{label}' occurs {n} times")
    for relation in ontology.relations:
        for kind, concept in (("domain", relation.domain), ("range", relation.range)):
            if concept and concept not in ontology.concept_labels:
                details = f"{kind} {concept} of '{relation.label}'"
                yield Problem("dangling-concept-id", ontology.id, details)
    labels = [c.label for c in ontology.concepts] + [r.label for r in ontology.relations]
    for label in labels:
        if label != label.strip():
            yield Problem("blank-in-label", ontology.id, f"'{label}'")


def _of_sentences(part: Part) -> Iterator[Problem]:
    training = {sentence.text for sentence in part.train}
    known = {relation.label for relation in part.ontology.relations}
    seen: Counter[str] = Counter()
    for kind, sentence in all_sentences(part):
        seen[sentence.id] += 1
        if seen[sentence.id] > 1:
            yield Problem("duplicate-id", sentence.id, f"occurrence {seen[sentence.id]} in {kind}")
        if any(map(is_mojibake, _texts(sentence))):
            yield Problem("mojibake", sentence.id, f"in {kind}")
        yield from _of_facts(sentence, known)
        if kind in ("test", "unseen"):
            if not sentence.facts:
                yield Problem("empty-ground-truth", sentence.id, "no triples")
            if sentence.text in training:
                yield Problem("test-in-training", sentence.id, "the same text")
    yield from _of_test_files(part)
    yield from _of_lists(part)


def _of_test_files(part: Part) -> Iterator[Problem]:
    if not part.test_texts:
        return
    truth = {sentence.id: sentence.text for sentence in (*part.test, *part.unseen)}
    for id_ in {**truth, **part.test_texts}:
        if truth.get(id_) != part.test_texts.get(id_):
            details = (
                "the text differs" if id_ in truth and id_ in part.test_texts else "one lacks it"
            )
            yield Problem("test-file-differs", id_, details)


def _of_lists(part: Part) -> Iterator[Problem]:
    for test_id, ids in part.lists.get("similarity-list", {}).items():
        for name in ids:
            if name not in part.training:
                yield Problem("unknown-training-id", test_id, name)
    for name in sorted(part.verified - {sentence.id for sentence in part.test}):
        yield Problem("unknown-verified-id", part.ontology.id, name)


def _of_facts(sentence: Sentence, known: set[str]) -> Iterator[Problem]:
    for relation in sorted({fact.relation for fact in sentence.facts} - known):
        yield Problem("relation-outside-ontology", sentence.id, f"'{relation}'")
    for fact, n in Counter(sentence.facts).items():
        if n > 1:
            yield Problem("duplicate-fact", sentence.id, f"'{fact.relation}' {n} times")


def _texts(sentence: Sentence) -> Iterator[str]:
    yield sentence.text
    for fact in sentence.facts:
        yield fact.subject
        yield fact.object


# --- triples -------------------------------------------------------------------------------------


SUITE = "text2kgbench"
SPLITS = ("train", "validation", "test", "verified", "unseen")


def ontology_iri(part: Part) -> str:
    """Return the IRI of the ontology of a part."""
    return f"{BASE}{part.ontology.id}"


def owl(part: Part) -> list[str]:
    """Convert the ontology's JSON to triples: classes, properties, labels, domains and ranges.

    Domains and ranges that are not concepts of the ontology are left out (and reported as
    problems).
    """
    ontology = part.ontology
    ontology_node = f"<{ontology_iri(part)}>"
    lines = [
        f"{ontology_node} <{RDF.type}> <{OWL.Ontology}> .",
        f"{ontology_node} <{RDFS.label}> {string(ontology.title)} .",
        f"{ontology_node} <{DCTERMS.identifier}> {string(ontology.id)} .",
    ]
    for concept in ontology.concepts:
        node = f"<{class_iri(ontology.id, concept.id)}>"
        lines += _term(node, OWL.Class, concept.label, ontology_node)
    for relation in ontology.relations:
        node = f"<{property_iri(ontology.id, relation.id)}>"
        lines += _term(node, OWL.ObjectProperty, relation.label, ontology_node)
        for prop, concept_id in ((RDFS.domain, relation.domain), (RDFS.range, relation.range)):
            if concept_id in ontology.concept_labels:
                lines.append(f"{node} <{prop}> <{class_iri(ontology.id, concept_id)}> .")
    return lines


def turtle_differences(root: Path, part: Part) -> list[Problem]:
    """Compare the Turtle file of an ontology, if there is one, with its JSON.

    Raises :class:`~kgbench.errors.ImportRefused` for a file that does not parse.
    """
    path = root / part.collection / "ontologies" / "owl" / f"ont_{part.number}_{part.name}.ttl"
    if not path.is_file():
        return []
    try:
        graph = list(ox.parse(without_bom(path.read_bytes()), ox.RdfFormat.TURTLE))
    except (SyntaxError, ValueError, OSError) as error:
        raise ImportRefused(f"{path} is not valid Turtle: {error}") from error
    triples = {f"{quad.subject} {quad.predicate} {quad.object} ." for quad in graph}
    terms = {ox.NamedNode(OWL.Class), ox.NamedNode(OWL.ObjectProperty)}
    named = {quad.subject for quad in graph if quad.object in terms}
    theirs = {line for line in triples if any(line.startswith(f"{node} ") for node in named)}
    ours = {line for line in owl(part) if RDFS.isDefinedBy not in line and "#" in line.split()[0]}
    only_json = [f"only in JSON: {line}" for line in sorted(ours - theirs)]
    only_turtle = [f"only in Turtle: {line}" for line in sorted(theirs - ours)]
    return [
        Problem("turtle-differs", part.ontology.id, difference)
        for difference in (*only_json, *only_turtle)
    ]


def _term(node: str, kind: str, label: str, ontology: str) -> list[str]:
    return [
        f"{node} <{RDF.type}> <{kind}> .",
        f"{node} <{RDFS.label}> {string(label)} .",
        f"{node} <{RDFS.isDefinedBy}> {ontology} .",
    ]


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


def part_task(
    part: Part, split: str, task_class: str = "Text2KG", prompt: str = "published"
) -> Task:
    """Return the task of one split of one ontology.

    For Text2KG, ``prompt`` is ``published`` (the prompts of the baselines) or ``revised``.
    """
    (task,) = (
        candidate
        for candidate in part_tasks(part)
        if candidate["class"] == task_class
        and candidate["parameters"]["split"] == split
        and candidate["parameters"].get("prompt") in {None, prompt}
    )
    return catalogue.make_task(task_class, task["label"], task["parameters"])


def label(part: Part, split: str, task_class: str = "Text2KG") -> str:
    """Return a label such as ``Text2KG-wikidata-movie``, with the split unless it is ``test``."""
    name = f"{task_class}-{COLLECTIONS[part.collection]}-{part.name}"
    return name if split == "test" else f"{name}-{split}"


def parameters(part: Part, split: str) -> dict[str, Json]:
    """Return the parameters of a task that are not defaults."""
    return {"dataset": part.collection, "ontology": part.name, "split": split}


def part_tasks(part: Part) -> list[dict[str, Json]]:
    """Return every task of an ontology as :func:`kgbench.datasets.home.labelled_tasks` reads it."""
    forms: list[tuple[str, str, dict[str, Json]]] = [
        ("Text2KG", "", {"prompt": "published"}),
        ("Text2KG", "-revised", {"prompt": "revised"}),
        ("Text2KGRdf", "", {}),
    ]
    return [
        {
            "class": task_class,
            "label": label(part, split, task_class) + suffix,
            "parameters": parameters(part, split) | form,
        }
        for task_class, suffix, form in forms
        for split in ("test", "unseen")
        if getattr(part, split)
    ]
