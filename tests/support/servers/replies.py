# SPDX-License-Identifier: Apache-2.0
"""A protocol of prepared responses: each request gets the next one, whatever its content."""

from __future__ import annotations

from typing import Any

from tests.support.servers.loopback import Response
from tests.support.servers.scripts import Behaviour, Entry


class Prepared:
    """Returns ``responses`` in turn: bodies of status 200, or whole responses; see ``Speech``.

    With ``forever``, the last one is returned to all further requests.
    """

    METHODS = ("GET", "POST")

    def __init__(self, *responses: Any, prefix: str = "", forever: bool = False) -> None:
        self.PREFIX = prefix
        self._forever = forever
        self._responses = list(responses)

    def prompt(self, body: Any) -> str:  # noqa: ARG002 - required by the protocol
        """Return an empty prompt, because responses do not depend on it."""
        return ""

    def respond(self, entry: Entry, behaviour: Behaviour, answer: str) -> Response:  # noqa: ARG002
        """Return the next response, or status 418, which no client expects, if none is left."""
        if not self._responses:
            return Response(418, {"error": {"message": "nothing was prepared"}})
        last = self._forever and len(self._responses) == 1
        found = self._responses[0] if last else self._responses.pop(0)
        return found if isinstance(found, Response) else Response(200, found)
