# SPDX-License-Identifier: Apache-2.0
"""Tables 1 to 3 of the Text2KGBench paper from a store.

Mihindukulasooriya et al., Text2KGBench, ISWC 2023. An average over an ontology divides by the
number of its sentences: a sentence without an answer counts 0 in every metric, also in conformance
(the rule of the published evaluator). The relation hallucination of tables 2 and 3 is 1 minus
conformance, as printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated

from kgbench.analysis.leaderboard import printed_rows
from kgbench.analysis.registry import Option, OptionRefused
from kgbench.api import Column, Kind, Purpose, Selection, Store, Table, Value, analysis, query_rows
from kgbench.scores import catalogue
from kgbench.scores.reading import selection_test
from kgbench.statistics.histogram import Histogram, mean
from kgbench.statistics.intervals import Bounds
from kgbench.tasks import catalogue as task_classes

_SHARE = Bounds(0.0, 1.0)  # all metrics of the task are precision, recall, F1 or a share
METRICS = (
    "precision",
    "recall",
    "f1",
    "onto_conf",
    "sub_halluc",
    "rel_halluc",
    "obj_halluc",
)
"""The published metrics in the order of the paper's tables."""
SPLITS = ("test", "verified", "unseen")
QUERIES = ("text2kg-ontologies", "text2kg-scores", "list-tasks", "list-models")

_SHORT = ("P", "R", "F1", "OC", "SH", "RH", "OH")
_SCORES = tuple(
    Column(name, short, Kind.SCORE) for name, short in zip(METRICS, _SHORT, strict=True)
)
FORM = "Text2KG"
"""The task class with the answer format of the paper."""
_CLASSES = (FORM, "Text2KGRdf")
_COUNTS = ("concepts", "relations", "sentences")
_NONE = (
    "Nothing here is about the sentences of Text2KGBench: 'kgbench import text2kgbench DIR' "
    "imports them with the published answers."
)


@dataclass(frozen=True, slots=True)
class Subset:
    """One imported split of one ontology."""

    iri: str
    collection: str
    name: str
    split: str
    concepts: int
    relations: int
    size: int


@dataclass(frozen=True)
class Result:
    """The values of a model on a subset: a histogram for each metric, by short name."""

    model: str
    task_class: str
    subset: Subset
    values: Mapping[str, Histogram]

    @cached_property
    def answered(self) -> int:
        """The number of sentences with a score."""
        return max((values.n for values in self.values.values()), default=0)

    def whole(self, metric: str) -> Histogram:
        """Return the values of all sentences; sentences without an answer count 0.

        A metric that can be undefined for an answer has only its defined values.
        """
        values = self.values.get(metric, Histogram({}))
        lacking = self.subset.size - self.answered
        if metric not in METRICS or lacking <= 0:
            return values
        return Histogram.pooled([values, Histogram({0.0: lacking})])


def subsets(store: Store) -> list[Subset]:
    """Return the imported subsets, in the order of their names."""
    all_subsets = []
    for label, split, iri, concepts, relations, count in query_rows(store, "text2kg-ontologies"):
        collection, _, name = str(label).partition(" ")
        sizes = (int(str(number)) for number in (concepts, relations, count))
        all_subsets.append(Subset(str(iri), collection, name, str(split), *sizes))
    return all_subsets


def results(store: Store, selection: Selection) -> list[Result]:
    """Read the values of every model on every subset, by task class."""
    by_iri = {subset.iri: subset for subset in subsets(store)}
    names = {iri: n for c in _CLASSES for n, iri in task_classes.metric_iris(c).items()}
    classes = {iri: task.class_name for iri, task in catalogue.tasks(store).items()}
    models = catalogue.models(store)
    selected = selection_test(store, selection)
    cells: dict[tuple[str, str, str], dict[str, dict[float, int]]] = {}
    rows = query_rows(
        store,
        "text2kg-scores",
        passGraph=selection.pass_graphs,
        metric=sorted(names),
        latest=selection.latest,
    )
    for model, task, subset, metric, value, count in rows:
        if not selected(str(model), str(task)):
            continue
        cell = cells.setdefault((str(model), classes[str(task)], str(subset)), {})
        counts = cell.setdefault(names[str(metric)], {})
        counts[float(str(value))] = counts.get(float(str(value)), 0) + int(str(count))
    return [
        Result(
            models.name(model),
            task_class,
            by_iri[subset],
            {name: Histogram(counts) for name, counts in by_metric.items()},
        )
        for (model, task_class, subset), by_metric in sorted(cells.items())
        if subset in by_iri
    ]


def ontologies(store: Store, selection: Selection) -> Table:  # noqa: ARG001 - one signature for all
    """Make table 1: concepts, relations and sentences of each ontology, and the printed numbers."""
    sizes: dict[tuple[str, str], list[int]] = {}
    for subset in subsets(store):
        counted = sizes.setdefault(
            (subset.collection, subset.name), [subset.concepts, subset.relations, 0]
        )
        if subset.split in ("train", "validation", "test"):
            counted[2] += subset.size
    printed = {
        (row["collection"], row["ontology"]): tuple(int(row[name]) for name in _COUNTS)
        for row in printed_rows("text2kg-table-1")
    }
    rows = [
        (*key, *counted, *printed.get(key, (None, None, None)))
        for key, counted in sorted(sizes.items())
    ]
    columns = [
        Column(f"{prefix}{name}", f"{name.capitalize()}{title}", Kind.COUNT)
        for prefix, title in (("", ""), ("printed_", " (paper)"))
        for name in _COUNTS
    ]
    return Table(
        title="Text2KGBench, table 1: ontologies",
        columns=(Column("collection", "Collection"), Column("ontology", "Ontology"), *columns),
        rows=tuple(rows),
        queries=("text2kg-ontologies",),
    )


def overview(store: Store, selection: Selection) -> Table:
    """Make table 2: means over ontologies for each model and split, and the printed means."""
    groups = _grouped(store, selection)
    printed = _printed_values("text2kg-table-2", "collection", "model", "split")
    rows: list[tuple[Value, ...]] = []
    for (collection, model, split, task_class), group in sorted(groups.items()):
        key = (collection, model, split)
        means = _means([{name: result.whole(name).mean for name in METRICS} for result in group])
        rows.append((*key, task_class, *means))
        if task_class == FORM and key in printed:
            rows.append((*key, "paper", *printed[key]))
    names = ("collection", "model", "split", "source")
    return Table(
        title=f"Text2KGBench, table 2: means over ontologies ({selection.suite_name})",
        columns=(*(Column(name, name.capitalize()) for name in names), *_SCORES),
        rows=tuple(rows),
        notes=tuple(_notes(result for group in groups.values() for result in group)),
        queries=QUERIES,
        context=selection.context,
    )


def per_ontology(store: Store, selection: Selection) -> Table:
    """Make table 3: means over the sentences of each ontology, and the printed means."""
    printed = _printed_values("text2kg-table-3", "collection", "model", "split", "ontology")
    rows: list[tuple[Value, ...]] = []
    all_results = results(store, selection)
    for result in all_results:
        subset = result.subset
        key = (subset.collection, result.model, subset.split, subset.name)
        means = _means([{name: result.whole(name).mean for name in METRICS}])
        rows.append((*key, result.task_class, subset.size, result.answered, *means))
        if result.task_class == FORM and key in printed:
            rows.append((*key, "paper", None, None, *printed[key]))
    names = ("collection", "model", "split", "ontology", "source")
    counts = (
        Column("sentences", "Sentences", Kind.COUNT),
        Column("answered", "Answered", Kind.COUNT),
    )
    return Table(
        title=f"Text2KGBench, table 3: means of each ontology ({selection.suite_name})",
        columns=(*(Column(name, name.capitalize()) for name in names), *counts, *_SCORES),
        rows=tuple(rows),
        notes=tuple(_notes(all_results)),
        queries=QUERIES,
        context=selection.context,
    )


TABLES = {
    "ontologies": ontologies,
    "overview": overview,
    "per-ontology": per_ontology,
}
"""The tables by name."""


class PaperTable(StrEnum):
    """The tables of Text2KGBench."""

    ONTOLOGIES = "ontologies"
    OVERVIEW = "overview"
    PER_ONTOLOGY = "per-ontology"


@analysis("text2kg", Purpose.PAPERS)
def text2kg(
    store: Store,
    selection: Selection,
    *,
    table: Annotated[
        PaperTable,
        Option("Table 1 (ontologies), 2 (overview) or 3 (per-ontology) of the paper."),
    ] = PaperTable.OVERVIEW,
) -> Table:
    """Show scores of fact extraction by ontology, beside those printed in the Text2KGBench paper.

    >>> results = kgbench.open("kgbench-results")
    >>> results.text2kg(table="ontologies").names[:3]
    ('collection', 'ontology', 'concepts')
    """
    if table is PaperTable.ONTOLOGIES and selection.narrowed:
        raise OptionRefused(
            "table", "the table of ontologies has no scores: leave out --task, --model and --run"
        )
    return TABLES[table.value](store, selection).explained(_NONE)


def _printed_values(name: str, *keys: str) -> dict[tuple[str, ...], tuple[float, ...]]:
    return {
        tuple(row[key] for key in keys): tuple(float(row[metric]) for metric in METRICS)
        for row in printed_rows(name)
    }


def _grouped(store: Store, selection: Selection) -> dict[tuple[str, str, str, str], list[Result]]:
    groups: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results(store, selection):
        key = (result.subset.collection, result.model, result.subset.split, result.task_class)
        groups.setdefault(key, []).append(result)
    return groups


def _means(parts: Sequence[Mapping[str, float | None]]) -> list[float | None]:
    """Return the mean of each published metric; relation hallucination is 1 minus conformance."""
    means = {name: mean(p for part in parts if (p := part[name]) is not None) for name in METRICS}
    conforming = means["onto_conf"]
    means["rel_halluc"] = None if conforming is None else 1 - conforming
    return [means[name] for name in METRICS]


def _notes(all_results: Iterable[Result]) -> Iterable[str]:
    lacking = sum(max(0, result.subset.size - result.answered) for result in all_results)
    if lacking:
        yield (
            f"{lacking} sentences without a scored answer count as 0, as in the published "
            "evaluation."
        )
