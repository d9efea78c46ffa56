# SPDX-License-Identifier: Apache-2.0
"""The page of a stored analysis: its table and provenance."""

from __future__ import annotations

import json
from typing import Any

from kgbench.pages import things
from kgbench.pages.snapshot import View
from kgbench.pages.tables import Sheet, sheet
from kgbench.tables import Table
from kgbench.vocab import KGB, PROV


def analysis_page(view: View, iri: str, *, reveal: bool) -> dict[str, Any]:  # noqa: ARG001 - as others
    """Return the content of an analysis's page; without a table if it cannot be read."""
    suite = things.text(view, iri, KGB.suite)
    return {
        "sheet": _sheet(things.text(view, iri, KGB.tableJson), suite),
        "suite": suite,
        "choice": things.text(view, iri, KGB.passChoice),
        "ended": things.text(view, iri, PROV.endedAtTime),
        "software": things.text(view, iri, PROV.wasAssociatedWith),
    }


def _sheet(recorded: str | None, suite: str | None) -> Sheet | None:
    try:
        return sheet(Table.from_json(json.loads(recorded or "")), suite)
    except (ValueError, TypeError, LookupError, AttributeError):  # imported data may be malformed
        return None
