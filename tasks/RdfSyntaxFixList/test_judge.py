# SPDX-License-Identifier: Apache-2.0
"""Faulty documents: their faults, and the scores of and feedback on corrections."""

from __future__ import annotations

import logging
import warnings
from dataclasses import replace

import pytest

from kgbench.api import (
    Case,
    EvaluationError,
    Outcome,
    PlainExecutor,
    ResourceError,
    Verdict,
    compare_graphs,
)
from kgbench.families.RdfSyntaxFixList import judge
from kgbench.families.RdfSyntaxFixList.judge import family
from kgbench.tasks import texts
from tests.support.families import cases

EXECUTOR = PlainExecutor()


def cases_of(label: str) -> list[Case]:
    """Return all cases of a labelled task."""
    return cases(label, 20)


def parsed_by_rdflib(text: str, graph_format: str) -> bool:
    """Return whether rdflib parses a document."""
    import rdflib

    names = {"ntriples": "nt"}
    logger = logging.getLogger("rdflib")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rdflib.Graph().parse(data=text, format=names.get(graph_format, graph_format))
    except Exception:  # noqa: BLE001 - rdflib's parsers raise various errors
        return False
    finally:
        logger.setLevel(level)
    return True


FIX_LABELS = ("RdfSyntaxFixList-turtle", "RdfSyntaxFixList-jsonld", "RdfSyntaxFixList-nt")


@pytest.mark.parametrize("label", FIX_LABELS)
def test_faulty_documents_parse_nowhere(label: str) -> None:
    """Both pyoxigraph and rdflib refuse each faulty document and accept each correct one."""
    found = cases_of(label)
    assert len(found) == 5
    for case in found:
        graph_format = case.data["graphFormat"]
        assert EXECUTOR.parse(case.data["task"], graph_format).triples is None, case.uid
        assert not parsed_by_rdflib(case.data["task"], graph_format), case.uid
        assert EXECUTOR.parse(case.data["optimal"], graph_format).triples is not None
        assert parsed_by_rdflib(case.data["optimal"], graph_format)


@pytest.mark.parametrize("graph_format", ["turtle", "ntriples", "json-ld"])
def test_faults_are_one_to_four_of_different_kinds(graph_format: str) -> None:
    """A case has one to four faults of different kinds, and each alone breaks the document."""
    declared = texts.structure("RdfSyntaxFixList", "faults.json")[graph_format]
    assert [len(case["faults"]) for case in declared] == [1, 2, 2, 3, 4]
    kinds = [fault["kind"] for case in declared for fault in case["faults"]]
    for case in declared:
        assert len({fault["kind"] for fault in case["faults"]}) == len(case["faults"])
    assert len(set(kinds)) >= 10
    whole = cases_of(
        {"turtle": FIX_LABELS[0], "json-ld": FIX_LABELS[1]}.get(graph_format, FIX_LABELS[2])
    )
    optimal = whole[0].data["optimal"]
    for fault in (fault for case in declared for fault in case["faults"]):
        broken = optimal.replace(fault["find"], fault["put"])
        assert EXECUTOR.parse(broken, graph_format).triples is None, fault["kind"]


def test_a_fault_that_fits_nowhere_is_refused() -> None:
    """A declared fault that does not fit its document exactly once is refused with its file."""
    declared = {"uid": "x", "faults": [{"kind": "gone", "find": "not there", "put": ""}]}
    with pytest.raises(ResourceError, match=r"faults\.json: the fault 'gone' of x fits 0 places"):
        judge._with_faults("a document", declared)


def test_all_formats_make_the_same_statements() -> None:
    """The documents of the three formats contain the same statements."""
    graphs = []
    for label in FIX_LABELS:
        case = cases_of(label)[0]
        graphs.append(EXECUTOR.parse(case.data["optimal"], case.data["graphFormat"]).triples)
    first = graphs[0]
    assert first is not None
    assert all(g is not None and compare_graphs(first, g).f1 == 1.0 for g in graphs)


def fixed(answer: str, rounds: int = 1) -> Verdict:
    """Return the verdict on the last of ``rounds`` equal answers to the first Turtle case."""
    case = cases_of(FIX_LABELS[0])[0]
    return family.judge(case, [answer] * rounds, EXECUTOR)


def document() -> str:
    """Return the correct Turtle document."""
    return str(cases_of(FIX_LABELS[0])[0].data["optimal"])


def test_feedback_in_the_published_order() -> None:
    """Feedback is about syntax, then content, then format; a perfect answer has none."""
    other = document().replace('"Tanner"', '"Turner"')
    reformatted = document().replace("    ", "  ")
    kinds = [
        fixed(f"```\n{text}\n```").feedback
        for text in (document()[:-2], other, reformatted, document())
    ]
    assert kinds == ["syntax", "content", "format", None]


def test_no_feedback_after_the_third_answer() -> None:
    """The third answer ends the dialogue, however wrong it is."""
    assert fixed("```\nno\n```", 2).feedback == "syntax"
    assert fixed("```\nno\n```", 3).next_prompt is None


def test_an_answer_without_a_block_has_no_document() -> None:
    """An unfenced document counts as unparsable and has feedback about syntax."""
    verdict = fixed(document())
    assert verdict.outcome is Outcome.UNPARSABLE
    assert verdict.feedback == "syntax"
    assert set(verdict.scores.values()) == {0.0}
    assert "contentF1" not in verdict.scores
    assert fixed("").outcome is Outcome.EMPTY


def test_the_first_block_counts() -> None:
    """Further blocks are ignored and lower brevity."""
    verdict = fixed(f"```\n{document()}\n```\nor\n```\nno\n```")
    assert verdict.infos["codeBlockCount"] == 2
    assert verdict.scores["contentF1"] == 1.0
    assert 0.9 < verdict.scores["brevity"] < 1.0


def test_language_tag_and_datatype_do_not_go_together() -> None:
    """A literal with a language tag and a datatype, which rdflib accepts, is a syntax error."""
    text = document().replace('"Wonder Organisation"@en', '"Wonder Organisation"@en^^xsd:string')
    verdict = fixed(f"```\n{text}\n```")
    assert verdict.scores["parsableSyntax"] == 0.0
    assert verdict.outcome is Outcome.UNPARSABLE


def test_scores_are_weighted_as_published() -> None:
    """Combined is 0.1 similarity, 0.2 syntax, 0.7 content; without syntax there is no content."""
    text = document().replace('foaf:firstName "Bob" ;\n    ', "")
    scores = fixed(f"```\n{text}\n```").scores
    assert scores["contentPrecision"] == 1.0
    assert scores["contentRecall"] == 30 / 31
    expected = 0.1 * scores["strSimilarity"] + 0.2 + 0.7 * scores["contentF1"]
    assert scores["combined"] == pytest.approx(expected)


def test_a_correct_document_that_does_not_parse_is_a_defect_of_the_case() -> None:
    """A case whose correct document does not parse is an error that names the case."""
    case = cases_of("RdfSyntaxFixList-turtle")[0]
    spoilt = replace(case, data={**case.data, "optimal": ":a :b"})
    with pytest.raises(EvaluationError, match=f"correct document of the case {case.iri} does not"):
        family.judge(spoilt, [f"```\n{document()}\n```"], EXECUTOR)
