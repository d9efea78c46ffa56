# SPDX-License-Identifier: Apache-2.0
"""The outcomes of answers, in a module of their own so that ``kgbench --help`` loads fast."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """The outcome of an answer, or of the attempt to get one (a SKOS scheme in the ontology)."""

    SCORED = "scored"
    UNPARSABLE = "unparsable"
    EMPTY = "empty"
    REFUSED = "refused"
    TRUNCATED = "truncated"
    CONTEXT_TOO_LONG = "context-too-long"
    PROVIDER_ERROR = "provider-error"
    EVALUATOR_ERROR = "evaluator-error"
    TIMEOUT = "timeout"
