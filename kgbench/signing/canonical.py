# SPDX-License-Identifier: Apache-2.0
"""RDFC-1.0 (RDF Dataset Canonicalization, W3C 2024): the same bytes for equal data sets.

A quad without blank nodes has the same canonical line in every data set. Only quads with blank
nodes are labelled, by pyoxigraph. Data sets of any size are therefore canonicalised in bounded
memory: sorted runs of lines are kept in temporary files and merged.
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
_LABELLED: Final = 2_000  # most quads with blank nodes: labelling may take exponential time


def canonical(quads: Iterable[ox.Quad]) -> bytes:
    """Return the canonical N-Quads of a small data set."""
    return b"".join(_merged(_lines(quads), None))


def digest(quads: Iterable[ox.Quad], scratch: Path | None = None) -> str:
    """Return the SHA-256 (hex) of the canonical N-Quads; temporary files go to ``scratch``.

    Raises :class:`~kgbench.errors.SignatureError` if more quads have blank nodes than are labelled
    (kgbench publishes none).
    """
    hasher = hashlib.sha256()
    for line in _merged(_lines(quads), scratch):
        hasher.update(line)
    return hasher.hexdigest()


def _lines(quads: Iterable[ox.Quad]) -> Iterator[list[bytes]]:
    """Yield batches of canonical lines, unsorted."""
    plain: list[ox.Quad] = []
    unlabelled: list[ox.Quad] = []
    for quad in quads:
        if _has_blank(quad):
            unlabelled.append(quad)
            if len(unlabelled) > _LABELLED:
                raise SignatureError(
                    f"more than {_LABELLED} statements have blank nodes: too many to canonicalise"
                )
            continue
        plain.append(quad)
        if len(plain) >= _AT_ONCE:
            yield _serialised(plain)
            plain = []
    if unlabelled:
        labelled = ox.Dataset(unlabelled)
        labelled.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
        plain += labelled
    yield _serialised(plain)


def _serialised(quads: list[ox.Quad]) -> list[bytes]:
    out = io.BytesIO()
    ox.serialize(quads, out, ox.RdfFormat.N_QUADS)
    return out.getvalue().splitlines(keepends=True)


def _has_blank(quad: ox.Quad) -> bool:
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
