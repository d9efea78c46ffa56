# SPDX-License-Identifier: Apache-2.0
"""Exports a run as a Jupyter notebook that queries its published data.

The notebook needs pyoxigraph, pandas and matplotlib, but not kgbench: each cell holds the text of a
declared query without parameters (those with the keyword ``ready-made``).
"""

from __future__ import annotations

import json
from pathlib import Path

from kgbench.api import Json, OutgoingRun
from kgbench.errors import PublicationRefused
from kgbench.plugins.exchange.tables import statements, write_folder
from kgbench.rdf import queries

READY_MADE = "ready-made"
_LEADERBOARD = "model-means"
_NOTEBOOK, _DATA = "results.ipynb", "results.nq"
_LOADING = '''\
import gzip
import io
import pathlib
import urllib.request

import pandas
import pyoxigraph

DATA = {data}


def load(place):
    """A store with the N-Quads at a path or an address; those in .gz and .zst are unpacked."""
    if "://" in place:
        with urllib.request.urlopen(place) as answer:
            content = answer.read()
    else:
        content = pathlib.Path(place).read_bytes()
    if place.endswith(".gz"):
        content = gzip.decompress(content)
    elif place.endswith(".zst"):
        import zstandard

        unpacker = zstandard.ZstdDecompressor()
        content = unpacker.stream_reader(io.BytesIO(content), read_across_frames=True).read()
    store = pyoxigraph.Store()
    store.bulk_load(input=content, format=pyoxigraph.RdfFormat.N_QUADS)
    return store


store = load(DATA)
len(store)'''
_ASKING = '''\
RDFS_LABEL = pyoxigraph.NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
SKOS_NOTATION = pyoxigraph.NamedNode("http://www.w3.org/2004/02/skos/core#notation")
LABELS = {
    quad.subject.value: quad.object.value
    for predicate in (SKOS_NOTATION, RDFS_LABEL)
    for quad in store.quads_for_pattern(None, predicate, None)
    if isinstance(quad.subject, pyoxigraph.NamedNode)
}


def value(term):
    """A term as Python has it: numbers and truth values, labels of things, other texts."""
    if isinstance(term, pyoxigraph.NamedNode):
        return LABELS.get(term.value, term.value)
    if not isinstance(term, pyoxigraph.Literal):
        return None
    kind = term.datatype.value.rpartition("#")[2]
    if kind in ("integer", "nonNegativeInteger"):
        return int(term.value)
    if kind in ("decimal", "double", "float"):
        return float(term.value)
    return term.value == "true" if kind == "boolean" else term.value


def ask(query):
    """The answer to a SELECT query as a DataFrame."""
    answer = store.query(query)
    names = [variable.value for variable in answer.variables]
    rows = [[value(row[name]) for name in names] for row in answer]
    return pandas.DataFrame(rows, columns=names)'''
_DRAWING = """\
%matplotlib inline
ordered = leaderboard.sort_values("mean")
axes = ordered.plot.barh(x="model", y="mean", legend=False)
axes.set_xlabel("mean of the main metric over tasks");"""


def write(run: OutgoingRun, out: Path, data: str | None) -> list[str]:
    """Write the folder ``out`` with the notebook, and return the names of its files.

    ``data`` is the URL or path of published N-Quads; without it, the folder contains those of the
    run. Raises :class:`~kgbench.errors.PublicationRefused` if ``out`` already exists.
    """
    files = {_NOTEBOOK: (json.dumps(notebook(run, data or _DATA), indent=1) + "\n").encode("ascii")}
    if data is None:
        files[_DATA] = statements(run)
    write_folder(out, files)
    return list(files)


def notebook(run: OutgoingRun, data: str) -> Json:
    """Return the notebook in version 4.5 of the format; ``data`` is the location of the N-Quads."""
    cells = [
        _text(
            f"# Results of the run {_plain(run.info.label)}\n\n"
            f"{len(run.dialogues)} dialogues of "
            f"{len({dialogue.model for dialogue in run.dialogues})} models about "
            f"{len({dialogue.task for dialogue in run.dialogues})} tasks: <{run.info.iri}>.\n\n"
            "Needs pyoxigraph, pandas and matplotlib. Change `DATA` to ask other published data."
        ),
        _code(_LOADING.replace("{data}", json.dumps(data))),
        _code(_ASKING),
    ]
    ready_made = [q for q in map(queries.load, queries.names()) if READY_MADE in q.keywords]
    for query in sorted(ready_made, key=lambda query_: query_.name != _LEADERBOARD):
        name = "leaderboard" if query.name == _LEADERBOARD else query.name.replace("-", "_")
        cells.append(_text(f"## {query.label}\n\n{query.description}"))
        cells.append(_code(f"{name} = ask({_literal(queries.bind(query))})\n{name}"))
        if query.name == _LEADERBOARD:
            cells.append(_code(_DRAWING))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {
        "cells": cells,
        "metadata": {"kernelspec": kernel},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def _text(source: str) -> dict[str, Json]:
    return {"cell_type": "markdown", "metadata": {}, "source": source.splitlines(keepends=True)}


def _code(source: str) -> dict[str, Json]:
    lines = source.splitlines(keepends=True)
    return {
        "cell_type": "code",
        "execution_count": None,
        "metadata": {},
        "outputs": [],
        "source": lines,
    }


def _literal(query: str) -> str:
    """Return a query as a readable Python string literal.

    Raises :class:`~kgbench.errors.PublicationRefused` if it contains the closing quotes.
    """
    if '"""' in query:
        raise PublicationRefused("a query that holds three quotation marks cannot stand in a cell")
    return f'r"""\n{query.rstrip()}\n"""'


def _plain(label: str) -> str:
    """Escape the Markdown and HTML markup in a label."""
    return "".join(f"\\{c}" if c in "\\`*_{}[]<>()#+!|~&$" else c for c in label if c.isprintable())
