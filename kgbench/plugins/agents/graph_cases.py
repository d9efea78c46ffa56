# SPDX-License-Identifier: Apache-2.0
"""Questions about graphs for tools: those of kgbench, and those of installed data sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kgbench.datasets import installers
from kgbench.model import Json
from kgbench.tasks import bestiary, texts

_HIDDEN: Final = frozenset(("refResultSet", "subGraph"))  # for prompts and scores of other classes


def of(parameters: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the data of the cases about the graph in ``parameters``, the easiest first.

    Raises :class:`~kgbench.errors.TaskError` if the graph belongs to a data set that is not
    installed, or that has no question in the requested language.
    """
    name, language = parameters["graph"], parameters["language"]
    if name in _OWN:
        return _OWN[name]()
    questions = installers.installer(name).questions
    assert questions is not None
    return questions(language)


def _organisation() -> list[dict[str, Json]]:
    graph = texts.shared("organisation", "graph.ttl")
    questions = texts.shared_structure("organisation", "questions.json")
    return [{**question, "graphTurtle": graph} for question in questions]


def _economy() -> list[dict[str, Json]]:
    graph = texts.shared("economy", "graph.ttl")
    return [
        {**_plain(question), "graphTurtle": graph}
        for question in texts.shared_structure("economy", "questions.json")
    ]


def _bestiary() -> list[dict[str, Json]]:
    return [
        {**_plain(question), "graphName": "bestiary", "prefixes": dict(bestiary.PREFIXES)}
        for question in texts.shared_structure("bestiary", "questions.json")
    ]


def _plain(question: Mapping[str, Json]) -> dict[str, Json]:
    return {key: value for key, value in question.items() if key not in _HIDDEN}


_OWN: Final[Mapping[str, Callable[[], list[dict[str, Json]]]]] = {
    "organisation": _organisation,
    "economy": _economy,
    "bestiary": _bestiary,
}
