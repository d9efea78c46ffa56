# SPDX-License-Identifier: Apache-2.0
"""Stored responses of the Text2KGBench baselines: raw text, parsed facts, published metrics.

They are in ``baselines/MODEL/llm_responses`` and, for the invented (unseen) sentences, in
``baselines/MODEL/unseen/llm_responses``, each with a folder ``eval_metrics`` beside it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from kgbench.datasets import json_files
from kgbench.errors import ImportRefused
from kgbench.importers.text2kgbench_catalogue import Problem
from kgbench.model import Json
from kgbench.scoring.facts import CLEANINGS, Triple, cleanings_of

METRICS = (
    "precision",
    "recall",
    "f1",
    "onto_conf",
    "rel_halluc",
    "sub_halluc",
    "obj_halluc",
)
_RESPONSES = "llm_responses"
_MEASURED = "eval_metrics"
_MOST_DECIMALS = 6  # values with more decimals were not rounded
_NAME = re.compile(r"(?:ont_)?\d+_([A-Za-z]+?)(?:_.*)?\.jsonl")


@dataclass(frozen=True, slots=True)
class Response:
    """A stored response; ``metrics`` and ``facts`` are ``None`` if they were not published.

    ``cleaning`` is the way in which the parts of facts were cleaned (a name in
    :data:`~kgbench.scoring.facts.CLEANINGS`), ``None`` without facts. ``differs`` is
    true if no cleaning of ``text`` gives ``facts``. ``decimals`` is the number of decimals of
    metrics that were published rounded, as text, else ``None``.
    """

    id: str
    text: str
    facts: tuple[Triple, ...] | None
    metrics: Mapping[str, float] | None
    cleaning: str | None = None
    differs: bool = False
    decimals: int | None = None


@dataclass(frozen=True, slots=True)
class OntologyResponses:
    """The responses to the sentences of one ontology, and their problems."""

    responses: list[Response]
    problems: list[Problem]


@dataclass(frozen=True, slots=True)
class ResponseSet:
    """The responses of one model to one split (``test`` or ``unseen``) of a collection.

    ``files`` and ``measured`` are the files of responses and of metrics by name of the ontology.
    They are read one ontology at a time, which limits memory.
    """

    collection: str
    model: str
    split: str
    files: Mapping[str, Path]
    measured: Mapping[str, Path]

    def digest(self) -> str:
        """Return the SHA-256 over all files."""
        content = hashlib.sha256()
        for path in [*self.files.values(), *self.measured.values()]:
            content.update(json_files.file_sha256(path))
        return content.hexdigest()

    def read_ontology(self, name: str) -> OntologyResponses:
        """Read the responses to the sentences of the ontology ``name``.

        Raises :class:`~kgbench.errors.ImportRefused`, with file and line, for a damaged file.
        """
        path = self.files[name]
        scores = _metrics(self.measured[name]) if name in self.measured else {}
        by_id: dict[str, Response] = {}
        problems = []
        for number, record in json_files.read_json_lines(path):
            id_ = json_files.required_string(record, "id", path, number)
            if id_ in by_id:
                problems.append(Problem("duplicate-response", id_, f"{path.name}:{number}"))
                del by_id[id_]
            if self.measured and id_ not in scores:
                problems.append(Problem("metrics-missing", id_, f"{path.name}:{number}"))
            text = _response_text(record, path, number)
            values, decimals = scores.get(id_, (None, None))
            facts = _facts(record, path, number)
            by_id[id_] = Response(id_, text, facts, values, decimals=decimals)
        responses = _with_cleanings(by_id.values())
        problems += [
            Problem("facts-differ", response.id, path.name)
            for response in responses
            if response.differs
        ]
        return OntologyResponses(responses, problems)


def response_sets(root: Path, collection: str) -> Iterator[ResponseSet]:
    """Yield every set of responses of a collection, without opening its files."""
    for model, split, location in _locations(root, collection):
        files = _by_ontology(location / _RESPONSES)
        if files:
            yield ResponseSet(collection, model, split, files, _by_ontology(location / _MEASURED))


def unread_files(root: Path, collection: str, names: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each file that no ontology of the collection (``names``) uses.

    Files of metrics whose names contain no ontology are averages, and no problem.
    """
    for _, _, location in _locations(root, collection):
        for folder in (location / _RESPONSES, location / _MEASURED):
            by_ontology = _by_ontology(folder)
            for path in sorted(folder.glob("[!.]*")):
                match = _NAME.fullmatch(path.name)
                if match is None:
                    if folder.name == _MEASURED:
                        continue
                    reason = "its name is not NUMBER_ONTOLOGY.jsonl or NUMBER_ONTOLOGY_*.jsonl"
                elif match[1] not in names:
                    reason = f"there is no ontology '{match[1]}'"
                elif by_ontology[match[1]] != path:
                    reason = f"{by_ontology[match[1]].name} is read for the same ontology"
                else:
                    continue
                yield Problem("unread-file", str(path.relative_to(root / collection)), reason)


def _locations(root: Path, collection: str) -> Iterator[tuple[str, str, Path]]:
    """Yield the folder of each model and split."""
    for folder in sorted((root / collection / "baselines").glob("*/")):
        yield folder.name, "test", folder
        yield folder.name, "unseen", folder / "unseen"


def _by_ontology(folder: Path) -> dict[str, Path]:
    files = {}
    for path in sorted(folder.glob("*.jsonl")):
        match = _NAME.fullmatch(path.name)
        if match is not None:
            files[match[1]] = path
    return files


def _with_cleanings(responses: Iterable[Response]) -> list[Response]:
    """Determine the cleaning of each response of a file.

    Most responses fit several cleanings. The cleaning that fits most responses of the file is
    preferred, because a file was usually cleaned in one way.
    """
    fitting = [
        (response, () if response.facts is None else cleanings_of(response.text, response.facts))
        for response in responses
    ]
    counts = Counter(name for _, names in fitting for name in names)
    order = sorted(CLEANINGS, key=lambda name: -counts[name])  # stable: the least cleaning first
    return [
        response
        if response.facts is None
        else replace(
            response,
            cleaning=next((name for name in order if name in names), order[0]),
            differs=not names,
        )
        for response, names in fitting
    ]


def _response_text(record: Mapping[str, Json], path: Path, number: int) -> str:
    """Return the text of a response, which may be any string."""
    value = record.get("response")
    if not isinstance(value, str):
        raise ImportRefused(f"{path}:{number}: response is missing or not a string")
    return value


def _facts(record: Mapping[str, Json], path: Path, number: int) -> tuple[Triple, ...] | None:
    if "triples" not in record:
        return None  # some responses were published without parsed facts
    triples = record["triples"]
    if not isinstance(triples, list) or not all(
        isinstance(t, list) and len(t) == 3 and all(isinstance(part, str) for part in t)  # noqa: PLR2004 - a triple
        for t in triples
    ):
        raise ImportRefused(f"{path}:{number}: triples is not a list of triples")
    return tuple((t[0], t[1], t[2]) for t in triples)


def _metrics(path: Path) -> dict[str, tuple[dict[str, float], int | None]]:
    """Read the seven metrics of each sentence, and their decimals if published as text."""
    metrics = {}
    for number, record in json_files.read_json_lines(path):
        id_ = json_files.required_string(record, "id", path, number)
        values = {name: _value(record, name, path, number) for name in METRICS}
        texts = [text for name in METRICS if isinstance(text := record[name], str)]
        decimals = max((len(text.strip().partition(".")[2]) for text in texts), default=0)
        rounded = len(texts) == len(METRICS) and decimals <= _MOST_DECIMALS
        metrics[id_] = values, decimals if rounded else None
    return metrics


def _value(record: Mapping[str, Json], name: str, path: Path, number: int) -> float:
    try:
        value = float(record[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ImportRefused(f"{path}:{number}: {name} is missing or not a number") from None
    if not math.isfinite(value):
        raise ImportRefused(f"{path}:{number}: {name} is not finite")
    if not 0 <= value <= 1:
        raise ImportRefused(f"{path}:{number}: {name} is {value}, not from 0 to 1")
    return value
