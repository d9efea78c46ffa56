# SPDX-License-Identifier: Apache-2.0
"""Models without a provider."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors import baseline, find
from kgbench.errors import ModelSpecError
from kgbench.model import Usage
from kgbench.tasks import tool_prompts
from tests.connectors import CASE, asked, replies, setup_for

BEST = "Here it is:\n```turtle\n<a> <b> <c> .\n<d> <e> <f> .\n```\n"


@pytest.fixture(autouse=True)
def _reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(baseline, "_reference", lambda case: BEST if case is CASE else "")
    monkeypatch.setattr(tool_prompts, "tools_of", lambda _: ())


def _texts(model_id: str, count: int = 40, **options: object) -> list[str]:
    requests = [asked(seed=f"{k:064x}") for k in range(count)]
    return [
        r.text
        for r in replies(baseline, setup_for("baseline", model_id, options=options), requests)
    ]


def test_the_oracle_gives_the_reference_and_the_silent_model_nothing() -> None:
    """The oracle is right, the silent model says nothing, and neither counts tokens."""
    assert _texts("oracle", 1) == [BEST]
    assert _texts("silent", 1) == [""]
    reply = replies(baseline, setup_for("baseline", "oracle"), [asked()])[0]
    assert Usage() == reply.usage
    assert reply.model == "oracle"


def test_noise_is_seeded_and_as_frequent_as_asked() -> None:
    """Noise depends on the plan and the seed only; its rate is the share of damaged answers."""
    first = _texts("noisy", 200, rate=0.3, seed=7)
    assert first == _texts("noisy", 200, rate="0.3", seed="7")
    assert first != _texts("noisy", 200, rate=0.3, seed=8)
    assert 40 <= sum(text != BEST for text in first) <= 80
    assert set(_texts("noisy", 20, rate=0)) == {BEST}
    assert BEST not in _texts("noisy", 200, rate=1)


def test_a_delay_changes_no_answer() -> None:
    """``delay`` postpones answers and does not change them."""
    assert _texts("noisy", 3, seed=7, delay=0.001) == _texts("noisy", 3, seed=7)


def test_damage_has_several_kinds() -> None:
    """Damage removes lines, changes characters, cuts off blocks and empties answers."""
    damaged = set(_texts("noisy", 300, rate=1))
    assert "" in damaged
    assert any(text and BEST.startswith(text) for text in damaged)
    assert any(len(text) == len(BEST) for text in damaged)
    assert any(text.endswith("```\n") and len(text) < len(BEST) for text in damaged)


@given(st.text(), st.integers())
def test_damage_always_shows(text: str, seed: int) -> None:
    """Damage changes any text that is not empty."""
    damaged = baseline.damaged(text, Random(seed))
    assert (damaged == text) == (text == "")


@pytest.mark.parametrize(
    ("model_id", "rest", "message"),
    [
        ("oracel", {}, "did you mean oracle"),
        ("oracle", {"options": {"rate": 1}}, "no option 'rate'; it takes delay, extraction"),
        ("noisy", {"options": {"rate": 1.5}}, "between 0 and 1"),
        ("noisy", {"options": {"rate": "nan"}}, "between 0 and 1"),
        ("noisy", {"options": {"seed": 0.5}}, "a whole number"),
        ("noisy", {"options": {"seed": True}}, "a whole number"),
        ("silent", {"options": {"delay": -1}}, "at least 0"),
        ("oracle", {"sampling": {"temperature": 1}}, "no sampling parameters"),
    ],
)
def test_unusable_setups_are_refused(model_id: str, rest: dict[str, object], message: str) -> None:
    """Unknown names, options and values are refused with the nearest valid one."""
    with pytest.raises(ModelSpecError, match=message):
        baseline.open(setup_for("baseline", model_id, **rest), 1)


def test_connectors_are_found_by_name() -> None:
    """A connector is found by its entry point; a misspelt name is refused with the nearest one."""
    assert find("baseline") is baseline
    with pytest.raises(ModelSpecError, match="did you mean openai"):
        find("opena")
