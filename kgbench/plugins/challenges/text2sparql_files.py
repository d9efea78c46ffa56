# SPDX-License-Identifier: Apache-2.0
"""The published files of the TEXT2SPARQL challenge: questions, answers, scores, result sets.

The editions of 2025 and 2026 name their folders and files differently, so files are found by name
in any folder: a folder with ``PREFIX_answers.json`` belongs to a system. Only YAML and JSON are
read. Files ``*.db`` have pickled objects, which could execute code: they are counted, and never
opened.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kgbench.api import ImportRefused, Json
from kgbench.datasets import home, json_files
from kgbench.plugins.challenges import question_files
from kgbench.plugins.challenges.published_answers import share
from kgbench.plugins.challenges.question_files import Question, QuestionFile

AVERAGE: Final = "average"
SCORES: Final = ("set_P", "set_recall", "set_F", "ndcg")
"""The names of published scores of an answer; averages also have ``set_F_ndcg``."""

_ANSWERS: Final = "_answers.json"
_EVALUATIONS: Final = ("_eval.json", "_results.json")
_RESULTS: Final = ("_system_result_set.json", "_pred_result_set.json")
_GOLD: Final = "_true_result_set.json"
_FIELDS: Final = ("question", "query", "dataset", "endpoint")  # of an answer
_ORDER: Final = "order_required"  # a key of result-set files that is not a question
_QUESTIONS: Final = re.compile(r"^dataset:", re.MULTILINE), re.compile(r"^questions:", re.MULTILINE)
_LANGUAGE: Final = re.compile(r"(set_P|set_recall|set_F|ndcg|set_F_ndcg)(?:-([A-Za-z-]+))?")

ResultSet = Mapping[str, int]
"""The values of a result, each with weight 1; of an ASK the value ``true`` with weight 1 or 0."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer of a system; ``dataset`` is the data set that its endpoint returned."""

    question: str
    query: str
    dataset: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, and the published result sets of their reference queries by key."""

    file: QuestionFile
    gold: Mapping[str, ResultSet]
    sources: tuple[Path, ...]

    @property
    def keys(self) -> dict[str, tuple[Question, str]]:
        """Questions and languages by key."""
        return {
            self.file.key(question, language): (question, language)
            for question in self.file.questions
            for language in question.texts
        }


@dataclass(frozen=True, slots=True)
class SystemFiles:
    """The published data of one system and set of questions; mappings are by key of the question.

    ``averages`` maps (score, language or "") to the published mean. ``copied`` is true if the
    published result sets are a copy of the reference's, which contradicts the published scores.
    """

    system: str
    questions: QuestionSet
    answers: Mapping[str, Answer]
    scores: Mapping[str, Mapping[str, float]]
    averages: Mapping[tuple[str, str], float]
    results: Mapping[str, ResultSet]
    copied: bool
    sources: tuple[Path, ...]

    def digest(self) -> str:
        """Return the SHA-256 (hex) over all files that the import of this system reads."""
        parts = [*self.questions.sources, *self.sources]
        return hashlib.sha256(b"".join(json_files.file_sha256(path) for path in parts)).hexdigest()


@dataclass(slots=True)
class Challenge:
    """The systems in a folder; ``remarks`` explain what was not imported, and why."""

    systems: list[SystemFiles] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read(root: Path) -> Challenge:
    """Read and check all files below ``root``.

    Raises :class:`~kgbench.errors.ImportRefused` for the first invalid file, and if there are no
    answers.
    """
    if not root.is_dir():
        raise ImportRefused(f"{root} is not a folder: give the folder 'docs' of the challenge")
    files = sorted(path for path in root.rglob("*") if path.is_file())
    challenge = Challenge()
    answers = [path for path in files if path.name.endswith(_ANSWERS)]
    if not answers:
        raise ImportRefused(f"{root} has no file *{_ANSWERS}, so there are no answers")
    prefixes = sorted({path.name.removesuffix(_ANSWERS) for path in answers})
    sets = {prefix: _question_set(root, prefix, files, challenge) for prefix in prefixes}
    for path in answers:
        _system(path, sets[path.name.removesuffix(_ANSWERS)], challenge)
    _note_others(files, {path.parent for path in answers}, challenge)
    return challenge


def _question_set(
    root: Path, prefix: str, files: Sequence[Path], challenge: Challenge
) -> QuestionSet:
    path, questions = _questions(root, prefix, files)
    challenge.remarks += questions.remarks
    gold: dict[str, ResultSet] = {}
    sources = [path]
    gold_files = [file for file in files if file.name == f"{prefix}{_GOLD}"]
    if len({json_files.file_sha256(file) for file in gold_files}) > 1:
        raise ImportRefused(f"{root} has files {prefix}{_GOLD} with different content: keep one")
    if gold_files:
        sources.append(gold_files[0])
        gold = _result_sets(gold_files[0])
    else:
        challenge.remarks.append(f"{prefix}: no result sets of reference queries ({prefix}{_GOLD})")
    question_set = QuestionSet(questions, gold, tuple(sources))
    if unknown := gold.keys() - question_set.keys.keys():
        raise ImportRefused(
            f"{gold_files[0]}: {min(unknown)} is not one of the questions in {path}"
        )
    return question_set


def _questions(root: Path, prefix: str, files: Sequence[Path]) -> tuple[Path, QuestionFile]:
    """Find the questions with a prefix in the folder, beside it, or in the installed data set."""
    beside = [*root.parent.glob("*.y*ml"), *(root.parent / prefix).glob("*.y*ml")]
    for group in (files, sorted(beside)):
        candidates = [path for path in group if path.suffix in (".yml", ".yaml")]
        read_files = [
            (path, question_files.read(path)) for path in candidates if _is_questions(path)
        ]
        fitting = [
            (path, questions) for path, questions in read_files if questions.prefix == prefix
        ]
        if len({(questions.dataset, str(questions.questions)) for _, questions in fitting}) > 1:
            places = " and ".join(str(path) for path, _ in fitting)
            raise ImportRefused(f"the questions of {prefix} differ in {places}: keep one file")
        if fitting:
            return fitting[0]
    if home.installation_record(prefix) is not None:
        return home.folder_of(prefix) / question_files.QUESTIONS, question_files.installed(prefix)
    raise ImportRefused(
        f"{root} has answers about {prefix} and no file with its questions: put that file beside "
        f"it, or run 'kgbench datasets install {prefix} --from PATH'"
    )


def _is_questions(path: Path) -> bool:
    """Return whether a YAML file looks like a question file.

    Files about the site or systems do not.
    """
    try:
        text = path.read_bytes()[: 1 << 16].decode("utf-8-sig", "replace")
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror or error}") from error
    return all(form.search(text) for form in _QUESTIONS)


def _system(path: Path, questions: QuestionSet, challenge: Challenge) -> None:
    prefix, system = questions.file.prefix, path.parent.name
    answers = _answers(path, questions)
    evaluation = _beside(path, prefix, _EVALUATIONS)
    if not answers and evaluation is None:
        challenge.remarks.append(f"{system}: no answer about {prefix}, and no published score")
        return
    scores: dict[str, dict[str, float]] = {}
    averages: dict[tuple[str, str], float] = {}
    if evaluation is None:
        challenge.remarks.append(f"{system}: no published scores of its answers about {prefix}")
    else:
        scores, averages = _evaluation(evaluation, questions)
        if without := len(questions.keys.keys() - scores.keys()):
            challenge.remarks.append(f"{system}: {without} questions of {prefix} have no scores")
    result_file = _beside(path, prefix, _RESULTS)
    results = {} if result_file is None else _result_sets(result_file)
    if result_file is not None and (unknown := results.keys() - questions.keys.keys()):
        raise ImportRefused(f"{result_file}: {min(unknown)} is not one of the questions")
    copied = bool(results) and _is_copy(results, questions.gold, scores)
    if copied:
        challenge.remarks.append(
            f"{system}: the result sets about {prefix} are a copy of those of the reference "
            "queries, and do not give the published scores; they are not imported"
        )
    if missing := len(questions.keys.keys() - answers.keys()):
        challenge.remarks.append(f"{system}: no answer to {missing} questions of {prefix}")
    sources = (path, *(file for file in (evaluation, result_file) if file is not None))
    challenge.systems.append(
        SystemFiles(
            system, questions, answers, scores, averages, {} if copied else results, copied, sources
        )
    )


def _beside(path: Path, prefix: str, endings: Sequence[str]) -> Path | None:
    present = [
        candidate for ending in endings if (candidate := path.with_name(prefix + ending)).is_file()
    ]
    if len(present) > 1:
        raise ImportRefused(f"{present[0]} and {present[1]} are two forms of one file: keep one")
    return present[0] if present else None


def _answers(path: Path, questions: QuestionSet) -> dict[str, Answer]:
    content = json_files.read_json(path)
    if not isinstance(content, list):
        raise ImportRefused(f"{path}: a list of answers was expected")
    known = questions.keys
    answers: dict[str, Answer] = {}
    for number, record in enumerate(content):
        if not isinstance(record, dict):
            raise ImportRefused(f"{path}: answer {number} (from 0) is not an object")
        key = record.get("qname")
        if not isinstance(key, str) or key not in known:
            raise ImportRefused(f"{path}: answer {number} (from 0) names no question ('qname')")
        if key in answers:
            raise ImportRefused(f"{path}: there are two answers to {key}")
        answers[key] = Answer(*(_text(record, name, path, key) for name in _FIELDS))
    return answers


def _text(answer: Mapping[str, Json], name: str, path: Path, key: str) -> str:
    value = answer.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ImportRefused(f"{path}: {key}: '{name}' is not a string")
    return value


def _evaluation(
    path: Path, questions: QuestionSet
) -> tuple[dict[str, dict[str, float]], dict[tuple[str, str], float]]:
    content = json_files.read_json(path)
    if not isinstance(content, dict):
        raise ImportRefused(f"{path}: an object with the scores of each question was expected")
    scores: dict[str, dict[str, float]] = {}
    averages: dict[tuple[str, str], float] = {}
    known = questions.keys
    for key, row in content.items():
        if not isinstance(row, dict):
            raise ImportRefused(f"{path}: {key} has no scores")
        if key.partition("-")[0] == AVERAGE:
            averages |= dict(_averages(path, key, row))
        elif key in known:
            scores[key] = {
                name: share(value, f"{path}: {key}: {name}") for name, value in row.items()
            }
            if unknown := scores[key].keys() - set(SCORES):
                raise ImportRefused(f"{path}: {key}: unknown score '{min(unknown)}'")
        else:
            raise ImportRefused(f"{path}: {key} is not one of the questions")
    return scores, averages


def _averages(
    path: Path, key: str, row: Mapping[str, Json]
) -> Iterator[tuple[tuple[str, str], float]]:
    """Yield the means of a row; the language is in its name (2026) or in those of scores (2025)."""
    row_language = key.partition("-")[2]
    for name, value in row.items():
        match = _LANGUAGE.fullmatch(name)
        if match is None:
            raise ImportRefused(f"{path}: {key}: unknown score '{name}'")
        yield (match[1], match[2] or row_language), share(value, f"{path}: {key}: {name}")


def _result_sets(path: Path) -> dict[str, ResultSet]:
    content = json_files.read_json(path)
    if not isinstance(content, dict):
        raise ImportRefused(f"{path}: an object with a result set for each question was expected")
    result_sets: dict[str, ResultSet] = {}
    for key, values in content.items():
        if key == _ORDER:
            continue  # the question file says it
        if not isinstance(values, dict) or not all(
            type(weight) is int and weight in (0, 1) for weight in values.values()
        ):
            raise ImportRefused(f"{path}: {key}: a result set was expected (value: 0 or 1)")
        result_sets[key] = values
    return result_sets


def _is_copy(
    results: Mapping[str, ResultSet],
    gold: Mapping[str, ResultSet],
    scores: Mapping[str, Mapping[str, float]],
) -> bool:
    """Return whether result sets equal the reference's and contradict the scores of the system.

    If a system answered everything correctly, the published recall of each question that expects
    a value is 1. Without published scores, equal result sets are considered a copy.
    """
    if results != gold:
        return False
    expecting = [key for key, values in gold.items() if any(values.values())]
    if not scores:
        return True
    return any(scores[key].get("set_recall", 1.0) < 1.0 for key in expecting if key in scores)


def _note_others(files: Sequence[Path], folders: set[Path], challenge: Challenge) -> None:
    """Add remarks about files that were not read."""
    pickled = Counter(path.suffix for path in files if path.suffix == ".db")
    if pickled:
        challenge.remarks.append(
            f"{pickled.total()} files *.db were not opened: they hold pickled objects, and the "
            "answers stand in JSON beside them"
        )
    for path in files:
        endings = (*_EVALUATIONS, *_RESULTS)
        if path.parent not in folders and path.name.endswith(endings):
            challenge.remarks.append(
                f"{path.parent.name}: {path.name} has no file of answers beside it"
            )
