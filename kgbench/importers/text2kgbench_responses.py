# SPDX-License-Identifier: Apache-2.0
"""Stored responses of the Text2KGBench baselines: raw text, parsed facts, published metrics.

They lie in ``baselines/MODEL/llm_responses`` and, for invented sentences, in
``baselines/MODEL/unseen/llm_responses``, each with ``eval_metrics`` beside it.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kgbench.datasets import lines
from kgbench.datasets.text2kgbench_problems import Problem
from kgbench.errors import ImportRefused
from kgbench.model import Json

METRICS = (
    *("precision", "recall", "f1", "onto_conf"),
    *("rel_halluc", "sub_halluc", "obj_halluc"),
)
_NAME = re.compile(r"(?:ont_)?\d+_([A-Za-z]+?)(?:_.*)?\.jsonl")


@dataclass(frozen=True, slots=True)
class Response:
    """One stored response. ``metrics`` is ``None`` where none were published."""

    id: str
    text: str
    facts: tuple[tuple[str, str, str], ...]
    metrics: Mapping[str, float] | None


@dataclass(slots=True)
class ResponseSet:
    """The responses of one model to one split (``test`` or ``unseen``) of a collection.

    ``responses`` are by name of the ontology; ``digest`` is the SHA-256 over all files.
    """

    collection: str
    model: str
    split: str
    digest: str
    responses: dict[str, list[Response]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def response_sets(root: Path, collection: str) -> Iterator[ResponseSet]:
    """Every set of responses of a collection.

    Raises :class:`~kgbench.errors.ImportRefused`, naming file and line, for a damaged file.
    """
    for folder in sorted((root / collection / "baselines").glob("*/")):
        for split, place in (("test", folder), ("unseen", folder / "unseen")):
            files = _by_ontology(place / "llm_responses")
            if files:
                yield _read(collection, folder.name, split, files, place / "eval_metrics")


def _by_ontology(folder: Path) -> dict[str, Path]:
    found = {}
    for path in sorted(folder.glob("*.jsonl")):
        match = _NAME.fullmatch(path.name)
        if match is not None:
            found[match[1]] = path
    return found


def _read(
    collection: str, model: str, split: str, files: Mapping[str, Path], metrics: Path
) -> ResponseSet:
    measured = _by_ontology(metrics)
    content = hashlib.sha256()
    for path in [*files.values(), *measured.values()]:
        content.update(hashlib.sha256(lines.text(path).encode("utf-8")).digest())
    found = ResponseSet(collection, model, split, content.hexdigest())
    for name, path in files.items():
        scores = _metrics(measured[name]) if name in measured else {}
        by_id: dict[str, Response] = {}
        for number, record in lines.records(path):
            id_ = lines.word(record, "id", path, number)
            if id_ in by_id:
                found.problems.append(Problem("duplicate-response", id_, f"{path.name}:{number}"))
                del by_id[id_]
            if measured and id_ not in scores:
                found.problems.append(Problem("metrics-missing", id_, f"{path.name}:{number}"))
            text = _said(record, path, number)
            by_id[id_] = Response(id_, text, _facts(record, path, number), scores.get(id_))
        found.responses[name] = list(by_id.values())
    return found


def _said(record: Mapping[str, Json], path: Path, number: int) -> str:
    """What a model wrote, which may be anything."""
    value = record.get("response")
    if not isinstance(value, str):
        raise ImportRefused(f"{path}:{number}: response is missing or no text")
    return value


def _facts(record: Mapping[str, Json], path: Path, number: int) -> tuple[tuple[str, str, str], ...]:
    triples = record.get("triples")
    if not isinstance(triples, list) or not all(
        isinstance(t, list) and len(t) == 3 and all(isinstance(part, str) for part in t)  # noqa: PLR2004 - a triple
        for t in triples
    ):
        raise ImportRefused(f"{path}:{number}: triples is no list of triples")
    return tuple((t[0], t[1], t[2]) for t in triples)


def _metrics(path: Path) -> dict[str, dict[str, float]]:
    """The seven values of each sentence; they are published as numbers or as text."""
    found = {}
    for number, record in lines.records(path):
        id_ = lines.word(record, "id", path, number)
        found[id_] = {name: _value(record, name, path, number) for name in METRICS}
    return found


def _value(record: Mapping[str, Json], name: str, path: Path, number: int) -> float:
    try:
        value = float(record[name])
    except (KeyError, TypeError, ValueError, OverflowError):
        raise ImportRefused(f"{path}:{number}: {name} is missing or no number") from None
    if not math.isfinite(value):
        raise ImportRefused(f"{path}:{number}: {name} is not finite")
    return value
