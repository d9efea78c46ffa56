# SPDX-License-Identifier: Apache-2.0
"""Changes of the model behind a name: another model answered, or another server was called.

A model is identified by its name and settings, not by its address, so that a server may move. A
provider may send requests on to another model than the one that was asked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Final

import pyoxigraph as ox

from kgbench.analysis.run_totals import CatalogueModel, catalogue_models
from kgbench.config.specs import model_setup
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.rdf import moment
from kgbench.record import identity, reading
from kgbench.record.identity import Configuration
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import KGB, RDFS

_SNAPSHOT: Final = re.compile(r"(?:[-@:](?:latest|\d{3,8}(?:-\d\d){0,2}))$")
_LATEST: Final = re.compile(r"[-@:]latest$")
_END: Final = datetime.max.replace(tzinfo=UTC)


def identity_changes(store: Store, run: RunInfo) -> list[str]:
    """Return a line for each change of identity in ``run``, from what is recorded.

    These are models answered by another model than asked or by several, models called at another
    address than before, in this run or in others, and answers reused from another address.
    """
    models = catalogue_models(store)
    configurations = identity.configurations(store, run)
    return [
        *_other_models(store, run, models),
        *_moved(store, run, configurations),
        *_elsewhere(store, configurations),
        *_reused(store, run, models, configurations),
    ]


def _other_models(
    store: Store, run: RunInfo, models: Mapping[str, CatalogueModel]
) -> Iterator[str]:
    answering: dict[str, dict[str, int]] = defaultdict(dict)
    for row in store.query(fill("answering-models.rq", graph=run.graph)):
        answering[row["model"].value][row["answering"].value] = int(row["calls"].value)
    for iri, model in models.items():
        counts = answering.get(iri, {})
        if len(counts) > 1 or not all(is_same_model(model.id, name) for name in counts):
            names = ", ".join(f"{name} ({number:,})" for name, number in counts.items())
            kind = "several models" if len(counts) > 1 else "another model"
            yield f"{model.label} was asked as '{model.id}', but {kind} answered: {names}"


def is_same_model(asked: str, answering: str) -> bool:
    """Return whether a model is the one that was asked, or a dated snapshot of it.

    >>> is_same_model("gpt-4o", "gpt-4o-2024-08-06")
    True
    >>> is_same_model("gpt-4o", "gpt-4o-mini")
    False
    """
    wanted, name = (text.rpartition("/")[2].lower() for text in (asked, answering))
    undated = _LATEST.sub("", wanted)
    return name in (wanted, undated) or _SNAPSHOT.sub("", name) == undated


def _moved(store: Store, run: RunInfo, sessions: list[Configuration]) -> Iterator[str]:
    """Yield a line for each model that was called at different addresses; the order is of time."""
    called: dict[str, list[tuple[str, datetime, datetime]]] = defaultdict(list)
    labels: dict[str, str] = {}
    ends = [*(later.started for later in sessions[1:]), _END]
    for session, end in zip(sessions, ends, strict=False):  # an imported run has no session
        for setup in _setups(session):
            labels[setup.iri] = setup.label
            called[setup.iri].append((_address(setup), session.started, end))
    for model, label in labels.items():
        if len({address for address, *_ in called[model]}) > 1:
            used = [
                address
                for address, since, until in called[model]
                if _was_called(store, run, model, since, until)
            ]
            order = [address for address, _ in groupby(used)]
            if len(order) > 1:
                yield f"{label} was called at several addresses: {', then '.join(order)}"


def _elsewhere(store: Store, sessions: list[Configuration]) -> Iterator[str]:
    """Yield a line for each model that other runs of the store have at other addresses."""
    known: dict[str, set[str]] = defaultdict(set)
    for row in store.query(fill("model-addresses.rq", catalogue=store.iris.catalogue)):
        known[row["model"].value].add(row["address"].value)
    labels = {setup.iri: setup.label for session in sessions for setup in _setups(session)}
    for model, label in labels.items():
        here = _addresses_of(model, sessions)
        if others := known[model] - here:
            yield (
                f"{label} is at {' and '.join(sorted(here))} in this run, but at "
                f"{' and '.join(sorted(others))} in others of this store"
            )


def _was_called(store: Store, run: RunInfo, model: str, since: datetime, until: datetime) -> bool:
    times = {"since": moment(since), "until": moment(until)}
    found = store.query(fill("calls-between.rq", graph=run.graph, model=model, **times))
    return any(True for _ in found)


def _reused(
    store: Store,
    run: RunInfo,
    models: Mapping[str, CatalogueModel],
    sessions: list[Configuration],
) -> Iterator[str]:
    """Yield a line for answers of other runs that called the model at other addresses only."""
    rows = list(store.query(fill("reused-answers.rq", graph=run.graph)))
    runs = {info.iri: info for info in reading.runs(store)} if rows else {}
    for model, earlier_run, calls in [(r["model"].value, r["run"].value, r["calls"]) for r in rows]:
        if earlier_run not in runs:
            continue
        here = _addresses_of(model, sessions)
        there = _addresses_of(model, identity.configurations(store, runs[earlier_run]))
        if here and there and not here & there:
            label = models[model].label if model in models else model
            yield (
                f"{int(calls.value):,} answers of {label} were reused from "
                f"{' and '.join(sorted(there))} ({runs[earlier_run].label}), not from "
                f"{' and '.join(sorted(here))}"
            )


def _addresses_of(model: str, sessions: list[Configuration]) -> set[str]:
    setups = (setup for session in sessions for setup in _setups(session))
    return {_address(setup) for setup in setups if setup.iri == model}


def _setups(session: Configuration) -> Iterator[ModelSetup]:
    """Yield the models of a session's configuration that this version can read."""
    quads = list(ox.parse(session.text, format=ox.RdfFormat.TURTLE))
    labels = {q.subject: q.object.value for q in quads if q.predicate.value == RDFS.label}
    for quad in quads:
        if quad.predicate.value == KGB.spec:
            try:
                yield model_setup(quad.object.value, labels.get(quad.subject))
            except ModelSpecError:  # of a connector that is not installed here
                continue


def _address(setup: ModelSetup) -> str:
    return setup.base_url or f"the default address of {setup.connector}"
