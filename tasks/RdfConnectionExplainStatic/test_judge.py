# SPDX-License-Identifier: Apache-2.0
"""The connection of two persons: the path, and the lines, IRIs and names of answers."""

from __future__ import annotations

import pytest

from kgbench.api import Outcome, PlainExecutor, Verdict, compare_graphs
from kgbench.families.RdfConnectionExplainStatic.judge import family
from tests.support.families import cases

EXECUTOR = PlainExecutor()


def connection(answer: str) -> Verdict:
    """Return the verdict on an answer about the connection."""
    (case,) = cases("RdfConnectionExplainStatic-turtle", 1)
    return family.judge(case, [answer], EXECUTOR)


def test_every_format_shows_the_same_graph() -> None:
    """The connection's graph is the same in all formats; only Turtle is written by hand."""
    graphs = {}
    for label in ("turtle", "jsonld", "xml", "nt"):
        (case,) = cases(f"RdfConnectionExplainStatic-{label}", 1)
        read = EXECUTOR.parse(case.data["graph"], case.data["graphFormat"])
        assert read.triples is not None, read.error
        graphs[label] = read.triples
    for each in graphs.values():
        assert len(each) == len(graphs["turtle"]) == 29
        assert compare_graphs(graphs["turtle"], each).f1 == 1.0


def test_the_path_is_the_shortest_one() -> None:
    """No other chain of statements, types excluded, is as short as the expected one."""
    (case,) = cases("RdfConnectionExplainStatic-nt", 1)
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
    assert names == [f"<https://abc.def/ghi/{name}>" for name in family.path]


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
    verdict = connection(answer.format(*(f"https://abc.def/ghi/{name}" for name in family.path)))
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
