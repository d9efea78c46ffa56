# SPDX-License-Identifier: Apache-2.0
"""Measures how well language models work with knowledge graphs and records every step as RDF.

:func:`kgbench.open` opens a store and returns its results, with methods that run benchmarks,
analyse scores and find dialogues. :func:`kgbench.score` judges an answer without a store. The
public names are those in ``__all__``; the page ``python.md`` of the documentation describes them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kgbench.api.dialogues import Dialogues as Dialogues
    from kgbench.api.results import Results as Results
    from kgbench.api.results import open as open  # noqa: A004 - re-exported
    from kgbench.api.runs import Reevaluation as Reevaluation
    from kgbench.api.runs import Run as Run
    from kgbench.errors import KgbenchError as KgbenchError
    from kgbench.model import Case as Case
    from kgbench.model import Dialogue as Dialogue
    from kgbench.model import Outcome as Outcome
    from kgbench.model import Task as Task
    from kgbench.model import Verdict as Verdict
    from kgbench.tables import Table as Table
    from kgbench.testing.scores import Example as Example
    from kgbench.testing.scores import Scored as Scored
    from kgbench.testing.scores import example as example
    from kgbench.testing.scores import score as score

#: Where each public name is defined; a module is imported when one of its names is first used.
_HOMES = {
    "Case": "kgbench.model",
    "Dialogue": "kgbench.model",
    "Dialogues": "kgbench.api.dialogues",
    "Example": "kgbench.testing.scores",
    "KgbenchError": "kgbench.errors",
    "Outcome": "kgbench.model",
    "Reevaluation": "kgbench.api.runs",
    "Results": "kgbench.api.results",
    "Run": "kgbench.api.runs",
    "Scored": "kgbench.testing.scores",
    "Table": "kgbench.tables",
    "Task": "kgbench.model",
    "Verdict": "kgbench.model",
    "example": "kgbench.testing.scores",
    "open": "kgbench.api.results",
    "score": "kgbench.testing.scores",
}

__all__ = [
    "Case",
    "Dialogue",
    "Dialogues",
    "Example",
    "KgbenchError",
    "Outcome",
    "Reevaluation",
    "Results",
    "Run",
    "Scored",
    "Table",
    "Task",
    "Verdict",
    "__version__",
    "example",
    "open",
    "score",
]

__version__ = "1.0.0"


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that importing kgbench is cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kgbench' has no attribute '{name}'")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and the module's other attributes."""
    return sorted({*globals(), *__all__})
