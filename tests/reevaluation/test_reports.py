# SPDX-License-Identifier: Apache-2.0
"""The report on two evaluation passes: differences, new metrics and causes."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from kgbench.cli import app
from kgbench.record.reading import ScoredEvaluation
from kgbench.reevaluation.comparison import Comparison, is_same_value, missing_metrics
from tests.support.archives import record_v3, write_json

NAMES = {"m/f1": "f1", "m/recall": "recall", "m/strict": "strict"}


def compared(
    before: dict[str, float],
    after: dict[str, float],
    *,
    decimals: int | None = None,
    new: tuple[str, ...] = (),
) -> Comparison:
    """Return the comparison of one dialogue with one answer."""
    found = Comparison()
    found.add(
        "d",
        "T-1",
        "model",
        before={0: ScoredEvaluation("e", before, decimals)},
        after={0: ScoredEvaluation("f", after)},
        names=NAMES,
        new=new,
    )
    return found


def test_a_difference_is_unexplained_until_its_cause_is_known() -> None:
    """A difference without a known cause is unexplained, not null."""
    (entry,) = compared({"m/f1": 1.0}, {"m/f1": 0.5}).report()["dialogues_differing"]
    assert entry["cause"] == "unexplained"
    assert entry["differences"] == [{"metric": "f1", "round": 0, "before": 1.0, "after": 0.5}]


def test_new_metrics_are_named_once_and_are_no_differences() -> None:
    """A metric that the compared pass lacks is listed, but neither compared nor counted."""
    found = compared({"m/f1": 1.0}, {"m/f1": 1.0, "m/strict": 0.5}, new=("m/strict", "m/recall"))
    found.extend(compared({"m/f1": 1.0}, {"m/f1": 1.0, "m/strict": 0.1}, new=("m/strict",)))
    report = found.report()
    assert report["dialogues_differing"] == []
    assert report["new_metrics"] == ["strict"]
    assert [row["metric"] for row in report["metrics"]] == ["f1"]


def test_a_metric_that_is_gone_is_a_difference() -> None:
    """A metric that only the compared pass has is a difference."""
    (entry,) = compared({"m/f1": 1.0}, {}).report()["dialogues_differing"]
    assert entry["differences"][0]["after"] is None


@pytest.mark.parametrize(
    ("before", "after", "decimals", "equal"),
    [
        (0.33, 1 / 3, 2, True),
        (0.33, 1 / 3, None, False),
        (0.33, 0.34, 2, False),
        (0.33, 0.336, 2, False),
        (1.0, 0.996, 2, True),
        (0.0, -0.004, 2, True),
        (0.5, 0.5 + 1e-10, None, True),
    ],
)
def test_rounded_values_are_compared_rounded(
    before: float, after: float, decimals: int | None, *, equal: bool
) -> None:
    """A value published with two decimals equals a value that rounds to it."""
    assert is_same_value(before, after, decimals) is equal
    found = compared({"m/f1": before}, {"m/f1": after}, decimals=decimals)
    assert bool(found.differing) is not equal


def test_which_metrics_a_pass_lacks() -> None:
    """A metric that a pass never has is missing; all are compared if a judged dialogue has none."""
    assert missing_metrics(NAMES, {"m/f1", "other"}, is_evaluated=True) == {"m/recall", "m/strict"}
    assert missing_metrics(NAMES, {"other"}, is_evaluated=False) == set(NAMES)
    assert missing_metrics(NAMES, {"other"}, is_evaluated=True) == set()


def test_kinds_of_causes_are_counted_the_unexplained_first() -> None:
    """Unexplained differences are counted first, then other causes by frequency."""
    found = Comparison()
    causes = ["limit: a", "limit: b", "semantics: c", "unexplained", "scope rule: d"]
    found.differing = [{"cause": cause} for cause in causes]
    assert list(found.causes().items()) == [
        ("unexplained", 1),
        ("limit", 2),
        ("scope rule", 1),
        ("semantics", 1),
    ]


def test_the_summary_counts_causes_and_names_new_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The summary counts unexplained differences and lists each new metric once."""
    monkeypatch.setenv("KGBENCH_STORE", str(tmp_path / "store"))
    most = "http://example.org/people/person-00000004"
    data = {"n": 6, "graphFormat": "turtle", "specialNodeIri": most, "specialFriends": []}
    records = [
        record_v3(data=data, scores={"f1": f1, "recall": 1.0}, texts=("Who?", most))
        for f1 in (0.25, 1.0)
    ]
    for words in (
        ["import", "llm-kg-bench", str(write_json(tmp_path / "r.json", records))],
        ["reevaluate", "--executor", "local:1"],
    ):
        said = CliRunner().invoke(app, words, catch_exceptions=False).stdout
    lines = said.splitlines()
    (counted,) = [k for k, line in enumerate(lines) if "judged again" in line]
    assert lines[counted].startswith("2 dialogues judged again, 1 differ")
    assert lines[counted + 1] == "1 unexplained"
    assert lines[counted + 2] == "new in this pass: brevity, exact, noSpecialFriends, precision"
