# SPDX-License-Identifier: Apache-2.0
"""How many changed answers keep the full score: ``make answer-rates`` records it.

``RATES="FAMILY ..."`` measures only some families. Reasons of rates that stay high are kept;
those of new ones are to be written into ``docs/changed-answers.csv``.
"""

from __future__ import annotations

import random
import sys
from typing import Any

from docs.reference_pages import changed_answers
from docs.reference_pages.changed_answers import CHANGES, Rate
from kgbench.model import Case
from kgbench.tasks import catalogue
from kgbench.testing.judging import PlainExecutor
from tests.support.answer_mutants.answers import FAMILIES, Family, cases_of

NUMBER = 200  # at most, of a kind and level
EACH = 10  # at most, of a case
CASES = 60
SEED = 48


def levels(family: Family) -> list[int]:
    """Return the levels of a family, or 0 alone if it has none."""
    return list(range(1, family.levels + 1)) or [0]


def measured(name: str, level: int) -> tuple[list[Rate], list[str]]:
    """Return the rates of a level of a family, and the changed answers that keep the score."""
    family, found, kept = FAMILIES[name], list(cases_of(name, level, CASES, SEED)), list[str]()
    result = []
    for change in CHANGES:
        tried, same, before = 0, 0, len(kept)
        for index, case in enumerate(found):
            made = list(dict.fromkeys(family.operators[change](family.text(case).text)))
            chosen = random.Random(f"{SEED} {index}").sample(made, min(EACH, len(made)))
            for changed in chosen[: NUMBER - tried]:
                tried += 1
                if is_best(case, family.text(case).answer(changed)):
                    right = family.text(case).text
                    if family.equivalent is not None and family.equivalent(
                        case, right, changed, SEED
                    ):
                        same += 1
                    else:
                        kept.append(changed)
        result.append(Rate(name, level, change, tried, same, len(kept) - before, ""))
    return result, kept


def is_best(case: Case, answer: str) -> bool:
    """Return whether an answer has the full main score."""
    task_class = catalogue.task_class(case.task_class)
    module: Any = catalogue.module(task_class.name)
    scores = module.judge(case, [answer], PlainExecutor()).scores
    return scores.get(task_class.main_metric.removeprefix("max_")) == 1


def main() -> None:
    """Measure the families that the arguments name, or all, and record the rates."""
    for name in sys.argv[1:] or FAMILIES:
        found = [rate for level in levels(FAMILIES[name]) for rate in measured(name, level)[0]]
        recorded = {
            (rate.family, rate.level, rate.change): rate for rate in changed_answers.rates()
        }
        for rate in found:
            key = (rate.family, rate.level, rate.change)
            reason = recorded[key].reason if rate.is_high and key in recorded else ""
            recorded[key] = rate._replace(reason=reason)
            sys.stdout.write(f"{recorded[key]}\n")
        changed_answers.write(
            recorded[one, level, change]
            for one, family in FAMILIES.items()
            for level in levels(family)
            for change in CHANGES
            if (one, level, change) in recorded
        )


if __name__ == "__main__":
    main()
