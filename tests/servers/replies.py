# SPDX-License-Identifier: Apache-2.0
"""A protocol of prepared responses: each request gets the next one, whatever it asks."""

from __future__ import annotations

from typing import Any

from tests.servers.loopback import Response
from tests.servers.scripts import Behaviour, Entry


class Prepared:
    """Gives ``responses`` in turn: bodies of status 200, or whole ones; see ``Speech``."""

    METHODS = ("GET", "POST")

    def __init__(self, *responses: Any, prefix: str = "") -> None:
        self.PREFIX = prefix
        self._responses = list(responses)

    def prompt(self, body: Any) -> str:  # noqa: ARG002 - of the protocol
        """Nothing is answered."""
        return ""

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:  # noqa: ARG002 - same
        """The next response; a status that no client expects when there is none left."""
        if not self._responses:
            return Response(418, {"error": {"message": "nothing was prepared"}})
        found = self._responses.pop(0)
        return found if isinstance(found, Response) else Response(200, found)
