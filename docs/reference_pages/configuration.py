# SPDX-License-Identifier: Apache-2.0
"""The keys of configurations, from ``shapes/configuration.ttl``."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from rdflib import SH, Graph, URIRef
from rdflib.term import Node

from docs.reference_pages.declared import KGB, cell, graph, short, text

INTRODUCTION = """\
# Configuration keys

This page is generated from `shapes/configuration.ttl`, which defines the valid configurations.
[Configurations](../configuration.md) explains the keys with examples.
"""


def page() -> str:
    """Return the page in Markdown."""
    found = graph("shapes", "configuration.ttl")
    lines = [INTRODUCTION]
    for title, kind in (
        ("In a configuration", KGB.Configuration),
        ("In an included file", KGB.ConfigurationPart),
    ):
        shape = found.value(predicate=SH.targetClass, object=kind)
        assert shape is not None
        lines.append(f"## {title}\n")
        lines.append("| key | allowed | property |\n|---|---|---|")
        lines += _rows(found, shape)
        lines.append("")
    return "\n".join(lines)


def _rows(found: Graph, shape: Node) -> Iterator[str]:
    """Yield a row for each key: what its value may be, and for lists what each entry may be."""
    keys = sorted(found.objects(shape, SH.property), key=lambda key: text(found, key, SH.name))
    for name, group in groupby(keys, key=lambda key: text(found, key, SH.name)):
        paths = {key: found.value(key, SH.path) for key in group}
        whole = [key for key, path in paths.items() if isinstance(path, URIRef)]
        entries = [key for key in paths if key not in whole]
        words = [text(found, key, SH.description) for key in (*whole, *entries)]
        shown = ", ".join(f"`{short(found, path)}`" for key in whole if (path := paths[key]))
        yield f"| `{name}` | {cell('; each is '.join(words))} | {shown} |"
