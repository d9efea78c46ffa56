# SPDX-License-Identifier: Apache-2.0
"""Bulk readers beside :mod:`kgbench.record.dialogues`: the turns and the scores of whole runs.

A bulk reader beside :mod:`kgbench.record.dialogues`: judging reads whole runs and needs prompts,
answers and outcomes only. Each turn has one call with its answer (the extracted one, if any) and
no time; turns whose texts were left out are absent, because nothing can be judged of them.

An engine looks up every IRI in a result by its hash: with a row per score, that took longer than
finding the scores.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from typing import Any

from kgbench.model import Call, Outcome, Reply, Turn
from kgbench.rdf import iri, original_text
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import KGB, OUTCOME

_OPTIONAL = re.compile(r"\s*OPTIONAL \{ \?\w+ kgb:(\w+) \?\w+ \}")
_NEVER = datetime.min.replace(tzinfo=UTC)  # judges do not need the times of calls


def of_dialogues(
    store: Store, graph: str, dialogues: Collection[str]
) -> dict[str, tuple[Turn, ...]]:
    """Return the answered turns of dialogues (IRIs) in a run's graph, by dialogue."""
    return _by_dialogue(store, graph, f"VALUES ?dialogue {{ {' '.join(map(iri, dialogues))} }}")


def of_execution(store: Store, graph: str, execution: str) -> dict[str, tuple[Turn, ...]]:
    """Return the answered turns of all dialogues of a task execution (IRI), by dialogue."""
    return _by_dialogue(store, graph, f"?dialogue dcterms:isPartOf {iri(execution)} .")


def _by_dialogue(store: Store, graph: str, condition: str) -> dict[str, tuple[Turn, ...]]:
    by_dialogue: dict[str, dict[int, Turn]] = {}
    rows = store.query(_turns_query(store, graph, condition))
    for dialogue, round_, *columns in rows:
        by_dialogue.setdefault(dialogue.value, {})[int(round_.value)] = _turn(*columns)
    return {name: tuple(turns[k] for k in sorted(turns)) for name, turns in by_dialogue.items()}


def _turns_query(store: Store, graph: str, condition: str) -> str:
    """Return the query for turns, without the optional properties that a run's graph lacks."""
    present = {row[0].value for row in store.query(fill("turn-properties.rq", graph=graph))}
    lines = fill("dialogue-turn-texts.rq", graph=graph, which=condition).splitlines()
    optional = map(_OPTIONAL.fullmatch, lines)
    return "\n".join(
        line
        for line, match in zip(lines, optional, strict=True)
        if match is None or KGB[match[1]] in present
    )


def _turn(  # noqa: PLR0917 - the columns of the queries for turns, in their order
    prompt: Any, prompt_original: Any, feedback: Any, answer: Any, original: Any, outcome: Any
) -> Turn:
    reply = Reply(
        text=text(answer, original),
        outcome=None if outcome is None else Outcome(outcome.value.removeprefix(OUTCOME)),
    )
    return Turn(
        prompt=text(prompt, prompt_original),
        calls=(Call(_NEVER, _NEVER, reply),),
        feedback=None if feedback is None else feedback.value,
    )


def text(value: Any, original: Any) -> str:
    """Decode a text from its two literals: Unicode, and the original bytes if they differ."""
    return original_text(value.value, None if original is None else original.value)


def of_pass(store: Store, graph: str) -> dict[str, dict[str, float]]:
    """Return the scores of each evaluation with scores in the graph of a pass, by metric (IRIs)."""
    metrics = [row[0].value for row in store.query(fill("pass-metrics.rq", **{"pass": graph}))]
    numbered = " ".join(f"({iri(metric)} {number})" for number, metric in enumerate(metrics))
    rows = store.query(fill("pass-scores.rq", metrics=numbered, **{"pass": graph}))
    return {evaluation.value: _parsed(pairs.value, metrics) for evaluation, pairs in rows}


def _parsed(pairs: str, metrics: Sequence[str]) -> dict[str, float]:
    """Parse pairs of the number of a metric and a value, all separated by blanks."""
    words = iter(pairs.split(" "))
    return {metrics[int(number)]: float(value) for number, value in zip(words, words, strict=True)}
