# SPDX-License-Identifier: Apache-2.0
"""Lists of similar training sentences, computed from embeddings."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from kgbench.datasets.text2kgbench import EMBEDDED, Part
from kgbench.model import Json

Embed = Callable[[Sequence[str]], Sequence[Sequence[float]]]


def write_lists(
    root: Path, part: Part, embed: Embed, count: int, made_by: Callable[[], Mapping[str, Json]]
) -> Path:
    """Write the ``count`` nearest training sentences of each test sentence beside the data.

    Similarity is the cosine; ties keep the order of the data. ``embed`` returns one vector per
    text. The result of ``made_by``, called after the embedding, describes the model; it is written
    to a separate file. Returns the path of the lists.
    """
    training = list(dict.fromkeys(part.training.values()))
    tests = [*part.test, *part.unseen]
    training_texts, test_texts = [s.text for s in training], [s.text for s in tests]
    vectors = [_unit(vector) for vector in embed([*training_texts, *test_texts])]
    lists = {}
    for sentence, vector in zip(tests, vectors[len(training_texts) :], strict=True):
        near = vectors[: len(training_texts)]
        scores = [math.fsum(a * b for a, b in zip(vector, v, strict=True)) for v in near]
        order = sorted(range(len(scores)), key=lambda k: (-scores[k], k))
        lists[sentence.id] = [training[k].id for k in order[:count]]
    path = root / part.collection / EMBEDDED / f"{part.number}_{part.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(lists, indent=1) + "\n", encoding="utf-8")
    metadata = json.dumps({**made_by(), "count": count}, indent=1, sort_keys=True)
    path.with_suffix(".made-by.json").write_text(metadata + "\n", encoding="utf-8")
    return path


def _unit(vector: Sequence[float]) -> list[float]:
    length = math.sqrt(math.fsum(value * value for value in vector))
    return [value / length for value in vector] if length else list(map(float, vector))
