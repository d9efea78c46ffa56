# SPDX-License-Identifier: Apache-2.0
"""Byte-exact reconstruction of the published prompts of Text2KGBench from its data.

A prompt consists of parts of the data (the ontology as text, an example, the test sentence) and of
fixed wording between them. The licence of the wording does not allow kgbench to contain it, so it
is extracted from a published prompt by cutting out the known parts. The three groups of prompts
(test sentences of Wikidata, unseen sentences, DBpedia) have the same words, but differ in white
space and in the notation of facts. So the prompts of one group, which every installation has, give
the wording of all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from kgbench.datasets import home, json_files, text2kgbench
from kgbench.datasets.text2kgbench import EMBEDDED, Part, Sentence
from kgbench.errors import TaskError
from kgbench.model import Json
from kgbench.scoring.facts import Fact, Ontology, Relation

Wording: TypeAlias = tuple[str, ...]
"""The texts before concepts, relations, example, its facts and test sentence, and the end."""

_DBPEDIA = "dbpedia_webnlg"
_WIKIDATA = "wikidata_tekgen"


@dataclass(frozen=True, slots=True)
class PromptData:
    """The data that a prompt contains."""

    ontology: Ontology
    example: str
    facts: tuple[Fact, ...]
    sentence: str


def published_prompt(wording: Wording, collection: str, data: PromptData) -> str:
    """Return the prompt that the baselines of ``collection`` used for a sentence."""
    texts = _data_texts(collection, data)
    return "".join(text for pair in zip(wording, (*texts, ""), strict=True) for text in pair)


def example_of(part: Part, sentence: Sentence) -> Sentence | None:
    """Return the training record in the published prompt of ``sentence``: the most similar one.

    Unlike the examples of other prompts it may have the same text as the test sentence, and has
    only the facts of its own record. ``None`` if no listed record exists. Raises
    :class:`~kgbench.errors.TaskError` if there are no lists, or none for the sentence.
    """
    listed = part.similar("similarity-list").get(sentence.id)
    if listed is None:
        raise TaskError(f"the similarity lists have no entry for {sentence.id}")
    return next((part.records[name] for name in listed if name in part.records), None)


def wording(root: Path, collection: str, split: str) -> Wording | None:
    """Extract the wording of the prompts for a split from the first suitable prompt below ``root``.

    Returns ``None`` if there is no such prompt. Raises :class:`~kgbench.errors.ImportRefused` for a
    damaged file.
    """
    groups = [(collection, split), (_DBPEDIA, "test"), (_WIKIDATA, "unseen"), (_WIKIDATA, "test")]
    for source in dict.fromkeys(groups):
        if _is_plain(*source) and source != (collection, split):
            continue  # its white space does not show the line breaks of the other groups
        for extracted in _wordings(root, *source):
            return _with_white_space(extracted, source, (collection, split))
    return None


def installed_wording(collection: str, split: str) -> Wording:
    """Extract the wording of the prompts for a split from the installed data set.

    Raises :class:`~kgbench.errors.TaskError` if it is not installed or has no prompts.
    """
    root = home.require_folder(text2kgbench.NAME, fetched=True)
    extracted = _installed(root, collection, split)
    if extracted is None:
        raise TaskError(
            f"the installed data set {text2kgbench.NAME} has no published prompts (the folders "
            f"baselines/prompts), so their wording is not known: install it again with them, or "
            f"choose the tasks that end in -revised"
        )
    return extracted


def prompts(root: Path, part: Part, split: str) -> dict[str, str]:
    """Read the published prompts, if any, of a split of one ontology by sentence id."""
    path = _file(root, part.collection, part.ontology.id, split)
    if path is None:
        return {}
    return {
        json_files.required_string(record, "id", path, n): json_files.required_string(
            record, "prompt", path, n
        )
        for n, record in json_files.read_json_lines(path)
    }


@cache
def _installed(root: Path, collection: str, split: str) -> Wording | None:
    return wording(root, collection, split)


def _file(root: Path, collection: str, ontology: str, split: str) -> Path | None:
    folder = root / collection / "baselines" / "prompts"
    name = f"{ontology}_prompts" if split == "test" else f"unseen/{ontology}_unseen_prompts"
    paths = (folder / f"{name}{suffix}" for suffix in (".jsonl", ".json"))
    return next((path for path in paths if path.is_file()), None)


def _wordings(root: Path, collection: str, split: str) -> Iterator[Wording]:
    """Yield the wording of the first suitable prompt of each ontology."""
    for part_collection, name in text2kgbench.parts(root):
        if (
            part_collection != collection
            or not (root / part_collection / "baselines" / "prompts").is_dir()
        ):
            continue
        part = text2kgbench.read_part(root, part_collection, name)
        by_id = {sentence.id: sentence for sentence in getattr(part, split)}
        for id_, prompt in prompts(root, part, split).items():
            extracted = None if id_ not in by_id else _cut_out(part, by_id[id_], prompt)
            if extracted is not None:
                yield extracted
                break


def _cut_out(part: Part, sentence: Sentence, prompt: str) -> Wording | None:
    """Cut the data out of ``prompt``; return ``None`` if a part is not found."""
    example = example_of(part, sentence)
    if example is None:
        return None
    data = PromptData(
        part.ontology, example.text, example.facts, part.test_texts.get(sentence.id, sentence.text)
    )
    texts, position = [], 0
    for text in _data_texts(part.collection, data):
        start = prompt.find(text, position)
        if start < 0:
            return None
        texts.append(prompt[position:start])
        position = start + len(text)
    return (*texts, prompt[position:])


def _data_texts(collection: str, data: PromptData) -> tuple[str, ...]:
    """Return the data as text, in the order of the prompt."""
    ontology = data.ontology
    relations = (_relation(collection, ontology, relation) for relation in ontology.relations)
    return (
        ", ".join(concept.label for concept in ontology.concepts) + ",",
        ", ".join(relations),
        data.example,
        _facts(collection, data.facts),
        data.sentence,
    )


def _relation(collection: str, ontology: Ontology, relation: Relation) -> str:
    """Format as ``name(domain,range)``; of unknown concepts, only ranges of DBpedia are shown."""
    labels = ontology.concept_labels
    unknown = relation.range if collection == _DBPEDIA else ""
    domain = labels.get(relation.domain, "")
    return f"{relation.name}({domain},{labels.get(relation.range, unknown)})"


def _facts(collection: str, facts: Sequence[Fact]) -> str:
    """Format the facts of an example, one per line; for DBpedia with blanks, also in names."""
    if collection == _DBPEDIA:
        written = (f"{fact.relation}({fact.subject}, {fact.object})" for fact in facts)
        return "\n".join(written).replace("_", " ")
    return "\n".join(
        f"{fact.relation.replace(' ', '_')}({fact.subject},{fact.object})" for fact in facts
    )


def _is_plain(collection: str, split: str) -> bool:
    """Return whether the instruction is on one line, as in prompts of Wikidata's test sentences."""
    return (collection, split) == (_WIKIDATA, "test")


def _with_white_space(texts: Wording, source: tuple[str, str], target: tuple[str, str]) -> Wording:
    """Convert the wording of one group to the white space of another."""
    if source == target:
        return texts
    before, *between, _, sentence, end = texts
    facts = texts[3].rstrip() + ("\n" if target[0] == _DBPEDIA else " ")
    if _is_plain(*target):
        *paragraphs, last = before.split("\n\n")
        before = "\n".join(["", *(" ".join(paragraph.split()) for paragraph in paragraphs), last])
    return (before, *between, facts, sentence, end)


# --- lists of similar sentences ------------------------------------------------------------------


Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


def write_lists(
    root: Path, part: Part, embed: Embed, count: int, made_by: Callable[[], Mapping[str, Json]]
) -> Path:
    """Write the ``count`` nearest training sentences of each test sentence beside the data.

    Similarity is the cosine; ties keep the order of the data. ``embed`` returns one vector per
    text. The result of ``made_by``, called after the embedding, describes the model; it is written
    to a separate file. Returns the path of the lists.
    """
    training = list(dict.fromkeys(part.training.values()))
    tests = [*part.test, *part.unseen]
    training_texts, test_texts = [s.text for s in training], [s.text for s in tests]
    vectors = [_unit(vector) for vector in embed([*training_texts, *test_texts])]
    lists = {}
    for sentence, vector in zip(tests, vectors[len(training_texts) :], strict=True):
        near = vectors[: len(training_texts)]
        scores = [math.fsum(a * b for a, b in zip(vector, v, strict=True)) for v in near]
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
        lists[sentence.id] = [training[k].id for k in order[:count]]
    path = root / part.collection / EMBEDDED / f"{part.number}_{part.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")
    metadata = json.dumps({**made_by(), "count": count}, indent=1, sort_keys=True)
    path.with_suffix(".made-by.json").write_text(metadata + "\n", encoding="utf-8")
    return path


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(math.fsum(value * value for value in vector))
    return [value / length for value in vector] if length else list(map(float, vector))
