# SPDX-License-Identifier: Apache-2.0
"""A SPARQL endpoint that the user named, for cases whose graph only an endpoint has.

What models write is sent there, so the same lexer refuses what the engines refuse: a query that is
no SELECT, and one that asks a third party. Answers are read up to a limit, and redirections are not
followed: nothing but the named address is ever asked.
"""

from __future__ import annotations

import random
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO, Final
from urllib.parse import urlencode, urlsplit

import pyoxigraph as ox

from kgbench.errors import ConfigurationError, EvaluationError, Finding
from kgbench.execution import lexer
from kgbench.execution.oxigraph import DEEPEST, rows
from kgbench.execution.prefixes import complete
from kgbench.model import QueryResult

MOST_BYTES: Final = 64 << 20
_ATTEMPTS: Final = 5
_TEMPORARY: Final = frozenset((408, 425, 429, 500, 502, 503))
_EXPIRED: Final = HTTPStatus.GATEWAY_TIMEOUT
_LONGEST_WAIT: Final = 60.0
_MESSAGE: Final = 300  # characters of what an endpoint says of an error


class Endpoint:
    """Executes queries at ``url``.

    ``seconds`` is how long one query may take; ``pause`` the wait before the second attempt, which
    doubles with each further one. :class:`~kgbench.errors.ConfigurationError` where ``url`` is not
    the address of an endpoint.
    """

    def __init__(self, url: str, seconds: float = 60.0, *, pause: float = 1.0) -> None:
        self.url = _checked(url)
        self._seconds = seconds
        self._pause = pause
        self._opener = urllib.request.build_opener(_NoRedirection)

    def select(self, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """The rows of a SELECT; see :class:`kgbench.model.QueryResult`.

        A query that the endpoint refuses has an error and no rows, one that takes too long is
        expired. :class:`~kgbench.errors.EvaluationError` where the endpoint does not answer, which
        says nothing about the query.
        """
        refused = lexer.refusal(query)
        if refused is not None:
            return QueryResult(error=refused, refused=True)
        if lexer.is_deeper(query, DEEPEST):
            return QueryResult(error=f"brackets are nested deeper than {DEEPEST} levels")
        known = complete(prefixes)
        declarations = [
            f"PREFIX {prefix}: <{known[prefix]}>\n"
            for prefix in lexer.undeclared(query, {})
            if prefix in known
        ]
        try:
            body = urlencode({"query": "".join(declarations) + query}).encode("ascii")
        except UnicodeEncodeError:
            return QueryResult(error="the query has lone surrogates, which are not characters")
        return self._answered(body)

    def _answered(self, body: bytes) -> QueryResult:
        why = ""
        for attempt in range(_ATTEMPTS):
            try:
                return self._ask(body)
            except _Later as later:
                why = str(later)
                if attempt + 1 < _ATTEMPTS:
                    wait = later.wait or self._pause * 2**attempt
                    jitter = 1 + random.random() / 4  # noqa: S311 - spreads calls
                    time.sleep(min(wait, _LONGEST_WAIT) * jitter)
        raise EvaluationError(
            f"the endpoint {self.url} does not answer ({why}): see to it, then continue; "
            f"no answer of a model is lost"
        )

    def _ask(self, body: bytes) -> QueryResult:
        request = urllib.request.Request(  # noqa: S310 - http(s), see _checked
            self.url,
            body,
            {
                "Accept": "application/sparql-results+json",
                "Content-Type": "application/x-www-form-urlencoded",
                "User-Agent": "kgbench (benchmark of language models)",
            },
        )
        began = time.monotonic()
        try:
            with self._opener.open(request, timeout=self._seconds) as response:
                return self._read(response, began)
        except urllib.error.HTTPError as error:
            with error:
                return _refused(error)
        except TimeoutError:
            return _expired(self._seconds)
        except (OSError, HTTPException) as error:  # also where no connection is made in time
            raise _Later(str(error) or type(error).__name__) from None

    def _read(self, response: HTTPResponse, began: float) -> QueryResult:
        pieces, size = [], 0
        while piece := response.read1(1 << 16):  # what has come, however little: time is counted
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                return QueryResult(error=f"the result has more than {MOST_BYTES >> 20} MB")
            if time.monotonic() - began > self._seconds:
                return _expired(self._seconds)
        try:
            found = ox.parse_query_results(b"".join(pieces), format=ox.QueryResultsFormat.JSON)
            if isinstance(found, ox.QuerySolutions):
                return rows(found)
            why = "it is that of another query"
        except (SyntaxError, ValueError) as error:
            why = str(error)
        raise _Later(f"its answer is no SPARQL result of a SELECT in JSON: {why}")


class _Later(Exception):
    """The endpoint did not answer this time; ``wait`` are the seconds that it asked for."""

    def __init__(self, why: str, wait: float | None = None) -> None:
        super().__init__(why)
        self.wait = wait


class _NoRedirection(urllib.request.HTTPRedirectHandler):
    def redirect_request(  # noqa: PLR0917 - as the library has it
        self,
        req: urllib.request.Request,  # noqa: ARG002
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        return None


def _refused(error: urllib.error.HTTPError) -> QueryResult:
    """What a status says: about the query, or that the endpoint is to be asked later."""
    try:
        said = error.read(4 * _MESSAGE).decode("utf-8", "replace").strip()[:_MESSAGE]
    except (OSError, HTTPException):  # the status has said enough
        said = ""
    if error.code == _EXPIRED:
        return QueryResult(error="the endpoint's limit of time was hit", expired=True)
    if error.code in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
        return QueryResult(error=f"the endpoint refuses the query: {said}")
    if error.code in _TEMPORARY:
        after = error.headers.get("Retry-After", "")
        raise _Later(f"HTTP {error.code}", float(after) if after.isdecimal() else None)
    raise EvaluationError(
        f"the endpoint answered HTTP {error.code}, so it cannot be used: "
        f"{said or 'it does not say why'}"
    )


def _expired(seconds: float) -> QueryResult:
    return QueryResult(error=f"the query took more than {seconds:g} s", expired=True)


def _checked(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        why = "it is not an address that begins with http:// or https://"
    elif parts.username or parts.password:
        why = "it holds a password, which would be recorded"
    elif parts.fragment or any(c.isspace() or c in '<>"{}|\\^`' for c in url):
        why = "it has a fragment, or characters that an address cannot have"
    else:
        return url
    raise ConfigurationError([Finding("--endpoint", "", f"the endpoint cannot be used: {why}")])
