# SPDX-License-Identifier: Apache-2.0
"""Published answers of SPINACH: questions, predicted and reference queries, and their bindings.

The files are ``datasets/SET/spinach_output_SPLIT.json`` of ``stanford-oval/spinach``, written by
its ``spinach_agent/evaluate_parser.py``. They contain the bindings of both queries, so answers can
be judged again without an endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kgbench.api import Call, EvaluationError, ImportRefused, Json, QueryResult, Reply, Turn
from kgbench.datasets import json_files
from kgbench.plugins.challenges import published_answers, questions
from kgbench.policies.results import from_bindings, to_json
from kgbench.software import Software

BENCHMARK: Final = published_answers.Benchmark(
    "spinach", "SpinachQuestions", Software("SPINACH", "1"), datetime(2024, 1, 1, tzinfo=UTC)
)
_NAME: Final = re.compile(r"(?P<system>.+)_output_(?P<split>[A-Za-z0-9]+)\.json")
_DATASETS: Final = "datasets"
_TEXTS: Final = ("question", "gold_sparql")
_RESULTS: Final = ("gold_answer_tuple", "predicted_answer_tuple")
_KNOWN: Final = frozenset((*_TEXTS, *_RESULTS, "predicted_sparql", "f1"))


def files(path: Path) -> list[Path]:
    """Return the answer files below a folder, or ``path`` itself if it is a file.

    Raises :class:`~kgbench.errors.ImportRefused` if there are none.
    """
    if path.is_file():
        return [path]
    answer_files = sorted(file for file in path.rglob("*.json") if _NAME.fullmatch(file.name))
    if not answer_files:
        raise ImportRefused(f"{path} has no file called spinach_output_*.json")
    return answer_files


def read(path: Path) -> published_answers.AnswerFile:
    """Read an answer file. Raises :class:`~kgbench.errors.ImportRefused` if it is damaged."""
    name = _NAME.fullmatch(path.name)
    system = "spinach" if name is None else name["system"]
    records = json_files.read_json(path)
    if not isinstance(records, list):
        raise ImportRefused(f"{path} is not a list of answers")
    return published_answers.AnswerFile(
        system.upper() if system == "spinach" else system,
        _dataset(path, None if name is None else name["split"]),
        json_files.file_sha256(path).hex(),
        [
            _answer(index, record, f"{path}: answer {index} (from 0)")
            for index, record in enumerate(records)
        ],
    )


def _answer(index: int, record: Json, where: str) -> published_answers.PublishedAnswer:
    if not isinstance(record, Mapping):
        raise ImportRefused(f"{where} is not an object")
    for key in _TEXTS:
        if not isinstance(record.get(key), str) or not record[key].strip():
            raise ImportRefused(f"{where}: {key} is missing or not a string")
    predicted = record.get("predicted_sparql")
    text = "" if predicted is None else predicted
    if not isinstance(text, str):
        raise ImportRefused(f"{where}: predicted_sparql is not a string")
    expected, answered = (_result(record, key, where) for key in _RESULTS)
    infos = {"sparql": questions.query(text), "result": to_json(answered)}
    if others := {key: value for key, value in record.items() if key not in _KNOWN}:
        infos["published"] = others
    f1 = record.get("f1")
    return published_answers.PublishedAnswer(
        uid=str(index + 1),
        data={
            "question": record["question"],
            "refSparql": record["gold_sparql"],
            "refResult": to_json(expected),
        },
        turns=(Turn(record["question"], (Call(BENCHMARK.day, BENCHMARK.day, Reply(text)),)),),
        text=text,
        scores={} if f1 is None else {"f1": published_answers.share(f1, f"{where}: f1")},
        infos=infos,
        ended=BENCHMARK.day,
    )


def _result(record: Mapping[str, Json], key: str, where: str) -> QueryResult:
    value = record.get(key)
    if value is None:
        return QueryResult(error="no result is published")
    if isinstance(value, bool):
        return QueryResult(boolean=value)
    if not isinstance(value, list):
        raise ImportRefused(f"{where}: {key} is neither a truth value nor a list of bindings")
    try:
        return from_bindings(value)
    except EvaluationError as error:
        raise ImportRefused(f"{where}: {key}: {error}") from error


def _dataset(path: Path, split: str | None) -> str:
    """Return the name of a data set: its folders below ``datasets``, or the folder of the file.

    A split other than ``test`` is appended.
    """
    folders = path.resolve().parent.parts
    last = len(folders) - folders[::-1].index(_DATASETS) if _DATASETS in folders else len(folders)
    name = "-".join(folders[last:]) or path.resolve().parent.name
    return name if split in {None, "test"} else f"{name}-{split}"
