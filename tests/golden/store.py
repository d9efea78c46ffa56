# SPDX-License-Identifier: Apache-2.0
"""The small store behind the golden files, the same in every process, checkout and version."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kgbench import clock, software
from kgbench.engine import tool_turns
from kgbench.store import iris, publication_keys
from kgbench.store.publication_keys import publication_key
from tests.support import text2kg_data, text2sparql_data
from tests.support.archives import dialogue_v3, record_v1, record_v2, record_v3, write_json
from tests.support.commands import printed

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
CONFIGURATION = """\
name: small
tasks:
  - RdfFriendCount-turtle-1
  - RdfFriendCount-jsonld-1
  - RdfSyntaxFixList-turtle
  - RdfSyntaxFixList-jsonld
  - RdfSyntaxTwin-turtle-natural
  - DifferenceWorld-natural-[12]
  - ClaimCheckWorld-natural-1
  - Text2SparqlExecEvalListOrganizational
  - Text2SparqlToolsOrganizational-tools
models: ["baseline:oracle", "baseline:noisy?rate=0.5&seed=3", "baseline:silent"]
sizes: [1000, 2000]
iterations: 2
"""
#: Only generated cases, because golden files show their prompts and reference answers.
FEW = """\
name: few
tasks: [RdfFriendCount-turtle-1, DifferenceWorld-natural-1, Text2SparqlToolsWorld-natural-1-tools]
models: ["baseline:oracle", "baseline:noisy?rate=0.5&seed=3"]
iterations: 1
"""
MODEL_RECORDS = """\
@prefix dcterms: <http://purl.org/dc/terms/> .
@prefix kgb: <https://w3id.org/kgbench/ns#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <https://schema.org/> .
<urn:oracle> a kgb:ModelRecord ; rdfs:label "Oracle" ; kgb:family "Base" ; kgb:matches "oracle" ;
    kgb:parameterCount 1.0e0 ; kgb:contextLength 1000 ; schema:license "Apache-2.0" ;
    dcterms:source "this test" .
<urn:noisy> a kgb:ModelRecord ; rdfs:label "Noisy" ; kgb:family "Base" ; kgb:matches "noisy" ;
    kgb:parameterCount 2.0e0 ; kgb:contextLength 2000 ; schema:license "Apache-2.0" ;
    dcterms:source "this test" .
"""
SPINACH = {
    "question": "Who?",
    "gold_sparql": "SELECT ?x {}",
    "predicted_sparql": "SELECT ?y {}",
    "f1": 0.5,
    "predicted_answer_tuple": [{"y": {"type": "literal", "value": "a"}}],
    "gold_answer_tuple": [{"x": {"type": "literal", "value": value}} for value in "ab"],
}
QUESTION = {"id": "1", "question": "Who?", "sparql": "ASK {}", "info": {}}
TRANSCRIPT = {
    "id": "1",
    "sparql": "ASK { ?s ?p ?o }",
    "elapsed": 2.5,
    "messages": [
        {"role": "system", "content": "You answer."},
        {"role": "user", "content": "Who?"},
        {"role": "assistant", "content": "I look.", "tool_calls": [{"id": "1"}]},
    ],
}
REEVALUATE = ("reevaluate", "--executor", "local:1")
JUDGE = ("judge", "small", "--judged", "*noisy*", "--rubric", "correctness")
#: The commands that make the store, by the names of the golden files with their reports.
STEPS = {
    "run-few": ("run", "few.yaml"),
    "run-small": ("run", "small.yaml"),
    "import-llm-kg-bench": ("import", "llm-kg-bench", "results.json"),
    "import-text2kgbench": ("import", "text2kgbench", "bridges"),
    "import-text2sparql": ("import", "text2sparql", "challenge"),
    "import-spinach": ("import", "spinach", "datasets"),
    "import-grasp": ("import", "grasp", "ck25/set"),
    "reevaluate": (*REEVALUATE, "few"),
    "reevaluate-rows": (*REEVALUATE, "small", "--policy", "rows"),
    "reevaluate-text2sparql": (*REEVALUATE, "--policy", "text2sparql-2025"),
    "reevaluate-spinach": (*REEVALUATE, "--policy", "spinach"),
    "reevaluate-grasp": (*REEVALUATE, "--policy", "grasp"),
    "reevaluate-variants": (*REEVALUATE, "small", "--variants", "2", "--seed", "1"),
    "reevaluate-tools": (*REEVALUATE, "few", "--audit-tools"),
    "judge": (*JUDGE, "--model", "baseline:oracle"),
    "judge-noisy": (*JUDGE, "--calibrate", "warn", "--model", "baseline:noisy?rate=0.5&seed=3"),
    "judge-pairs": (
        *("judge", "small", "--rubric", "preference", "--calibrate", "no"),
        *("--model", "baseline:oracle", "--sample", "10"),
    ),
}


@contextmanager
def fixed() -> Iterator[None]:
    """Fix times, new ids, secrets and the software of everything that is recorded meanwhile.

    The time stands still, because concurrent dialogues read the clock in no certain order, and
    tools take none.
    """
    seconds = count(int(BEGIN.timestamp()))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: BEGIN)
        patch.setattr(iris, "time", SimpleNamespace(time_ns=lambda: next(seconds) * 10**9))
        patch.setattr(iris, "secrets", SimpleNamespace(randbits=lambda _: 0))
        patch.setattr(tool_turns, "timedelta", lambda seconds: timedelta(0 * seconds))
        patch.setattr(publication_keys, "secrets", SimpleNamespace(token_bytes=bytes))
        patch.setattr(software, "kgbench", SimpleNamespace(__version__="1"))
        patch.setattr(software, "_git_state", lambda: (None, None))
        patch.setattr(software, "_packages", dict)
        software.this_software.cache_clear()
        yield
    software.this_software.cache_clear()


def make(folder: Path) -> dict[str, str]:
    """Make ``folder/store``, and return the report of each step."""
    (folder / "small.yaml").write_text(CONFIGURATION, "utf-8")
    (folder / "few.yaml").write_text(FEW, "utf-8")
    (folder / "records.ttl").write_text(MODEL_RECORDS, "utf-8")
    write_json(folder / "results.json", [record_v1(), record_v2(), record_v3(), dialogue_v3()])
    text2kg_data.write(folder / "bridges")
    text2sparql_data.write_challenge(folder / "challenge")
    _put(folder / "datasets" / "qald" / "en" / "spinach_output_dev.json", [SPINACH])
    _put(folder / "ck25" / "set" / "test.jsonl", QUESTION)
    _put(folder / "ck25" / "set" / "outputs" / "big.jsonl", TRANSCRIPT)
    said = {}
    with fixed():
        for name, words in STEPS.items():
            typed = [folder / word if (folder / word).exists() else word for word in words]
            said[name] = printed(*typed, "--json", "--store", folder / "store")
        publication_key(str(folder / "store"))  # kept for all that is published
    return said


def _put(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content) + "\n", "utf-8")
