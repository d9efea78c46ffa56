# SPDX-License-Identifier: Apache-2.0
"""The reference pages, made from what is declared; none of them is kept in the repository.

``make site`` puts them beside the written pages (see :mod:`docs.hooks`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from docs.reference_pages import (
    changed_answers,
    command_line,
    configuration,
    connectors,
    difficulty,
    drawing,
    house,
    house_drawing,
    metrics,
    queries,
    vocabulary,
)


@cache
def pages() -> Mapping[str, str]:
    """Return the text of every page and drawing, by its path below ``docs/``."""
    return {
        "reference/changed-answers.md": changed_answers.page(),
        **command_line.command_pages(),
        "reference/configuration.md": configuration.page(),
        "reference/connectors.md": connectors.page(),
        "reference/difficulty.md": difficulty.page(),
        "reference/house.md": house.page(),
        "reference/house.svg": house_drawing.house(),
        "reference/metrics.md": metrics.metrics_page(),
        "reference/queries.md": queries.page(),
        "reference/tasks.md": metrics.tasks_page(),
        "reference/vocabulary.md": vocabulary.page(),
        "reference/vocabulary.svg": drawing.vocabulary(),
        "result-graph.svg": drawing.result_graph(),
    }
