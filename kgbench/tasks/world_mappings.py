# SPDX-License-Identifier: Apache-2.0
"""RmlMappingWorld: write the mapping that turns files or tables about a world into a graph.

Sources, descriptions and graphs are generated from the seed of the plan
(:mod:`kgbench.worlds.mappings`). A mapping is executed on the sources in the prompt and on hidden
ones with other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import Any, Final

from kgbench.mapping.sources import Data
from kgbench.mapping.tables import Table
from kgbench.mapping.vocabularies import FORMULATION_OF
from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.policies.blank_nodes import RowComparison, compare_rows
from kgbench.tasks import (
    catalogue,
    mapping_answers,
    serialising,
    texts,
    turtle_answers,
)
from kgbench.vocab import OWL, RDF, RDFS, XSD
from kgbench.worlds import generator, mappings
from kgbench.worlds.generator import World
from kgbench.worlds.mapping_parts import TABLE
from kgbench.worlds.mapping_writing import as_sql
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.writing import TARGET

NAME: Final = "RmlMappingWorld"
SHOWN, HIDDEN = "shown", "hidden"
_PREFIXES: Final = {
    "w": NAMESPACE,
    "t": TARGET,
    "owl": str(OWL),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: different sources about the seed's world.

    If the world is too small for so many, accessing the first surplus case raises
    :class:`~kgbench.errors.TaskError`.
    """
    parameters = task.parameters
    world = generator.world_of(task, seed)
    # Built for the first case of the task, so that other tasks need not wait for it.
    sheet = cache(lambda: mappings.sheet(world, parameters["level"], parameters["format"]))

    def data(iteration: int) -> Mapping[str, Json]:
        exercise = sheet()[iteration]
        shown, hidden = exercise.expected
        return {
            "words": list(exercise.words),
            "schema": _schema(world, tuple(exercise.extra.items())),
            SHOWN: exercise.shown_sources,
            HIDDEN: exercise.hidden_sources,
            "expected": {SHOWN: [list(row) for row in shown], HIDDEN: [list(r) for r in hidden]},
            "mapping": exercise.mapping,
            "features": list(exercise.features),
        }

    return catalogue.lazy_cases(task, suite, count, data)


@lru_cache(maxsize=4)
def _schema(world: World, extra: tuple[tuple[str, str], ...]) -> str:
    """Return the schema of a world with further properties, as Turtle."""
    lines = list(generator.schema(generator.build_graph(world)))
    for iri, label in extra:
        lines.append(f"<{iri}> <{RDF.type}> <{RDF.Property}> .")
        lines.append(f'<{iri}> <{RDFS.label}> "{label}"@en .')
    return serialising.serialise(turtle_answers.triples(tuple(lines)), "turtle", _PREFIXES)


def prompt(case: Case) -> str:
    """Return the prompt: the sources, the description of the graph, and the schema."""
    form = case.parameters["format"]
    shown = {
        "words": "\n".join(f"* {line}" for line in case.data["words"]),
        "schema": case.data["schema"],
        "sources": "\n\n".join(
            _shown_source(form, name, source) for name, source in case.data[SHOWN].items()
        ),
    }
    if form == TABLE:
        return texts.filled(NAME, "prompt-tables.txt", **shown)
    return texts.filled(NAME, "prompt-files.txt", formulation=FORMULATION_OF[form], **shown)


def _shown_source(form: str, name: str, source: Any) -> str:
    if form == TABLE:
        return f"```sql\n{as_sql(name, source)}\n```"
    return mapping_answers.file_block(name, form, source)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Execute the mapping of the last answer on shown and hidden data; ask again if it is wrong."""
    data = {name: _data(case, name) for name in (SHOWN, HIDDEN)}
    result = mapping_answers.execute_answer(answers[-1], executor, data)
    compared = {
        name: compare_rows((tuple(row) for row in case.data["expected"][name]), rows)
        for name, rows in result.rows.items()
    }
    exact = all(
        not comparison.missing and not comparison.surplus for comparison in compared.values()
    )
    scores = {
        **result.scores,
        **compared[HIDDEN].agreement.named(),
        **compared[SHOWN].agreement.named(SHOWN, f1="F1"),
        "exact": float(exact),
    }
    infos = result.infos(compared[SHOWN])
    feedback = None if exact else partial(_differences, compared)
    return mapping_answers.verdict(result, answers, scores, infos, feedback)


def _data(case: Case, name: str) -> Data:
    """Return the sources of a case, in the form for executing mappings."""
    sources = case.data[name]
    if case.parameters["format"] != TABLE:
        return Data(sources, {})
    return Data({}, {table: _table(content) for table, content in sources.items()})


def _table(content: Mapping[str, Any]) -> Table:
    return Table(
        tuple((column, kind) for column, kind in content["columns"]),
        tuple(tuple(row) for row in content["rows"]),
    )


def _differences(compared: Mapping[str, RowComparison]) -> str:
    """Return the feedback on a mapping that produces a wrong graph."""
    if compared[SHOWN].missing or compared[SHOWN].surplus:
        return mapping_answers.differences(compared[SHOWN])
    return texts.filled(NAME, "feedback-hidden.txt", **mapping_answers.counts(compared[HIDDEN]))


def reference(case: Case) -> str:
    """Return the reference answer: the complete mapping."""
    return mapping_answers.fenced(case.data["mapping"])


check = generator.check_instances
prepare = mapping_answers.prepare
