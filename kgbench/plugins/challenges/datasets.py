# SPDX-License-Identifier: Apache-2.0
"""The data sets of challenges, as entry points of ``kgbench.datasets`` name them."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgbench.datasets.installers import Installer
from kgbench.errors import TaskError
from kgbench.model import Json

if TYPE_CHECKING:
    from kgbench.datasets.descriptions import Description
    from kgbench.datasets.install import InstallationResult
    from kgbench.net.limits import Budget


def _install_questions(
    description: Description,
    copy: str | None,
    budget: Budget | None,
    unverified: bool,
) -> InstallationResult:
    from kgbench.plugins.challenges import question_sets

    return question_sets.install(description, copy, budget, unverified=unverified)


def _install_w3c(description: Description, copy: str | None, *_: Any) -> InstallationResult:
    from kgbench.plugins.challenges import w3c_tests

    return w3c_tests.install(description, None if copy is None else Path(copy))


def _install_blinkg(description: Description, copy: str | None, *_: Any) -> InstallationResult:
    from kgbench.plugins.challenges import blinkg

    return blinkg.install(description, None if copy is None else Path(copy))


def _questions(name: str, language: str) -> list[dict[str, Json]]:
    """Return the data of cases about the graph of a TEXT2SPARQL data set.

    Raises :class:`~kgbench.errors.TaskError` if it is not installed, or has no question in the
    language.
    """
    from kgbench.plugins.challenges import question_files

    questions = question_files.installed(name)
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


def _text2sparql(name: str, *, graph: bool) -> Installer:
    return Installer(
        ("Text2SparqlQuestions", f"{name}.sha256"),
        _install_questions,
        partial(_questions, name) if graph else None,
        may_differ=True,
    )


CK25 = _text2sparql("ck25", graph=True)
CK26 = _text2sparql("ck26", graph=True)
DB25 = _text2sparql("db25", graph=False)
RDF_TESTS = Installer(("W3cRdf12", "files.sha256"), _install_w3c)
BLINKG = Installer(("BlinkgMappings", "files.sha256"), _install_blinkg)
