# SPDX-License-Identifier: Apache-2.0
"""JsonLdContextWorld: write the JSON-LD context with which a JSON document means a given graph.

The graphs have no blank nodes, so they are compared as sets of triples.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kgbench.api import (
    Case,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    JsonFamily,
    Score,
    Task,
    Unreadable,
    compare,
    quoted,
    world_of,
)
from kgbench.families.json_ld import CONTEXT, turtle
from kgbench.scoring import json_ld

from .cases import sheet


class JsonLdContextWorld(DrawnFamily, JsonFamily[frozenset[str]]):
    """Different documents about the seed's world."""

    shows = ("document", "graph")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw a document with its context and its graph."""
        document = sheet(world_of(task, seed), task.parameters["level"])[number]
        return {
            "document": document.text,
            "graph": turtle(document.triples),
            "triples": list(document.triples),
            "context": document.context,
            "features": list(document.features),
        }

    def process(self, case: Case, value: Mapping[str, Any]) -> frozenset[str]:
        """Return the triples of the document with the context of an answer."""
        if CONTEXT not in value:
            feedback = self.feedback("no-context", "format")
            raise Unreadable('the JSON object has no "@context"', feedback)
        return json_ld.rows({CONTEXT: value[CONTEXT], **json.loads(case.data["document"])})

    def score(self, case: Case, answer: frozenset[str] | None, executor: Executor) -> Score:
        """Compare the triples of the document with the graph."""
        compared = compare(json_ld.ntriples_rows(case.data["triples"]), answer or frozenset())
        scores = {**compared.agreement.named(), "exact": compared.exact}

        def feedback() -> Feedback:
            missing, surplus = compared.missed, compared.invented
            examples = quoted(
                [f"missing: {row}" for row in missing],
                [f"should not be there: {row}" for row in surplus],
            )
            counts = {"missing": str(len(missing)), "surplus": str(len(surplus))}
            return self.feedback("differences", examples=examples, **counts)

        return Score(scores, compared.infos("missing", "surplus"), feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the context."""
        return f"```json\n{case.data['context']}\n```"


family: Final = JsonLdContextWorld(__file__)
