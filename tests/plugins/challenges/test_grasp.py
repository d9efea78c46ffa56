# SPDX-License-Identifier: Apache-2.0
"""GRASP messages are imported as turns with tool calls, which an audit executes again."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.datasets import home
from kgbench.errors import ImportRefused
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.pools import executor
from kgbench.importers.load import load
from kgbench.model import Reply
from kgbench.plugins.challenges import grasp, grasp_transcripts
from kgbench.plugins.challenges.grasp_transcripts import EXTRACTION, Transcript, transcript
from kgbench.plugins.challenges.published_answers import imported_run
from kgbench.record import reading
from kgbench.record.dialogues import dialogues
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.reevaluation.tool_audit import Audit, audit
from kgbench.store.embedded import EmbeddedStore
from kgbench.tasks import graphs
from kgbench.tool_calls import TOOL_RESULTS, ToolCall, ToolOutcome, ToolResult
from kgbench.tools import wording
from kgbench.worlds.generator import World
from tests.support.validation import assert_conforms

BEGUN = datetime(2025, 1, 1, tzinfo=UTC)
SYSTEM = {
    "role": "system",
    "content": "You may use:\nrdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#",
}
USER = {"role": "user", "content": "How many?"}
GRAPH = World("0123456789abcdef", 60, "natural").name  # small and generated, never installed
ALL = "SELECT * { ?s a ?kind }"


def called(name: str, id_: str | None = "1", **arguments: Any) -> dict[str, Any]:
    """Return a call in the format of 2025."""
    return {
        "id": id_,
        "type": "function",
        "function": {"name": name, "arguments": json.dumps(arguments)},
    }


def said(content: Any, *calls: Any, **more: Any) -> dict[str, Any]:
    """Return a message of the model in the format of 2025."""
    return {"role": "assistant", "content": content, "tool_calls": list(calls), **more}


def gave(content: Any, id_: str | None = "1") -> dict[str, Any]:
    """Return the result of a call in the format of 2025."""
    return {"role": "tool", "content": content, "tool_call_id": id_}


def told(messages: Any, final: str = "ASK {}", seconds: float = 6.0) -> Transcript:
    """Return the transcript of messages."""
    return transcript(messages, final, "Who?", BEGUN, seconds, "gpt", "run.jsonl:1")


def test_the_form_of_2025() -> None:
    """In the format of 2025 each message of the model is a turn; results begin the next prompt."""
    found = told(
        [
            SYSTEM,
            USER,
            said("I look.", called("search_entity", query="a"), called("list", "2")),
            gave("No list items found", "2"),
            gave("Top 10 entity alternatives:\n1. A"),
            said(None, called("answer", sparql="ASK {}"), reasoning_content="Hm."),
            gave("Stopped generation process"),
        ]
    )
    first, last = found.turns
    assert first.prompt == f"{SYSTEM['content']}\n\nHow many?"
    assert first.feedback is None
    assert last.feedback == TOOL_RESULTS
    assert [use.result.outcome for use in first.uses] == [ToolOutcome.OK, ToolOutcome.EMPTY]
    results, note = wording.split_results(last.prompt)
    assert ([one.tool for one in results], note) == (["search_entity", "list"], "")
    reply = last.calls[-1].reply
    assert reply is not None
    assert (reply.answer, reply.extraction, reply.reasoning) == ("ASK {}", EXTRACTION, "Hm.")
    assert [call.name for call in wording.calls(reply.text)] == ["answer"]
    assert last.uses[0].result.text == "Stopped generation process"
    assert [turn.calls[0].ended - BEGUN for turn in found.turns] == [
        timedelta(seconds=3),
        timedelta(seconds=6),
    ]
    assert found.ended - BEGUN == timedelta(seconds=6)


def test_the_form_of_2026() -> None:
    """In the format of 2026 calls have results, times and tokens; a loop message is a prompt."""
    content = {
        "id": "m",
        "message": {"id": "x", "content": "I look."},
        "reasoning": {"id": "r", "content": None, "summary": "Hm."},
        "tool_calls": [
            {"id": "1", "name": "execute", "args": {}, "result": "Got no rows", "elapsed": 2},
            {"id": "2", "name": "list", "args": {}, "result": None, "error": "stopped"},
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7},
        "elapsed": 1.5,
    }  # fmt: skip
    again = {"id": "3", "name": "list", "args": {}, "result": "Not executed due to loop"}
    looped = {"message": None, "tool_calls": [again]}
    image = [
        {"type": "text", "text": "Who is it?"},
        {"type": "image_url", "image_url": {"url": "x"}},
    ]
    found = told(
        [
            SYSTEM,
            {"role": "user", "content": image},
            {"role": "assistant", "content": content},
            {"role": "assistant", "content": looped},
            {"role": "user", "content": "A loop was detected."},
            {"role": "assistant", "content": {"message": "I give up.", "tool_calls": []}},
            {"role": "feedback", "content": "Done."},
        ],
        final="",
    )
    first, second, third = found.turns
    assert "Who is it?\n{" in first.prompt
    reply = first.calls[0].reply
    assert isinstance(reply, Reply)
    assert (reply.reasoning, reply.usage.input, reply.usage.output) == ("Hm.", 5, 7)
    assert (first.uses[0].ended, second.calls[0].started) == (BEGUN + timedelta(seconds=3.5),) * 2
    assert [use.result.outcome for use in first.uses] == [ToolOutcome.EMPTY, ToolOutcome.ERROR]
    assert first.uses[1].result.text == grasp_transcripts.NOT_PUBLISHED
    assert second.uses[0].result.outcome is ToolOutcome.REFUSED
    assert wording.split_results(third.prompt)[1] == "A loop was detected."
    assert (third.answer, found.closing) == ("", "Done.")


@pytest.mark.parametrize(
    "call",
    [
        "nothing",
        {"id": "1"},
        {"id": 1, "function": {"name": "list", "arguments": "{"}},
        {"function": {"name": "list", "arguments": "[]"}},
        {"name": None, "args": {}},
    ],
)
def test_calls_that_cannot_be_read_are_kept(call: Any) -> None:
    """A call without a name or without an object of arguments is malformed."""
    (turn,) = told([USER, said("", call), gave("Failed to call function", None)]).turns
    (use,) = turn.uses
    assert use.call.malformed
    assert use.result.fault == "malformed"
    assert use.result.text == "Failed to call function"


@pytest.mark.parametrize("messages", [[], [SYSTEM, USER], [USER, gave("nobody asked")]])
def test_a_run_without_an_answer_of_the_model(messages: list[Any]) -> None:
    """If the model gave no answer, the query of the run is the answer."""
    (turn,) = told(messages, final="ASK {}").turns
    assert (turn.answer, turn.uses) == ("ASK {}", ())
    assert turn.prompt == ("\n\n".join(m["content"] for m in messages) or "Who?")


@pytest.mark.parametrize(
    "messages", ["no", [1], [{"content": "a"}], [{"role": 1}], {"role": "user"}]
)
def test_what_is_no_list_of_messages_is_refused(messages: Any) -> None:
    """Messages that are not a list are refused with file and line."""
    with pytest.raises(ImportRefused, match=r"run\.jsonl:1"):
        told(messages)


@pytest.mark.parametrize(
    ("text", "outcome", "shown"),
    [
        ("Got 1 row and 2 columns:\n| a |", "ok", 1),
        ("Got 1,024 rows and 1 column, showing the first 10 rows below:", "truncated", 1024),
        ("Got no rows and 0 columns", "empty", 0),
        ("True", "ok", True),
        ("Result: false", "ok", False),
        ("SPARQL execution failed:\nGot 3 rows", "error", None),
        ("Failed to call function execute:\nno", "error", None),
        ("Call to function execute returned an error:\nno", "error", None),
    ],
)
def test_results_are_read(text: str, outcome: str, shown: object) -> None:
    """The text of a result tells the call's outcome and its rows or truth value."""
    assert grasp_transcripts.outcome(text) == outcome
    assert (
        grasp_transcripts.parse_result(text) is shown
        or grasp_transcripts.parse_result(text) == shown
    )


def test_a_truth_value_is_no_number_of_rows() -> None:
    """One row and true do not agree, although 1 == True in Python."""
    one, true = ToolResult("Got 1 row and 1 column"), ToolResult("True")
    assert not grasp_transcripts.agree(one, true)
    assert grasp_transcripts.agree(true, ToolResult("true"))


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (ToolCall("answer", "{}"), "Stopped generation process"),
        (ToolCall("list", "{}"), "Got 1 row and 3 columns"),
        (ToolCall("execute", "{}"), "Got 1 row and 3 columns"),
        (ToolCall("execute", '{"sparql": "ASK {}"}'), "what is this?"),
        (ToolCall("execute", '{"sparql": "ASK {}"}'), "Not executed due to loop"),
        (ToolCall("execute", '{"sparql": "ASK {}"}'), grasp_transcripts.NOT_PUBLISHED),
        (
            ToolCall("execute", '{"sparql": "ASK {}"}'),
            "Failed to call function execute:\nUsed without being known from previous searches:\n",
        ),
    ],
)
def test_calls_kept_aside(call: ToolCall, text: str) -> None:
    """A call that cannot be executed again or compared has a reason."""
    why = grasp_transcripts.again(call, ToolResult(text), "")
    assert isinstance(why, str)
    assert why


def written(folder: Path, messages: list[Any], graph: str = GRAPH) -> Path:
    """Write a folder with one question and one run, and return it."""
    folder.mkdir()
    question = {"id": "1", "question": "Who?", "sparql": ALL}
    (folder / "test.jsonl").write_text(json.dumps(question), "utf-8")
    run = {
        "id": "1",
        "sparql": ALL,
        "elapsed": 9,
        "messages": messages,
        "error": {"reason": "loop"},
    }
    (folder / "gpt.jsonl").write_text(json.dumps(run), "utf-8")
    config = {"config": {"model": "gpt", "knowledge_graphs": [{"kg": graph}]}}
    (folder / "gpt.config.json").write_text(json.dumps(config), "utf-8")
    evaluated = {"1": {"target": {"size": 1}, "prediction": {"score": 1.0}}}
    (folder / "gpt.evaluation.json").write_text(json.dumps(evaluated), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("config", "model", "graph"),
    [
        ({}, None, "kg"),
        ({"config": None}, None, "kg"),
        ({"config": {"model": None, "knowledge_graphs": []}}, None, "kg"),
        ({"config": {"model": "a", "knowledge_graphs": ["b"]}}, "a", "b"),
        ({"config": {"models": [{"model": "a"}], "knowledge_graphs": [{"kg": "b"}]}}, "a", "b"),
        ({"config": {"models": ["a"], "knowledge_graphs": [{"endpoint": "c"}]}}, "a", "kg"),
    ],
)
def test_configurations_vary(tmp_path: Path, config: Any, model: str | None, graph: str) -> None:
    """A run is read with any incomplete configuration; the folder then names the graph."""
    (tmp_path / "kg").mkdir()
    folder = written(tmp_path / "kg" / "set", [SYSTEM, USER, said("ASK {}")])
    (folder / "gpt.config.json").write_text(json.dumps(config), "utf-8")
    ((answer,),) = (file.answers for file in grasp.read(folder))
    reply = answer.turns[-1].calls[-1].reply
    assert reply is not None
    assert (reply.model, answer.data["graphName"]) == (model, graph)


@pytest.mark.parametrize(
    ("run", "evaluated", "query", "scores"),
    [
        ({"output": None}, {}, "", {}),
        ({"output": None}, {"1": None}, "", {}),
        ({"output": {"type": "cancel"}}, {"1": {"target": {}}}, "", {"f1": 0.0}),
        ({"output": {"sparql": "ASK {}"}}, {"2": {}}, "ASK {}", {}),
        ({"sparql": None}, {"1": {"prediction": None}}, "", {"f1": 0.0}),
        ({}, {"1": {"prediction": {"score": 1}}}, "", {"f1": 1.0}),
    ],
)
def test_records_vary(
    tmp_path: Path, run: Any, evaluated: Any, query: str, scores: dict[str, float]
) -> None:
    """A missing query is an empty answer; an answer that was not evaluated has no score."""
    folder = written(tmp_path / "set", [])
    (folder / "gpt.jsonl").write_text(json.dumps({"id": "1", **run}), "utf-8")
    (folder / "gpt.evaluation.json").write_text(json.dumps(evaluated), "utf-8")
    ((answer,),) = (file.answers for file in grasp.read(folder))
    assert (answer.text, answer.scores) == (query, scores)
    assert answer.turns[-1].answer == query


def audited(folder: Path) -> Audit:
    """Return the audit of the runs in a folder."""
    with EmbeddedStore(None) as store, executor("local") as pool:
        for file in grasp.read(folder):
            load(store, imported_run(grasp.BENCHMARK, file, store.iris))
        assert_conforms(store)
        return audit(store, pool, JudgeLimits())


def asked(query: str, result: str) -> list[Any]:
    """Return messages with one execution of a query."""
    return [SYSTEM, USER, said("", called("execute", kg="x", sparql=query)), gave(result)]


FOUND = (
    f"Got {len({line.split()[0] for line in graphs.text(GRAPH).splitlines()}):,} rows and 1 column"
)
EACH = "SELECT DISTINCT ?s { ?s ?p ?o }"


EXECUTIONS = (  # query, recorded result, class of the difference
    (EACH, FOUND, None),
    (EACH, f"{FOUND}, showing the first 5 and last 5 rows below:\n| s |", None),
    ("ASK { ?s rdf:type ?kind }", "True", None),
    ("SELECT ?x { ?x ?y }", "Failed to call function execute:\nparse error", None),
    ("SELECT ?x { ?x <urn:none> ?y }", "Got no rows and 1 column", None),
    (EACH, "Got 2 rows and 1 column", "forged"),
    ("ASK { ?s rdf:type ?kind }", "False", "forged"),
    ("SELECT ?x { ?x ?y }", "Got 2 rows and 1 column", "engine"),
    (EACH, "SPARQL execution failed:\nunsupported", "engine"),
    (EACH, "SPARQL execution failed:\nThe query timed out", "time"),
    ("SELECT ?s { ?s rdf:type* ?o }", "Got 2 rows and 1 column", "engine"),
)


def test_executions_are_executed_again(tmp_path: Path) -> None:
    """An executed call agrees in the number of rows, the truth value, or in being an error."""
    messages = [SYSTEM, USER]
    for query, result, _ in EXECUTIONS:
        messages += asked(query, result)[2:]
    done = audited(written(tmp_path / "set", messages))
    assert done.calls == len(EXECUTIONS)
    classes = {one["round"]: one["class"] for one in done.differ}
    assert [classes.get(k) for k in range(len(EXECUTIONS))] == [kind for *_, kind in EXECUTIONS]


def test_without_the_graph_calls_are_kept_aside(tmp_path: Path) -> None:
    """A call on a graph that is not installed is set aside with a reason."""
    done = audited(written(tmp_path / "set", asked(EACH, FOUND), graph="wikidata"))
    assert (done.calls, [tool for tool, _ in done.aside]) == (0, ["execute"])
    assert "there is no graph 'wikidata'" in next(why for _, why in done.aside)


def test_dialogues_with_calls_are_judged_once(tmp_path: Path) -> None:
    """Only the last answer is judged, and the stored dialogue is read back unchanged."""
    messages = [*asked(EACH, FOUND), said("", called("answer", sparql="x")), gave("Stopped")]
    folder = written(tmp_path / "set", messages)
    with EmbeddedStore(None) as store, executor("local") as pool:
        (file,) = grasp.read(folder)
        run = imported_run(grasp.BENCHMARK, file, store.iris)
        load(store, run)
        ((imported, (evaluation,)),) = run.items
        assert list(dialogues(store, [imported.iri])) == [imported]
        assert (imported.judged, evaluation.round) == ((1,), 1)
        assert evaluation.infos["error"] == {"reason": "loop"}
        for limits in (JudgeLimits(), JudgeLimits(policy="grasp")):
            (done,) = reevaluate_stored(store, pool, limits)
            assert (done.comparison.dialogues, done.comparison.differing) == (1, [])
        assert len(reading.runs(store)) == 1


def test_the_import_counts_calls(tmp_path: Path) -> None:
    """The command counts calls, repeated calls and missing answers."""
    look = said("", called("execute", kg="x", sparql=EACH))
    folder = written(tmp_path / "set", [SYSTEM, USER, look, gave(FOUND), look, gave(FOUND)])
    store = ["--store", str(tmp_path / "store")]
    done = CliRunner().invoke(app, ["import", "grasp", str(folder), *store])
    assert "1 dialogue, 1 score, 2 tool calls (1 repeated) (suite grasp)" in done.output
    done = CliRunner().invoke(app, ["import", "grasp", str(folder), *store, "--json"])
    (run,) = json.loads(done.output)["runs"]
    assert (run["tool_calls"], run["repeated_calls"], run["unanswered"]) == (2, 1, 0)
    done = CliRunner().invoke(app, ["reevaluate", "--audit-tools", *store])
    assert done.output.startswith("2 tool calls executed again, 2 as recorded")


def test_published_transcripts(
    external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The counts of calls, repeats and missing answers are exact, and all 91 executions agree."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path))
    source = str(external_data / "ck25")
    done = CliRunner().invoke(app, ["datasets", "install", "ck25", "--from", source])
    assert done.exit_code == 0, done.output
    with EmbeddedStore(None) as store, executor("local:1") as pool:
        found = {}
        for file in grasp.read(external_data / "grasp-ck25"):
            load(store, imported_run(grasp.BENCHMARK, file, store.iris))
            found[file.system] = (len(file.answers), *file.counts().values())
        assert found == {"infai": (50, 0, 0, 0), "gpt-41-mini.search_extended": (50, 464, 15, 4)}
        checked = audit(store, pool, JudgeLimits())
    assert (checked.calls, checked.agree, checked.differ) == (91, 91, [])
    assert checked.aside.total() == 464 - 91
