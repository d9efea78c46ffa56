# SPDX-License-Identifier: Apache-2.0
"""The kinds of variants."""

from __future__ import annotations

from enum import StrEnum


class VariantKind(StrEnum):
    """How a variant differs from its graph.

    ``shuffled``: some instances are left out, and facts belong to other instances of the kind.
    ``distractors``: instances are added that are like those there are. ``emptied``: a property that
    the reference query names has no values. ``opaque``: codes replace the IRIs of instances and
    properties. ``doubled``: every
    instance has a twin of another name, and facts belong to others as in ``shuffled``.
    """

    SHUFFLED = "shuffled"
    DISTRACTORS = "distractors"
    EMPTIED = "emptied"
    OPAQUE = "opaque"
    DOUBLED = "doubled"
