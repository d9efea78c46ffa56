# SPDX-License-Identifier: Apache-2.0
"""Copies of a store to another back end or to a file, verified by counts and digests.

Content is copied first, and the catalogue, which makes it visible, last: an interrupted copy to a
server leaves nothing visible, and the next one starts again. A folder gets its name when the copy
in it is complete.

Every graph is followed by a comment with its count and digest; the last line has the number of
graphs. Any RDF tool can read the file; ``kgbench store copy FILE STORE`` restores it.

The digest is the sum, modulo 2^256, of the SHA-256 of every triple, so it is independent of the
order and needs constant memory. Engines change the lexical forms of numbers and times, so these are
compared by value: ``1.0``, ``1`` and ``1e0`` are the same ``xsd:double``. Triples with blank nodes
are counted separately, as an error.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import re
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import IO, Final, NamedTuple, cast

import pyoxigraph as ox

from kgbench.errors import StoreError
from kgbench.store import registry
from kgbench.store.databases import ReadDatabase, is_damage
from kgbench.store.protocol import Block, OwnedStore, Store
from kgbench.store.quirks import lexical
from kgbench.store.templates import fill
from kgbench.vocab import XSD

_MODULUS = 1 << 256
_FRACTION = re.compile(r"\.(\d*?)0*(?=Z|[+-]\d\d:\d\d$|$)")
_UTC = re.compile(r"[+-]00:00$")


@dataclass(slots=True)
class Digest:
    """An incremental count and digest of triples."""

    triples: int = 0
    blank: int = 0
    _sum: int = 0

    @property
    def value(self) -> str:
        """The digest, in 64 hexadecimal digits."""
        return f"{self._sum:064x}"

    def add(self, triple: ox.Triple) -> None:
        """Add a triple."""
        subject, predicate, value = triple
        self.triples += 1
        self.blank += isinstance(subject, ox.BlankNode) or isinstance(value, ox.BlankNode)
        line = f"{subject} {predicate} {_canonical(value)}"
        hashed = hashlib.sha256(line.encode("utf-8")).digest()
        self._sum = (self._sum + int.from_bytes(hashed, "big")) % _MODULUS

    def through(self, triples: Iterable[ox.Triple]) -> Iterator[ox.Triple]:
        """Yield ``triples``, and add each of them."""
        for triple in triples:
            self.add(triple)
            yield triple


def digest_of(triples: Iterable[ox.Triple]) -> Digest:
    """Return the digest of ``triples``."""
    digest = Digest()
    for triple in triples:
        digest.add(triple)
    return digest


def _canonical(term: object) -> str:
    if isinstance(term, ox.Literal) and term.language is None:
        datatype = term.datatype.value
        form = _FORMS.get(datatype)
        if form is not None:
            return f'"{form(term.value)}"^^<{datatype}>'
    return str(term)


def _decimal(text: str) -> str:
    try:
        return f"{Decimal(text).normalize():f}"
    except InvalidOperation:
        return text


def _integer(text: str) -> str:
    return str(int(text)) if re.fullmatch(r"[+-]?\d{1,4000}", text) else text


def _boolean(text: str) -> str:
    return {"0": "false", "1": "true"}.get(text, text)


def _moment(text: str) -> str:
    short = _FRACTION.sub(lambda match: f".{match[1]}" if match[1] else "", text, count=1)
    return _UTC.sub("Z", short)


_FORMS = {
    XSD.double: lexical,
    XSD.float: lexical,
    XSD.decimal: _decimal,
    XSD.integer: _integer,
    XSD.boolean: _boolean,
    XSD.dateTime: _moment,
}


_LINES = 5_000  # triples per block


class CopiedGraph(NamedTuple):
    """A copied graph, with the number of its triples and their digest."""

    graph: str
    triples: int
    digest: str


def copy(
    source: Store, target: OwnedStore, watch: Callable[[str, int], None] | None = None
) -> list[CopiedGraph]:
    """Copy every registered graph and the catalogue of ``source`` into the empty ``target``.

    Afterwards each graph is read back; its count and digest must be those of the source. ``watch``
    is called with each graph and its number of triples. The target should be closed and reopened.
    Raises :class:`~kgbench.errors.StoreError` if the target has results, the source changes
    meanwhile, or a graph differs.
    """
    registry.check_layout(source)
    catalogue = source.iris.catalogue
    if target.iris.catalogue != catalogue:
        raise StoreError(f"{source.location} and {target.location} have different bases")
    registry.refuse_results(target)
    stamps = registry.stamps(source)
    known = registry.graphs(source)
    if not known:
        raise StoreError(f"the store {source.location} holds no results to copy")
    missing = sorted(set(known) - set(source.graphs()))
    target.drop(sorted(known))  # an interrupted copy may have left some
    copied = []

    def note(graph: str, digest: Digest) -> None:
        _check_source(source, graph, digest, empty=graph in missing)
        copied.append(CopiedGraph(graph, digest.triples, digest.value))
        if watch is not None:
            watch(graph, digest.triples)

    def content() -> Iterator[Block]:
        for graph in known:
            digest = Digest()
            yield from _blocks(graph, digest.through(source.triples(graph)))
            note(graph, digest)

    # All graphs together: the engine rewrites its indexes after every second load.
    target.bulk_load(content())
    digest = Digest()
    _catalogue(digest.through(source.triples(catalogue)), target, {*known, catalogue})
    note(catalogue, digest)
    if registry.stamps(source) != stamps:
        raise StoreError(
            f"the store {source.location} changed while it was copied: stop what writes it, empty "
            f"{target.location}, and copy again"
        )
    for item in copied:
        verify(target, item)
    return copied


def verify(store: Store, expected: CopiedGraph) -> None:
    """Raise :class:`StoreError` unless a graph has the ``expected`` count and digest."""
    actual = digest_of(store.triples(expected.graph))
    if (actual.triples, actual.value) != (expected.triples, expected.digest):
        raise StoreError(
            f"{store.location}: the graph {expected.graph} was copied with {actual.triples} of "
            f"{expected.triples} triples, or with other ones (digest {actual.value[:12]}, expected "
            f"{expected.digest[:12]}): do not use this copy"
        )


def _catalogue(triples: Iterable[ox.Triple], target: OwnedStore, known: set[str]) -> None:
    """Replace the catalogue of ``target``: first the descriptions, then the registry at once."""
    catalogue, beside = target.iris.catalogue, registry.beside(target)
    target.update(f"DROP SILENT GRAPH <{catalogue}>")
    entries: list[str] = []

    def described() -> Iterator[ox.Triple]:
        for triple in triples:
            subject = triple.subject
            if isinstance(subject, ox.NamedNode) and subject.value in known:
                entries.append(f"{triple} .")
            else:
                yield triple

    target.bulk_load(_blocks(catalogue, described()))
    target.bulk_load([Block(beside, entries)])
    target.update(fill("show.ru", catalogue=catalogue, beside=beside))


def _blocks(graph: str, triples: Iterable[ox.Triple]) -> Iterator[Block]:
    lines: list[str] = []
    for triple in triples:
        lines.append(f"{triple} .")
        if len(lines) == _LINES:
            yield Block(graph, lines)
            lines = []
    yield Block(graph, lines)


def _check_source(source: Store, graph: str, digest: Digest, *, empty: bool) -> None:
    if digest.blank:
        raise StoreError(
            f"{source.location}: the graph {graph} has blank nodes ({digest.blank} triples), which "
            "cannot be copied so that they can be compared: remove them first"
        )
    if digest.triples == 0 and not empty:
        raise StoreError(f"{source.location}: the graph {graph} vanished while it was copied")


@contextmanager
def new_store(location: str) -> Iterator[str]:
    """Yield the location at which the new store at ``location`` is written until the block ends.

    Raises :class:`~kgbench.errors.StoreError` if a folder exists.
    """
    from kgbench.store import back_ends, embedded

    if location == "memory:" or back_ends.is_remote(location):
        yield location
        return
    with embedded.new_folder(Path(location)) as folder:
        yield str(folder)


@contextmanager
def local(location: str) -> Iterator[Path]:
    """Yield the folder of an embedded store at ``location``, or of a temporary copy of a server's.

    With it, functions for embedded stores also work for a store on a server. The copy is verified,
    has the secrets that this machine keeps for the store, and is removed afterwards.
    """
    from kgbench.store import back_ends, embedded_only, open_reader, open_store
    from kgbench.store.publication_keys import carry

    if not back_ends.is_remote(location):
        yield embedded_only(location, "this")
        return
    with tempfile.TemporaryDirectory(prefix="kgbench-copy-") as scratch:
        folder = Path(scratch) / "store"
        with open_reader(location) as source, open_store(str(folder)) as target:
            copy(source, target)
        carry(location, str(folder))
        yield folder


SUFFIX = ".nq.gz"
_GRAPH = re.compile(r"# graph <([^<>]+)> triples (\d+) digest ([0-9a-f]{64})\n?")
_END = re.compile(r"# end graphs (\d+)\n?")
_UNREADABLE: Final = (OSError, EOFError, SyntaxError, ValueError, zlib.error)


def is_dump(location: str) -> bool:
    """Return whether a location is a backup."""
    return location.endswith(SUFFIX) and "://" not in location


def write(source: Store, path: Path) -> list[CopiedGraph]:
    """Write a store's registered graphs and catalogue to ``path``, atomically.

    Raises :class:`~kgbench.errors.StoreError` if the file exists or cannot be written, or if the
    store changes meanwhile.
    """
    if not is_dump(str(path)):
        raise StoreError(f"a backup is named *{SUFFIX}, not {path.name}")
    if path.exists():
        raise StoreError(f"{path} exists: name another file")
    registry.check_layout(source)
    unfinished = path.with_name(path.name + ".unfinished")
    try:
        written = _write(source, unfinished)
        if _verified(unfinished) != written:
            raise StoreError(f"{path} differs from what was written to it: check the disk")
        unfinished.rename(path)
    except OSError as error:
        if is_damage(error):  # of the store: its reader reports it
            raise
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from None
    finally:
        unfinished.unlink(missing_ok=True)
    return written


def _write(source: Store, path: Path) -> list[CopiedGraph]:
    stamps = registry.stamps(source)
    written = []
    with gzip.open(path, "wt", encoding="utf-8", newline="\n", compresslevel=6) as file:
        for graph in [*registry.graphs(source), source.iris.catalogue]:
            digest = Digest()
            for triple in digest.through(source.triples(graph)):
                file.write(f"{triple} <{graph}> .\n")
            file.write(f"# graph <{graph}> triples {digest.triples} digest {digest.value}\n")
            written.append(CopiedGraph(graph, digest.triples, digest.value))
        file.write(f"# end graphs {len(written)}\n")
    if registry.stamps(source) != stamps:
        raise StoreError(
            f"the store {source.location} changed while it was read: stop what writes it"
        )
    with path.open("rb") as done:
        os.fsync(done.fileno())
    return written


class Dump(ReadDatabase):
    """A backup that is opened for reading: verified, and loaded into a temporary database."""

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise StoreError(f"there is no backup at {path}")
        _verified(path)
        self._folder = tempfile.TemporaryDirectory(prefix="kgbench-backup-")
        super().__init__(str(path), ox.Store(self._folder.name))
        try:
            with gzip.open(path, "rb") as file:
                self._store.bulk_load(cast("IO[bytes]", file), ox.RdfFormat.N_QUADS)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Remove the temporary database."""
        super().close()
        self._folder.cleanup()


def _verified(path: Path) -> list[CopiedGraph]:
    """Return the graphs of a backup, whose statements have the recorded counts and digests.

    Raises :class:`StoreError` for any other backup, and for one that is cut off.
    """
    recorded: list[CopiedGraph] = []
    counted: dict[str, Digest] = {}
    ended = None
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as text:
            for line in text:
                if (graph := _GRAPH.fullmatch(line)) is not None:
                    recorded.append(CopiedGraph(graph[1], int(graph[2]), graph[3]))
                elif (end := _END.fullmatch(line)) is not None:
                    ended = int(end[1])
        if ended != len(recorded):
            raise StoreError(f"{path} is not a complete backup: its end is missing")
        with gzip.open(path, "rb") as file:
            for quad in ox.parse(cast("IO[bytes]", file), ox.RdfFormat.N_QUADS):
                name = getattr(quad.graph_name, "value", "")
                counted.setdefault(name, Digest()).add(quad.triple)
    except _UNREADABLE as error:
        raise StoreError(f"{path} is not a complete backup: {error}") from None
    for item in recorded:
        digest = counted.get(item.graph, Digest())
        if (digest.triples, digest.value) != (item.triples, item.digest):
            raise StoreError(
                f"{path} is damaged: its graph {item.graph} differs from what was written"
            )
    return recorded
