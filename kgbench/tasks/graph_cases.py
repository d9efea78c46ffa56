# SPDX-License-Identifier: Apache-2.0
"""Questions about graphs for tools: those of kgbench, and those of installed data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kgbench.datasets import text2sparql
from kgbench.errors import TaskError
from kgbench.model import Json
from kgbench.tasks import bestiary, own_cases, texts

_HIDDEN: Final = frozenset(("refResultSet", "subGraph"))  # for prompts and scores of other classes


def of(parameters: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the data of the cases about the graph in ``parameters``, the easiest first.

    Raises :class:`~kgbench.errors.TaskError` if the graph belongs to a data set that is not
    installed, or that has no question in the requested language.
    """
    return _SOURCES[parameters["graph"]](parameters["language"])


def _organisation(language: str) -> list[dict[str, Json]]:  # noqa: ARG001 - there is one
    return own_cases.organizational({})


def _economy(language: str) -> list[dict[str, Json]]:  # noqa: ARG001 - there is one
    graph = texts.shared("economy", "graph.ttl")
    return [
        {**_plain(question), "graphTurtle": graph}
        for question in texts.shared_structure("economy", "questions.json")
    ]


def _bestiary(language: str) -> list[dict[str, Json]]:  # noqa: ARG001 - there is one
    return [
        {**_plain(question), "graphName": "bestiary", "prefixes": dict(bestiary.PREFIXES)}
        for question in texts.shared_structure("bestiary", "questions.json")
    ]


def _text2sparql(name: str, language: str) -> list[dict[str, Json]]:
    questions = text2sparql.installed(name)
    fitting = [question for question in questions.questions if language in question.texts]
    if not fitting:
        languages = ", ".join(questions.languages)
        raise TaskError(f"{name} has no question in '{language}' (but {languages})")
    return [
        {
            "uid": questions.key(question, language),
            "question": question.texts[language],
            "refSparql": question.query,
            "ordered": question.is_ordered,
            "graphName": name,
        }
        for question in fitting
    ]


def _plain(question: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in question.items() if key not in _HIDDEN}


_SOURCES: Final[Mapping[str, Callable[[str], list[dict[str, Json]]]]] = {
    "organisation": _organisation,
    "economy": _economy,
    "bestiary": _bestiary,
    **{name: partial(_text2sparql, name) for name in text2sparql.WITH_GRAPH},
}
