# SPDX-License-Identifier: Apache-2.0
"""The question files of TEXT2SPARQL: questions in several languages with reference queries.

The layout is that of the challenge's editions of 2025 and 2026. Published files repeat keys (the
first CK25 file had ``prefix`` twice): the last value is used, and a remark names the key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from kgbench.api import ConfigurationError, ImportRefused, Json, TaskError
from kgbench.config import trees
from kgbench.datasets import home, json_files

NAMES: Final = ("ck25", "ck26", "db25")
"""The data sets of this layout that kgbench can install."""
WITH_GRAPH: Final = ("ck25", "ck26")
"""The data sets whose graph is installed, too; it has the name of the data set."""
QUESTIONS: Final = "questions.yml"

_ORDERED: Final = "RESULT_ORDER_MATTERS"
_PREFIX: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
_ID: Final = re.compile(r"[A-Za-z0-9._-]+")
_LANGUAGE: Final = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*")
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\s<>\"{}|\\^`]+")
_YEAR: Final = re.compile(r"/(20\d\d)/")
_MOST: Final = 1 << 22  # characters of a question file; the largest published one has 120,000


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its texts by language, its reference query and its features."""

    id: str
    texts: Mapping[str, str]
    query: str
    features: tuple[str, ...] = ()

    @property
    def is_ordered(self) -> bool:
        """Whether the order of the result matters."""
        return _ORDERED in self.features


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions about one data set.

    ``dataset`` is the IRI of the data set in requests to systems; ``prefix`` is the short name with
    which keys of questions begin. ``remarks`` describe accepted irregularities of the file.
    """

    dataset: str
    prefix: str
    questions: tuple[Question, ...]
    remarks: tuple[str, ...] = ()

    def key(self, question: Question, language: str) -> str:
        """Return the published key of a question in one language, such as ``ck25:1-en``."""
        return f"{self.prefix}:{question.id}-{language}"

    def asked_in(self, language: str) -> list[Question]:
        """Return the questions in a language.

        Raises :class:`~kgbench.errors.TaskError` if there are none.
        """
        fitting = [question for question in self.questions if language in question.texts]
        if not fitting:
            languages = ", ".join(self.languages)
            raise TaskError(f"{self.prefix} has no question in '{language}' (but {languages})")
        return fitting

    def data(self, question: Question, language: str) -> dict[str, Json]:
        """Return the data of the case of a question, with the data set as its graph."""
        return {
            "uid": self.key(question, language),
            "question": question.texts[language],
            "refSparql": question.query,
            "ordered": question.is_ordered,
            "graphName": self.prefix,
        }

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages of the questions, in the order of the file."""
        return tuple(
            dict.fromkeys(language for question in self.questions for language in question.texts)
        )

    @property
    def year(self) -> int | None:
        """The year of the challenge's edition, from the IRI of the data set, or ``None``."""
        match = _YEAR.search(self.dataset)
        return None if match is None else int(match[1])


def read(path: Path) -> QuestionFile:
    """Read a question file.

    Raises :class:`~kgbench.errors.ImportRefused`, with the question, if it does not have the
    expected layout.
    """
    return parse(json_files.read_text(path), str(path))


def parse(text: str, name: str) -> QuestionFile:
    """Parse the text of the question file called ``name``; raises like :func:`read`."""
    if len(text) > _MOST:
        raise ImportRefused(f"{name} has more than {_MOST} characters: this is not a question file")
    try:
        tree = trees.read(name, text)
    except ConfigurationError as error:
        raise ImportRefused(f"{name}: not YAML: {error.findings[0].message}") from None
    content, reader = tree.value, _Reader(name)
    dataset = reader.mapping(content, "dataset")
    questions = []
    for number, value in enumerate(reader.sequence(content, "questions")):
        questions.append(reader.question(value, number))
    keys = [question.id for question in questions]
    for key in keys:
        if keys.count(key) > 1:
            raise ImportRefused(f"{name}: two questions have the id {key}")
    return QuestionFile(
        reader.matching(dataset, "id", _IRI, "the IRI of the data set"),
        reader.matching(dataset, "prefix", _PREFIX, "the prefix of keys"),
        tuple(questions),
        tuple(
            f"{Path(name).name}, line {finding.line}: "
            + finding.message.replace("given twice", "repeated, which YAML forbids")
            + "; its last value counts"
            for finding in tree.findings
        ),
    )


def installed(name: str) -> QuestionFile:
    """Read the questions of the installed data set ``name``.

    Raises :class:`~kgbench.errors.TaskError` if it is not installed.
    """
    return _installed(home.require_folder(name) / QUESTIONS)


@cache
def _installed(path: Path) -> QuestionFile:
    return read(path)


class _Reader:
    """Reads questions from the content of a YAML file; errors name the file."""

    def __init__(self, name: str) -> None:
        self._name = name

    def question(self, content: Json, number: int) -> Question:
        where = f"question {number + 1}"
        if not isinstance(content, Mapping):
            raise self._refused(f"{where} is not a mapping")
        key = self.matching(content, "id", _ID, f"the id of {where}")
        where = f"question {key}"
        texts = self.mapping(content, "question", where)
        if not texts:
            raise self._refused(f"{where} has no text in any language")
        for language, text in texts.items():
            if _LANGUAGE.fullmatch(language) is None:
                raise self._refused(f"{where}: '{language[:40]}' is not a language tag")
            if not isinstance(text, str) or not text.strip():
                raise self._refused(f"{where}: the text in '{language}' is empty or not a string")
        query = self.mapping(content, "query", where).get("sparql")
        if not isinstance(query, str) or not query.strip():
            raise self._refused(f"{where} has no reference query (query: sparql:)")
        features = content.get("features") or []
        if not isinstance(features, list) or not all(
            isinstance(feature, str) for feature in features
        ):
            raise self._refused(f"{where}: the features are not a list of texts")
        return Question(key, dict(texts), query, tuple(features))

    def mapping(self, content: Json, key: str, place: str = "the file") -> Mapping[str, Json]:
        value = content.get(key) if isinstance(content, Mapping) else None
        if not isinstance(value, Mapping):
            raise self._refused(f"{place} has no mapping '{key}'")
        return value

    def sequence(self, content: Json, key: str) -> list[Json]:
        value = content.get(key) if isinstance(content, Mapping) else None
        if not isinstance(value, list) or not value:
            raise self._refused(f"the file has no list '{key}'")
        return value

    def matching(
        self, content: Mapping[str, Json], key: str, form: re.Pattern[str], label: str
    ) -> str:
        value = content.get(key)
        value = str(value) if isinstance(value, int) else value
        if not isinstance(value, str) or form.fullmatch(value) is None:
            raise self._refused(f"{label} ('{key}') is missing or cannot be used")
        return value

    def _refused(self, reason: str) -> ImportRefused:
        return ImportRefused(f"{self._name}: {reason}: this is not a question file of TEXT2SPARQL")
