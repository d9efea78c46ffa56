# SPDX-License-Identifier: Apache-2.0
"""How many small changes of right answers keep the full score: ``docs/changed-answers.csv``."""

from __future__ import annotations

import pytest

from docs.reference_pages import changed_answers
from docs.reference_pages.changed_answers import CHANGES

RECORDED = changed_answers.rates()
#: Classes whose answers are no texts in a language: dialogues with tools.
WITHOUT = {"Text2SparqlToolsWorld"}


def test_every_family_is_measured():
    """All generated families are changed at all their levels, and each high rate has a reason."""
    from kgbench.tasks import catalogue
    from tests.answer_rates import FAMILIES, levels

    expected = {
        (name, level, change)
        for name, family in FAMILIES.items()
        for level in levels(family)
        for change in CHANGES
    }
    assert {(rate.family, rate.level, rate.change) for rate in RECORDED} == expected
    assert [rate for rate in RECORDED if rate.is_high != bool(rate.reason)] == []
    generated = {
        task.task_class
        for task in catalogue.labelled_tasks().values()
        if task.task_class.endswith(("World", "Twin"))
    }
    assert generated - WITHOUT <= {name.partition("-")[0] for name in FAMILIES}


@pytest.mark.parametrize(
    ("name", "level"), list(dict.fromkeys((rate.family, rate.level) for rate in RECORDED))
)
def test_rates_are_those_recorded(name, level):
    """As many changed answers keep the full score as the page says."""
    from tests.answer_rates import measured

    found, kept = measured(name, level)

    expected = [rate for rate in RECORDED if (rate.family, rate.level) == (name, level)]
    assert found == [rate._replace(reason="") for rate in expected], kept


@pytest.mark.parametrize("name", list(dict.fromkeys(rate.family for rate in RECORDED)))
def test_right_answers_are_changed(name):
    """The unchanged text of an answer has the full score, and several operators change texts."""
    from tests.answer_rates import FAMILIES, SEED, cases_of, is_best, levels

    family = FAMILIES[name]
    found = [case for level in levels(family)[:2] for case in cases_of(name, level, 4, SEED)]
    texts = [family.text(case) for case in found]

    assert all(
        is_best(case, text.answer(text.text)) for case, text in zip(found, texts, strict=True)
    )
    changing = {
        change for change in CHANGES for text in texts for _ in family.operators[change](text.text)
    }
    assert len(changing) > 1
