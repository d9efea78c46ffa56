# SPDX-License-Identifier: Apache-2.0
"""AlignmentWorld: say which classes and properties of two ontologies are the same.

An answer is Turtle with ``owl:equivalentClass`` and ``owl:equivalentProperty``. The reasoner
(:mod:`kgbench.reasoning.closure`) checks both ontologies together with these axioms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.api import (
    OWL,
    RDF,
    RDFS,
    Case,
    DrawnFamily,
    Executor,
    Feedback,
    Json,
    Score,
    Task,
    TurtleFamily,
    compare,
    quoted,
    world_of,
)
from kgbench.families import frame
from kgbench.families.comparing import readable
from kgbench.reasoning.closure import SOMETHING, TooMuchWork, find_incoherence
from kgbench.reasoning.rules import Atom

from .cases import FIRST, SECOND, VERSION, draw_alignment

_AXIOMS: Final = {
    str(OWL.Class): str(OWL.equivalentClass),
    str(OWL.ObjectProperty): str(OWL.equivalentProperty),
    str(OWL.DatatypeProperty): str(OWL.equivalentProperty),
}
_SHORT: Final = {
    SOMETHING: "_:something",
    SECOND: "b:",
    FIRST: "a:",
    str(OWL): "owl:",
    str(RDFS): "rdfs:",
    str(RDF): "rdf:",
}


class Correspondences(NamedTuple):
    """Correspondences in an answer as lines of N-Triples, and the other triples in it.

    In correspondences, the name of the first ontology comes first.
    """

    axioms: frozenset[str]
    others: frozenset[str]


class AlignmentWorld(DrawnFamily, TurtleFamily):
    """Pairs of ontologies with parts of the schema of the seed's world."""

    shows = ("first", "second")

    def draw(self, task: Task, seed: int, number: int) -> Mapping[str, Json]:
        """Draw two ontologies and the axioms that align them."""
        pair = draw_alignment(world_of(task, seed), task.parameters["level"], number)
        return {
            "version": VERSION,
            "first": pair.texts[0],
            "second": pair.texts[1],
            "triples": [list(rows) for rows in pair.triples],
            "axioms": list(pair.axioms),
            "misleading": list(pair.misleading),
        }

    def score(
        self,
        case: Case,
        answer: tuple[ox.Triple, ...] | None,
        executor: Executor,
    ) -> Score:
        """Compare the correspondences of an answer with the right ones, and check coherence."""
        axioms, others = _correspondences(case, answer or ())
        compared = compare(set(case.data["axioms"]), axioms | others)
        repeated = _repeated_names(axioms)
        clash, too_much = _incoherence(case, axioms)
        scores = {
            **compared.agreement.named(),
            "oneToOne": float(bool(axioms) and not repeated),
            "coherent": float(bool(axioms) and clash is None and not too_much),
            "exact": compared.exact,
        }
        infos = {**compared.infos(), "clash": None if clash is None else clash[0]}

        def feedback() -> Feedback | None:
            if not axioms and not others:
                return self.feedback("no-correspondences", "format")
            if others:
                return self.feedback("unknown", triples=quoted(sorted(others)))
            if repeated:
                names = [readable(name, _SHORT) for name in repeated]
                return self.feedback("twice", names=quoted(names))
            if clash is not None:
                rule, premises = clash
                lines = "\n".join(f"* {_readable(premise)}" for premise in premises)
                return self.feedback("incoherent", rule=rule, premises=lines)
            return self.feedback("too-much") if too_much else None

        return Score(scores, infos, usable=bool(axioms), feedback=feedback)

    def reference(self, case: Case) -> str:
        """Return the correspondences."""
        return "\n".join(["```turtle", *(f"{row} ." for row in case.data["axioms"]), "```"])


family: Final = AlignmentWorld(__file__)


def _correspondences(case: Case, triples: Iterable[ox.Triple]) -> Correspondences:
    """Split triples into correspondences, which relate names of the same sort, and others."""
    first, second = (_sorts(rows) for rows in case.data["triples"])
    axioms, others = set[str](), set[str]()
    for triple in triples:
        if triple.predicate.value == RDF.type:  # declarations are ignored
            continue
        names = [str(triple.subject), str(triple.object)]
        if names[0] in second and names[1] in first:
            names.reverse()
        sort = first.get(names[0])
        if (
            sort is not None
            and second.get(names[1]) == sort
            and triple.predicate.value == _AXIOMS[sort]
        ):
            axioms.add(f"{names[0]} {triple.predicate} {names[1]}")
        else:
            others.add(str(triple))
    return Correspondences(frozenset(axioms), frozenset(others))


def _sorts(rows: Sequence[str]) -> dict[str, str]:
    """Return the sorts of an ontology's classes and properties, by name in N-Triples syntax."""
    sorts = {}
    for row in rows:
        subject, predicate, value = row.split(" ", 2)
        if predicate == f"<{RDF.type}>" and value[1:-1] in _AXIOMS:
            sorts[subject] = value[1:-1]
    return sorts


def _repeated_names(axioms: Iterable[str]) -> list[str]:
    """Return the names that occur in more than one correspondence."""
    counts = Counter(name for row in axioms for name in row.split(" ")[::2])
    return sorted(name for name, number in counts.items() if number > 1)


def _incoherence(
    case: Case, axioms: frozenset[str]
) -> tuple[tuple[str, tuple[Atom, ...]] | None, bool]:
    """Return the reason why the ontologies with ``axioms`` are incoherent.

    The second value states whether the search takes too long.
    """
    if not axioms:
        return None, False
    lines = [*case.data["triples"][0], *case.data["triples"][1], *sorted(axioms)]
    try:
        return find_incoherence(frame.triples(tuple(f"{row} ." for row in lines))), False
    except TooMuchWork:
        return None, True


def _readable(premise: Atom) -> str:
    return " ".join(readable(term, _SHORT) for term in premise)
