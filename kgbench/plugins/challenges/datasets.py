# SPDX-License-Identifier: Apache-2.0
"""The data sets of challenges, as entry points of ``kgbench.datasets`` name them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from kgbench.api import Installer, Json


def _installing(module: str) -> Callable[..., Any]:
    """Return the function ``install`` of a module that is imported when it is called."""

    def install(*arguments: object) -> Any:
        return import_module(f"kgbench.plugins.challenges.{module}").install(*arguments)

    return install


def _text2sparql(name: str, *, graph: bool) -> Installer:
    def questions(language: str) -> list[dict[str, Json]]:
        from kgbench.plugins.challenges import question_files

        found = question_files.installed(name)
        return [found.data(question, language) for question in found.asked_in(language)]

    return Installer(
        ("Text2SparqlQuestions", f"{name}.sha256"),
        _installing("question_sets"),
        questions if graph else None,
        may_differ=True,
    )


CK25 = _text2sparql("ck25", graph=True)
CK26 = _text2sparql("ck26", graph=True)
DB25 = _text2sparql("db25", graph=False)
RDF_TESTS = Installer(("W3cRdf12", "files.sha256"), _installing("w3c_tests"))
BLINKG = Installer(("BlinkgMappings", "files.sha256"), _installing("blinkg"))
