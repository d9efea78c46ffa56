# SPDX-License-Identifier: Apache-2.0
"""A small invented data set and challenge in the published layout of TEXT2SPARQL.

The data set is called ck25 like an installable one; its files differ, so they must be installed
unverified.
"""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

NAME = "ck25"
DATASET = "https://example.org/2025/office/"
SPACE = "http://example.org/office/"
GRAPH = f"""\
@prefix : <{SPACE}> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Person rdfs:label "Person" .
:ann a :Person ; :name "Ann" ; :age 41 ; :worksIn :sales .
:bob a :Person ; :name "Bob" ; :age 30 ; :worksIn :sales .
:cho a :Person ; :name "Cho" ; :age 52 ; :worksIn :lab .
:sales a :Room . :lab a :Room . :attic a :Room .
"""
QUESTIONS = f"""\
dataset:
  id: {DATASET}
  prefix: office
  prefix: {NAME}
questions:
- id: 1
  question: {{en: Who works in sales?, de: Wer arbeitet im Verkauf?}}
  query: {{sparql: "SELECT ?p {{{{ ?p <{SPACE}worksIn> <{SPACE}sales> }}}}"}}
- id: 2
  question: {{en: Does anybody work in the lab?, de: Arbeitet jemand im Labor?}}
  query: {{sparql: "ASK {{{{ ?p <{SPACE}worksIn> <{SPACE}lab> }}}}"}}
- id: 3
  question: {{en: 'What are the names, youngest first?', de: 'Wie heissen sie, von jung bis alt?'}}
  features: [SELECT, ORDER, RESULT_ORDER_MATTERS]
  query: {{sparql: "SELECT ?n {{{{ ?p <{SPACE}name> ?n ; <{SPACE}age> ?a }}}} ORDER BY ?a"}}
- id: 4
  question: {{en: Who works in the attic?, de: Wer arbeitet auf dem Dachboden?}}
  query: {{sparql: "SELECT ?p {{{{ ?p <{SPACE}worksIn> <{SPACE}attic> }}}}"}}
""".replace("{{", "{").replace("}}", "}")
TEXTS = {
    "1-en": "Who works in sales?",
    "1-de": "Wer arbeitet im Verkauf?",
    "2-en": "Does anybody work in the lab?",
    "2-de": "Arbeitet jemand im Labor?",
    "3-en": "What are the names, youngest first?",
    "3-de": "Wie heissen sie, von jung bis alt?",
    "4-en": "Who works in the attic?",
    "4-de": "Wer arbeitet auf dem Dachboden?",
}
GOLD: dict[str, dict[str, int]] = {
    "1": {f"{SPACE}ann": 1, f"{SPACE}bob": 1},
    "2": {"true": 1},
    "3": {"Ann": 1, "Bob": 1, "Cho": 1},
    "4": {},
}
# The answers of the system HALF, and their scores by the rule of the challenge. Its answers to the
# German questions 3 and 4 are missing.
QUERIES = {
    "1": f"SELECT ?p {{ ?p <{SPACE}name> 'Ann' }}",
    "2": f"ASK {{ ?p <{SPACE}worksIn> <{SPACE}attic> }}",
    "3": f"SELECT ?n {{ ?p <{SPACE}name> ?n }}",
    "4": "",
}
RESULTS: dict[str, dict[str, int]] = {
    "1": {f"{SPACE}ann": 1},
    "2": {"true": 0},
    "3": {"Ann": 1, "Bob": 1, "Cho": 1},
    "4": {},
}
SCORES: dict[str, dict[str, float]] = {
    "1": {"set_P": 1.0, "set_recall": 0.5, "set_F": 2 / 3},
    "2": {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0},
    "3": {"set_P": 1.0, "set_recall": 1.0, "set_F": 1.0, "ndcg": 1.0},
    "4": {"set_P": 0.0, "set_recall": 0.0, "set_F": 0.0},
}
NOTHING = {"set_P": 0.0, "set_recall": 0.0, "set_F": 0.0}
MISSING = ("3-de", "4-de")


class Trap:
    """An object whose pickle creates a file when it is loaded."""

    def __init__(self, place: Path) -> None:
        self._place = place

    def __reduce__(self) -> Any:
        return (Path.touch, (self._place,))


def write_data_set(folder: Path) -> Path:
    """Write the questions and the graph in the layout of CK25."""
    (folder / "graphs").mkdir(parents=True)
    (folder / "questions.yml").write_text(QUESTIONS, encoding="utf-8")
    (folder / "graphs" / "prod-inst.ttl").write_text(GRAPH, encoding="utf-8")
    return folder


def write_challenge(folder: Path) -> Path:
    """Write the challenge with two systems like the site's folder ``docs``; see :data:`SCORES`."""
    benchmark = folder / "benchmark"
    benchmark.mkdir(parents=True)
    (benchmark / "questions_ck25.yaml").write_text(QUESTIONS, encoding="utf-8")
    put(benchmark / f"{NAME}_true_result_set.json", by_key(GOLD))
    half = folder / "results" / "HALF"
    scores = {key: dict(SCORES[key.split(":")[1][0]]) for key in by_key(GOLD)}
    for missing in MISSING:
        scores[f"{NAME}:{missing}"] = NOTHING | ({"ndcg": 0.0} if missing[0] == "3" else {})
    put(half / f"{NAME}_eval.json", scores | {"average": averages(scores)})
    put(half / f"{NAME}_answers.json", [answer(key) for key in scores if not is_missing(key)])
    put(half / f"{NAME}_system_result_set.json", by_key(RESULTS))
    (half / f"{NAME}_responses.db").write_bytes(pickle.dumps(Trap(folder / "opened")))
    idle = folder / "results" / "IDLE"  # answers nothing right; its result sets are the reference's
    put(idle / f"{NAME}_answers.json", [answer(key) | {"query": ""} for key in scores])
    nothing = dict.fromkeys(scores, NOTHING)
    put(idle / f"{NAME}_eval.json", nothing | {"average": averages(nothing)})
    put(idle / f"{NAME}_system_result_set.json", by_key(GOLD))
    return folder


def averages(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    """Return the published means; that of ``set_F_ndcg`` includes the mean of nDCG once more."""
    n = len(scores)
    means = {name: sum(row[name] for row in scores.values()) / n for name in NOTHING}
    gains = [row["ndcg"] for row in scores.values() if "ndcg" in row]
    gain = sum(gains) / len(gains) if gains else 0.0
    chosen = [row.get("ndcg", row["set_F"]) for row in scores.values()]
    return means | {"ndcg": gain, "set_F_ndcg": (sum(chosen) + gain) / (n + 1)}


def by_key(values: dict[str, Any]) -> dict[str, Any]:
    """Return ``values`` by question in both languages."""
    return {f"{NAME}:{key}": values[key[0]] for key in TEXTS}


def is_missing(key: str) -> bool:
    """Return whether HALF has no answer."""
    return key.removeprefix(f"{NAME}:") in MISSING


def answer(key: str) -> dict[str, str]:
    """Return the answer of HALF to a question."""
    name = key.removeprefix(f"{NAME}:")
    return {
        "dataset": DATASET,
        "question": TEXTS[name],
        "query": QUERIES[name[0]],
        "endpoint": "https://half.example.org/api",
        "qname": key,
        "uri": f"{DATASET}{name}",
    }


def put(path: Path, content: Any) -> None:
    """Write a JSON file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), encoding="utf-8")
