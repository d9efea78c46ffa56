# SPDX-License-Identifier: Apache-2.0
"""Published facts about models, declared in ``queries/models.ttl`` or in a file of the user."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import fnmatchcase
from pathlib import Path

from kgbench.rdf.declared import Declared, shipped
from kgbench.rdf.declared_terms import read_declarations
from kgbench.vocab import DCTERMS, KGB, RDFS, SCHEMA


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Published facts about a model; unknown ones are ``None``. Parameters are in units of 10^9.

    ``active`` is the number of parameters used per token, which is less than ``parameters`` for a
    mixture of experts. ``glob`` matches the identifiers of the model.
    """

    label: str
    glob: str
    family: str
    parameters: float | None
    active: float | None
    context: int | None
    released: date | None
    license: str | None

    def describes(self, model_id: str) -> bool:
        """Return whether the record describes the model with this identifier."""
        return fnmatchcase(model_id, self.glob)


def records(file: Path | None = None) -> list[ModelRecord]:
    """Return the model records of the user's file, which take precedence, and the shipped ones."""
    return own_records(file) + _read(shipped("queries", "models.ttl"))


def own_records(file: Path | None) -> list[ModelRecord]:
    """Return the model records of the user's file; an empty list without a file."""
    return [] if file is None else _read(read_declarations(file))


def family_of(model: str, model_records: Sequence[ModelRecord]) -> str:
    """Return the recorded family of a model (id); a model without a record is its own family."""
    record = recorded(model, model_records)
    return model if record is None else record.family


def recorded(model_id: str, model_records: Sequence[ModelRecord]) -> ModelRecord | None:
    """Return the first of the ``model_records`` that describes the model with this identifier."""
    return next((record for record in model_records if record.describes(model_id)), None)


def _read(declared: Declared) -> list[ModelRecord]:
    model_records = []
    for node in declared.instances(KGB.ModelRecord):
        parameters = declared.read(node, KGB.parameterCount, _size)
        context = declared.read(node, KGB.contextLength, _size)
        model_records.append(
            ModelRecord(
                label=declared.required(node, RDFS.label),
                glob=declared.required(node, KGB.matches),
                family=declared.required(node, KGB.family),
                parameters=parameters,
                active=declared.read(node, KGB.activeParameterCount, _size) or parameters,
                context=None if context is None else int(context),
                released=declared.read(node, DCTERMS.issued, date.fromisoformat),
                license=declared.text(node, SCHEMA.license),
            )
        )
    return model_records


def _size(text: str) -> float:
    size = float(text)
    if not 0 < size < math.inf:
        raise ValueError("a size must be a positive number")  # its logarithm is taken
    return size
