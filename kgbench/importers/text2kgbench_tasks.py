# SPDX-License-Identifier: Apache-2.0
"""Tasks of the ontologies of Text2KGBench: labels and parameters."""

from __future__ import annotations

from kgbench.datasets.text2kgbench import COLLECTIONS, Part
from kgbench.model import Json, Task
from kgbench.tasks import catalogue

SUITE = "text2kgbench"


def part_task(
    part: Part, split: str, task_class: str = "Text2KG", prompt: str = "published"
) -> Task:
    """Return the task of one split of one ontology.

    For Text2KG, ``prompt`` is ``published`` (the prompts of the baselines) or ``revised``.
    """
    (task,) = (
        candidate
        for candidate in part_tasks(part)
        if candidate["class"] == task_class
        and candidate["parameters"]["split"] == split
        and candidate["parameters"].get("prompt") in {None, prompt}
    )
    return catalogue.make_task(task_class, task["label"], task["parameters"])


def label(part: Part, split: str, task_class: str = "Text2KG") -> str:
    """Return a label such as ``Text2KG-wikidata-movie``, with the split unless it is ``test``."""
    name = f"{task_class}-{COLLECTIONS[part.collection]}-{part.name}"
    return name if split == "test" else f"{name}-{split}"


def parameters(part: Part, split: str) -> dict[str, Json]:
    """Return the parameters of a task that are not defaults."""
    return {"dataset": part.collection, "ontology": part.name, "split": split}


def part_tasks(part: Part) -> list[dict[str, Json]]:
    """Return every task of an ontology as :func:`kgbench.datasets.home.labelled_tasks` reads it."""
    forms: list[tuple[str, str, dict[str, Json]]] = [
        ("Text2KG", "", {"prompt": "published"}),
        ("Text2KG", "-revised", {"prompt": "revised"}),
        ("Text2KGRdf", "", {}),
    ]
    return [
        {
            "class": task_class,
            "label": label(part, split, task_class) + suffix,
            "parameters": parameters(part, split) | form,
        }
        for task_class, suffix, form in forms
        for split in ("test", "unseen")
        if getattr(part, split)
    ]
