# SPDX-License-Identifier: Apache-2.0
"""Responses with small graphs, serialised in the server process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import Response

from kgbench.pages.rendering import serialised
from kgbench.serve.formats import NO_TRIPLE_TERMS, Format, can_express
from kgbench.serve.refusals import Refused


def graph_response(quads: Iterable[Any], chosen: Format, headers: Mapping[str, str]) -> Response:
    """Return a response with ``quads`` in the chosen format.

    Raises :class:`~kgbench.serve.refusals.Refused` (406) if the format cannot express them.
    """
    quads = list(quads)
    if not all(can_express(quad, chosen.name) for quad in quads):
        raise Refused(406, NO_TRIPLE_TERMS, {"Vary": "Accept"})
    return Response(
        serialised(quads, chosen.name), headers={**headers, "Content-Type": chosen.content_type}
    )
