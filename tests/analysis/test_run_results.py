# SPDX-License-Identifier: Apache-2.0
"""Results of a run: how its answers ended, warnings that help, its worst dialogues.

That an answer was cut off and that it cannot be parsed are two facts, and both are shown.
"""

from __future__ import annotations

import json
from collections import Counter
from operator import attrgetter

import pytest

from kgbench.analysis.leaderboard import leaderboard
from kgbench.analysis.outcomes import Ending, count_errors, outcomes
from kgbench.analysis.run_results import about_model, is_endless
from kgbench.analysis.task_scores import task_scores
from kgbench.analysis.worst import ScoredDialogue, main_values, worst, worst_dialogues
from kgbench.errors import QueryError
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.rdf import queries
from kgbench.record import reading
from kgbench.scores.catalogue import tasks
from kgbench.scores.selection import select
from kgbench.store import open_store
from tests.support.analysis_store import altered, small
from tests.support.commands import printed
from tests.support.reevaluating import reevaluate
from tests.support.runs import Stop, hold, planned
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer
from tests.support.servers.openai_server import OpenAISpeech

LABEL = "RdfSyntaxFixList-turtle"
ROUNDS = 3
CUT = Counter(
    {Ending("unparsable", "truncated"): 20, Ending("scored", "truncated"): 7, Ending("scored"): 10}
)


@pytest.fixture(scope="module")
def looping(tmp_path_factory):
    """Return the place of a store with one dialogue whose answers are cut off, and its server."""
    path = tmp_path_factory.mktemp("looping") / "store"
    with (
        pytest.MonkeyPatch.context() as patch,
        LoopbackServer(OpenAISpeech(), script=scripts.always(scripts.TRUNCATION)) as server,
        open_store(str(path)) as store,
    ):
        patch.setenv("OPENAI_API_KEY", "sk-loopback")
        plan = planned([LABEL], f"openai:small@{server.url}", iterations=1)
        assert hold(store, plan).finished
    return path


def test_cut_off_answers_that_do_not_parse_count_as_both(looping):
    """Tables say unreadable and truncated; a re-evaluation and its tables say the same."""
    with open_store(str(looping)) as store:
        with executor("local:1") as pool:
            found = reevaluate(store, reading.find_run(store, None), pool, JudgeLimits())
        assert found.comparison.differing == []
        for pass_ in ("first", "latest"):
            chosen = select(store, pass_=pass_)
            for make in (leaderboard, task_scores):
                (row,) = make(store, chosen).records()
                assert (row["n"], row["unreadable"]) == (1, 1.0)
            (row,) = outcomes(store, chosen).records()
            assert (row["n"], row["unparsable"], row["truncated"]) == (ROUNDS, 1.0, 1.0)


@pytest.mark.parametrize("outcome", ["truncated", "unparsable"])
def test_such_dialogues_are_found_by_either_outcome(looping, outcome):
    """`kgbench dialogues` finds them by both, and `kgbench status` gives the rate of both."""
    words = ("--store", looping, "--json")
    (found,) = json.loads(printed("dialogues", "--outcome", outcome, *words))["rows"]
    assert found["outcome"] == "truncated, unparsable"
    (state,) = json.loads(printed("status", *words))
    (rates,) = state["outcomes"].values()
    assert rates[outcome] == {"answers": ROUNDS, "rate": 1.0}


def test_a_cut_off_answer_is_no_failure(monkeypatch):
    """A dialogue that a stop leaves open after such an answer has not failed."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    stop = Stop()

    def script(_):
        stop.soon()
        return scripts.Behaviour(scripts.TRUNCATION)

    with LoopbackServer(OpenAISpeech(), script=script) as server, open_store("memory:") as store:
        plan = planned([LABEL], f"openai:small@{server.url}", iterations=1)
        assert hold(store, plan, stop=stop).interrupted
        assert count_errors(store, select(store), tasks(store)) == {}


def warnings(endless: int) -> list[str]:
    """Return the warnings about a model of whose 37 answers 27 were cut off."""
    return [*about_model("m", CUT, endless, {})]


@pytest.mark.parametrize(
    ("text", "endless"),
    [
        ("person " * 20, True),
        ("The answer is: " + ":a :b :c .\n" * 30 + ":a :b", True),
        ("x" * 100, True),
        ("x" * 99, False),
        ("pi is 1.0000", False),
        (" " * 500, False),
        (":a :b :c .\n" * 30 + "done", False),
        ("".join(f"person {number}, " for number in range(300)), False),
        ("", False),
    ],
)
def test_endless_texts_end_with_repetitions(text: str, endless: bool) -> None:
    """A text is endless if its end repeats itself over a hundred characters."""
    assert is_endless(text) is endless


def test_no_higher_limit_is_advised_against_repetitions() -> None:
    """Answers that repeat themselves are named apart from those that a higher limit would end."""
    (line,) = warnings(27)
    assert line == (
        "27 of 37 answers of m repeat the same text up to the limit of tokens: "
        "a higher limit does not help"
    )
    repeated, cut = warnings(7)
    assert repeated.startswith("7 of 37")
    assert cut == (
        "20 of 37 answers of m are truncated: raise max_tokens, or choose a model with a "
        "longer context"
    )


def test_long_lists_are_left_out_of_a_query_for_people():
    """A compact query omits long lists and counts them; a full one has each value once."""
    given = {
        "model": "urn:m",
        "metric": ["urn:a", "urn:b", "urn:c"],
        "passGraph": ["urn:p", "urn:q"],
    }
    query = queries.load("score-rows")
    brief, whole = queries.compact(query, 2, **given), queries.compact(query, **given)
    assert "# ?metric: one of 3 values, not shown" in brief
    assert "VALUES ?passGraph { <urn:p> <urn:q> }" in brief
    assert all(whole.count(f"<{one}>") == 1 for one in ("urn:a", "urn:b", "urn:c", "urn:q"))
    with pytest.raises(QueryError, match="no parameter 'x'"):
        queries.compact(query, x="urn:x")


def test_errors_count_as_bad_where_they_are_many():
    """If lower values are better, the highest is the worst, and zero errors are as good as 1."""
    scored = [
        ScoredDialogue("T", "f1", None, 0, 0.5, "run/1", "m"),
        ScoredDialogue("T", "errors", None, 0, 0.0, "run/2", "m", higher_is_better=False),
        ScoredDialogue("T", "errors", None, 0, 3.0, "run/3", "m", higher_is_better=False),
        ScoredDialogue("T", "f1", None, 1, 0.1, "run/3", "m"),
    ]
    assert [one.dialogue for one in worst(scored)] == ["run/3", "run/1", "run/2"]
    assert [one.metric for one in worst(scored, 1)] == ["errors"]


def test_models_that_fail_everywhere_are_left_out():
    """Their dialogues would hide those of the others; if no other fails, they are shown."""
    failing = """PREFIX kgb: <https://w3id.org/kgbench/ns#>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        DELETE { GRAPH ?g { ?e ?metric ?score } }
        INSERT { GRAPH ?g { ?e ?metric 0.0e0 } }
        WHERE { GRAPH ?g { ?e kgb:model <model/model-a> ; ?metric ?score
                           FILTER (DATATYPE(?score) = xsd:double) } }"""
    store = altered(failing)
    found = worst_dialogues(store, select(store))

    assert {one.model for one in found} == {"Model B"}


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 1_000])
def test_the_worst_are_found_by_their_values(limit):
    """Reading only the worst values finds the same dialogues as reading all values."""
    store = small()
    selection = select(store)
    every = list(main_values(store, selection))
    of_cells = attrgetter("model", "part")
    wanted = worst((value for value in every if value.badness < 1), limit, of_cells)
    found = worst_dialogues(store, selection, limit)
    assert found == wanted
    assert len(found) == min(limit, len({of_cells(value) for value in every if value.badness < 1}))
    values = {value.value for value in every}
    assert len(values) > 2
    low = min(values)
    read = [value.value for value in main_values(store, selection, [low])]
    assert read == [low] * sum(value.value == low for value in every)
