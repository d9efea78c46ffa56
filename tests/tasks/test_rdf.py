# SPDX-License-Identifier: Apache-2.0
"""The three RDF task classes: their cases and their judging."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.errors import EvaluationError, ResourceError, TaskError
from kgbench.model import Case, Outcome, Verdict
from kgbench.scoring.graphs import compare_graphs
from kgbench.tasks import catalogue, rdf_connection_explain, rdf_friend_count, rdf_syntax_fix
from kgbench.tasks.friend_graph import FriendGraph
from kgbench.testing.executor import PlainExecutor

EXECUTOR = PlainExecutor()
ORDER = ("anne", "researchDep", "wonderOrg", "marketingDep", "bob")


def cases_of(label: str, count: int = 20) -> list[Case]:
    """Return cases of a labelled task."""
    task = catalogue.labelled_tasks()[label]
    return list(catalogue.module(task.task_class).cases(task, "test", 0, count))


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


# --- RdfConnectionExplainStatic ---------------------------------------------------------------


def connection(answer: str) -> Verdict:
    """Return the verdict on an answer about the connection."""
    (case,) = cases_of("RdfConnectionExplainStatic-turtle")
    return rdf_connection_explain.judge(case, [answer], EXECUTOR)


def test_every_format_shows_the_same_graph() -> None:
    """The connection's graph is the same in all formats; only Turtle is written by hand."""
    graphs = {}
    for label in ("turtle", "jsonld", "xml", "nt"):
        (case,) = cases_of(f"RdfConnectionExplainStatic-{label}")
        read = EXECUTOR.parse(case.data["graph"], case.data["graphFormat"])
        assert read.triples is not None, read.error
        graphs[label] = read.triples
    for each in graphs.values():
        assert len(each) == len(graphs["turtle"]) == 29
        assert compare_graphs(graphs["turtle"], each).f1 == 1.0


def test_the_path_is_the_shortest_one() -> None:
    """No other chain of statements, types excluded, is as short as the expected one."""
    (case,) = cases_of("RdfConnectionExplainStatic-nt")
    edges = {}
    for line in case.data["graph"].splitlines():
        subject, predicate, target = line.removesuffix(" .").split(" ", 2)
        if "#type>" not in predicate and not target.startswith('"'):
            edges.setdefault(subject, set()).add(target)
            edges.setdefault(target, set()).add(subject)
    end = "<https://abc.def/ghi/bob>"
    chains = [["<https://abc.def/ghi/anne>"]]
    while not any(chain[-1] == end for chain in chains):
        chains = [[*c, n] for c in chains for n in sorted(edges[c[-1]]) if n not in c]
    (found,) = [chain for chain in chains if chain[-1] == end]
    names = [node for node in found if not node.startswith("_:")]
    assert names == [f"<https://abc.def/ghi/{name}>" for name in ORDER]


@pytest.mark.parametrize(
    ("answer", "plain", "trimmed", "outcome"),
    [
        ("{0}\n{1}\n{2}\n{3}\n{4}", 1.0, 1.0, Outcome.SCORED),
        ("{0}\n{1}\n{2}\n{3}\n{4}\n", 0.8, 1.0, Outcome.SCORED),
        ("{4}\n{3}\n{2}\n{1}\n{0}", 1.0, 1.0, Outcome.SCORED),
        ("- {0}\n- {1}\n- {2}\n- {3}\n- {4}", 1.0, 1.0, Outcome.SCORED),
        ("{0}  \n{1}\n{2}\n{3}\n{4}", 0.8, 1.0, Outcome.SCORED),
        ("<{0}>\n<{1}>\n<{2}>\n<{3}>\n<{4}>", 0.0, 0.0, Outcome.UNPARSABLE),
        ("The path: {0} {1} {2} {3} {4}", 0.0, 0.0, Outcome.UNPARSABLE),
        ("", 0.0, 0.0, Outcome.EMPTY),
    ],
)
def test_what_is_a_list_line(answer: str, plain: float, trimmed: float, outcome: Outcome) -> None:
    """Trailing white space lowers listF1 only; brackets and prose lower both scores."""
    verdict = connection(answer.format(*(f"https://abc.def/ghi/{name}" for name in ORDER)))
    assert verdict.scores["listF1"] == pytest.approx(plain)
    assert verdict.scores["listTrimF1"] == pytest.approx(trimmed)
    assert verdict.outcome is outcome


def test_names_of_the_vocabulary_count_against() -> None:
    """A name that is not a resource of the path lowers textShortPrecision."""
    verdict = connection("anne is a Person in the researchDep of wonderOrg")
    assert verdict.scores["textShortPrecision"] == 3 / 4
    assert verdict.scores["textShortRecall"] == 3 / 5
    assert verdict.scores["textHttpPrecision"] == 1.0
    assert verdict.scores["textHttpRecall"] == 0.0


# --- RdfFriendCount ---------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(1, 6), st.integers(0, 40), st.integers(0, 30))
def test_one_person_is_known_by_more(knows: int, additional: int, special: int, more: int) -> None:
    """Each person is known by `knows` others, the special one by `additional` more."""
    persons = knows + additional + 1 + more
    places = tuple(range(persons))
    graph = FriendGraph(persons, knows, special % persons, additional, places, places)
    known = Counter(p for place in places for p in graph.known_by(place))
    assert known.pop(graph.special) == knows + additional
    assert set(known.values()) == {knows}
    for place in places:
        others = graph.known_by(place)
        assert place not in others
        assert len(set(others)) == len(others)
    assert len(graph.special_friends) == additional


def test_friends_are_the_same_in_every_format() -> None:
    """All formats have the same number of persons, fitted to the size in Turtle."""
    sizes = set()
    for label in ("turtle", "jsonld", "xml", "nt"):
        for case in cases_of(f"RdfFriendCount-{label}-2", 3):
            read = EXECUTOR.parse(case.data["graph"], case.data["graphFormat"])
            assert read.triples is not None, read.error
            n = case.data["n"]
            assert len(set(read.triples)) == len(read.triples) == n + n * 2 + 2
            sizes.add(n)
    assert len(sizes) == 1


@pytest.mark.parametrize("size", [800, 1000, 2000, 4000, 8000])
def test_the_prompt_fills_the_size(size: int) -> None:
    """A Turtle prompt has at most the wanted size, with no room for another person."""
    task = catalogue.make_task("RdfFriendCount", "sized", {"size": size})
    (case,) = rdf_friend_count.cases(task, "test", 0, 1)
    length = len(rdf_friend_count.prompt(case))
    assert length <= size < length + 130


def test_a_size_that_is_too_small_is_refused() -> None:
    """A size that is too small is refused with the smallest possible one."""
    task = catalogue.make_task("RdfFriendCount", "small", {"size": 600})
    with pytest.raises(TaskError, match="needs a size of at least"):
        rdf_friend_count.cases(task, "test", 0, 1)


def test_seeds_and_iterations_make_different_graphs() -> None:
    """Different iterations, seeds and labels give different graphs."""
    task = catalogue.labelled_tasks()["RdfFriendCount-turtle-1"]
    other = catalogue.labelled_tasks()["RdfFriendCount-turtle-2"]
    found = [
        case.digest
        for task, seed in ((task, 0), (task, 1), (other, 0))
        for case in rdf_friend_count.cases(task, "test", seed, 20)
    ]
    assert len(set(found)) == 60
    specials = {c.data["specialNodeIri"] for c in rdf_friend_count.cases(task, "test", 0, 40)}
    assert len(specials) > 3


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("{0}", {"f1": 1.0, "exact": 1.0, "brevity": 1.0}),
        ("<{0}>", {"f1": 1.0, "brevity": 1.0}),
        ("<{0}>\n", {"f1": 1.0, "brevity": 43 / 44}),
        ("{0} and not {1}", {"f1": 2 / 3, "precision": 0.5, "exact": 0.0, "noSpecialFriends": 0.0}),
        ("person-4", {"recall": 0.0, "precision": 0.0, "noSpecialFriends": 1.0}),
        ("{1}", {"f1": 0.0, "noSpecialFriends": 0.0}),
        ("", {"f1": 0.0, "noSpecialFriends": 1.0, "brevity": 1.0}),
    ],
)
def test_persons_in_answers(answer: str, expected: dict[str, float]) -> None:
    """The special person counts by its full name without other words."""
    (case,) = cases_of("RdfFriendCount-turtle-1", 1)
    special, friend = case.data["specialNodeIri"], case.data["specialFriends"][0]
    verdict = rdf_friend_count.judge(case, [answer.format(special, friend)], EXECUTOR)
    assert {name: verdict.scores[name] for name in expected} == pytest.approx(expected)


def test_cases_without_a_graph_cannot_be_asked() -> None:
    """A published case without its graph cannot be asked, and the error says so."""
    for module in (rdf_friend_count, rdf_connection_explain):
        case = catalogue.make_case("llm-kg-bench-3", module.NAME, {}, {"graphFormat": "nt"})
        with pytest.raises(TaskError, match="has no graph"):
            module.prompt(case)


# --- RdfSyntaxFixList -------------------------------------------------------------------------

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
    from kgbench.tasks import texts

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
        rdf_syntax_fix._with_faults("a document", declared)


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
    return rdf_syntax_fix.judge(case, [answer] * rounds, EXECUTOR)


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
        rdf_syntax_fix.judge(spoilt, [f"```\n{document()}\n```"], EXECUTOR)
