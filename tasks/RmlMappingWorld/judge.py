# SPDX-License-Identifier: Apache-2.0
"""RmlMappingWorld: write the mapping that turns files or tables about a world into a graph.

A mapping is executed on the sources in the prompt and on hidden ones with other data.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache, partial
from typing import Final

from kgbench.api import (
    OWL,
    RDF,
    RDFS,
    XSD,
    Case,
    DrawnFamily,
    Json,
    Task,
    World,
    build_graph,
    serialise,
    world_of,
)
from kgbench.families import frame
from kgbench.families.mapping_answers import MappingFamily, Produced, counts, file_block
from kgbench.mapping.document import FORMULATION_OF
from kgbench.mapping.sources import Data, Table
from kgbench.policies.blank_nodes import RowComparison, compare_rows
from kgbench.worlds import generator
from kgbench.worlds.model import NAMESPACE
from kgbench.worlds.writing import TARGET

from .aspects import TABLE
from .cases import sheet
from .writing import as_sql

SHOWN, HIDDEN = "shown", "hidden"
_PREFIXES: Final = {
    "w": NAMESPACE,
    "t": TARGET,
    "owl": str(OWL),
    "rdf": str(RDF),
    "rdfs": str(RDFS),
    "xsd": str(XSD),
}


class RmlMappingWorld(DrawnFamily, MappingFamily):
    """Different sources about the seed's world."""

    check = staticmethod(generator.check_instances)

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw sources, their graphs, and the mapping."""
        world, parameters = world_of(task, seed), task.parameters
        exercise = sheet(world, parameters["level"], parameters["format"])[number]
        shown, hidden = ([list(row) for row in rows] for rows in exercise.expected)
        return {
            "words": list(exercise.words),
            "schema": _schema(world, tuple(exercise.extra.items())),
            SHOWN: exercise.shown_sources,
            HIDDEN: exercise.hidden_sources,
            "expected": {SHOWN: shown, HIDDEN: hidden},
            "mapping": exercise.mapping,
            "features": list(exercise.features),
        }

    def prompt(self, case: Case) -> str:
        """Return the prompt: the sources, the description of the graph, and the schema."""
        form, sources = case.parameters["format"], case.data[SHOWN].items()
        if form == TABLE:
            blocks = [f"```sql\n{as_sql(name, table)}\n```" for name, table in sources]
            fill_in = partial(self.text, "prompt-tables")
        else:
            blocks = [file_block(name, form, text) for name, text in sources]
            fill_in = partial(self.text, "prompt-files", formulation=FORMULATION_OF[form])
        words = "\n".join(f"* {line}" for line in case.data["words"])
        return fill_in(words=words, schema=case.data["schema"], sources="\n\n".join(blocks))

    def data(self, case: Case) -> Mapping[str, Data]:
        """Return the shown and the hidden sources."""
        return {name: _data(case, name) for name in (SHOWN, HIDDEN)}

    def compare(
        self, case: Case, produced: Produced
    ) -> tuple[Mapping[str, float], Sequence[RowComparison]]:
        """Compare both graphs of a mapping with those expected."""
        shown, hidden = (
            compare_rows((tuple(row) for row in case.data["expected"][name]), produced[name])
            for name in (SHOWN, HIDDEN)
        )
        return {**hidden.agreement.named(), **shown.agreement.named(SHOWN, f1="F1")}, (
            shown,
            hidden,
        )

    def differences(self, compared: Sequence[RowComparison]) -> str:
        """Return the feedback on a mapping that produces a wrong graph; hidden ones are counted."""
        shown, hidden = compared
        if shown.missing or shown.surplus:
            return super().differences(compared)
        return self.text("feedback-hidden", **counts(hidden))


family: Final = RmlMappingWorld(__file__)


@lru_cache(maxsize=4)
def _schema(world: World, extra: tuple[tuple[str, str], ...]) -> str:
    """Return the schema of a world with further properties, as Turtle."""
    lines = list(generator.schema(build_graph(world)))
    for iri, label in extra:
        lines.append(f"<{iri}> <{RDF.type}> <{RDF.Property}> .")
        lines.append(f'<{iri}> <{RDFS.label}> "{label}"@en .')
    return serialise(frame.triples(tuple(lines)), "turtle", _PREFIXES)


def _data(case: Case, name: str) -> Data:
    """Return the sources of a case, in the form for executing mappings."""
    sources = case.data[name]
    if case.parameters["format"] != TABLE:
        return Data(sources, {})
    tables = {
        name: Table(tuple(map(tuple, table["columns"])), tuple(map(tuple, table["rows"])))
        for name, table in sources.items()
    }
    return Data({}, tables)
