# SPDX-License-Identifier: Apache-2.0
"""What packages of others import: names by purpose, each loaded when it is first used.

Modules of this package hold the results in a store as an object (:func:`kgbench.open`).
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

#: The places of the names by purpose, as ``module`` or, under another name, ``module:name``.
PURPOSES: Final[Mapping[str, Mapping[str, str]]] = {
    "results and runs": {
        "Dialogue": "kgbench.model",
        "Dialogues": "kgbench.api.dialogues",
        "Reevaluation": "kgbench.api.runs",
        "Results": "kgbench.api.results",
        "Run": "kgbench.api.runs",
        "open": "kgbench.api.results",
    },
    "families": {
        "DocumentFamily": "kgbench.families.frame",
        "DrawnFamily": "kgbench.families.frame",
        "Family": "kgbench.families.frame",
        "Feedback": "kgbench.families.frame",
        "JsonFamily": "kgbench.families.json_ld",
        "ListedFamily": "kgbench.families.frame",
        "QueryFamily": "kgbench.families.queries",
        "QueryFixFamily": "kgbench.families.queries",
        "Score": "kgbench.families.frame",
        "TurtleFamily": "kgbench.families.frame",
        "Unreadable": "kgbench.families.frame",
        "Vocabulary": "kgbench.families.queries",
    },
    "what judges take and return": {
        "Case": "kgbench.model",
        "Executor": "kgbench.model",
        "Json": "kgbench.model",
        "Outcome": "kgbench.model",
        "ParsedGraph": "kgbench.model",
        "QueryResult": "kgbench.model",
        "Task": "kgbench.model",
        "Verdict": "kgbench.model",
        "make_case": "kgbench.tasks.catalogue",
        "make_task": "kgbench.tasks.catalogue",
        "outcome": "kgbench.families.frame",
    },
    "comparing": {
        "Agreement": "kgbench.scoring.agreement",
        "agreement": "kgbench.scoring.agreement",
        "compare": "kgbench.families.comparing",
        "compare_graphs": "kgbench.scoring.graphs",
        "compare_sets": "kgbench.scoring.agreement",
        "fenced_blocks": "kgbench.scoring.fences",
        "policy": "kgbench.policies.policy",
        "quoted": "kgbench.families.comparing",
        "similarity": "kgbench.scoring.similarity:ratio",
    },
    "drawing": {
        "Chance": "kgbench.worlds.naming",
        "LevelSheet": "kgbench.worlds.drawing",
        "Sheet": "kgbench.worlds.drawing",
        "first_drawn": "kgbench.worlds.drawing",
    },
    "tests": {
        "Example": "kgbench.testing.scores",
        "PlainExecutor": "kgbench.testing.executor",
        "Scored": "kgbench.testing.scores",
        "check_task_class": "kgbench.testing.contract",
        "example": "kgbench.testing.scores",
        "hostile_answers": "kgbench.testing.hostile:answers",
        "score": "kgbench.testing.scores",
    },
    "connectors": {
        "ModelSetup": "kgbench.model",
        "Option": "kgbench.connectors.options",
        "Reply": "kgbench.model",
        "Request": "kgbench.model",
        "Tool": "kgbench.tool_calls",
        "ToolCall": "kgbench.tool_calls",
        "ToolResult": "kgbench.tool_calls",
        "Usage": "kgbench.model",
        "read_options": "kgbench.connectors.options:read",
    },
    "data sets": {
        "Installer": "kgbench.datasets.installers",
    },
    "importers": {
        "ImportedRun": "kgbench.importers.llm_kg_bench",
        "PublishedRun": "kgbench.importers.published_runs",
        "published_model": "kgbench.importers.published_runs",
    },
    "analyses and tables": {
        "AnalysisEntry": "kgbench.analysis.registry:Entry",
        "Column": "kgbench.tables",
        "FigureKind": "kgbench.plots.figures",
        "Kind": "kgbench.tables",
        "Purpose": "kgbench.analysis.registry",
        "Ref": "kgbench.tables",
        "Table": "kgbench.tables",
        "analysis": "kgbench.analysis.registry",
        "model_names": "kgbench.scores.catalogue:models",
        "run_query": "kgbench.rdf.queries:run",
    },
    "commands and exports": {
        "ExportFile": "kgbench.cli.export_options:Out",
        "ExportRun": "kgbench.cli.export_options:Run",
        "ExportSource": "kgbench.cli.export_options:Source",
        "StoreOption": "kgbench.cli.options:Store",
        "grouped": "kgbench.cli.option_groups",
        "write_export": "kgbench.cli.export_options:write",
    },
    "errors": {
        "ConfigurationError": "kgbench.errors",
        "ContextTooLong": "kgbench.errors",
        "EvaluationError": "kgbench.errors",
        "ImportRefused": "kgbench.errors",
        "KgbenchError": "kgbench.errors",
        "ModelSpecError": "kgbench.errors",
        "ProviderError": "kgbench.errors",
        "ProviderRefused": "kgbench.errors",
        "ProviderTimeout": "kgbench.errors",
        "QueryError": "kgbench.errors",
        "RateLimited": "kgbench.errors",
        "ResourceError": "kgbench.errors",
        "StoreError": "kgbench.errors",
        "TaskError": "kgbench.errors",
    },
}

_PLACES = {name: place for names in PURPOSES.values() for name, place in names.items()}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - strings, known when the module is imported


def __getattr__(name: str) -> Any:
    """Import a name on first use, so that a connector does not load the analyses."""
    if name not in _PLACES:
        raise AttributeError(f"module 'kgbench.api' has no attribute '{name}'")
    module, _, attribute = _PLACES[name].partition(":")
    value = getattr(import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and the module's other attributes."""
    return sorted({*globals(), *__all__})
