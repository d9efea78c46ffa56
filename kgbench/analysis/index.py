# SPDX-License-Identifier: Apache-2.0
"""The index of analyses: where each is declared, and what lists say about it.

Lists of commands and figures need no analysis; the module of one is imported when it is used. A
test compares the index with the declarations. Analyses are in the order in which lists show them.
A plug-in lists its analyses in the same way, and names the list in an entry point of the group
``kgbench.analyses``.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from kgbench import entry_points
from kgbench.analysis.registry import Analysis, Entry, Purpose

GROUP = "kgbench.analyses"  # of entry points


_OWN: Mapping[str, Entry] = {
    "leaderboard": Entry(
        "kgbench.analysis.leaderboard:leaderboard",
        Purpose.LOOK,
        "Rank models by one combined score.",
        "kgbench.plots.standings:STANDINGS",
    ),
    "tasks": Entry(
        "kgbench.analysis.task_scores:tasks",
        Purpose.LOOK,
        "Show the distribution of a score for every task and model, with errors.",
    ),
    "compass": Entry(
        "kgbench.analysis.compass:compass",
        Purpose.LOOK,
        "Show how well each model does on declared capabilities.",
        "kgbench.plots.compasses:COMPASS",
    ),
    "outcomes": Entry(
        "kgbench.analysis.outcomes:outcomes",
        Purpose.LOOK,
        "Show the rate of each outcome of answers, for every task and model.",
    ),
    "pairs": Entry(
        "kgbench.analysis.pairs:pairs",
        Purpose.COMPARE,
        "Compare every two models with independent dialogues and with cases as clusters.",
    ),
    "contamination": Entry(
        "kgbench.analysis.contamination:contamination",
        Purpose.COMPARE,
        "Compare scores on published cases with those on generated twins under new names.",
    ),
    "policies": Entry(
        "kgbench.analysis.policies:policies",
        Purpose.COMPARE,
        "Compare the means and ranks that the same answers get under several comparison policies.",
    ),
    "difficulty": Entry(
        "kgbench.analysis.difficulty:difficulty",
        Purpose.COMPARE,
        "Show a score against the level of difficulty of tasks, by family, with 95 % intervals.",
        "kgbench.plots.size_curves:DIFFICULTY",
    ),
    "format-preference": Entry(
        "kgbench.analysis.format_preference:format_preference",
        Purpose.COMPARE,
        "Test which graph format each model reads better (t-tests).",
        "kgbench.plots.preference_maps:PREFERENCES",
    ),
    "sizes": Entry(
        "kgbench.analysis.difficulty:sizes",
        Purpose.COMPARE,
        "Show a score against problem size, with 95 % intervals.",
        "kgbench.plots.size_curves:SIZES",
    ),
    "dialogue": Entry(
        "kgbench.analysis.feedback:feedback",
        Purpose.COMPARE,
        "Compare the first answer of each dialogue with its best answer after feedback.",
    ),
    "reliability": Entry(
        "kgbench.analysis.reliability:reliability",
        Purpose.UNDERSTAND,
        "Measure how reliably models solve cases: pass@k, pass^k and agreement of repetitions.",
    ),
    "items": Entry(
        "kgbench.analysis.items:items",
        Purpose.UNDERSTAND,
        "Find suspect cases: harder for better models, solved by no model, or solved by every model.",  # noqa: E501
    ),
    "references": Entry(
        "kgbench.analysis.policies:references",
        Purpose.UNDERSTAND,
        "List cases whose reference query becomes doubtful on variants of the graph.",
    ),
    "tools": Entry(
        "kgbench.analysis.tool_usage:tools",
        Purpose.UNDERSTAND,
        "Show which tools models called, the outcomes of the calls, and the cost of success.",
        "kgbench.plots.tool_points:TOOLS",
    ),
}


def _plugins() -> Iterator[tuple[str, Entry]]:
    """Yield the entries of plug-ins; an index that cannot be used is named, and spoils no other."""
    for name in entry_points.names(GROUP):
        try:
            entries = dict(entry_points.load(GROUP, name))
        except Exception as error:  # noqa: BLE001 - the code of others may raise anything
            entries = {}
            _warn(name, str(error))
        if clashing := entries.keys() & _OWN.keys():
            _warn(name, f"kgbench has an analysis called {', '.join(sorted(clashing))}")
        yield from ((each, entry) for each, entry in entries.items() if each not in clashing)


def _warn(name: str, reason: str) -> None:
    place = entry_points.origin(GROUP, name)
    warnings.warn(f"analyses of {place} cannot be used: {reason}", stacklevel=2)


_ORDER = list(Purpose)
INDEX: Mapping[str, Entry] = dict(
    sorted(
        {**_OWN, **dict(_plugins())}.items(), key=lambda each: list(Purpose).index(each[1].group)
    )
)
"""The analyses by name: kgbench's own, and those that the entry points of :data:`GROUP` list."""

FIGURES: Mapping[str, str] = dict(
    sorted(
        {
            "boxplot": "kgbench.plots.box_plots:BOXES",  # of values, which are no analysis
            **{name: entry.figure for name, entry in INDEX.items() if entry.figure},
        }.items()
    )
)
"""The kinds of figures by name, as ``module:name``."""


class Analyses(Mapping[str, Analysis[...]]):
    """All analyses by name, in the order of the index; each is imported when it is looked up."""

    def __getitem__(self, name: str) -> Analysis[...]:
        """Return the analysis ``name``; raises :class:`KeyError` if there is none."""
        found = resolve(INDEX[name].target)
        assert isinstance(found, Analysis)
        return found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names."""
        return iter(INDEX)

    def __len__(self) -> int:
        """Return the number of analyses."""
        return len(INDEX)


ANALYSES = Analyses()


def resolve(target: str) -> Any:
    """Import what ``module:name`` stands for."""
    module, _, name = target.partition(":")
    return getattr(import_module(module), name)
