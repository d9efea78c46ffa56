# SPDX-License-Identifier: Apache-2.0
"""An index of the resources of a graph by the words of their names.

Words come from the values of properties whose names contain label, name or title, and from the end
of each IRI. The index is an SQLite database in memory, which needs some hundred bytes for each
resource of a graph of ten million triples, and no Python objects.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple
from urllib.parse import unquote

import pyoxigraph as ox

from kgbench.api import OWL, RDF, RDFS

KINDS: Final = ("entity", "class", "property")
LONGEST: Final = 300
"""Characters of one name that are kept."""
_MOST_WORDS: Final = 64  # of a text that is searched for
_BATCH: Final = 10_000  # rows that are written at a time
_RUN: Final = re.compile(r"[^\W_]+")
_WORD: Final = re.compile(r"[0-9]+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_NAMING: Final = re.compile(r"(?:label|name|title)[^/#]*\Z", re.IGNORECASE)
_ABOUT_KINDS: Final = frozenset((str(RDF.type), str(RDFS.subClassOf)))
_OF_CLASSES: Final = frozenset(map(ox.NamedNode, (OWL.Class, RDFS.Class)))
_OF_PROPERTIES: Final = frozenset(
    map(
        ox.NamedNode,
        (RDF.Property, OWL.ObjectProperty, OWL.DatatypeProperty, OWL.AnnotationProperty),
    )
)

_RAW: Final = "CREATE TABLE raw (iri TEXT, name TEXT, PRIMARY KEY (iri, name)) WITHOUT ROWID"
_TABLES: Final = """
CREATE TABLE resource (id INTEGER PRIMARY KEY, iri TEXT, kinds INTEGER, names TEXT, words INTEGER);
CREATE TABLE posting (word TEXT, resource INTEGER, PRIMARY KEY (word, resource)) WITHOUT ROWID;
"""
_SEARCH: Final = """
SELECT iri, kinds, names, COUNT(*) OVER ()
FROM (SELECT resource, COUNT(*) AS shared FROM posting WHERE word IN ({}) GROUP BY resource)
JOIN resource ON id = resource WHERE kinds & ?
ORDER BY shared DESC, words, id LIMIT ?
"""


class IndexedResource(NamedTuple):
    """A resource: its IRI, its kinds (from :data:`KINDS`), and its names in order."""

    iri: str
    kinds: tuple[str, ...]
    names: tuple[str, ...]


class LabelIndex:
    """An index of the resources of a graph by words; ``triples`` are read once.

    An *entity* is a subject that is neither class nor property. A *class* has instances, is typed
    as a class, or is subject or object of ``rdfs:subClassOf``; a *property* is used or typed as
    one.
    """

    def __init__(self, triples: Iterable[ox.Triple]) -> None:
        self._database = _database(_TABLES)
        with contextlib.closing(_database(_RAW)) as raw:
            classes: set[str] = set()
            properties: set[str] = set()
            rows = _gathered(triples, classes, properties)
            raw.executemany("INSERT OR IGNORE INTO raw VALUES (?, ?)", rows)
            self._fill(raw, classes, properties)

    def search(self, text: str, kind: str | None, limit: int) -> tuple[list[IndexedResource], int]:
        """Return the first ``limit`` resources sharing words with ``text``, and their total number.

        Resources that share most words come first, among them those with fewest other words, then
        by IRI. Only the first 64 different words of a text count.
        """
        words_asked = list(dict.fromkeys(_words(text)))[:_MOST_WORDS]
        kinds = _bits(KINDS if kind is None else (kind,))
        query = _SEARCH.format(", ".join("?" * len(words_asked)))
        rows = self._database.execute(query, (*words_asked, kinds, limit)).fetchall()
        resources = [
            IndexedResource(
                iri,
                tuple(kind_name for k, kind_name in enumerate(KINDS) if bits & 1 << k),
                tuple(names.split("\n")) if names else (),
            )
            for iri, bits, names, _ in rows
        ]
        return resources, rows[0][3] if rows else 0

    def _fill(self, raw: sqlite3.Connection, classes: set[str], properties: set[str]) -> None:
        resources: list[tuple[int, str, int, str, int]] = []
        postings: list[tuple[str, int]] = []
        rows = raw.execute("SELECT iri, name FROM raw ORDER BY iri, name")
        for number, (iri, group) in enumerate(groupby(rows, key=itemgetter(0))):
            names = [name for _, name in group if name]
            local = unquote(re.split("[/#]", iri)[-1])
            name_words = words([local, *names])
            kinds = [
                k for k, members in (("class", classes), ("property", properties)) if iri in members
            ]
            bits = _bits(kinds or ("entity",))
            resources.append((number, iri, bits, "\n".join(names), len(name_words)))
            postings += [(word, number) for word in name_words]
            if len(resources) == _BATCH:
                self._write(resources, postings)
        self._write(resources, postings)

    def _write(self, resources: list[tuple[int, str, int, str, int]], postings: list[_Row]) -> None:
        self._database.executemany("INSERT INTO resource VALUES (?, ?, ?, ?, ?)", resources)
        postings.sort()
        self._database.executemany("INSERT INTO posting VALUES (?, ?)", postings)
        resources.clear()
        postings.clear()


_Row = tuple[str, int]


def words(names: Iterable[str]) -> set[str]:
    """Return the words of names, ignoring case and accents; ``marketingManager`` has two words."""
    return {word for name in names for word in _words(name)}


def _words(text: str) -> Iterator[str]:
    for run in _RUN.findall(text):
        if run.isascii():
            yield from (word.lower() for word in _WORD.findall(run))
        else:
            plain = unicodedata.normalize("NFKD", run.casefold())
            yield "".join(letter for letter in plain if not unicodedata.combining(letter))


def _gathered(
    triples: Iterable[ox.Triple], classes: set[str], properties: set[str]
) -> Iterator[tuple[str, str]]:
    """Yield each resource with its names, and add IRIs to ``classes`` and ``properties``."""
    last: object = None
    for triple in triples:
        subject, predicate, value = triple.subject, triple.predicate.value, triple.object
        properties.add(predicate)
        if predicate in _ABOUT_KINDS:
            _add_kinds(triple, classes, properties)
        if isinstance(subject, ox.NamedNode):
            if subject != last:
                last = subject
                yield subject.value, ""
            if isinstance(value, ox.Literal) and _is_naming(predicate):
                # Names are stored one per line, so a line break within a name becomes a space.
                yield subject.value, " ".join(value.value[:LONGEST].split())
    yield from ((iri, "") for iri in (*classes, *properties))


def _add_kinds(triple: ox.Triple, classes: set[str], properties: set[str]) -> None:
    ends = [node for node in (triple.subject, triple.object) if isinstance(node, ox.NamedNode)]
    if triple.predicate.value == RDFS.subClassOf:
        classes.update(node.value for node in ends)
        return
    if isinstance(triple.object, ox.NamedNode):
        classes.add(triple.object.value)
    if triple.object in _OF_CLASSES:
        classes.update(node.value for node in ends)
    elif triple.object in _OF_PROPERTIES:
        properties.update(node.value for node in ends[:-1])


def _database(tables: str) -> sqlite3.Connection:
    """Return a database in memory that never opens a file, not even for sorting."""
    database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    database.executescript(f"PRAGMA temp_store = MEMORY; PRAGMA journal_mode = OFF; {tables}")
    return database


@lru_cache(maxsize=4_096)
def _is_naming(predicate: str) -> bool:
    return _NAMING.search(predicate) is not None


def _bits(kinds: Iterable[str]) -> int:
    return sum(1 << KINDS.index(kind) for kind in kinds)
