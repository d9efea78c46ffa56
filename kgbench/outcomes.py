# SPDX-License-Identifier: Apache-2.0
"""How answers end; apart from :mod:`kgbench.model`, which ``kgbench --help`` need not load."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How an answer, or the attempt to get one, ended (the SKOS scheme in the ontology)."""

    SCORED = "scored"
    UNPARSABLE = "unparsable"
    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTEXT_TOO_LONG = "context-too-long"
    PROVIDER_ERROR = "provider-error"
    EVALUATOR_ERROR = "evaluator-error"
    TIMEOUT = "timeout"
