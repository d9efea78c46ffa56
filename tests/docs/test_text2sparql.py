# SPDX-License-Identifier: Apache-2.0
"""``docs/challenges.md``, TEXT2SPARQL: its commands have the described results."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kgbench import config
from kgbench.datasets import home
from kgbench.plugins.challenges import question_files
from kgbench.policies.policy import policy
from kgbench.tasks import catalogue
from tests.support import text2sparql_data as data
from tests.support.commands import reported as command

PAGE = (Path(__file__).parents[2] / "docs" / "challenges.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture
def challenge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the invented challenge, with the invented data set installed."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    copy = data.write_data_set(tmp_path / "copy")
    command("datasets", "install", "ck25", "--from", str(copy), "--unverified")
    return data.write_challenge(tmp_path / "docs")


def test_the_configuration_is_accepted(challenge: Path, tmp_path: Path) -> None:
    """The configuration names a task of the installed data set."""
    (text,) = [text for kind, text in BLOCKS if kind == "yaml"]
    (tmp_path / "run.yaml").write_text(text, encoding="utf-8")
    assert config.validate(str(tmp_path / "run.yaml")) == []


def test_everything_declared_is_named() -> None:
    """The page names each data set, parameter and metric."""
    declared = catalogue.task_class("Text2SparqlQuestions")
    metrics = policy("text2sparql-2025").answer_metrics
    for name in (*question_files.NAMES, *declared.parameters, *declared.metrics, *metrics):
        assert f"`{name}`" in PAGE, name


def test_the_audit_finds_what_is_wrong(challenge: Path, tmp_path: Path) -> None:
    """Published means are reproduced by the rule they follow; copies of the gold are named."""
    store = ("--store", str(tmp_path / "store"))
    command("import", "text2sparql", str(challenge), *store)
    table = command("analyze", "published-means", *store)
    rows = [row for row in table["rows"] if row["model"] == "HALF"]
    by_name = {row["metric"]: row for row in rows}
    assert {name: row["equals"] for name, row in by_name.items()} == {
        "set_P": "mean",
        "set_recall": "mean",
        "set_F": "mean",
        "ndcg": "mean",
        "set_F_ndcg": "mean with the average row",
    }
    ranked = by_name["set_F_ndcg"]
    assert ranked["n"] == 8
    # Two thirds twice, the ASK twice, one order of two, nothing else; the mean nDCG is a half.
    total = 2 * (2 / 3) + 2 + 1
    assert ranked["mean"] == pytest.approx(total / 8)
    assert ranked["with_average"] == pytest.approx((total + 0.5) / 9)
    assert (ranked["rank_published"], ranked["rank_mean"]) == (1, 1)
    notes = " ".join(table["notes"])
    assert "10 of 10 published means follow" in notes
    assert "copies of those of the reference queries: IDLE (ck25)" in notes


def test_the_audit_lists_what_the_rule_does_not_see(challenge: Path, tmp_path: Path) -> None:
    """Each differing cell has a cause; questions are counted."""
    store = ("--store", str(tmp_path / "store"))
    command("import", "text2sparql", str(challenge), *store)
    before = command("analyze", "audit", *store)
    assert {row["finding"] for row in before["rows"]} == {"mean", "question"}
    assert "kgbench reevaluate --policy" in " ".join(before["notes"])

    command("reevaluate", "--policy", "text2sparql-2025", *store)
    rows = command("analyze", "audit", *store)["rows"]
    cells = {r["model"]: (r["published"], r["here"]) for r in rows if r["finding"] == "cells"}
    assert cells["HALF"] == (6, 6)
    about = {row["about"]: row["here"] for row in rows if row["finding"] == "question"}
    assert about == {"ASK, true": 2, "empty result": 2, "order": 2}


def test_answers_without_published_scores_are_judged(challenge: Path, tmp_path: Path) -> None:
    """A system without an eval file is imported and judged like the others."""
    (challenge / "results" / "HALF" / "ck25_eval.json").unlink()
    store = ("--store", str(tmp_path / "store"))
    command("import", "text2sparql", str(challenge), *store)
    done = command("reevaluate", "--policy", "text2sparql-2025", "--model", "HALF", *store)
    assert done["dialogues_compared"] == 6
    assert done["dialogues_differing"] == []
    assert command("reevaluate", "--model", "HALF", *store)["dialogues_compared"] == 6


def test_policies_are_shown_side_by_side(challenge: Path, tmp_path: Path) -> None:
    """Two policies give the same answers two means; missing answers count as wrong."""
    store = ("--store", str(tmp_path / "store"))
    command("import", "text2sparql", str(challenge), *store)
    for name in ("text2sparql-2025", "rows"):
        command("reevaluate", "--policy", name, *store)
    rows = {row["model"]: row for row in command("analyze", "policies", *store)["rows"]}
    assert rows["HALF"]["n"] == 8
    assert rows["HALF"]["text2sparql-2025_rank"] == 1
    assert rows["HALF"]["rows"] != pytest.approx(rows["HALF"]["text2sparql-2025"])


def test_the_audit_of_2025(
    external_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The numbers of the page are those of the published files."""
    monkeypatch.setenv(home.VARIABLE, str(tmp_path / "home"))
    command("datasets", "install", "ck25", "--from", str(external_data / "ck25"))
    store = ("--store", str(tmp_path / "store"))
    command("import", "text2sparql", str(external_data / "text2sparql-2025"), *store)
    table = command("analyze", "published-means", *store)
    assert len(table["rows"]) == 135
    assert "neither" not in {row["equals"] for row in table["rows"]}
    overall = [
        row for row in table["rows"] if row["metric"] == "set_F_ndcg" and not row["language"]
    ]
    kinds = [row["equals"] for row in overall]
    assert sorted(set(kinds)) == ["either", "mean with the average row"]
    assert kinds.count("either") == 1
    ck25 = {row["model"]: row for row in overall if row["dataset"] == "ck25"}
    assert (ck25["INFAI"]["rank_published"], ck25["INFAI"]["rank_mean"]) == (1, 2)
    assert (ck25["IIS-Q"]["rank_published"], ck25["IIS-Q"]["rank_mean"]) == (2, 1)
    assert "AIFB (ck25), IIS-Q (ck25), INFAI (ck25), LACODAM (db25), WSE (db25)" in " ".join(
        table["notes"]
    )
