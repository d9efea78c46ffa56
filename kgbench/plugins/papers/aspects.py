# SPDX-License-Identifier: Apache-2.0
"""Aspects of task classes: what they read, write and demand, by their descriptions.

The columns on SPARQL are table 2 of LLM-KG-Bench 3 (Semantic Web Journal 2025), the last three its
table 4.
"""

from __future__ import annotations

from fnmatch import fnmatchcase

from kgbench.analysis.registry import Purpose, analysis
from kgbench.errors import QueryError
from kgbench.rdf import queries
from kgbench.scores.selection import Selection
from kgbench.store.protocol import Store
from kgbench.tables import Column, Table, Value
from kgbench.vocab import KGB

SPARQL_ASPECTS = ("syntax-read", "syntax-create", "semantics-read", "semantics-create")
_LISTED = {
    "reads": KGB.reads,
    "writes": KGB.writes,
    "cognitive_process": KGB.cognitiveProcess,
    "knowledge_dimension": KGB.knowledgeDimension,
    "relational_complexity": KGB.relationalComplexity,
}
COLUMNS = (
    Column("task_class", "Task class"),
    Column("reads", "Reads"),
    Column("writes", "Writes"),
    Column("syntax_read", "SPARQL syntax read"),
    Column("syntax_create", "created"),
    Column("semantics_read", "SPARQL semantics read"),
    Column("semantics_create", "created"),
    Column("cognitive_process", "Cognitive process"),
    Column("knowledge_dimension", "Knowledge needed"),
    Column("relational_complexity", "Relational complexity"),
)
QUERIES = ("task-aspects",)


@analysis("aspects", Purpose.PAPERS)
def aspects(store: Store, selection: Selection) -> Table:
    """Show what task classes read, write and demand; no scores.

    Aspects of SPARQL are x where a task class tests them, else -. The glob of tasks is over names
    of task classes.

    >>> results = kgbench.open("kgbench-results")
    >>> results.select(tasks="RdfFriendCount").aspects().column("writes")
    ['nodes']
    """
    facts: dict[str, dict[str, set[str]]] = {}
    for _, name, aspect, value in queries.rows(store, "task-aspects"):
        if fnmatchcase(str(name), selection.tasks):
            facts.setdefault(str(name), {}).setdefault(str(aspect), set()).add(str(value))
    if not facts:
        raise QueryError(f"no task class that matches '{selection.tasks}' declares its aspects")
    return Table(
        title="Aspects of task classes",
        columns=COLUMNS,
        rows=tuple(_row(name, values) for name, values in sorted(facts.items())),
        queries=QUERIES,
    )


def _row(name: str, values: dict[str, set[str]]) -> tuple[Value, ...]:
    listed = {
        column: ", ".join(sorted(values.get(prop, ()))) or None for column, prop in _LISTED.items()
    }
    tested = values.get(KGB.sparqlAspect, set())
    marks = {a.replace("-", "_"): "x" if a in tested else "-" for a in SPARQL_ASPECTS}
    row: dict[str, Value] = {"task_class": name, **listed, **marks}
    return tuple(row[column.name] for column in COLUMNS)
