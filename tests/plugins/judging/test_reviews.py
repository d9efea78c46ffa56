# SPDX-License-Identifier: Apache-2.0
"""Verdicts of people: queues, records, adjudication, export and import."""

from __future__ import annotations

import csv
import io
import json

import pytest
from typer.testing import CliRunner

from kgbench.analysis.dialogues import view
from kgbench.analysis.verdicts import ADJUDICATION, judgements, verdicts
from kgbench.cli import app
from kgbench.errors import ImportRefused, StoreError
from kgbench.plugins.judging import review_files as exported
from kgbench.plugins.judging.agreement import agreement
from kgbench.plugins.judging.disagreements import disagreements
from kgbench.plugins.judging.planning import JudgingRequest
from kgbench.plugins.judging.queue import ReviewQueue
from kgbench.plugins.judging.review_files import from_csv, import_reviews
from kgbench.record import reading
from kgbench.record import reviews as record
from kgbench.record.judgements import rubric, verdicts_about
from kgbench.run_selection import Selection
from kgbench.scores.selection import newest_judgeable_run, select
from kgbench.store import open_store
from kgbench.vocab import BASE
from tests.support.judge_runs import ask, judged_run
from tests.support.servers.loopback import LoopbackServer, fixed
from tests.support.servers.openai_server import OpenAISpeech
from tests.support.validation import assert_conforms

NOISY = "baseline:noisy?rate=0.7&seed=3"
LABELS = ["RdfFriendCount-turtle-1"]


def judged():
    """Open a store with a run of two models that two judges have judged."""
    opened = open_store("memory:")
    of = judged_run(opened, "baseline:oracle", NOISY, labels=LABELS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-test")
        with LoopbackServer(OpenAISpeech(), answer=fixed("VERDICT: right")) as server:
            ask(opened, of, "correctness", "baseline:oracle", f"openai:lenient@{server.url}")
    return opened


@pytest.fixture
def store():
    """Yield a new store for a test that writes."""
    with judged() as opened:
        yield opened


@pytest.fixture(scope="module")
def read():
    """Yield a store in which owl and fox disagree on one item, which elk has settled."""
    with judged() as opened:
        queue = queued(opened)
        first, second = queue.entries[:2]
        queue.decide(first, "owl", "right", "It is.", 4.5)
        queue.decide(first, "fox", "wrong", "=1+1 <b>\u202e&", None)
        queue.decide(second, "owl", "wrong", "", 2.0)
        queue.decide(second, "owl", "cannot-tell", "Looked again.", 1.0)
        queue.decide(first, "elk", "right", "They overlooked it.", 9.0, adjudicating=True)
        yield opened


def queued(store, name="correctness", order="random", **chosen):
    """Return a queue over the run of the models."""
    return ReviewQueue(
        store, newest_judgeable_run(store), JudgingRequest(rubric(name), **chosen), order
    )


def csv_of(store):
    """Return an export as CSV."""
    from kgbench.tables.rendering import render

    return render(exported.table(record.reviews(store)), "csv")


# --- queues ---------------------------------------------------------------------------------


def test_disagreements_come_first(read):
    """Items with more disagreement are shown first, in an order determined by the seed."""
    queue = queued(read, order="disagreements")
    by_item = {one.first.about: one for one in judgements(verdicts(read, select(read)))}

    def disputed(entry):
        one = by_item[entry.about]
        judges = {j: v for j, v in one.by_judge.items() if "/model/" in j}
        return len({*judges.values(), one.executed}) > 1

    flags = [disputed(one) for one in queued(read, order="disagreements").entries]
    assert len(queue.entries) == 8
    assert any(flags)
    assert flags == sorted(flags, reverse=True)


def test_random_queues_are_the_same_for_a_seed(read):
    """The seed determines order and sample; the names in URLs do not reveal the dialogues."""
    orders = [[one.name for one in queued(read, seed=s).entries] for s in (1, 1, 2)]
    sampled = queued(read, sample=3, seed=1).entries

    assert orders[0] == orders[1] != orders[2]
    assert set(orders[0]) == set(orders[2])
    assert len(sampled) == 3
    assert not any("oracle" in name for name in orders[0])


def test_pairs_are_shown_once(store):
    """A pair is shown in one order only, and a verdict counts in either order."""
    queue = queued(store, "preference")
    entry = queue.entries[0]
    queue.decide(entry, "owl", "first", "", 1.0)

    found = judgements(verdicts(store, select(store)))
    (one,) = [each for each in found if each.rubric.kind == "compare"]
    assert len({one.about for one in queue.entries}) == len(queue.entries) == 4
    expected = "first" if entry.dialogues[0].dialogue == entry.about[0] else "second"
    assert list(one.by_judge.values()) == [expected]
    assert_conforms(store)


# --- records --------------------------------------------------------------------------------


def test_verdicts_are_recorded_with_who_when_how_long_and_why(read):
    """A verdict records reviewer, reason, duration and queue; the judged run is unchanged."""
    found = record.reviews(read)
    first = found[0]

    assert [(one.reviewer, one.reason, one.seconds) for one in found[:3]] == [
        ("owl", "It is.", 4.5),
        ("fox", "=1+1 <b>\u202e&", None),
        ("owl", "", 2.0),
    ]
    assert (first.queue, first.seed, first.executed) == ("random", 0, found[1].executed)
    shown = view(read, first.items[0].dialogue).rounds[-1].answer  # the noise may have left nothing
    assert first.items[0].characters == len(shown)
    assert found[3].revises == found[2].iri
    assert set(found[4].adjudicates) == {found[0].iri, found[1].iri}
    assert len(record.review_passes(read, newest_judgeable_run(read).iri)) == 3
    assert len(reading.passes(read, newest_judgeable_run(read))) == 1
    assert_conforms(read)


def test_the_same_again_is_no_new_verdict(store):
    """A form that is sent twice records one verdict; a new server continues the queue."""
    queue = queued(store)
    entry = queue.next("owl")
    assert queue.decide(entry, "owl", "right", "", 1.0) is not None
    assert queue.decide(entry, "owl", "right", "", 2.0) is None
    again = queued(store)

    assert again.review_by(entry, "owl").iri == record.reviews(store)[0].iri
    assert again.next("owl") != entry
    assert again.next("fox") == entry
    again.decide(again.next("owl"), "owl", "wrong", "", 1.0)
    assert len(record.reviews(store)) == 2
    assert len({one.pass_iri for one in record.reviews(store)}) == 1


def test_what_cannot_be_decided_is_refused(store):
    """Unknown options, invalid pseudonyms and settling without a dispute are refused."""
    queue = queued(store)
    entry = queue.entries[0]
    with pytest.raises(StoreError, match="no verdict 'all'"):
        queue.decide(entry, "owl", "all", "", None)
    with pytest.raises(StoreError, match="not a valid pseudonym"):
        queue.decide(entry, "o w l", "right", "", None)
    with pytest.raises(StoreError, match="no disagreement on this item to settle"):
        queue.decide(entry, "owl", "right", "", None, adjudicating=True)
    assert not record.reviews(store)


# --- analyses -------------------------------------------------------------------------------


def test_analyses_see_people_as_judges(read):
    """Tables list people beside judges, without revised verdicts."""
    given = [one for one in verdicts(read, select(read)) if "/model/" not in one.judge]
    rows = agreement(read, select(read), samples=10).rows
    against = {(row[1], row[2]) for row in rows}

    assert len(given) == 4
    assert {one.judge for one in given if one.judge == ADJUDICATION} == {ADJUDICATION}
    assert {("owl (person)", "execution"), ("adjudication", "execution")} <= against
    assert disagreements(read, select(read)).rows


def test_a_dialogue_has_the_verdicts_of_people(read):
    """The verdicts on a dialogue are in order of time, without revised ones."""
    first, second = (one.about[0] for one in queued(read).entries[:2])
    people = [[v for v in verdicts_about(read, one) if v.reviewer] for one in (first, second)]

    assert [[(v.reviewer, v.chosen, v.reason, v.settles) for v in given] for given in people] == [
        [
            ("owl", "right", "It is.", False),
            ("fox", "wrong", "=1+1 <b>\u202e&", False),
            ("elk", "right", "They overlooked it.", True),
        ],
        [("owl", "cannot-tell", "Looked again.", False)],
    ]


def test_a_dialogue_is_shown_with_the_verdicts_of_people(tmp_path):
    """Command and page show reviewer, verdict and reason, with harmful characters escaped."""
    pytest.importorskip("starlette")
    from starlette.testclient import TestClient

    from kgbench.serve.app import application
    from kgbench.serve.settings import Settings

    place = str(tmp_path / "store")
    with open_store(place) as opened:
        judged_run(opened, "baseline:oracle", iterations=1, labels=LABELS)
        queue = queued(opened)
        queue.decide(queue.entries[0], "owl", "right", "It is <b>\u202eso\x1b[2J.", 4.5)
        (decided,) = record.reviews(opened)
    dialogue = decided.items[0].dialogue

    def shown(*words):
        result = CliRunner().invoke(app, ["show", dialogue, "--store", place, *words])
        assert result.exit_code == 0, result.output
        return result.stdout

    said = shown()
    assert "verdict of owl (person) by correctness" in said
    assert "verdict right (execution: right)" in said
    assert "It is <b>" in said
    assert "\x1b" not in said
    assert "\u202e" not in said
    (found,) = json.loads(shown("--json"))["judgements"]
    assert (found["reviewer"], found["chosen"], found["seconds"]) == ("owl", "right", 4.5)
    assert found["rubric"] == decided.rubric
    assert "rubric_iri" not in found
    assert "owl (person)" in shown("--pass", decided.pass_iri)
    assert "owl (person)" not in shown("--pass", "https://example.org/pass")
    with TestClient(application(Settings(location=place))) as client:
        page = client.get(dialogue.removeprefix(BASE), headers={"Accept": "text/html"}).text
    assert "Verdict of owl" in page
    assert "<strong>right</strong>" in page
    assert "It is &lt;b&gt;" in page
    assert "4.5 s after it was shown" in page


# --- files ----------------------------------------------------------------------------------


def test_a_file_brings_verdicts_into_another_store(read):
    """Exported verdicts can be imported into another store; a second import adds none."""
    found = record.reviews(read)
    text = csv_of(read)
    of_people = {one.pass_iri.replace("/pass/", "/graph/pass/") for one in found}
    with open_store("memory:") as other:
        runs = other.iris.mint("runGraph", run="")
        for graph in read.graphs():
            is_wanted = graph.startswith(runs) or "/pass/" in graph
            if graph == read.iris.catalogue or (is_wanted and graph not in of_people):
                other.bulk_load([(graph, [f"{triple} ." for triple in read.triples(graph)])])
        first, second = (import_reviews(other, from_csv(other, text)) for _ in range(2))
        assert (first.added, first.known, first.reviewers) == (5, 0, ("elk", "fox", "owl"))
        assert (second.added, second.known) == (0, 5)
        assert record.reviews(other) == found


def own(store, **changed):
    """Return a table with one row, as written by hand."""
    entry = queued(store).entries[0]
    row = {
        "reviewer": "bee",
        "rubric": "correctness",
        "dialogue": entry.dialogues[0].dialogue,
        "chosen": "wrong",
        "decided": "2026-11-23T10:00:00Z",
        **changed,
    }
    out = io.StringIO()
    table = csv.DictWriter(out, [name for name, value in row.items() if value is not None])
    table.writeheader()
    table.writerow({name: value for name, value in row.items() if value is not None})
    return out.getvalue()


def test_a_table_by_hand_needs_little(store):
    """The executed verdict and the options are filled in; a second import adds nothing."""
    text = own(store)
    assert import_reviews(store, from_csv(store, text)).added == 1
    assert import_reviews(store, from_csv(store, text)).added == 0
    (one,) = record.reviews(store)
    assert one.executed is not None
    assert one.order == ("right", "wrong", "cannot-tell")
    assert_conforms(store)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"chosen": "wrng"}, "line 2.*no verdict 'wrng'.*wrong"),
        ({"rubric": "corectness"}, "line 2.*correctness"),
        ({"reviewer": "a@b.example"}, "line 2.*pseudonym"),
        ({"decided": "yesterday"}, "line 2"),
        ({"decided": "2026-11-23T10:00:00"}, "time zone"),
        ({"decided": ""}, "line 2: the time of the decision is missing"),
        ({"reviewer": None}, "no column 'reviewer'"),
        ({"mood": "good"}, "unknown column 'mood'"),
        ({"dialogue": "https://w3id.org/kgbench/run/x/y"}, "run/x"),
        ({"dialogue": 'x"> <script>'}, "no run"),
        ({"seconds": "nan"}, "must not be negative"),
        ({"seconds": "-1"}, "must not be negative"),
        ({"queue": "mine"}, "not a queue"),
        ({"why": "x" * 5_000}, "4,000"),
        ({"order": "right right"}, "order of options"),
        ({"revises": "urn:none"}, "urn:none"),
        ({"verdict": "urn:x"}, "IRI is not of the form"),
        ({"verdict": "https://w3id.org/kgbench/pass/a b/verdict/1"}, "IRI is not of the form"),
        ({"other": "https://w3id.org/kgbench/run/x/z"}, "1 dialogue"),
    ],
)
def test_bad_tables_are_refused_whole(store, changed, words):
    """An invalid table is refused with the place of the fault, and nothing is written."""
    with pytest.raises(StoreError, match=words):
        import_reviews(store, from_csv(store, own(store, **changed)))
    assert not record.reviews(store)


def test_clashes_are_refused(read):
    """A verdict whose name exists in the store with other content is refused."""
    changed = csv_of(read).replace("It is.", "It was.")
    with pytest.raises(StoreError, match="clashes"):
        import_reviews(read, from_csv(read, changed))


def test_command(tmp_path):
    """Verdicts are exported and imported by command; without any, a hint says how to give them."""
    place = ["--store", str(tmp_path / "store")]

    def kgbench(*words):
        return CliRunner().invoke(app, [*words, *place])

    kgbench("run", "-m", "baseline:oracle", "--task", LABELS[0], "-n", "3")
    assert "kgbench review" in str(kgbench("review", "export").exception)
    with open_store(str(tmp_path / "store")) as opened:
        queue = queued(opened, selection=Selection())
        queue.decide(queue.entries[0], "owl", "right", "=cmd()", 1.0)
    out = tmp_path / "verdicts.csv"
    assert kgbench("review", "export", "-o", str(out), "--guard").exit_code == 0
    assert "'=cmd()" in out.read_text("utf-8")
    assert kgbench("review", "export", "--reviewer", "fox").exception is not None
    assert kgbench("review", "export", "-o", str(out)).exit_code == 0
    assert '"known": 1' in kgbench("review", "import", str(out), "--json").output
    out.write_bytes(b"\xff")
    assert isinstance(kgbench("review", "import", str(out)).exception, ImportRefused)
