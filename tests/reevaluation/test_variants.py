# SPDX-License-Identifier: Apache-2.0
"""Stored dialogues judged on variants: a pass of its own, described and reproducible."""

import json

import pytest

from kgbench.analysis.policies import references
from kgbench.cli import main
from kgbench.execution.judging import JudgeLimits
from kgbench.execution.on_variants import Variants
from kgbench.execution.pools import executor
from kgbench.model import Case
from kgbench.record import reading
from kgbench.reevaluation.comparison import report
from kgbench.reevaluation.passes import reevaluate_stored
from kgbench.reevaluation.variant_outcomes import (
    answer_on_variants,
    command,
    variants_obstacle,
)
from kgbench.run_selection import Selection
from kgbench.scores.selection import select
from kgbench.store import open_store
from kgbench.store.registry import stamps
from kgbench.variants import VariantKind
from kgbench.vocab import KGB
from tests.support.commands import printed
from tests.support.runs import hold, planned
from tests.support.validation import assert_conforms

LABEL = "Text2SparqlExecEvalListCoypuMini"
MODELS = ["baseline:oracle", "baseline:silent"]


@pytest.fixture
def store():
    """Yield a store with a run of two models over questions about a small graph."""
    plan = planned([LABEL, "RdfFriendCount-nt-1"], *MODELS, iterations=4)
    with open_store("memory:") as opened:
        hold(opened, plan)
        yield opened


def judged(store, variants, **options):
    """Return the report of a re-evaluation on variants."""
    with executor("local:1") as pool:
        done = reevaluate_stored(store, pool, JudgeLimits(), variants=variants, **options)
    return report(done)


@pytest.mark.parametrize("kind", list(VariantKind))
def test_right_queries_hold_on_variants_of_every_kind(store, kind):
    """A reference query is right on all variants, and an empty answer is right on none."""
    found = judged(store, Variants(2, 3, (kind,)))["variants"]

    assert found["baseline:oracle"]["exact"] == 4
    assert found["baseline:oracle"]["failing"] == 0
    assert found["baseline:silent"]["exact"] == 0


def test_several_kinds_are_judged_in_one_pass(store):
    """Variants of several kinds are judged in one conforming pass, and the command names them."""
    kinds = (VariantKind.DOUBLED, VariantKind.EMPTIED)
    judged(store, Variants(2, 3, kinds))
    named = sorted(
        row[0].value
        for row in store.query(f"SELECT ?kind {{ GRAPH ?g {{ ?v <{KGB.variantKind}> ?kind }} }}")
    )
    (about, *_) = with_seen(store)

    assert named == ["doubled", "doubled", "emptied", "emptied"]
    assert about.endswith("--variants 2 --seed 3 --kind doubled --kind emptied")
    assert_conforms(store)


def with_seen(store):
    """Yield the commands that judge each seen answer on the same variants again."""
    (run,) = reading.runs(store)
    last = reading.passes(store, run)[-1]
    for execution in reading.executions(store, run.graph):
        for dialogue, infos in reading.execution_infos(store, last.graph, execution):
            yield command(answer_on_variants(dialogue, "c", ("m", "m"), "t", infos))


def test_the_pass_conforms_and_changes_no_other(store):
    """A pass on variants has metrics of its own and does not count as the latest pass."""
    before = judged(store, Variants(2, 3))
    (run,) = reading.runs(store)
    first, last = reading.passes(store, run)
    found = reading.pass_scores(store, last.graph)
    metrics = {m for rounds in found.values() for seen in rounds.values() for m in seen.scores}

    assert_conforms(store)
    assert reading.find_pass(store, run, "latest") == first
    assert {m.rpartition("/")[2].rpartition("_")[2] for m in metrics} == {
        "exactOnVariants",
        "f1OnVariants",
    }
    assert before["passed_over"] == {
        "answers to RdfFriendCount are no queries": 8,
    }
    assert judged(store, Variants(2, 3))["variants"] == before["variants"]
    assert json.loads(json.dumps(before)) == before


def test_chosen_dialogues_are_judged_on_the_same_variants(store):
    """Selected dialogues are judged on the same variants as all dialogues."""
    whole = judged(store, Variants(2, 3))
    chosen = judged(store, Variants(2, 3), selection=Selection(models=("oracle",)))

    assert chosen["variants"]["baseline:oracle"] == whole["variants"]["baseline:oracle"]


def test_no_pass_is_recorded_if_nothing_can_be_judged(store):
    """A run without queries gets no pass on variants, and the store does not change."""
    before = stamps(store)
    found = judged(store, Variants(2, 3), selection=Selection(tasks=("RdfFriendCount*",)))

    assert found["passes"] == []
    assert found["passed_over"] == {"answers to RdfFriendCount are no queries": 8}
    assert [one.kind for one in reading.passes(store, reading.runs(store)[0])] == ["live"]
    assert stamps(store) == before


def test_the_command_says_that_no_pass_is_recorded(tmp_path):
    """The command names the reason, and no pass that does not exist."""
    store = ("--store", tmp_path / "s")
    printed("run", *store, "-m", "baseline:oracle", "-t", "RdfFriendCount-nt-1")
    said = printed("reevaluate", *store, "--variants", "2", "--executor", "local:1")

    assert said.splitlines()[-1] == "no new pass for 1 run: no dialogue could be judged"
    assert "pass   " not in said


def test_references_that_no_variant_changes_are_told(store):
    """The analysis lists untestable cases, and names the command if nothing is judged yet."""
    before = references(store, select(store, None, "first"))
    judged(store, Variants(1, 3, (VariantKind.OPAQUE,)))
    after = references(store, select(store, None, "first"))

    assert before.rows == ()
    assert "--variants" in before.notes[0]
    assert {row[2] for row in after.rows} <= {"untestable"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"refSparql": "ASK {}"}, "whose graph is not at hand"),
        ({"refResult": {}, "graph": ""}, "without a reference query"),
        ({"refSparql": "ASK {}", "graph": "<urn:a> <urn:b> 1 ."}, None),
    ],
)
def test_cases_without_graph_or_query_have_no_variants(data, said):
    """A case without a graph or query is skipped with the reason; the pass continues."""
    about = Case("urn:case", "suite", LABEL, {}, data, "0" * 64)
    found = variants_obstacle(about)

    assert found == said or (said is not None and found is not None and said in found)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--variants", "2", "--policy", "grasp"], "omit --policy"),
        (["--policy", "rows-on-variants"], "--variants K"),
        (["--variants", "0"], "--variants"),
        (["--kind", "emptied"], "--variants K"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, said, tmp_path, capsys, monkeypatch):
    """The command names an option that is missing or does not apply."""
    arguments = ["kgbench", "reevaluate", "--store", str(tmp_path / "none"), *options]
    monkeypatch.setattr("sys.argv", arguments)
    with pytest.raises(SystemExit) as ended:
        main()

    assert ended.value.code
    assert said in " ".join(capsys.readouterr().err.replace("│", " ").split())
