# SPDX-License-Identifier: Apache-2.0
"""A SPARQL 1.1 client: Query and Update, and the Graph Store Protocol if the server has it.

Each turn of a run costs one request, on a persistent connection.
"""

from __future__ import annotations

import io
import json
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any, Self, TypeVar
from urllib.parse import quote, urlencode

import pyoxigraph as ox

from kgbench import __version__
from kgbench.characters import after_bom
from kgbench.errors import QueryError, StoreError
from kgbench.secrets import SecretDetector
from kgbench.store import quirks
from kgbench.store.back_ends import BackEnd, public_url
from kgbench.store.connections import PASSWORD, TOKEN, USER, Answer, Connections, Credentials
from kgbench.store.templates import fill

_T = TypeVar("_T")
_log = logging.getLogger("kgbench.store")
_DEADLOCKS = 20  # attempts at an update that the server refuses for a temporary reason
_QUOTED = 200  # characters of a reply in a message about access
_PROLOGUE = re.compile(
    r"(?:\s+|#[^\n]*(?:\n|$)|BASE\s*<[^<>]*>|PREFIX\s+[^\s:]*:\s*<[^<>]*>)*", re.IGNORECASE
)
_WORD = re.compile(r"[A-Za-z]+")
_GRAPH_FORMS = ("CONSTRUCT", "DESCRIBE")
_FORMS = ("SELECT", "ASK", *_GRAPH_FORMS)


class Solutions:
    """The rows of a SELECT result, as pyoxigraph's solutions, parsed lazily.

    ``refused`` makes the error that is raised if a row cannot be parsed.
    """

    def __init__(
        self, solutions: ox.QuerySolutions, refused: Callable[[Exception], StoreError]
    ) -> None:
        self.variables = solutions.variables
        self._source: ox.QuerySolutions | None = solutions
        self._refused = refused

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> ox.QuerySolution:
        if self._source is None:
            raise StopIteration
        try:
            row: ox.QuerySolution = next(self._source)
        except quirks.UNREADABLE as error:
            self._source = None  # pyoxigraph's iterator must not be freed by another thread
            raise self._refused(error) from error
        return row

    def serialize(self, *arguments: Any, **options: Any) -> bytes | None:
        """Serialise the remaining rows; see :meth:`pyoxigraph.QuerySolutions.serialize`."""
        if self._source is None:
            raise ValueError("the rows cannot be read")
        try:
            return self._source.serialize(*arguments, **options)
        except quirks.UNREADABLE as error:
            self._source = None
            raise self._refused(error) from error


class Client:
    """A client of one back end; may be used by several threads."""

    def __init__(self, back_end: BackEnd) -> None:
        self.back_end = back_end
        self._quirks = quirks.of_kind(back_end.kind)  # until an answer says what the server is
        self._http = Connections(Credentials.from_environment(), agent=f"kgbench/{__version__}")
        self._echoes = SecretDetector(self._http.credentials.secrets)

    # --- queries ----------------------------------------------------------------------------

    def query(self, text: str) -> Any:
        """Return the result of a query, in the classes of pyoxigraph.

        Raises :class:`~kgbench.errors.QueryError` if the server refuses the query.
        """
        first = form(text)
        if first not in _FORMS:
            raise QueryError(
                f"the query cannot be run: it begins with '{first}', not with one of "
                f"{', '.join(_FORMS)}"
            )
        if first in _GRAPH_FORMS:
            return self._graph(text)
        if first == "ASK":
            return self._query(text, quirks.ACCEPT_JSON, self._boolean)
        tsv = self.back_end.result_format == "tsv"
        accept = quirks.ACCEPT_TSV if tsv else quirks.ACCEPT_JSON
        return self._query(text, accept, lambda answer: self._solutions(text, answer, tsv=tsv))

    def _boolean(self, answer: Answer) -> ox.QueryBoolean:
        body, shape = self._read(answer, ox.QueryResultsFormat.JSON)
        return quirks.boolean(body.read(), shape)

    def _solutions(self, text: str, answer: Answer, *, tsv: bool) -> Solutions:
        requested = ox.QueryResultsFormat.TSV if tsv else ox.QueryResultsFormat.JSON
        body, shape = self._read(answer, requested)
        if shape != ox.QueryResultsFormat.JSON:
            return self._rows(answer, body, shape)

        def again(variables: Sequence[str], columns: Sequence[str]) -> dict[str, Any]:
            return self._query(around(text, variables, columns), quirks.ACCEPT_JSON, self._document)

        content = self._quirks.corrected(quirks.plain(body.read()), again)
        return self._rows(answer, content, shape)

    def _rows(
        self, answer: Answer, content: bytes | IO[bytes], shape: ox.QueryResultsFormat
    ) -> Solutions:
        results = ox.parse_query_results(content, shape)
        if isinstance(results, ox.QueryBoolean):
            raise TypeError("it is that of ASK, and the query is a SELECT")
        return Solutions(results, lambda error: self._unreadable(answer, error))

    def _document(self, answer: Answer) -> dict[str, Any]:
        body, _ = self._read(answer, ox.QueryResultsFormat.JSON)
        document: dict[str, Any] = json.loads(quirks.plain(body.read()))
        return document

    def _graph(self, text: str) -> Any:
        if self._quirks.rounds:
            _log.warning(
                "%s rounds the doubles in results of CONSTRUCT and DESCRIBE, and may silently "
                "truncate them at its limit of rows: use SELECT, or query a copy, to be sure",
                public_url(self.back_end.query),
            )
        scratch = ox.Store()  # ox.QueryTriples can only be created by a query
        load = scratch.bulk_load
        self._query(text, quirks.ACCEPT_GRAPH, lambda answer: load(*self._triples(answer)))
        return scratch.query("CONSTRUCT { ?s ?p ?o } WHERE { ?s ?p ?o }")

    def _read(
        self, answer: Answer, result_format: ox.QueryResultsFormat
    ) -> tuple[IO[bytes], ox.QueryResultsFormat]:
        body = after_bom(answer.body)
        return body, quirks.results(answer.headers, body, result_format)

    def _triples(self, answer: Answer) -> tuple[IO[bytes], ox.RdfFormat]:
        body, shape = after_bom(answer.body), quirks.triples(answer.headers)
        if shape == ox.RdfFormat.RDF_XML:
            quirks.refuse_entities(body)
        return body, shape

    def _query(self, text: str, accept: str, parse: Callable[[Answer], _T]) -> _T:
        """Return what ``parse`` makes of the answer; an error about its content quotes it."""
        headers = {"Accept": accept, "Content-Type": "application/x-www-form-urlencoded"}
        body = urlencode({"query": text}).encode("ascii")
        answer = self._send("POST", self.back_end.query, body, headers)
        if answer.status in (400, 414):
            raise QueryError(f"the query cannot be run: {self._clean(answer.text())}")
        self._check(answer)
        self._refuse_partial(answer)
        try:
            return parse(answer)
        except quirks.UNREADABLE as error:
            raise self._unreadable(answer, error) from error

    # --- updates and graphs -----------------------------------------------------------------

    def update(self, text: str) -> None:
        """Run an update, which must be idempotent because it may be sent more than once.

        Raises :class:`~kgbench.errors.StoreError` if the server refuses it.
        """
        headers = {"Content-Type": "application/sparql-update; charset=utf-8", "Accept": "*/*"}
        address = self.back_end.update
        self._check(self._send("POST", address, text.encode("utf-8"), headers))

    def load(self, graph: str, lines: Sequence[str]) -> None:
        """Add N-Triples ``lines`` to a graph in one request, without a change stamp."""
        if self.back_end.data is None:
            self.update(fill("insert.ru", graph=graph, triples="\n".join(lines)))
            return
        body = "\n".join([*lines, ""]).encode("utf-8")
        headers = {"Content-Type": "application/n-triples", "Accept": "*/*"}
        self._check(self._send("POST", self._address(graph), body, headers))

    def triples(self, graph: str) -> Iterator[ox.Triple]:
        """Yield the triples of a graph; none if it does not exist."""
        if self.back_end.data is None or self._quirks.rounds:
            for row in self.query(fill("triples.rq", graph=graph)):
                yield ox.Triple(row[0], row[1], row[2])
            return
        headers = {"Accept": quirks.ACCEPT_GRAPH}
        answer = self._send("GET", self._address(graph), None, headers)
        if answer.status == 404:  # noqa: PLR2004 - no such graph (Graph Store Protocol, section 5.2)
            if self.query(fill("has.rq", catalogue=graph, pattern="?s ?p ?o")):
                raise StoreError(
                    f"{public_url(self.back_end.data)} does not have the graph {graph}, in which "
                    f"{public_url(self.back_end.query)} finds triples: check that the addresses "
                    "for queries and whole graphs belong to the same server"
                )
            return
        self._check(answer)
        self._refuse_partial(answer)
        try:
            body, shape = self._triples(answer)
            for quad in ox.parse(body, shape):
                yield quad.triple
        except quirks.UNREADABLE as error:
            raise self._unreadable(answer, error) from error

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _address(self, graph: str) -> str:
        assert self.back_end.data is not None
        joint = "&" if "?" in self.back_end.data else "?"
        return f"{self.back_end.data}{joint}graph={quote(graph, safe='')}"

    # --- refusals ---------------------------------------------------------------------------

    def _send(self, method: str, url: str, body: bytes | None, headers: dict[str, str]) -> Answer:
        """Send a request, and repeat it after temporary errors such as deadlocks."""
        pause = 0.02
        for _ in range(_DEADLOCKS):
            answer = self._http.send(method, url, body, headers)
            self._quirks = quirks.of_sender(answer.headers, self._quirks)
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
        """Raise :class:`StoreError` if the status is not a success."""
        status, place = answer.status, public_url(answer.url.partition("?")[0])
        if 200 <= status < 300:  # noqa: PLR2004 - servers use any status of success
            return
        if status in (401, 403):
            text = self._clean(answer.text())[:_QUOTED]
            said = "" if not text or text.startswith("<") else f", saying '{text}'"  # no pages
            raise StoreError(
                f"the server at {place} denies access (status {status}){said}: if it needs "
                f"credentials, set {USER} and {PASSWORD}, or {TOKEN}, to what it accepts"
            )
        if 300 <= status < 400:  # noqa: PLR2004
            to = self._clean(answer.headers.get("location", "nowhere"))
            raise StoreError(
                f"{place} redirects to {public_url(to)}: use that address, "
                "redirects are not followed"
            )
        if status == 413:  # noqa: PLR2004
            raise StoreError(
                f"a request was too large for {place}: give the location of the store with a lower "
                "limit (?limit=BYTES)"
            )
        reason = self._clean(answer.text()) or "no reason given"
        raise StoreError(f"the server at {place} refused a request (status {status}): {reason}")

    def _refuse_partial(self, answer: Answer) -> None:
        if (cut := self._quirks.truncation(answer.status, answer.headers)) is not None:
            raise StoreError(f"the server {cut}")

    def _unreadable(self, answer: Answer, error: Exception) -> StoreError:
        reason = self._clean(str(error))  # which may quote the answer
        content = self._clean(quirks.quoted(answer.body))
        reply = f"; its answer begins '{content}'" if content else ""
        place = public_url(answer.url.partition("?")[0])
        return StoreError(f"the server at {place} gave no readable answer: {reason}{reply}")

    def _clean(self, text: str) -> str:
        return " ".join(self._echoes.hide(text, "[secret]").split())[:500]


def form(text: str) -> str:
    r"""Return the first word after the prologue in upper case, such as ``SELECT``, or "".

    >>> form("# insert?\nPREFIX delete: <urn:x> ask {}")
    'ASK'
    """
    word = _WORD.match(text, _prologue_end(text))
    return "" if word is None else word[0].upper()


def around(text: str, variables: Sequence[str], columns: Sequence[str]) -> str:
    r"""Wrap a SELECT query in one that returns its ``variables`` and further ``columns``.

    >>> around("SELECT ?a { ?a ?p 1 }", ["a"], ["(STR(?a) AS ?b)"])
    'SELECT ?a (STR(?a) AS ?b) WHERE { { SELECT ?a { ?a ?p 1 }\n } }'
    """
    end = _prologue_end(text)
    names = " ".join(f"?{name}" for name in variables)
    return f"{text[:end]}SELECT {names} {' '.join(columns)} WHERE {{ {{ {text[end:]}\n }} }}"


def _prologue_end(text: str) -> int:
    match = _PROLOGUE.match(text)
    return 0 if match is None else match.end()
