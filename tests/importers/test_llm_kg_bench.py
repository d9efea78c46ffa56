# SPDX-License-Identifier: Apache-2.0
"""LLM-KG-Bench results are imported as runs, dialogues and evaluations."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from difflib import SequenceMatcher, unified_diff
from typing import Any

import pytest

from kgbench.importers.archives import ResultFile
from kgbench.importers.llm_kg_bench import ImportedRun, model_id, read_runs
from kgbench.model import Evaluation, Outcome
from kgbench.store.iris import Iris, id_from
from kgbench.tasks import catalogue
from tests.support.archives import (
    COMMIT,
    START,
    as_json,
    dialogue_v3,
    record_v1,
    record_v2,
    record_v3,
)


def runs(*records: dict[str, Any], suite: str | None = None) -> list[ImportedRun]:
    """Return the runs in a file of ``records``, read to the end so that their tasks are known."""
    found = read_runs(ResultFile("f.json", as_json(records)), Iris(), suite)
    return [run for run in found if list(run.items)]


def the_run(*records: dict[str, Any]) -> ImportedRun:
    """Return the only run in a file of ``records``."""
    (found,) = runs(*records)
    return found


def named(evaluation: Evaluation) -> dict[str, float]:
    """Return the scores of an evaluation by short name."""
    return {iri.rpartition("/")[2]: value for iri, value in evaluation.scores.items()}


@pytest.mark.parametrize(
    ("record", "suite", "label"),
    [
        (record_v1(), "llm-kg-bench-1", "TurtleFriendCount-6"),
        (record_v1("FactExtractStatic"), "llm-kg-bench-1", "FactExtractStatic"),
        (record_v2(), "llm-kg-bench-2", "Sparql2AnswerListOrgaTurtle"),
        (record_v3(), "llm-kg-bench-3", "RdfFriendCount-turtle-1"),
    ],
)
def test_generations_have_suites_and_labels(record: dict[str, Any], suite: str, label: str) -> None:
    """Each generation has its own suite; labels of the first follow from class and size."""
    run = the_run(record)
    assert run.suite == suite
    assert [task.label for task in run.tasks.values()] == [label]
    ((dialogue, _),) = run.items
    assert dialogue.suite == f"https://w3id.org/kgbench/suite/{suite}"


def test_run_is_attributed_to_framework_and_commit() -> None:
    """A run names its source, and the framework with the commit that computed the scores."""
    run = the_run(record_v3())
    assert run.software.name == "LLM-KG-Bench"
    assert run.software.commit == COMMIT
    assert (run.source, run.digest) == ("f.json", ResultFile("", as_json([record_v3()])).digest)
    assert run.run_id == id_from(run.digest)
    assert run.pass_id != run.run_id
    assert (run.started, run.ended) == (START, START + timedelta(seconds=1))


def test_other_commits_are_other_runs() -> None:
    """A file merged from several runs of the framework becomes as many runs."""
    other = record_v3()
    other["taskInfo"]["gitCommit"] = "f" * 40
    found = runs(record_v3(), other, record_v3(), record_v1())
    assert [(run.software.commit, len(run.items)) for run in found] == [
        (COMMIT, 2),
        ("f" * 40, 1),
        (COMMIT, 1),
    ]
    assert len({run.run_id for run in found}) == 3
    assert len({run.pass_id for run in found}) == 3


def test_suite_can_be_named() -> None:
    """A named suite replaces that of the generation in dialogues and cases."""
    (run,) = runs(record_v3(), suite="mine")
    assert run.suite == "mine"
    assert {case.suite for case in run.cases.values()} == {"mine"}


def test_flat_scores_belong_to_the_answer() -> None:
    """A task with one answer has one evaluation, of round 0, with every score as a double."""
    record = record_v3(scores={"recall": 1, "f1": 0.3333333333333333, "brevity": 0})
    ((dialogue, (evaluation,)),) = the_run(record).items
    assert (evaluation.round, evaluation.dialogue) == (0, dialogue.iri)
    assert named(evaluation) == {"recall": 1.0, "f1": 0.3333333333333333, "brevity": 0.0}
    assert all(type(value) is float for value in evaluation.scores.values())
    assert evaluation.outcome is Outcome.SCORED


def test_nested_scores_belong_to_rounds_and_dialogue() -> None:
    """A dialogue has an evaluation for each answer, and one for the whole with the aggregates."""
    record = dialogue_v3()
    ((dialogue, found),) = the_run(record).items
    assert [e.round for e in found] == [0, 1, None]
    assert [named(e) for e in found[:2]] == [record["scores"]["0"], record["scores"]["1"]]
    assert named(found[2]) == {
        "mean_combined": 0.625,
        "max_combined": 1.0,
        "meanExt_combined": 0.75,
        **{f"last_{name}": value for name, value in record["scores"]["last"].items()},
    }
    path = dialogue.iri.partition("/run/")[2].partition("/")[2]
    assert [e.iri.partition(path)[2] for e in found] == ["/0", "/1", ""]
    assert [e.outcome for e in found] == [Outcome.UNPARSABLE, Outcome.SCORED, Outcome.SCORED]


def test_declared_metrics_are_used() -> None:
    """A score that the task class declares in this version uses the declared metric."""
    run = the_run(dialogue_v3())
    declared = {m.iri for m in catalogue.task_class("RdfSyntaxFixList").metrics.values()}
    assert {iri for _, found in run.items for e in found for iri in e.scores} <= declared
    assert run.undeclared_metrics == {}


def test_undeclared_metrics_are_reported() -> None:
    """Scores of an unknown class, version or name get IRIs of the pattern and are reported."""
    sparql = record_v3("Sparql2AnswerListOrganizational", version="2.0")
    strange = dialogue_v3(scores={"0": {"charm": 1}, "mean": {"charm": 1}})
    run = the_run(sparql, record_v3(version="4.3"), strange)
    base = "https://w3id.org/kgbench/metric/"
    assert set(run.undeclared_metrics) == {
        f"{base}Sparql2AnswerListOrganizational/2.0/{name}" for name in ("recall", "f1")
    } | {f"{base}RdfFriendCount/4.3/{name}" for name in ("recall", "f1")} | {
        f"{base}RdfSyntaxFixList/0.3-testing/{name}" for name in ("charm", "mean_charm")
    }
    mean = run.undeclared_metrics[f"{base}RdfSyntaxFixList/0.3-testing/mean_charm"]
    assert (mean.aggregation, mean.base) == (
        "mean",
        f"{base}RdfSyntaxFixList/0.3-testing/charm",
    )


def test_infos_come_along() -> None:
    """Infos are kept with their scores, and ``last`` only if it differs from the last round."""
    ((_, found),) = the_run(dialogue_v3()).items
    assert [e.infos for e in found[:2]] == [
        {"syntaxError": "an end was expected"},
        {"syntaxError": None},
    ]
    assert found[2].infos == {
        "multiShotCount": 2,
        "published": {"taskSizeInfo": {"targetSize": None, "estimatedSize": 20, "actualSize": 21}},
    }
    record = dialogue_v3()
    record["info"]["last"] = {"syntaxError": "other"}
    ((_, found),) = the_run(record).items
    assert found[2].infos["last"] == {"syntaxError": "other"}


def test_everything_else_is_kept() -> None:
    """Other fields are kept as published, except derivable ones and null."""
    record = record_v3()
    record["reevalOriginalTime"] = "2024-01-01T00:00:00"
    record["taskInfo"]["condensedTaskData"] = {"n": 7}
    record["taskInfo"]["remark"] = "a remark"
    record["extra"] = [1, 2]
    ((_, (evaluation,)),) = the_run(record).items
    assert evaluation.infos == {
        **record["info"],
        "published": {
            "taskSizeInfo": record["taskSizeInfo"],
            "reevalOriginalTime": "2024-01-01T00:00:00",
            "condensedTaskData": {"n": 7},
            "remark": "a remark",
            "extra": [1, 2],
        },
    }


def test_turns_have_texts_and_times() -> None:
    """A call lasts from its prompt to its response, and feedback has its kind."""
    ((dialogue, _),) = the_run(dialogue_v3()).items
    assert [(t.prompt, t.answer, t.feedback) for t in dialogue.turns] == [
        ("Mend this.", ":a :b", None),
        ("A syntax error remains.", ":a :b 1 .", "syntax"),
    ]
    calls = [turn.calls[0] for turn in dialogue.turns]
    assert [(c.started - START).seconds for c in calls] == [0, 2]
    assert [(c.ended - START).seconds for c in calls] == [1, 3]
    assert dialogue.started == START
    assert dialogue.ended == START + timedelta(seconds=3)
    assert dialogue.started.tzinfo is None


@pytest.mark.parametrize(
    "text", ["a\tb\r\n", "\x00\x01\x7f", "\ud800 lone \udfff", " \u2028\ufeff", "é" * 10_000_000]
)
def test_texts_are_kept_exactly(text: str) -> None:
    """Control characters, lone surrogates and ten megabytes of text are kept unchanged."""
    ((dialogue, _),) = the_run(record_v3(texts=["ask " + text, text + "!"])).items
    assert (dialogue.turns[0].prompt, dialogue.turns[0].answer) == ("ask " + text, text + "!")


def test_iterations_follow_the_record_order() -> None:
    """Iterations are counted per model and label, in the order of the records."""
    a, b = record_v3(), record_v3(label="RdfFriendCount-turtle-2")
    other = record_v3(model="Bird--parrot--parrot-3")
    found = the_run(a, b, a, other, a).items
    assert [dialogue.iteration for dialogue, _ in found] == [0, 0, 1, 0, 2]
    assert len({dialogue.iri for dialogue, _ in found}) == 5


def test_same_input_gives_the_same_iris() -> None:
    """The same input gives the same result, independent of time and chance."""
    one, other = (the_run(record_v3(), dialogue_v3()) for _ in range(2))
    assert replace(one, items=list(one.items)) == replace(other, items=list(other.items))


def test_equal_cases_are_one() -> None:
    """Records with the same task data share a case, whatever the prompt."""
    run = the_run(record_v3(texts=["a", "b"]), record_v3(texts=["c", "d"]))
    (case,) = run.cases.values()
    assert {dialogue.case for dialogue, _ in run.items} == {case.iri}
    assert case.data == record_v3()["taskData"]
    assert case.parameters == {"graphFormat": "turtle", "specialAddKnowsCount": 1}
    assert run.versions == {case.iri: "4.4"}


def test_case_is_named_by_its_uid() -> None:
    """A case is named by the published uid, under either of its two keys."""
    run = the_run(record_v2(), record_v2(data={"taskUid": "t 1"}))
    assert {case.uid for case in run.cases.values()} == {"q1", "t 1"}


def test_tasks_of_declared_classes_are_the_declared_ones() -> None:
    """The published format nt is kgbench's ntriples, so that old and new results share a task."""
    record = record_v3(
        label="RdfFriendCount-nt-1", parameters={"graphFormat": "nt", "specialAddKnowsCount": 1}
    )
    (task,) = the_run(record).tasks.values()
    expected = catalogue.make_task(
        "RdfFriendCount",
        "RdfFriendCount-nt-1",
        {"graphFormat": "ntriples", "specialAddKnowsCount": 1},
    )
    assert task == expected


def test_unknown_parameters_make_a_task_of_their_own() -> None:
    """Undeclared parameters of a declared class make a task of their own."""
    (task,) = the_run(record_v3(parameters={"colour": "blue"})).tasks.values()
    assert task.parameters == {"colour": "blue"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("GPT--gpt-4o-mini-2024-07-18--gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18"),
        ("GPT--gpt-3.5-turbo--gpt-3.5-turbo-0613", "gpt-3.5-turbo-0613"),
        ("Google--models/gemini-1.5-flash-002", "gemini-1.5-flash-002"),
        ("Claude--claude-1.3-100k", "claude-1.3-100k"),
        ("Claude--claude-1.3-100k--claude-1.3-100k", "claude-1.3-100k"),
        ("TestModel--Fixed Answers--answer = ", "Fixed Answers"),
        ("parrot", "parrot"),
        ("--", "--"),
    ],
)
def test_model_ids(source: str, expected: str) -> None:
    """The id of a model is the last part of its name in the records."""
    assert model_id(source) == expected


def test_two_spellings_are_one_model() -> None:
    """A model whose id has two spellings is one model that keeps both."""
    run = the_run(
        record_v1(model="Claude--claude-1.3-100k"),
        record_v1(model="Claude--claude-1.3-100k--claude-1.3-100k"),
    )
    (model,) = run.models.values()
    assert model.setup.model_id == "claude-1.3-100k"
    assert model.source_ids == (
        "Claude--claude-1.3-100k",
        "Claude--claude-1.3-100k--claude-1.3-100k",
    )
    assert [dialogue.iteration for dialogue, _ in run.items] == [0, 1]


FULL = "ERROR: The prompt size exceeds the context window"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("", Outcome.EMPTY), (" \n", Outcome.EMPTY), (FULL, Outcome.SCORED)],
)
def test_outcomes_of_flat_records(answer: str, outcome: Outcome) -> None:
    """Empty answers, and calls with a full context, have outcomes besides the published scores."""
    ((dialogue, (evaluation,)),) = the_run(record_v1(texts=["ask", answer])).items
    assert (reply := dialogue.turns[0].calls[-1].reply) is not None
    assert reply.outcome is (Outcome.CONTEXT_TOO_LONG if answer == FULL else None)
    assert evaluation.outcome is outcome
    assert evaluation.scores


def test_friend_count_of_the_first_generation_gets_its_data() -> None:
    """Counts and special friends are derived from the infos, as in the published graph."""
    info = {
        "persons": 16,
        "triples": 51,
        "specialNode": "http://example.org/people/person-00000004",
    }
    run = the_run(record_v1(info=info))
    (case,) = run.cases.values()
    (task,) = run.tasks.values()
    assert task.parameters["size"] == 16
    assert case.data == {
        "graphFormat": "turtle",
        "n": 16,
        "knowsCount": 2,
        "specialIndex": 3,
        "specialAddKnowsCount": 3,
        "specialNodeIri": "http://example.org/people/person-00000004",
        "specialFriends": ["person-00000007", "person-00000008", "person-00000009"],
    }


@pytest.mark.parametrize(
    "info", [{}, {"persons": 16}, {"persons": "x", "triples": [], "specialNode": 3}]
)
def test_friend_count_without_infos_is_taken(info: dict[str, Any]) -> None:
    """Without the infos the case has only its format."""
    (case,) = the_run(record_v1(info=info)).cases.values()
    assert case.data == {"graphFormat": "turtle"}


def test_corrected_graph_of_the_first_generation() -> None:
    """The corrected graph is recovered for all records by undoing a recorded diff."""
    task, optimal = ":a :b :c\n:d :e :f .", ":a :b :c .\n:d :e :f ."
    answers = ["Sorry.\n:a :b :c .", ":a :b :c .\n:d :e :g ."]

    def record(answer: str, compared: str) -> dict[str, Any]:
        lines = unified_diff(optimal.split("\n"), compared.split("\n"), "optimal", "answer")
        info = {
            "diff": "\n".join(lines),
            "diffRatioQuestion": SequenceMatcher(None, task, optimal).ratio(),
        }
        return record_v1("TurtleErrorsStatic", info=info, texts=[f"Mend this.\n\n{task}", answer])

    run = the_run(record(answers[0], ":a :b :c ."), record(answers[1], answers[1]))
    (case,) = run.cases.values()
    assert case.data == {"graphFormat": "turtle", "task": task, "optimal": optimal}


def test_generated_graph_of_the_first_generation() -> None:
    """The number of persons is the size and the data of a generation task."""
    run = the_run(record_v1("SyntheticDatasetGeneration", info={"n_persons": 20}))
    (case,) = run.cases.values()
    assert [task.label for task in run.tasks.values()] == ["SyntheticDatasetGeneration-20"]
    assert case.data == {"graphFormat": "turtle", "n": 20}


@pytest.mark.parametrize(
    ("kind", "block", "expected"),
    [("graph", "turtle", ":a :b :c ."), ("graph", "xml", None), ("schema", "turtle", None)],
)
def test_graph_printed_in_the_prompt(kind: str, block: str, expected: str | None) -> None:
    """The graph of CoypuMini queries is taken from a prompt that shows it whole."""
    record = record_v3(
        "Text2SparqlExecEvalListCoypuMini",
        label="Text2SparqlExecEvalListCoypuMini",
        version="3.0",
        parameters={"kgInfoType": kind, "kgInfoFormat": "turtle"},
        data={"uid": "c1", "kgInfoType": kind, "kgInfoFormat": "turtle"},
        texts=[f"Ask it so:\n```sparql\nSELECT\n```\nof\n```{block}\n:a :b :c .\n```\nDo.", "x"],
    )
    (case,) = the_run(record).cases.values()
    assert case.data.get("graph") == expected


@pytest.mark.parametrize(
    ("before", "kind"),
    [
        ({"parsableSyntax": 0}, "syntax"),
        ({"parsableSyntax": 1, "contentF1": 0.9}, "content"),
        ({"parsableSyntax": 1, "contentF1": 1.0}, "format"),
        ({"answerParse": 0.0}, "syntax"),
        ({"answerParse": 1.0, "f1measure": 0.0}, "empty-result"),
        ({"other": 1.0}, None),
    ],
)
def test_kinds_of_feedback(before: dict[str, float], kind: str | None) -> None:
    """The kind of a feedback prompt follows from the scores of the answer before it."""
    given = dialogue_v3()["scores"] | {"0": before}
    ((dialogue, _),) = the_run(dialogue_v3(scores=given)).items
    assert dialogue.turns[1].feedback == kind
