# SPDX-License-Identifier: Apache-2.0
"""The cases of the Text2KG task classes: sentences of a data set, with the data of their prompts.

A case holds its sentence, the expected facts, the whole ontology, the examples chosen for it, and,
if the ontology exceeds the budget of the task, the numbers of the relations to show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from kgbench.datasets import text2kgbench
from kgbench.datasets.text2kgbench import Part, Sentence
from kgbench.datasets.text2kgbench_prompts import example_of
from kgbench.errors import TaskError
from kgbench.model import Case, Json, Task
from kgbench.on_demand import OnDemand
from kgbench.scoring.ontology_facts import (
    Fact,
    Ontology,
    facts_from,
    facts_json,
    ontology_from,
)
from kgbench.tasks import catalogue, texts
from kgbench.tasks.text2kg_examples import Chooser
from kgbench.tasks.text2kg_selection import shown_relations

FOLDER = "Text2KG"  # the folder of the texts that both task classes use
SAMPLE = "sample"
PUBLISHED = "published"  # the form of prompts for the published baselines
_PUBLISHED_SETTINGS = {"examples": 1, "exampleSelection": "similarity-list", "ontologyBudget": 0}


@dataclass(frozen=True)
class CaseContent:
    """The parsed data of a case, for prompt and judge."""

    sentence: str
    truth: tuple[Fact, ...]
    ontology: Ontology
    examples: tuple[tuple[str, tuple[Fact, ...]], ...]
    prompt_ontology: Ontology


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Return at most ``count`` sentences of the split of ``task``, in the order of the data."""
    part = _part(task)
    return part_cases(task, suite, part, seed, count)


def part_cases(
    task: Task, suite: str, part: Part, seed: int = 0, count: int | None = None
) -> Sequence[Case]:
    """Return cases from loaded data, made lazily.

    Raises :class:`~kgbench.errors.TaskError` if a sentence has no examples to choose from.
    """
    is_published = task.parameters.get("prompt") == PUBLISHED
    if is_published:
        _check_published(task)
    chooser = Chooser(
        part,
        task.parameters["exampleSelection"],
        task.parameters["examples"],
    )
    sentences = part.sentences(task.parameters["split"])[:count]
    chooser.check(sentences)
    ontology = part.ontology.as_json()

    def make(number: int) -> Case:
        sentence = sentences[number]
        data = _data(task.parameters, part, sentence, chooser, seed)
        data["ontology"] = ontology
        if is_published:
            data |= _as_published(part, sentence)
        return catalogue.make_case(suite, task.task_class, task.parameters, data, sentence.id)

    return OnDemand(len(sentences), make)


def content_of(case: Case) -> CaseContent:
    """Parse the data of a case.

    Raises :class:`~kgbench.errors.TaskError` if they are incomplete or invalid.
    """
    data = case.data
    try:
        ontology = ontology_from(data["ontology"])
        return CaseContent(
            data["sentence"],
            facts_from(data["triples"]),
            ontology,
            tuple((text, facts_from(facts)) for text, facts in data.get("examples", ())),
            _shown_ontology(ontology, data.get("shownRelations")),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TaskError(f"the case {case.iri} lacks what Text2KG needs: {error}") from error


def _data(
    parameters: Mapping[str, Json], part: Part, sentence: Sentence, chooser: Chooser, seed: int
) -> dict[str, Json]:
    data: dict[str, Json] = {
        "uid": sentence.id,
        "sentence": sentence.text,
        "triples": facts_json(sentence.facts),
        "examples": [[e.text, facts_json(e.facts)] for e in chooser.examples(sentence)],
    }
    chosen = shown_relations(part.ontology, sentence.text, parameters["ontologyBudget"], seed)
    if chosen is not None:
        data["shownRelations"] = chosen
    return data


def _check_published(task: Task) -> None:
    """Check that the settings of a task are those of the published prompts."""
    if task.parameters["dataset"] == SAMPLE:
        raise TaskError(f"task {task.label}: the sample has no published prompts")
    for name, value in _PUBLISHED_SETTINGS.items():
        if task.parameters[name] != value:
            raise TaskError(
                f"task {task.label}: published prompts have the {name} {value}: leave it so, or "
                f"set the prompt to 'revised'"
            )


def _as_published(part: Part, sentence: Sentence) -> dict[str, Json]:
    """Return example and sentence of the published prompt; those of kgbench may differ."""
    example = example_of(part, sentence)
    shown = [] if example is None else [[example.text, facts_json(example.facts)]]
    text = part.test_texts.get(sentence.id, sentence.text)
    return {"examples": shown} | ({} if text == sentence.text else {"askedSentence": text})


def _shown_ontology(ontology: Ontology, relations: Sequence[int] | None) -> Ontology:
    """Return the ontology reduced to the numbered relations and the concepts in them."""
    if relations is None:
        return ontology
    kept = tuple(ontology.relations[k] for k in relations)
    concept_ids = {concept for relation in kept for concept in (relation.domain, relation.range)}
    concepts = tuple(concept for concept in ontology.concepts if concept.id in concept_ids)
    return Ontology(ontology.id, ontology.title, concepts, kept)


def _part(task: Task) -> Part:
    collection, name = task.parameters["dataset"], task.parameters["ontology"]
    if collection == SAMPLE:
        return _sample()
    return text2kgbench.installed_part(collection, name)


@cache
def _sample() -> Part:
    """Return the small data set that is shipped with kgbench."""
    content = texts.structure(FOLDER, "sample.json")
    ontology = ontology_from(content["ontology"])
    return Part(
        collection=SAMPLE,
        name=SAMPLE,
        ontology=ontology,
        train=_sentences(content["train"]),
        test=_sentences(content["test"]),
        lists={"similarity-list": {k: tuple(v) for k, v in content["similar"].items()}},
    )


def _sentences(content: Sequence[Mapping[str, Json]]) -> tuple[Sentence, ...]:
    return tuple(Sentence(s["id"], s["sentence"], facts_from(s["triples"])) for s in content)
