# SPDX-License-Identifier: Apache-2.0
"""RDFC-1.0 (RDF Dataset Canonicalization, W3C 2024): the same bytes for equal data sets.

A quad without blank nodes has the same canonical line in every data set, so the canonical form is
the sorted set of these lines. Data sets with blank nodes or triple terms are refused: labelling
blank nodes can take exponential time (RDFC-1.0, section 7.1), and kgbench signs none. Data sets of
any size are canonicalised in bounded memory: sorted runs of lines are kept in temporary files and
merged.
"""

from __future__ import annotations

import hashlib
import heapq
import io
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import groupby
from pathlib import Path
from typing import IO, Final

import pyoxigraph as ox

from kgbench.errors import SignatureError

_AT_ONCE: Final = 200_000  # lines sorted in memory


def canonical(quads: Iterable[ox.Quad]) -> bytes:
    """Return the canonical N-Quads of a small data set; raises like :func:`digest`."""
    return b"".join(_merged(_lines(quads), None))


def digest(quads: Iterable[ox.Quad], scratch: Path | None = None) -> str:
    """Return the SHA-256 (hex) of the canonical N-Quads; temporary files go to ``scratch``.

    Raises :class:`~kgbench.errors.SignatureError` at the first blank node or triple term.
    """
    hasher = hashlib.sha256()
    for line in _merged(_lines(quads), scratch):
        hasher.update(line)
    return hasher.hexdigest()


def _lines(quads: Iterable[ox.Quad]) -> Iterator[list[bytes]]:
    """Yield batches of canonical lines, unsorted."""
    batch: list[ox.Quad] = []
    for quad in quads:
        if _cannot_be_signed(quad):
            raise SignatureError(
                "it has blank nodes or triple terms, which kgbench neither signs nor verifies"
            )
        batch.append(quad)
        if len(batch) >= _AT_ONCE:
            yield _serialised(batch)
            batch = []
    yield _serialised(batch)


def _serialised(quads: list[ox.Quad]) -> list[bytes]:
    out = io.BytesIO()
    ox.serialize(quads, out, ox.RdfFormat.N_QUADS)
    return out.getvalue().splitlines(keepends=True)


def _cannot_be_signed(quad: ox.Quad) -> bool:
    return (
        isinstance(quad.object, ox.BlankNode | ox.Triple)
        or isinstance(quad.subject, ox.BlankNode)
        or isinstance(quad.graph_name, ox.BlankNode)
    )


def _merged(batches: Iterator[list[bytes]], scratch: Path | None) -> Iterator[bytes]:
    """Yield all lines sorted by code point, without duplicates."""
    with ExitStack() as stack:
        runs: list[Iterable[bytes]] = []
        newest_batch: list[bytes] = []
        for batch in batches:
            if newest_batch:
                runs.append(_spooled(newest_batch, stack, scratch))
            batch.sort()  # the order of UTF-8 bytes is that of code points
            newest_batch = batch
        for line, _ in groupby(heapq.merge(*runs, newest_batch)):
            yield line


def _spooled(lines: list[bytes], stack: ExitStack, scratch: Path | None) -> IO[bytes]:
    file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - the stack closes it
    stack.enter_context(file)
    file.writelines(lines)
    file.seek(0)
    return file
