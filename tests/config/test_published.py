# SPDX-License-Identifier: Apache-2.0
"""Configurations of each version of LLM-KG-Bench can be run unchanged."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kgbench import config
from kgbench.cli import app
from kgbench.tasks import catalogue
from tests.support.config_files import write

# Written for these tests, with the keys, classes and options of the published files.
FIRST = """\
tests:
  - TurtleErrorsStatic
  - TurtleFriendCount
  - dummy
models:
  - label: GPT
    class: ModelGpt
    params:
      - model: "gpt-3.5-turbo-0301"
  - class: ModelClaude
    params:
      - model: claude-1.3
      - model: claude-2
  - label: local
    class: ModelGPT4All
    params:
      - model: "orca.bin"
  - class: TestModel
    params:
      - output:
          - " "
          - " "
sizes: [1000]
iterations: 2
"""
SECOND = """\
tasks:
  - label: "BeastiaryTurtleSubgraph"
    class: "Text2SparqlExecEvalListBeastiary"
    params:
      - kgInfoType: "subgraph"
        kgInfoFormat: "turtle"
  - Text2SparqlExecEvalListLcQuad
  - Text2SparqlExecEvalListOrganizational
  - Text2SparqlExecEvalListSciQA
  - label: "CoypuTurtleMini"
    class: Text2SparqlExecEvalListCoypuMini
    params:
      - kgInfoType: "minischema"
        kgInfoFormat: "turtle"
  - label: "CoypuJsonldGraph"
    class: Text2SparqlExecEvalListCoypuMini
    params:
      - kgInfoType: "graph"
        kgInfoFormat: "json-ld"
models:
  - label: Gemini
    class: ModelGoogle
    params:
      - model: 'models/gemini-1.5-pro-latest'
  - label: Claude
    class: ModelClaude
    params:
      - model: "claude-2.1" # has 200k
sizes:
  - 1000
iterations: 2
"""
THIRD = """\
tasks:
  - label: RdfConnectionExplainStatic-xml
    class: RdfConnectionExplainStatic
    params:
      - graphFormat: 'xml'
  - SparqlSyntaxFixingListLcQuad
  - label: "RdfFriendCount-nt-2"
    class: RdfFriendCount
    params:
      - specialAddKnowsCount: "2"
        graphFormat: "ntriples"
models:
  - label: Here
    class: ModelGpt
    params:
      - model: "small"
        baseURL: "http://127.0.0.1:9/v1"
  - label: Llama
    class: ModelVLLM
    params:
        - model: "path/to/model"
          startTag: ""
          endTag: ""
          tensor_parallel_size: 4 #number of GPUs
          context_size: 8192
  - label: Former
    class: ModelVllm
    params: {model: path/to/other}
sizes:
  - 1000
iterations: 2
"""
PASSED_OVER = {"first": 3, "second": 3, "third": 0}
TEXTS = {"first": FIRST, "second": SECOND, "third": THIRD}


def said(*arguments):
    """Return exit code and standard output of a command."""
    done = CliRunner().invoke(app, [str(each) for each in arguments])
    return done.exit_code, done.stdout


@pytest.mark.parametrize("version", TEXTS)
def test_a_published_configuration_is_planned_to_its_end(version, tmp_path):
    """``validate`` and ``run --dry-run`` accept the same, and report the same omissions."""
    path = write(tmp_path, TEXTS[version])
    store = tmp_path / "store"

    checked, report = said("validate", path, "--json")
    planned, text = said("run", path, "--dry-run", "--store", store, "--json")
    report, plan = json.loads(report), json.loads(text)
    counted = [f"{f['source']}:{f['line']}: {f['pointer']}: " for f in report["unavailable"]]

    assert (checked, planned) == (0, 0)
    assert len(counted) == len(plan["passed_over"]) == PASSED_OVER[version]
    assert all(map(str.startswith, plan["passed_over"], counted))
    assert len(plan["tasks"]) * 2 * len(plan["models"]) == plan["dialogues"]
    assert report["tasks"] + report["models"] == (
        len(plan["tasks"]) + len(plan["models"]) + PASSED_OVER[version]
    )


@pytest.mark.parametrize("version", TEXTS)
def test_a_published_configuration_is_run_with_another_model(version, tmp_path):
    """The tasks of a published configuration run with another model; omissions are reported."""
    path = write(tmp_path, TEXTS[version])
    options = ("--store", tmp_path / "store", "--model", "baseline:silent")

    code, text = said("run", path, *options)
    again, report = said("run", path, *options, "--json")

    assert (code, again) == (0, 0)
    assert json.loads(report)["complete"] == json.loads(report)["planned"] > 0
    tasks = [line for line in json.loads(report)["passed_over"] if "task" in line]
    assert all(line in text for line in tasks)


def test_reasons_for_tasks_that_are_passed_over_name_what_is_missing(tmp_path):
    """The reason for an omitted task names the missing graph or parameter value."""
    plan = config.load(write(tmp_path, SECOND))
    words = "\n".join(plan.passed_over)

    assert [task.label for task in plan.tasks] == [
        "BeastiaryTurtleSubgraph",
        "Text2SparqlExecEvalListOrganizational",
        "CoypuJsonldGraph",
    ]
    assert "LC-QuAD, and its queries run on Wikidata, which is not installed" in words
    assert "Open Research Knowledge Graph, which is not installed" in words
    assert "does not take this kgInfoType: the hand-written short schema" in words


def test_options_of_published_models_arrive(tmp_path):
    """``baseURL`` is the address of the server, and options of vLLM reach its connector."""
    here, llama, former = config.load(write(tmp_path, THIRD)).models

    assert (here.connector, here.base_url) == ("openai", "http://127.0.0.1:9/v1")
    assert (llama.connector, former.connector) == ("vllm", "vllm")
    assert llama.options == {
        "context_size": 8192,
        "endTag": "",
        "startTag": "",
        "tensor_parallel_size": 4,
    }


def test_each_object_among_params_is_a_model_or_task_of_its_own(tmp_path):
    """A list of several objects gives several models or tasks, each with its own label."""
    path = write(
        tmp_path,
        "tasks:\n"
        "  - class: RdfFriendCount\n"
        "    params: [{graphFormat: turtle}, {graphFormat: xml}]\n"
        "models:\n"
        "  - {class: ModelGpt, params: [{model: a}, {model: b}]}\n"
        "  - {class: ModelGpt, label: mine, params: [{model: a}, {model: a, seed: 1}]}\n"
        "iterations: 1\n",
    )
    plan = config.load(path)

    assert [(t.label, t.parameters["graphFormat"]) for t in plan.tasks] == [
        ("RdfFriendCount-1", "turtle"),
        ("RdfFriendCount-2", "xml"),
    ]
    assert [(m.label, m.model_id) for m in plan.models] == [
        ("a", "a"),
        ("b", "b"),
        ("mine-1", "a"),
        ("mine-2", "a"),
    ]


@pytest.mark.parametrize(
    ("text", "pointer", "line", "said"),
    [
        (
            FIRST.replace("TurtleErrorsStatic", "TurtelErrorsStatic"),
            *("/tests/0", 2, "did you mean TurtleErrorsStatic"),
        ),
        (FIRST + 'tasks: ["*"]\n', "/tests", 1, "tests"),
        (
            FIRST.replace("      - model: claude-2\n", "      - temperature: 0\n"),
            *("/models/1", 10, "'model' in params"),
        ),
    ],
)
def test_findings_name_the_keys_that_were_written(tmp_path, text, pointer, line, said):
    """Wrong names, both names of one key, and an object without ``model`` are found there."""
    (finding,) = config.validate(write(tmp_path, text))

    assert (finding.pointer, finding.line) == (pointer, line)
    assert said in finding.message


@pytest.mark.external
def test_the_published_configuration_is_accepted(external_data):
    """LLM-KG-Bench's own configuration gives all its tasks, models and iterations."""
    path = external_data / "llm-kg-bench-v3" / "configuration.yml"

    report = config.check(path)

    assert report.findings == ()
    assert (report.tasks, report.models, report.iterations) == (26, 35, 20)
    plan = config.load(path, tasks=["Rdf*"], models=["GPT-*"])
    assert len(plan.tasks) == 15
    assert {model.connector for model in plan.models} == {"openai"}
    assert plan.tasks[0].parameters == {"graphFormat": "turtle"}
    friends = next(task for task in plan.tasks if task.label == "RdfFriendCount-nt-2")
    assert friends == catalogue.labelled_tasks()["RdfFriendCount-nt-2"]
    fixes = next(task for task in plan.tasks if task.label == "RdfSyntaxFixList-nt")
    assert fixes.parameters["graphFormat"] == "ntriples"
