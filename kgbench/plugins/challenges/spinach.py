# SPDX-License-Identifier: Apache-2.0
"""Published answers of SPINACH: questions, predicted and reference queries, and their bindings.

The files are ``datasets/SET/spinach_output_SPLIT.json`` of ``stanford-oval/spinach``, written by
its ``spinach_agent/evaluate_parser.py``. They contain the bindings of both queries, so answers can
be judged again without an endpoint.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kgbench.datasets import json_files
from kgbench.errors import EvaluationError, ImportRefused
from kgbench.model import Call, Json, QueryResult, Reply, Turn
from kgbench.plugins.challenges import recorded_questions
from kgbench.plugins.challenges.published_answers import AnswerFile, Benchmark, PublishedAnswer
from kgbench.policies.results import from_bindings, to_json
from kgbench.software import Software

BENCHMARK: Final = Benchmark(
    "spinach", "SpinachQuestions", Software("SPINACH", "1"), datetime(2024, 1, 1, tzinfo=UTC)
)
_NAME: Final = re.compile(r"(?P<system>.+)_output_(?P<split>[A-Za-z0-9]+)\.json")
_DATASETS: Final = "datasets"
_KNOWN: Final = frozenset(
    (
        "question",
        "predicted_sparql",
        "gold_sparql",
        "f1",
        "predicted_answer_tuple",
        "gold_answer_tuple",
    )
)


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


def read(path: Path) -> AnswerFile:
    """Read an answer file. Raises :class:`~kgbench.errors.ImportRefused` if it is damaged."""
    name = _NAME.fullmatch(path.name)
    system = "spinach" if name is None else name["system"]
    records = json_files.read_json(path)
    if not isinstance(records, list):
        raise ImportRefused(f"{path} is not a list of answers")
    return AnswerFile(
        system.upper() if system == "spinach" else system,
        _dataset(path, None if name is None else name["split"]),
        json_files.file_sha256(path).hex(),
        list(_answers(path, records)),
    )


def _answers(path: Path, records: list[Json]) -> Iterator[PublishedAnswer]:
    for index, record in enumerate(records):
        where = f"{path}: answer {index} (from 0)"
        if not isinstance(record, Mapping):
            raise ImportRefused(f"{where} is not an object")
        question, gold = (_text(record, key, where) for key in ("question", "gold_sparql"))
        predicted = record.get("predicted_sparql")
        if predicted is not None and not isinstance(predicted, str):
            raise ImportRefused(f"{where}: predicted_sparql is not a string")
        expected = _result(record, "gold_answer_tuple", where)
        answered = _result(record, "predicted_answer_tuple", where)
        data: dict[str, Json] = {
            "question": question,
            "refSparql": gold,
            "refResult": to_json(expected),
        }
        text = predicted or ""
        infos: dict[str, Json] = {
            "sparql": recorded_questions.query(text),
            "result": to_json(answered),
        }
        if others := {key: value for key, value in record.items() if key not in _KNOWN}:
            infos["published"] = others
        turn = Turn(question, (Call(BENCHMARK.day, BENCHMARK.day, Reply(text)),))
        yield PublishedAnswer(
            uid=str(index + 1),
            data=data,
            turns=(turn,),
            text=text,
            scores=_scores(record, where),
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


def _scores(record: Mapping[str, Json], where: str) -> dict[str, float]:
    value = record.get("f1")
    if value is None:
        return {}
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ImportRefused(f"{where}: f1 is not a number from 0 to 1")
    return {"f1": float(value)}


def _text(record: Mapping[str, Json], key: str, where: str) -> str:
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise ImportRefused(f"{where}: {key} is missing or not a string")
    return value


def _dataset(path: Path, split: str | None) -> str:
    """Return the name of a data set: its folders below ``datasets``, or the folder of the file.

    A split other than ``test`` is appended.
    """
    folders = path.resolve().parent.parts
    if _DATASETS in folders:
        below = folders[len(folders) - folders[::-1].index(_DATASETS) :]
        name = "-".join(below) or path.resolve().parent.name
    else:
        name = path.resolve().parent.name
    return name if split in {None, "test"} else f"{name}-{split}"
