# SPDX-License-Identifier: Apache-2.0
"""The worker process that runs queries: ``python -m kgbench.serve.worker``.

It is started by :mod:`kgbench.serve.worker_handle`, reads jobs as JSON lines from standard input,
and answers in frames: one byte for the tag, four bytes for the length, and the payload. It enters
its sandbox before the first job, and its parent kills it when a time limit is reached.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO, Generic, TypeVar

import pyoxigraph as ox

from kgbench.characters import XmlSink
from kgbench.children.endings import OUT_OF_MEMORY
from kgbench.children.lockdown import die_with_parent
from kgbench.errors import NotRecorded, QueryError, StoreError
from kgbench.rdf import query_errors
from kgbench.rdf.dataset_clauses import has_dataset
from kgbench.serve.formats import NO_TRIPLE_TERMS, can_express, engine_format
from kgbench.serve.isolation import isolate
from kgbench.serve.rows import Counter

READY, DATA, END, FAILED = b"r", b"d", b"e", b"f"
_CHUNK = 1 << 15
_KNOWN = {name: str(iri) for name, iri in query_errors.KNOWN.items()}
_LONGEST_MESSAGE = 300
_Snapshot = TypeVar("_Snapshot")


class LimitReached(Exception):
    """An answer exceeds the limit of rows or bytes."""


class Inexpressible(Exception):
    """The requested format cannot express an answer."""


class Output:
    """A binary file that sends written data in frames, and counts rows and bytes."""

    def __init__(self, stream: BinaryIO, counter: Counter | None, rows: int, size: int) -> None:
        self._stream, self._counter, self._rows, self._left = stream, counter, rows, size
        self._waiting = bytearray()

    def write(self, data: bytes) -> int:
        """Buffer data and send full chunks; raises :class:`LimitReached`."""
        self._waiting += data
        if len(self._waiting) >= _CHUNK:
            self.flush()
        return len(data)

    def flush(self) -> None:
        """Send buffered data; raises :class:`LimitReached`."""
        if not self._waiting:
            return
        piece = bytes(self._waiting)
        self._waiting.clear()
        self._left -= len(piece)
        if self._counter is not None:
            self._counter.add(piece)
        if self._left < 0 or (self._counter is not None and self._counter.rows > self._rows):
            raise LimitReached
        send(self._stream, DATA, piece)


def answer_jobs(handle: Callable[[Mapping[str, Any], BinaryIO], None]) -> None:
    """Enter the sandbox, then ``handle`` jobs until standard input ends."""
    jobs, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb", buffering=1 << 16)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent, memory = int(sys.argv[1]), int(sys.argv[2])
    die_with_parent(parent)
    isolated = isolate(memory)
    send(answers, READY, json.dumps({"isolated": isolated}).encode())
    with contextlib.suppress(BrokenPipeError):
        for line in jobs:
            try:
                handle(json.loads(line), answers)
                send(answers, END, b"")
            except MemoryError:
                os._exit(OUT_OF_MEMORY)
            except BrokenPipeError:
                raise
            except BaseException as error:  # noqa: BLE001 - panics of pyoxigraph derive from BaseException
                send(answers, FAILED, json.dumps(_error_message(error)).encode())


class OpenSnapshots(Generic[_Snapshot]):
    """Cache of open snapshots: the current one, and a newer one that is being prepared.

    >>> opened = OpenSnapshots(str.upper)
    >>> [opened.get(path) for path in ("a", "b", "a", "b")], list(opened.kept)
    (['A', 'B', 'A', 'B'], ['b'])
    """

    def __init__(self, open_: Callable[[str], _Snapshot]) -> None:
        self._open = open_
        self.kept: dict[str, _Snapshot] = {}

    def get(self, path: str) -> _Snapshot:
        """Return the snapshot at ``path``; a second request for it closes the older ones.

        So the previous snapshot stays open until jobs switch to the new one.
        """
        if path in self.kept:
            while next(iter(self.kept)) != path:
                del self.kept[next(iter(self.kept))]
            return self.kept[path]
        while len(self.kept) > 1:
            del self.kept[next(iter(self.kept))]
        self.kept[path] = self._open(path)
        return self.kept[path]


def _open(path: str) -> ox.Store:
    try:
        return ox.Store.read_only(path)
    except (OSError, RuntimeError, ValueError) as error:  # not an error in the query
        raise StoreError(f"the snapshot cannot be opened: {error}") from error


def _handler() -> Callable[[Mapping[str, Any], BinaryIO], None]:
    """Return a function that runs query jobs; the snapshot of a job stays open for the next one.

    A job with ``prepare`` only opens its snapshot.
    """
    snapshots = OpenSnapshots(_open)

    def answer(job: Mapping[str, Any], stream: BinaryIO) -> None:
        store = snapshots.get(job["snapshot"])
        if not job.get("prepare"):
            _answer(store, job, stream)

    return answer


def _answer(store: ox.Store, job: Mapping[str, Any], stream: BinaryIO) -> None:
    form = job["format"]
    if "graph" in job:
        graph = ox.NamedNode(job["graph"]) if job["graph"] else ox.DefaultGraph()
        quads = store.quads_for_pattern(None, None, None, graph)
        with_graphs = form in ("nq", "trig")
        _write_graph(quads if with_graphs else (quad.triple for quad in quads), job, stream)
        return
    try:
        result = store.query(job["query"], base_iri=job["base"], prefixes=_KNOWN, **dataset(job))
    except SyntaxError as error:
        raise ValueError(query_errors.explain(job["query"], str(error))) from error
    if isinstance(result, ox.QueryTriples):
        _write_graph(result, job, stream)
        return
    counter = Counter(form) if isinstance(result, ox.QuerySolutions) else None
    output = Output(stream, counter, job["rows"], job["bytes"])
    sink = XmlSink(output) if form == "xml" else output
    result.serialize(sink, engine_format(form))  # type: ignore[arg-type]
    sink.flush()
    output.flush()


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


def _write_graph(triples: Iterable[Any], job: Mapping[str, Any], stream: BinaryIO) -> None:
    output = Output(stream, None, 0, job["bytes"])
    sink = XmlSink(output) if job["format"] == "rdf" else output
    ox.serialize(
        _counted(triples, job["rows"], job["format"]),
        sink,  # type: ignore[arg-type]
        engine_format(job["format"]),
        prefixes=job.get("prefixes"),
    )
    sink.flush()
    output.flush()


def _counted(triples: Iterable[Any], limit: int, form: str) -> Iterator[Any]:
    for count, triple in enumerate(triples):
        if count >= limit:
            raise LimitReached
        if not can_express(triple, form):
            raise Inexpressible(NO_TRIPLE_TERMS)
        yield triple


def parser_message(error: BaseException) -> str:
    """Return a parser's message, cut because it may list all tokens that were expected."""
    text = str(error)
    return text if len(text) <= _LONGEST_MESSAGE else text[:_LONGEST_MESSAGE] + " ..."


def _error_message(error: BaseException) -> dict[str, str]:
    if isinstance(error, LimitReached):
        return {"kind": "limit", "message": "the answer exceeds the size limit of this server"}
    if isinstance(error, Inexpressible):
        return {"kind": "format", "message": str(error)}
    if isinstance(error, QueryError | NotRecorded):  # raised by an analysis, whose queries are ours
        return {"kind": "missing", "message": str(error)}
    if isinstance(error, SyntaxError | ValueError | RuntimeError):
        return {"kind": "query", "message": parser_message(error)}
    return {"kind": "defect", "message": f"{type(error).__name__}: {error}"[:2_000]}


def send(stream: BinaryIO, tag: bytes, payload: bytes) -> None:
    """Send one frame."""
    stream.write(tag + len(payload).to_bytes(4, "big") + payload)
    stream.flush()


if __name__ == "__main__":
    answer_jobs(_handler())
