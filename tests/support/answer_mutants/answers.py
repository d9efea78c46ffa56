# SPDX-License-Identifier: Apache-2.0
"""The families whose right answers are changed: their languages, and the text in an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, zip_longest
from typing import NamedTuple

from kgbench.model import Case
from kgbench.tasks import catalogue
from kgbench.worlds.axioms import PREFIX_LINES
from tests.support.answer_mutants import (
    Operators,
    axioms,
    equivalence,
    mappings,
    queries,
    shapes,
    terms,
    trees,
    triples,
)
from tests.support.families import cases

_BLOCK = re.compile(r"(```\w*\n)(.*?)(\n```)", re.DOTALL)


class Text(NamedTuple):
    """The part of a right answer that is changed, with what is before and after it."""

    before: str
    text: str
    after: str

    def answer(self, changed: str) -> str:
        """Return an answer with another text."""
        return f"{self.before}{changed}{self.after}"


class Family(NamedTuple):
    """A family of tasks: the operators of its language, its levels, and the text of an answer.

    ``equivalent`` compares a right text with a changed one; ``None`` where all others count.
    """

    operators: Operators
    levels: int
    text: Callable[[Case], Text]
    equivalent: Callable[[Case, str, str, int], bool] | None = None


def _block(case: Case) -> Text:
    """Return the text of the fenced block, or the whole answer."""
    reference = catalogue.module(case.task_class).reference(case)
    found = _BLOCK.search(reference)
    return Text(*found.groups()) if found else Text("", reference, "")


def _lines(case: Case) -> Text:
    """Return a fenced list of triples, with a line break after each."""
    before, text, after = _block(case)
    return Text(before, f"{text}\n", after)


def _triples(case: Case) -> Text:
    """Return the triples of an answer in Turtle."""
    before, text, after = _block(case)
    return Text(before, triples.lines(text), after)


def _axioms(case: Case) -> Text:
    """Return axioms after the declarations of their ontology, which do not count."""
    data = case.data
    if "declarations" in data:
        stated = "\n".join([*data["declarations"], "", *data["axioms"]])
    else:
        _, _, stated = data["ontology"].partition("\n\n")
        declared, _, _ = stated.partition("\n\n")
        answer = _block(case).text
        stated = f"{declared}\n\n{answer.removeprefix(PREFIX_LINES).lstrip()}"
    return Text(f"```turtle\n{PREFIX_LINES}\n", f"{stated}\n", "\n```")


_QUERIES = Family(queries.OPERATORS, 5, _block)
_TREES = Family(trees.OPERATORS, 5, _block)
_TRIPLES = Family(triples.OPERATORS, 4, _triples, equivalence.graphs)
_TERMS = Family(terms.OPERATORS, 0, _block)
FAMILIES: Mapping[str, Family] = {
    "Text2SparqlWorld": _QUERIES,
    "Text2ConstructWorld": _QUERIES,
    "Text2UpdateWorld": _QUERIES,
    "Rdf12World-query": _QUERIES._replace(levels=4),
    "Rdf12World-annotate": _TRIPLES,
    "Rdf12World-direction": _TRIPLES,
    "Rdf12World-repair": _TRIPLES,
    "Text2ShaclWorld": Family(shapes.OPERATORS, 5, _block, equivalence.shapes),
    "ShaclVerdictWorld": _TRIPLES._replace(levels=5, equivalent=equivalence.reports),
    "ShaclRepairWorld": _TRIPLES._replace(levels=5),
    "OwlWritingWorld": Family(axioms.OPERATORS, 5, _axioms, equivalence.axioms),
    "OwlRepairWorld": Family(axioms.OPERATORS, 5, _axioms),
    "OwlJustificationWorld": Family(axioms.OPERATORS, 5, _axioms),
    "OwlEntailmentWorld": _TRIPLES._replace(levels=5, equivalent=equivalence.statements),
    "DifferenceWorld": Family(triples.OPERATORS, 4, _lines),
    "AlignmentWorld": Family(triples.OPERATORS, 5, _lines, equivalence.statements),
    "RmlMappingWorld": Family(mappings.OPERATORS, 4, _block, equivalence.mappings),
    "JsonLdContextWorld": _TREES._replace(equivalent=equivalence.contexts),
    "JsonLdFrameWorld": _TREES._replace(equivalent=equivalence.frames),
    "ClaimCheckWorld": _TERMS._replace(levels=5),
    "RdfFriendCount": _TERMS._replace(levels=2),
    "RdfConnectionTwin": _TERMS,
    "Sparql2AnswerTwin": _TERMS,
    "Text2AnswerTwin": _TERMS,
    "RdfSyntaxTwin-jsonld": _TREES._replace(levels=0),
    "RdfSyntaxTwin-nt": _TRIPLES._replace(levels=0),
    "TurtleErrorsTwin": _TRIPLES._replace(levels=0),
    "FactExtractTwin": _TRIPLES._replace(levels=0),
    "SparqlSyntaxTwin": _QUERIES._replace(levels=0),
    "Text2SparqlTwin": _QUERIES._replace(levels=0),
}
"""The families by the beginning of their labels. ``levels`` is 0 where there are none."""


def cases_of(name: str, level: int, most: int, seed: int) -> Iterator[Case]:
    """Yield cases of a level of a family, in turn of each of its labelled tasks."""
    end = f"-{level}" if level else ""
    labels = [
        label
        for label in sorted(catalogue.labelled_tasks())
        if label.startswith(f"{name}-") and label.endswith(end) and "opaque" not in label
    ]
    each = [cases(label, -(-most // len(labels)), seed) for label in labels]
    found = chain.from_iterable(zip_longest(*each))
    yield from (case for case in found if case is not None)
