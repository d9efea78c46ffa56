# SPDX-License-Identifier: Apache-2.0
"""The engines that parse documents and run queries for judges, by name."""

from __future__ import annotations

from kgbench.errors import EvaluationError
from kgbench.execution.graphs import InstalledGraphs
from kgbench.model import Executor

ENGINES = {"oxigraph": "pyoxigraph", "rdflib": "rdflib"}


def engine(name: str, installed: InstalledGraphs | None = None) -> Executor:
    """Return the engine called ``name`` (one of :data:`ENGINES`) for the graphs in ``installed``.

    It runs in this process without limits; answers of models must go through
    :func:`kgbench.execution.judging.judge_batch`.
    """
    _package(name)
    if name == "rdflib":
        from kgbench.execution.rdflib_engine import RdflibExecutor

        return RdflibExecutor(installed)
    from kgbench.execution.oxigraph import OxigraphExecutor

    return OxigraphExecutor(installed)


def engine_label(name: str) -> str:
    """Return name and version of an engine as recorded, for example ``oxigraph 0.5.13``."""
    from importlib import metadata

    return f"{name} {metadata.version(_package(name))}"


def _package(name: str) -> str:
    try:
        return ENGINES[name]
    except KeyError:
        raise EvaluationError(
            f"there is no engine '{name}': choose {' or '.join(ENGINES)}"
        ) from None
