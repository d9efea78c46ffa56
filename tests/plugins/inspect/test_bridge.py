# SPDX-License-Identifier: Apache-2.0
"""Inspect AI: kgbench's tasks have the same scores there, and its logs are imported as runs."""

from __future__ import annotations

import ast
import copy
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench import testing
from kgbench.errors import ImportRefused
from kgbench.importers.load import load
from kgbench.net.limits import Budget
from kgbench.plugins.inspect import logs as inspect_logs
from kgbench.plugins.inspect import samples as inspect_samples
from kgbench.store import EmbeddedStore, open_reader
from kgbench.store.iris import Iris
from kgbench.tasks import catalogue
from tests.support import inspect_log
from tests.support.commands import printed as command
from tests.support.validation import assert_conforms

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "exports.md").read_text("utf-8")
ONE, ROUNDS = "RdfFriendCount-turtle-1", "RdfSyntaxFixList-turtle"
#: Runs a task of kgbench with Inspect's mock model; the answers come from standard input.
RUN = """
import json, sys
from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model

label, form, folder = sys.argv[1:]
said = iter(json.load(sys.stdin))

def answer(input, tools, tool_choice, config):
    output = ModelOutput.from_content("mockllm/model", next(said))
    output.usage = ModelUsage(input_tokens=9, output_tokens=4, total_tokens=13)
    return output

(log,) = eval(
    f"kgbench/{label}", task_args={"iterations": 2}, log_dir=folder, log_format=form,
    display="none", model=get_model("mockllm/model", custom_outputs=answer),
    max_connections=1, max_samples=1,
)
assert log.status == "success", log.error
print(json.dumps([s.scores["kgbench_scores"].value for s in log.samples]))
"""


@pytest.fixture(scope="module")
def logs():
    """Return a log of one-round answers and a log of dialogues: right, wrong and empty answers."""
    best = [testing.example(ONE, k).reference for k in range(3)]
    fixed = testing.example(ROUNDS, 0).reference
    return {
        ONE: inspect_log.log(ONE, [[best[0]], ["nobody"], [""]]),
        ROUNDS: inspect_log.log(ROUNDS, [["no idea", fixed], ["no", "not", "never"]]),
    }


def imported(path):
    """Return a store in memory with the run of a log."""
    store = EmbeddedStore(None)
    found = inspect_logs.read_run(inspect_logs.read(path), store.iris)
    return store, found, load(store, found.run)


# --- with Inspect itself ------------------------------------------------------------------------


@pytest.fixture
def inspect_ai():
    """Return Inspect AI, or skip if the extra is not installed."""
    return pytest.importorskip("inspect_ai", reason="the extra kgbench[inspect] is not installed")


@pytest.mark.usefixtures("inspect_ai")
@pytest.mark.parametrize(("label", "form"), [(ONE, "json"), (ROUNDS, "eval")])
def test_a_log_of_inspect_says_the_same_here(label, form, tmp_path):
    """Inspect's scores equal kgbench's, and judging the imported log again gives them, too."""
    right = testing.example(label, 0).reference
    answers = [right, "no"] if label == ONE else ["no idea", right, "no", "not", "never"]
    done = subprocess.run(
        [sys.executable, "-c", RUN, label, form, str(tmp_path / "logs")],
        input=json.dumps(answers),
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    one = [("no idea", right), ("no", "not", "never")] if label == ROUNDS else [(right,), ("no",)]
    expected = [testing.score(label, *said, case=k) for k, said in enumerate(one)]
    for value, ours in zip(json.loads(done.stdout.splitlines()[-1]), expected, strict=True):
        whole = {name: ours.scores[name] for name in value if value[name] is not None}
        assert value == {**dict.fromkeys(value), **whole}
        assert catalogue.task_class(label.partition("-")[0]).main_metric in whole
    (path,) = (tmp_path / "logs").glob(f"*.{form}")
    store = tmp_path / "results"
    assert "2 dialogues" in command("import", "inspect", path, "--store", store)
    again = json.loads(command("reevaluate", "--store", store, "--json"))
    assert (again["dialogues_compared"], again["dialogues_differing"]) == (2, [])
    with open_reader(str(store)) as reader:
        assert_conforms(reader)


@pytest.mark.usefixtures("inspect_ai")
def test_the_example_of_the_page_runs(tmp_path):
    """The Python example of the page runs unchanged, and every label is an Inspect task."""
    (text,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    text += "from kgbench.plugins.inspect.bridge import TASKS\nprint(len(TASKS))\n"
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["success 3", str(len(catalogue.labelled_tasks()))]


# --- without ----------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [ONE, ROUNDS])
@pytest.mark.parametrize("form", ["json", "deflate", "zstandard"])
def test_every_form_of_a_log_is_the_same_run(logs, label, form, tmp_path):
    """Every format of a log gives the same run, whose dialogues and scores conform."""
    if form == "zstandard":
        pytest.importorskip("zstandard", reason="no extra that brings zstandard is installed")
    store, found, summary = imported(inspect_log.write(tmp_path, logs[label], form))
    known = inspect_logs.read_run(
        inspect_logs.read(inspect_log.write(tmp_path, logs[label], "json")), Iris()
    )
    samples = logs[label]["samples"]

    assert found.run.run_id == known.run.run_id
    assert (summary.dialogues, summary.already_there) == (len(samples), False)
    for sample, (dialogue, evaluations) in zip(samples, found.run.items, strict=True):
        whole = evaluations[-1]
        value = {n: v for n, v in sample["scores"]["kgbench_scores"]["value"].items() if v}
        by_name = {iri.rpartition("/")[2]: score for iri, score in whole.scores.items() if score}
        assert by_name == value
        assert dialogue.answers[-1] == sample["scores"]["kgbench_scores"]["answer"]
        assert (whole.round is None) == (label == ROUNDS)
    assert load(store, found.run).already_there
    assert_conforms(store)
    store.close()


def test_the_command_imports_and_nothing_differs_when_judged_again(logs, tmp_path):
    """Both logs are imported by the command, and a re-evaluation agrees in every score."""
    store = tmp_path / "results"
    for label, content in logs.items():
        folder = tmp_path / label
        folder.mkdir()
        path = inspect_log.write(folder, content, "deflate")
        said = json.loads(command("import", "inspect", path, "--store", store, "--json"))
        assert said["runs"][0]["models"] == ["mockllm/model"]
    assert "already there" in command("import", "inspect", path, "--store", store)
    again = json.loads(command("reevaluate", "--store", store, "--json"))
    assert again["dialogues_compared"] == sum(len(one["samples"]) for one in logs.values())
    assert again["dialogues_differing"] == []


def test_samples_with_errors_are_left_out_and_counted(logs, tmp_path):
    """A sample with an error is left out, not a wrong answer, and the command counts it."""
    content = copy.deepcopy(logs[ONE])
    content["samples"][0]["error"] = {"message": "no connection"}
    content["samples"][1]["scores"] = None
    path = inspect_log.write(tmp_path, content, "json")

    assert "2 samples without answer" in command("import", "inspect", path, "--store", "memory:")
    for sample in content["samples"]:
        sample["error"] = {"message": "no connection"}
    with pytest.raises(ImportRefused, match="none of its 3 samples"):
        imported(inspect_log.write(tmp_path, content, "json"))


def test_what_was_not_scored_has_no_scores(logs, tmp_path):
    """A sample that Inspect marks as unscored (NaN) becomes an evaluation without scores."""
    content = copy.deepcopy(logs[ONE])
    score = content["samples"][0]["scores"]["kgbench_scores"]
    score["value"] = float("nan")
    score["metadata"]["kgbench_verdicts"][0] |= {"scores": {}, "outcome": "timeout"}
    store, found, _ = imported(inspect_log.write(tmp_path, content, "json"))
    (evaluation,) = found.run.items[0][1]

    assert (evaluation.scores, evaluation.outcome.value) == ({}, "timeout")
    assert_conforms(store)
    store.close()


CASE = ("metadata", "kgbench")
TURN = ("metadata", "kgbench_turns", 0)
SCORE = ("scores", "kgbench_scores")
VERDICT = (*SCORE, "metadata", "kgbench_verdicts", 0)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("metadata",), {}, "is not a task of kgbench"),
        (("metadata",), None, "is not a task of kgbench"),
        (CASE, "x", "does not name a case"),
        ((*CASE, "index"), True, "index is not of type int"),
        ((*CASE, "index"), 10**12, "out of range"),
        ((*CASE, "index"), 1, "is another one here"),
        ((*CASE, "seed"), 5, "is another one here"),
        ((*CASE, "label"), "Theirs", "no task 'Theirs'"),
        ((*CASE, "version"), "9", "by version 9 of its task class"),
        ((*CASE, "suite"), "another", "mixes the suites another, kgbench-1"),
        ((*CASE, "suite"), "a> <b", "suite is not the name of a suite"),
        (("metadata", "kgbench_turns"), {"a": 1}, "not as kgbench writes them"),
        (TURN, 5, "is not an object"),
        ((*TURN, "started"), "yesterday", "not an ISO 8601 time"),
        ((*TURN, "ended"), "2026-10-01T12:00:00", "no time zone"),
        ((*TURN, "ended"), "2020-10-01T12:00:00+00:00", "ends before it begins"),
        ((*TURN, "answer"), None, "answer is missing"),
        ((*TURN, "prompt"), 7, "prompt is not a string"),
        ((*TURN, "usage"), [1], "not a list of token counts"),
        ((*TURN, "usage"), [-1, 0, None, True], "something other than counts"),
        ((*SCORE, "value"), 1.0, "not an object with scores"),
        ((*SCORE, "value", "f1"), float("inf"), "not finite"),
        ((*SCORE, "value", "f1"), 10**400, "not finite"),
        ((*SCORE, "value", "f1"), "1", "is not a number"),
        ((*SCORE, "value", "f1"), -0.5, "f1 is -0.5, which f1 cannot be"),
        ((*TURN, "feedback"), "spelling", "feedback is none of syntax"),
        ((*SCORE, "value", "fame"), 1.0, "no score 'fame'"),
        (("scores",), 2, "'scores' is not an object"),
        ((*SCORE, "metadata"), [0], "'metadata' is not an object"),
        ((*SCORE, "metadata"), None, "not have one verdict for each answer"),
        (VERDICT, [], "is not a verdict"),
        ((*VERDICT, "scores"), [], "is not a verdict"),
        ((*VERDICT, "outcome"), "fine", "is not a verdict"),
    ],
)
def test_what_is_not_as_it_should_be_is_refused(logs, place, value, message, tmp_path):
    """A missing, foreign or impossible field is refused by name, and nothing is written."""
    content = copy.deepcopy(logs[ONE])
    node = content["samples"][0]
    for step in place[:-1]:
        node = node[step]
    node[place[-1]] = value
    with pytest.raises(ImportRefused, match=message):
        imported(inspect_log.write(tmp_path, content, "json"))


def test_more_answers_than_rounds_are_refused(logs, tmp_path):
    """A sample with more answers than its task has rounds is refused."""
    content = copy.deepcopy(logs[ONE])
    content["samples"][0]["metadata"]["kgbench_turns"] *= 2
    with pytest.raises(ImportRefused, match="2 answers are more than the task takes"):
        imported(inspect_log.write(tmp_path, content, "json"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[]", "not a JSON object"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b'{"samples": []}', "no field 'eval'"),
        (b'{"eval": {}, "samples": 5}', "not a list of objects"),
        (b'{"eval": {}, "samples": []}', "holds no samples"),
        (b'{"eval": {"model": 3}}', "holds no samples"),
    ],
)
def test_other_files_are_refused(content, message, tmp_path):
    """A file that is not a log is refused by name."""
    path = tmp_path / "other.json"
    path.write_bytes(content)
    with pytest.raises(ImportRefused, match=message) as refused:
        imported(path)
    assert "other.json" in str(refused.value)


def test_missing_and_damaged_archives_are_refused(logs, tmp_path):
    """A missing file, an archive without a header and damaged bytes are refused."""
    pytest.importorskip("zstandard", reason="no extra that brings zstandard is installed")
    with pytest.raises(ImportRefused, match="cannot be read"):
        inspect_logs.read(tmp_path / "none.eval")
    path = inspect_log.write(tmp_path, logs[ONE], "zstandard")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"header.json", b"heeder.json"))
    with pytest.raises(ImportRefused, match=r"no header\.json"):
        inspect_logs.read(path)
    for k in range(80, 400, 40):  # behind the local header, which repeats the central directory
        path.write_bytes(content[:k] + bytes([content[k] ^ 0xFF]) + content[k + 1 :])
        with pytest.raises(ImportRefused, match="damaged"):
            inspect_logs.read(path)


def test_there_is_an_end_to_what_is_read(logs, tmp_path, monkeypatch):
    """A log with too many samples, or too large packed or unpacked, is refused."""
    path = inspect_log.write(tmp_path, logs[ONE], "deflate")
    for limit, most, message in (
        ("MAX_SAMPLES", 1, "3 samples are too many"),
        ("MAX_BYTES", path.stat().st_size, "holds more than the"),
        ("MAX_BYTES", path.stat().st_size - 1, "larger than"),
    ):
        monkeypatch.setattr(inspect_logs, limit, most)
        with pytest.raises(ImportRefused, match=message):
            inspect_logs.read(path)
        monkeypatch.undo()
    size = path.stat().st_size
    for budget, message in ((Budget(size + 1, 60.0), "--most"), (Budget(2**20, 0.0), "--seconds")):
        with pytest.raises(ImportRefused, match=message):
            inspect_logs.read(path, budget)


def test_a_member_that_is_elsewhere_is_missed(logs, tmp_path):
    """An archive whose member does not begin at the stated offset is refused."""
    pytest.importorskip("zstandard", reason="no extra that brings zstandard is installed")
    path = inspect_log.write(tmp_path, logs[ONE], "zstandard")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"PK\x03\x04", b"PK\x00\x00"))
    with pytest.raises(ImportRefused, match=r"header\.json is not there"):
        inspect_logs.read(path)


@pytest.mark.parametrize("name", [None, " ", "a\nb"])
def test_a_model_without_a_name_is_refused(logs, tmp_path, name):
    """A log whose model has no printable name is refused."""
    content = copy.deepcopy(logs[ONE])
    content["eval"]["model"] = name
    with pytest.raises(ImportRefused, match=r"eval\.model is not the name of a model"):
        imported(inspect_log.write(tmp_path, content, "json"))


def test_without_zstandard_the_way_out_is_said(logs, tmp_path, monkeypatch):
    """Without the zstandard package, the message names the conversion to JSON."""
    pytest.importorskip("zstandard", reason="no extra that brings zstandard is installed")
    path = inspect_log.write(tmp_path, logs[ONE], "zstandard")
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(ImportRefused, match="inspect log convert --to json"):
        inspect_logs.read(path)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=8),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
        max_leaves=8,
    )
)
def test_any_value_is_read_or_refused(value):
    """Any value in place of a case, turn, verdict or scores is read, or refused with its place."""
    for read in (
        lambda: inspect_samples.CaseIdentity.read(value, "here"),
        lambda: inspect_samples.read_turn(value, "here"),
        lambda: inspect_samples.read_verdict(value, {}, "here"),
        lambda: inspect_samples.read_scores(value, {}, "here"),
    ):
        try:
            read()
        except ImportRefused as refused:
            assert "here" in str(refused)


# --- the page ---------------------------------------------------------------------------------


def test_the_page_names_what_there_is():
    """The page's labels, task arguments, extra and command exist."""
    labels = set(re.findall(r"kgbench/([A-Z][\w-]+)", PAGE))
    source = (ROOT / "kgbench" / "plugins" / "inspect" / "bridge.py").read_text("utf-8")
    (made,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef) and node.name == "task"
    )

    assert labels <= catalogue.labelled_tasks().keys()
    assert set(re.findall(r"-T (\w+)=", PAGE)) == {each.arg for each in made.args.args} - {"label"}
    assert "{LOG}..." in command("import", "inspect", "--help")
    assert f'\nSUITE = "{inspect_log.SUITE}"\n' in source
