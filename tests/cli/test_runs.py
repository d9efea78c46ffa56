# SPDX-License-Identifier: Apache-2.0
"""``run``, ``status``, ``show`` and ``reevaluate``: their messages and exit codes."""

from __future__ import annotations

import json
import shutil
import signal

import pytest

from kgbench.config.names import suites_of_results
from kgbench.errors import StoreError
from kgbench.record import reading
from kgbench.store import open_reader, open_store
from tests.support.archives import dialogue_v3, record_v1, record_v3, write_json
from tests.support.commands import kgbench, reported
from tests.support.config_files import write
from tests.support.servers import scripts
from tests.support.servers.loopback import LoopbackServer, echo
from tests.support.servers.openai_server import OpenAISpeech

LABEL = "RdfFriendCount-turtle-1"
SMALL = """\
name: small
tasks: [{tasks}]
models: ["openai:m@{url}{query}"]
iterations: {iterations}
seed: {seed}
concurrency: 1
maxRetries: 0
"""


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Return the path of a store, the default of the commands, with an API key set."""
    open_store(str(tmp_path / "store")).close()
    monkeypatch.setenv("KGBENCH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-loopback")
    return tmp_path / "store"


@pytest.fixture
def small(tmp_path):
    """Return a function that writes a configuration of one model on a server."""

    def written(server, *, query="", iterations=3, seed=0, tasks=LABEL):
        given = {"url": server.url, "query": query, "tasks": tasks}
        text = SMALL.format(**given, iterations=iterations, seed=seed)
        return write(tmp_path, text, f"{abs(hash(text))}.yaml")

    return written


# --- run and status ---------------------------------------------------------------------------


def test_what_failed_is_told_and_asked_again_only_where_wished(store, small):
    """Exit code 3 marks open dialogues; failures are listed, and retried only on request."""
    script = scripts.sequence(scripts.SERVER_ERROR, scripts.SERVER_ERROR)
    with LoopbackServer(OpenAISpeech(), script=script) as server:
        first = kgbench("run", "--no-preflight", small(server), code=3)
        state = kgbench("status", "--why").stdout
        left = kgbench("run", "--no-preflight", small(server), "--no-retry-errors", code=3)
        again = kgbench("run", "--no-preflight", small(server))
        after = kgbench("status", "--why").stdout

    assert "1 of 3 dialogues complete (1 now), 2 failed" in first.stdout
    assert "Repeat the command to continue this run." in first.stdout
    assert "HTTP 500" in first.stderr
    assert "HTTP 500" in state.partition("would run")[0]
    assert "  2 dialogues would run:" in state
    assert f"x {LABEL}, m: failed: " in state
    assert "2 failed before and were not asked again" in left.stdout
    assert "3 of 3 dialogues complete (2 now)" in again.stdout
    assert "Nothing to run: every planned dialogue is complete." in after


def test_what_changed_is_told_in_words(store, small):
    """A changed parameter is named with both values; changed cases and prompts are named."""
    with LoopbackServer(OpenAISpeech()) as server:
        kgbench("run", small(server))
        hot = kgbench("status", "--why", "--config", small(server, query="?temperature=1")).stdout
        other = kgbench("status", "--why", "--config", small(server, seed=1)).stdout
        more = kgbench("status", "--why", "--config", small(server, iterations=4)).stdout
        wide = kgbench("status", "--why", "--config", small(server, tasks="'*'")).stdout

    assert 'sampling was {"max_tokens": 1024}, is {"max_tokens": 1024, "temperature": 1}' in hot
    assert "3 x RdfFriendCount-turtle-1, m: the case changed; the prompt changed" in other
    assert "1 x RdfFriendCount-turtle-1, m: new iteration\n" in more
    assert wide.count(": new task\n") == 20
    assert " more kinds; --json lists every dialogue" in wide


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_ends_a_run_that_the_same_command_continues(store, small, times):
    """Ctrl-C exits with 130 and one message; the same command makes only the missing calls."""

    def answer(prompt):
        if len(server.ledger) == 1:
            for _ in range(times):
                signal.raise_signal(signal.SIGINT)  # in this thread, so that no interrupt is lost
        return echo(prompt)

    with LoopbackServer(OpenAISpeech(), answer=answer) as server:
        done = kgbench("run", "--no-preflight", small(server, iterations=10), code=130)
        asked = len(server.ledger)
        kgbench("run", "--no-preflight", small(server, iterations=10))
        questions = [entry.digest for entry in server.acknowledged]

    assert "kgbench: interrupted" not in done.stderr
    assert (
        done.stderr.count("Finishing the calls in progress; press Ctrl-C again to abandon them.")
        == 1
    )
    assert asked < 10
    assert len(set(questions)) == 10
    assert times == 2 or len(questions) == len(server.ledger) == 10


def test_limits_and_keys_that_are_refused_stop_a_run_in_words(store, small):
    """A reached limit is named, and so is a model that is stopped by a refused key."""
    with LoopbackServer(OpenAISpeech()) as server:
        limited = kgbench("run", "--no-preflight", small(server), "--max-tokens", "1", code=3)
    with LoopbackServer(OpenAISpeech(), script=scripts.always(scripts.UNAUTHORISED)) as server:
        refused = kgbench("run", "--no-preflight", small(server), "--new", code=3)

    assert "Stopped by --max-tokens" in limited.stdout
    assert "; raise the limit and repeat the command to continue." in limited.stdout
    assert "  no more calls to m: " in refused.stderr


def test_a_limit_of_dialogues_ends_a_session_that_the_same_command_continues(store):
    """``--limit`` begins so many dialogues with each model, and the estimate counts no others."""
    command = ("run", "-m", "baseline:oracle", "-t", LABEL, "-n", "5", "--limit", "2")
    planned = reported(*command, "--dry-run")
    first, second = kgbench(*command, code=3), kgbench(*command, code=3)

    assert (planned["dialogues"], planned["dialogues_to_do"]) == (5, 2)
    assert "2 of 5 dialogues complete (2 now)" in first.stdout
    assert "4 of 5 dialogues complete (2 now)" in second.stdout
    assert "Repeat the command to continue this run." in second.stdout
    assert "5 of 5 dialogues complete (1 now)" in kgbench(*command).stdout


def test_a_dry_run_says_what_a_run_would_lack(store, monkeypatch):
    """A missing key is noted by the estimate and by ``validate``."""
    monkeypatch.delenv("OPENAI_API_KEY")
    configuration = write(store.parent, f"models: ['openai:m']\ntasks: [{LABEL}]\niterations: 1\n")
    for command in (("run", "--dry-run"), ("validate",)):
        assert "note: openai:m needs a key: set" in kgbench(*command, configuration).stdout
        (lacking,) = reported(*command, configuration)["lacking"]
        assert "OPENAI_API_KEY" in lacking


def test_the_newest_run_is_viewed_in_the_browser(store, monkeypatch):
    """``view`` serves the store on a free port and opens the page of the run."""
    kgbench("run", "-m", "baseline:oracle", "-t", LABEL, "-n", "1")
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("kgbench.serve.startup.Server.run", lambda *_, **__: None)
    printed = kgbench("view").stdout
    with open_reader(str(store)) as reader:
        run = reading.find_run(reader, None)

    assert opened == [f"{printed.split('pages  ')[1].split()[0]}run/{run.id}"]
    kgbench("view", "another", code=1)


def test_a_run_is_continued_by_its_name(store):
    """``--run`` takes the id of a run that is not the newest; an unknown one is refused."""
    words = ("run", "-m", "baseline:oracle", "-t", LABEL)
    first = reported(*words, "-n", "1")["run"]
    second = reported(*words, "-n", "1", "--new")["run"]
    more = reported(*words, "-n", "2", "--run", first)
    unknown = kgbench(*words, "--run", "nobody", code=1)

    assert first != second
    assert (more["run"], more["complete"]) == (first, 2)
    assert isinstance(unknown.exception, StoreError)


def test_a_run_is_not_continued_with_the_quick_start_unasked(store):
    """``--run`` without models and tasks is refused, instead of using the quick start."""
    begun = kgbench("run", "-m", "baseline:oracle", "-t", LABEL, "-n", "1", "--json")
    refused = kgbench("run", "--run", json.loads(begun.stdout)["run"], "-n", "2", code=2)

    assert "name the configuration" in " ".join(refused.stderr.replace("│", " ").split())
    assert reported("status")[0]["complete"] == 1


def test_a_store_without_runs_says_so(store):
    """``status`` of an empty store says that there are no runs."""
    assert kgbench("status").stdout == "The store has no runs yet.\n"
    assert kgbench("status", "--why", "--json").stdout == "[]\n"


# --- show -------------------------------------------------------------------------------------


def test_a_dialogue_is_shown_with_what_was_thought_and_what_failed(store, small):
    """Reasoning is shown before the answer; without an answer, a note names the failure."""
    script = scripts.sequence(scripts.SERVER_ERROR)
    with LoopbackServer(OpenAISpeech(reasoning="First, I count."), script=script) as server:
        kgbench("run", "--no-preflight", small(server, iterations=2), code=3)
    with open_reader(str(store)) as reader:
        (run,) = reading.runs(reader)
        states = reading.dialogue_states(reader, run.graph).values()
    shown = {one.complete: kgbench("show", one.iri).stdout for one in states}

    assert shown[True].index("reasoning 0") < shown[True].index("First, I count.")
    assert shown[True].index("First, I count.") < shown[True].index("answer 0")
    assert "answer 0" not in shown[False]
    assert "HTTP 500" in shown[False]


# --- reevaluate -------------------------------------------------------------------------------


def newest():
    """Return the newest run of the store."""
    return reported("status")[0]["run"]


def judged_again(*words):
    """Return the pass of re-evaluating the newest run, and the pass it is compared with."""
    (made,) = reported("reevaluate", newest(), *words)["passes"]
    return made


def test_judging_again_is_told_and_compared_with_any_pass(store, tmp_path):
    """The report names passes and skipped dialogues; ``--against`` takes the end of a pass."""
    old = record_v1("FactExtractStatic", version="1.0", scores={"norm_recall": 0.5}, info={})
    kgbench("import", "llm-kg-bench", write_json(tmp_path / "old.json", [old]))
    kgbench("run", "-m", "baseline:oracle", "-t", LABEL, "-t", "RdfSyntaxFixList-turtle", "-n", "1")
    first = kgbench("reevaluate").stdout
    one = judged_again("--against", "first")["pass"]
    latest = judged_again("--against", "latest")
    by_iri = judged_again("--against", one)
    by_id = judged_again("--against", one.rpartition("/")[2])
    unknown = kgbench("reevaluate", newest(), "--against", "third", code=1)

    assert "2 dialogues judged again, 0 differ from the pass they were compared with" in first
    assert "1 dialogue left out: " in first
    assert first.count("\npass   ") == 1
    assert "no new pass for 1 run: no dialogue could be judged" in first
    assert latest["against"] == by_iri["against"] == by_id["against"] == one
    assert "has no evaluation pass 'third'; there are: " in str(unknown.exception)


# --- dry runs ---------------------------------------------------------------------------------


def foreseen(*words):
    """Return the JSON of a dry run."""
    return reported("run", "--dry-run", *words)


def test_a_dry_run_knows_what_is_done(store):
    """Without a store everything is to do; a run that is named must exist."""
    words = ("-m", "baseline:oracle", "-t", LABEL, "-n", "3")
    shutil.rmtree(store)
    before = foreseen(*words)
    missing = kgbench("run", "--dry-run", *words, "--run", "nobody", code=1)
    kgbench("run", *words)
    after = foreseen(*words)
    others = foreseen("-m", "baseline:silent", "-t", LABEL, "-n", "3", "--new")
    batch = kgbench("run", "--dry-run", "--batch", *words).stdout

    assert (before["dialogues"], before["dialogues_to_do"]) == (3, 3)
    assert isinstance(missing.exception, StoreError)
    assert (after["dialogues"], after["dialogues_to_do"]) == (3, 0)
    assert others["dialogues_to_do"] == 3
    assert "in batches" in batch


def test_a_dry_run_of_another_name_continues_nothing(store, tmp_path):
    """A store without a run of this name has no complete dialogues."""
    kgbench("run", "-m", "baseline:oracle", "-t", LABEL, "-n", "1")
    text = f"name: other\ntasks: [{LABEL}]\nmodels: ['baseline:oracle']\niterations: 1\n"

    assert foreseen(write(tmp_path, text))["dialogues_to_do"] == 1


def test_a_dry_run_tells_ranges_and_what_it_does_not_know(store):
    """With feedback rounds, calls and cost have a range; an unknown price is reported."""
    said = kgbench(
        *("run", "--dry-run", "-m", "openai:gpt-4o", "-m", "openai:nobody", "-n", "1"),
        *("-t", "RdfSyntaxFixList-turtle"),
    ).stdout
    rows = said.splitlines()[1:]  # below the title, which names both
    known, unknown = (next(ln for ln in rows if name in ln) for name in ("gpt-4o", "nobody"))

    assert known.count(" to $") == 1
    assert " 1 to 3" in known
    assert unknown.rstrip(" │|").endswith("unknown")


def test_a_dry_run_of_published_cases_reads_them_from_the_store(store, tmp_path):
    """Cases of imported results are counted from the store; a truncated case is refused."""
    suite = "llm-kg-bench-3"
    short = write_json(tmp_path / "short.json", [record_v3()])
    kgbench("import", "llm-kg-bench", write_json(tmp_path / "a.json", [dialogue_v3()]), short)
    words = ("--suite", suite, "-m", "baseline:oracle", "-n", "5", "-t")
    said = foreseen(*words, "RdfSyntaxFixList-turtle")
    cut = kgbench("run", "--dry-run", *words, LABEL, code=1)

    assert suite in suites_of_results()
    assert (said["suite"], said["dialogues"]) == (suite, 5)
    assert "published without 'specialNodeIri', so no answer" in str(cut.exception)
