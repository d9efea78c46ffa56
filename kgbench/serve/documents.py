# SPDX-License-Identifier: Apache-2.0
"""Small graphs as responses: a description of one thing, serialised in this process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from starlette.responses import Response

from kgbench.pages.rendering import serialised
from kgbench.serve.formats import Format


def graph_response(quads: Iterable[Any], chosen: Format, headers: Mapping[str, str]) -> Response:
    """A response with ``quads`` in the chosen format."""
    return Response(
        serialised(quads, chosen.name), headers={**headers, "Content-Type": chosen.content_type}
    )
