# SPDX-License-Identifier: Apache-2.0
"""The data of Text2KGBench: two collections of ontologies, each with sentences and their facts.

Data are read as published, and not repaired. The layout is that of the folder ``data`` of the
published repository.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path

from kgbench.datasets import home, json_files
from kgbench.errors import ImportRefused, TaskError
from kgbench.model import Json
from kgbench.scoring.facts import Concept, Fact, Ontology, Relation

NAME = "text2kgbench"
COLLECTIONS = {"wikidata_tekgen": "wikidata", "dbpedia_webnlg": "dbpedia"}
"""The folder of each collection, and its name in task labels."""
EMBEDDED = "embedded_similarity"  # folder of the lists that kgbench has computed

_ONTOLOGY = re.compile(r"(\d+)_(\w+)_ontology\.json")
_ID = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence with its expected facts; its id is unique within the ontology."""

    id: str
    text: str
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class Part:
    """An ontology with all data published for it.

    Sentences are those of the ground truth; ``test_texts`` are the texts of the test files by id,
    which differ in a few cases. ``verified`` are the ids of a published list. ``lists`` maps
    ``similarity-list`` and ``embeddings`` to lists by test id, with the ids of the most similar
    training sentences, best first.
    """

    collection: str
    name: str
    ontology: Ontology
    train: tuple[Sentence, ...]
    test: tuple[Sentence, ...]
    validation: tuple[Sentence, ...] = ()
    unseen: tuple[Sentence, ...] = ()
    verified: frozenset[str] = frozenset()
    lists: Mapping[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    number: int = 0
    test_texts: Mapping[str, str] = field(default_factory=dict)

    def sentences(self, split: str) -> tuple[Sentence, ...]:
        """Return the sentences of the split ``test``, ``verified`` or ``unseen``.

        Raises :class:`~kgbench.errors.TaskError` if the split is empty.
        """
        by_split = {
            "test": self.test,
            "unseen": self.unseen,
            "verified": self.verified_test,
        }
        if not by_split[split]:
            raise TaskError(f"the ontology {self.name} of {self.collection} has no split '{split}'")
        return by_split[split]

    @property
    def verified_test(self) -> tuple[Sentence, ...]:
        """The test sentences that are on the list of verified ones."""
        return tuple(sentence for sentence in self.test if sentence.id in self.verified)

    @cached_property
    def training(self) -> Mapping[str, Sentence]:
        """Training sentences by id, where records of the same text share all their facts."""
        by_text: dict[str, list[Sentence]] = {}
        for sentence in self.train:
            by_text.setdefault(sentence.text, []).append(sentence)
        by_id = {}
        for same_text in by_text.values():
            facts = tuple(dict.fromkeys(fact for record in same_text for fact in record.facts))
            merged = Sentence(same_text[0].id, same_text[0].text, facts)
            by_id.update({record.id: merged for record in same_text})
        return by_id

    @cached_property
    def records(self) -> Mapping[str, Sentence]:
        """Training records by id, each with its own facts only."""
        return {sentence.id: sentence for sentence in self.train}

    def similar(self, selection: str) -> Mapping[str, tuple[str, ...]]:
        """Return the similarity lists called ``selection``.

        Raises :class:`~kgbench.errors.TaskError` if there are none.
        """
        lists = self.lists.get(selection)
        if lists is None:
            raise TaskError(
                f"there are no lists '{selection}' for {self.ontology.id}: choose another "
                f"exampleSelection, or make them with 'kgbench datasets similar'"
            )
        return lists


def parts(root: Path) -> list[tuple[str, str]]:
    """Return collection and name of every ontology below ``root``, in the published order.

    Raises :class:`~kgbench.errors.ImportRefused` if there is none.
    """
    names = []
    for collection in COLLECTIONS:
        numbered = [
            (int(match[1]), match[2])
            for path in (root / collection / "ontologies").glob("*_ontology.json")
            if (match := _ONTOLOGY.fullmatch(path.name))
        ]
        names += [(collection, name) for _, name in sorted(numbered)]
    if not names:
        raise ImportRefused(
            f"{root} holds no Text2KGBench data: expected {' or '.join(COLLECTIONS)} with a "
            f"folder 'ontologies' (the folder 'data' of the published repository)"
        )
    return names


def read_part(root: Path, collection: str, name: str) -> Part:
    """Read an ontology with its sentences from the data folder ``root``.

    Raises :class:`~kgbench.errors.ImportRefused`, with file and line, if a required file is missing
    or malformed.
    """
    folder = root / collection
    number, file = _ontology_file(folder, name)
    full_name = f"ont_{number}_{name}"
    ontology = _ontology(file)
    unseen = folder / "unseen_sentences" / "ground_truth" / f"{full_name}_unseen_ground_truth.jsonl"
    unseen_test = folder / "unseen_sentences" / "test" / f"{full_name}_unseen_test.jsonl"
    validation = folder / "validation" / f"{full_name}_validation.jsonl"
    verified = folder / "manually_verified_sentences" / f"selected_{full_name}.txt"
    return Part(
        collection=collection,
        name=name,
        ontology=ontology,
        train=_sentences(folder / "train" / f"{full_name}_train.jsonl"),
        test=_sentences(folder / "ground_truth" / f"{full_name}_ground_truth.jsonl"),
        validation=_sentences(validation) if validation.is_file() else (),
        unseen=_sentences(unseen) if unseen.is_file() else (),
        verified=frozenset(json_files.read_text(verified).split())
        if verified.is_file()
        else frozenset(),
        lists=_lists(folder, number, name),
        number=number,
        test_texts=_test_texts(folder / "test" / f"{full_name}_test.jsonl")
        | (_test_texts(unseen_test) if unseen_test.is_file() else {}),
    )


@cache
def _installed(root: Path, collection: str, name: str) -> Part:
    return read_part(root, collection, name)


def installed_part(collection: str, name: str) -> Part:
    """Read an ontology of the installed data set.

    Raises :class:`~kgbench.errors.TaskError` if the data set is not installed.
    """
    return _installed(home.require_folder(NAME, fetched=True), collection, name)


def _ontology_file(folder: Path, name: str) -> tuple[int, Path]:
    for path in sorted((folder / "ontologies").glob(f"*_{name}_ontology.json")):
        match = _ONTOLOGY.fullmatch(path.name)
        if match is not None and match[2] == name:
            return int(match[1]), path
    raise ImportRefused(f"{folder / 'ontologies'} has no ontology called '{name}'")


def _ontology(path: Path) -> Ontology:
    content = json_files.read_json(path)
    try:
        ontology = Ontology(
            str(content["id"]),
            str(content["title"]),
            tuple(Concept(_text(c["qid"]), _text(c["label"])) for c in content["concepts"]),
            tuple(
                Relation(_text(r["pid"]), _text(r["label"]), _text(r["domain"]), _text(r["range"]))
                for r in content["relations"]
            ),
        )
    except (KeyError, TypeError) as error:
        raise ImportRefused(
            f"{path} is not an ontology: {error} is missing or misplaced"
        ) from error
    if _ID.fullmatch(ontology.id) is None:
        raise ImportRefused(
            f"{path} is not an ontology: its id {ontology.id[:40]!a} is not allowed in IRIs"
        )
    if not ontology.relations:
        raise ImportRefused(f"{path} declares no relations, so nothing can be extracted with it")
    return ontology


def _text(value: Json) -> str:
    if value is None:
        return ""
    if not isinstance(value, str):
        raise TypeError(repr(value))
    return value


def _test_texts(path: Path) -> dict[str, str]:
    """Read the texts of a test file by id."""
    return {
        json_files.required_string(record, "id", path, n): json_files.required_string(
            record, "sent", path, n
        )
        for n, record in json_files.read_json_lines(path)
    }


def _sentences(path: Path) -> tuple[Sentence, ...]:
    return tuple(
        _sentence(record, path, number) for number, record in json_files.read_json_lines(path)
    )


def _sentence(record: Mapping[str, Json], path: Path, number: int) -> Sentence:
    def word(field: str) -> str:
        return json_files.required_string(record, field, path, number)

    facts: tuple[Fact, ...]
    if "triples" not in record:
        facts = (Fact(word("sub_label"), word("rel_label"), word("obj_label")),)
    else:
        facts = tuple(_facts(record["triples"], path, number))
    return Sentence(word("id"), word("sent"), facts)


def _facts(triples: Json, path: Path, number: int) -> Iterator[Fact]:
    if not isinstance(triples, list) or not all(isinstance(t, dict) for t in triples):
        raise ImportRefused(f"{path}:{number}: triples is not a list of objects")
    for triple in triples:
        yield Fact(
            *(
                json_files.required_string(triple, part, path, number)
                for part in ("sub", "rel", "obj")
            )
        )


def _lists(folder: Path, number: int, name: str) -> dict[str, dict[str, tuple[str, ...]]]:
    published = folder / "baselines" / "test_train_sent_similarity"
    embedded = folder / EMBEDDED
    by_selection = {
        "similarity-list": _list_files(
            published / f"ont_{number}_{name}_test_train_similarity.json",
            published / f"{number}_{name}_test_train_similarity.json",
            published / "unseen" / f"{number}_{name}_unseen_test_train_similarity.json",
        ),
        "embeddings": _list_files(embedded / f"{number}_{name}.json"),
    }
    return {selection: lists for selection, lists in by_selection.items() if lists}


def _list_files(*paths: Path) -> dict[str, tuple[str, ...]]:
    lists: dict[str, tuple[str, ...]] = {}
    for path in paths:
        if not path.is_file():
            continue
        content = json_files.read_json(path)
        if not isinstance(content, dict) or not all(map(_is_list, content.values())):
            raise ImportRefused(f"{path} is not an object of lists of sentence ids")
        lists |= {test_id: tuple(ids) for test_id, ids in content.items()}
    return lists


def _is_list(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(element, str) for element in value)


def all_sentences(part: Part) -> Iterable[tuple[str, Sentence]]:
    """Yield every sentence of a part with its kind, such as ``train``."""
    for kind in ("train", "validation", "test", "unseen"):
        for sentence in getattr(part, kind):
            yield kind, sentence
