# SPDX-License-Identifier: Apache-2.0
"""The engines that parse documents and run queries for judges: what they share, and their graphs.

The graph of a case is Turtle text, or the name of a graph that is installed in a file. A child
process cannot open files once it is locked down. Therefore the files of installed graphs are opened
before, and read when a query first needs them.
"""

from __future__ import annotations

import os
import re
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import Any, ClassVar, Final, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from kgbench.characters import BOM
from kgbench.errors import EvaluationError
from kgbench.execution import documents, graph_changes
from kgbench.execution.rewriting import HIDDEN
from kgbench.model import Executor, QueryResult
from kgbench.rdf import lexer
from kgbench.rdf.query_text import with_well_known

ENGINES: Final = {"oxigraph": "pyoxigraph", "rdflib": "rdflib"}
MOST_VALUES = 1_500_000  # values of one result (rows times variables), about 200 MB as terms
TRIPLE: Final = ("subject", "predicate", "object")
"""The variables of a CONSTRUCT's rows."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_FORMATS = {
    ".ttl": "turtle",
    ".nt": "ntriples",
    ".rdf": "xml",
    ".xml": "xml",
    ".owl": "xml",
    ".jsonld": "json-ld",
}
_KEPT = 8  # graphs that are kept regardless of their size
_KEPT_SIZE = 40_000_000  # characters of all graphs up to which more are kept

Loaded = TypeVar("Loaded")
Question: TypeAlias = Literal["select", "results", "explore"]
Run: TypeAlias = Callable[[Loaded, str, Mapping[str, str]], QueryResult]


class GraphText(NamedTuple):
    """A graph as a document: its text and its format."""

    text: str
    rdf_format: str


class InstalledGraphs:
    """The graphs that cases can name, as open files; ``paths`` has (name, path) pairs."""

    def __init__(self, paths: Iterable[tuple[str, str]] = ()) -> None:
        self._open: dict[str, tuple[int, str]] = {}
        for name, path in paths:
            rdf_format = _FORMATS.get(PurePath(path).suffix.lower())
            if rdf_format is None:
                raise EvaluationError(
                    f"the graph '{name}' cannot be read from {path}: "
                    f"its name ends in none of {', '.join(_FORMATS)}"
                )
            try:
                self._open[name] = (os.open(path, os.O_RDONLY), rdf_format)
            except OSError as error:
                raise EvaluationError(f"the graph '{name}' cannot be read: {error}") from error

    def resolve(self, graph: str) -> GraphText:
        """Return the document for a text or name; :class:`EvaluationError` for an unknown name."""
        if graph in self._open:
            descriptor, rdf_format = self._open[graph]
            size = os.fstat(descriptor).st_size
            text = os.pread(descriptor, size, 0).decode("utf-8")
            return GraphText(text.removeprefix(BOM), rdf_format)
        if len(graph) < 256 and _NAME.fullmatch(graph):  # noqa: PLR2004 - no file name is longer
            known = ", ".join(sorted(self._open)) or "none"
            raise EvaluationError(f"the graph '{graph}' is not installed (installed: {known})")
        return GraphText(graph.removeprefix(BOM), "turtle")

    def close(self) -> None:
        """Close the files."""
        for descriptor, _ in self._open.values():
            os.close(descriptor)
        self._open.clear()


class GraphCache(Generic[Loaded]):
    """An LRU cache of graphs in the form in which an engine queries them."""

    def __init__(self, installed: InstalledGraphs, load: Callable[[GraphText], Loaded]) -> None:
        self._installed = installed
        self._load = load
        self._loaded: OrderedDict[str, Loaded] = OrderedDict()
        self._size = 0

    def __getitem__(self, graph: str) -> Loaded:
        # The text is the key: str caches its hash, and equal texts are mostly the same object.
        loaded = self._loaded.get(graph)
        if loaded is None:
            loaded = self._load(self._installed.resolve(graph))
            self._loaded[graph] = loaded
            self._size += len(graph)
            while len(self._loaded) > _KEPT and self._size > _KEPT_SIZE:
                oldest, _ = self._loaded.popitem(last=False)
                self._size -= len(oldest)
        else:
            self._loaded.move_to_end(graph)
        return loaded


class QueryEngine(ABC, Generic[Loaded]):
    """The frame of an engine: refusals, graphs of cases, and errors as results.

    ``installed`` are the graphs that can be named; ``refusal`` returns why a query is never
    executed (tests replace it to show that the sandbox does not depend on it). ``ERRORS`` are what
    the engine raises for a query.
    """

    ERRORS: ClassVar[tuple[type[Exception], ...]]

    def __init__(
        self,
        installed: InstalledGraphs | None = None,
        refusal: Callable[[str], str | None] = lexer.refusal,
    ) -> None:
        self._refusal = refusal
        self._graphs = GraphCache(installed or InstalledGraphs(), self._loaded)

    def changes(self, text: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the changes of a request; see :mod:`kgbench.execution.graph_changes`."""
        return self._answer(graph_changes.refusal(text), self._changed, text, graph, prefixes)

    def select(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the rows of a SELECT over ``graph``; see :class:`kgbench.model.QueryResult`."""
        run = partial(self._queried, "select")
        result = self._answer(self._refusal(query), run, query, graph, prefixes)
        if result.boolean is not None:
            return QueryResult(error=lexer.NO_QUERY, refused=True)
        return result

    def results(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the rows of a SELECT or the value of an ASK; see :class:`kgbench.model.Executor`.

        A replaced ``refusal`` takes precedence over the rule about forms of queries.
        """
        refused = self._refusal(query)
        if refused == lexer.NO_QUERY:
            refused = lexer.result_refusal(query)
        return self._answer(refused, partial(self._queried, "results"), query, graph, prefixes)

    def explore(self, query: str, graph: str, prefixes: Mapping[str, str]) -> QueryResult:
        """Return the same as :meth:`results`, or the triples of a CONSTRUCT."""
        refused = self._refusal(query)
        if refused == lexer.NO_QUERY:
            refused = lexer.exploring_refusal(query)
        return self._answer(refused, partial(self._queried, "explore"), query, graph, prefixes)

    def _answer(
        self,
        refused: str | None,
        run: Run[Loaded],
        text: str,
        graph: str,
        prefixes: Mapping[str, str],
    ) -> QueryResult:
        if refused is not None:
            return QueryResult(error=refused, refused=True)
        loaded, known, text = self._graphs[graph], with_well_known(prefixes), text.removeprefix(BOM)
        try:
            documents.refuse_surrogates(text)
            return run(loaded, text, known)
        except MemoryError:
            raise
        except self.ERRORS as error:
            return QueryResult(error=self._message(error, text, known))

    @staticmethod
    @abstractmethod
    def _loaded(graph: GraphText) -> Loaded:
        """Return a graph in the form that the engine queries."""

    @abstractmethod
    def _queried(
        self, kind: Question, loaded: Loaded, query: str, known: Mapping[str, str]
    ) -> QueryResult:
        """Execute a query that is not refused; raises any of ``ERRORS``."""

    @abstractmethod
    def _changed(self, loaded: Loaded, text: str, known: Mapping[str, str]) -> QueryResult:
        """Execute a request that is not refused; raises any of ``ERRORS``."""

    def _message(self, error: Exception, query: str, known: Mapping[str, str]) -> str:  # noqa: ARG002 - of others
        """Return the message of an error about ``query``."""
        return str(error) or type(error).__name__


def as_rows(
    names: Sequence[str],
    solutions: Iterable[Any],
    write: Callable[[Any, Callable[[str], str]], str],
) -> QueryResult:
    """Convert solutions to a result with N-Triples terms, up to :data:`MOST_VALUES`.

    ``write`` writes a term; its second argument numbers labels of blank nodes by occurrence,
    because engines generate them.
    """
    shown = [n for n, name in enumerate(names) if not name.startswith(HIDDEN)]
    if len(shown) < len(names):
        solutions = ([solution[n] for n in shown] for solution in solutions)
    variables = tuple(names[n] for n in shown)
    most = MOST_VALUES // max(len(variables), 1)
    rows: list[tuple[str | None, ...]] = []
    labels: dict[str, str] = {}

    def number(label: str) -> str:
        return labels.setdefault(label, f"_:b{len(labels)}")

    for solution in solutions:
        if len(rows) == most:
            return QueryResult(variables, error=f"the result has more than {most} rows")
        rows.append(tuple([None if term is None else write(term, number) for term in solution]))
    return QueryResult(variables, tuple(rows))


def engine(name: str, installed: InstalledGraphs | None = None) -> Executor:
    """Return the engine called ``name`` (one of :data:`ENGINES`) for the graphs in ``installed``.

    It runs in this process without limits; answers of models must go through
    :func:`kgbench.execution.judging.judge_batch`.
    """
    _package(name)
    if name == "rdflib":
        from kgbench.execution.rdflib_engine import RdflibExecutor

        return RdflibExecutor(installed)
    from kgbench.execution.oxigraph import OxigraphExecutor

    return OxigraphExecutor(installed)


def engine_label(name: str) -> str:
    """Return name and version of an engine as recorded, for example ``oxigraph 0.5.13``."""
    from importlib import metadata

    return f"{name} {metadata.version(_package(name))}"


def _package(name: str) -> str:
    try:
        return ENGINES[name]
    except KeyError:
        raise EvaluationError(
            f"there is no engine '{name}': choose {' or '.join(ENGINES)}"
        ) from None
