# SPDX-License-Identifier: Apache-2.0
r"""The worker process of a server, ``python -m kgbench.serve.worker``, started by ``pool``.

A job is a query, a graph to be sent, an analysis of a page, or a request to be parsed. It comes
pickled, as the process trusts its parent. The parent trusts it only where it runs no query of a
client: the result of an analysis is pickled, that of parsing is JSON. The frames of an answer begin
with a tag: data, then the end or the refusal. Results of each kind are limited by the job: rows are
counted in the bytes of an answer while it is written. The engine serialises natively; passing each
row through Python to count it would be ten times slower. In each format, a row leaves a mark that
quoted text cannot forge.

>>> counter = Counter("tsv")
>>> counter.add(b"?x\n1\n2\n"); counter.rows
2
"""

from __future__ import annotations

import json
import os
import pickle
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import pyoxigraph as ox

from kgbench.characters import XmlSink
from kgbench.children import answering
from kgbench.errors import NotRecorded, QueryError
from kgbench.pages import things
from kgbench.pages.things import View
from kgbench.rdf.lexer import TooManyTokens
from kgbench.rdf.query_text import KNOWN_PREFIXES, explain_error, has_dataset
from kgbench.serve import admission, requests
from kgbench.serve.admission import Refused, too_large
from kgbench.serve.formats import ENGINE, NO_TRIPLE_TERMS, can_express
from kgbench.vocab import PREFIXES

DATA, END, FAILED = b"d", b"e", b"f"
READERS: Mapping[str, Callable[..., Any]] = {
    "operation": requests.operation,
    "triples": requests.triples,
    "admit": admission.admit,
}
_KNOWN = {name: str(iri) for name, iri in KNOWN_PREFIXES.items()}
_LONGEST_MESSAGE = 300
_CHUNK = 1 << 15
_MARKS = {"xml": b"<result>", "tsv": b"\n"}
# The mark between two JSON rows. In a literal that ends with the same characters, a brace or comma
# follows the quote instead.
_JSON = re.compile(rb'\},\{"[^},]')
_JSON_TAIL = 4  # bytes kept from the last chunk: one less than the match is long

_Send = Callable[[bytes], None]


class Counter:
    """Counts rows in bytes of one format (``json``, ``xml``, ``csv``, ``tsv``), chunk by chunk."""

    def __init__(self, form: str) -> None:
        self._mark = _MARKS.get(form, b"\r\n")
        self._csv = form == "csv"
        self._json = form == "json"
        self._quoted = False
        self._tail = b""
        # JSON marks stand between rows; the first line of CSV and TSV is the heading.
        self._marks = 0
        self._offset = {"json": 1, "xml": 0}.get(form, -1)

    @property
    def rows(self) -> int:
        """The number of rows seen so far, at least: JSON rows without bindings are not counted."""
        return max(self._marks + self._offset, 0) if self._marks or self._offset < 1 else 0

    def add(self, chunk: bytes) -> None:
        """Count the marks in the next bytes of the answer."""
        data = self._tail + chunk
        if self._json:
            self._marks += sum(1 for _ in _JSON.finditer(data))
            self._tail = data[-_JSON_TAIL:]
            return
        keep = len(self._mark) - 1
        if not self._csv:
            self._marks += data.count(self._mark)
            self._tail = data[-keep:] if keep else b""
            return
        # A CR at the end waits for the next chunk; line ends inside quoted fields do not count.
        self._tail = b"\r" if data.endswith(b"\r") else b""
        for index, piece in enumerate(data.removesuffix(b"\r").split(b'"')):
            if index:
                self._quoted = not self._quoted
            if not self._quoted:
                self._marks += piece.count(b"\r\n")


class Output:
    """A binary file that passes chunks on to ``send``, and limits rows and bytes (``size``)."""

    def __init__(
        self, send: Callable[[bytes], Any], counter: Counter | None, rows: int, size: int
    ) -> None:
        self._send, self._counter, self._rows, self._left = send, counter, rows, size
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        """Buffer data and send full chunks; raises :class:`~kgbench.serve.admission.Refused`."""
        self._waiting += data
        if len(self._waiting) >= _CHUNK:
            self.flush()
        return len(data)

    def flush(self) -> None:
        """Send buffered data; raises :class:`~kgbench.serve.admission.Refused` at a limit."""
        if not self._waiting:
            return
        piece = bytes(self._waiting)
        self._waiting.clear()
        self._left -= len(piece)
        if self._counter is not None:
            self._counter.add(piece)
        if self._left < 0 or (self._counter is not None and self._counter.rows > self._rows):
            raise too_large()
        self._send(piece)


def write_rows(result: Any, form: str, output: Output) -> None:
    """Write the result of a SELECT or ASK query of pyoxigraph in a format."""
    sink = XmlSink(output) if form == "xml" else output
    result.serialize(sink, ENGINE[form])
    sink.flush()
    output.flush()


def prepare(setup: Mapping[str, Any]) -> answering.Handler:
    """Return the handler of jobs, which answers one in several frames."""
    os.nice(setup["niceness"])
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # threads take address space, which has a limit
    view: View | None = None  # stays open for the next job

    def handle(request: bytes, send: _Send) -> None:
        nonlocal view
        job = pickle.loads(request)  # noqa: S301 - of the parent
        try:
            if "read" in job:
                _read(job, send)
            else:
                if view is None or view.path != job["snapshot"]:
                    view = _opened(job)
                work = next(work for name, work in _ON_SNAPSHOTS.items() if name in job)
                work(view, job, send)
        except (MemoryError, BrokenPipeError):
            raise
        except Refused as refused:
            _fail(send, refused)
        except BaseException as error:  # noqa: BLE001 - panics of pyoxigraph are BaseExceptions
            message = "the worker process failed on this request; the server's log says more"
            _fail(send, Refused(503, message), answering.summary(error))
        else:
            send(END)

    return handle


def _opened(job: Mapping[str, Any]) -> View:
    # The server holds the snapshot while jobs use it. This process must not hold it, because its
    # view stays open after the job and would keep an old snapshot on disk.
    view = things.open_view(Path(job["snapshot"]), None, job["base"])
    view.location = Path(view.location).name  # messages go to clients, which see no paths
    return view


def _fail(send: _Send, refused: Refused, defect: str | None = None) -> None:
    fields = {"status": refused.status, "message": refused.message, "headers": refused.headers}
    send(FAILED + json.dumps({**fields, "defect": defect}).encode("ascii"))


def _sender(send: _Send) -> _Send:
    return lambda data: send(DATA + data)


def _read(job: Mapping[str, Any], send: _Send) -> None:
    """Parse a request or a part of one; the result is sent as JSON."""
    try:
        result = READERS[job["read"]](*job["arguments"])
    except TooManyTokens as error:
        raise Refused(413, f"{error}: this server reads no more") from None
    send(DATA + json.dumps(result, default=_fields).encode("ascii"))


def _fields(value: Any) -> Any:
    assert is_dataclass(value)
    assert not isinstance(value, type)
    return asdict(value)


def _analysis(view: View, job: Mapping[str, Any], send: _Send) -> None:
    """Run an analysis of :data:`kgbench.serve.analyses.ANALYSES`; its result is sent pickled."""
    from kgbench.serve.analyses import ANALYSES

    try:
        result = ANALYSES[job["analysis"]](view, **job["arguments"])
    except (QueryError, NotRecorded) as error:  # its queries are ours
        raise Refused(404, str(error)) from None
    send(DATA + pickle.dumps(result))


def _query(view: View, job: Mapping[str, Any], send: _Send) -> None:
    form = job["format"]
    try:
        result = view.database.query(
            job["query"], base_iri=job["base"], prefixes=_KNOWN, **dataset(job)
        )
        if isinstance(result, ox.QueryTriples):
            _write_graph(result, job, send)
            return
        counter = Counter(form) if isinstance(result, ox.QuerySolutions) else None
        write_rows(result, form, Output(_sender(send), counter, job["rows"], job["bytes"]))
    except SyntaxError as error:
        raise Refused(400, _cut(explain_error(job["query"], str(error)))) from None
    except (ValueError, RuntimeError) as error:
        raise Refused(400, _cut(str(error))) from None


def _graph(view: View, job: Mapping[str, Any], send: _Send) -> None:
    """Send all triples of a graph."""
    graph = ox.NamedNode(job["graph"]) if job["graph"] else ox.DefaultGraph()
    quads = view.database.quads_for_pattern(None, None, None, graph)
    with_graphs = job["format"] in ("nq", "trig")
    _write_graph(quads if with_graphs else (quad.triple for quad in quads), job, send)


_ON_SNAPSHOTS: Mapping[str, Callable[[View, Mapping[str, Any], _Send], None]] = {
    "query": _query,
    "graph": _graph,
    "analysis": _analysis,
}


def dataset(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dataset of ``job`` as arguments of ``Store.query`` of pyoxigraph.

    The dataset of the request overrides that of the query, which overrides the union of all graphs.
    """
    if job["default"] is None:
        return {"use_default_graph_as_union": job["union"] and not has_dataset(job["query"])}
    return {
        "default_graph": [ox.NamedNode(iri) for iri in job["default"]],
        "named_graphs": [ox.NamedNode(iri) for iri in job["named"]],
    }


def _write_graph(triples: Iterable[Any], job: Mapping[str, Any], send: _Send) -> None:
    output = Output(_sender(send), None, 0, job["bytes"])
    sink = XmlSink(output) if job["format"] == "rdf" else output
    ox.serialize(
        _counted(triples, job["rows"], job["format"]),
        sink,  # type: ignore[arg-type]
        ENGINE[job["format"]],
        prefixes=dict(PREFIXES),
    )
    sink.flush()
    output.flush()


def _counted(triples: Iterable[Any], limit: int, form: str) -> Iterator[Any]:
    for count, triple in enumerate(triples):
        if count >= limit:
            raise too_large()
        if not can_express(triple, form):
            raise Refused(406, NO_TRIPLE_TERMS, {"Vary": "Accept"})
        yield triple


def _cut(message: str) -> str:
    """Cut a parser's message, because it may list all tokens that were expected."""
    if len(message) <= _LONGEST_MESSAGE:
        return message
    return message[:_LONGEST_MESSAGE] + " ..."


if __name__ == "__main__":
    answering.answer(prepare, opens_files=True)
