# SPDX-License-Identifier: Apache-2.0
"""RDFC-1.0 (RDF Dataset Canonicalization, W3C 2024): one byte sequence for equal data sets.

Quads without blank nodes have one canonical line each, whatever else is in the data set; those with
blank nodes are labelled by pyoxigraph. So data sets of any size are canonicalised in bounded
memory: lines are sorted in files and merged.
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
_LABELLED: Final = 2_000  # quads with blank nodes: labelling may take exponential time


def canonical(quads: Iterable[ox.Quad]) -> bytes:
    """The canonical N-Quads of a small data set."""
    return b"".join(_merged(_lines(quads), None))


def digest(quads: Iterable[ox.Quad], scratch: Path | None = None) -> str:
    """The SHA-256 (hex) of the canonical N-Quads; lines beyond memory lie in ``scratch``.

    Raises :class:`~kgbench.errors.SignatureError` where more quads than are labelled have blank
    nodes (kgbench publishes none).
    """
    found = hashlib.sha256()
    for line in _merged(_lines(quads), scratch):
        found.update(line)
    return found.hexdigest()


def _lines(quads: Iterable[ox.Quad]) -> Iterator[list[bytes]]:
    """Canonical lines without an order, many at once."""
    plain: list[ox.Quad] = []
    unlabelled: list[ox.Quad] = []
    for quad in quads:
        if _has_blank(quad):
            unlabelled.append(quad)
            if len(unlabelled) > _LABELLED:
                raise SignatureError(
                    f"more than {_LABELLED} statements have blank nodes: they are not canonicalised"
                )
            continue
        plain.append(quad)
        if len(plain) >= _AT_ONCE:
            yield _written(plain)
            plain = []
    if unlabelled:
        labelled = ox.Dataset(unlabelled)
        labelled.canonicalize(ox.CanonicalizationAlgorithm.RDFC_1_0)
        plain += labelled
    yield _written(plain)


def _written(quads: list[ox.Quad]) -> list[bytes]:
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
    """All lines in the order of their code points, each once."""
    with ExitStack() as stack:
        runs: list[Iterable[bytes]] = []
        last: list[bytes] = []
        for batch in batches:
            if last:
                runs.append(_kept(last, stack, scratch))
            batch.sort()  # UTF-8 sorts as code points do
            last = batch
        for line, _ in groupby(heapq.merge(*runs, last)):
            yield line


def _kept(lines: list[bytes], stack: ExitStack, scratch: Path | None) -> IO[bytes]:
    file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115 - the stack closes it
    stack.enter_context(file)
    file.writelines(lines)
    file.seek(0)
    return file
