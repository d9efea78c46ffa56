# SPDX-License-Identifier: Apache-2.0
"""Templates of queries and updates, from the SPARQL files of the top-level folder ``store/``."""

from __future__ import annotations

from functools import cache
from string import Template

from kgbench import resources


@cache
def _template(name: str) -> Template:
    lines = resources.text("store", name).splitlines()
    return Template("\n".join(line for line in lines if not line.startswith("#")))


def fill(name: str, **parts: str) -> str:
    """Return the text of ``store/NAME`` with every ``$part`` replaced by serialised RDF terms."""
    return _template(name).substitute(parts)
