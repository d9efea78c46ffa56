# SPDX-License-Identifier: Apache-2.0
"""The published files of the TEXT2SPARQL challenge: questions, answers, scores, result sets.

The editions of 2025 and 2026 name their folders and files differently, so files are found by their
names wherever they lie: a folder with ``PREFIX_answers.json`` is that of a system. Only YAML and
JSON are read. Files ``*.db`` hold pickled objects, which can run code when they are read: they are
counted and never opened.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from kgbench.datasets import home, lines, text2sparql
from kgbench.datasets.text2sparql import Question, QuestionFile
from kgbench.errors import ImportRefused
from kgbench.model import Json

AVERAGE: Final = "average"
SCORES: Final = ("set_P", "set_recall", "set_F", "ndcg")
"""The names of published scores of one answer; of averages there is ``set_F_ndcg``, too."""

_ANSWERS: Final = "_answers.json"
_EVALUATIONS: Final = ("_eval.json", "_results.json")
_RESULTS: Final = ("_system_result_set.json", "_pred_result_set.json")
_GOLD: Final = "_true_result_set.json"
_FIELDS: Final = ("question", "query", "dataset", "endpoint")  # of an answer
_ORDER: Final = "order_required"  # a key of result-set files that names no question
_QUESTIONS: Final = re.compile(r"^dataset:", re.MULTILINE), re.compile(r"^questions:", re.MULTILINE)
_LANGUAGE: Final = re.compile(r"(set_P|set_recall|set_F|ndcg|set_F_ndcg)(?:-([A-Za-z-]+))?")

ResultSet = Mapping[str, int]
"""The values of a result with the weight 1; of an ASK the value ``true`` with the weight 1 or 0."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a system answered; ``dataset`` is what its endpoint said it was asked about."""

    question: str
    query: str
    dataset: str
    endpoint: str


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions, and the published result sets of their reference queries, by key."""

    file: QuestionFile
    gold: Mapping[str, ResultSet]
    sources: tuple[Path, ...]

    @property
    def keys(self) -> dict[str, tuple[Question, str]]:
        """Each question and language by its key."""
        return {
            self.file.key(question, language): (question, language)
            for question in self.file.questions
            for language in question.texts
        }


@dataclass(frozen=True, slots=True)
class SystemFiles:
    """What is published of one system about one set of questions, by key.

    ``averages`` maps (score, language or "") to the published mean. ``copied`` says that the file
    of result sets is a copy of the reference's: it does not give the published scores.
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
        """The SHA-256 (hex) of all files that the import of this system reads."""
        parts = [*self.questions.sources, *self.sources]
        return hashlib.sha256(b"".join(lines.digest(path) for path in parts)).hexdigest()


@dataclass(slots=True)
class Challenge:
    """All that a folder holds; ``remarks`` say in words what was not imported, and why."""

    systems: list[SystemFiles] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def read(root: Path) -> Challenge:
    """Read and check everything below ``root``.

    Raises :class:`~kgbench.errors.ImportRefused` for the first file that is not as it should be,
    and where there is no answer of any system.
    """
    if not root.is_dir():
        raise ImportRefused(f"{root} is not a folder: give the folder 'docs' of the challenge")
    files = sorted(path for path in root.rglob("*") if path.is_file())
    found = Challenge()
    answers = [path for path in files if path.name.endswith(_ANSWERS)]
    if not answers:
        raise ImportRefused(f"{root} has no file *{_ANSWERS}: no system has answered anything")
    prefixes = sorted({path.name.removesuffix(_ANSWERS) for path in answers})
    sets = {prefix: _question_set(root, prefix, files, found) for prefix in prefixes}
    for path in answers:
        _system(path, sets[path.name.removesuffix(_ANSWERS)], found)
    _note_others(files, {path.parent for path in answers}, found)
    return found


def _question_set(root: Path, prefix: str, files: Sequence[Path], found: Challenge) -> QuestionSet:
    path, questions = _questions(root, prefix, files)
    found.remarks += questions.remarks
    gold: dict[str, ResultSet] = {}
    sources = [path]
    there = [one for one in files if one.name == f"{prefix}{_GOLD}"]
    if len({lines.digest(one) for one in there}) > 1:
        raise ImportRefused(f"{root} has files {prefix}{_GOLD} with different content: keep one")
    if there:
        sources.append(there[0])
        gold = _result_sets(there[0])
        found.remarks += _order_remarks(there[0], questions)
    else:
        found.remarks.append(f"{prefix}: no result sets of reference queries ({prefix}{_GOLD})")
    whole = QuestionSet(questions, gold, tuple(sources))
    if unknown := gold.keys() - whole.keys.keys():
        raise ImportRefused(f"{there[0]}: {min(unknown)} is none of the questions in {path}")
    return whole


def _questions(root: Path, prefix: str, files: Sequence[Path]) -> tuple[Path, QuestionFile]:
    """The questions with a prefix: in the folder, beside it, or from the installed data set."""
    beside = [*root.parent.glob("*.y*ml"), *(root.parent / prefix).glob("*.y*ml")]
    for group in (files, sorted(beside)):
        candidates = [path for path in group if path.suffix in (".yml", ".yaml")]
        named = [(path, text2sparql.read(path)) for path in candidates if _is_questions(path)]
        fitting = [(path, one) for path, one in named if one.prefix == prefix]
        if len({(one.dataset, str(one.questions)) for _, one in fitting}) > 1:
            places = " and ".join(str(path) for path, _ in fitting)
            raise ImportRefused(f"the questions of {prefix} differ in {places}: keep one file")
        if fitting:
            return fitting[0]
    if home.record(prefix) is not None:
        return home.place(prefix) / text2sparql.QUESTIONS, text2sparql.installed(prefix)
    raise ImportRefused(
        f"{root} has answers about {prefix} and no file with its questions: put that file beside "
        f"it, or run 'kgbench datasets install {prefix} --from PATH'"
    )


def _is_questions(path: Path) -> bool:
    """Whether a YAML file looks like one of questions; others describe the site or its systems."""
    try:
        text = path.read_bytes()[: 1 << 16].decode("utf-8", "replace")
    except OSError as error:
        raise ImportRefused(f"{path} cannot be read: {error.strerror or error}") from error
    return all(form.search(text) for form in _QUESTIONS)


def _system(path: Path, questions: QuestionSet, found: Challenge) -> None:
    prefix, system = questions.file.prefix, path.parent.name
    answers = _answers(path, questions)
    evaluation = _beside(path, prefix, _EVALUATIONS)
    if not answers and evaluation is None:
        found.remarks.append(f"{system}: no answer about {prefix}, and no published score")
        return
    scores: dict[str, dict[str, float]] = {}
    averages: dict[tuple[str, str], float] = {}
    if evaluation is None:
        found.remarks.append(f"{system}: no published scores of its answers about {prefix}")
    else:
        scores, averages = _evaluation(evaluation, questions)
        if without := len(questions.keys.keys() - scores.keys()):
            found.remarks.append(f"{system}: {without} questions of {prefix} have no scores")
    result_file = _beside(path, prefix, _RESULTS)
    results = {} if result_file is None else _result_sets(result_file)
    if result_file is not None and (unknown := results.keys() - questions.keys.keys()):
        raise ImportRefused(f"{result_file}: {min(unknown)} is none of the questions")
    copied = bool(results) and _is_copy(results, questions.gold, scores)
    if copied:
        found.remarks.append(
            f"{system}: the result sets about {prefix} are a copy of those of the reference "
            "queries, and do not give the published scores; they are not imported"
        )
    if missing := len(questions.keys.keys() - answers.keys()):
        found.remarks.append(f"{system}: no answer to {missing} questions of {prefix}")
    sources = (path, *(one for one in (evaluation, result_file) if one is not None))
    found.systems.append(
        SystemFiles(
            system, questions, answers, scores, averages, {} if copied else results, copied, sources
        )
    )


def _beside(path: Path, prefix: str, endings: Sequence[str]) -> Path | None:
    there = [one for ending in endings if (one := path.with_name(prefix + ending)).is_file()]
    if len(there) > 1:
        raise ImportRefused(f"{there[0]} and {there[1]} are two forms of one file: keep one")
    return there[0] if there else None


def _answers(path: Path, questions: QuestionSet) -> dict[str, Answer]:
    content = lines.structure(path)
    if not isinstance(content, list):
        raise ImportRefused(f"{path}: a list of answers was expected")
    known = questions.keys
    found: dict[str, Answer] = {}
    for number, each in enumerate(content):
        if not isinstance(each, dict):
            raise ImportRefused(f"{path}: answer {number} (from 0) is not an object")
        key = each.get("qname")
        if not isinstance(key, str) or key not in known:
            raise ImportRefused(f"{path}: answer {number} (from 0) names no question ('qname')")
        if key in found:
            raise ImportRefused(f"{path}: there are two answers to {key}")
        found[key] = Answer(*(_text(each, name, path, key) for name in _FIELDS))
    return found


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
    content = lines.structure(path)
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
            scores[key] = {name: _number(path, key, name, row) for name in row}
            if unknown := scores[key].keys() - set(SCORES):
                raise ImportRefused(f"{path}: {key}: nothing is known of a score '{min(unknown)}'")
        else:
            raise ImportRefused(f"{path}: {key} is none of the questions")
    return scores, averages


def _averages(
    path: Path, key: str, row: Mapping[str, Json]
) -> Iterator[tuple[tuple[str, str], float]]:
    """The means of a row: languages stand in its name (2026), or in those of scores (2025)."""
    of_row = key.partition("-")[2]
    for name in row:
        match = _LANGUAGE.fullmatch(name)
        if match is None:
            raise ImportRefused(f"{path}: {key}: nothing is known of a score '{name}'")
        yield (match[1], match[2] or of_row), _number(path, key, name, row)


def _number(path: Path, key: str, name: str, row: Mapping[str, Json]) -> float:
    value = row[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ImportRefused(f"{path}: {key}: {name} is not a number")
    if not math.isfinite(value) or not 0 <= value <= 1:
        raise ImportRefused(f"{path}: {key}: {name} is {value!r}, but lies between 0 and 1")
    return float(value)


def _result_sets(path: Path) -> dict[str, ResultSet]:
    content = lines.structure(path)
    if not isinstance(content, dict):
        raise ImportRefused(f"{path}: an object with a result set for each question was expected")
    found: dict[str, ResultSet] = {}
    for key, values in content.items():
        if key == _ORDER:
            continue  # see _order_remarks
        if not isinstance(values, dict) or not all(
            type(weight) is int and weight in (0, 1) for weight in values.values()
        ):
            raise ImportRefused(f"{path}: {key}: a result set was expected (value: 0 or 1)")
        found[key] = values
    return found


def _order_remarks(path: Path, questions: QuestionFile) -> list[str]:
    """What a result-set file says of the order of results, where the question file differs."""
    listed = lines.structure(path).get(_ORDER)
    if listed is None:
        return []
    known = {
        questions.key(question, language)
        for question in questions.questions
        for language in question.texts
        if question.is_ordered
    }
    if not isinstance(listed, list) or {str(one) for one in listed} == known:
        return []
    said = f"{path.name} lists other questions whose order matters than the question file does"
    return [f"{said}; the question file counts"]


def _is_copy(
    results: Mapping[str, ResultSet],
    gold: Mapping[str, ResultSet],
    scores: Mapping[str, Mapping[str, float]],
) -> bool:
    """Whether result sets are those of the reference and contradict the scores of the system.

    A system may have answered everything rightly; then the published recall of each question that
    expects a value is 1. Without published scores equal result sets are taken for a copy.
    """
    if results != gold:
        return False
    expecting = [key for key, values in gold.items() if any(values.values())]
    if not scores:
        return True
    return any(scores[key].get("set_recall", 1.0) < 1.0 for key in expecting if key in scores)


def _note_others(files: Sequence[Path], folders: set[Path], found: Challenge) -> None:
    """Say which files were not read."""
    pickled = Counter(path.suffix for path in files if path.suffix == ".db")
    if pickled:
        found.remarks.append(
            f"{pickled.total()} files *.db were not opened: they hold pickled objects, and the "
            "answers stand in JSON beside them"
        )
    for path in files:
        endings = (*_EVALUATIONS, *_RESULTS)
        if path.parent not in folders and path.name.endswith(endings):
            found.remarks.append(
                f"{path.parent.name}: {path.name} has no file of answers beside it"
            )
