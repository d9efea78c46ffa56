# SPDX-License-Identifier: Apache-2.0
"""A small folder of invented data in the published layout of Text2KGBench."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

ONTOLOGY = {
    "title": "Bridges",
    "id": "ont_1_bridge",
    "concepts": [
        {"qid": "Q1", "label": "bridge"},
        {"qid": "Q2", "label": "river"},
        {"qid": "Q3", "label": "person"},
    ],
    "relations": [
        {"pid": "P1", "label": "spans", "domain": "Q1", "range": "Q2"},
        {"pid": "P2", "label": "designed by", "domain": "Q1", "range": "Q3"},
        {"pid": "P3", "label": "opened on", "domain": "Q1", "range": ""},
        {"pid": "P4", "label": "named after", "domain": "Q1", "range": "Q9"},
    ],
}
TURTLE = """\
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
<https://cenguix.github.io/Text2KGBench/ont_1_bridge/concepts#Q1> a owl:Class ;
    rdfs:label "bridge" .
<https://cenguix.github.io/Text2KGBench/ont_1_bridge/relations#P1> a owl:ObjectProperty ;
    rdfs:label "crosses" .
"""
TRAIN = [
    ("Toll Bridge spans the Wend.", "Toll Bridge", "spans", "Wend"),
    ("Toll Bridge spans the Wend.", "Toll Bridge", "opened on", "1820"),
    ("Iva Rusk drew Kiln Bridge.", "Kiln Bridge", "designed by", "Iva Rusk"),
    ("Moss Bridge spans the Ure.", "Moss Bridge", "spans", "Ure"),
]
TRUTH: list[tuple[str, list[tuple[str, str, str]]]] = [
    (
        "Larn Bridge spans the Ossel and was designed by Mira Holt.",
        [("Larn Bridge", "spans", "Ossel"), ("Larn Bridge", "designed by", "Mira Holt")],
    ),
    ("Moss Bridge spans the Ure.", [("Moss Bridge", "spans", "Ure")]),
    ("Gy\u00c3\u00b6r Bridge is old.", []),
    ("Nave Bridge is painted by Bo.", [("Nave Bridge", "painted by", "Bo")]),
]
RESPONSES = [
    ("spans(Larn Bridge, Ossel)\ndesigned_by(Larn Bridge, Mira Holt)", "1.00 1.00 1.00 1.00"),
    ("Sorry.", "0.00 0.00 0.00 1.00"),
    ("", "0.00 0.00 0.00 1.00"),
]
NAMES = ("precision", "recall", "f1", "onto_conf", "rel_halluc", "sub_halluc", "obj_halluc")


def write(root: Path) -> Path:
    """Write the data below ``root`` and return it."""
    top = root / "wikidata_tekgen"
    _json(top / "ontologies/1_bridge_ontology.json", ONTOLOGY)
    _text(top / "ontologies/owl/ont_1_bridge.ttl", TURTLE)
    _lines(top / "train/ont_1_bridge_train.jsonl", map(_training, range(len(TRAIN))))
    _lines(top / "ground_truth/ont_1_bridge_ground_truth.jsonl", map(_truth, range(len(TRUTH))))
    tests = [{"id": test_id(k), "sent": text} for k, (text, _) in enumerate(TRUTH)]
    _lines(top / "test/ont_1_bridge_test.jsonl", tests)
    _text(top / "manually_verified_sentences/selected_ont_1_bridge.txt", f"{test_id(0)}\n")
    similar = {test_id(k): [train_id(3), train_id(1), train_id(0)] for k in range(len(TRUTH))}
    lists = top / "baselines/test_train_sent_similarity"
    _json(lists / "ont_1_bridge_test_train_similarity.json", similar)
    model = top / "baselines/Parrot-1B"
    _lines(
        model / "llm_responses/ont_1_bridge_llm_responses.jsonl",
        map(_response, range(len(RESPONSES))),
    )
    _lines(
        model / "eval_metrics/ont_1_bridge_llm_stats.jsonl", map(_metrics, range(len(RESPONSES)))
    )
    return root


def test_id(k: int) -> str:
    """Return the id of test sentence ``k``, from 0."""
    return f"ont_1_bridge_test_{k + 1}"


test_id.__test__ = False  # type: ignore[attr-defined]


def train_id(k: int) -> str:
    """Return the id of training record ``k``, from 0."""
    return f"ont_1_bridge_train_{k + 1}"


def _training(k: int) -> dict[str, Any]:
    sent, subject, relation, object_ = TRAIN[k]
    labels = {"sub_label": subject, "rel_label": relation, "obj_label": object_}
    return {"id": train_id(k), **labels, "sent": sent, "sub": "Q7", "rel": "P1", "obj": "Q8"}


def _truth(k: int) -> dict[str, Any]:
    sent, facts = TRUTH[k]
    triples = [dict(zip(("sub", "rel", "obj"), fact, strict=True)) for fact in facts]
    return {"id": test_id(k), "sent": sent, "triples": triples}


def _response(k: int) -> dict[str, Any]:
    triples = [["Larn Bridge", "spans", " Ossel"], ["Larn Bridge", "designed_by", " Mira Holt"]]
    return {"id": test_id(k), "response": RESPONSES[k][0], "triples": [] if k else triples}


def _metrics(k: int) -> dict[str, Any]:
    values = [*RESPONSES[k][1].split(), 0, 0, 0.0]  # published as text and as numbers
    return {"id": test_id(k), **dict(zip(NAMES, values, strict=True))}


def _text(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


def _json(path: Path, content: Any) -> None:
    _text(path, json.dumps(content))


def _lines(path: Path, records: Any) -> None:
    _text(path, "".join(json.dumps(record) + "\n" for record in records))
