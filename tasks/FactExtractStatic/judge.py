# SPDX-License-Identifier: Apache-2.0
"""FactExtractStatic: turn a data sheet into a graph with given vocabularies.

Scores: Frey et al., How Well Do LLMs Speak Turtle?, DL4KG 2023, section 3.5. ``task.ttl`` decides
the points that it leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final

from kgbench.api import (
    Agreement,
    Case,
    Executor,
    Json,
    ListedFamily,
    Verdict,
    compare_graphs,
    compare_sets,
    outcome,
    similarity,
)
from kgbench.families import tolerant_parsing
from kgbench.scoring.agreement import Terms, terms
from kgbench.scoring.result_sets import term_value
from kgbench.vocab import SCHEMA

_PROPERTIES: Final = "https://w3id.org/kgbench/printers/properties/"
_QUDT: Final = "http://qudt.org/schema/qudt/"
_DIMENSIONS: Final = frozenset(f"<{SCHEMA}{name}>" for name in ("width", "depth", "height"))


class FactExtractStatic(ListedFamily):
    """Invented data sheets of printers, one of which is the only case."""

    shows = ("sheet",)
    NEEDED = ("optimal",)  # not published with every case

    def listed(self, parameters: Mapping[str, Json]) -> Sequence[Mapping[str, Json]]:
        """Return the only case: the data sheet of an invented printer."""
        return [
            {
                "graphFormat": "turtle",
                "sheet": self.file("sheet.txt"),
                "optimal": self.file("reference.ttl"),
            }
        ]

    def uid(self, data: Mapping[str, Json]) -> str:
        """Return the name of the only case."""
        return "printer"

    def judge(self, case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
        """Compare the triples in the answer with the reference, as a whole and in parts."""
        answer = answers[-1]
        expected_triples = tolerant_parsing.expected_triples(case, executor)
        repaired = tolerant_parsing.parse(answer, executor)
        nothing = Agreement(1.0, 0.0, 0.0)
        content = (
            compare_graphs(expected_triples, repaired.triples) if repaired.triples else nothing
        )
        scores = {
            "diffRatioRaw": similarity(answer.strip(), case.data["optimal"].strip()),
            "normDiffRatio": tolerant_parsing.text_similarity(repaired.triples, expected_triples),
            **_named("norm", content),
            "exact": float(content.f1 == 1),
            "parsableTripleRatio": len(repaired.triples) / len(expected_triples),
        }
        expected_facts, given_facts = _facts(expected_triples), _facts(repaired.triples)
        for name, expected in expected_facts.items():
            scores |= _named(name, compare_sets(expected, given_facts[name]))
        infos = {
            "parsableTriplesCount": len(repaired.triples),
            "removedLines": repaired.lines,
            "syntaxError": repaired.error,
        }
        return Verdict(scores, infos, outcome(answer, usable=bool(repaired.triples)))

    def reference(self, case: Case) -> str:
        """Return the correct document."""
        return str(case.data["optimal"])


family: Final = FactExtractStatic(__file__)


def _named(name: str, agreement: Agreement) -> dict[str, float]:
    names = (f"{name}_precision", f"{name}_recall", f"{name}_f-measure")
    return dict(zip(names, agreement, strict=True))


def _facts(lines: Iterable[str]) -> dict[str, set[str]]:
    """Return the four kinds of facts that are compared separately, each as a set of texts."""
    triples = [terms(line) for line in lines]
    return {
        "printMat": _objects(triples, f"<{_PROPERTIES}printMaterial>"),
        "supportMat": _objects(triples, f"<{_PROPERTIES}supportMaterial>"),
        "DimValues": _of_dimensions(triples, f"<{_QUDT}numericValue>"),
        "DimUnit": _of_dimensions(triples, f"<{_QUDT}hasUnit>"),
    }


def _objects(triples: Iterable[Terms], predicate: str) -> set[str]:
    return {t.object for t in triples if t.predicate == predicate}


def _of_dimensions(triples: Sequence[Terms], predicate: str) -> set[str]:
    """Return each dimension with the value that its quantity has by ``predicate``."""
    values = {t.subject: _value(t.object) for t in triples if t.predicate == predicate}
    return {
        f"{t.predicate} {values[t.object]}"
        for t in triples
        if t.predicate in _DIMENSIONS and t.object in values
    }


def _value(term: str) -> str:
    """Return the lexical form of a term, with numbers in a canonical form."""
    lexical = term_value(term, {})
    with suppress(ValueError):
        return repr(float(lexical))
    return lexical
