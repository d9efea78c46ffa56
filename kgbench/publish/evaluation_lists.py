# SPDX-License-Identifier: Apache-2.0
"""Lists of the evaluations of each run: which metrics of which model and task each has.

The collections of evaluations behind tables are made from these lists. A list is written together
with the pages of its run and stays beside the manifest, because reading all scores of a store again
takes almost a millisecond for each dialogue.
"""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from kgbench.publish.dialogues import DialogueQuads, value
from kgbench.publish.folder import Folder
from kgbench.vocab import KGB, PROV, XSD

_START, _END = "evaluations-", ".tsv.gz"
_LEVEL = 1  # a list shrinks to a fortieth; level 6 would take two and a half times as long


class ListedEvaluation(NamedTuple):
    """An evaluation with published IRIs; ``round`` is ``None`` for one of the whole dialogue."""

    iri: str
    evaluation_pass: str
    model: str
    task: str
    round: int | None
    metrics: list[str]


def evaluation_lines(dialogue: DialogueQuads, metrics: Collection[str]) -> Iterator[str]:
    """Yield lines that list the evaluations of a dialogue; ``metrics`` are known IRIs."""
    for iri in dialogue.evaluations:
        properties = dialogue.properties[iri]
        found = (
            name
            for name, values in properties.items()
            if name in metrics and values[0].datatype.value == XSD.double
        )
        names = (PROV.wasGeneratedBy, KGB.model, KGB.task, KGB.round)
        fields = (iri, *(value(properties, name) or "" for name in names), " ".join(found))
        yield "\t".join(fields) + "\n"


def keep(folder: Folder, run: str, lists: Iterable[str]) -> None:
    """Join the work files in ``lists`` to the list of a run (name of its unit)."""
    unfinished = folder.work(f"{run}-{_START}all")
    with unfinished.open("wb") as file, gzip.GzipFile("", "wb", _LEVEL, file, mtime=0) as out:
        for name in lists:
            path = folder.work(name)
            with path.open("rb") as content:
                shutil.copyfileobj(content, out)
            path.unlink()
    unfinished.replace(_path(folder, run))


def is_kept(folder: Folder, run: str) -> bool:
    """Return whether the folder has the list of a run (name of its unit)."""
    return _path(folder, run).is_file()


def remove_others(folder: Folder, runs: Collection[str]) -> None:
    """Remove the lists of all but these runs."""
    current = {_path(folder, run) for run in runs}
    for path in folder.state.glob(f"{_START}*{_END}"):
        if path not in current:
            path.unlink()


def read(folder: Folder, run: str) -> Iterator[ListedEvaluation]:
    """Yield the evaluations of a run (name of its unit) that are not invalid."""
    with gzip.open(_path(folder, run), "rt", encoding="utf-8", newline="\n") as lines:
        for line in lines:
            *fields, metrics = line.rstrip("\n").split("\t")
            iri, evaluation_pass, model, task, round_ = fields
            number = int(round_) if round_ else None
            yield ListedEvaluation(iri, evaluation_pass, model, task, number, metrics.split())


def _path(folder: Folder, run: str) -> Path:
    return folder.state / f"{_START}{run}{_END}"
