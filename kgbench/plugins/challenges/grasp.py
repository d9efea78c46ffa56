# SPDX-License-Identifier: Apache-2.0
"""Published runs of GRASP: questions, messages, final queries and evaluations.

The files are those below ``data/benchmark/KG/SET`` of ``ad-freiburg/grasp``: ``test.jsonl`` with
the questions, and for each run ``RUN.jsonl``, ``RUN.config.json`` and ``RUN.evaluation.json``,
there or in ``outputs/``. Queries are executed on the installed graph with the name of the
knowledge graph.

Each message of the model becomes a turn, with its tool calls and their results
(:mod:`.grasp_transcripts`). The first prompt is the system message and the question;
the answer is the final query of the run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from kgbench.api import ImportRefused, Json
from kgbench.datasets import json_files
from kgbench.plugins.challenges import published_answers, questions
from kgbench.plugins.challenges.grasp_transcripts import transcript
from kgbench.software import Software

BENCHMARK: Final = published_answers.Benchmark(
    "grasp", "GraspQuestions", Software("GRASP", "1"), datetime(2025, 1, 1, tzinfo=UTC)
)
QUESTIONS: Final = "test.jsonl"
OUTPUTS: Final = "outputs"
_CONFIG, _EVALUATION = ".config.json", ".evaluation.json"
_QUESTION_FILES: Final = frozenset(("train.jsonl", "val.jsonl", "dev.jsonl", QUESTIONS))
_NO_PREDICTION: Final = "the evaluation has no prediction: the run gave no query, which counts 0"


def read(
    folder: Path, knowledge_graph: str | None = None
) -> Iterator[published_answers.AnswerFile]:
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
    for path, outputs in runs.items():
        records = _questions(path)
        graph = knowledge_graph or _knowledge_graph(path, outputs)
        for output in outputs:
            yield _answer_file(path, records, output, graph)


def _runs(folder: Path) -> dict[Path, list[Path]]:
    """Map each file of questions to the output files of its runs."""
    question_files = sorted(folder.rglob(QUESTIONS))
    if not question_files and (folder.parent / QUESTIONS).is_file():
        question_files = [folder.parent / QUESTIONS]
    runs = {}
    for path in question_files:
        outputs = (*path.parent.glob("*.jsonl"), *(path.parent / OUTPUTS).glob("*.jsonl"))
        runs[path] = sorted(output for output in outputs if output.name not in _QUESTION_FILES)
    return {path: outputs for path, outputs in runs.items() if outputs}


def _answer_file(
    path: Path, records: Mapping[str, Mapping[str, Json]], output: Path, knowledge_graph: str
) -> published_answers.AnswerFile:
    evaluations, model = _object(output.with_suffix(_EVALUATION)), _model(output)
    sources = (path, output, output.with_suffix(_EVALUATION), output.with_suffix(_CONFIG))
    content = hashlib.sha256()
    for source in sources:
        if source.is_file():
            content.update(json_files.file_sha256(source))
    answers = []
    for number, uid, record in _records(output):
        where = f"{output}:{number}"
        if uid not in records:
            raise ImportRefused(f"{where}: {path.name} has no question '{uid}'")
        question = records[uid]
        final = record.get("output", record) or {}
        text = final.get("sparql") if isinstance(final, Mapping) else None
        if text is not None and not isinstance(text, str):
            raise ImportRefused(f"{where}: sparql is not a string")
        messages, elapsed = record.get("messages") or [], record.get("elapsed")
        try:
            dialogue = transcript(
                messages, text or "", question["question"], BENCHMARK.day, elapsed, model, where
            )
        except OverflowError as error:
            raise ImportRefused(f"{where}: elapsed is too long for a time span: {error}") from error
        infos: dict[str, Json] = {"sparql": questions.query(text or "")}
        if dialogue.closing:
            infos["closing"] = dialogue.closing
        if record.get("error"):
            infos["error"] = record["error"]
        scores, published = _evaluated(evaluations.get(uid), where)
        answers.append(
            published_answers.PublishedAnswer(
                uid=uid,
                data={
                    "question": question["question"],
                    "refSparql": question["sparql"],
                    "graphName": knowledge_graph,
                },
                turns=dialogue.turns,
                text=text or "",
                scores=scores,
                infos=infos | published,
                ended=dialogue.ended,
            )
        )
    folder = path.resolve().parent.name
    dataset = knowledge_graph if knowledge_graph in folder else f"{knowledge_graph}-{folder}"
    return published_answers.AnswerFile(output.stem, dataset, content.hexdigest(), answers)


def _evaluated(evaluation: Json, where: str) -> tuple[dict[str, float], dict[str, Json]]:
    if evaluation is None:
        return {}, {}
    prediction = evaluation.get("prediction") if isinstance(evaluation, Mapping) else evaluation
    if prediction is None:
        return {"f1": 0.0}, {"published": evaluation, "note": _NO_PREDICTION}
    if not isinstance(prediction, Mapping):
        raise ImportRefused(f"{where}: the evaluation is not an object")
    label = f"{where}: the score of the evaluation"
    return {"f1": published_answers.share(prediction.get("score"), label)}, {
        "published": evaluation
    }


def _config(output: Path) -> Mapping[str, Json]:
    config = _object(output.with_suffix(_CONFIG)).get("config")
    return config if isinstance(config, Mapping) else {}


def _model(output: Path) -> str | None:
    """Return the model in the configuration of a run, or the first of its list of models."""
    config = _config(output)
    model = config.get("model")
    models = config.get("models")
    if model is None and isinstance(models, list) and models:
        model = models[0].get("model") if isinstance(models[0], Mapping) else models[0]
    return model if isinstance(model, str) else None


def _knowledge_graph(path: Path, outputs: Sequence[Path]) -> str:
    """Return the graph named in the runs' configurations, else the name of the parent folder."""
    for graphs in (_config(output).get("knowledge_graphs") for output in outputs):
        first = graphs[0] if isinstance(graphs, list) and graphs else None
        name = first.get("name", first.get("kg")) if isinstance(first, Mapping) else first
        if isinstance(name, str) and name:
            return name
    return path.resolve().parent.parent.name


def _questions(path: Path) -> dict[str, Mapping[str, Json]]:
    records: dict[str, Mapping[str, Json]] = {}
    for number, uid, record in _records(path):
        if not all(isinstance(record.get(key), str) for key in ("question", "sparql")):
            raise ImportRefused(f"{path}:{number}: question or sparql is missing or not a string")
        records[uid] = record
    return records


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
    value = json_files.read_json(path) if path.is_file() else {}
    if not isinstance(value, Mapping):
        raise ImportRefused(f"{path} is not an object")
    return value
