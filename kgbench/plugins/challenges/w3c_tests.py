# SPDX-License-Identifier: Apache-2.0
"""The W3C tests of RDF 1.2 and SPARQL 1.2 as questions with expected answers.

Syntax tests ask whether a text is valid. Evaluation tests ask for the graph of a document, the
result of a query, or the data after an update. Tests of entailment and of canonical forms are not
installed. The tests are under the W3C Test Suite Licence and the W3C 3-clause BSD licence; kgbench
does not contain them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeAlias

import pyoxigraph as ox

from kgbench.api import RDF, ImportRefused, Json
from kgbench.datasets import home
from kgbench.datasets.descriptions import Description
from kgbench.datasets.install import InstallationResult, clone_folder, copy_files, install_files

NAME: Final = "rdf-tests"
CLASS: Final = "W3cRdf12"
SYNTAX, EVALUATION = "syntax", "evaluation"
LANGUAGES: Final = {
    "n-triples": ".nt",
    "n-quads": ".nq",
    "turtle": ".ttl",
    "trig": ".trig",
    "rdf-xml": ".rdf",
    "query": ".rq",
    "update": ".ru",
}
"""The languages of tests, with the suffix of their files."""
FORMATS: Final = {
    ".ttl": ox.RdfFormat.TURTLE,
    ".nt": ox.RdfFormat.N_TRIPLES,
    ".nq": ox.RdfFormat.N_QUADS,
    ".trig": ox.RdfFormat.TRIG,
    ".rdf": ox.RdfFormat.RDF_XML,
}
RESULTS: Final = {".srj": ox.QueryResultsFormat.JSON, ".srx": ox.QueryResultsFormat.XML}

_LICENCE: Final = "LICENSE.md"
_LANGUAGE: Final = {suffix: language for language, suffix in LANGUAGES.items()}
_PARTS = ("rdf/rdf12", "sparql/sparql12")
_MF = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
_QT = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#"
_UT = "http://www.w3.org/2009/sparql/tests/test-update#"
_Subject: TypeAlias = ox.NamedNode | ox.BlankNode | ox.Triple
_Term: TypeAlias = _Subject | ox.Literal
_TYPE = ox.NamedNode(RDF.type)


class Entry(NamedTuple):
    """A test: its folder and name, its kind, its base IRI, and its files.

    ``action`` is the document, the query or the update; ``data`` and ``result`` may be missing.
    """

    name: str
    kind: str
    base: str
    action: Path
    data: Path | None
    result: Path | None


def entries(root: Path) -> list[Entry]:
    """Return all tests below ``rdf/rdf12`` and ``sparql/sparql12`` of a copy, sorted by name.

    Raises :class:`~kgbench.errors.ImportRefused` if a manifest cannot be read.
    """
    result: list[Entry] = []
    for path in manifests(root):
        try:
            result += _entries_of(path, path.parent.relative_to(root).as_posix())
        except (OSError, SyntaxError, ValueError) as error:
            raise ImportRefused(f"the manifest {path} cannot be read: {error}") from error
    return sorted(result)


def manifests(root: Path) -> list[Path]:
    """Return the manifests of a copy, in a fixed order."""
    return [path for part in _PARTS for path in sorted((root / part).rglob("manifest.ttl"))]


def _entries_of(path: Path, folder: str) -> Iterator[Entry]:
    here = path.parent.as_uri() + "/"
    public = f"https://w3c.github.io/rdf-tests/{folder}/"
    store = ox.Store()
    store.load(path=path, format=ox.RdfFormat.TURTLE, base_iri=f"{here}manifest.ttl")

    def value(node: _Subject | None, iri: str) -> _Term | None:
        if node is None:
            return None
        quads = list(store.quads_for_pattern(node, ox.NamedNode(iri), None))
        return quads[0].object if len(quads) == 1 else None

    def file(node: _Term | None) -> Path | None:
        if not isinstance(node, ox.NamedNode):
            return None
        return path.parent / node.value.removeprefix(here)

    for quad in store.quads_for_pattern(None, ox.NamedNode(f"{_MF}action"), None):
        kind, result = value(quad.subject, _TYPE.value), value(quad.subject, f"{_MF}result")
        action, data = file(quad.object), None
        if isinstance(quad.object, ox.BlankNode):
            action_node = quad.object
            action = file(value(action_node, f"{_QT}query") or value(action_node, f"{_UT}request"))
            data = file(value(action_node, f"{_QT}data") or value(action_node, f"{_UT}data"))
        if isinstance(result, ox.BlankNode):
            result = value(result, f"{_UT}data")
        if action is None or not isinstance(kind, ox.NamedNode):
            continue  # without a file it is not a test of a parser or an engine
        name = str(quad.subject).rstrip(">").rpartition("#")[2]
        yield Entry(
            f"{folder.partition('/')[2]}/{name}",
            kind.value.rpartition("#")[2],
            f"{public}{action.name}",
            action,
            data,
            file(result),
        )


class W3cTest(NamedTuple):
    """A test with its input (``text``, ``data``) and its ``expected`` answer.

    ``expected`` is ``valid`` or ``invalid``, a result in SPARQL JSON, or lines of N-Quads. ``data``
    is the input of a query or an update, in the language ``data_language``.
    """

    name: str
    kind: str
    language: str
    base: str
    text: str
    expected: str
    data: str | None = None
    data_language: str | None = None

    @property
    def asks_for_solutions(self) -> bool:
        """Whether the answer is the result of a SELECT or an ASK."""
        return self.kind == EVALUATION and self.expected.startswith("{")


def kind_of(entry: Entry) -> str | None:
    """Return ``syntax``, ``evaluation``, or ``None`` for other kinds of tests."""
    if "Syntax" in entry.kind:
        return SYNTAX
    return EVALUATION if "Eval" in entry.kind else None


def tests(root: Path) -> list[W3cTest]:
    """Return the syntax and evaluation tests of a copy, sorted by name.

    Tests with missing files are left out, and of tests with the same input all but the first.
    Raises :class:`~kgbench.errors.ImportRefused` if a file cannot be read.
    """
    by_input: dict[tuple[str | None, ...], W3cTest] = {}
    for entry in entries(root):
        if kind_of(entry) is None or not all(file.is_file() for file in _files(entry)):
            continue
        try:
            test = _test(entry)
        except (OSError, SyntaxError, ValueError) as error:
            raise ImportRefused(f"the test {entry.name} cannot be read: {error}") from error
        by_input.setdefault((test.kind, test.language, test.text, test.data), test)
    return list(by_input.values())


def _test(entry: Entry) -> W3cTest:
    text, language = _text(entry.action), _LANGUAGE[entry.action.suffix]
    if kind_of(entry) == SYNTAX:
        verdict = "invalid" if "Negative" in entry.kind else "valid"
        code = without_comments(text)
        return W3cTest(entry.name, SYNTAX, language, entry.base, code, verdict)
    assert entry.result is not None
    expected = (
        _solutions(entry.result)
        if entry.result.suffix in RESULTS
        else n_quads(quads(entry.result, entry.base))
    )
    data = None if entry.data is None else _text(entry.data)
    of_data = None if entry.data is None else _LANGUAGE[entry.data.suffix]
    return W3cTest(entry.name, EVALUATION, language, entry.base, text, expected, data, of_data)


def without_comments(text: str) -> str:
    """Remove comment lines from a document, because they often reveal the expected verdict."""
    return "".join(
        line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#")
    )


def quads(path: Path, base: str | None = None) -> list[ox.Quad]:
    """Parse a document in the language of its suffix."""
    return list(ox.parse(path.read_bytes(), FORMATS[path.suffix], base_iri=base))


def n_quads(statements: Iterable[ox.Quad]) -> str:
    """Serialise quads as N-Quads, with blank nodes numbered in order of appearance."""
    labels: dict[str, ox.BlankNode] = {}

    def relabelled(term: Any) -> Any:
        if isinstance(term, ox.BlankNode):
            return labels.setdefault(term.value, ox.BlankNode(f"b{len(labels)}"))
        if isinstance(term, ox.Triple):
            return ox.Triple(*map(relabelled, term))
        return term

    numbered = (ox.Quad(*map(relabelled, (*quad.triple, quad.graph_name))) for quad in statements)
    written = ox.serialize(numbered, format=ox.RdfFormat.N_QUADS)
    assert written is not None  # without a target, serialize returns bytes
    return written.decode("utf-8")


def _solutions(path: Path) -> str:
    result = ox.parse_query_results(path.read_bytes(), RESULTS[path.suffix])
    written = result.serialize(format=ox.QueryResultsFormat.JSON)
    assert written is not None  # without a target, serialize returns bytes
    return written.decode("utf-8")


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8").replace("\r\n", "\n")


def _files(entry: Entry) -> Iterator[Path]:
    yield entry.action
    if entry.data is not None:
        yield entry.data
    if kind_of(entry) == EVALUATION and entry.result is not None:
        yield entry.result


def installed() -> list[W3cTest]:
    """Return the tests of the installed copy.

    Raises :class:`~kgbench.errors.TaskError` if the data set is not installed.
    """
    return _installed(home.require_folder(NAME))


@cache
def _installed(root: Path) -> list[W3cTest]:
    return tests(root)


def labelled_tasks(root: Path) -> list[dict[str, Json]]:
    """Return the tasks of a copy, one for each kind of test and language."""
    counts = Counter((test.kind, test.language) for test in tests(root))
    return [
        {
            "class": CLASS,
            "label": f"{CLASS}-{kind}-{language}",
            "parameters": {"kind": kind, "language": language},
        }
        for kind in (SYNTAX, EVALUATION)
        for language in LANGUAGES
        if counts[kind, language]
    ]


def install(description: Description, copy: str | None, *_: object) -> InstallationResult:
    """Install the syntax and evaluation tests from a clone of the repository.

    Files that differ from their declared checksum are installed and listed. Raises
    :class:`~kgbench.errors.ImportRefused`, and installs nothing, if there are no tests.
    """
    root = clone_folder(description, copy)

    def fill(scratch: Path, result: InstallationResult) -> None:
        paths, incomplete = needed_files(root)
        if not paths:
            raise ImportRefused(f"{root} has no tests of RDF 1.2 and SPARQL 1.2")
        copy_files(description, root, paths, scratch, result)
        if incomplete:
            result.remarks.append(f"{incomplete} tests lack a file and are left out")

    return install_files(description, str(root), fill, labelled_tasks)


def needed_files(root: Path) -> tuple[list[str], int]:
    """Return the relative paths of the files that tests need, and the number of incomplete tests.

    Links out of the copy count as missing files.
    """
    supported = [entry for entry in entries(root) if kind_of(entry) is not None]
    complete = [
        entry
        for entry in supported
        if all(file.is_file() and file.resolve().is_relative_to(root) for file in _files(entry))
    ]
    paths = {file for entry in complete for file in _files(entry)}
    if paths:
        paths |= {*manifests(root), *root.glob(_LICENCE)}
    return sorted(path.relative_to(root).as_posix() for path in paths), len(supported) - len(
        complete
    )
