# SPDX-License-Identifier: Apache-2.0
"""AlignmentWorld: say which classes and properties of two ontologies are the same.

Ontologies are generated from the seed of the plan (:mod:`kgbench.worlds.alignments`). An answer is
Turtle with ``owl:equivalentClass`` and ``owl:equivalentProperty``. The reasoner
(:mod:`kgbench.reasoning.coherence`) checks both ontologies together with these axioms.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import pyoxigraph as ox

from kgbench.model import Case, Executor, Json, Task, Verdict
from kgbench.reasoning.closure import TooMuchWork
from kgbench.reasoning.coherence import SOMETHING, find_incoherence
from kgbench.reasoning.rules import Atom
from kgbench.scoring.agreement import agreement
from kgbench.tasks import catalogue, texts, turtle_answers
from kgbench.tasks.world_questions import world_of
from kgbench.vocab import OWL, RDF, RDFS
from kgbench.worlds import alignments

NAME: Final = "AlignmentWorld"
_AXIOMS: Final = {
    str(OWL.Class): str(OWL.equivalentClass),
    str(OWL.ObjectProperty): str(OWL.equivalentProperty),
    str(OWL.DatatypeProperty): str(OWL.equivalentProperty),
}
_SHORT: Final = {
    SOMETHING: "_:something",
    alignments.SECOND: "b:",
    alignments.FIRST: "a:",
    str(OWL): "owl:",
    str(RDFS): "rdfs:",
    str(RDF): "rdf:",
}
_SHOWN: Final = 5  # triples or names that feedback quotes
_LISTED: Final = 50  # of each kind that the infos list; all are scored
_LONGEST: Final = 500  # characters of one triple that is quoted


class AnswerCorrespondences(NamedTuple):
    """Correspondences in an answer as lines of N-Triples, and the other triples in it.

    In correspondences, the name of the first ontology comes first.
    """

    axioms: frozenset[str]
    others: frozenset[str]


def cases(task: Task, suite: str, seed: int, count: int) -> Sequence[Case]:
    """Make ``count`` cases: pairs of ontologies with parts of the schema of the seed's world."""
    parameters = task.parameters
    world = world_of(task, seed)

    def data(iteration: int) -> Mapping[str, Json]:
        pair = alignments.alignment(world, parameters["level"], iteration)
        return {
            "version": alignments.VERSION,
            "first": pair.texts[0],
            "second": pair.texts[1],
            "triples": [list(rows) for rows in pair.triples],
            "axioms": list(pair.axioms),
            "misleading": list(pair.misleading),
        }

    return catalogue.lazy_cases(task, suite, count, data)


def prompt(case: Case) -> str:
    """Return the prompt: the two ontologies."""
    shown = {name: case.data[name] for name in ("first", "second")}
    return texts.filled(NAME, "prompt.txt", **shown)


def judge(case: Case, answers: Sequence[str], executor: Executor) -> Verdict:
    """Compare the correspondences in the last answer with the right ones; check coherence."""
    answer = answers[-1]
    read = turtle_answers.read(answer, executor)
    correspondences = _correspondences(case, read.triples or ())
    expected = set(case.data["axioms"])
    hits = len(expected & correspondences.axioms)
    answer_count = len(correspondences.axioms) + len(correspondences.others)
    agreed = agreement(hits, answer_count, len(expected), precision_of_nothing=0.0)
    repeated = _repeated_names(correspondences.axioms)
    clash, too_much = _incoherence(case, correspondences.axioms)
    usable = bool(correspondences.axioms)
    exact = correspondences.axioms == expected and not correspondences.others
    scores = {
        "answerParse": float(read.triples is not None),
        **agreed.named(),
        "oneToOne": float(usable and not repeated),
        "coherent": float(usable and clash is None and not too_much),
        "exact": float(exact),
    }
    invented = (correspondences.axioms - expected) | correspondences.others
    infos: dict[str, Json] = {
        "parseError": read.error,
        "missed": sorted(expected - correspondences.axioms)[:_LISTED],
        "invented": [row[:_LONGEST] for row in sorted(invented)[:_LISTED]],
        "clash": None if clash is None else clash[0],
    }
    verdict = Verdict(scores, infos, turtle_answers.outcome(answer, usable=usable))
    if exact or len(answers) >= turtle_answers.ROUNDS:
        return verdict
    if read.triples is None:
        feedback = read.feedback
    elif not answer_count:
        feedback = texts.text(NAME, "feedback-no-correspondences.txt"), "format"
    elif (
        fault_feedback := _fault_feedback(correspondences, repeated, clash, too_much=too_much)
    ) is not None:
        feedback = fault_feedback, "content"
    else:
        return verdict
    return Verdict(scores, infos, verdict.outcome, *feedback)


def reference(case: Case) -> str:
    """Return the reference answer: the correspondences."""
    return "\n".join(["```turtle", *(f"{row} ." for row in case.data["axioms"]), "```"])


def _correspondences(case: Case, triples: Iterable[ox.Triple]) -> AnswerCorrespondences:
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
    return AnswerCorrespondences(frozenset(axioms), frozenset(others))


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
        return find_incoherence(turtle_answers.triples(tuple(f"{row} ." for row in lines))), False
    except TooMuchWork:
        return None, True


def _fault_feedback(
    correspondences: AnswerCorrespondences,
    repeated: Sequence[str],
    clash: tuple[str, tuple[Atom, ...]] | None,
    *,
    too_much: bool,
) -> str | None:
    """Return the feedback on faults that an engine can find; ``None`` if there are none."""
    if correspondences.others:
        quoted = _quoted([item[:_LONGEST] for item in sorted(correspondences.others)])
        return texts.filled(NAME, "feedback-unknown.txt", triples=quoted)
    if repeated:
        quoted = _quoted([_readable(name) for name in repeated])
        return texts.filled(NAME, "feedback-twice.txt", names=quoted)
    if clash is not None:
        rule, premises = clash
        lines = "\n".join(f"* {' '.join(map(_readable, item))}" for item in premises)
        return texts.filled(NAME, "feedback-incoherent.txt", rule=rule, premises=lines)
    return texts.text(NAME, "feedback-too-much.txt") if too_much else None


def _quoted(lines: Sequence[str]) -> str:
    more = ["* and more"] if len(lines) > _SHOWN else []
    return "\n".join([*(f"* {line}" for line in lines[:_SHOWN]), *more])


def _readable(term: str) -> str:
    """Return a term in readable form, with prefixes."""
    for iri, prefix in _SHORT.items():
        if term.startswith(f"<{iri}"):
            return prefix + term[len(iri) + 1 : -1]
    return term
