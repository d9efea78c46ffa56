# SPDX-License-Identifier: Apache-2.0
"""A client of SPARQL 1.1: Query and Update, and the Graph Store Protocol where there is one.

Queries are made into requests by SPARQLWrapper (parameters, methods, media types), and sent over
connections of our own: SPARQLWrapper opens a connection for each request, installs its digest
authentication for the whole process, and reads some valid queries as updates. Updates and graphs
are plain HTTP, so that a turn costs one request on a connection that is kept.
"""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any
from urllib.parse import quote

import pyoxigraph as ox

from kgbench import __version__
from kgbench.errors import QueryError, StoreError
from kgbench.store import query_forms, quirks
from kgbench.store.back_ends import BackEnd, shown
from kgbench.store.connections import Answer, Connections
from kgbench.store.credentials import PASSWORD, TOKEN, USER, Credentials
from kgbench.store.templates import fill

_log = logging.getLogger("kgbench.store")
_DEADLOCKS = 20  # times that an update is repeated that the server refused for a passing reason
_MARK = "__exact"
_GRAPH_FORMS = ("CONSTRUCT", "DESCRIBE")


class Client:
    """Speaks with one back end; may be used by several threads."""

    def __init__(self, back_end: BackEnd) -> None:
        self.back_end = back_end
        self._http = Connections(Credentials.from_environment(), agent=f"kgbench/{__version__}")

    # --- queries ----------------------------------------------------------------------------

    def query(self, text: str) -> Any:
        """The result of a query, in the classes of pyoxigraph.

        Raises :class:`~kgbench.errors.QueryError` where the server refuses the query.
        """
        form = query_forms.form(text)
        if form not in query_forms.FORMS:
            raise QueryError(
                f"the query cannot be run: it begins with '{form}', not with one of "
                f"{', '.join(query_forms.FORMS)}"
            )
        try:
            if form in _GRAPH_FORMS:
                return self._graph(text, form)
            if form == "ASK":
                answer = self._asked(text, form, quirks.ACCEPT_JSON)
                body, shape = self._read(answer, ox.QueryResultsFormat.JSON)
                return quirks.boolean(body.read(), shape)
            return self._solutions(text)
        except (SyntaxError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise self._unreadable(self.back_end.query, error) from error

    def _solutions(self, text: str) -> Any:
        tsv = self.back_end.result_format == "tsv"
        accept = quirks.ACCEPT_TSV if tsv else quirks.ACCEPT_JSON
        asked = ox.QueryResultsFormat.TSV if tsv else ox.QueryResultsFormat.JSON
        body, shape = self._read(self._asked(text, "SELECT", accept), asked)
        if shape != ox.QueryResultsFormat.JSON:
            return ox.parse_query_results(body, shape)
        content = body.read()
        if not quirks.is_typed(content):
            return ox.parse_query_results(content, shape)
        document = json.loads(content)
        names = quirks.rounded(document) if self.back_end.exact_double else []
        if names:
            document = self._exact(text, document["head"]["vars"], names)
        quirks.tidy(document)
        return ox.parse_query_results(json.dumps(document).encode(), shape)

    def _exact(self, text: str, variables: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
        """The solutions of ``text``, the doubles in the columns ``names`` with all their digits."""
        expression = self.back_end.exact_double or ""
        columns = [
            f"({expression.replace('$value', f'?{name}')} AS ?{name}{_MARK})" for name in names
        ]
        asked = query_forms.around(text, variables, columns)
        body, _ = self._read(
            self._asked(asked, "SELECT", quirks.ACCEPT_JSON), ox.QueryResultsFormat.JSON
        )
        document: dict[str, Any] = json.loads(body.read())
        quirks.exact(document, names, _MARK)
        return document

    def _graph(self, text: str, form: str) -> Any:
        if self.back_end.exact_double is not None:
            _log.warning(
                "%s rounds the doubles in graphs that a query makes, and may cut such graphs at "
                "its limit of rows without saying so: to be sure, ask with SELECT, or ask a copy",
                shown(self.back_end.query),
            )
        answer = self._asked(text, form, quirks.ACCEPT_GRAPH)
        _, charset = quirks.media(answer.headers)
        scratch = ox.Store()  # what makes triples into the class that a query gives
        scratch.bulk_load(quirks.recoded(answer.body, charset), quirks.triples(answer.headers))
        return scratch.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")

    def _read(
        self, answer: Answer, asked: ox.QueryResultsFormat
    ) -> tuple[IO[bytes], ox.QueryResultsFormat]:
        _, charset = quirks.media(answer.headers)
        body = quirks.recoded(answer.body, charset)
        if not body.read(1):
            raise ValueError("it is empty")  # and would pass for no rows in some formats
        body.seek(0)
        return body, quirks.results(answer.headers, asked)

    def _asked(self, text: str, form: str, accept: str) -> Answer:
        from SPARQLWrapper import POST, SPARQLWrapper

        wrapper = SPARQLWrapper(self.back_end.query)
        wrapper.setMethod(POST)
        wrapper.setOnlyConneg(True)
        wrapper.queryString, wrapper.queryType = text, form  # setQuery() would guess the form
        wrapper.customHttpHeaders = {"Accept": accept}
        request = wrapper._createRequest()  # noqa: SLF001 - what _query() sends with urllib
        assert isinstance(request.data, bytes)
        headers = {k: v for k, v in request.header_items() if k != "User-agent"}
        answer = self._repeated("POST", request.full_url, request.data, headers)
        if answer.status in (400, 414):
            raise QueryError(f"the query cannot be run: {self._clean(answer.text())}")
        self._check(answer)
        quirks.refuse_partial(answer.headers)
        return answer

    # --- updates and graphs -----------------------------------------------------------------

    def update(self, text: str) -> None:
        """Run an update; it may be sent more than once, and must be written so that this is safe.

        Raises :class:`~kgbench.errors.StoreError` where the server refuses it.
        """
        headers = {"Content-Type": "application/sparql-update; charset=utf-8", "Accept": "*/*"}
        address = self.back_end.update
        self._check(self._repeated("POST", address, text.encode("utf-8"), headers))

    def load(self, graph: str, lines: Sequence[str]) -> None:
        """Add N-Triples ``lines`` to a graph, in one request; no change stamp."""
        if self.back_end.data is None:
            self.update(fill("insert.ru", graph=graph, triples="\n".join(lines)))
            return
        body = "\n".join([*lines, ""]).encode("utf-8")
        headers = {"Content-Type": "application/n-triples", "Accept": "*/*"}
        self._check(self._repeated("POST", self._address(graph), body, headers))

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """The triples of a graph; none where there is no such graph."""
        if self.back_end.data is None or self.back_end.exact_double is not None:
            for row in self.query(fill("triples.rq", graph=graph)):
                yield ox.Triple(row[0], row[1], row[2])
            return
        headers = {"Accept": quirks.ACCEPT_GRAPH}
        answer = self._repeated("GET", self._address(graph), None, headers)
        if answer.status == 404:  # noqa: PLR2004 - how a server says that a graph is empty
            if self.query(fill("has.rq", catalogue=graph, pattern="?s ?p ?o")):
                raise StoreError(
                    f"{shown(self.back_end.data)} knows nothing of the graph {graph}, in which "
                    f"{shown(self.back_end.query)} finds triples: look whether the addresses for "
                    "queries and whole graphs belong together"
                )
            return
        self._check(answer)
        quirks.refuse_partial(answer.headers)
        _, charset = quirks.media(answer.headers)
        body = quirks.recoded(answer.body, charset)
        try:
            for quad in ox.parse(body, quirks.triples(answer.headers)):
                yield quad.triple
        except (SyntaxError, ValueError) as error:
            raise self._unreadable(self.back_end.data, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _address(self, graph: str) -> str:
        assert self.back_end.data is not None
        joint = "&" if "?" in self.back_end.data else "?"
        return f"{self.back_end.data}{joint}graph={quote(graph, safe='')}"

    # --- refusals ---------------------------------------------------------------------------

    def _repeated(
        self, method: str, url: str, body: bytes | None, headers: dict[str, str]
    ) -> Answer:
        """The answer, once the server has none of its passing troubles."""
        pause = 0.02
        for _ in range(_DEADLOCKS):
            answer = self._http.send(method, url, body, headers)
            if answer.status != 500:  # noqa: PLR2004
                break
            text = answer.text()
            answer.body = io.BytesIO(text.encode())
            if not quirks.is_passing(text):
                break
            time.sleep(pause)
            pause = min(1.0, pause * 2)
        return answer

    def _check(self, answer: Answer) -> None:
        """Raise :class:`StoreError` with words where the status is no success."""
        status, place = answer.status, shown(answer.url.partition("?")[0])
        if 200 <= status < 300:  # noqa: PLR2004 - all of them say that it was done
            return
        if status in (401, 403):
            raise StoreError(
                f"the server at {place} does not let us in (status {status}): set {USER} and "
                f"{PASSWORD}, or {TOKEN}, to what it accepts"
            )
        if 300 <= status < 400:  # noqa: PLR2004
            headers = answer.headers.items()
            to = self._clean(next((v for k, v in headers if k.lower() == "location"), "nowhere"))
            raise StoreError(
                f"{place} sends us to {shown(to)}: give that address, redirects are not followed"
            )
        if status == 413:  # noqa: PLR2004
            raise StoreError(
                f"a request was too large for {place}: describe the server in a Turtle file with "
                "a lower kgb:requestLimit"
            )
        said = self._clean(answer.text()) or "no reason given"
        raise StoreError(f"the server at {place} refused a request (status {status}): {said}")

    def _unreadable(self, address: str, error: Exception) -> StoreError:
        said = self._clean(str(error))  # which may quote the answer
        return StoreError(f"the server at {shown(address)} gave no readable answer: {said}")

    def _clean(self, text: str) -> str:
        for secret in self._http.credentials.secrets:
            text = text.replace(secret, "[secret]")
        return " ".join(text.split())[:500]
