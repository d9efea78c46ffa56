# SPDX-License-Identifier: Apache-2.0
"""A SPARQL endpoint named by the user, for cases whose graph only an endpoint has.

It gets queries that models wrote, so the same lexer refuses what the engines refuse: other forms of
queries, and SERVICE. Responses are read up to a limit, and redirects are not followed, so that only
the named address is contacted.
"""

from __future__ import annotations

import io
import random
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import urlencode, urlsplit

import pyoxigraph as ox

from kgbench.characters import BOM, after_bom
from kgbench.errors import ConfigurationError, EvaluationError, Finding, StoreError
from kgbench.execution.oxigraph import DEEPEST, rows
from kgbench.model import QueryResult
from kgbench.net import web
from kgbench.net.limits import (
    Limits,
    Misbehaviour,
    ResponseTooLarge,
    ResponseTooSlow,
    bare,
    retry_after,
)
from kgbench.rdf import lexer
from kgbench.rdf.query_text import with_well_known
from kgbench.store import quirks

if TYPE_CHECKING:
    from kgbench.net.client import Response

MOST_BYTES: Final = 64 << 20
_ATTEMPTS: Final = 5
_TEMPORARY: Final = frozenset((408, 425, 429, 500, 502, 503))
_EXPIRED: Final = HTTPStatus.GATEWAY_TIMEOUT
_LONGEST_WAIT: Final = 60.0
_MESSAGE: Final = 300  # characters kept of an endpoint's error message


class Endpoint:
    """A client that executes queries at ``url``.

    ``seconds`` is the timeout of a query; ``pause`` the wait before the second attempt, which
    doubles with each further one. Raises :class:`~kgbench.errors.ConfigurationError` if ``url`` is
    not the address of an endpoint.
    """

    def __init__(self, url: str, seconds: float = 60.0, *, pause: float = 1.0) -> None:
        self.url = _checked(url)
        self._seconds = seconds
        self._pause = pause

    def select(self, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the rows of a SELECT; see :class:`kgbench.model.QueryResult`.

        A query that the endpoint refuses has an error and no rows; one that takes too long is
        expired. Raises :class:`~kgbench.errors.EvaluationError` if the endpoint does not answer,
        which says nothing about the query.
        """
        return self._execute(query, prefixes, lexer.refusal(query))

    def results(self, query: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the rows of a SELECT, like :meth:`select`, or the truth value of an ASK."""
        refused = lexer.refusal(query)
        if refused != lexer.NO_QUERY:
            return self._execute(query, prefixes, refused)
        return self._execute(query, prefixes, lexer.result_refusal(query), is_ask=True)

    def _execute(
        self, query: str, prefixes: Mapping[str, str], refused: str | None, *, is_ask: bool = False
    ) -> QueryResult:
        if refused is not None:
            return QueryResult(error=refused, refused=True)
        if lexer.is_deeper(query, DEEPEST):
            return QueryResult(error=f"brackets are nested deeper than {DEEPEST} levels")
        known = with_well_known(prefixes)
        query = query.removeprefix(BOM)
        declarations = [
            f"PREFIX {prefix}: <{known[prefix]}>\n"
            for prefix in lexer.undeclared(query, {})
            if prefix in known
        ]
        try:
            body = urlencode({"query": "".join(declarations) + query}).encode("ascii")
        except UnicodeEncodeError:
            return QueryResult(error="the query has lone surrogates, which are not characters")
        return self._ask_repeatedly(body, is_ask=is_ask)

    def _ask_repeatedly(self, body: bytes, *, is_ask: bool) -> QueryResult:
        why = ""
        for attempt in range(_ATTEMPTS):
            try:
                return self._ask(body, is_ask=is_ask)
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

    def _ask(self, body: bytes, *, is_ask: bool) -> QueryResult:
        headers = {
            "Accept": quirks.ACCEPT_JSON,
            "Content-Type": "application/x-www-form-urlencoded",
        }
        limits = Limits(MOST_BYTES, MOST_BYTES, self._seconds)
        try:
            with web.request(self.url, limits, body=body, headers=headers) as response:
                if response.status >= HTTPStatus.MULTIPLE_CHOICES:
                    return _refused(response)
                known = quirks.of_sender(response.headers)
                if cut := known.truncation(response.status, response.headers):
                    return QueryResult(error=f"the endpoint {cut}", expired=True)
                content = io.BytesIO(b"".join(response.pieces()))
                return self._read(response.headers, content, is_ask=is_ask)
        except ResponseTooLarge:
            return QueryResult(error=f"the result has more than {MOST_BYTES >> 20} MB")
        except (ResponseTooSlow, TimeoutError):
            return _expired(self._seconds)
        except (OSError, Misbehaviour) as error:  # includes connect timeouts
            raise _Later(str(error) or type(error).__name__) from None

    def _read(self, headers: Mapping[str, str], body: IO[bytes], *, is_ask: bool) -> QueryResult:
        try:
            content = after_bom(body)
            shape = quirks.results(headers, content, ox.QueryResultsFormat.JSON)
            if is_ask:
                return QueryResult(boolean=bool(quirks.boolean(content.read(), shape)))
            is_json = shape == ox.QueryResultsFormat.JSON
            text = quirks.plain(content.read()) if is_json else content.read()
            results = ox.parse_query_results(text, shape)
            if isinstance(results, ox.QuerySolutions):
                return rows(results)
            reason = "it is that of another query"
        except (*quirks.UNREADABLE, StoreError) as error:
            reason = str(error)
        form = "an ASK" if is_ask else "a SELECT"
        raise _Later(
            f"its answer is no SPARQL result of {form}: {reason}; it begins '{quirks.quoted(body)}'"
        )


class _Later(Exception):
    """A temporary failure of the endpoint; ``wait`` are the seconds that it asks to wait."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


def _refused(response: Response) -> QueryResult:
    """Return the result for an error status; raises :class:`_Later` for temporary ones."""
    status = response.status
    message = response.text(_MESSAGE)
    if status == _EXPIRED:
        return QueryResult(error="the endpoint's limit of time was hit", expired=True)
    if status in (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE):
        return QueryResult(error=f"the endpoint refuses the query: {message}")
    if status in _TEMPORARY:
        raise _Later(f"HTTP {status}", retry_after(response.headers))
    if to := response.headers.get("Location"):
        message = f"it redirects to {bare(to)}, which is not followed"
    raise EvaluationError(
        f"the endpoint answered HTTP {status}, so it cannot be used: "
        f"{message or 'it does not say why'}"
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
