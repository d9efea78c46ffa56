# SPDX-License-Identifier: Apache-2.0
"""Tables 1 to 3 of the Text2KGBench paper from a store, and averages with intervals.

Mihindukulasooriya et al., Text2KGBench, ISWC 2023. An average over an ontology divides by the
number of its sentences: one that a model has no answer to counts 0, conformance included (the rule
of the published evaluator). The relation hallucination of tables 2 and 3 is 1 minus conformance, as
printed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from kgbench.analysis import scores as fetch
from kgbench.analysis.declarations import printed_rows
from kgbench.analysis.histogram import Histogram, mean
from kgbench.analysis.inference import INDEPENDENT, inference
from kgbench.analysis.intervals import Bounds, method_note, score_interval
from kgbench.analysis.selection import Selection
from kgbench.analysis.tables import Column, Kind, Table, Value
from kgbench.rdf import queries
from kgbench.store.protocol import Store
from kgbench.tasks import catalogue

_SHARE = Bounds(0.0, 1.0)  # all metrics of the task are precision, recall, F1 or a share
METRICS = (
    *("precision", "recall", "f1", "onto_conf"),
    *("sub_halluc", "rel_halluc", "obj_halluc"),
)
"""The published metrics in the order of the paper's tables."""
SPLITS = ("test", "verified", "unseen")
QUERIES = ("text2kg-ontologies", "text2kg-scores", "list-tasks", "list-models")

_SHORT = ("P", "R", "F1", "OC", "SH", "RH", "OH")
_SCORES = tuple(
    Column(name, short, Kind.SCORE) for name, short in zip(METRICS, _SHORT, strict=True)
)
FORM = "Text2KG"
"""The task class with the form that the paper asks for."""
_CLASSES = (FORM, "Text2KGRdf")
_COUNTS = ("concepts", "relations", "sentences")


@dataclass(frozen=True, slots=True)
class Subset:
    """One split of one ontology, as it was imported."""

    iri: str
    collection: str
    name: str
    split: str
    concepts: int
    relations: int
    size: int


@dataclass(frozen=True)
class Result:
    """What a model reached on a subset: a histogram for each metric, by short name."""

    model: str
    task_class: str
    subset: Subset
    values: Mapping[str, Histogram]

    @cached_property
    def answered(self) -> int:
        """How many sentences have any score."""
        return max((values.n for values in self.values.values()), default=0)

    def whole(self, metric: str) -> Histogram:
        """The values of all sentences: those without an answer count 0.

        A metric that an answer can leave undefined is averaged over those where it is defined.
        """
        values = self.values.get(metric, Histogram({}))
        lacking = self.subset.size - self.answered
        if metric not in METRICS or lacking <= 0:
            return values
        return Histogram.pooled([values, Histogram({0.0: lacking})])


def subsets(store: Store) -> list[Subset]:
    """The imported subsets, in the order of their names."""
    found = []
    for label, split, iri, concepts, relations, count in queries.rows(store, "text2kg-ontologies"):
        collection, _, name = str(label).partition(" ")
        sizes = (int(str(number)) for number in (concepts, relations, count))
        found.append(Subset(str(iri), collection, name, str(split), *sizes))
    return found


def results(store: Store, selection: Selection) -> list[Result]:
    """What every model reached on every subset, by form of the task."""
    by_iri = {subset.iri: subset for subset in subsets(store)}
    names = {iri: n for c in _CLASSES for n, iri in catalogue.metric_iris(c).items()}
    classes = {iri: task.class_name for iri, task in fetch.tasks(store).items()}
    models = fetch.models(store)
    selected = fetch.selection_test(store, selection)
    cells: dict[tuple[str, str, str], dict[str, dict[float, int]]] = {}
    rows = queries.rows(
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
            {name: Histogram(counts) for name, counts in found.items()},
        )
        for (model, task_class, subset), found in sorted(cells.items())
        if subset in by_iri
    ]


def ontologies(store: Store, selection: Selection) -> Table:  # noqa: ARG001 - one signature for all
    """Table 1: concepts, relations and sentences of each ontology, and what the paper prints."""
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
    """Table 2: means over ontologies for each model and split, and what the paper prints."""
    found = _grouped(store, selection)
    printed = _printed("text2kg-table-2", "collection", "model", "split")
    rows: list[tuple[Value, ...]] = []
    for (collection, model, split, task_class), part in sorted(found.items()):
        key = (collection, model, split)
        means = _means([{name: each.whole(name).mean for name in METRICS} for each in part])
        rows.append((*key, task_class, *means))
        if task_class == FORM and key in printed:
            rows.append((*key, "paper", *printed[key]))
    names = ("collection", "model", "split", "source")
    return Table(
        title=f"Text2KGBench, table 2: means over ontologies ({selection.suite_name})",
        columns=(*(Column(name, name.capitalize()) for name in names), *_SCORES),
        rows=tuple(rows),
        notes=tuple(_notes(each for part in found.values() for each in part)),
        queries=QUERIES,
        context=selection.context,
    )


def per_ontology(store: Store, selection: Selection) -> Table:
    """Table 3: means over the sentences of each ontology, and what the paper prints."""
    printed = _printed("text2kg-table-3", "collection", "model", "split", "ontology")
    rows: list[tuple[Value, ...]] = []
    found = results(store, selection)
    for result in found:
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
        notes=tuple(_notes(found)),
        queries=QUERIES,
        context=selection.context,
    )


def averages(store: Store, selection: Selection) -> Table:
    """Micro and macro averages of every metric, each with its interval at 95 %, inside 0 to 1.

    Micro is the mean over sentences, macro the mean over ontologies of their means.
    """
    how = inference(by=INDEPENDENT)
    found = _grouped(store, selection)
    rows: list[tuple[Value, ...]] = []
    for place, part in sorted(found.items()):
        for name in (m for m in catalogue.task_class(place[3]).metrics if _given(part, m)):
            each = [one.whole(name) for one in part]
            micro = Histogram.pooled(each)
            macro = Histogram.of(values.mean for values in each if values.mean is not None)
            rows.append((*place, name, micro.n, *_interval(micro), macro.n, *_interval(macro)))
    names = ("collection", "model", "split", "form", "metric")
    columns = []
    for name, over in (("micro", "sentences"), ("macro", "ontologies")):
        columns += [
            Column(over, over.capitalize(), Kind.COUNT),
            Column(name, name.capitalize(), Kind.SCORE),
            Column(f"{name}_low", "from", Kind.SCORE),
            Column(f"{name}_high", "to", Kind.SCORE),
        ]
    return Table(
        title=f"Text2KGBench: averages ({selection.suite_name})",
        columns=(*(Column(name, name.capitalize()) for name in names), *columns),
        rows=tuple(rows),
        notes=(
            *_notes(each for part in found.values() for each in part),
            how.note,
            "Micro intervals take answers to sentences for independent; macro ones, ontologies.",
            method_note(["wilson"]),
        ),
        queries=QUERIES,
        context={**selection.context, "interval": "wilson", **how.context},
    )


TABLES = {
    "ontologies": ontologies,
    "overview": overview,
    "per-ontology": per_ontology,
    "averages": averages,
}
"""The tables by name."""


def _printed(name: str, *keys: str) -> dict[tuple[str, ...], tuple[float, ...]]:
    """What a table of the paper prints for each metric, by the values of its key columns."""
    return {
        tuple(row[key] for key in keys): tuple(float(row[metric]) for metric in METRICS)
        for row in printed_rows(name)
    }


def _grouped(store: Store, selection: Selection) -> dict[tuple[str, str, str, str], list[Result]]:
    """The results by collection, model, split and task class."""
    found: dict[tuple[str, str, str, str], list[Result]] = {}
    for result in results(store, selection):
        key = (result.subset.collection, result.model, result.subset.split, result.task_class)
        found.setdefault(key, []).append(result)
    return found


def _means(parts: Sequence[Mapping[str, float | None]]) -> list[float | None]:
    """The means of each published metric; relation hallucination is 1 minus conformance."""
    means = {name: mean(p for part in parts if (p := part[name]) is not None) for name in METRICS}
    conforming = means["onto_conf"]
    means["rel_halluc"] = None if conforming is None else 1 - conforming
    return [means[name] for name in METRICS]


def _given(part: Iterable[Result], metric: str) -> bool:
    return any(metric in one.values for one in part)


def _interval(values: Histogram) -> tuple[float | None, float | None, float | None]:
    found = score_interval(values, _SHARE)
    return (values.mean, None, None) if found is None else (values.mean, found.low, found.high)


def _notes(found: Iterable[Result]) -> Iterable[str]:
    lacking = sum(max(0, each.subset.size - each.answered) for each in found)
    if lacking:
        yield (
            f"{lacking} sentences have no scored answer; they count 0 in every published metric, "
            "as in the published evaluation."
        )
