# SPDX-License-Identifier: Apache-2.0
"""Parts of dialogues have fragment IRIs in publications and path IRIs in stores."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgbench.store.fragments import dialogue, fragment, published_iri, recorded_iri

BASE, OTHER = "https://example.org/bench/", "https://elsewhere.example/"
RUN, PASS = f"{BASE}run/01a2", f"{BASE}pass/b10d-9c41"
PATH = "noisy-9f8f7d/Spell-10/0-6d6fd23e"
RUNS = {PASS: RUN, f"{BASE}pass/p2": f"{OTHER}run/r9"}
PLACE = "noisy-9f8f7d/Spell-10#0-6d6fd23e"
DIGEST = "9f" * 32


@pytest.mark.parametrize(
    ("iri", "by_fragment"),
    [
        (f"{RUN}/{PATH}", f"{RUN}/{PLACE}"),
        (f"{RUN}/{PATH}.1", f"{RUN}/{PLACE}.1"),
        (f"{RUN}/{PATH}/0/prompt", f"{RUN}/{PLACE}-0-prompt"),
        (f"{RUN}/{PATH}/12/answer", f"{RUN}/{PLACE}-12-answer"),
        (f"{RUN}/{PATH}/0/call/11", f"{RUN}/{PLACE}-0-call-11"),
        (f"{RUN}/{PATH}.1/0/call/0", f"{RUN}/{PLACE}.1-0-call-0"),
        (f"{RUN}/noisy/Spell/0-w6d6fd23e/0/answer", f"{RUN}/noisy/Spell#0-w6d6fd23e-0-answer"),
        (f"{RUN}/text/{DIGEST}", f"{RUN}/text/f#{DIGEST}"),
        (f"{PASS}/{PATH}/0", f"{RUN}/{PLACE}-0-evaluation-b10d-9c41"),
        (f"{PASS}/{PATH}", f"{RUN}/{PLACE}-evaluation-b10d-9c41"),
        (f"{BASE}analysis/1/table/0/mean", f"{BASE}analysis/1#table/0/mean"),
        (f"{BASE}invalidation/1/by", f"{BASE}invalidation/1#by"),
    ],
)
def test_parts_are_fragments(iri: str, by_fragment: str) -> None:
    """Each kind of part maps to a fragment of a document and back to its path."""
    assert published_iri(iri, RUNS) == by_fragment
    assert published_iri(by_fragment, RUNS) == by_fragment
    assert recorded_iri(by_fragment) == iri
    assert recorded_iri(iri) == iri


def test_evaluations_of_results_from_elsewhere() -> None:
    """A pass over a run with another base has IRIs below its own base, which map back."""
    for ending in ("", "/3"):
        iri = f"{BASE}pass/p2/{PATH}{ending}"
        found = published_iri(iri, RUNS)
        assert found.startswith(f"{BASE}thing/")
        assert recorded_iri(found) == iri


@pytest.mark.parametrize(
    "iri",
    [
        *(RUN, PASS, f"{RUN}/noisy-9f8f7d/Spell-10", f"{BASE}graph/run/01a2"),
        *(f"{RUN}/configuration/{DIGEST}", f"{RUN}/session/1", f"{BASE}graph/analysis/1"),
        *(f"{BASE}pass/unknown/{PATH}/0", "https://w3id.org/kgbench/ns#Run", f"{BASE}#dataset"),
        *("https://example.org/a#0-prompt", f"{RUN}/text", f"{BASE}version/1#data/all.nq.zst"),
    ],
)
def test_everything_else_keeps_its_iri(iri: str) -> None:
    """IRIs that are not parts, or belong to a pass of an unknown run, are the same in both."""
    assert published_iri(iri, RUNS) == iri
    assert recorded_iri(iri) == iri


@given(st.text(), st.sampled_from([f"{RUN}/", f"{PASS}/", f"{RUN}/{PATH}/", f"{RUN}/{PLACE}-"]))
def test_no_two_parts_become_one(end: str, start: str) -> None:
    """The mapping to fragments is reversible for any text in an IRI."""
    iri = recorded_iri(start + end)
    assert recorded_iri(published_iri(iri, RUNS)) == iri


def test_pages_have_the_fragments_of_publications() -> None:
    """A page of a dialogue uses the end of the published fragment of an evaluation."""
    iri = f"{PASS}/{PATH}/0"
    assert fragment(iri) == "0-evaluation-b10d-9c41"
    assert fragment(published_iri(iri, RUNS)) == f"0-6d6fd23e-{fragment(iri)}"


def test_parts_name_their_dialogue() -> None:
    """A fragment leads to its dialogue; a path of a store or another fragment does not."""
    whole = f"{RUN}/{PLACE}"
    assert dialogue(whole) == dialogue(f"{whole}-0-evaluation-b10d-9c41") == whole
    assert dialogue(f"{RUN}/{PATH}") is None
    assert dialogue(f"{RUN}/text/f#{DIGEST}") is None
