# SPDX-License-Identifier: Apache-2.0
"""Loading of declarations (ontology, suites, task classes, metrics, queries) into the catalogue.

They are loaded again only if the files have changed; the triples about the same subjects are then
replaced. Blank nodes become IRIs, so that their descriptions can be replaced, and so that servers'
treatment of blank nodes does not matter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

import pyoxigraph as ox

from kgbench import resources
from kgbench.rdf import queries, query_examples, string
from kgbench.rdf.declared import DERIVED, TEMPLATES, quads
from kgbench.store.iris import Iris
from kgbench.store.protocol import Block, Store
from kgbench.store.templates import fill
from kgbench.vocab import KGB

_AT_ONCE = 500  # subjects removed by one update, because servers limit its size
# A blank node as subject or object of a line of N-Triples; literals contain no line breaks.
_BLANK = re.compile(r"_:(?:(?<=\n_:)(\w+)(?= )|(?<= _:)(\w+)(?= \.\n))")


def files() -> Iterator[Path]:
    """Yield the declared Turtle files that belong into the catalogue, in a fixed order."""
    yield resources.path("store", "layout.ttl")
    for name in ("ontology", "queries", "rubrics"):
        yield from resources.files(name, "*.ttl")
    yield from resources.files("tasks", "*/task.ttl")


def load(store: Store) -> None:
    """Bring the catalogue of ``store`` up to date with the declared files."""
    contents = {path: path.read_bytes() for path in files()}
    digest = hashlib.sha256()
    queried = (("ontology", name) for names in DERIVED.values() for name in names)
    derived = (resources.path(*place).read_bytes() for place in (*queried, TEMPLATES))
    for content in (*contents.values(), *derived):
        digest.update(hashlib.sha256(content).digest())
    digest.update(queries.digest().encode("ascii"))
    catalogue = store.iris.catalogue
    mark = f"<{catalogue}> <{KGB.declaredDigest}> {string(digest.hexdigest())} ."
    if store.query(fill("has.rq", catalogue=catalogue, pattern=mark)):
        return
    lines, subjects = _lines_and_subjects(tuple(contents.items()), store.iris.base)
    _forget(store, sorted({f"<{catalogue}>", *subjects}))
    store.bulk_load([Block(catalogue, [*lines, mark])])


def forget_unused(store: Store) -> list[str]:
    """Remove catalogue entries that nothing in the store uses, and return their IRIs.

    Declarations of kgbench itself stay.
    """
    contents = tuple((path, path.read_bytes()) for path in files())
    _, ours = _lines_and_subjects(contents, store.iris.base)
    removed: list[str] = []
    while rows := [
        row
        for row in _rows(store, fill("unused-entries.rq", catalogue=store.iris.catalogue))
        if row not in ours
    ]:  # repeated, because a class becomes unused only after its tasks are removed
        _forget(store, rows)
        removed += [row[1:-1] for row in rows]
    return removed


def _rows(store: Store, text: str) -> list[str]:
    return [str(row[0]) for row in store.query(text)]


def _forget(store: Store, subjects: Sequence[str]) -> None:
    for start in range(0, len(subjects), _AT_ONCE):
        values = " ".join(subjects[start : start + _AT_ONCE])
        store.update(fill("forget.ru", catalogue=store.iris.catalogue, subjects=values))


@lru_cache(maxsize=1)  # so that opening several empty stores parses the files once
def _lines_and_subjects(
    contents: tuple[tuple[Path, bytes], ...], base: str
) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the triples of the files as N-Triples lines, and their subjects."""
    lines = [line for path, content in contents for line in _skolemised(content, path, Iris(base))]
    return tuple(lines), frozenset(line.split(" ", 1)[0] for line in lines)


def triples(iris: Iris) -> Iterator[ox.Triple]:
    """Yield all declared triples, as :func:`load` writes them."""
    for path in files():
        lines = "\n".join(_skolemised(path.read_bytes(), path, iris))
        yield from (quad.triple for quad in ox.parse(lines, ox.RdfFormat.N_TRIPLES))


def foreign(path: Path, iris: Iris) -> list[str]:
    """Return the triples of a declaration of another package, as N-Triples lines.

    Its blank nodes become IRIs that depend on the whole content, so that versions do not mix.
    """
    content = path.read_bytes()
    mark = hashlib.sha256(content).hexdigest()[:12]
    return _skolemised(content, path, iris, f"{mark}-")


def _skolemised(content: bytes, path: Path, iris: Iris, mark: str = "") -> list[str]:
    """Return a Turtle file as N-Triples, with deterministic IRIs for its blank nodes (RDFC-1.0)."""
    dataset = ox.Dataset(quads(content, iris.base))
    dataset.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
    written = ox.serialize(dataset, format=ox.RdfFormat.N_TRIPLES)
    assert written is not None
    prefix = f"{iris.base}genid/{path.parent.name}-{path.stem}-{mark}"
    lines = _BLANK.sub(rf"<{prefix}\1\2>", "\n" + written.decode()).split("\n")[1:-1]
    if path.parent.name == "queries" and path.stem in queries.names():
        lines += [f"{triple} ." for triple in query_examples.text_triples(path.stem)]
    return lines
