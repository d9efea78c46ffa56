# SPDX-License-Identifier: Apache-2.0
"""The data sheet: facts are compared in parts."""

from __future__ import annotations

import pytest

from kgbench.api import PlainExecutor
from kgbench.families.FactExtractStatic.judge import family
from tests.support.families import only_case

EXECUTOR = PlainExecutor()


def extracted(answer: str) -> dict[str, float]:
    """Return the scores of an answer about the data sheet."""
    case = only_case("FactExtractStatic")
    return dict(family.judge(case, [answer], EXECUTOR).scores)


def test_the_reference_states_what_the_sheet_says() -> None:
    """Every material and number of the reference is in the data sheet."""
    case = only_case("FactExtractStatic")
    sheet, reference = case.data["sheet"], case.data["optimal"]
    materials = [part.strip(" ,;") for part in reference.split("mat:")[2:]]
    assert len(materials) == 11
    for name in materials:
        assert name.split()[0].replace("_", " ") in sheet
    for number in ("582", "617.5", "1040"):
        assert number in sheet


def test_parts_are_compared_apart() -> None:
    """A missing material, another unit and another number lower only their own scores."""
    reference = only_case("FactExtractStatic").data["optimal"]
    scores = extracted(
        reference.replace("mat:PLA , ", "", 1)
        .replace("unit:MilliM", "unit:CentiM", 1)
        .replace('"617.5"', '"617"')
    )
    assert scores["printMat_precision"] == 1.0
    assert scores["printMat_recall"] == 7 / 8
    assert scores["supportMat_f-measure"] == 1.0
    assert scores["DimUnit_recall"] == scores["DimValues_recall"] == pytest.approx(2 / 3)


def test_numbers_are_compared_as_numbers() -> None:
    """582 and 582.0 are the same value of a dimension, although not the same triple."""
    reference = only_case("FactExtractStatic").data["optimal"]
    scores = extracted(reference.replace('"582.0"^^xsd:double', "582"))
    assert scores["DimValues_f-measure"] == 1.0
    assert scores["norm_f-measure"] < 1.0


def test_empty_answers_have_precision() -> None:
    """An empty answer has precision 1 and recall 0."""
    scores = extracted("")
    for name in ("norm", "printMat", "supportMat", "DimValues", "DimUnit"):
        assert [scores[f"{name}_{kind}"] for kind in ("precision", "recall")] == [1.0, 0.0]
