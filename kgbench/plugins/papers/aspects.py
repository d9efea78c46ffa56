# SPDX-License-Identifier: Apache-2.0
"""Aspects of task classes: what they read, write and demand, by their descriptions.

The columns on SPARQL are table 2 of LLM-KG-Bench 3 (Semantic Web Journal 2025), the last three its
table 4.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

import kgbench.api as kb

SPARQL_ASPECTS = ("syntax-read", "syntax-create", "semantics-read", "semantics-create")
_LISTED = {
    "reads": kb.KGB.reads,
    "writes": kb.KGB.writes,
    "cognitive_process": kb.KGB.cognitiveProcess,
    "knowledge_dimension": kb.KGB.knowledgeDimension,
    "relational_complexity": kb.KGB.relationalComplexity,
}
COLUMNS = (
    kb.Column("task_class", "Task class"),
    kb.Column("reads", "Reads"),
    kb.Column("writes", "Writes"),
    kb.Column("syntax_read", "SPARQL syntax read"),
    kb.Column("syntax_create", "created"),
    kb.Column("semantics_read", "SPARQL semantics read"),
    kb.Column("semantics_create", "created"),
    kb.Column("cognitive_process", "Cognitive process"),
    kb.Column("knowledge_dimension", "Knowledge needed"),
    kb.Column("relational_complexity", "Relational complexity"),
)
QUERIES = ("task-aspects",)


@kb.analysis("aspects", kb.Purpose.PAPERS)
def aspects(store: kb.Store, selection: kb.Selection) -> kb.Table:
    """Show what task classes read, write and demand; no scores.

    Aspects of SPARQL are x where a task class tests them, else -. The glob of tasks is over names
    of task classes.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(tasks="RdfFriendCount").aspects().column("writes")
    ['nodes']
    """
    facts: dict[str, dict[str, set[str]]] = {}
    for _, name, aspect, value in kb.query_rows(store, "task-aspects"):
        if fnmatchcase(str(name), selection.tasks):
            facts.setdefault(str(name), {}).setdefault(str(aspect), set()).add(str(value))
    if not facts:
        raise kb.QueryError(f"no task class that matches '{selection.tasks}' declares its aspects")
    return kb.Table(
        title="Aspects of task classes",
        columns=COLUMNS,
        rows=tuple(_row(name, values) for name, values in sorted(facts.items())),
        queries=QUERIES,
    )


def _row(name: str, values: dict[str, set[str]]) -> tuple[kb.Value, ...]:
    listed = {
        column: ", ".join(sorted(values.get(prop, ()))) or None for column, prop in _LISTED.items()
    }
    tested = values.get(kb.KGB.sparqlAspect, set())
    marks = {a.replace("-", "_"): "x" if a in tested else "-" for a in SPARQL_ASPECTS}
    row: dict[str, kb.Value] = {"task_class": name, **listed, **marks}
    return tuple(row[column.name] for column in COLUMNS)
