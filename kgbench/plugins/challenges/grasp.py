# SPDX-License-Identifier: Apache-2.0
"""Published runs of GRASP: questions, messages, final queries and evaluations.

The files are those below ``data/benchmark/KG/SET`` of ``ad-freiburg/grasp``: ``test.jsonl`` with
the questions, and for each run ``RUN.jsonl``, ``RUN.config.json`` and ``RUN.evaluation.json``,
there or in ``outputs/``. Queries are executed on the installed graph with the name of the
knowledge graph.

Each message of the model becomes a turn, with its tool calls and their results
(:mod:`.grasp_messages`). The first prompt is the system message and the question;
the answer is the final query of the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kgbench.datasets import json_files
from kgbench.errors import ImportRefused
from kgbench.model import Json
from kgbench.plugins.challenges import recorded_questions
from kgbench.plugins.challenges.grasp_messages import transcript
from kgbench.plugins.challenges.published_answers import AnswerFile, Benchmark, PublishedAnswer
from kgbench.software import Software

BENCHMARK: Final = Benchmark(
    "grasp", "GraspQuestions", Software("GRASP", "1"), datetime(2025, 1, 1, tzinfo=UTC)
)
QUESTIONS: Final = "test.jsonl"
OUTPUTS: Final = "outputs"
_QUESTION_FILES: Final = frozenset(("train.jsonl", "val.jsonl", "dev.jsonl", QUESTIONS))
_NO_PREDICTION: Final = "the evaluation has no prediction: the run gave no query, which counts 0"


def read(folder: Path, knowledge_graph: str | None = None) -> Iterator[AnswerFile]:
    """Read the runs below ``folder``, the folder of a benchmark, of its outputs, or one above.

    ``knowledge_graph`` is the name of the graph; by default it is taken from the configurations of
    the runs, or else from the folder. Raises :class:`~kgbench.errors.ImportRefused` if there are no
    runs, or one is damaged.
    """
    runs = _runs(folder)
    if not runs:
        raise ImportRefused(
            f"{folder} has no runs of GRASP: neither {QUESTIONS} with RUN.jsonl beside it, "
            f"nor {OUTPUTS}/RUN.jsonl"
        )
    for questions, outputs in runs.items():
        graph = knowledge_graph or _knowledge_graph(questions, outputs)
        records = _questions(questions)
        for output in outputs:
            yield _answer_file(questions, records, output, graph)


def _runs(folder: Path) -> dict[Path, list[Path]]:
    """Map each file of questions to the output files of its runs."""
    question_files = sorted(folder.rglob(QUESTIONS))
    if not question_files and (folder.parent / QUESTIONS).is_file():
        question_files = [folder.parent / QUESTIONS]
    runs = {}
    for questions in question_files:
        directory = questions.parent
        outputs = [
            path
            for path in sorted([*directory.glob("*.jsonl"), *(directory / OUTPUTS).glob("*.jsonl")])
            if path.name not in _QUESTION_FILES
        ]
        if outputs:
            runs[questions] = outputs
    return runs


def _answer_file(
    questions: Path,
    questions_by_id: Mapping[str, Mapping[str, Json]],
    output: Path,
    knowledge_graph: str,
) -> AnswerFile:
    evaluation = output.with_suffix(".evaluation.json")
    evaluations = _object(evaluation) if evaluation.is_file() else {}
    config = output.with_suffix(".config.json")
    settings = _object(config) if config.is_file() else {}
    model = _model(settings.get("config"))
    sources = [path for path in (questions, output, evaluation, config) if path.is_file()]
    content = hashlib.sha256()
    for path in sources:
        content.update(json_files.file_sha256(path))
    answers = []
    for number, uid, record in _records(output):
        where = f"{output}:{number}"
        if uid not in questions_by_id:
            raise ImportRefused(f"{where}: {questions.name} has no question '{uid}'")
        answers.append(
            _answer(
                uid,
                questions_by_id[uid],
                record,
                evaluations.get(uid),
                knowledge_graph,
                model,
                where,
            )
        )
    return AnswerFile(
        output.stem, _dataset(questions, knowledge_graph), content.hexdigest(), answers
    )


def _answer(  # noqa: PLR0917 - the parts of one record
    uid: str,
    question: Mapping[str, Json],
    record: Mapping[str, Json],
    evaluation: Mapping[str, Json] | None,
    knowledge_graph: str,
    model: str | None,
    where: str,
) -> PublishedAnswer:
    final = record.get("output", record) or {}
    text = final.get("sparql") if isinstance(final, Mapping) else None
    if text is not None and not isinstance(text, str):
        raise ImportRefused(f"{where}: sparql is not a string")
    try:
        dialogue = transcript(
            record.get("messages") or [],
            text or "",
            question["question"],
            BENCHMARK.day,
            record.get("elapsed"),
            model,
            where,
        )
    except OverflowError as error:
        raise ImportRefused(f"{where}: elapsed is too long for a time span: {error}") from error
    data = {
        "question": question["question"],
        "refSparql": question["sparql"],
        "graphName": knowledge_graph,
    }
    infos: dict[str, Json] = {"sparql": recorded_questions.query(text or "")}
    if dialogue.closing:
        infos["closing"] = dialogue.closing
    if record.get("error"):
        infos["error"] = record["error"]
    scores: dict[str, float] = {}
    if evaluation is not None:
        prediction = evaluation.get("prediction") if isinstance(evaluation, Mapping) else evaluation
        if prediction is not None and not isinstance(prediction, Mapping):
            raise ImportRefused(f"{where}: the evaluation is not an object")
        infos["published"] = evaluation
        scores = {"f1": 0.0 if prediction is None else _score(prediction, where)}
        if prediction is None:
            infos["note"] = _NO_PREDICTION
    return PublishedAnswer(
        uid=uid,
        data=data,
        turns=dialogue.turns,
        text=text or "",
        scores=scores,
        infos=infos,
        ended=dialogue.ended,
    )


def _model(config: Json) -> str | None:
    """Return the model that a configuration names, or the first of its list of models."""
    if not isinstance(config, Mapping):
        return None
    model = config.get("model")
    models = config.get("models")
    if model is None and isinstance(models, list) and models:
        model = models[0].get("model") if isinstance(models[0], Mapping) else models[0]
    return model if isinstance(model, str) else None


def _score(prediction: Mapping[str, Json], where: str) -> float:
    value = prediction.get("score")
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ImportRefused(f"{where}: the score of the evaluation is not a number from 0 to 1")
    return float(value)


def _questions(path: Path) -> dict[str, Mapping[str, Json]]:
    questions: dict[str, Mapping[str, Json]] = {}
    for number, uid, record in _records(path):
        if not all(isinstance(record.get(key), str) for key in ("question", "sparql")):
            raise ImportRefused(f"{path}:{number}: question or sparql is missing or not a string")
        questions[uid] = record
    return questions


def _knowledge_graph(questions: Path, outputs: Sequence[Path]) -> str:
    """Return the graph named in the runs' configurations, else the name of the parent folder."""
    for output in outputs:
        config = output.with_suffix(".config.json")
        if config.is_file():
            settings = _object(config).get("config")
            graphs = settings.get("knowledge_graphs") if isinstance(settings, Mapping) else None
            first = graphs[0] if isinstance(graphs, list) and graphs else None
            name = first.get("name", first.get("kg")) if isinstance(first, Mapping) else first
            if isinstance(name, str) and name:
                return name
    return questions.resolve().parent.parent.name


def _dataset(questions: Path, knowledge_graph: str) -> str:
    """Return a name for the set of questions, made from its graph and folder."""
    folder = questions.resolve().parent.name
    return knowledge_graph if knowledge_graph in folder else f"{knowledge_graph}-{folder}"


def _records(path: Path) -> Iterator[tuple[int, str, Mapping[str, Json]]]:
    """Yield the records of a file with their lines and ids, which may be strings or numbers."""
    lines: dict[str, int] = {}
    for number, record in json_files.read_json_lines(path):
        uid = record.get("id")
        if uid is None:
            raise ImportRefused(f"{path}:{number}: id is missing")
        uid = str(uid)
        if uid in lines:
            raise ImportRefused(f"{path}:{number}: id '{uid}' is repeated from line {lines[uid]}")
        lines[uid] = number
        yield number, uid, record


def _object(path: Path) -> Mapping[str, Json]:
    value = json_files.read_json(path)
    if not isinstance(value, Mapping):
        raise ImportRefused(f"{path} is not an object")
    return value
