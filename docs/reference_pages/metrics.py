# SPDX-License-Identifier: Apache-2.0
"""Tasks and metrics: what ``tasks/*/task.ttl`` declares of each task class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rdflib import DCTERMS, RDFS, SH, SKOS, Graph
from rdflib.term import Node

from docs.reference_pages import fences
from docs.reference_pages.declared import KGB, SCHEMA, cell, graph, label, named, short, text
from kgbench.tasks import catalogue

METRICS = """\
# Metrics

A metric belongs to a version of a task class: its IRI is
`https://w3id.org/kgbench/metric/CLASS/VERSION/NAME`, and a change that can alter a score creates a
new version. Metrics with the same name in two task classes are two metrics. The formula is the
definition; the range contains the values that the formula can give. If a task class gives feedback,
the names of metrics of whole dialogues, which are computed from the values of the single answers,
begin with `last_`, `max_`, `mean_` or `meanExt_`. The recognition of code blocks in an answer is
described [below](#fenced-blocks).
"""

TASKS = """\
# Tasks

A task class is declared in `tasks/CLASS/task.ttl`; a task label is a class with values for its
parameters. `kgbench tasks list` lists the labels, and `kgbench tasks show LABEL` shows a label with
an example. The metrics are explained on [their page](metrics.md).
"""


def _classes() -> tuple[Graph, list[tuple[str, Node]]]:
    found = graph("tasks", "*/task.ttl")
    return found, list(named(found, KGB.TaskClass))


def metrics_page() -> str:
    """Return the page about metrics in Markdown."""
    found, classes = _classes()
    lines = [METRICS]
    for name, each in classes:
        main = found.value(each, KGB.mainMetric)
        metrics = sorted(found.objects(each, KGB.metric), key=lambda m: label(found, m).casefold())
        sources = sorted({str(s) for m in metrics for s in found.objects(m, DCTERMS.source)})
        lines.append(f"## {name} {text(found, each, SCHEMA.softwareVersion)}\n")
        lines.append("| metric | formula | range | better | source |\n|---|---|---|---|---|")
        lines += [_metric(found, metric, sources, is_main=metric == main) for metric in metrics]
        lines.append("")
        lines += [f"{number}. {_linked(source)}" for number, source in enumerate(sources, 1)]
        lines.append("")
    lines.append(fences.table())
    return "\n".join(lines)


def _metric(found: Graph, metric: Node, sources: list[str], *, is_main: bool) -> str:
    name = f"`{label(found, metric)}`" + (" (main)" if is_main else "")
    low, high = (text(found, metric, each) for each in (SCHEMA.minValue, SCHEMA.maxValue))
    reach = f"{float(low):g}&nbsp;to&nbsp;{float(high):g}" if low and high else "unbounded"
    if threshold := text(found, metric, KGB.successThreshold):
        reach += f", solved from {float(threshold):g}"
    better = "higher" if text(found, metric, KGB.higherIsBetter) == "true" else "lower"
    told = sorted(sources.index(str(each)) + 1 for each in found.objects(metric, DCTERMS.source))
    formula = cell(text(found, metric, SKOS.definition))
    return f"| {name} | {formula} | {reach} | {better} | {', '.join(map(str, told))} |"


def tasks_page() -> str:
    """Return the page about tasks in Markdown."""
    found, classes = _classes()
    lines = [TASKS]
    for name, each in classes:
        version = text(found, each, SCHEMA.softwareVersion)
        lines.append(f"## {name}\n")
        lines.append(
            f"**{text(found, each, RDFS.label)}** (version {version}). {_words(found, each)}\n"
        )
        lines += [f"{note}\n" for note in sorted(map(str, found.objects(each, SKOS.scopeNote)))]
        lines += _facts(found, each)
        lines += _parameters(found, each)
        labels = {label(found, task) for task in found.objects(each, KGB.labelledTask)}
        if labels:
            lines.append("*labels* " + ", ".join(f"`{each}`" for each in sorted(labels)) + "\n")
        sources = sorted(str(source) for source in found.objects(each, DCTERMS.source))
        if sources:
            lines.append("*sources* " + "; ".join(_linked(source) for source in sources) + "\n")
    return "\n".join(lines)


def _words(found: Graph, subject: Node) -> str:
    return text(found, subject, SKOS.definition)


def _linked(source: str) -> str:
    return f"<{source}>" if source.startswith("http") else source


def _facts(found: Graph, each: Node) -> Iterator[str]:
    rounds = int(text(found, each, KGB.maxRounds))
    main = found.value(each, KGB.mainMetric)
    assert main is not None
    kinds = ("cognitiveProcess", "knowledgeDimension", "relationalComplexity")
    place = ", ".join(filter(None, (text(found, each, KGB[kind]) for kind in kinds)))
    often = f"At most {rounds} round{'s'[: rounds > 1]}"
    yield f"{often}; main metric `{label(found, main)}`; {place}.\n"
    if (name := label(found, each)) in catalogue.classes_with_code():
        yield f"{_chance(name, sorted(map(str, found.objects(each, KGB.writes))))}\n"


def _chance(name: str, written: Sequence[str]) -> str:
    if hasattr(catalogue.module(name), "guess"):
        return "`baseline:guess` gives random answers of the right form."
    answer = ", ".join(written) or "verdict"
    return f"There is no level of chance, because the answer is open ({answer})."


def _parameters(found: Graph, each: Node) -> Iterator[str]:
    parameters = {text(found, p, KGB.parameterName): p for p in found.objects(each, KGB.parameter)}
    if not parameters:
        return
    yield "| parameter | meaning | type | default | allowed |\n|---|---|---|---|---|"
    for name in sorted(parameters):
        one = parameters[name]
        kind = found.value(one, SH.datatype)
        allowed = ", ".join(
            f"`{v}`" for v in sorted(map(str, found.objects(one, KGB.allowedValue)))
        )
        limits = allowed or _range(found, one)
        default = text(found, one, KGB.defaultValue)
        cells = [
            f"`{name}`",
            cell(_words(found, one)),
            short(found, kind) if kind else "",
            f"`{default}`" if default else "",
            limits,
        ]
        yield f"| {' | '.join(cells)} |"
    yield ""


def _range(found: Graph, parameter: Node) -> str:
    bounds = (("at least", SCHEMA.minValue), ("at most", SCHEMA.maxValue))
    ends = [f"{word} {end}" for word, p in bounds if (end := text(found, parameter, p))]
    return " ".join(filter(None, (" and ".join(ends), text(found, parameter, SCHEMA.unitText))))
