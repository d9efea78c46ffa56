# SPDX-License-Identifier: Apache-2.0
"""A dialogue as a conversation: answers with their verdicts, what was expected, the origin."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from typing import Any

from kgbench.analysis.dialogues import RoundView, VerdictView, view
from kgbench.model import Json
from kgbench.pages import drawing, things
from kgbench.pages.snapshot import View
from kgbench.vocab import DCTERMS, KGB, PROV

_EXPECTED = ("optimal", "refSparql", "refResultSet", "specialFriends", "expected", "solution")
_MOST_REASONS = 20
_LONGEST_DIFF = 20_000  # characters; the comparison takes time that grows with their square


def conversation(store: View, iri: str, *, reveal: bool) -> dict[str, Any]:
    """What the page of the dialogue ``iri`` shows; the expected answer where ``reveal`` asks."""
    found = view(store, iri)
    facts = {
        name: things.text(store, iri, predicate)
        for name, predicate in (
            ("model", KGB.model),
            ("task", KGB.task),
            ("suite", KGB.suite),
            ("case", KGB.case),
            ("execution", DCTERMS.isPartOf),
        )
    }
    facts["run"] = things.text(store, facts["execution"] or iri, DCTERMS.isPartOf)
    expected = _expected(store, facts["case"]) if reveal and facts["case"] else []
    names = [things.label(store, facts[name] or "") for name in ("task", "model")]
    return {
        "title": f"{names[0]} by {names[1]}",
        "dialogue": found,
        "reasons": [
            (one, things.text(store, one, KGB.reason) or "no reason was recorded")
            for one in things.subjects(store, KGB.invalidates, iri, _MOST_REASONS)
        ],
        "facts": facts,
        "rounds": [_round(one, found.verdicts, expected) for one in found.rounds],
        "whole": [v for v in found.verdicts if v.round is None],
        "expected": expected,
        "drawing": _drawing(store, iri, facts, found.rounds),
    }


def _round(
    one: RoundView, verdicts: tuple[VerdictView, ...], expected: list[tuple[str, str]]
) -> dict[str, Any]:
    return {
        "turn": one,
        "verdicts": [verdict for verdict in verdicts if verdict.round == one.round],
        "difference": list(_difference(expected, one.answer or "")),
    }


def _expected(store: View, case: str) -> list[tuple[str, str]]:
    """What the case data hold as right answers: (name, text)."""
    raw = things.text(store, case, KGB.caseData)
    try:
        data: Json = json.loads(raw or "{}")
    except (ValueError, RecursionError):
        return []
    return [
        (name, data[name] if isinstance(data[name], str) else json.dumps(data[name], indent=2))
        for name in _EXPECTED
        if isinstance(data, dict) and data.get(name)
    ]


def _difference(expected: list[tuple[str, str]], answer: str) -> Iterator[tuple[str, str]]:
    """The lines of a diff from the first expected text to the answer: (sign, line)."""
    if not expected or not answer:
        return
    wanted = expected[0][1]
    if len(wanted) > _LONGEST_DIFF or len(answer) > _LONGEST_DIFF:
        return
    lines = difflib.unified_diff(wanted.splitlines(), answer.splitlines(), lineterm="", n=2)
    for line in list(lines)[2:]:
        yield line[:1], line[1:]


def _is_evaluation(store: View, iri: str) -> bool:
    return KGB.Evaluation in things.kinds(store, iri)


def _drawing(
    store: View, iri: str, facts: dict[str, str | None], rounds: tuple[RoundView, ...]
) -> drawing.Drawing:
    rows = []
    for one in rounds:
        row = {"prompt": f"{iri}/{one.round}/prompt"}
        answer = f"{iri}/{one.round}/answer"
        if one.answer is not None:
            row["answer"] = answer
            call = things.text(store, answer, PROV.wasGeneratedBy)
            judged = things.subjects(store, PROV.wasDerivedFrom, answer, 20)
            # What judges the whole dialogue is derived from each of its answers, too.
            of_round = (e for e in judged if things.text(store, e, KGB.round) == str(one.round))
            evaluation = next((e for e in of_round if _is_evaluation(store, e)), None)
            if evaluation is not None:
                row["evaluation"] = evaluation
        else:
            call = f"{iri}/{one.round}/call/0"
        if call is not None:
            row["call"] = call
        rows.append(row)
    return drawing.provenance(facts["case"] or "", facts["model"] or "", rows)
