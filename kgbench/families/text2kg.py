# SPDX-License-Identifier: Apache-2.0
"""The families of Text2KG: sentences of a data set, with the data of their prompts.

A case holds its sentence, the expected facts, the whole ontology, the examples chosen for it, and,
if the ontology exceeds the budget of the task, the numbers of the relations to show.

Relations are ranked by the similarity of the sentence with their labels and those of their domains
and ranges: the share of a label's trigrams that the sentence contains, with double weight for the
relation's own label. Ties are decided by a hash of seed and label. The best relations are selected
while they fit, and are shown in the order of the ontology.

No test sentence is ever its own example: a training sentence with the same words is skipped.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from kgbench.datasets import text2kgbench
from kgbench.datasets.text2kgbench import Part, Sentence
from kgbench.datasets.text2kgbench_prompts import (
    PromptData,
    Wording,
    example_of,
    published_prompt,
)
from kgbench.errors import TaskError
from kgbench.families.frame import Family
from kgbench.model import Case, Json, Task
from kgbench.on_demand import OnDemand
from kgbench.rdf import digest
from kgbench.scoring import stems
from kgbench.scoring.facts import Fact, Ontology, Relation, facts_from, facts_json, ontology_from
from kgbench.tasks import catalogue, texts

_WORD = re.compile(r"\w+")


class Chooser:
    """Chooses examples for the test sentences of one ontology.

    ``selection`` is ``similarity-list`` (the published lists, in their order), ``embeddings``
    (lists made by ``kgbench datasets similar``), ``lexical`` (cosine of TF-IDF vectors of words) or
    ``none``; ``count`` is the greatest number of examples.
    """

    def __init__(self, part: Part, selection: str, count: int) -> None:
        self._count = 0 if selection == "none" else count
        self._by_id = part.training
        self._lists: Mapping[str, tuple[str, ...]] = {}
        self._lexical: LexicalIndex | None = None
        if not self._count:
            return
        if selection == "lexical":
            self._lexical = LexicalIndex(tuple(dict.fromkeys(self._by_id.values())))
        else:
            self._lists = part.similar(selection)

    def check(self, sentences: Iterable[Sentence]) -> None:
        """Check that the lists have entries for all ``sentences``.

        Raises :class:`~kgbench.errors.TaskError` with the first sentence without an entry.
        """
        if self._count and self._lexical is None:
            for sentence in sentences:
                self._listed(sentence)

    def examples(self, sentence: Sentence) -> list[Sentence]:
        """Return the examples for ``sentence``, best first; fewer if there are not enough."""
        if not self._count:
            return []
        test_words = _words_only(sentence.text)
        chosen: list[Sentence] = []
        for candidate in self._candidates(sentence):
            if _words_only(candidate.text) == test_words or candidate in chosen:
                continue
            chosen.append(candidate)
            if len(chosen) == self._count:
                break
        return chosen

    def _candidates(self, sentence: Sentence) -> Sequence[Sentence]:
        if self._lexical is not None:
            return self._lexical.nearest(sentence.text)
        return [self._by_id[name] for name in self._listed(sentence) if name in self._by_id]

    def _listed(self, sentence: Sentence) -> Sequence[str]:
        entry = self._lists.get(sentence.id)
        if entry is None:
            raise TaskError(f"the similarity lists have no entry for {sentence.id}")
        return entry


class LexicalIndex:
    """An index of training sentences by the cosine of TF-IDF vectors of lower-case words.

    Each occurrence of a word in k of n sentences has the weight log((1 + n) / (1 + k)) + 1; ties
    keep the order of the data.
    """

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self._sentences = sentences
        counts = [_words(sentence.text) for sentence in sentences]
        occurs = Counter(word for word_counts in counts for word in word_counts)
        n = len(sentences)
        self._weight = {word: math.log((1 + n) / (1 + k)) + 1 for word, k in occurs.items()}
        self._postings: dict[str, list[tuple[int, float]]] = {}
        for k, word_counts in enumerate(counts):
            vector = {word: times * self._weight[word] for word, times in word_counts.items()}
            length = math.sqrt(math.fsum(value * value for value in vector.values())) or 1.0
            for word, value in vector.items():
                self._postings.setdefault(word, []).append((k, value / length))

    def nearest(self, text: str) -> list[Sentence]:
        """Return all training sentences, the most similar first."""
        scores = [0.0] * len(self._sentences)
        for word, times in sorted(_words(text).items()):
            for k, value in self._postings.get(word, ()):
                scores[k] += times * self._weight[word] * value
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
        return [self._sentences[k] for k in order]


def _words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(text.lower()))


def _words_only(text: str) -> str:
    """Return a key that is equal for texts with the same words, ignoring case and punctuation."""
    return "".join(_WORD.findall(text.lower()))


SAMPLE: Final = "sample"
PUBLISHED: Final = "published"  # the form of prompts for the published baselines
MOST_RECORDED: Final = 200  # facts of one answer that the infos list; all are scored

_PUBLISHED_SETTINGS: Final = {
    "examples": 1,
    "exampleSelection": "similarity-list",
    "ontologyBudget": 0,
}
_GRAM: Final = 3
_CAPITAL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_CODE: Final = re.compile(r"Q\d+")
_PART: Final = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class CaseContent:
    """The parsed data of a case, for prompt and judge."""

    sentence: str
    truth: tuple[Fact, ...]
    ontology: Ontology
    examples: tuple[tuple[str, tuple[Fact, ...]], ...]
    prompt_ontology: Ontology


class Text2KGFamily(Family):
    """A family of sentences of a data set, from which facts must be extracted."""

    texts_of = "Text2KG"

    def cases(self, task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
        """Return at most ``count`` sentences of the split of ``task``, in the order of the data."""
        return part_cases(task, suite, _part(task), seed, count)

    def prepare(self) -> None:
        """Load tokeniser and stemmer for judging processes, which cannot open files."""
        stems.load()


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


def as_published(case: Case, wording: Wording) -> str:
    """Return the prompt for ``case`` that was used for the published baselines.

    Raises :class:`~kgbench.errors.TaskError` if the case has no example.
    """
    content = content_of(case)
    if not content.examples:
        raise TaskError(f"the case {case.iri} has no example, which published prompts have")
    example, facts = content.examples[0]
    sentence = case.data.get("askedSentence", content.sentence)
    shown = PromptData(content.ontology, example, facts, sentence)
    return published_prompt(wording, case.parameters["dataset"], shown)


def cleaned_case(case: Case, cleaning: str) -> Case:
    """Return ``case`` with another ``cleaning`` of answers; only for judging."""
    parameters = {**case.parameters, "cleaning": cleaning}
    return replace(case, parameters=parameters, digest=digest(case.digest + cleaning))


def shown_relations(
    ontology: Ontology, sentence: str, budget: int, seed: int = 0
) -> list[int] | None:
    """Return the numbers of the relations to show, ascending; ``None`` if all fit or budget is 0.

    ``budget`` is in characters of ``verbalised_relation``. At least one relation is shown.
    """
    sizes = [len(verbalised_relation(ontology, relation)) + 2 for relation in ontology.relations]
    concepts = sum(len(concept.label) + 2 for concept in ontology.concepts)
    if not budget or sum(sizes) + concepts <= budget:
        return None
    grams = _grams(sentence)
    order = sorted(
        range(len(sizes)),
        key=lambda k: (-_score(ontology, ontology.relations[k], grams), _tie(ontology, k, seed)),
    )
    chosen: list[int] = []
    shown_concepts: set[str] = set()
    spent = 0
    for k in order:
        relation = ontology.relations[k]
        new = {
            c for c in (relation.domain, relation.range) if c in ontology.concept_labels
        } - shown_concepts
        cost = sizes[k] + sum(len(ontology.concept_labels[c]) + 2 for c in new)
        if not chosen or spent + cost <= budget:
            chosen.append(k)
            shown_concepts |= new
            spent += cost
    return sorted(chosen)


def verbalised_relation(ontology: Ontology, relation: Relation) -> str:
    """Return ``name(domain, range)`` with the labels of the concepts.

    A domain or range that is not a concept of the ontology is left empty, except for a range that
    is a word (``string``, ``number``) and not a Wikidata identifier, which is shown as it is.
    """
    labels = ontology.concept_labels
    unknown = "" if _CODE.fullmatch(relation.range) else relation.range
    domain, range_ = labels.get(relation.domain, ""), labels.get(relation.range, unknown)
    return f"{relation.name}({domain}, {range_})"


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
    content = texts.structure("Text2KG", "sample.json")
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


def _score(ontology: Ontology, relation: Relation, grams: frozenset[str]) -> float:
    labels = ontology.concept_labels
    own = 2 * _share(relation.label, grams)
    return own + sum(_share(labels.get(c, ""), grams) for c in (relation.domain, relation.range))


def _share(label: str, grams: frozenset[str]) -> float:
    label_grams = _grams(label)
    return len(label_grams & grams) / len(label_grams) if label_grams else 0.0


def _grams(text: str) -> frozenset[str]:
    words = _PART.findall(_CAPITAL.sub(" ", text).lower())
    padded = [f" {word} " for word in words]
    return frozenset(w[k : k + _GRAM] for w in padded for k in range(len(w) - _GRAM + 1))


def _tie(ontology: Ontology, k: int, seed: int) -> str:
    return hashlib.sha256(
        f"{seed}/{ontology.id}/{ontology.relations[k].label}".encode()
    ).hexdigest()
