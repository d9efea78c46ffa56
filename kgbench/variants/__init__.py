# SPDX-License-Identifier: Apache-2.0
"""Seeded variants of a graph: other facts about the same resources, with the same regularities."""

from __future__ import annotations

from enum import StrEnum


class VariantKind(StrEnum):
    """The difference between a variant and its graph.

    ``shuffled``: some instances are left out, and facts belong to other instances of the kind.
    ``distractors``: similar instances are added. ``emptied``: a property in the reference query has
    no values. ``opaque``: codes replace the IRIs of instances and properties. ``doubled``: every
    instance has a twin with another name, and facts belong to others as in ``shuffled``.
    """

    SHUFFLED = "shuffled"
    DISTRACTORS = "distractors"
    EMPTIED = "emptied"
    OPAQUE = "opaque"
    DOUBLED = "doubled"
