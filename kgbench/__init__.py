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
    from kgbench.api import Case as Case
    from kgbench.api import Dialogue as Dialogue
    from kgbench.api import Dialogues as Dialogues
    from kgbench.api import Example as Example
    from kgbench.api import KgbenchError as KgbenchError
    from kgbench.api import Outcome as Outcome
    from kgbench.api import Reevaluation as Reevaluation
    from kgbench.api import Results as Results
    from kgbench.api import Run as Run
    from kgbench.api import Scored as Scored
    from kgbench.api import Table as Table
    from kgbench.api import Task as Task
    from kgbench.api import Verdict as Verdict
    from kgbench.api import example as example
    from kgbench.api import open as open  # noqa: A004 - re-exported
    from kgbench.api import score as score

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
    if name not in __all__:
        raise AttributeError(f"module 'kgbench' has no attribute '{name}'")
    value = getattr(import_module("kgbench.api"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names and the module's other attributes."""
    return sorted({*globals(), *__all__})
