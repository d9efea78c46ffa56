# SPDX-License-Identifier: Apache-2.0
"""A client of SPARQL 1.1: Query and Update, and the Graph Store Protocol where there is one.

Each turn of a run costs one request, on a connection that is kept.
"""

from __future__ import annotations

import io
import json
import logging
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Self
from urllib.parse import quote, urlencode

import pyoxigraph as ox

from kgbench import __version__
from kgbench.errors import QueryError, StoreError
from kgbench.secrets.echoes import Echoes
from kgbench.store import query_forms, quirks
from kgbench.store.back_ends import BackEnd, shown
from kgbench.store.connections import Answer, Connections
from kgbench.store.credentials import PASSWORD, TOKEN, USER, Credentials
from kgbench.store.templates import fill

_log = logging.getLogger("kgbench.store")
_DEADLOCKS = 20  # times that an update is repeated that the server refused for a passing reason
_MARK = "__exact"
_GRAPH_FORMS = ("CONSTRUCT", "DESCRIBE")
UNREADABLE = (SyntaxError, ValueError, LookupError, TypeError, AttributeError, RecursionError)
"""What parsers raise where an answer is not what it should be."""


class Solutions:
    """The rows of an answer to SELECT, as pyoxigraph gives them, read as they are needed.

    ``refused`` makes the error to raise where a row cannot be read.
    """

    def __init__(
        self, found: ox.QuerySolutions, refused: Callable[[Exception], StoreError]
    ) -> None:
        self.variables = found.variables
        self._found: ox.QuerySolutions | None = found
        self._refused = refused

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ox.QuerySolution:
        if self._found is None:
            raise StopIteration
        try:
            row: ox.QuerySolution = next(self._found)
        except UNREADABLE as error:
            self._found = None  # a thread that finds it in a traceback may not free it
            raise self._refused(error) from error
        return row

    def serialize(self, *arguments: Any, **options: Any) -> bytes | None:
        """Write the rows that are left; see :meth:`pyoxigraph.QuerySolutions.serialize`."""
        if self._found is None:
            raise ValueError("the rows cannot be read")
        try:
            return self._found.serialize(*arguments, **options)
        except UNREADABLE as error:
            self._found = None
            raise self._refused(error) from error


class Client:
    """Speaks with one back end; may be used by several threads."""

    def __init__(self, back_end: BackEnd) -> None:
        self.back_end = back_end
        self._http = Connections(Credentials.from_environment(), agent=f"kgbench/{__version__}")
        self._echoes = Echoes(self._http.credentials.secrets)

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
                return self._graph(text)
            if form == "ASK":
                answer = self._asked(text, quirks.ACCEPT_JSON)
                body, shape = self._read(answer, ox.QueryResultsFormat.JSON)
                return quirks.boolean(body.read(), shape)
            return self._solutions(text)
        except UNREADABLE as error:
            raise self._unreadable(self.back_end.query, error) from error

    def _solutions(self, text: str) -> Solutions:
        tsv = self.back_end.result_format == "tsv"
        accept = quirks.ACCEPT_TSV if tsv else quirks.ACCEPT_JSON
        asked = ox.QueryResultsFormat.TSV if tsv else ox.QueryResultsFormat.JSON
        body, shape = self._read(self._asked(text, accept), asked)
        if shape != ox.QueryResultsFormat.JSON:
            return self._rows(body, shape)
        content = body.read()
        if not quirks.is_typed(content):
            return self._rows(content, shape)
        document = json.loads(content)
        names = quirks.rounded(document) if self.back_end.exact_double else []
        if names:
            document = self._exact(text, document["head"]["vars"], names)
        quirks.tidy(document)
        return self._rows(json.dumps(document).encode(), shape)

    def _rows(self, content: bytes | IO[bytes], shape: ox.QueryResultsFormat) -> Solutions:
        found = ox.parse_query_results(content, shape)
        if isinstance(found, ox.QueryBoolean):
            raise TypeError("it is that of ASK, and the query is a SELECT")
        return Solutions(found, lambda error: self._unreadable(self.back_end.query, error))

    def _exact(self, text: str, variables: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
        """The solutions of ``text``, the doubles in the columns ``names`` with all their digits."""
        expression = self.back_end.exact_double or ""
        columns = [
            f"({expression.replace('$value', f'?{name}')} AS ?{name}{_MARK})" for name in names
        ]
        asked = query_forms.around(text, variables, columns)
        body, _ = self._read(self._asked(asked, quirks.ACCEPT_JSON), ox.QueryResultsFormat.JSON)
        document: dict[str, Any] = json.loads(body.read())
        quirks.exact(document, names, _MARK)
        return document

    def _graph(self, text: str) -> Any:
        if self.back_end.exact_double is not None:
            _log.warning(
                "%s rounds the doubles in graphs that a query makes, and may cut such graphs at "
                "its limit of rows without saying so: to be sure, ask with SELECT, or ask a copy",
                shown(self.back_end.query),
            )
        answer = self._asked(text, quirks.ACCEPT_GRAPH)
        body, shape = self._triples(answer)
        scratch = ox.Store()  # what makes triples into the class that a query gives
        scratch.bulk_load(body, shape)
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

    def _triples(self, answer: Answer) -> tuple[IO[bytes], ox.RdfFormat]:
        _, charset = quirks.media(answer.headers)
        body, shape = quirks.recoded(answer.body, charset), quirks.triples(answer.headers)
        if shape == ox.RdfFormat.RDF_XML:
            quirks.refuse_entities(body)
        return body, shape

    def _asked(self, text: str, accept: str) -> Answer:
        headers = {"Accept": accept, "Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode({"query": text}).encode("ascii")
        answer = self._repeated("POST", self.back_end.query, body, headers)
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
        try:
            body, shape = self._triples(answer)
            for quad in ox.parse(body, shape):
                yield quad.triple
        except UNREADABLE as error:
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
            to = self._clean(answer.headers.get("location", "nowhere"))
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
        return " ".join(self._echoes.hide(text, "[secret]").split())[:500]
