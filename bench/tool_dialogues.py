# SPDX-License-Identifier: Apache-2.0
"""Dialogues with tools compared with plain ones of as many turns, both with instant models.

A turn with tools is a model call, the execution of its tools in a judging process, and two writes.
A plain turn is a model call, the judging of its answer, and two writes. The scripted agent
``searcher`` takes two or three turns; a model whose answers are all damaged takes as many in a task
with feedback. Turns are counted in the store, and processes are timed from start to leaderboard.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from bench.harness import LEAST, Result, Timing
from bench.running import measured
from kgbench.store import open_reader

DIALOGUES = 500
TOOLS = ("baseline:searcher", "Text2SparqlToolsOrganizational-tools")
PLAIN = ("baseline:noisy?rate=1", "RdfSyntaxFixList-turtle")
_LEAST_TURNS = 2  # of a dialogue, on average
_TURNS = """PREFIX kgb: <https://w3id.org/kgbench/ns#>
SELECT (COUNT(?answer) AS ?turns) WHERE { GRAPH ?run { ?answer a kgb:Answer } }"""


def run() -> list[Result]:
    """Return turns per second of both as medians, and their ratio."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = [
            (
                _seconds_per_turn(Path(folder) / f"tools{k}", *TOOLS),
                _seconds_per_turn(Path(folder) / f"plain{k}", *PLAIN),
            )
            for k in range(LEAST)
        ]  # in turn, so that a slow phase of the machine affects both
    tools, plain = (Timing(tuple(pair[k] for pair in pairs)) for k in (0, 1))
    note = (
        f"{DIALOGUES} dialogues of two or three turns, median of {LEAST}, spread {tools.spread:.0%}"
    )
    return [
        Result("turns with tools, instant model", 1 / tools.median, "turns/s", note=note),
        Result("turns without tools, instant model", 1 / plain.median, "turns/s"),
        Result(
            "dialogues with tools",
            plain.median / tools.median,
            "x",
            against="plain dialogues with as many turns",
            goal="at least 0.5",
        ),
    ]


def _seconds_per_turn(store: Path, model: str, label: str) -> float:
    options = ["--model", model, "--task", label, "--iterations", str(DIALOGUES)]
    seconds = measured(store, DIALOGUES, options)["seconds"]
    with open_reader(str(store)) as reader:
        (row,) = reader.query(_TURNS)
    turns = int(row["turns"].value)
    if turns < _LEAST_TURNS * DIALOGUES:
        raise RuntimeError(f"{model} on {label} had {turns} turns in {DIALOGUES} dialogues")
    return seconds / turns
