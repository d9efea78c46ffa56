# SPDX-License-Identifier: Apache-2.0
"""From configurations to plans: tasks, models, selections, includes, and back to Turtle."""

from decimal import Decimal

import pytest

from kgbench import config
from kgbench.config import names
from kgbench.errors import ConfigurationError
from kgbench.model import Plan
from kgbench.tasks import catalogue
from tests.support.config_files import GOOD, changed, write

FULL = """\
name: full
suite: kgbench-1
tasks:
  - RdfConnectionExplainStatic
  - "RdfSyntaxFixList-*"
  - label: RdfFriendCount-nt-1
  - label: mine
    class: RdfFriendCount
    params:
      - specialAddKnowsCount: "1"
        graphFormat: nt
  - {class: RdfFriendCount, label: fixed, params: {size: 3000}}
models:
  - baseline:silent
  - spec: baseline:noisy?seed=7&rate=0.3
    label: noisy
  - label: GPT
    class: ModelGpt
    params:
      - model: gpt-4o
        temperature: 0
        base_url: http://127.0.0.1:9/v1
        sampling: {new_one: [1, two, true, 0.1]}
sizes: [1000, 2000]
iterationsPerCase: 3
seed: 9223372036854775807
concurrency: 3
callTimeout: 60
judgeTimeout: 0.30000000000000004
maxRetries: 0
requestsPerMinute: 0.5
tokensPerMinute: 90000
maxCost: 2.55
maxTokens: 1000000
batch: true
toolProtocol: text
"""


def test_a_small_configuration_has_the_defaults_of_a_plan(tmp_path):
    """Missing keys have the defaults of a plan."""
    plan = config.load(write(tmp_path, changed("name: small\n", "")))

    assert plan == Plan(
        name="small",
        suite="kgbench-1",
        tasks=(catalogue.labelled_tasks()["RdfFriendCount-turtle-1"],),
        models=(config.model_setup("baseline:oracle"),),
        iterations=2,
        source_ttl=plan.source_ttl,
    )


def test_everything_that_is_said_is_in_the_plan(tmp_path):
    """Each key is in the plan with the written value, to the last digit."""
    plan = config.load(write(tmp_path, FULL))

    assert (plan.name, plan.suite) == ("full", "kgbench-1")
    assert (plan.iterations, plan.iterations_per_case) == (3, True)
    assert plan.seed == 2**63 - 1
    assert (plan.concurrency, plan.max_retries) == (3, 0)
    assert (plan.call_timeout, plan.judge_timeout) == (60.0, 0.30000000000000004)
    assert (plan.requests_per_minute, plan.tokens_per_minute) == (0.5, 90_000.0)
    assert (plan.max_cost, plan.max_tokens) == (Decimal("2.55"), 1_000_000)
    assert (plan.prices, plan.batch, plan.tool_protocol) == (None, True, "text")
    assert [m.label for m in plan.models] == ["baseline:silent", "noisy", "GPT"]
    gpt = plan.models[2]
    assert (gpt.connector, gpt.model_id) == ("openai", "gpt-4o")
    assert gpt.base_url == "http://127.0.0.1:9/v1"
    said = {"temperature": 0, "new_one": [1, "two", True, 0.1]}
    assert gpt.sampling == said | {"max_tokens": 1024}  # the limit of own servers
    assert plan.models[1].options == {"rate": 0.3, "seed": 7}


def test_a_price_table_stands_beside_its_configuration(tmp_path):
    """A price table is relative to its configuration, must exist, and is not recorded."""
    path = write(tmp_path, GOOD + "prices: ours.ttl\n")
    (finding,) = config.validate(path)
    (tmp_path / "ours.ttl").touch()
    plan = config.load(path)

    assert finding.pointer == "/prices"
    assert f"there is no file {tmp_path / 'ours.ttl'}" in finding.message
    assert plan.prices == tmp_path / "ours.ttl"
    assert "ours.ttl" not in plan.source_ttl
    (tmp_path / "ours.ttl").unlink()
    assert config.load(path, prices=tmp_path / "other.ttl").prices == tmp_path / "other.ttl"


def test_entries_become_tasks_in_their_order(tmp_path):
    """Names, classes and patterns become tasks in order; texts are replaced by their meaning."""
    plan = config.load(write(tmp_path, FULL))

    labels = [task.label for task in plan.tasks]
    syntax = [
        label for label in catalogue.labelled_tasks() if label.startswith("RdfSyntaxFixList-")
    ]
    assert labels == [
        "RdfConnectionExplainStatic",
        *syntax,
        "RdfFriendCount-nt-1-1000",
        "RdfFriendCount-nt-1-2000",
        "mine-1000",
        "mine-2000",
        "fixed",
    ]
    mine = next(task for task in plan.tasks if task.label == "mine-2000")
    assert mine.parameters["specialAddKnowsCount"] == 1
    assert mine.parameters["graphFormat"] == "ntriples"
    assert mine.parameters["size"] == 2000
    assert plan.tasks[-1].parameters["size"] == 3000


def test_patterns_that_overlap_select_once(tmp_path):
    """A task that two patterns match, or a pattern and its label, is one task."""
    tasks = '  - RdfFriendCount-turtle-1\n  - "RdfFriendCount-turtle-*"\n  - "*-1"\n'
    plan = config.load(write(tmp_path, changed("  - RdfFriendCount-turtle-1\n", tasks)))

    labels = [task.label for task in plan.tasks]
    assert len(labels) == len(set(labels))
    assert labels[:2] == ["RdfFriendCount-turtle-1", "RdfFriendCount-turtle-2"]
    alone = config.load(write(tmp_path, GOOD + "sizes: [1000]\n"))  # the default size
    assert alone.tasks == (catalogue.labelled_tasks()["RdfFriendCount-turtle-1"],)


@pytest.mark.parametrize("text", [GOOD, FULL])
def test_the_recorded_turtle_gives_the_same_plan(tmp_path, text):
    """The recorded configuration conforms to the shapes, and gives the same plan again."""
    plan = config.load(write(tmp_path, text))
    again = config.load(write(tmp_path, plan.source_ttl, "recorded.ttl"))

    assert again == plan
    assert again.source_ttl == plan.source_ttl
    assert "[] a kgb:Configuration" in plan.source_ttl


def test_json_yaml_and_turtle_give_one_plan(tmp_path):
    """The same configuration in three syntaxes gives one plan."""
    as_json = (
        '{"name": "small", "tasks": ["RdfFriendCount-turtle-1"],'
        ' "models": ["baseline:oracle"], "iterations": 2}'
    )
    as_turtle = (
        "@prefix kgb: <https://w3id.org/kgbench/ns#> .\n"
        '<#c> a kgb:Configuration ; <http://purl.org/dc/terms/title> "small" ;\n'
        ' kgb:tasks ("RdfFriendCount-turtle-1") ; kgb:models ("baseline:oracle") ;\n'
        " kgb:iterations 2 .\n"
    )

    plans = [
        config.load(write(tmp_path, GOOD)),
        config.load(write(tmp_path, as_json, "small.jsonld")),
        config.load(write(tmp_path, as_turtle, "small.ttl")),
    ]

    assert plans[0] == plans[1] == plans[2]


# --- selections -----------------------------------------------------------------------------


def test_tasks_and_models_can_be_selected(tmp_path):
    """Patterns match labels, classes, model ids and specifications; the order stays."""
    path = write(tmp_path, FULL)

    plan = config.load(
        path, tasks=["mine*", "RdfConnection*"], models=["gpt-4o", "noisy"], iterations=7
    )

    assert [t.label for t in plan.tasks] == ["RdfConnectionExplainStatic", "mine-1000", "mine-2000"]
    assert [m.label for m in plan.models] == ["GPT", "noisy"]
    assert (plan.iterations, plan.iterations_per_case) == (7, False)
    assert "kgb:iterations 7" in plan.source_ttl
    assert "silent" not in plan.source_ttl
    other = "openai:m@http://127.0.0.1:9/v1?seed=1"  # which the configuration lacks
    assert [m.spec for m in config.load(write(tmp_path, GOOD), models=[other]).models] == [other]


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"tasks": ["RdfFrendCount-*"]}, "--task RdfFrendCount-*: selects no task"),
        ({"models": ["oracle2"]}, "such as openai:oracle2 (did you mean"),
        ({"models": ["baselin:oracle"]}, "there is no connector 'baselin': did you mean baseline"),
        ({"iterations": 0}, "iterations: found 0; allowed: a whole number from 1 to 1000000"),
        ({"concurency": 3}, "concurency: unknown key 'concurency': did you mean concurrency?"),
        ({"models": ["google:x"]}, "the connector 'google' is not installed"),
    ],
)
def test_a_selection_of_nothing_is_refused(tmp_path, selection, message, monkeypatch):
    """A selection without a match is refused."""
    monkeypatch.setattr(names, "installed_connectors", lambda: ("baseline", "openai"))

    with pytest.raises(ConfigurationError) as caught:
        config.load(write(tmp_path, GOOD), **selection)

    assert message in str(caught.value)


def test_overrides_are_merged_before_validation(tmp_path):
    """A value that is replaced need not be valid or present, and its replacement must be."""
    text = changed("iterations: 2", "concurrency: 0\niterationsPerCase: 1")
    path = write(tmp_path, text)

    plan = config.load(path, iterations=3, concurrency=4, max_cost=Decimal("2.50"), seed=None)

    assert (plan.iterations, plan.iterations_per_case, plan.concurrency) == (3, False, 4)
    assert (str(plan.max_cost), plan.seed) == ("2.50", 0)
    assert "kgb:maxCost 2.5e0" in plan.source_ttl
    with pytest.raises(ConfigurationError) as caught:
        config.load(path, call_timeout=float("nan"), batch="yes")
    assert [str(finding) for finding in caught.value.findings] == [
        "batch: found the text 'yes'; allowed: true or false",
        "call_timeout: found the text 'nan'; allowed: a number of seconds above 0, at most 86400",
        f"{path}:6: /concurrency: found 0; allowed: a whole number from 1 to 4096",
    ]


# --- what is not installed ------------------------------------------------------------------

FOREIGN = """\
tasks:
  - RdfFriendCount-turtle-1
  - label: theirs
    class: Text2SparqlExecEvalListBeastiary
    params:
      - kgInfoType: "subgraph"
models:
  - baseline:oracle
  - label: Gemini
    class: ModelGoogle
    params:
      - model: 'models/gemini-1.5-pro-001'
iterations: 1
"""


def test_known_names_that_are_not_installed_are_passed_over(tmp_path, monkeypatch):
    """Names that are not installed are notes, and refused only if nothing else is left."""
    known = catalogue.task_classes()
    known.pop("Text2SparqlExecEvalListBeastiary", None)
    monkeypatch.setattr(catalogue, "task_classes", lambda: known)
    monkeypatch.setattr(names, "installed_connectors", lambda: ("baseline", "openai"))
    path = write(tmp_path, FOREIGN)

    report = config.check(path)

    assert report.findings == ()
    assert [(f.pointer, f.line) for f in report.unavailable] == [("/tasks/1", 3), ("/models/1", 9)]
    assert "pip install 'kgbench[google]'" in report.unavailable[1].message
    plan = config.load(path)
    assert (len(plan.tasks), len(plan.models)) == (1, 1)
    assert plan.passed_over == tuple(map(str, report.unavailable))
    with pytest.raises(ConfigurationError, match="'theirs' cannot be run here") as caught:
        config.load(path, tasks=["theirs"], models=["Gemini"])
    assert len(caught.value.findings) == 2
    assert config.load(path, tasks=["Rdf*"], models=["baseline:*"]).passed_over == ()


# --- includes -------------------------------------------------------------------------------


def test_included_files_bring_in_tasks_and_models(tmp_path):
    """Paths are relative to the including file; a file that is included twice is read once."""
    write(tmp_path, 'models: ["baseline:silent"]\ninclude: [more/tasks.ttl]\n', "models.yaml")
    write(
        tmp_path,
        "@prefix kgb: <https://w3id.org/kgbench/ns#> .\n"
        '[] a kgb:ConfigurationPart ; kgb:tasks ("RdfSyntaxFixList-nt") .',
        "more/tasks.ttl",
    )
    path = write(tmp_path, GOOD + "include: [models.yaml, more/../more/tasks.ttl]\n")

    plan = config.load(path)

    assert [t.label for t in plan.tasks] == ["RdfSyntaxFixList-nt", "RdfFriendCount-turtle-1"]
    assert [m.label for m in plan.models] == ["baseline:silent", "baseline:oracle"]
    assert "include" not in plan.source_ttl


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, ["small.yaml:7: /include/0: the included file is missing: there is no file"]),
        (
            {"part.yaml": "include: [part.yaml]\n"},
            ["part.yaml:1: /include/0: the include is cyclic"],
        ),
        (
            {"part.yaml": "include: [more.yaml]\n", "more.yaml": "include: [small.yaml]\n"},
            ["more.yaml:1: /include/0: the include is cyclic"],
        ),
        ({"part.yaml": "iterations: 3\n"}, ["part.yaml:1: /iterations: the key 'iterations' does"]),
        (
            {"part.yaml": "modles: [x]\n"},
            ["part.yaml:1: /modles: unknown key 'modles': did you me"],
        ),
        (
            {"part.yaml": "tasks:\n  - RdfFrendCount\n"},
            ["part.yaml:2: /tasks/0: unknown task 'RdfFrendCount': did you mean RdfFriendCount"],
        ),
        (
            {"part.yaml": "models: ['baseline:oracle']\n"},
            ["small.yaml:5: /models/0: the label 'baseline:oracle' is used twice"],
        ),
        ({"part.yaml": ""}, ["part.yaml: the file is empty"]),
        (
            {"part.yaml": "tasks: [1]\ninclude: [more.yaml]\n", "more.yaml": "x: 1\n"},
            ["part.yaml:1: /tasks/0: found 1"],
        ),
    ],
)
def test_includes_that_cannot_be_followed_are_refused(tmp_path, files, expected):
    """Each finding names the file that it is about; an include is a path, never a URL."""
    for place in ("https://example.org/models.yaml", "file:///etc/passwd"):
        (finding,) = config.validate(write(tmp_path, GOOD + f"include: ['{place}']\n"))
        assert finding.pointer == "/include/0"
        assert "nothing is fetched from the web" in finding.message
    for name, text in files.items():
        write(tmp_path, text, name)
    path = write(tmp_path, GOOD + "include: [part.yaml]\n")

    said = [str(finding) for finding in config.validate(path)]

    for each in expected:
        assert any(f"{tmp_path}/{each}" in one for one in said), said


def test_including_has_an_end(tmp_path):
    """A chain of too many includes is refused."""
    for number in range(120):
        write(tmp_path, f"include: [p{number + 1}.yaml]\n", f"p{number}.yaml")
    write(tmp_path, "models: ['baseline:silent']\n", "p120.yaml")

    found = config.validate(write(tmp_path, GOOD + "include: [p0.yaml]\n"))

    assert any("more than 100 files are included" in finding.message for finding in found)


# --- the quick start ------------------------------------------------------------------------


def test_the_quick_start_has_the_kinds_with_published_results():
    """The quick start has baseline models, five iterations and 31 labels; --task selects any."""
    plan = config.quick_start()
    known = catalogue.labelled_tasks()

    assert plan.name == "quick-start"
    assert len(plan.tasks) == 31
    assert {t.label for t in plan.tasks} < set(known)
    assert [t.label for t in config.quick_start(tasks=["*"]).tasks] == list(known)
    assert [model.spec for model in plan.models] == [
        "baseline:oracle",
        "baseline:noisy?rate=0.3&seed=7",
        "baseline:silent",
    ]
    assert plan.iterations == 5
    assert len(config.quick_start(tasks=["RdfFriendCount-*"], iterations=1).tasks) == 8
