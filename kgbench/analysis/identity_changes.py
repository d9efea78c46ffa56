# SPDX-License-Identifier: Apache-2.0
"""Changes of the model behind a name: another model answered, or it has several addresses.

A model is identified by its name and settings, not by its address, so that a server may move. A
provider may send requests on to another model than the one that was asked.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

import pyoxigraph as ox

from kgbench.analysis.run_totals import catalogue_models
from kgbench.config.specs import model_setup
from kgbench.errors import ModelSpecError
from kgbench.model import ModelSetup
from kgbench.record import identity
from kgbench.record.identity import Configuration
from kgbench.record.reading import RunInfo
from kgbench.store.protocol import Store
from kgbench.store.templates import fill
from kgbench.vocab import KGB, RDFS

_SNAPSHOT: Final = re.compile(r"(?:[-@:](?:latest|\d{3,8}(?:-\d\d){0,2}))$")
_LATEST: Final = re.compile(r"[-@:]latest$")


def identity_changes(store: Store, run: RunInfo) -> list[str]:
    """Return a line for each change of identity in ``run``, from what is recorded.

    These are models answered by another model than asked or by several, and models that the store
    has at several addresses.
    """
    return [*_other_models(store, run), *_addresses(store, run)]


def _other_models(store: Store, run: RunInfo) -> Iterator[str]:
    answering: dict[str, dict[str, int]] = defaultdict(dict)
    for row in store.query(fill("answering-models.rq", graph=run.graph)):
        answering[row["model"].value][row["answering"].value] = int(row["calls"].value)
    for iri, model in catalogue_models(store).items():
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


def _addresses(store: Store, run: RunInfo) -> Iterator[str]:
    """Yield a line for each model of the run that the store has at several addresses."""
    setups = [
        setup for session in identity.configurations(store, run) for setup in _setups(session)
    ]
    addresses: dict[str, set[str]] = defaultdict(set)
    for setup in setups:
        addresses[setup.iri].add(setup.base_url or f"the default address of {setup.connector}")
    for row in store.query(fill("model-addresses.rq", catalogue=store.iris.catalogue)):
        addresses[row["model"].value].add(row["address"].value)
    for model, label in {setup.iri: setup.label for setup in setups}.items():
        if len(addresses[model]) > 1:
            listed = ", ".join(sorted(addresses[model]))
            yield f"{label} has several addresses in this store: {listed}"


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
