# SPDX-License-Identifier: Apache-2.0
"""The declared queries: what each answers, what it is asked with, and its text."""

from __future__ import annotations

from rdflib import DCTERMS, RDFS, SH

from docs.reference_pages.declared import CSVW, SCHEMA, cell, graph, named, text
from kgbench import resources

INTRODUCTION = """\
# Queries

Every table and figure of kgbench is made from these queries. `kgbench query NAME` runs a query,
`kgbench query` lists all queries, and `kgbench query NAME --text` prints the text that would be
sent. Set a parameter with `--param NAME=VALUE`; several values are alternatives. As in other
commands, `--suite` and `--pass` select the evaluation passes.
"""


def page() -> str:
    """Return the page in Markdown."""
    found = graph("queries", "*.ttl")
    lines = [INTRODUCTION]
    for name, query in named(found, SH.SPARQLExecutable):
        lines.append(f"## {name}\n")
        lines.append(
            f"**{text(found, query, RDFS.label)}.** {text(found, query, DCTERMS.description)}\n"
        )
        words = ", ".join(sorted(str(word) for word in found.objects(query, SCHEMA.keywords)))
        lines.append(f"*keywords* {words}\n")
        parameters = sorted(found.objects(query, SH.parameter), key=str)
        if parameters:
            lines.append("| parameter | meaning | required |\n|---|---|---|")
            for each in parameters:
                needed = "no" if text(found, each, SH.optional) == "true" else "yes"
                words = cell(text(found, each, SH.description))
                lines.append(f"| `{text(found, each, SH.name)}` | {words} | {needed} |")
            lines.append("")
        columns = {text(found, each, CSVW.name): each for each in found.objects(query, CSVW.column)}
        if columns:
            lines.append("| column | meaning |\n|---|---|")
            for column in sorted(columns):
                meaning = cell(text(found, columns[column], DCTERMS.description))
                lines.append(f"| `{column}` | {meaning} |")
            lines.append("")
        body = resources.text("queries", f"{name}.rq").rstrip()
        lines.append(f"```sparql\n{body}\n```\n")
    return "\n".join(lines)
