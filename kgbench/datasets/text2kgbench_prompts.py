# SPDX-License-Identifier: Apache-2.0
"""The published prompts of Text2KGBench, put together from the data again, byte by byte.

A prompt consists of parts of the data (the ontology in words, one example, the test sentence) and
of fixed wording between them. The wording is the authors' text, under a licence that does not let
kgbench contain it, so it is taken from a published prompt of the data set: what remains where the
known parts are cut out. The three groups of prompts (test sentences of Wikidata, unseen sentences,
DBpedia) share their words and differ in white space and in how facts are written; so the prompts of
one group, which every installation has, give the wording of all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from kgbench.datasets import home, lines, text2kgbench
from kgbench.datasets.text2kgbench import Part, Sentence
from kgbench.errors import TaskError
from kgbench.scoring.ontology_facts import Fact, Ontology, Relation

Wording: TypeAlias = tuple[str, ...]
"""What stands before concepts, relations, example, its facts, test sentence, and at the end."""

_DBPEDIA = "dbpedia_webnlg"
_WIKIDATA = "wikidata_tekgen"


@dataclass(frozen=True, slots=True)
class Asked:
    """The parts of the data that a prompt shows."""

    ontology: Ontology
    example: str
    facts: tuple[Fact, ...]
    sentence: str


def published_prompt(wording: Wording, collection: str, asked: Asked) -> str:
    """The prompt in which the baselines of ``collection`` were asked about a sentence."""
    shown = _shown(collection, asked)
    return "".join(text for pair in zip(wording, (*shown, ""), strict=True) for text in pair)


def example_of(part: Part, sentence: Sentence) -> Sentence | None:
    """The training record that the published prompt of ``sentence`` shows: the most similar one.

    Unlike the examples of other prompts it may have the words of the test sentence, and has the
    facts of its own record only. ``None`` where the lists name none that there is. Raises
    :class:`~kgbench.errors.TaskError` where there are no lists, or none for the sentence.
    """
    listed = part.similar("similarity-list").get(sentence.id)
    if listed is None:
        raise TaskError(f"the similarity lists have no entry for {sentence.id}")
    return next((part.records[name] for name in listed if name in part.records), None)


def wording(root: Path, collection: str, split: str) -> Wording | None:
    """The wording of the prompts for a split, from the first published prompt below ``root``.

    ``None`` where ``root`` has no prompt that tells it. Raises
    :class:`~kgbench.errors.ImportRefused` for a damaged file.
    """
    groups = [(collection, split), (_DBPEDIA, "test"), (_WIKIDATA, "unseen"), (_WIKIDATA, "test")]
    for source in dict.fromkeys(groups):
        if _is_plain(*source) and source != (collection, split):
            continue  # its white space does not tell where the others break their lines
        for found in _wordings(root, *source):
            return _laid_out(found, source, (collection, split))
    return None


def installed_wording(collection: str, split: str) -> Wording:
    """The wording of the prompts for a split, from the installed data set.

    Raises :class:`~kgbench.errors.TaskError` where it is not installed or has no prompts.
    """
    root = home.require(text2kgbench.NAME, fetched=True)
    found = _installed(root, collection, split)
    if found is None:
        raise TaskError(
            f"the installed data set {text2kgbench.NAME} has no published prompts (the folders "
            f"baselines/prompts), so their wording is not known: install it again with them, or "
            f"choose the tasks that end in -revised"
        )
    return found


def prompts(root: Path, part: Part, split: str) -> dict[str, str]:
    """The published prompts of a split of one ontology by sentence id, where there are any."""
    path = _file(root, part.collection, part.ontology.id, split)
    if path is None:
        return {}
    return {
        lines.word(record, "id", path, n): lines.word(record, "prompt", path, n)
        for n, record in lines.records(path)
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
    """The wording that the first prompt of each ontology tells."""
    for of, name in text2kgbench.parts(root):
        if of != collection or not (root / of / "baselines" / "prompts").is_dir():
            continue
        part = text2kgbench.read_part(root, of, name)
        by_id = {sentence.id: sentence for sentence in getattr(part, split)}
        for id_, prompt in prompts(root, part, split).items():
            found = None if id_ not in by_id else _cut_out(part, by_id[id_], prompt)
            if found is not None:
                yield found
                break


def _cut_out(part: Part, sentence: Sentence, prompt: str) -> Wording | None:
    """What remains of ``prompt`` without the parts of the data; ``None`` where it lacks one."""
    example = example_of(part, sentence)
    if example is None:
        return None
    asked = Asked(
        part.ontology, example.text, example.facts, part.asked.get(sentence.id, sentence.text)
    )
    found, at = [], 0
    for shown in _shown(part.collection, asked):
        start = prompt.find(shown, at)
        if start < 0:
            return None
        found.append(prompt[at:start])
        at = start + len(shown)
    return (*found, prompt[at:])


def _shown(collection: str, asked: Asked) -> tuple[str, ...]:
    """The parts of the data in the order of the prompt."""
    ontology = asked.ontology
    relations = (_relation(collection, ontology, relation) for relation in ontology.relations)
    return (
        ", ".join(concept.label for concept in ontology.concepts) + ",",
        ", ".join(relations),
        asked.example,
        _facts(collection, asked.facts),
        asked.sentence,
    )


def _relation(collection: str, ontology: Ontology, relation: Relation) -> str:
    """``name(domain,range)``; of what is no concept, only a range of DBpedia is shown."""
    labels = ontology.concept_labels
    unknown = relation.range if collection == _DBPEDIA else ""
    domain = labels.get(relation.domain, "")
    return f"{relation.name}({domain},{labels.get(relation.range, unknown)})"


def _facts(collection: str, facts: Sequence[Fact]) -> str:
    """The facts of an example, one in a line; for DBpedia with blanks, in names, too."""
    if collection == _DBPEDIA:
        written = (f"{fact.relation}({fact.subject}, {fact.object})" for fact in facts)
        return "\n".join(written).replace("_", " ")
    return "\n".join(
        f"{fact.relation.replace(' ', '_')}({fact.subject},{fact.object})" for fact in facts
    )


def _is_plain(collection: str, split: str) -> bool:
    """Whether the prompts have the instruction in one line: those of Wikidata's test sentences."""
    return (collection, split) == (_WIKIDATA, "test")


def _laid_out(found: Wording, source: tuple[str, str], target: tuple[str, str]) -> Wording:
    """The wording of one group in the white space of another."""
    if source == target:
        return found
    before, *between, _, sentence, end = found
    facts = found[3].rstrip() + ("\n" if target[0] == _DBPEDIA else " ")
    if _is_plain(*target):
        *paragraphs, last = before.split("\n\n")
        before = "\n".join(["", *(" ".join(each.split()) for each in paragraphs), last])
    return (before, *between, facts, sentence, end)
