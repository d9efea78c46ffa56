# SPDX-License-Identifier: Apache-2.0
"""Finds when runs ended: because runs can be continued, only their sessions record ends."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pyoxigraph as ox

from kgbench.rdf.quads import Quads
from kgbench.vocab import DCTERMS, KGB, PROV, RDF

_TYPE, _SESSION = ox.NamedNode(RDF.type), ox.NamedNode(KGB.Session)
_PART_OF = ox.NamedNode(DCTERMS.isPartOf)
_STARTED, _ENDED = ox.NamedNode(PROV.startedAtTime), ox.NamedNode(PROV.endedAtTime)


def run_end(quads: Quads, run: ox.NamedNode) -> Any:
    """Return the end of a run as an ``xsd:dateTime``: that of the session that began last.

    A run without sessions was imported with its own end. ``None`` if no end is known, because the
    last session is in progress or was interrupted.
    """
    parts = {quad.subject for quad in quads.quads_for_pattern(None, _PART_OF, run)}
    sessions = [
        session for session in parts if any(quads.quads_for_pattern(session, _TYPE, _SESSION))
    ]
    if not sessions:
        return _time(quads, run, _ENDED)
    return _time(quads, max(sessions, key=lambda session: _began(quads, session)), _ENDED)


def _began(quads: Quads, node: Any) -> datetime:
    literal = _time(quads, node, _STARTED)
    return (
        datetime.min.replace(tzinfo=UTC)
        if literal is None
        else datetime.fromisoformat(literal.value)
    )


def _time(quads: Quads, node: Any, predicate: ox.NamedNode) -> Any:
    return next((quad.object for quad in quads.quads_for_pattern(node, predicate, None)), None)
