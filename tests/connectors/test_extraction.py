# SPDX-License-Identifier: Apache-2.0
"""The part of a model's text that counts as its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.connectors import baseline, extraction
from kgbench.errors import ModelSpecError
from tests.connectors import setup_for


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        ("plain", "plain", None),
        ("<think>a</think>b", "b", "a"),
        ("\n<think>\na\n</think>\n\nb\n", "b\n", "a"),
        ("<THINK>a</THINK> b", "b", "a"),
        ("<thinking>a</thinking>b", "b", "a"),
        ("<think>a</think><think>c</think>b", "b", "a\n\nc"),
        ("a</think>b", "b", "a"),
        ("<think>a", "", "a"),
        ("<think></think>b", "b", ""),
        ("b <think>a</think> c", "b <think>a</think> c", None),
        ("<think>a</think>b <think>c</think>", "b <think>c</think>", "a"),
        ("", "", None),
    ],
)
def test_leading_blocks_are_reasoning(text: str, answer: str, reasoning: str | None) -> None:
    """Only blocks before the answer are separated, also if the template opened them."""
    assert (answer, reasoning) == extraction.find("think-block/1")(text)


@given(st.text(st.sampled_from("ab <>/think\n")))
def test_nothing_is_separated_where_no_tag_stands(text: str) -> None:
    """A text without a tag is its own answer, unchanged."""
    step = extraction.after_think_blocks(text)
    if "<think>" not in text and "</think>" not in text:
        assert (text, None) == step


@given(st.text(), st.text())
def test_every_step_keeps_all_of_the_text(thought: str, answer: str) -> None:
    """Reasoning and answer together are the model's text, apart from blanks and tags."""
    for step in extraction.STEPS.values():
        found = step(f"<think>{thought}</think>{answer}")
        kept = "".join(((found.reasoning or "") + found.text).split())
        for part in (thought, answer):
            if "<" not in part:
                assert "".join(part.split()) in kept


@pytest.mark.parametrize(
    ("step", "text", "answer", "reasoning"),
    [
        ("think-block/2", "<think>a</think>b", "b", "a"),
        ("think-block/2", "[THINK]a[/THINK] b", "b", "a"),
        ("think-block/2", "<thought>a</thought><reasoning>c</reasoning>b", "b", "a\n\nc"),
        ("think-block/2", "<seed:think>a</seed:think>b", "b", "a"),
        ("think-block/2", "◁think▷a◁/think▷b", "b", "a"),
        (
            *("think-block/2", "<|begin_of_thought|>a<|end_of_thought|>"),
            *("", "a"),
        ),
        ("think-block/2", "<thought>a", "", "a"),
        ("think-block/2", "b <thought>a</thought>", "b <thought>a</thought>", None),
        (
            "channels/1",
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b",
            *("b", "a"),
        ),
        ("channels/1", "<|channel|>final<|message|>b<|return|>", "b", ""),
        ("channels/1", "<|channel|>analysis<|message|>a", "", "a"),
        ("channels/1", "analysisa b cassistantfinalb", "b", "a b c"),
        ("channels/1", "analysis of b", "analysis of b", None),
    ],
)
def test_further_marks_of_reasoning_are_separated(
    step: str, text: str, answer: str, reasoning: str | None
) -> None:
    """Blocks in the marks of many models, and the channels of gpt-oss."""
    assert (answer, reasoning) == extraction.find(step)(text)
    assert extraction.fitting(text) in (
        (step, "think-block/1") if reasoning is not None else (None,)
    )


def test_the_default_takes_the_text_as_it_is() -> None:
    """By default the whole text is the answer, as for published dialogues."""
    assert extraction.find(extraction.DEFAULT)("<think>a</think>b").text == "<think>a</think>b"


def test_steps_are_named_with_their_version() -> None:
    """An unknown step is refused with the nearest one; a known one has an IRI."""
    assert extraction.iri("think-block/1").endswith("/extraction/think-block/1")
    with pytest.raises(ModelSpecError, match="did you mean think-block"):
        extraction.find("think-blocks")


def test_a_setup_names_its_step() -> None:
    """The option ``extraction`` of any model chooses the step; an unknown one is refused."""
    assert extraction.of(setup_for("baseline", "oracle")) is extraction.whole
    chosen = setup_for("baseline", "oracle", options={"extraction": "think-block/1"})
    assert extraction.of(chosen) is extraction.after_think_blocks
    assert baseline.open(chosen, 1)
    wrong = setup_for("baseline", "oracle", options={"extraction": "think/9"})
    with pytest.raises(ModelSpecError, match="one of whole/1, think-block/1"):
        baseline.open(wrong, 1)
